# SPDX-License-Identifier: MIT
"""Pictures kept as decoded, through the whole daemon with one worker, in four sections:

cache           in memory (cache-memory), beside the seek index and a DataLoader; also beside one of
                OpenCV and albumentations, if --peer names OpenCV
cache-disk      on the disk (cache-decoded-size), where the system has the files in memory
cache-epochs    what filling costs the first epochs; a dataset of four times the budget
cache-streams   streams of their own orders, where a part of the dataset can be kept

With --rounds 2 each takes less than three minutes, the first and the last one less than five. The
dataset is a manifest that names each file several times: each line is a sample that keeps a picture
of its own, 2 GB of them with photographs of ImageNet's kind.
"""

import concurrent.futures
import statistics
import tempfile

from client import BATCH, Trainer
from machine import Stokerd
from rates import epochs, manifest, measure
from table import Row

BUDGET = "8G"
# The index' rate, and the DataLoader's; the same for bytes.
AT_LEAST = {"train": (5, 30), "val": (5.5, 28), "train:uint8": (5, 30), "val:uint8": (5.5, 28)}
OPENCV = {"val": 10, "val:uint8": 10}
FROM_DISK = 4.5
SOME = 1000  # lines of the manifest that several streams read
PARTS = ((1, 0.25), (2, 0.10), (2, 0.25), (2, 0.50), (4, 0.25))  # streams, and what is kept
SAME = 0.97  # within the noise of a run
PAUSED = (2, 0.25)  # the same, with trainers that compute ...
FOUND = 0.40
LOAD = 0.5  # ... and ask for so much of what a worker can do without


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
    counters = None
    for transform, bars in AT_LEAST.items():
        ours, index, torch, opencv = [], [], [], []
        for _ in range(options.rounds):
            rate, counters = kept(options, transform, BUDGET)
            ours.append(rate)
            index.append(kept(options, transform, 0)[0])
            torch.append(measure("torch", options, transform, 1))
            if "OpenCV" in options.peer:
                opencv.append(measure("OpenCV", options, transform, 1,
                                      python=options.peer["OpenCV"]))
        for other, rates, bar in zip(("seek index", "DataLoader", "OpenCV"),
                                     (index, torch, opencv), (*bars, OPENCV.get(transform))):
            if rates:
                yield Row(f"{transform}, kept, 1 worker; {other}", ours, rates, "images/s",
                          at_least=bar)
    yield Row("bytes of a kept picture",
              [counters["cache_bytes"] / counters["cache_pictures"] / 1024], None, "KiB")


def disk_rows(options):
    for transform in ("train", "val"):
        disk, index = [], []
        for _ in range(options.rounds):
            disk.append(from_disk(options, transform)[0])
            index.append(kept(options, transform, 0)[0])
        yield Row(f"{transform}, from the disk, 1 worker; seek index", disk, index, "images/s",
                  at_least=FROM_DISK)


def epoch_rows(options):
    bytes_kept = kept(options, "train", BUDGET)[1]["cache_bytes"]
    first, four, later, second = ([], []), ([], []), ([], []), []
    for _ in range(options.rounds):
        for side, memory in enumerate((BUDGET, 0)):
            rates = epochs(options, "train", 1, 4, cache_memory=memory)
            first[side].append(rates[0])
            if not side:
                second.append(rates[1])
            four[side].append(together(rates))
            if side:
                later[side].append(together(rates[2:]))
        rates = epochs(options, "train", 1, 4, cache_memory=bytes_kept // 4)
        later[0].append(together(rates[2:]))
    yield Row("first epoch; without", *first, "images/s", at_least=0.8)
    yield Row("second epoch; first", second, first[0], "images/s", at_least=0.97)
    yield Row("first four epochs; without", *four, "images/s", at_least=1.1)
    yield Row("third and fourth epoch, a quarter kept; without", *later, "images/s", at_least=1)


def some(options):
    """A part of the dataset, so that the epochs of several streams are over soon."""
    path = options.scratch / "some.tsv"
    if not path.exists():
        lines = manifest(options).read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:SOME]))
    return path


def found_of(before, after):
    """Of the samples that were shown, how many were kept."""
    hits, made = (after[name] - before.get(name, 0)
                  for name in ("cache_hits_total", "samples_decoded_total"))
    return hits / max(1, hits + made)


def together_in(options, streams, memory, listed=False, pause=0):
    """Images a second of all streams, in the third epoch; how many of them were kept; and the
    counters. `listed`: the daemon knows no order, so it replaces nothing. `pause`: from then on
    each trainer computes for so long on a batch, for some epochs before."""
    with Stokerd(options.build, 1, cache_memory=memory) as daemon, \
            concurrent.futures.ThreadPoolExecutor(streams) as pool:
        trainers = [Trainer("stoker", some(options), 1, daemon.socket, seed=seed, listed=listed)
                    for seed in range(1, streams + 1)]

        def all_tell(word, number):
            for trainer in trainers:
                trainer.tell(word, number)
            return list(pool.map(Trainer.numbers, trainers))

        try:
            for trainer in trainers:
                trainer.ready()
            all_tell("epochs", 2 if memory else 1)
            if pause:
                all_tell("pause", pause)
                all_tell("measure", options.seconds)
            before = daemon.counters()
            rate = sum(rates[0] for rates in all_tell("measure", options.seconds))
            after = daemon.counters()
        finally:
            for trainer in trainers:
                trainer.end()
    return rate, found_of(before, after), after


def stream_rows(options):
    """With busy workers, beside the better of a daemon that knows no order, and so never evicts,
    and one that keeps nothing. With idle ones the rate is the trainers', so what is found."""
    bytes_kept = together_in(options, 1, BUDGET)[2]["cache_bytes"]
    nothing = {}
    for streams, part in PARTS:
        memory = int(bytes_kept * part)
        ours, never = [], []
        for turn in range(options.rounds):
            ours.append(together_in(options, streams, memory)[:2])
            never.append(together_in(options, streams, memory, listed=True)[:2])
            if len(nothing.setdefault(streams, [])) <= turn:
                nothing[streams].append(together_in(options, streams, 0)[0])
        what = f"{streams} stream{'s'[:streams - 1]}, {100 * part:.0f} % kept"
        best = [max(rate, plain) for (rate, _), plain in zip(never, nothing[streams])]
        yield Row(f"{what}; without eviction, or without", [rate for rate, _ in ours], best,
                  "images/s", at_least=SAME)
        yield Row(f"{what}: found; without eviction", [found for _, found in ours],
                  [found for _, found in never], "of 1", digits=2)
    streams, part = PAUSED
    pause = streams * BATCH / (LOAD * statistics.median(nothing[streams]))
    found = [together_in(options, streams, int(bytes_kept * part), pause=pause)[1]
             for _ in range(options.rounds)]
    yield Row(f"{streams} streams, {100 * part:.0f} % kept, workers with idle time: found", found,
              None, "of 1", at_least=FOUND, of_ours=True, digits=2)
