# SPDX-License-Identifier: MIT
# needs: chainer PIL
"""Chainer's trainer over pictures of sizes of their own, to which a TransformDataset gives one; a
part of them is for validation."""
import sys

import chainer
import numpy as np
from chainer import training
from chainer.datasets import LabeledImageDataset, TransformDataset, split_dataset_random
from chainer.training import extensions

import made

Iterator = chainer.iterators.MultiprocessIterator  # or: from stoker.chainer import Iterator

np.random.seed(4)
chainer.global_config.autotune = False
root = made.pictures(sys.argv[1])
pairs = [(f"class{label}/{number:03}.jpg", label) for label in range(3) for number in range(8)]


def transform(example):
    image, label = example
    top, left = (image.shape[1] - 32) // 2, (image.shape[2] - 32) // 2
    return image[:, top:top + 32, left:left + 32] / np.float32(255), label


data = TransformDataset(LabeledImageDataset(pairs, root), transform)
train, val = split_dataset_random(data, 18, seed=0)
train_iter = Iterator(train, 5, n_processes=2, n_prefetch=2)
val_iter = Iterator(val, 5, repeat=False, shuffle=False, n_processes=2)
model = chainer.links.Classifier(chainer.links.Linear(3 * 32 * 32, 3))
optimizer = chainer.optimizers.MomentumSGD(1e-3).setup(model)
trainer = training.Trainer(training.updaters.StandardUpdater(train_iter, optimizer), (3, "epoch"),
                           sys.argv[1] + "/out")
log = extensions.LogReport()
trainer.extend(extensions.Evaluator(val_iter, model))
trainer.extend(log)
trainer.run()
for row in log.log:
    print({key: row[key] for key in sorted(row) if key != "elapsed_time"})
print(made.digest([param.array for param in model.params()]))
train_iter.finalize()
val_iter.finalize()
