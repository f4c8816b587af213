# SPDX-License-Identifier: MIT
"""A trainer of the bench, in a process of its own: attaches, and when told measures how many images
a second it gets, reading every byte of each. As a program: client.py SIDE DATA WORKERS [SOCKET].
"""

import itertools
import pathlib
import subprocess
import sys
import time

import numpy

BATCH = 64
WARM_S = 1.5  # before each measurement: what was prepared ahead is used up by then
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Trainer:
    """The other end of such a process."""

    def __init__(self, side, data, workers, socket=None):
        self.process = subprocess.Popen(
            [sys.executable, __file__, side, str(data), str(workers), str(socket or "")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def ready(self):
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("a trainer ended early; its words are above")

    def tell(self, word, seconds):
        self.process.stdin.write(f"{word} {seconds}\n")
        self.process.stdin.flush()

    def number(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a trainer ended early; its words are above")
        return float(line)

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(10)
        finally:
            self.process.kill()


def stoker_batches(data, workers, socket):
    """Endless batches of stoker; its workers are the daemon's."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client" / "python"))
    import stoker
    loader = stoker.connect(socket).loader(
        data, batch_size=BATCH, last_batch="drop", seed=1, transforms=(
            stoker.RandomResizedCrop(224), stoker.RandomHorizontalFlip(), stoker.ToTensor(),
            stoker.Normalize(MEAN, STD)))
    return (images for _ in itertools.count() for images, _ in loader)


def torch_batches(data, workers, socket):
    """Endless batches of torch's DataLoader over torchvision's ImageFolder."""
    import torch
    from torchvision import datasets, transforms
    images = datasets.ImageFolder(data, transforms.Compose([
        transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(),
        transforms.ToTensor(), transforms.Normalize(MEAN, STD)]))
    loader = torch.utils.data.DataLoader(
        images, batch_size=BATCH, shuffle=True, drop_last=True, num_workers=workers,
        persistent_workers=True)
    return (images.numpy() for _ in itertools.count() for images, _ in loader)


def read(images):
    """Read every byte, as cheaply as it can be done."""
    return int(images.reshape(-1).view(numpy.int64).max())


def run(batches, seconds):
    """Images a second over at least `seconds`, whole batches."""
    begun = time.perf_counter()
    count = 0
    while time.perf_counter() - begun < seconds:
        images = next(batches)
        read(images)
        count += len(images)
    return count / (time.perf_counter() - begun)


def main():
    side, data, workers, socket = sys.argv[1:5]
    make = {"stoker": stoker_batches, "torch": torch_batches}[side]
    batches = make(data, int(workers), socket)
    print("ready", flush=True)
    for line in sys.stdin:
        seconds = float(line.split()[1])
        run(batches, WARM_S)
        print(run(batches, seconds), flush=True)


if __name__ == "__main__":
    main()
