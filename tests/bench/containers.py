# SPDX-License-Identifier: MIT
"""The same pictures as a folder, in tar shards, TFRecord files and LMDB, in turn: images a second
of one trainer, as a ratio to the folder's. By hand, with a folder of pictures (no class folders):

    tests/bench/containers.py --data FOLDER [--build BUILD] [--samples 5000] [--rounds 5]
                              [--seconds 2] [--workers 2]

The pictures are repeated up to that number of samples. LMDB is left out without python3-lmdb.
"""

import argparse
import os
import pathlib
import statistics
import sys
import tarfile
import tempfile
import types

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "client" / "python"))
sys.path.insert(0, str(SOURCE / "tests" / "reference"))

from machine import Stokerd  # noqa: E402
from tfrecord import example, record  # noqa: E402
from trainers import attached, rates_of  # noqa: E402

SHARD = 1000  # samples


def names_of(count):
    return [f"{number:06}" for number in range(count)]


def make_folder(to, pictures, count):
    (to / "class").mkdir(parents=True)
    for number, name in enumerate(names_of(count)):
        picture = pictures[number % len(pictures)]
        (to / "class" / f"{name}.jpg").write_bytes(picture.read_bytes())
    return str(to)


def make_tars(to, pictures, count, each=SHARD):
    to.mkdir()
    names = names_of(count)
    for begin in range(0, count, each):
        with tarfile.open(to / f"{begin // each:06}.tar", "w") as tar:
            for number in range(begin, min(begin + each, count)):
                tar.add(pictures[number % len(pictures)], f"{names[number]}.jpg")
    return str(to / "*.tar")


def make_records(to, pictures, count):
    to.mkdir()
    made = [record(example([("image/encoded", [picture.read_bytes()])])) for picture in pictures]
    for number in range(count):
        with open(to / f"x.tfrecord-{number // SHARD:03}", "ab") as file:
            file.write(made[number % len(made)])
    return str(to / "x.tfrecord-*")


def make_lmdb(to, pictures, count):
    import lmdb
    with lmdb.open(str(to), map_size=1 << 40) as database, database.begin(write=True) as writer:
        for number, name in enumerate(names_of(count)):
            writer.put(name.encode(), pictures[number % len(pictures)].read_bytes())
    return str(to)


MAKERS = {"folder": make_folder, "tar": make_tars, "tfrecord": make_records, "lmdb": make_lmdb}


def rate(options, data):
    """Of the second epoch's pictures and later ones, whose seek indexes are there."""
    trainer = types.SimpleNamespace(**{**vars(options), "data": data})
    with Stokerd(options.build, options.workers) as daemon, \
            attached("stoker", 1, trainer, options.workers, daemon.socket) as readers:
        rates_of(readers, options.seconds)
        return rates_of(readers, options.seconds)[0]


def parser_of(text, rounds=5):
    """What all take that repeat the pictures of a folder; `text` says what they do."""
    parser = argparse.ArgumentParser(description=text.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build")
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=rounds)
    return parser


def pictures_in(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def compare(options, seconds=2, workers=2):
    """Each form of the pictures in turn, as a ratio to the folder."""
    trainer = types.SimpleNamespace(build=options.build, seconds=seconds, workers=workers)
    pictures = pictures_in(options.data)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        made = {}
        for name, maker in MAKERS.items():
            try:
                made[name] = maker(pathlib.Path(folder, name), pictures, options.samples)
            except ImportError as error:
                print(f"{name}: left out ({error})")
        rates = {name: [] for name in made}
        for _ in range(options.rounds):
            for name, data in made.items():
                rates[name].append(rate(trainer, data))
    for name, values in rates.items():
        ratios = [value / base for value, base in zip(values, rates["folder"])]
        print(f"{name:10}{statistics.median(values):8.0f} images/s   ratio to the folder "
              f"{statistics.median(ratios):.3f} ({min(ratios):.3f}-{max(ratios):.3f})   bar 0.95")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    compare(options, options.seconds, options.workers)


if __name__ == "__main__":
    main()
