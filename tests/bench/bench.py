# SPDX-License-Identifier: MIT
"""The bench: stoker beside the DataLoader of PyTorch, in turn, in one run; medians and spread.

    make bench                          on made photographs
    make bench DATA=/my/data            on a folder with a folder of pictures for each class
    make bench ARGS=--quick             one short round: to see it work, not for figures

Both sides make the usual training batch: RandomResizedCrop(224), flip, normalise, float32, NCHW, 64
images; each trainer is a process that reads every byte of every batch. The DataLoader has Pillow
and torchvision below it and as many worker processes as stokerd has workers. Files are in the page
cache: each trainer warms up before it is measured.
"""

import argparse
import contextlib
import os
import pathlib
import platform
import statistics
import sys
import tempfile
import time

from client import Trainer
from machine import Stokerd, cpu_seconds, memory_of, model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "demo"))
import photos  # noqa: E402 (it stands in the demo's folder)

MIB = 1 << 20
TRAINERS = 3


class Results:
    """What was measured: name -> values, one a round."""

    def __init__(self):
        self.values = {}

    def add(self, name, value):
        self.values.setdefault(name, []).append(value)

    def median(self, name):
        return statistics.median(self.values[name])

    def text(self, name):
        values = self.values[name]
        return f"{statistics.median(values):.0f} ({min(values):.0f}-{max(values):.0f})"


def rates_of(trainers, seconds):
    """Images a second, of each trainer, all measured at the same time."""
    for trainer in trainers:
        trainer.tell("measure", seconds)
    return [trainer.number() for trainer in trainers]


@contextlib.contextmanager
def trainers_of(side, count, options, socket=None):
    """`count` trainers, attached and about to begin."""
    with contextlib.ExitStack() as stack:
        trainers = []
        for _ in range(count):
            trainers.append(Trainer(side, options.data, options.workers, socket))
            stack.callback(trainers[-1].end)
        for trainer in trainers:
            trainer.ready()
        yield trainers


def measure(side, count, options, results, socket=None, daemon=None):
    """One phase of a round: rates and memory of `count` trainers of one side."""
    with trainers_of(side, count, options, socket) as trainers:
        rates = rates_of(trainers, options.seconds)
        processes = [trainer.pid for trainer in trainers] + ([daemon.pid] if daemon else [])
        results.add(f"{side} {count} rate", sum(rates))
        results.add(f"{side} {count} memory", memory_of(processes) / MIB)


def with_a_core_left(options, results):
    """1 and several trainers on one stream of one worker: reading every byte is work, too, and
    where workers use all cores the trainers' reading takes from them."""
    with Stokerd(options.build, 1) as daemon:
        for count in (1, TRAINERS):
            with trainers_of("stoker", count, options, daemon.socket) as trainers:
                results.add(f"stoker {count} rate, 1 worker",
                            sum(rates_of(trainers, options.seconds)))


def decodes_an_epoch(daemon, options, results):
    """How often an image is decoded while several trainers read the same epochs."""
    with trainers_of("stoker", TRAINERS, options, daemon.socket) as trainers:
        before = daemon.counters()
        rates_of(trainers, options.seconds)
        after = daemon.counters()
    made, given = (after[name] - before[name]
                   for name in ("samples_decoded_total", "samples_delivered_total"))
    results.add("decodes", 1000 * made * TRAINERS / given)


def at_rest(daemon, options, results):
    """CPU time of the daemon while a trainer is attached and asks for nothing, in us a second."""
    with trainers_of("stoker", 1, options, daemon.socket):
        time.sleep(1)
        before = cpu_seconds(daemon.pid)
        time.sleep(options.seconds)
        results.add("rest", (cpu_seconds(daemon.pid) - before) / options.seconds * 1e6)


def growth(daemon, options, results):
    """The daemon's memory, rings apart: after a first measure and after the last."""
    counters = daemon.counters()
    assert counters["rings"] == 0, "a ring outlived its readers"
    results.add("daemon memory", memory_of([daemon.pid]) / MIB)
    results.add("delivered", counters["samples_delivered_total"])


