# SPDX-License-Identifier: MIT
"""A small network on CIFAR-10 with Keras' ImageDataGenerator, on floats:
keras_train.py [FILE.npz [EPOCHS]]

A script as Keras' users have it. One line is stoker's: the import of ImageDataGenerator. FILE.npz
has x_train, y_train, x_test and y_test; without it Keras downloads CIFAR-10.
"""
import sys

import keras
import numpy as np

from stoker.keras import ImageDataGenerator

BATCH = 32
CLASSES = 10


def load():
    if len(sys.argv) < 2:
        return keras.datasets.cifar10.load_data()
    with np.load(sys.argv[1]) as file:
        return (file["x_train"], file["y_train"]), (file["x_test"], file["y_test"])


(x_train, y_train), (x_test, y_test) = load()
x_train, x_test = x_train.astype("float32") / 255, x_test.astype("float32") / 255
y_train, y_test = (keras.utils.to_categorical(y, CLASSES) for y in (y_train, y_test))

model = keras.Sequential([
    keras.Input(x_train.shape[1:]),
    keras.layers.Conv2D(32, 3, strides=2, activation="relu"), keras.layers.MaxPooling2D(),
    keras.layers.Dropout(0.25), keras.layers.Flatten(),
    keras.layers.Dense(CLASSES, activation="softmax")])
model.compile("rmsprop", "categorical_crossentropy", metrics=["accuracy"])

augmented = ImageDataGenerator(featurewise_center=True, width_shift_range=0.1,
                               height_shift_range=0.1, horizontal_flip=True)
plain = ImageDataGenerator(featurewise_center=True)
augmented.fit(x_train)
plain.fit(x_train)

model.fit(augmented.flow(x_train, y_train, batch_size=BATCH),
          epochs=int(sys.argv[2]) if len(sys.argv) > 2 else 2, verbose=2,
          validation_data=plain.flow(x_test, y_test, batch_size=BATCH, shuffle=False))

# Predictions stand where their pictures do.
predicted = model.predict(plain.flow(x_test, batch_size=BATCH, shuffle=False), verbose=0)
print(f"accuracy {np.mean(predicted.argmax(1) == y_test.argmax(1)):.3f}")
