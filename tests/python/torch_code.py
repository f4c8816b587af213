# SPDX-License-Identifier: MIT
"""Datasets as users of torch write them, for test_data_loader.py and the processes that it starts.
"""
import os
import random
from collections import namedtuple

import numpy as np
import torch
from PIL import ImageOps
from torch.utils.data import Dataset, IterableDataset, Sampler, get_worker_info
from torchvision.datasets import ImageFolder

Pair = namedtuple("Pair", "left right")


class Nested(Dataset):
    """All kinds of leaves and containers."""

    def __init__(self, count=50):
        self.count, self.factor = count, 1

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"x": torch.full((3, 4, 5), index / 7 * self.factor), "number": index,
                "part": index / 3, "flag": index % 2 == 0,
                "more": (np.float32(index), [np.arange(4) + index, torch.tensor(index)]),
                "pair": Pair(np.full(2, index, np.uint8), 1)}


class Drawing(Dataset):
    """Draws from each generator that a program may draw from."""

    def __len__(self):
        return 24

    def __getitem__(self, index):
        return index, torch.tensor([random.random(), np.random.rand(), torch.rand(()).item()])


class Failing(Nested):
    def __getitem__(self, index):
        if index == 5:
            raise KeyError("sample five")
        return super().__getitem__(index)

    @staticmethod
    def collate(batch):
        out = pad(batch)
        if out.shape[1] == 2000 * 20:
            raise KeyError("batch four")
        return out


class Lazy(Nested):
    """Opens what cannot be pickled, as datasets of HDF5 do."""

    file = None

    def __getitem__(self, index):
        if self.file is None:
            self.file = (number for number in range(3))
        return super().__getitem__(index)


class Workers(Dataset):
    """What a worker knows of itself."""

    ready = -1

    def __len__(self):
        return 40

    def __getitem__(self, index):
        info = get_worker_info()
        return torch.tensor([info.id, info.num_workers, Workers.ready, len(info.dataset)])


def ready(number):
    Workers.ready = number


class Texts(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return f"sample {index}", index


class Growing(Dataset):
    """Samples of `step` numbers, twice as many, three times, ..."""

    def __init__(self, step=1):
        self.step = step

    def __len__(self):
        return 40

    def __getitem__(self, index):
        return torch.ones(self.step * (index + 1))


class Endless(IterableDataset):
    def __iter__(self):
        return iter(range(7))


class Lines(IterableDataset):
    """Each worker its part, of which the first ends first; it draws, and may be used once."""

    def __init__(self, count=60, large=0):
        self.count, self.large, self.unused = count, large, True

    def __iter__(self):
        assert self.unused
        self.unused = False
        info = get_worker_info()
        for number in range(info.id, self.count + 30 * info.id, info.num_workers):
            yield {"text": f"line {number}", "of": (info.id, info.seed),
                   "drawn": [random.random(), np.random.rand(), torch.rand(2)],
                   "large": torch.full((self.large,), number)}


class Deadly(Lines):
    """A process that dies once, in the middle."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def __iter__(self):
        for number, sample in enumerate(super().__iter__()):
            if number == 11 and get_worker_info().id == 0 and not os.path.exists(self.path):
                open(self.path, "x").close()
                os._exit(9)
            yield sample


class Broken(Lines):
    def __iter__(self):
        for number, sample in enumerate(super().__iter__()):
            if number == 5:
                raise KeyError("line five")
            yield sample


class Permuted(Sampler):
    """Draws when it is asked for an iterator."""

    def __init__(self, source):
        self.source = source

    def __iter__(self):
        return iter(torch.randperm(len(self.source)).tolist())

    def __len__(self):
        return len(self.source)


class Unending(Sampler):
    """Never ends, and counts how much was drawn."""

    def __init__(self):
        self.drawn = 0

    def __iter__(self):
        while True:
            self.drawn += 1
            yield [self.drawn % 40] * (1 + self.drawn % 3)


class Processes(Dataset):
    """Which process makes a sample."""

    def __len__(self):
        return 40

    def __getitem__(self, index):
        return torch.tensor([os.getpid(), index])


class Locked(Nested):
    def __init__(self):
        super().__init__()
        self.stream = (number for number in range(3))


class OwnFolder(ImageFolder):
    """Another class: it may do anything."""


def pad(batch):
    return torch.nn.utils.rnn.pad_sequence(batch, batch_first=True)


class Invert:
    """A transform of one's own, of PIL images."""

    def __call__(self, picture):
        return ImageOps.invert(picture)


def tensor(picture):
    return torch.from_numpy(np.asarray(picture.resize((8, 9))).astype(np.int32))


def first(batch):
    return batch[0]["x"], len(batch)


class Listed:
    """Has drawn an epoch when it is asked for its iterator; is no Sampler of torch's."""

    def __init__(self, orders):
        self.orders, self.epochs = orders, 0

    def __iter__(self):
        self.epochs += 1
        return iter(self.orders[self.epochs % len(self.orders)])

    def __len__(self):
        return len(self.orders[0])


class Counting:
    """Draws as it goes, without end; is no Sampler of torch's."""

    def __init__(self):
        self.drawn = 0

    def __iter__(self):
        while True:
            self.drawn += 1
            yield self.drawn % 40

    def __len__(self):
        return 40


class Mixed(Dataset):
    """Samples whose labels and keys are not those of the first one."""

    def __len__(self):
        return 12

    def __getitem__(self, index):
        sample = {"drawn": torch.rand(2), "label": 1 if index < 6 else index / 4}
        return {**sample, "note": "late"} if index == 3 else sample


class Keyed(Dataset):
    """Its samples have names."""

    def __len__(self):
        return 8

    def __getitem__(self, key):
        return torch.full((2,), float(key[1:]))


class AtOnce(Dataset):
    """Makes the samples of a batch at once, and says of how many."""

    def __len__(self):
        return 9

    def __getitem__(self, index):
        return torch.tensor([index, 1])

    def __getitems__(self, indices):
        return [torch.tensor([index, len(indices)]) for index in indices]


class Boxless(Dataset):
    """Samples without a box."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return torch.zeros(0, 4), index


class Grows(Dataset):
    """Has one sample more in each epoch."""

    def __init__(self):
        self.count = 3

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return index


def stacked(crops):
    return torch.stack([torch.from_numpy(np.array(crop)) for crop in crops])