def table(results, options):
    """The rows: what, stoker, the other, ratio."""
    workers = options.workers
    memory = results.values["daemon memory"]
    yield ("", "stoker", "the other", "ratio")
    yield (f"1 trainer, images/s; DataLoader with num_workers={workers}",
           results.text("stoker 1 rate"), results.text("torch 1 rate"),
           results.median("stoker 1 rate") / results.median("torch 1 rate"))
    yield (f"{TRAINERS} trainers, images/s in all; each with a DataLoader of its own",
           results.text(f"stoker {TRAINERS} rate"), results.text(f"torch {TRAINERS} rate"),
           results.median(f"stoker {TRAINERS} rate") / results.median(f"torch {TRAINERS} rate"))
    yield (f"{TRAINERS} trainers on one stream, images/s in all; 1 trainer",
           results.text(f"stoker {TRAINERS} rate"), results.text("stoker 1 rate"),
           results.median(f"stoker {TRAINERS} rate") / results.median("stoker 1 rate"))
    yield ("the same with 1 worker, so that a core is left for the trainers",
           results.text(f"stoker {TRAINERS} rate, 1 worker"),
           results.text("stoker 1 rate, 1 worker"),
           results.median(f"stoker {TRAINERS} rate, 1 worker")
           / results.median("stoker 1 rate, 1 worker"))
    yield (f"decodes of 1000 samples that {TRAINERS} trainers get each; once",
           results.text("decodes"), "1000", results.median("decodes") / 1000)
    yield (f"memory of {TRAINERS} trainers and all that feeds them, MiB (PSS)",
           results.text(f"stoker {TRAINERS} memory"), results.text(f"torch {TRAINERS} memory"),
           results.median(f"stoker {TRAINERS} memory")
           / results.median(f"torch {TRAINERS} memory"))
    yield (f"memory of stokerd, no ring: after {results.values['delivered'][-1]:.0f} samples; "
           f"after {results.values['delivered'][0]:.0f}, MiB",
           f"{memory[-1]:.1f}", f"{memory[0]:.1f}", memory[-1] / memory[0])
    yield ("CPU of stokerd with an attached trainer at rest, us/s; one core",
           results.text("rest"), "1000000", results.median("rest") / 1e6)


def show(rows):
    rows = [(what, ours, other, ratio if isinstance(ratio, str) else f"{ratio:.3g}")
            for what, ours, other, ratio in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [row[i].rjust(widths[i]) for i in range(1, 4)]
        print("  ".join(cells).rstrip())


def rounds(options, results):
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        with Stokerd(options.build, options.workers) as daemon:
            for count in (1, TRAINERS):
                measure("stoker", count, options, results, daemon.socket, daemon)
                measure("torch", count, options, results)
            decodes_an_epoch(daemon, options, results)
            at_rest(daemon, options, results)
        with_a_core_left(options, results)
    print("memory", file=sys.stderr, flush=True)
    with Stokerd(options.build, options.workers) as daemon:
        for _ in range(options.rounds + 1):
            with trainers_of("stoker", TRAINERS, options, daemon.socket) as trainers:
                rates_of(trainers, options.seconds)
            daemon.wait_idle()
            growth(daemon, options, results)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="of each measurement")
    parser.add_argument("--quick", action="store_true", help="one round of one second each")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 1
    return options


def main():
    options = parse()
    with contextlib.ExitStack() as stack:
        what = f"photographs of {options.data}"
        if options.data is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="stoker-bench-"))
            options.data = pathlib.Path(folder)
            what = f"{len(photos.make(folder, count=400, plain=True))} made photographs"
        results = Results()
        rounds(options, results)
    print(f"\n{what}; batches of 64 x 3 x 224 x 224 float32; {options.workers} workers; "
          f"{options.rounds} rounds, {options.seconds:g} s a measurement")
    print(f"{model()}, {len(os.sched_getaffinity(0))} cores, Linux {platform.release()}, Python "
          f"{platform.python_version()}\nmedian (least-most); ratio: stoker / the other\n")
    show(table(results, options))


if __name__ == "__main__":
    main()
