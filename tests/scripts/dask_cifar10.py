# SPDX-License-Identifier: MIT
"""How much the augmentation changes CIFAR-10's pictures, class by class, by dask:
dask_cifar10.py cifar-10-binary.tar.gz

A script as dask's users have it: lazy arrays of the published files, four augmented views of each
picture, and reductions over all of them. stoker's are the lines that make the arrays.
"""
import sys

import dask
import numpy as np

import stoker
import stoker.dask

VIEWS = 4

images, labels = stoker.dask.epoch(
    {"path": sys.argv[1], "kind": "cifar10", "split": "train"}, batch_size=500, views=VIEWS, seed=1,
    shuffle=False, transforms=[
        stoker.RandomCrop(32, padding=4), stoker.RandomHorizontalFlip(),
        stoker.RandomRotation(15, interpolation="bilinear"), stoker.ToTensor()])
print(images)

spread = images.std(axis=1).mean(axis=(1, 2, 3))
mean, deviation, spread, labels = dask.compute(
    images.mean(axis=(0, 1, 3, 4)), images.std(axis=(0, 1, 3, 4)), spread, labels)
print("mean", mean, "deviation", deviation)
for label in range(10):
    print(f"class {label}: {np.sum(labels == label)} pictures, views differ by "
          f"{spread[labels == label].mean():.4f}")
