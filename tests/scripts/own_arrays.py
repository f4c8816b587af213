# SPDX-License-Identifier: MIT
"""Datasets of small arrays, as users of Keras and of Chainer write them, for speed.py."""
import numpy as np

try:
    from keras.utils import PyDataset as _Sequence
except ImportError:  # then nobody asks for it
    _Sequence = object


class Arrays:
    """Examples of Chainer: (C, H, W) of float32, and a label."""

    def __init__(self, shape, count=50000, different=64):
        self.x = np.random.RandomState(1).randint(0, 256, (different, *shape)).astype(np.float32)
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.x[index % len(self.x)] / np.float32(255), np.int32(index % 10)


class Pictures(_Sequence):
    """Batches of Keras: (B, H, W, C) of float32, and labels as rows of an identity matrix."""

    def __init__(self, count, batch_size):
        super().__init__()
        random = np.random.RandomState(1)
        self.x = random.randint(0, 256, (count, 32, 32, 3)).astype(np.uint8)
        self.y = random.randint(0, 10, count)
        self.batch_size = batch_size

    def __len__(self):
        return -(-len(self.x) // self.batch_size)

    def __getitem__(self, index):
        part = slice(index * self.batch_size, (index + 1) * self.batch_size)
        return self.x[part].astype(np.float32) / 255, np.eye(10, dtype=np.float32)[self.y[part]]
