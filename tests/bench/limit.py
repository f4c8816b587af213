# SPDX-License-Identifier: MIT
"""The section "limit": how many samples a second the one loop thread could serve, were there
workers enough. Pictures of a byte in an array are made in no time, so what the loop thread's
processor time allows is found on any machine: samples a second of that time. Where samples a second
are no more than that, it is the loop that limits; else workers or trainers are."""

import contextlib
import pathlib
import subprocess
import time

import numpy

from machine import Stokerd
from table import Row

COUNT = 200000
AT_LEAST = 200000  # of batches of 64
# Trainers, each on a stream of its own, and their batches.
LOADS = ((1, 64), (1, 1), (4, 64), (16, 64))


def loop_seconds(pid):
    """Processor time of the loop thread, which is the main thread."""
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


def pictures(options):
    path = options.scratch / "bytes.npy"
    if not path.exists():
        numpy.save(path, numpy.zeros((COUNT, 1, 1, 3), dtype=numpy.uint8))
    return path


def measure(options, trainers, batch_size):
    """Samples a second of time, and of the loop thread's processor time."""
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Stokerd(options.build, options.workers))
        running = [subprocess.Popen([options.build / "tests" / "bench" / "drain_bench",
                                     daemon.socket, pictures(options), str(batch_size), str(seed)])
                   for seed in range(trainers)]
        for process in running:
            stack.callback(process.wait)
            stack.callback(process.terminate)
        while daemon.counters()["readers"] < trainers:
            time.sleep(0.05)
        time.sleep(0.5)
        made, cpu, begun = taken(daemon)
        time.sleep(options.seconds)
        made, cpu, seconds = (b - a for a, b in zip((made, cpu, begun), taken(daemon)))
        return made / seconds, made / cpu


def taken(daemon):
    return (daemon.counters()["samples_delivered_total"], loop_seconds(daemon.pid),
            time.monotonic())


def rows(options):
    for trainers, batch_size in LOADS:
        rates = [measure(options, trainers, batch_size) for _ in range(options.rounds)]
        what = f"{trainers} trainer{'s'[:trainers - 1]}, batches of {batch_size}"
        yield Row(f"samples a second, {what}", [rate for rate, _ in rates], None, "samples/s")
        yield Row("the same, a second of the loop thread's processor time",
                  [limit for _, limit in rates], None, "samples/s", of_ours=True,
                  at_least=AT_LEAST if batch_size == 64 else None)
