# SPDX-License-Identifier: MIT
"""The section "peers": other loaders on the same files, each as its documentation has it. They make
other bytes than torchvision: client.py says what each does. Only those that --peer names."""

from rates import later, measure
from table import Row


def rows(options):
    for name, python in options.peer.items():
        ours, other = [], []
        for _ in range(options.rounds):
            ours.append(later(options, "train", options.workers))
            other.append(measure(name, options, "train", options.workers, python=python))
        yield Row(f"train, later epochs, {options.workers} workers; {name}", ours, other,
                  "images/s")
