#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Streams that combine at random what is tried alone elsewhere: transforms, batches that are mixed,
buckets, crops, views, echoes, samplers, masks, boxes, points, types and layouts (by hand).

    combinations.py [--build BUILD] [--seconds 600] [--seed N] [--only N]

Each stream is asked of two daemons, with one worker and with three. What is looked at: both give
the same bytes, or both refuse with the same error; both live on; a refusal has words. Printed at
the end is how many streams there were, and how often each error. Best with a build that has
sanitizers. --only: the stream with this number alone, with its options.
"""
import argparse
import collections
import hashlib
import json
import pathlib
import random
import sys
import tempfile
import time

import numpy
from PIL import Image

HERE = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1] / "daemon"), str(HERE.parents[2] / "client" / "python")]
import harness  # noqa: E402 (it stands in the tests' folder)
import stoker  # noqa: E402

PICTURES = 30
WAIT_S = 120  # a build with sanitizers, on a busy machine


def make_data(folder, draw):
    """Pictures of many sizes and modes, and tables that name them; the paths of all datasets."""
    pixels = numpy.random.default_rng(draw.randrange(2**32))
    rows = []
    for number in range(PICTURES):
        width, height = draw.randrange(9, 90), draw.randrange(9, 90)
        name, label = f"{number}.{draw.choice(['jpg', 'png'])}", number % 3
        place = folder / "tree" / f"class{label}"
        place.mkdir(parents=True, exist_ok=True)
        shape = (height, width, 3) if draw.random() < 0.8 else (height, width)
        deep = len(shape) == 2 and name.endswith("png")
        Image.fromarray(pixels.integers(0, 65536 if deep else 256, shape,
                                        numpy.uint16 if deep else numpy.uint8)).save(place / name)
        mask = folder / f"mask{number}.png"
        Image.fromarray(pixels.integers(0, 4, (height, width), numpy.uint8)).save(mask)
        x, y = draw.randrange(width - 4), draw.randrange(height - 4)
        boxes = [[x, y, draw.randrange(x + 2, width), draw.randrange(y + 2, height)]
                 for _ in range(draw.choice([1, 2, 2]))]
        rows.append({"path": str(place / name), "label": label, "mask": str(mask),
                     "boxes": [*boxes, *boxes][:2], "points": [[x, y], [x + 1, y + 2]],
                     "score": draw.random(), "text": "x" * number})
    for name, keys in (("plain", ["path", "label"]), ("boxes", ["path", "label", "boxes"]),
                       ("all", list(rows[0]))):
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps({key: row[key] for key in keys}) + "\n" for row in rows))
    numpy.save(folder / "x.npy", pixels.integers(0, 256, (PICTURES, 32, 32, 3), numpy.uint8))
    numpy.save(folder / "y.npy", numpy.arange(PICTURES) % 3)
    return [str(folder / "tree"), *(str(folder / f"{name}.jsonl")
                                    for name in ("plain", "boxes", "all")),
            {"path": str(folder / "x.npy"), "labels": str(folder / "y.npy")}]


def any_size(draw):
    return draw.choice([8, 16, 24, [16, 24], [24, 16]])


def geometry(draw):
    """A transform that may stand before the one that fixes the size."""
    return draw.choice([
        lambda: stoker.RandomHorizontalFlip(), lambda: stoker.RandomVerticalFlip(),
        lambda: stoker.RandomRotation(draw.choice([20, 90]), expand=draw.random() < 0.5),
        lambda: stoker.RandomAffine(10, translate=(0.1, 0.2), scale=(0.8, 1.3), shear=5),
        lambda: stoker.RandomPerspective(), lambda: stoker.Pad(draw.randrange(1, 5)),
        lambda: stoker.RandomIoUCrop(), lambda: stoker.RandomZoomOut(side_range=(1, 2)),
        lambda: stoker.ScaleJitter([32, 32], (0.5, 1.5)),
        lambda: stoker.RandomShortestSize([16, 24, 32], 64), lambda: stoker.Resize(40),
        lambda: stoker.Resize(None, max_size=48), lambda: stoker.SanitizeBoundingBoxes(),
        lambda: stoker.ClampBoundingBoxes(), lambda: stoker.RandomApply([stoker.Pad(2)], 0.5),
        lambda: stoker.RandomChoice([stoker.Resize(30), stoker.Resize(36)]),
    ])()


def colour(draw):
    return draw.choice([
        lambda: stoker.ColorJitter(0.4, 0.4, 0.4, 0.1), lambda: stoker.Grayscale(3),
        lambda: stoker.RandomGrayscale(0.5), lambda: stoker.GaussianBlur(3),
        lambda: stoker.RandomSolarize(128), lambda: stoker.RandomEqualize(),
        lambda: stoker.RandAugment(), lambda: stoker.TrivialAugmentWide(),
        lambda: stoker.RandomPhotometricDistort(), lambda: stoker.RandomAutocontrast(),
        lambda: stoker.RandomPosterize(3), lambda: stoker.RandomInvert(),
    ])()


def fixing(draw):
    """Transforms that give all images one size, or one for each batch."""
    size = any_size(draw)
    return draw.choice([
        lambda: [stoker.RandomResizedCrop(size)],
        lambda: [stoker.Resize(28), stoker.CenterCrop(size)],
        lambda: [stoker.RandomCrop(size, pad_if_needed=True)],
        lambda: [stoker.Resize([24, 16])], lambda: [stoker.AspectResize([16, 24])],
        lambda: [stoker.Resize(None, max_size=24), stoker.Pad(to=24, center=draw.random() < 0.5)],
        lambda: [stoker.FixedSizeCrop(size)],
        lambda: [stoker.Buckets([(16, 16), (16, 24), (24, 16)], crop=draw.choice(
            ["center", "random"]), run=draw.choice([None, 8, 12]))],
        lambda: [stoker.Resize([30, 30]), stoker.FiveCrop(16)],
        lambda: [stoker.Resize([30, 30]), stoker.TenCrop(16)],
    ])()


def arrays(draw):
    """Transforms of arrays, and of batches."""
    made = [stoker.ToTensor()] if draw.random() < 0.7 else []
    if draw.random() < 0.4:
        made.append(stoker.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4]))
    if draw.random() < 0.3:
        made.append(stoker.RandomErasing())
    if draw.random() < 0.4:
        made.append(draw.choice([stoker.MixUp, stoker.CutMix])(draw.choice([0.2, 1.0])))
    elif draw.random() < 0.3:
        made.append(stoker.Mosaic())
    return made


def transforms(draw):
    made = [geometry(draw) for _ in range(draw.choice([0, 0, 1, 2]))]
    made += [colour(draw) for _ in range(draw.choice([0, 0, 1]))]
    made += fixing(draw)
    if draw.random() < 0.3:
        made.append(draw.choice([stoker.RandomHorizontalFlip(), stoker.RandomVerticalFlip()]))
    if draw.random() < 0.15:
        made.insert(0, stoker.ReadAs(draw.choice(["uint16", "float32"])))
    return made + arrays(draw)


def sampler(draw):
    return draw.choice([
        lambda: stoker.samplers.Subset([draw.randrange(PICTURES) for _ in range(20)]),
        lambda: stoker.samplers.Weighted(weights_by_class=[1, 2, 3], num_samples=25),
        lambda: stoker.samplers.Balanced(per_class=7),
    ])()


def options(draw):
    """Keywords of a loader, and no more than a few that are not the default."""
    made = {"batch_size": draw.choice([1, 3, 4, 8]), "seed": draw.randrange(100)}
    if draw.random() < 0.2:
        made["crops"] = {name: (draw.choice([1, 2, 4]), [stoker.RandomResizedCrop(any_size(draw)),
                                                         *(arrays(draw)[:1])])
                         for name in ("global", "local")[:draw.choice([1, 2])]}
    else:
        made["transforms"] = transforms(draw)
    others = {
        "dtype": lambda: draw.choice(["uint8", "uint16", "float16", "bfloat16", "float32"]),
        "layout": lambda: "NHWC", "views": lambda: draw.choice([2, 3]),
        "echo": lambda: draw.choice([2, 3]), "one_hot": lambda: True,
        "shuffle": lambda: False, "drop_last": lambda: True,
        "last_batch": lambda: draw.choice(["pad", "wrap", "drop"]),
        "sampler": lambda: sampler(draw), "subset": lambda: (3, draw.choice([17, None])),
        "bad_samples": lambda: "substitute", "exif_orientation": lambda: True,
        "resize": lambda: "pillow-12", "draft": lambda: True,
        "fields": lambda: draw.sample(["image", "label", "index", "mask", "boxes", "points",
                                       "real_box", "crop_box", "original_size", "score"], 4),
    }
    for name in draw.sample(sorted(others), draw.choice([0, 1, 1, 2, 3])):
        made[name] = others[name]()
    return made


def asked(node, dataset, made):
    """A digest of what comes in an epoch; or the name of the error and its words."""
    try:
        loader = node.loader(dataset, epochs=1, reconnect=None, timeout=WAIT_S, rank=0,
                             world_size=1, **made)
    except (stoker.errors.Error, TypeError, ValueError) as error:
        return type(error).__name__, str(error)
    digest = hashlib.sha256()
    try:
        for batch in loader.batches():
            for name in loader.fields:
                digest.update(repr((name, batch[name].shape, batch[name].dtype.str)).encode())
                digest.update(numpy.ascontiguousarray(batch[name]).tobytes())
    except stoker.errors.SampleError as error:
        return type(error).__name__, str(error)
    finally:
        loader.close()
    return "bytes", digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    harness.STOKERD = given.build.resolve() / "daemon" / "stokerd"
    seen, wrong, number, end = collections.Counter(), 0, 0, time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory() as folder:
        datasets = make_data(pathlib.Path(folder), random.Random(given.seed))
        daemons = [harness.Daemon(workers=workers) for workers in (1, 3)]
        for daemon in daemons:
            daemon.spawn()
        nodes = [stoker.connect(daemon.socket) for daemon in daemons]
        try:
            while time.monotonic() < end and wrong < 20:
                number = number + 1 if given.only is None else given.only
                draw = random.Random(f"{given.seed} {number}")
                dataset, made = draw.choice(datasets), options(draw)
                answers = [asked(node, dataset, made) for node in nodes]
                seen[answers[0][0]] += 1
                alive = all(daemon.process.poll() is None for daemon in daemons)
                if answers[0] != answers[1] or not answers[0][1] or not alive:
                    wrong += 1
                    print(f"stream {number} of {dataset}: {made}\n  {answers}", flush=True)
                if given.only is not None or not alive:
                    print(f"stream {number} of {dataset}: {made}\n  {answers}", flush=True)
                    break
        finally:
            for node, daemon in zip(nodes, daemons):
                node.close()
                daemon.kill()
                daemon.remove()
    print(f"{number} streams, {wrong} wrong: " + ", ".join(
        f"{count} {name}" for name, count in seen.most_common()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
