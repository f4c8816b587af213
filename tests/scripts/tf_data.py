# SPDX-License-Identifier: MIT
"""An epoch as a tf.data.Dataset: tf_data.py /data/train"""
import sys

import tensorflow as tf

import stoker
import stoker.tf

with stoker.connect() as node:
    loader = node.loader(sys.argv[1], batch_size=8, layout="NHWC", transforms=[
        stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(), stoker.ToTensor()])
    for images, labels in stoker.tf.dataset(loader).prefetch(1):
        print(images.shape, f"{tf.reduce_mean(images).numpy():.4f}", labels.numpy()[:8])
