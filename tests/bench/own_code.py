# SPDX-License-Identifier: MIT
"""The section "own-code": the user's own code in processes, beside torch's DataLoader on the same
object with as many workers. Every byte of each batch is read; both seed random numbers."""
import functools
import os
import time

import numpy

from machine import Stokerd
from table import Row

BATCH = 64


class Cheap:
    """Arrays that cost next to nothing to make."""

    def __init__(self, shape):
        self.array, self.count = numpy.ones(shape, numpy.float32), 200000

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.array, index


class Files:
    """Bytes of pictures, or with `decodes` arrays by Pillow and torchvision."""

    def __init__(self, data, decodes):
        self.paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk(data)
                            for name in names)
        self.decodes, self.transform = decodes, None

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            if not self.decodes:
                return file.read(), 0
            if self.transform is None:
                self.transform = torchvision_transform()
            from PIL import Image
            return self.transform(Image.open(file).convert("RGB")), 0


def torchvision_transform():
    from torchvision import transforms
    return transforms.Compose([
        transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])


def rate(batches, seconds):
    """Samples a second, of those that came after the first batch."""
    def read(batch):
        return numpy.asarray(batch[0]).view(numpy.uint32).sum(), len(batch[0])
    read(next(batches))
    begin, count = time.monotonic(), 0
    while time.monotonic() < begin + seconds:
        count += read(next(batches))[1]
    return count / (time.monotonic() - begin)


def endless(loader):
    while True:
        yield from loader


def torch_rate(code, workers, seconds):
    from torch.utils.data import DataLoader
    loader = DataLoader(code, BATCH, shuffle=True, num_workers=workers, persistent_workers=True,
                        drop_last=True)
    return rate(endless(loader), seconds)


def stoker_rate(build, code, workers, seconds, gives="arrays", transforms=(), after=0):
    """With `after`, of the epochs from that one on, of what is kept."""
    import stoker
    kept = {"cache_memory": "1G"} if after else {}
    with Stokerd(build, workers, **kept) as daemon, stoker.connect(daemon.socket) as node:
        source = stoker.Source(code, gives=gives)
        with node.loader(source, batch_size=BATCH, transforms=transforms, num_workers=workers,
                         drop_last=True) as loader:
            for _ in range(after):
                for _ in loader:
                    pass
            return rate(endless(loader), seconds)


def folder_rate(build, data, workers, seconds, transforms):
    import stoker
    with Stokerd(build, workers, cache_memory="1G") as daemon, \
            stoker.connect(daemon.socket) as node, node.loader(
                str(data), batch_size=BATCH, transforms=transforms, drop_last=True) as loader:
        for _ in loader:
            pass
        return rate(endless(loader), seconds)


def rows(options):
    import stoker
    steps = [stoker.RandomResizedCrop(224), stoker.RandomHorizontalFlip(),
             stoker.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
    workers, seconds = options.workers, options.seconds
    ours = functools.partial(stoker_rate, options.build)
    small, large = Cheap((32, 32)), Cheap((3, 224, 224))
    pillow, files = Files(options.data, True), Files(options.data, False)
    sides = {
        "32 x 32 float32, cheap code": (lambda: ours(small, workers, seconds),
                                        lambda: torch_rate(small, workers, seconds), 2.5),
        "3 x 224 x 224 float32, cheap code": (lambda: ours(large, workers, seconds),
                                              lambda: torch_rate(large, workers, seconds), 3),
        "Pillow and torchvision in the code": (lambda: ours(pillow, workers, seconds),
                                               lambda: torch_rate(pillow, workers, seconds), 1.1),
        "bytes from the code, stoker's transforms, first epoch": (
            lambda: ours(files, workers, seconds, "bytes", steps),
            lambda: torch_rate(pillow, workers, seconds), 3),
        "... later epochs; stoker's own folder": (
            lambda: ours(files, workers, seconds, "bytes", steps, 1),
            lambda: folder_rate(options.build, options.data, workers, seconds, steps), 0.9)}
    measured = {what: ([], []) for what in sides}
    for _ in range(options.rounds):
        for what, (one, other, _) in sides.items():
            measured[what][0].append(one())
            measured[what][1].append(other())
    for what, (_, _, bar) in sides.items():
        other = "" if ";" in what else "; DataLoader"
        yield Row(what + other, *measured[what], "samples/s", at_least=bar)
