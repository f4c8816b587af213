# SPDX-License-Identifier: MIT
"""Sequences as users of Keras write them, for test_keras_enqueuer.py and the processes that it
starts. They need no Keras."""
import os
import signal
import threading

import numpy as np


class Squares:
    """Twelve batches, of which the last is short, and which name the process that made them."""

    def __init__(self):
        self.epoch = 0

    def __len__(self):
        return 12

    def __getitem__(self, index):
        size = 2 if index == 11 else 4
        return (np.full((size, 3, 3), index + 100 * self.epoch, np.float32),
                {"pid": np.full(size, os.getpid())}, np.ones(size))

    def on_epoch_end(self):
        self.epoch += 1


class Gaps(Squares):
    """Every third batch is None."""

    def __getitem__(self, index):
        return None if index % 3 == 2 else super().__getitem__(index)


class Failing(Squares):
    def __getitem__(self, index):
        if index == 3:
            raise KeyError("batch three")
        return super().__getitem__(index)


class Any(Squares):
    """Batches that share nothing but their keys."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        shape = (index + 1, 1 << index)
        return {"x": np.full(shape, index, ("uint8", "float32", "float64", "int16")[index % 4]),
                "parts": [np.full(index, index), np.array([index])], "name": f"batch {index}"}


class Dying(Squares):
    """Its process is killed at batch five, once."""

    def __init__(self, once):
        super().__init__()
        self.once = str(once)

    def __getitem__(self, index):
        if index == 5 and not os.path.exists(self.once):
            os.close(os.open(self.once, os.O_CREAT))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


class Endless:
    num_batches = None

    def __getitem__(self, index):
        return [index]


def dataset(base):
    """Seven batches of a PyDataset that changes behind each epoch."""
    class Own(base):
        epoch = 0

        def __len__(self):
            return 7

        def __getitem__(self, index):
            size = 2 if index == 6 else 4
            x = np.random.default_rng(index + 10 * self.epoch).normal(size=(size, 3, 3))
            return x.astype(np.float32), np.full((size, 1), index, np.float32)

        def on_epoch_end(self):
            self.epoch += 1
    return Own()


def centred(picture):
    return picture - picture.mean() + 2


class Held:
    """A function that cannot be pickled."""

    def __init__(self, fails=False):
        self.fails, self.lock = fails, threading.Lock()

    def __call__(self, picture):
        return picture // 0 if self.fails and 1 // 0 else picture + 1
