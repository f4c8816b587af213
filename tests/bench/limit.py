# SPDX-License-Identifier: MIT
"""The section "limit": how many samples a second the one loop thread could serve, were there
workers enough. Pictures of a byte in an array are made in no time, so workers return at once, and
what the loop thread's processor time allows is found on any machine: samples a second of that time.
Its share of a core says who limits: near 1 the loop does; below, workers or trainers do.

Small batches and many trainers are where the loop ends: of batches of 1 each sample costs a message
each way, and from 65 readers on (READERS_LOOKED_AT, produce.c) it is woken for each job."""

import contextlib
import pathlib
import subprocess
import time

import numpy

from machine import Stokerd
from table import Row

COUNT = 200000
AT_LEAST = 200000  # of batches of 64
# Trainers, each on a stream of its own, their batches, and workers (0: as many as asked for).
LOADS = ((1, 64, 0), (1, 8, 0), (1, 1, 0), (4, 64, 0), (16, 64, 0), (16, 64, 16), (16, 8, 0),
         (64, 64, 0), (128, 64, 0))


def loop_seconds(pid):
    """Processor time of the loop thread, which is the main thread."""
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


def pictures(options):
    path = options.scratch / "bytes.npy"
    if not path.exists():
        numpy.save(path, numpy.zeros((COUNT, 1, 1, 3), dtype=numpy.uint8))
    return path


def measure(options, trainers, batch_size, workers):
    """Samples a second of time, of the loop thread's processor time, and its share of a core."""
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Stokerd(options.build, workers))
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
        return made / seconds, made / cpu, cpu / seconds


def taken(daemon):
    return (daemon.counters()["samples_delivered_total"], loop_seconds(daemon.pid),
            time.monotonic())


def rows(options):
    for trainers, batch_size, fixed in LOADS:
        workers = fixed or options.workers
        rates = [measure(options, trainers, batch_size, workers) for _ in range(options.rounds)]
        what = (f"{trainers} trainer{'s'[:trainers - 1]}, batches of {batch_size}, "
                f"{workers} worker{'s'[:workers - 1]}")
        rate, limit, share = zip(*rates)
        yield Row(f"samples a second, {what}", rate, None, "samples/s")
        yield Row("the same, a second of the loop thread's processor time", limit, None,
                  "samples/s", of_ours=True, at_least=AT_LEAST if batch_size == 64 else None)
        yield Row("the same, the loop thread's share of a core", share, None, digits=2)
