# SPDX-License-Identifier: MIT
"""The section "trainers": several on one stream, beside as many DataLoaders on the same cores."""

import contextlib

from client import Trainer
from machine import Stokerd
from table import Row

COUNTS = (1, 2, 3, 8)
COMPARED = 3  # so many DataLoaders, too: eight would need more memory than small machines have


@contextlib.contextmanager
def attached(side, count, options, workers, socket=None):
    """`count` trainers, attached and about to begin."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(count):
            made.append(Trainer(side, options.data, workers, socket))
            stack.callback(made[-1].end)
        for trainer in made:
            trainer.ready()
        yield made


def rates_of(trainers, seconds):
    """Images a second, of each trainer, all measured at the same time."""
    for trainer in trainers:
        trainer.tell("measure", seconds)
    return [trainer.number() for trainer in trainers]


def decodes(daemon, trainers, options):
    """Of 1000 positions that all of them get, how many are decoded; and their rates."""
    before = daemon.counters()
    rates = rates_of(trainers, options.seconds)
    after = daemon.counters()
    made, given = (after[name] - before[name]
                   for name in ("samples_decoded_total", "samples_delivered_total"))
    return 1000 * made * len(trainers) / given, rates


def rows(options):
    workers = options.workers
    least = {count: [] for count in COUNTS}
    shared, torch = [], []
    for _ in range(options.rounds):
        with Stokerd(options.build, workers) as daemon:
            for count in COUNTS:
                with attached("stoker", count, options, workers, daemon.socket) as trainers:
                    made, rates = decodes(daemon, trainers, options)
                least[count].append(min(rates))
                if count == COMPARED:
                    shared.append(made)
        with attached("torch", COMPARED, options, workers) as trainers:
            torch.append(max(rates_of(trainers, options.seconds)))
    yield Row(f"each of {COMPARED} trainers (the slowest); of {COMPARED} DataLoaders (the fastest)",
              least[COMPARED], torch, "images/s", at_least=12)
    for count in COUNTS[1:]:
        yield Row(f"each of {count} trainers on one stream; 1 alone", least[count], least[1],
                  "images/s")
    yield Row(f"decodes of 1000 samples that {COMPARED} trainers get each; once", shared,
              [1000.0] * len(shared))
