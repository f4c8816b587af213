# SPDX-License-Identifier: MIT
"""An epoch as JAX arrays: jax_loop.py /data/train"""
import sys

import jax

import stoker
import stoker.jax

mean = jax.jit(lambda images: images.mean())
with stoker.connect() as node:
    loader = node.loader(sys.argv[1], batch_size=8, transforms=[
        stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(), stoker.ToTensor()])
    for images, labels in stoker.jax.arrays(loader):
        print(images.shape, f"{mean(images):.4f}", labels[:8])
