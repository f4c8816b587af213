# SPDX-License-Identifier: MIT
# needs: torch
# quick
"""An IterableDataset that shares out its lines by get_worker_info(), and one that shuffles."""
import os
import random
import sys

import torch
from torch.utils.data import IterableDataset, get_worker_info
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader

import made


class Lines(IterableDataset):
    def __init__(self, path):
        self.path = path

    def __iter__(self):
        info = get_worker_info()
        number, count = (info.id, info.num_workers) if info else (0, 1)
        with open(self.path) as file:
            for place, line in enumerate(file):
                if place % count == number:
                    yield line.strip(), torch.tensor([float(part) for part in line.split()])


class Shuffled(IterableDataset):
    """A buffer, of which each sample is drawn."""

    def __init__(self, lines, size):
        self.lines, self.size = lines, size

    def __iter__(self):
        buffer = []
        for sample in self.lines:
            buffer.append(sample)
            if len(buffer) == self.size:
                yield buffer.pop(random.randrange(self.size))
        yield from buffer


def ready(number):
    info = get_worker_info()
    assert info.id == number and info.dataset is not None


path = os.path.join(sys.argv[1], "lines.txt")
with open(path, "w") as file:
    file.writelines(f"{number} {number / 7:.4f} {number * number % 13}\n" for number in range(61))
torch.manual_seed(8)
for dataset, options in ((Lines(path), {}), (Shuffled(Lines(path), 7), {"worker_init_fn": ready})):
    loader = DataLoader(dataset, batch_size=4, num_workers=3, **options)
    for epoch in range(2):
        seen = []
        for texts, values in loader:
            seen += texts
            if isinstance(dataset, Lines):
                print(epoch, made.digest([texts, values]))
        print(epoch, len(seen), made.digest(sorted(seen)))
    if hasattr(loader, "plan"):
        print("plan", loader.plan())
