# SPDX-License-Identifier: MIT
"""Functions as users write them, for test_map.py."""
import os
import random
import sys
from pathlib import Path

import numpy as np

import stoker


def invert(picture):
    return 255 - picture


class Noise:
    """Draws from every generator that there is, and from one of its own."""

    def __init__(self):
        self.own = np.random.default_rng()

    def __call__(self, picture):
        assert picture.shape == (16, 16, 3) and picture.dtype == np.uint8
        picture[0, 0] = random.randrange(256)
        picture[1] = np.random.randint(0, 256, (16, 3))
        picture[2] = self.own.integers(0, 256, (16, 3))
        if "torch" in sys.modules:
            picture[3] = sys.modules["torch"].randint(0, 256, (16, 3)).numpy()
        return picture


class Clock:
    """Draws from what nothing seeds."""

    def __call__(self, picture):
        picture[0, 0] = np.frombuffer(os.urandom(3), np.uint8)
        return picture


class Once:
    """Ends its process once."""

    def __init__(self, mark):
        self.mark, self.noise = mark, Noise()

    def __call__(self, picture):
        if stoker.sample().position == 5 and not os.path.exists(self.mark):
            Path(self.mark).touch()
            os._exit(3)
        return self.noise(picture)


def two(picture):
    return {"x": picture.astype(np.float32), "mean": float(picture.mean())}


def gray_pil(image):
    return image.convert("L")


def failing(picture):
    if stoker.sample().index == 5:
        raise ValueError("not this one")
    return picture


def wrong(picture):
    return picture.astype(np.float32)


def bright(picture):
    """Where its first row is bright, and in words how much of it is: in each sample as many as
    there are."""
    found = np.argwhere(picture[0] > 99).astype(np.int16)
    return {"at": found, "words": "é" * len(found), "mean": float(picture.mean())}


def sometimes_large(picture):
    """The picture's numbers, and 200 kB of them at position 13."""
    count = 100_000 if stoker.sample().position == 13 else 10
    return np.resize(picture.reshape(-1).astype(np.int16), count)
