# SPDX-License-Identifier: MIT
"""Sequences as users of Keras write them, for test_keras_enqueuer.py and the processes that it
starts. They need no Keras."""
import os

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
