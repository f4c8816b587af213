# SPDX-License-Identifier: MIT
"""The section "sweep": four streams of one order that differ in their draws, beside four that have
nothing in common, a batch of each in turn: CPU time of the daemon a delivered sample."""

import contextlib
import pathlib
import sys
import time

from client import BATCH, MEAN, STD, WARM_BATCHES
from machine import Stokerd, cpu_seconds
from table import Row

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client" / "python"))
import stoker  # noqa: E402 (it stands in the client's folder)

STREAMS = 4


def endless(loader):
    while True:
        for images, _ in loader:
            yield images


def rounds_of(streams, enough):
    """Take a batch of each stream in turn until enough(batches, seconds); samples taken."""
    begun, count = time.perf_counter(), 0
    while not enough(count, time.perf_counter() - begun):
        for stream in streams:
            next(stream)
            count += 1
    return count * BATCH


def cost(options, daemon, seeds):
    """Microseconds of the daemon's CPU time a sample; seeds: (order, augment) of each stream."""
    with contextlib.ExitStack() as stack:
        streams = []
        for order, augment in seeds:
            loader = stack.enter_context(contextlib.closing(stoker.connect(daemon.socket).loader(
                options.data, batch_size=BATCH, last_batch="drop", order_seed=order,
                augment_seed=augment, transforms=(
                    stoker.RandomResizedCrop(224), stoker.RandomHorizontalFlip(),
                    stoker.ToTensor(), stoker.Normalize(MEAN, STD)))))
            streams.append(endless(loader))
        rounds_of(streams, lambda batches, _: batches >= STREAMS * WARM_BATCHES)
        before = cpu_seconds(daemon.pid)
        samples = rounds_of(streams, lambda _, seconds: seconds >= options.seconds)
        return (cpu_seconds(daemon.pid) - before) / samples * 1e6


def rows(options):
    sweep, apart = [], []
    with Stokerd(options.build, options.workers) as daemon:
        # Each file is indexed once, before anything is measured.
        cost(options, daemon, [(9, 9)])
        for _ in range(options.rounds):
            sweep.append(cost(options, daemon, [(1, i) for i in range(STREAMS)]))
            apart.append(cost(options, daemon, [(i, i) for i in range(STREAMS)]))
    yield Row(f"CPU time a sample, {STREAMS} augment seeds of one order; {STREAMS} streams apart",
              sweep, apart, "us", at_most=0.55)
