# SPDX-License-Identifier: MIT
"""A trainer of the bench, in a process of its own: attaches, and when told measures how many images
a second it gets, reading every byte of each. As a program:

    client.py SIDE DATA TRANSFORM WORKERS [SOCKET]

SIDE: a name of SIDES. TRANSFORM: train or val, normalised as float32; of stoker, torch and OpenCV
also train:uint8 and val:uint8, the bytes themselves. DATA: a folder of classes; for stoker a
manifest, too. It says "ready", then answers each line of its input with a line of numbers:

    measure SECONDS     images a second, once what was prepared ahead is used up
    epochs COUNT        images a second of each of the first COUNT epochs, of the first without its
                        begin (stoker alone, and first of all)
    pause SECONDS       from now on it computes for so long on each batch; answers with the number
"""

import itertools
import os
import pathlib
import subprocess
import sys
import time

import numpy

BATCH = 64
WARM_S = 1.5  # before each measurement: what was prepared ahead is used up by then
WARM_BATCHES = 12  # more than a ring holds
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Trainer:
    """The other end of such a process. `python`: the interpreter that has what SIDE needs.
    `listed`: of a manifest, a sampler names all samples. `program`: one of the same arguments, with
    other sides."""

    def __init__(self, side, data, workers, socket=None, transform="train", python=sys.executable,
                 seed=1, listed=False, program=__file__):
        self.process = subprocess.Popen(
            [str(python), str(program), side, str(data), transform, str(workers),
             str(socket or "")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "STOKER_BENCH_SEED": str(seed),
                 "STOKER_BENCH_LISTED": "1" if listed else ""})
        self.pid = self.process.pid

    def ready(self):
        self._line("ready")

    def tell(self, word, number):
        self.process.stdin.write(f"{word} {number}\n")
        self.process.stdin.flush()

    def numbers(self):
        return [float(word) for word in self._line().split()]

    def number(self):
        return self.numbers()[0]

    def _line(self, wanted=None):
        line = self.process.stdout.readline().rstrip("\n")
        if not line or wanted not in (None, line):
            raise SystemExit("a trainer ended early; its words are above")
        return line

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(10)
        finally:
            self.process.kill()


def stoker_transforms(transform):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client" / "python"))
    import stoker
    return {"train": [stoker.RandomResizedCrop(224), stoker.RandomHorizontalFlip()],
            "val": [stoker.Resize(256), stoker.CenterCrop(224)]}[transform]


def stoker_batches(data, transform, workers, socket):
    """Endless batches of stoker; its workers are the daemon's."""
    transform, _, dtype = transform.partition(":")
    transforms = stoker_transforms(transform)
    import stoker
    if not dtype:
        transforms += [stoker.ToTensor(), stoker.Normalize(MEAN, STD)]
    # A manifest's paths begin at the root of the file system.
    dataset = {"path": data, "root": "/"} if pathlib.Path(data).is_file() else data
    sampler = None
    if os.environ.get("STOKER_BENCH_LISTED"):
        sampler = stoker.samplers.Subset(range(lines(data)))
    loader = stoker.connect(socket).loader(
        dataset, batch_size=BATCH, last_batch="drop", sampler=sampler,
        seed=int(os.environ.get("STOKER_BENCH_SEED", "1")), transforms=transforms,
        dtype=dtype or "float32")
    return (images for _ in itertools.count() for images, _ in loader)


def torch_batches(data, transform, workers, socket):
    """Endless batches of torch's DataLoader over torchvision's ImageFolder."""
    import torch
    from torchvision import datasets, transforms
    transform, _, dtype = transform.partition(":")
    crop = {"train": (transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()),
            "val": (transforms.Resize(256), transforms.CenterCrop(224))}[transform]
    output = ((transforms.PILToTensor(),) if dtype else
              (transforms.ToTensor(), transforms.Normalize(MEAN, STD)))
    images = datasets.ImageFolder(data, transforms.Compose([*crop, *output]))
    loader = torch.utils.data.DataLoader(
        images, batch_size=BATCH, shuffle=True, drop_last=True, num_workers=workers,
        persistent_workers=True)
    return (images.numpy() for _ in itertools.count() for images, _ in loader)


