# SPDX-License-Identifier: MIT
"""The section "latency": from a batch's last sample being made to its trainer being told, by a
trainer in C that waits for each batch; with the other core free, and with all workers busy for
other trainers, too. Beside that, in the same round, a byte that goes to another process and back,
with as many processes of the workers' niceness that keep the processors busy."""

import contextlib
import json
import subprocess

from machine import Stokerd
from table import Row
from trainers import attached

NICENESS = 5  # of the daemon's workers, if nothing else is said


def measure(options, daemon):
    """p50 and p99 in us."""
    done = subprocess.run(
        [options.build / "tests" / "bench" / "handover_bench", daemon.socket, options.data,
         str(options.seconds)], stdout=subprocess.PIPE, check=True)
    values = json.loads(done.stdout)
    return values["p50_us"], values["p99_us"]


def echo(options):
    """The same of a socket alone."""
    done = subprocess.run(
        [options.build / "tests" / "bench" / "socket_bench", str(options.workers), str(NICENESS),
         str(options.seconds)], stdout=subprocess.PIPE, check=True)
    values = json.loads(done.stdout)
    return values["p50_us"], values["p99_us"]


def rows(options):
    idle, busy, bare = [], [], []
    for _ in range(options.rounds):
        with Stokerd(options.build, 1) as daemon:
            idle.append(measure(options, daemon))
        with contextlib.ExitStack() as stack:
            daemon = stack.enter_context(Stokerd(options.build, options.workers))
            trainer, = stack.enter_context(
                attached("stoker", 1, options, options.workers, daemon.socket))
            trainer.tell("measure", 2 * options.seconds)
            busy.append(measure(options, daemon))
            trainer.number()
        bare.append(echo(options))
    for what, values, at_most in (("1 worker, a core free", idle, (80, None)),
                                  (f"{options.workers} workers, all busy", busy, (80, 500))):
        for i, name in enumerate(("p50", "p99")):
            yield Row(f"hand-over of a batch, {name}, {what}", [value[i] for value in values],
                      None, "us", at_most=at_most[i], of_ours=True)
    yield Row(f"hand-over, p99, {options.workers} workers, all busy; an echo beside such a load",
              [p99 for _, p99 in busy], [p99 for _, p99 in bare], "us", at_most=2)
