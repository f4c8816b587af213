# SPDX-License-Identifier: MIT
"""Datasets as users of Chainer write them, for test_chainer.py and the processes that it starts.
"""
import os
from typing import Any, NamedTuple

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


class Sizes(Counting):
    """Examples of sizes of their own, with a text; those of multiples of seven cannot be made by
    anybody."""

    def __init__(self, count=20, bad=False):
        super().__init__(count)
        self.bad = bad

    def get_example(self, i):
        if self.bad and i % 7 == 6:
            raise KeyError(f"example {i}")
        return np.full((2, i + 1), i, np.float32), {"name": f"example {i}"}


class Growing(Counting):
    """Arrays that fit the first one, but for the thirteenth."""

    def get_example(self, i):
        return np.full(40 if i == 13 else 3, i)


def resized(example):
    """Gives examples one size."""
    image, label = example
    return image[:, :8, :8].copy(), label


def described(example):
    """Of an image, which is of another size for each, with its label or alone."""
    image, label = example if isinstance(example, tuple) else (example, None)
    return {"image": image[:, 1:] / np.float32(2), "size": image.shape[1],
            "text": f"{image.shape[2]} wide", "more": [label, None]}


def with_process(example):
    return (*example, os.getpid(), np.random.random())


def reversed_order(order, position):
    """An order sampler that draws nothing: each epoch is the one before it, turned and rolled."""
    return np.roll(order[::-1], position)


class Pair(NamedTuple):
    x: Any
    y: Any


class Kinds(Counting):
    """Examples of many types, which one array of a batch would not keep."""

    def get_example(self, i):
        i = int(i)  # Chainer's are NumPy's
        return Pair(np.float32(i), {"int": i, "bool": i % 2 == 0, "none": None, "empty": ()}), [
            np.array(i), np.array(["a", "b"]), np.arange(3.0)[None, ::-1], np.bool_(i % 2)], \
            (i, 1.5) if i % 3 else [i, "text"]


class Drawing(Counting):
    def get_example(self, i):
        return np.random.random(4), i


class Failing(Counting):
    """One example cannot be made until a file is there."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def get_example(self, i):
        if i == 11 and not os.path.exists(self.path):
            raise KeyError("example 11")
        return super().get_example(i)
