# SPDX-License-Identifier: MIT
"""Two epochs of a small model in Keras 3: keras_fit.py /data/train"""
import sys

import keras

import stoker
import stoker.keras

with stoker.connect() as node:
    loader = node.loader(sys.argv[1], batch_size=8, layout="NHWC", transforms=[
        stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(), stoker.ToTensor()])
    model = keras.Sequential([
        keras.layers.Conv2D(8, 3, activation="relu"), keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(len(loader.classes), activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(stoker.keras.Dataset(loader), epochs=2, verbose=2)
