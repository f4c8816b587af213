# SPDX-License-Identifier: MIT
"""In place of chainer.iterators.MultiprocessIterator, with its parameters. Works without chainer;
where chainer is installed, the class is a chainer.dataset.Iterator.

    train = stoker.chainer.Iterator("/data/train", 64, transforms=[...])
    updater = chainer.training.updaters.StandardUpdater(train, optimizer)
"""
from .iterator import Iterator

__all__ = ["Iterator"]
