# SPDX-License-Identifier: MIT
"""Two epochs by the interface of Chainer's iterators: chainer_iterator.py /data/train"""
import sys

import numpy

import stoker
import stoker.chainer

iterator = stoker.chainer.Iterator(sys.argv[1], batch_size=8, transforms=[
    stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(), stoker.ToTensor()])
while iterator.epoch < 2:
    examples = iterator.next()
    images = numpy.stack([image for image, label in examples])
    print(f"{iterator.epoch_detail:.2f}", images.shape, f"{images.mean():.4f}",
          "end of the epoch" if iterator.is_new_epoch else "")
iterator.finalize()