def opencv_batches(data, transform, workers, socket):
    """Endless batches of a DataLoader whose dataset is OpenCV's and albumentations'."""
    import albumentations
    import cv2
    import torch
    cv2.setNumThreads(0)  # each worker is one thread
    transform, _, dtype = transform.partition(":")
    crop = {"train": (albumentations.RandomResizedCrop(size=(224, 224)),
                      albumentations.HorizontalFlip()),
            "val": (albumentations.SmallestMaxSize(256), albumentations.CenterCrop(224, 224)),
            }[transform]
    output = () if dtype else (albumentations.Normalize(MEAN, STD),)
    make = albumentations.Compose([*crop, *output])

    class Photographs(torch.utils.data.Dataset):
        paths = paths_of(data)

        def __len__(self):
            return len(self.paths)

        def __getitem__(self, at):
            image = cv2.imread(str(self.paths[at]), cv2.IMREAD_COLOR_RGB)
            return torch.from_numpy(make(image=image)["image"]).permute(2, 0, 1)

    loader = torch.utils.data.DataLoader(
        Photographs(), batch_size=BATCH, shuffle=True, drop_last=True, num_workers=workers,
        persistent_workers=True)
    return (images.contiguous().numpy() for _ in itertools.count() for images in loader)


def paths_of(data):
    return sorted(path for path in pathlib.Path(data).rglob("*") if path.is_file())


def spdl_batches(data, transform, workers, socket):
    """Endless batches of SPDL: its threads decode and resize with FFmpeg, no random crop (it has
    none by itself): Resize only, which is less work than the others do."""
    import spdl.io
    from spdl.pipeline import PipelineBuilder

    def decode(paths):
        packets = [spdl.io.demux_image(str(path)) for path in paths]
        frames = [spdl.io.decode_packets(
            packet, filter_desc=spdl.io.get_video_filter_desc(
                scale_width=224, scale_height=224, pix_fmt="rgb24")) for packet in packets]
        buffer = spdl.io.convert_frames(frames)
        array = spdl.io.to_numpy(buffer).astype(numpy.float32) / 255
        return numpy.ascontiguousarray(
            ((array - numpy.float32(MEAN)) / numpy.float32(STD)).transpose(0, 3, 1, 2))

    paths = paths_of(data)
    for _ in itertools.count():
        order = numpy.random.permutation(len(paths))
        source = ([paths[i] for i in order[k:k + BATCH]]
                  for k in range(0, len(paths) - BATCH + 1, BATCH))
        pipeline = (PipelineBuilder().add_source(source).pipe(decode, concurrency=workers)
                    .add_sink(3).build(num_threads=workers))
        with pipeline.auto_stop():
            yield from pipeline.get_iterator()


def tf_batches(data, transform, workers, socket):
    """Endless batches of tf.data, in its own semantics: crop inside the decode, bilinear."""
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(workers)
    tf.config.threading.set_inter_op_parallelism_threads(workers)
    paths = [str(path) for path in paths_of(data)]

    def train(path):
        content = tf.io.read_file(path)
        shape = tf.io.extract_jpeg_shape(content)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            shape, tf.zeros([0, 0, 4]), aspect_ratio_range=(3 / 4, 4 / 3), area_range=(0.08, 1),
            use_image_if_no_bounding_boxes=True)
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        image = tf.image.resize(tf.io.decode_and_crop_jpeg(content, window, channels=3),
                                (224, 224), antialias=True)
        return tf.image.random_flip_left_right(image)

    def val(path):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(image, (256, 256), antialias=True)[16:240, 16:240]

    def output(image):
        return tf.transpose((image / 255 - MEAN) / STD, (2, 0, 1))

    crop = {"train": train, "val": val}[transform]
    dataset = (tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths)).repeat()
               .map(lambda path: output(crop(path)), num_parallel_calls=workers)
               .batch(BATCH, drop_remainder=True).prefetch(2))
    return (batch.numpy() for batch in dataset)


def dali_batches(data, transform, workers, socket):
    """Endless batches of DALI's CPU path."""
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=BATCH, num_threads=workers, device_id=None)
    def pipeline():
        files, _ = fn.readers.file(file_root=str(data), random_shuffle=True)
        if transform == "train":
            images = fn.decoders.image_random_crop(files, device="cpu")
            images = fn.resize(images, size=(224, 224), antialias=True)
            mirror = fn.random.coin_flip()
        else:
            images = fn.resize(fn.decoders.image(files, device="cpu"), resize_shorter=256)
            mirror = 0
        return fn.crop_mirror_normalize(
            images, dtype=types.FLOAT, output_layout="CHW", crop=(224, 224), mirror=mirror,
            mean=[255 * value for value in MEAN], std=[255 * value for value in STD])

    made = pipeline()
    made.build()
    return (made.run()[0].as_array() for _ in itertools.count())


