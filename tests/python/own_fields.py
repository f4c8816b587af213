# SPDX-License-Identifier: MIT
"""Datasets as users write them, for test_ragged.py: fields of all types, texts, and samples of
shapes of their own."""
import numpy as np

COUNT = 12
DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32",
          "int64", "uint64", "float64", "complex64", "complex128")


def _numbers(dtype, shape):
    def make(index):
        count = int(np.prod(shape, dtype=int))
        return (np.arange(count) + index).reshape(shape).astype(dtype)
    return make


EVERY = {f"{dtype} {'x'.join(map(str, shape))}": _numbers(dtype, shape)
         for dtype in DTYPES for shape in ((2,), (3, 2), (1, 2, 1, 1, 3, 1, 1, 2))}


class Everything:
    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        return {name: make(index) for name, make in EVERY.items()}


def boxes_of(index):
    return np.arange(4 * ((index + 1) % 5), dtype=np.float32).reshape(-1, 4) + index


def caption_of(index):
    return "sch\u00f6n \U0001f600 " * (index % 4)


class Captioned:
    """``flat``: at sample 5 the boxes have one dimension."""

    def __init__(self, flat=False):
        self.flat = flat

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        boxes = np.zeros(2, np.float32) if self.flat and index == 5 else boxes_of(index)
        return {"boxes": boxes, "caption": caption_of(index), "raw": caption_of(index).encode(),
                "id": index}


class Growing:
    """The last but one is larger than all."""

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        return np.full(100_000 if index == COUNT - 2 else 10 + index, index, np.int16)


class Pairs:
    """A tree of three arrays of one shape each."""

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        return {"x": np.full(3, index, np.float32), "more": (np.zeros(2, np.float32), 2 * index)}
