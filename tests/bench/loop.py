# SPDX-License-Identifier: MIT
"""The section "loop": the whole daemon beside a bare loop of the same kernels in one process, which
reads files, decodes and transforms with as many threads and hands nothing to anybody.

The trainer's own reading takes a core's time, too: where workers use all cores that shows in images
a second, so there is a row of CPU time, the daemon's alone, as well.
"""

import json
import subprocess

from client import Trainer
from machine import Stokerd, cpu_seconds
from table import Row

AT_LEAST = 0.93


def bare(options, threads):
    """Images a second, and CPU seconds an image."""
    done = subprocess.run(
        [options.build / "tests" / "bench" / "loop_bench", options.data, "--threads", str(threads),
         "--seconds", str(options.seconds)], stdout=subprocess.PIPE, check=True)
    values = json.loads(done.stdout)
    return values["images_per_second"], values["cpu_seconds"] / values["images"]


def whole(options, workers):
    with Stokerd(options.build, workers) as daemon:
        trainer = Trainer("stoker", options.data, workers, daemon.socket)
        try:
            trainer.ready()
            trainer.tell("measure", options.seconds)
            trainer.number()
            trainer.tell("measure", options.seconds)
            cpu, made = cpu_seconds(daemon.pid), daemon.counters()["samples_decoded_total"]
            rate = trainer.number()
            cpu = cpu_seconds(daemon.pid) - cpu
            made = daemon.counters()["samples_decoded_total"] - made
            return rate, cpu / made
        finally:
            trainer.end()


def rows(options):
    for workers in range(1, options.workers + 1):
        ours, other = [], []
        for _ in range(options.rounds):
            ours.append(whole(options, workers))
            other.append(bare(options, workers))
        yield Row(f"whole daemon, {workers} worker{'s'[:workers - 1]}; a bare loop",
                  [rate for rate, _ in ours], [rate for rate, _ in other], "images/s",
                  at_least=AT_LEAST)
        yield Row("the same: images a CPU second of the daemon; of the loop",
                  [1 / cpu for _, cpu in ours], [1 / cpu for _, cpu in other])
