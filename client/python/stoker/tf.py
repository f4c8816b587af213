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
    """(images, labels), batched as the loader has them; each time it is iterated over it gives the
    rest of the loader's epoch and ``epochs`` - 1 more. Each batch is copied once: TensorFlow may
    keep an array's own memory for as long as it likes. One iteration at a time: the loader has one
    place. Raises ValueError for a loader of bfloat16, which NumPy does not have.

    The shapes have None for the batch's size, as the last batch may be short.
    """
    if loader.dtype == "bfloat16":
        raise ValueError("tensorflow takes no bfloat16 from NumPy: take dtype float16 or float32")
    fields = loader.fields
    signature = tuple(tf.TensorSpec((None, *fields[name].shape), fields[name].dtype)
                      for name in ("image", "label"))

    def batches() -> Iterator[Tuple[Any, Any]]:
        for _ in range(epochs):
            for batch in loader.batches():
                with batch:  # not held while TensorFlow waits, or where it never asks again
                    copies = batch.images.copy(), batch.labels.copy()
                yield copies

    return tf.data.Dataset.from_generator(batches, output_signature=signature)
