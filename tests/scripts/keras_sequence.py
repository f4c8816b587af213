# SPDX-License-Identifier: MIT
# alone
# needs: keras cloudpickle
"""A Sequence of one's own: its last batch is short, its pictures turn with the epoch; by an
enqueuer of several processes, and by fit()."""
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np
from keras.src.trainers.data_adapters import py_dataset_adapter

import made

OrderedEnqueuer = py_dataset_adapter.OrderedEnqueuer
Dataset = lambda own: own  # or: from stoker.keras import Dataset, OrderedEnqueuer


class Pictures(keras.utils.PyDataset):
    def __init__(self, batch_size):
        super().__init__()
        rng = np.random.default_rng(3)
        self.x = rng.integers(0, 256, (110, 16, 16, 3), np.uint8)
        self.y = rng.integers(0, 10, 110)
        self.batch_size, self.epoch = batch_size, 0

    def __len__(self):
        return -(-len(self.x) // self.batch_size)

    def __getitem__(self, index):
        part = slice(index * self.batch_size, (index + 1) * self.batch_size)
        pictures = np.rot90(self.x[part], self.epoch, (1, 2)).astype(np.float32) / 255
        return np.ascontiguousarray(pictures), {"label": np.eye(10, dtype="float32")[self.y[part]]}

    def on_epoch_end(self):
        self.epoch += 1


for shuffle in (False, True):
    keras.utils.set_random_seed(7)
    sequence = Pictures(16)
    enqueuer = OrderedEnqueuer(sequence, 2, True, 10, shuffle)
    for epoch in range(2):
        enqueuer.start()
        batches = enqueuer.get()
        for _ in range(len(sequence)):
            print(shuffle, epoch, made.digest(next(batches)))
        enqueuer.stop()
        sequence.on_epoch_end()

keras.utils.set_random_seed(7)
x = keras.Input((16, 16, 3))
model = keras.Model(x, {"label": keras.layers.Dense(10, "softmax")(keras.layers.Flatten()(x))})
model.compile("sgd", "categorical_crossentropy")
history = model.fit(Dataset(Pictures(16)), epochs=3, verbose=0)
print(history.history["loss"], made.digest(model.get_weights()))
print("validation", model.evaluate(Dataset(Pictures(20)), verbose=0), len(sys.argv))
