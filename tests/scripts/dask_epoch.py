# SPDX-License-Identifier: MIT
"""Mean and deviation of an epoch's pixels by dask: dask_epoch.py /data/train"""
import sys

import stoker
import stoker.dask

images, labels = stoker.dask.epoch(sys.argv[1], batch_size=8, transforms=[
    stoker.Resize((32, 32)), stoker.ToTensor()])
print(images)
print(images.mean(axis=(0, 2, 3)).compute(), images.std(axis=(0, 2, 3)).compute())
