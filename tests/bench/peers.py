# SPDX-License-Identifier: MIT
"""The section "peers": other loaders on the same files, each as its documentation has it. They make
other bytes than torchvision: client.py says what each does. Only those that --peer names. Beside
Chainer's iterator stands stoker.chainer's, with the converter that both need."""

from rates import later, measure
from table import Row


def rows(options):
    for name, python in options.peer.items():
        ours, other = [], []
        own = ("stoker.chainer", python) if name == "Chainer" else ()
        for _ in range(options.rounds):
            ours.append(later(options, "train", options.workers, *own))
            other.append(measure(name, options, "train", options.workers, python=python))
        yield Row(f"train, later epochs, {options.workers} workers; {name}", ours, other,
                  "images/s", at_least=4 if name == "Chainer" else None)
