# SPDX-License-Identifier: MIT
"""For Keras 3: a loader as a keras.utils.PyDataset, Keras' ImageDataGenerator, and its enqueuers.
Needs keras.

    model.fit(stoker.keras.Dataset(train), validation_data=stoker.keras.Dataset(val), epochs=90)

    images = stoker.keras.ImageDataGenerator(rotation_range=15, horizontal_flip=True, rescale=1/255)
    model.fit(images.flow_from_directory("/data/train", target_size=(224, 224)), epochs=90)
"""
from __future__ import annotations

import importlib.util

try:
    import keras
except ImportError as error:
    if importlib.util.find_spec("keras") is None:
        raise ImportError("stoker.keras needs keras 3: pip install keras") from error
    raise ImportError(f"keras is installed, but not what its backend needs ({error}): set "
                      "KERAS_BACKEND to jax, torch or tensorflow, whichever is installed, before "
                      "keras is imported") from error
if not hasattr(keras, "version") or keras.version().startswith(("1.", "2.")):
    raise ImportError("stoker.keras needs keras 3: pip install --upgrade keras")

from .enqueuer import GeneratorEnqueuer, OrderedEnqueuer
from .flow import Dataset, Flow
from .generator import ImageDataGenerator

__all__ = ["Dataset", "Flow", "GeneratorEnqueuer", "ImageDataGenerator", "OrderedEnqueuer"]
