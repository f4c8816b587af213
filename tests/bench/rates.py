# SPDX-License-Identifier: MIT
"""The section "daemon": images a second of one trainer, beside a DataLoader with as many workers;
in the first epoch, the second, and later ones; of the train and the val transform.

A first epoch is over soon where a folder is small, so it is measured on a manifest that names each
file several times: every line is a sample of its own that nothing is known of yet.
"""

from client import Trainer
from machine import Stokerd
from table import Row

FIRST = 4000  # lines of the manifest, at least
AT_LEAST = {("train", "first"): 3.0, ("train", "second"): 5.0, ("train", "later"): 5.0,
            ("val", "first"): 2.6, ("val", "second"): 4.2, ("val", "later"): 4.2}


def manifest(options):
    """The dataset, each file several times; made once."""
    path = options.scratch / "manifest.tsv"
    if not path.exists():
        files = sorted(name for name in options.data.resolve().rglob("*") if name.is_file())
        times = -(-FIRST // len(files))
        path.write_text("".join(f"{str(name)[1:]}\t0\n" for _ in range(times) for name in files))
    return path


def measure(side, options, transform, workers, socket=None, python=None):
    trainer = Trainer(side, options.data, workers, socket, transform,
                      **({"python": python} if python else {}))
    try:
        trainer.ready()
        trainer.tell("measure", options.seconds)
        return trainer.number()
    finally:
        trainer.end()


def epochs(options, transform, workers, count, **flags):
    """Images a second of each of the first epochs of a daemon that has just started."""
    with Stokerd(options.build, workers, **flags) as daemon:
        trainer = Trainer("stoker", manifest(options), workers, daemon.socket, transform)
        try:
            trainer.ready()
            trainer.tell("epochs", count)
            return trainer.numbers()
        finally:
            trainer.end()


def later(options, transform, workers, side="stoker", python=None):
    with Stokerd(options.build, workers) as daemon:
        return measure(side, options, transform, workers, daemon.socket, python)


def rows(options):
    for transform in ("train", "val"):
        for workers in range(1, options.workers + 1):
            ours, torch = {"first": [], "second": [], "later": []}, []
            for _ in range(options.rounds):
                first, second = epochs(options, transform, workers, 2)
                torch.append(measure("torch", options, transform, workers))
                ours["first"].append(first)
                ours["second"].append(second)
                ours["later"].append(later(options, transform, workers))
            for epoch, values in ours.items():
                yield Row(f"{transform}, {epoch} epoch, {workers} worker{'s'[:workers - 1]}; "
                          f"DataLoader", values, torch, "images/s",
                          at_least=AT_LEAST[transform, epoch])
