# SPDX-License-Identifier: MIT
"""The section "cache": pictures kept as decoded (cache-memory), one worker, through the whole
daemon: beside the same daemon without, which decodes by the seek index, and beside a DataLoader;
from the disk (cache-decoded-size), where the system has the files in memory; what filling costs the
first epochs; and a dataset of four times the budget.

The dataset is a manifest that names each file several times: each line is a sample that keeps a
picture of its own, 2 GB of them with photographs of ImageNet's kind.
"""

import statistics
import tempfile

from client import Trainer
from machine import Stokerd
from rates import epochs, manifest, measure
from table import Row

BUDGET = "8G"
AT_LEAST = {"train": (5, 30), "val": (5.5, 28)}  # the index' rate, and the DataLoader's
FROM_DISK = 4.5


def kept(options, transform, memory, **flags):
    """Images a second once all is kept that will be, and the counters then."""
    with Stokerd(options.build, 1, cache_memory=memory, **flags) as daemon:
        trainer = Trainer("stoker", manifest(options), 1, daemon.socket, transform)
        try:
            trainer.ready()
            trainer.tell("epochs", 3)
            trainer.numbers()
            trainer.tell("measure", options.seconds)
            return trainer.number(), daemon.counters()
        finally:
            trainer.end()


def from_disk(options, transform):
    """The same with nothing in memory and all on the disk, which the system has in its cache. Lines
    of the manifest that name the same file share a picture there."""
    with tempfile.TemporaryDirectory(prefix="stoker-", dir=options.scratch) as folder:
        return kept(options, transform, 0, cache_dir=f"{folder}/cache", cache_decoded_size=BUDGET)


def together(rates):
    """Of epochs, one after the other."""
    return statistics.harmonic_mean(rates)


def rows(options):
    for transform, bars in AT_LEAST.items():
        ours, disk, index, torch = [], [], [], []
        for _ in range(options.rounds):
            rate, counters = kept(options, transform, BUDGET)
            ours.append(rate)
            disk.append(from_disk(options, transform)[0])
            index.append(kept(options, transform, 0)[0])
            torch.append(measure("torch", options, transform, 1))
        for other, rates, bar in zip(("seek index", "DataLoader"), (index, torch), bars):
            yield Row(f"{transform}, kept, 1 worker; {other}", ours, rates, "images/s",
                      at_least=bar)
        yield Row(f"{transform}, from the disk, 1 worker; seek index", disk, index, "images/s",
                  at_least=FROM_DISK)
    bytes_kept = counters["cache_bytes"]
    yield Row("bytes of a kept picture", [bytes_kept / counters["cache_pictures"] / 1024],
              None, "KiB")
    first, four, later = ([], []), ([], []), ([], [])
    for _ in range(options.rounds):
        for side, memory in enumerate((BUDGET, 0)):
            rates = epochs(options, "train", 1, 4, cache_memory=memory)
            first[side].append(rates[0])
            four[side].append(together(rates))
        for side, memory in enumerate((bytes_kept // 4, 0)):
            rates = epochs(options, "train", 1, 4, cache_memory=memory)
            later[side].append(together(rates[2:]))
    yield Row("first epoch; without", *first, "images/s", at_least=0.97)
    yield Row("first four epochs; without", *four, "images/s", at_least=1.1)
    yield Row("third and fourth epoch, a quarter kept; without", *later, "images/s", at_least=1)
