# SPDX-License-Identifier: MIT
"""Softmax regression in JAX on a folder of images: jax_train.py /data/train [epochs]"""
import sys

import jax
import jax.numpy as jnp

import stoker
import stoker.jax


def loss(weights, images, labels):
    logits = images.reshape(len(images), -1) @ weights
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()


@jax.jit
def step(weights, images, labels):
    value, gradient = jax.value_and_grad(loss)(weights, images, labels)
    return weights - 0.01 * gradient, value


with stoker.connect(start=True) as node:
    # One shape for all batches, so that JAX compiles once.
    loader = node.loader(sys.argv[1], batch_size=8, seed=1, drop_last=True, transforms=[
        stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(), stoker.ToTensor()])
    weights = jnp.zeros((3 * 32 * 32, len(loader.classes)))
    for epoch in range(int((sys.argv[2:] or ["1"])[0])):
        for images, labels in stoker.jax.arrays(loader):
            weights, value = step(weights, images, labels)
        print(f"epoch {epoch}: loss {value:.3f}")
