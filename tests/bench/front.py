#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Users' front doors against what they come from: front.py BUILD [keras] [dask] [chainer]

    keras   an epoch of CIFAR's shape, floats, through ImageDataGenerator.flow(), against Keras' own
    dask    four augmented views of each picture of CIFAR's files, reduced by dask, against the same
            in dask, NumPy and scipy: rotated and cropped, and only cropped, which is little more
            than copying on either side
    chainer an epoch of JPEGs, cropped and flipped at random, by MultiprocessIterator and ours

Both sides run in turn, in one process, with as many processors; the daemon's workers are half of
its side's. Each ratio stands beside its bar. Needs keras and scipy; dask and scipy; or chainer.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "client" / "python"))

import stoker  # noqa: E402

COUNT = 50000
ROUNDS = 3


def seconds(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def report(name, ours, theirs, bar):
    """Times of the whole epoch on both sides, taken in turn."""
    ratio = statistics.median(theirs) / statistics.median(ours)
    print(f"{name}: stoker {statistics.median(ours):.2f} s ({min(ours):.2f}-{max(ours):.2f}), "
          f"{statistics.median(theirs):.2f} s ({min(theirs):.2f}-{max(theirs):.2f}): ratio "
          f"{ratio:.1f}, bar {bar}", flush=True)
    return ratio >= bar


def bench_keras(socket, _):
    from keras.src.legacy.preprocessing.image import ImageDataGenerator

    import stoker.keras
    x = np.random.default_rng(1).random((COUNT, 32, 32, 3), np.float32)
    arguments = {"width_shift_range": 0.1, "height_shift_range": 0.1, "horizontal_flip": True}
    own = ImageDataGenerator(**arguments).flow(x, x[:, 0, 0, 0], batch_size=32)
    flow = stoker.keras.ImageDataGenerator(socket=socket, **arguments).flow(
        x, x[:, 0, 0, 0], batch_size=32)
    ours, theirs, part = [], [], len(own) // 20

    def epoch(flow, batches):
        for index in range(batches):
            flow[index]
        flow.on_epoch_end()
    epoch(flow, len(flow))
    for _ in range(ROUNDS):
        theirs.append(seconds(lambda: epoch(own, part)) * len(own) / part)
        ours.append(seconds(lambda: epoch(flow, len(flow))))
    return report("keras, an epoch of 50000 x 32 x 32 x 3 floats", ours, theirs, 40)


def augment(path, first, count, views, degrees):
    """Random crops of padded pictures, flipped at random and turned by up to ``degrees``, from a
    file of CIFAR-10."""
    import scipy.ndimage
    records = np.fromfile(path, np.uint8, count * 3073, offset=first * 3073).reshape(count, 3073)
    images = records[:, 1:].reshape(count, 3, 32, 32)
    padded = np.pad(images, ((0, 0), (0, 0), (4, 4), (4, 4)))
    random = np.random.default_rng(first)
    out = np.empty((count, views, 3, 32, 32), np.float32)
    for i in range(count):
        for view in range(views):
            top, left = random.integers(0, 9, 2)
            crop = padded[i, :, top:top + 32, left:left + 32]
            if random.random() < 0.5:
                crop = crop[:, :, ::-1]
            if degrees:
                crop = scipy.ndimage.rotate(crop, random.uniform(-degrees, degrees), (1, 2),
                                            reshape=False, order=1)
            out[i, view] = crop
    out /= 255
    return out


def bench_dask(socket, folder):
    import dask
    import dask.array as da

    import stoker.dask
    batch, views = 500, 4
    records = np.random.default_rng(1).integers(0, 256, (COUNT, 3073), np.uint8)
    records[:, 0] %= 10
    names = [f"data_batch_{number}.bin" for number in range(1, 6)]
    for name, part in zip([*names, "test_batch.bin"], [*np.split(records, 5), records[:100]]):
        (folder / name).write_bytes(part.tobytes())
    (folder / "batches.meta.txt").write_text("\n".join("abcdefghij") + "\n")
    def mean(images):
        return dask.compute(images.mean(axis=(0, 1, 3, 4)), scheduler="threads")

    def pipeline(degrees, part):
        """The lazy arrays of both; of the slow one only a part."""
        turned = [stoker.RandomRotation(degrees, interpolation="bilinear")] if degrees else []
        ours, _ = stoker.dask.epoch(
            {"path": str(folder), "kind": "cifar10"}, batch, socket=socket, views=views, seed=1,
            transforms=[stoker.RandomCrop(32, padding=4), stoker.RandomHorizontalFlip(), *turned,
                        stoker.ToTensor()])
        theirs = [da.from_delayed(
            dask.delayed(augment)(folder / name, first, batch, views, degrees),
            (batch, views, 3, 32, 32), np.float32)
            for name in names for first in range(0, 10000, batch)]
        return ours, da.concatenate(theirs[:len(theirs) // part])
    good = True
    for name, degrees, part in (("turned and cropped", 15, 10), ("only cropped", 0, 1)):
        ours, theirs = [], []
        mine, wanted = pipeline(degrees, part)
        mean(mine)
        for _ in range(ROUNDS):
            theirs.append(seconds(lambda: mean(wanted)) * part)
            ours.append(seconds(lambda: mean(mine)))
        good &= report(f"dask, 4 views of 50000 pictures, {name}", ours, theirs, 5)
    return good


def crop_and_flip(example):
    """What Chainer's users write, on (C, H, W) float32."""
    image, label = example
    top, left = np.random.randint(0, image.shape[1] - 223), np.random.randint(
        0, image.shape[2] - 223)
    image = image[:, top:top + 224, left:left + 224]
    return (image[:, :, ::-1] if np.random.randint(2) else image), label


def bench_chainer(socket, folder):
    from chainer.datasets import LabeledImageDataset, TransformDataset
    from chainer.iterators import MultiprocessIterator
    from PIL import Image

    import stoker.chainer
    random, count = np.random.default_rng(1), 1000
    for number in range(count):
        soft = Image.fromarray(random.integers(0, 256, (12, 16, 3), np.uint8))
        soft.resize((341, 256), Image.BICUBIC).save(folder / f"{number}.jpg", quality=90)
    files = LabeledImageDataset([(f"{number}.jpg", number % 10) for number in range(count)],
                                str(folder))
    theirs = MultiprocessIterator(TransformDataset(files, crop_and_flip), 50,
                                  n_processes=os.cpu_count())
    ours = stoker.chainer.Iterator(files, 50, node=stoker.connect(socket), transforms=[
        stoker.RandomCrop(224), stoker.RandomHorizontalFlip()])

    def epoch(iterator):
        for _ in range(count // 50):
            next(iterator)
    epoch(ours), epoch(theirs)
    times = [], []
    for _ in range(ROUNDS):
        times[1].append(seconds(lambda: epoch(theirs)))
        times[0].append(seconds(lambda: epoch(ours)))
    theirs.finalize()
    return report(f"chainer, an epoch of {count} JPEGs of 341 x 256", *times, 4)


def main(build, *sections):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        socket = os.path.join(folder, "s")
        daemon = subprocess.Popen([os.path.join(build, "daemon", "stokerd"), "--socket", socket,
                                   "--control-socket", os.path.join(folder, "c")])
        try:
            while not os.path.exists(socket):
                time.sleep(0.05)
            benches = {"keras": bench_keras, "dask": bench_dask, "chainer": bench_chainer}
            done = [benches[name](socket, Path(folder))
                    for name in sections or ("keras", "dask")]
        finally:
            daemon.terminate()
            daemon.wait()
    return 0 if all(done) else 1


sys.exit(main(*sys.argv[1:]))
