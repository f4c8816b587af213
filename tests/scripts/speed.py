#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast the scripts beside this file are, with one import changed, at the sizes that their users
have (loaders.py):

    tests/scripts/speed.py [--build BUILD] [--data FOLDER] [--rounds N] [--seconds S] [SECTION...]

    lowered    what the daemon makes by itself, beside stoker's own loader with the same options
    trainers   two of one script at once on one daemon, beside two with torch's DataLoader
    keras      a Sequence of CIFAR's arrays by OrderedEnqueuer, epochs of 157 batches, beside Keras'
    chainer    arrays of 32 x 32 and of 224 x 224 floats, beside MultiprocessIterator

Both sides run in turn, with two processes each, and every byte of each batch is read. A row is the
median of the rounds' ratios, beside its bar. A section whose package this Python lacks is left out.
Exits 0 if no bar is missed."""
import argparse
import contextlib
import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[1:1] = [str(ROOT / "tests" / "bench"), str(ROOT / "tests" / "demo"),
                 str(ROOT / "client" / "python")]

import photos  # noqa: E402 (of the demo)
import table  # noqa: E402 (of the bench)
from client import BATCH, Trainer, read  # noqa: E402
from machine import Stokerd  # noqa: E402

WORKERS = 2
LOWERED = ("imagenet", "imagenet_validation", "torchrun", "kfold", "lightning", "timm",
           "timm_validation")
TRAINERS = ("imagenet", "crops", "weighted")
LINKS = 16  # of each photograph, so that an epoch has 100 batches
CIFAR = 10000  # pictures, 157 batches


@contextlib.contextmanager
def attached(sides, name, options, socket):
    """A trainer for each of the sides."""
    with contextlib.ExitStack() as stack:
        made = []
        for side in sides:
            made.append(Trainer(side, options.data, WORKERS, socket, transform=name,
                                program=HERE / "loaders.py"))
            stack.callback(made[-1].end)
        for trainer in made:
            trainer.ready()
        yield made


def rates(trainers, seconds):
    """Images a second of each, measured at the same time."""
    for trainer in trainers:
        trainer.tell("measure", seconds)
    return [trainer.number() for trainer in trainers]


def named(names):
    return [name for name in names
            if not name.startswith("timm") or importlib.util.find_spec("timm")]


def lowered(options):
    for name in named(LOWERED):
        ours, native = [], []
        with Stokerd(options.build, WORKERS) as daemon, attached(
                ("stoker", "native"), name, options, daemon.socket) as (one, other):
            pairs = [(one, ours), (other, native)]
            for _ in range(options.rounds):
                for trainer, found in pairs:
                    found += rates([trainer], options.seconds)
                pairs.reverse()  # who comes later finds more files indexed
        yield table.Row(f"{name}; stoker's own loader", ours, native, "images/s", at_least=0.95)


def trainers(options):
    for name in TRAINERS:
        ours, theirs = [], []
        with Stokerd(options.build, WORKERS) as daemon, \
                attached(["stoker"] * 2, name, options, daemon.socket) as ones, \
                attached(["torch"] * 2, name, options, daemon.socket) as others:
            for _ in range(options.rounds):
                ours.append(min(rates(ones, options.seconds)))
                theirs.append(max(rates(others, options.seconds)))
        yield table.Row(f"{name}, the slower of two trainers; the faster of two DataLoaders", ours,
                        theirs, "images/s", at_least=1.8)


def touch(thing):
    """Read every byte."""
    if isinstance(thing, (list, tuple)):
        for each in thing:
            touch(each)
    elif getattr(thing, "ndim", 0):
        read(np.ascontiguousarray(thing))


def epoch_rate(enqueuer, sequence):
    """Batches a second, from start() to stop(), as Keras' fit() calls them in each epoch."""
    begun = time.perf_counter()
    enqueuer.start()
    batches = enqueuer.get()
    for _ in range(len(sequence)):
        touch(next(batches))
    enqueuer.stop()
    return len(sequence) / (time.perf_counter() - begun)


def keras(options):
    os.environ.setdefault("KERAS_BACKEND", "jax")
    from keras.src.trainers.data_adapters.py_dataset_adapter import OrderedEnqueuer

    import own_arrays
    import stoker
    import stoker.keras
    sequence, ours, theirs = own_arrays.Pictures(CIFAR, BATCH), [], []
    with Stokerd(options.build, WORKERS) as daemon, stoker.connect(daemon.socket) as node:
        one = stoker.keras.OrderedEnqueuer(sequence, WORKERS, True, 10, node=node)
        other = OrderedEnqueuer(sequence, WORKERS, True, 10)
        epoch_rate(one, sequence)  # starts the producers, which stay; Keras' processes do not
        for _ in range(options.rounds):
            ours.append(epoch_rate(one, sequence))
            theirs.append(epoch_rate(other, sequence))
    yield table.Row(f"a Sequence of {len(sequence)} batches; Keras", ours, theirs, "batches/s",
                    at_least=2)


def examples_rate(iterator, seconds):
    """Examples a second, of those that come after the first batches."""
    for _ in range(20):
        next(iterator)
    begun, count = time.perf_counter(), 0
    while time.perf_counter() < begun + seconds:
        batch = next(iterator)
        touch(batch)
        count += len(batch)
    return count / (time.perf_counter() - begun)


def chainer(options):
    from chainer.iterators import MultiprocessIterator

    import own_arrays
    import stoker
    import stoker.chainer
    for size, bar in ((32, 1.7), (224, 1.3)):
        dataset, ours, theirs = own_arrays.Arrays((3, size, size)), [], []
        with Stokerd(options.build, WORKERS) as daemon, stoker.connect(daemon.socket) as node:
            one = stoker.chainer.Iterator(dataset, BATCH, n_processes=WORKERS, node=node)
            other = MultiprocessIterator(dataset, BATCH, n_processes=WORKERS)
            for _ in range(options.rounds):
                ours.append(examples_rate(one, options.seconds))
                theirs.append(examples_rate(other, options.seconds))
            one.finalize(), other.finalize()
        yield table.Row(f"3 x {size} x {size} floats; MultiprocessIterator", ours, theirs,
                        "examples/s", at_least=bar)


SECTIONS = {"lowered": (lowered, "torchvision"), "trainers": (trainers, "torchvision"),
            "keras": (keras, "keras"), "chainer": (chainer, "chainer")}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--data", type=Path, help="a folder of classes (default: it is made)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement")
    options = parser.parse_args()
    for name in options.sections:
        if name not in SECTIONS:
            parser.error(f"no section {name}: there are {', '.join(SECTIONS)}")
    return options


def photographs(folder):
    """Made ones, each under several names."""
    for path in photos.make(str(folder), count=400, plain=True):
        for number in range(1, LINKS):
            os.link(folder / path, folder / f"{path[:-4]}-{number}.jpg")
    return folder


def main():
    options, missed = parse(), 0
    with tempfile.TemporaryDirectory(prefix="stoker-speed-") as folder:
        for name in options.sections or SECTIONS:
            rows, needs = SECTIONS[name]
            if importlib.util.find_spec(needs) is None:
                print(f"{name}: left out, this Python has no {needs}\n", flush=True)
                continue
            if needs == "torchvision" and options.data is None:
                options.data = photographs(Path(folder) / "photos")
            found = []
            for row in rows(options):
                print(*row.cells(), sep="; ", file=sys.stderr, flush=True)
                found.append(row)
            table.show(name, found)
            missed += sum(row.met is False for row in found)
    print(f"{missed} bars missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
