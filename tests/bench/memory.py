# SPDX-License-Identifier: MIT
"""The section "memory": of trainers and what feeds them, and of the daemon as it serves on."""

import time

from machine import Stokerd, cpu_seconds, memory_of
from table import Row
from trainers import COMPARED, attached, rates_of

MIB = 1 << 20
WORKER_MIB, DAEMON_MIB = 8, 64  # rings apart
ALONE_MIB = 152  # 160 MB


def together(side, options, daemon=None, count=COMPARED):
    socket = daemon.socket if daemon else None
    with attached(side, count, options, options.workers, socket) as trainers:
        rates_of(trainers, options.seconds)
        processes = [trainer.pid for trainer in trainers] + ([daemon.pid] if daemon else [])
        return memory_of(processes) / MIB


def at_rest(daemon, options):
    """CPU time of the daemon while a trainer is attached and asks for nothing, in us a second."""
    with attached("stoker", 1, options, options.workers, daemon.socket):
        time.sleep(1)
        before = cpu_seconds(daemon.pid)
        time.sleep(options.seconds)
        return (cpu_seconds(daemon.pid) - before) / options.seconds * 1e6


def grown(daemon, options):
    """The daemon's memory once its rings are gone."""
    daemon.wait_idle()
    assert daemon.counters()["rings"] == 0, "a ring outlived its readers"
    return memory_of([daemon.pid]) / MIB


def rows(options):
    alone, ours, torch, own, rest = [], [], [], [], []
    with Stokerd(options.build, options.workers) as daemon:
        for _ in range(options.rounds):
            alone.append(together("stoker", options, daemon, 1))
            ours.append(together("stoker", options, daemon))
            torch.append(together("torch", options))
            own.append(grown(daemon, options))
            rest.append(at_rest(daemon, options))
        served = daemon.counters()["samples_delivered_total"]
    yield Row("memory of one trainer and of stokerd (PSS)", alone, None, "MiB",
              at_most=ALONE_MIB, of_ours=True)
    yield Row(f"memory of {COMPARED} trainers and all that feeds them (PSS)", ours, torch, "MiB")
    yield Row(f"memory of stokerd after {served} samples; after the first round",
              own[-1:], own[:1], "MiB", at_most=DAEMON_MIB + WORKER_MIB * options.workers,
              of_ours=True, digits=1)
    yield Row("CPU of stokerd with a trainer at rest", rest, None, "us/s")
