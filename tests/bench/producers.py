# SPDX-License-Identifier: MIT
"""The section "producers": what is aside of the rate of own code. How soon the first batch comes,
of the first loader, of the next one and of a later epoch, beside torch's DataLoader on the same
object; what a picture's way through a Map costs, in processor time of the daemon and of its
producers; and what another stream loses beside producers that hang."""
import json
import pathlib
import subprocess
import sys
import threading
import time

import numpy

from machine import Stokerd, cpu_seconds, tree
from own_code import BATCH, Cheap, endless
from table import Row

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client" / "python"))

import stoker  # noqa: E402

SHAPE = (3, 32, 32)


class Short(Cheap):
    """An epoch of a hundred batches."""

    def __init__(self):
        super().__init__(SHAPE)
        self.count = 100 * BATCH


class Hanging(Cheap):
    def __getitem__(self, index):
        time.sleep(3600)


def identity(picture):
    return picture


def first(make):
    """Seconds until a loader's first batch is there; and the loader, and its iterator."""
    begin = time.monotonic()
    loader = make()
    batches = iter(loader)
    next(batches)
    return time.monotonic() - begin, loader, batches


def torch_first(method, workers):
    """Of a first loader; of a later epoch."""
    from torch.utils.data import DataLoader
    took, loader, batches = first(lambda: DataLoader(
        Short(), BATCH, shuffle=True, num_workers=workers, multiprocessing_context=method))
    for _ in batches:
        pass
    return took, first(lambda: loader)[0]


def stoker_first(options):
    """Of the first loader of a process; of another one beside it; of one after both were closed; of
    a later epoch."""
    from stoker.produce import processes
    while processes._spares:  # as if the process were new
        processes._spares.pop().end()
    with Stokerd(options.build, options.workers) as daemon, stoker.connect(daemon.socket) as node:
        def make():
            return node.loader(stoker.Source(Short(), gives="arrays"), batch_size=BATCH,
                               num_workers=options.workers)
        took, one, batches = first(make)
        for _ in batches:
            pass
        beside, other, _ = first(make)
        one.close()
        other.close()
        after, one, batches = first(make)
        for _ in batches:
            pass
        later = first(lambda: one)[0]
        one.close()
    return took, beside, after, later


def start_rows(options):
    spawned, forked, ours = [], [], []
    for _ in range(options.rounds):
        spawned.append(torch_first("spawn", options.workers))
        forked.append(torch_first("fork", options.workers))
        ours.append(stoker_first(options))
    for number, what, other in (
            (0, "first loader; DataLoader by spawn", [took for took, _ in spawned]),
            (1, "another one beside it; DataLoader by fork", [took for took, _ in forked]),
            (2, "one after they were closed; DataLoader by fork", [took for took, _ in forked]),
            (3, "a later epoch; DataLoader by fork", [took for _, took in forked])):
        yield Row(f"ms to the first batch, {what}",
                  [1000 * took[number] for took in ours], [1000 * took for took in other], "ms",
                  at_most=1, digits=1)


def handover(options, transforms):
    """Processor time of the daemon and the producers for a picture, in us."""
    steps = [stoker.Resize(256), stoker.CenterCrop(224), *transforms]
    processes = {"num_workers": 1} if transforms else {}
    with Stokerd(options.build, 1, cache_memory="1G") as daemon, \
            stoker.connect(daemon.socket) as node, node.loader(
                str(options.data), batch_size=BATCH, transforms=steps, dtype="uint8",
                layout="NHWC", drop_last=True, **processes) as loader:
        batches = endless(loader)
        pids = [daemon.pid]
        for _ in range(2 * len(loader)):  # all pictures are kept
            next(batches)
        if transforms:
            pids += tree([loader._reader.map_producers._process.pid])
        before, count, until = sum(map(cpu_seconds, pids)), 0, time.monotonic() + options.seconds
        while time.monotonic() < until:
            count += len(next(batches)[0])
        return 1e6 * (sum(map(cpu_seconds, pids)) - before) / count


def handover_row(options):
    took = [handover(options, [stoker.Map(identity, version="1")]) - handover(options, [])
            for _ in range(options.rounds)]
    return Row("a picture of 224 x 224 through a Map: processor time", took, None, "us",
               at_most=60, of_ours=True, digits=1)


def folder_rate(options, node):
    with node.loader(str(options.data), batch_size=BATCH, drop_last=True, transforms=[
            stoker.RandomResizedCrop(224), stoker.RandomHorizontalFlip()]) as loader:
        batches = endless(loader)
        next(batches)
        begin, count = time.monotonic(), 0
        while time.monotonic() < begin + options.seconds:
            count += len(numpy.asarray(next(batches)[0]))
        return count / (time.monotonic() - begin)


def beside_row(options):
    """Of a reader that asks for samples of code that hangs, as long as another one is measured."""
    beside, alone = [], []
    for _ in range(options.rounds):
        with Stokerd(options.build, options.workers) as daemon, \
                stoker.connect(daemon.socket) as node:
            alone.append(folder_rate(options, node))
            source = stoker.Source(Hanging(SHAPE), gives="arrays", like=(Cheap(SHAPE).array, 0))
            loader = node.loader(source, batch_size=BATCH, num_workers=4)
            reader = threading.Thread(target=wait_for_ever, args=(loader,), daemon=True)
            reader.start()
            while not any(row["lent"] for row in node_producers(daemon)):
                time.sleep(0.05)
            beside.append(folder_rate(options, node))
            loader.close()
            reader.join()
    return Row("samples of a folder beside producers that hang; alone", beside, alone, "samples/s",
               at_least=0.98)


def node_producers(daemon):
    """Rows of `stokerctl producers`."""
    done = subprocess.run([daemon.stokerctl, "--socket", daemon.control, "producers", "--json"],
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["producers"]


def wait_for_ever(loader):
    try:
        next(iter(loader))
    except stoker.Error:  # it is closed
        pass


def rows(options):
    yield from start_rows(options)
    yield handover_row(options)
    yield beside_row(options)
