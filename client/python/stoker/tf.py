# SPDX-License-Identifier: MIT
"""A loader as a tf.data.Dataset. Needs tensorflow.

    for images, labels in stoker.tf.dataset(loader): ...
    model.fit(stoker.tf.dataset(loader), epochs=90)
"""
from __future__ import annotations

from typing import Any, Iterator, Tuple

try:
    import tensorflow as tf
except ImportError as error:
    raise ImportError("stoker.tf needs tensorflow: pip install tensorflow") from error

from .loader import Loader

__all__ = ["dataset"]


def dataset(loader: Loader, epochs: int = 1) -> tf.data.Dataset:
    """(images, labels) in the batches of the loader. Each iteration gives the rest of the loader's
    epoch and ``epochs`` - 1 more. Each batch is copied once, because TensorFlow may keep the memory
    of an array. Only one iteration at a time, because the loader has only one place. Raises
    ValueError for a loader of bfloat16, which NumPy does not have.

    The batch size in the shapes is None, because the last batch may be short.
    """
    if loader.dtype == "bfloat16":
        raise ValueError("tensorflow cannot take bfloat16 from NumPy: use dtype float16 or float32")
    fields = loader.fields
    if "image" not in fields:
        raise ValueError("a tf.data.Dataset is made of one field of images, and the loader has "
                         "crops: iterate over the loader itself")
    signature = tuple(tf.TensorSpec((None, *fields[name].shape), fields[name].dtype)
                      for name in ("image", "label"))

    def batches() -> Iterator[Tuple[Any, Any]]:
        for _ in range(epochs):
            for batch in loader.batches():
                with batch:  # released before TensorFlow waits or stops
                    copies = batch.images.copy(), batch.labels.copy()
                yield copies

    return tf.data.Dataset.from_generator(batches, output_signature=signature)
