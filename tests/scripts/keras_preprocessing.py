# SPDX-License-Identifier: MIT
# alone
# needs: keras scipy cloudpickle
"""ImageDataGenerator with a preprocessing_function, of a folder and of an array; nothing is drawn.
"""
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
import numpy as np
from keras.src.legacy.preprocessing import image

import made

ImageDataGenerator = image.ImageDataGenerator  # or: from stoker.keras import ImageDataGenerator


def preprocess(picture):
    picture = picture[..., ::-1] - np.array([103.9, 116.8, 123.7], np.float32)[:picture.shape[-1]]
    return np.clip(picture, -100, 100)


generator = ImageDataGenerator(preprocessing_function=preprocess, rescale=1 / 128)
folder = made.pictures(sys.argv[1])
flow = generator.flow_from_directory(folder, target_size=(32, 32), batch_size=7, shuffle=False)
for _ in range(2 * len(flow)):
    images, labels = next(flow)
    print(images.shape, made.digest(np.round(images, 3)), made.digest(labels))
gray = generator.flow_from_directory(folder, (24, 28), "grayscale", batch_size=24, shuffle=False)
images, labels = next(gray)
print(images.shape, made.digest(np.round(images, 3)), made.digest(labels))
x = np.random.default_rng(5).integers(0, 256, (20, 24, 24, 3)).astype(np.float32)
for images, labels in list(generator.flow(x, np.arange(20), 8, shuffle=False)[i] for i in range(3)):
    print(images.shape, made.digest(np.round(images, 3)), labels.tolist())
