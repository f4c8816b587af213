# SPDX-License-Identifier: MIT
"""A loader as a tf.data.Dataset. Needs tensorflow.

    for images, labels in stoker.tf.dataset(loader): ...
    model.fit(stoker.tf.dataset(loader), epochs=90)
"""
from __future__ import annotations

from typing import Any, Iterator

import numpy as np

try:
    import tensorflow as tf
except ImportError as error:
    raise ImportError("stoker.tf needs tensorflow: pip install tensorflow") from error

from . import _crops
from ._ring import Field
from .loader import Iteration, Loader

__all__ = ["dataset"]


def dataset(loader: Loader, epochs: int = 1) -> tf.data.Dataset:
    """(images, labels) in the batches of the loader; with crops a dict of images. Of a Source or
    Map with gives="arrays" the tree that the loader has, with tuples for its lists, RaggedTensors
    for what is ragged, and tensors of strings for texts.

    Each iteration gives the rest of the loader's epoch and ``epochs`` - 1 more. Each batch is
    copied once, because TensorFlow may keep the memory of an array. Only one iteration at a time,
    because the loader has only one place. Raises ValueError for a loader of bfloat16, which NumPy
    does not have.

    The batch size in the shapes is None, because the last batch may be short; so are the edges of
    images where batches have sizes of their own (Buckets).
    """
    if loader.dtype == "bfloat16":
        raise ValueError("tensorflow cannot take bfloat16 from NumPy: use dtype float16 or float32")
    fields = loader.fields
    if loader._reader.tree is not None:
        names = loader._names_of_tree()
        signature = _tuples(loader._in_tree({name: _spec(fields[name]) for name in names}))
    else:
        specs = {name: _spec(field) for name, field in fields.items()}
        signature = _crops.pictures(specs, loader._crops), specs["label"]

    def batches() -> Iterator[Any]:
        for _ in range(epochs):
            if loader._reader.tree is not None:
                yield from Iteration(
                    loader, lambda message: _tuples(loader._joined(message, _copied)))
                continue
            for batch in loader.batches():
                with batch:  # released before TensorFlow waits or stops
                    names = loader._crops or ("image",)
                    copies = _crops.pictures({name: batch[name].copy() for name in names},
                                             loader._crops), batch.labels.copy()
                yield copies

    return tf.data.Dataset.from_generator(batches, output_signature=signature)


def _spec(field: Field) -> Any:
    if field.dtype in ("text", "bytes"):
        return tf.TensorSpec((None,), tf.string)
    if not field.ragged:
        shape = [None if field.sized and edge == 0 else edge for edge in field.shape]
        return tf.TensorSpec((None, *shape), field.dtype)
    dims = len(field.shape)
    return tf.RaggedTensorSpec((None,) * (dims + 1), field.dtype, ragged_rank=dims)


def _copied(array: Any) -> Any:
    """What tf.data takes of a field of a batch."""
    if isinstance(array, np.ndarray):
        return array.copy()
    if isinstance(array[0], (str, bytes)):
        return np.array([text.encode() if isinstance(text, str) else text for text in array],
                        object)
    lengths = [np.concatenate([np.full(int(np.prod(one.shape[:dim])), one.shape[dim])
                               for one in array]) for dim in range(array[0].ndim)]
    return tf.RaggedTensor.from_nested_row_lengths(
        np.concatenate([one.reshape(-1) for one in array]), lengths)


def _tuples(tree: Any) -> Any:
    """With tuples for lists, of which tf.data would make one tensor."""
    if isinstance(tree, dict):
        return {key: _tuples(item) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        items = map(_tuples, tree)
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    return tree
