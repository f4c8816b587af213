# SPDX-License-Identifier: MIT
"""Two builds of stoker in turn, in one run: what a change costs or gains. By hand:

    tests/bench/builds.py OLD/build NEW/build --data FOLDER [--rounds 9] [--seconds 2] [--formats]

Rows: images a second of one trainer (1 and 2 workers) and of three trainers on one stream, CPU time
of the loop thread a sample, and the hand-over of a batch, p50 and p99, with a core free and with
all workers busy, and the time of an attach to a dataset that is open. With --formats instead: the
CPU time of the daemon a sample, in the first epoch and in later ones, of JPEGs and of PNGs and
WebPs made of them. The ratio is NEW / OLD, round by round; its median and spread are printed.
"""

import argparse
import contextlib
import pathlib
import statistics
import sys
import tempfile
import time

from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client" / "python"))

import handover  # noqa: E402
import stoker  # noqa: E402
from machine import Stokerd, cpu_seconds, model  # noqa: E402
from trainers import attached, rates_of  # noqa: E402

FORMAT_SAMPLES = 150  # of each made folder
ATTACHES = 200


def loop_seconds(pid):
    """CPU time of the loop thread, which is the main one."""
    text = pathlib.Path("/proc", str(pid), "task", str(pid), "schedstat").read_text()
    return int(text.split()[0]) / 1e9


def throughput(options, build, trainers, workers):
    """Images a second of the slowest trainer, and microseconds of the loop thread a sample."""
    with Stokerd(build, workers) as daemon, \
            attached("stoker", trainers, options, workers, daemon.socket) as readers:
        rates_of(readers, 1)  # the first epoch of each file
        delivered, seconds = (daemon.counters()["samples_delivered_total"],
                              loop_seconds(daemon.pid))
        rates = rates_of(readers, options.seconds)
        delivered = daemon.counters()["samples_delivered_total"] - delivered
        seconds = loop_seconds(daemon.pid) - seconds
    return min(rates), seconds / delivered * 1e6


def latency(options, build, workers, busy):
    """p50 and p99 in us of a trainer that waits for each batch."""
    options.build = build
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Stokerd(build, workers))
        if not busy:
            return handover.measure(options, daemon)
        trainer, = stack.enter_context(attached("stoker", 1, options, workers, daemon.socket))
        trainer.tell("measure", 2 * options.seconds)
        figures = handover.measure(options, daemon)
        trainer.number()
        return figures


def attach_time(build, data):
    """p50 in us from the call that makes a loader of an open dataset to its return."""
    took = []
    options = {"batch_size": 16, "epochs": 1, "transforms": [stoker.RandomResizedCrop(224)]}
    with Stokerd(build, 1) as daemon, stoker.connect(str(daemon.socket)) as node:
        with node.loader(str(data), **options):
            for seed in range(ATTACHES):
                begin = time.perf_counter()
                loader = node.loader(str(data), seed=seed, **options)
                took.append(time.perf_counter() - begin)
                loader.close()
    return statistics.median(took) * 1e6


def folders_of(data, home):
    """Some of the pictures as JPEG, PNG and WebP: folders by format."""
    paths = sorted(path for path in data.rglob("*") if path.is_file())
    folders = {"JPEG": data}
    for name in ("PNG", "WEBP"):
        folders[name] = home / name
        (folders[name] / "class").mkdir(parents=True)
        for number, path in enumerate(paths[::len(paths) // FORMAT_SAMPLES]):
            with Image.open(path) as picture:
                picture.convert("RGB").save(folders[name] / "class" / f"{number}.{name.lower()}")
    return folders


def epochs(build, folder):
    """CPU time of the daemon a sample, in us: in the first epoch, and in later ones."""
    with Stokerd(build, 1) as daemon, stoker.connect(str(daemon.socket)) as node:
        loader = node.loader(str(folder), batch_size=16, dtype="uint8", seed=3, transforms=[
            stoker.RandomResizedCrop(224), stoker.RandomHorizontalFlip()], epochs=4)
        spent = [cpu_seconds(daemon.pid)]
        for _ in range(4):
            for images, _ in loader:
                images.sum()
            spent.append(cpu_seconds(daemon.pid))
        return ((spent[1] - spent[0]) / loader.samples * 1e6,
                (spent[4] - spent[1]) / 3 / loader.samples * 1e6)


def measure_formats(folders, build):
    figures = {}
    for name, folder in folders.items():
        figures[f"{name}: first epoch, us a sample"], \
            figures[f"{name}: later epochs, us a sample"] = epochs(build, folder)
    return figures


def measure(options, build):
    """All figures of one round, by name."""
    if options.folders:
        return measure_formats(options.folders, build)
    figures = {}
    for trainers, workers in ((1, 1), (1, 2), (3, 2)):
        what = f"{trainers} trainer{'s'[:trainers - 1]}, {workers} worker{'s'[:workers - 1]}"
        rate, loop = throughput(options, build, trainers, workers)
        figures[f"{what}: images/s"] = rate
        figures[f"{what}: loop thread, us a sample"] = loop
    for busy, workers in ((False, 1), (True, 2)):
        p50, p99 = latency(options, build, workers, busy)
        what = "workers busy" if busy else "a core free"
        figures[f"hand-over, {what}: p50 us"] = p50
        figures[f"hand-over, {what}: p99 us"] = p99
    figures["attach: p50 us"] = attach_time(build, options.data)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--formats", action="store_true")
    options = parser.parse_args()
    print(f"{model()}; {options.rounds} rounds; median (least-most); ratio: new / old", flush=True)
    sides = {"old": [], "new": []}
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as scratch:
        options.scratch = pathlib.Path(scratch)
        options.folders = folders_of(options.data, options.scratch) if options.formats else None
        for turn in range(options.rounds):
            order = ("old", "new") if turn % 2 == 0 else ("new", "old")
            for side in order:
                sides[side].append(measure(options, getattr(options, side).resolve()))
    for name in sides["old"][0]:
        old, new = ([figures[name] for figures in sides[side]] for side in ("old", "new"))
        ratios = sorted(b / a for a, b in zip(old, new))
        print(f"{name:46} {statistics.median(old):9.2f} {statistics.median(new):9.2f}   "
              f"{statistics.median(ratios):.3f} ({ratios[0]:.3f}-{ratios[-1]:.3f})")


if __name__ == "__main__":
    main()
