# SPDX-License-Identifier: MIT
"""Datasets as users of Chainer write them, for test_chainer.py and the processes that it starts.
"""
import os

import numpy as np
from chainer.dataset import DatasetMixin
from chainer.datasets import LabeledImageDataset


class Counting(DatasetMixin):
    """`count` examples of an array, a number of NumPy, and one of Python."""

    def __init__(self, count=20):
        self.count = count

    def __len__(self):
        return self.count

    def get_example(self, i):
        return np.full((3, 4, 5), i, np.float32), np.int32(i), i * i


class Own(LabeledImageDataset):
    """Another class than Chainer's: it may give anything."""

    def get_example(self, i):
        return i


class Texts(Counting):
    def get_example(self, i):
        return "a text"


def twice(example):
    return example[0] * 2, np.int64(os.getpid())


def named(example):
    return {"x": example[0], "y": [example[1]]}
