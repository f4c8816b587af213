# SPDX-License-Identifier: MIT
"""A small model on CIFAR-10, in PyTorch: cifar10_train.py cifar-10-binary.tar.gz [EPOCHS]

Training and validation are two streams of one daemon, which holds the pictures once, in memory; the
training one is augmented, as Keras' example for CIFAR-10 has it. Each epoch says how much of its
time the model waited for pictures.
"""
import sys
import time

import torch

import stoker

BATCH = 256
SHIFTED = stoker.ImageDataGenerator(width_shift_range=0.1, height_shift_range=0.1,
                                    horizontal_flip=True, rescale=1 / 255)


def bar(done, total, loss):
    full = 30 * done // total
    print(f"\r[{'#' * full}{'.' * (30 - full)}] {done}/{total} loss {loss:.3f}", end="", flush=True)


def train(model, loader, optimizer):
    for done, (images, labels) in enumerate(loader, 1):
        loss = torch.nn.functional.cross_entropy(model(torch.tensor(images)), torch.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bar(done, len(loader), loss.item())


def validate(model, loader):
    right = sum(int((model(torch.tensor(images)).argmax(1) == torch.tensor(labels)).sum())
                for images, labels in loader)
    return right / loader.samples


def main(path, epochs=2):
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 3, 2, 1), torch.nn.ReLU(), torch.nn.Conv2d(32, 64, 3, 2, 1),
        torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64 * 8 * 8, 10))
    optimizer = torch.optim.Adam(model.parameters())
    with stoker.connect() as node:
        training = node.loader({"path": path, "kind": "cifar10", "split": "train"},
                               batch_size=BATCH, transforms=[SHIFTED])
        testing = node.loader({"path": path, "kind": "cifar10", "split": "test"},
                              batch_size=BATCH, shuffle=False, transforms=[stoker.ToTensor()])
        for epoch in range(epochs):
            begun, waited = time.monotonic(), training.stats()["wait_seconds"]
            train(model, training, optimizer)
            took = time.monotonic() - begun
            waited = (training.stats()["wait_seconds"] - waited) / took
            with torch.no_grad():
                accuracy = validate(model, testing)
            print(f"\repoch {epoch}: {training.samples / took:.0f} images/s, waited for pictures "
                  f"{waited:.1%} of {took:.1f} s, accuracy {accuracy:.3f}")


main(sys.argv[1], *map(int, sys.argv[2:]))