def chainer_dataset(data):
    from chainer.datasets import LabeledImageDataset
    return LabeledImageDataset([(str(path), 0) for path in paths_of(data)])


def concatenated(iterator):
    """The images that an updater of Chainer gets, 0 to 255."""
    from chainer.dataset import concat_examples
    return (concat_examples(examples)[0] for examples in iterator)


def chainer_batches(data, transform, workers, socket):
    """Endless batches of Chainer's MultiprocessIterator; its dataset's floats go to Pillow as
    bytes."""
    import random

    from chainer.datasets import TransformDataset
    from chainer.iterators import MultiprocessIterator
    from PIL import Image

    def window(width, height):
        for _ in range(10):
            area = width * height * random.uniform(0.08, 1)
            ratio = numpy.exp(random.uniform(numpy.log(3 / 4), numpy.log(4 / 3)))
            w, h = round((area * ratio)**0.5), round((area / ratio)**0.5)
            if 0 < w <= width and 0 < h <= height:
                return random.randint(0, width - w), random.randint(0, height - h), w, h
        return 0, 0, width, height

    def apply(example):
        image, label = example
        picture = Image.fromarray(image.astype("uint8").transpose(1, 2, 0).squeeze())
        picture = picture.convert("RGB")
        if transform == "train":
            x, y, w, h = window(*picture.size)
            picture = picture.crop((x, y, x + w, y + h)).resize((224, 224), Image.BILINEAR)
            if random.random() < 0.5:
                picture = picture.transpose(Image.FLIP_LEFT_RIGHT)
        else:
            scale = 256 / min(picture.size)
            w, h = round(picture.width * scale), round(picture.height * scale)
            x, y = (w - 224) // 2, (h - 224) // 2
            picture = picture.resize((w, h), Image.BILINEAR).crop((x, y, x + 224, y + 224))
        return numpy.asarray(picture, numpy.float32).transpose(2, 0, 1), label

    return concatenated(MultiprocessIterator(
        TransformDataset(chainer_dataset(data), apply), BATCH, n_processes=workers, n_prefetch=2))


def stoker_chainer_batches(data, transform, workers, socket):
    """Endless batches of stoker by Chainer's interface."""
    crop = stoker_transforms(transform)
    import stoker
    import stoker.chainer
    return concatenated(stoker.chainer.Iterator(
        chainer_dataset(data), BATCH, n_prefetch=2, transforms=crop, node=stoker.connect(socket)))


SIDES = {"stoker": stoker_batches, "torch": torch_batches, "OpenCV": opencv_batches,
         "spdl": spdl_batches, "tf.data": tf_batches, "DALI": dali_batches,
         "Chainer": chainer_batches, "stoker.chainer": stoker_chainer_batches}


def read(images):
    """Read every byte, as cheaply as it can be done. A list is of several arrays of each image."""
    if isinstance(images, list):
        return sum(map(read, images))
    return int(images.reshape(-1).view(numpy.int64).max())


def run(batches, enough):
    """Images a second until enough(seconds, batches), whole batches."""
    begun = time.perf_counter()
    count = 0
    taken = 0
    while not enough(taken, count):
        images = next(batches)
        read(images)
        count += 1
        taken = time.perf_counter() - begun
    return count * BATCH / taken


def measure(batches, seconds):
    run(batches, lambda taken, count: taken >= WARM_S)
    return [run(batches, lambda taken, count: taken >= seconds)]


def lines(manifest):
    return len(pathlib.Path(manifest).read_text().splitlines())


def epochs(batches, count, data):
    """A manifest has as many samples as lines; the ring's fill before the first batch is no
    production that anybody waited for, so the first epoch is taken without its begin."""
    whole = lines(data) // BATCH
    run(batches, lambda _, done: done >= WARM_BATCHES)
    rates = [run(batches, lambda _, done: done >= whole - WARM_BATCHES)]
    return rates + [run(batches, lambda _, done: done >= whole) for _ in range(count - 1)]


def paused(batches, seconds):
    for images in batches:
        yield images
        time.sleep(seconds)


def main():
    side, data, transform, workers, socket = sys.argv[1:6]
    batches = iter(SIDES[side](data, transform, int(workers), socket))
    print("ready", flush=True)
    for line in sys.stdin:
        word, number = line.split()
        if word == "pause":
            batches, answer = paused(batches, float(number)), [number]
        elif word == "measure":
            answer = measure(batches, float(number))
        else:
            answer = epochs(batches, int(number), data)
        print(*answer, flush=True)


if __name__ == "__main__":
    main()
