# SPDX-License-Identifier: MIT
"""The section "index": what the index of JPEG scans costs: the first epoch with it beside the same
without, and its memory beside the files'."""

from machine import Stokerd
from client import Trainer
from rates import epochs
from table import Row


def share(options):
    """Bytes of the index after some epochs, and of the files."""
    with Stokerd(options.build, options.workers) as daemon:
        trainer = Trainer("stoker", options.data, options.workers, daemon.socket)
        try:
            trainer.ready()
            trainer.tell("measure", options.seconds)
            trainer.number()
            return daemon.counters()["index_bytes"]
        finally:
            trainer.end()


def rows(options):
    with_it, without = [], []
    for _ in range(options.rounds):
        with_it += epochs(options, "train", options.workers, 1)
        without += epochs(options, "train", options.workers, 1, index_memory=0)
    yield Row("first epoch with an index; without", with_it, without, "images/s", at_least=0.95)
    files = sum(path.stat().st_size for path in options.data.rglob("*") if path.is_file())
    yield Row("bytes of the index; of the files", [share(options) / 1024], [files / 1024], "KiB",
              at_most=0.02)
