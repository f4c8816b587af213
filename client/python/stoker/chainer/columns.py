# SPDX-License-Identifier: MIT
"""The examples of a batch as one example whose leaves are columns: arrays of one shape and type lie
one behind the other, so that as one they go through a ring. Any thread.
"""
from __future__ import annotations

from typing import Any, List, Optional

import numpy as np

_ARRAYS = (np.ndarray, np.memmap)


class Items(list):  # type: ignore[type-arg]
    """A column of what makes no array together."""


def columns(examples: List[Any]) -> Any:
    """Dicts, lists and tuples of arrays, NumPy's numbers in an array, and Items. ``examples``: one
    or more."""
    first, kind = examples[0], type(examples[0])
    if not all(type(example) is kind for example in examples):
        return Items(examples)
    if kind in _ARRAYS:
        return _stacked(first, examples)
    if issubclass(kind, (np.number, np.bool_)):
        return np.array(examples, first.dtype)
    keys = _keys(first)
    if not keys or not all(_keys(example) == keys for example in examples):
        return Items(examples)
    if kind is dict:
        return {key: columns([example[key] for example in examples]) for key in keys}
    return _made(kind, map(columns, map(list, zip(*examples))))


def rows(batch: Any) -> List[Any]:
    """The examples of these columns."""
    if isinstance(batch, (np.ndarray, Items)):
        return list(batch)
    if isinstance(batch, dict):
        return [dict(zip(batch, values)) for values in zip(*map(rows, batch.values()))]
    kind = type(batch)
    each = zip(*map(rows, batch))
    return list(each) if kind is tuple else [_made(kind, values) for values in each]


def _stacked(first: Any, arrays: List[Any]) -> Any:
    shape, dtype = first.shape, first.dtype
    if not shape or dtype.hasobject or not all(
            array.shape == shape and array.dtype == dtype for array in arrays):
        return Items(arrays)
    out = np.empty((len(arrays), *shape), dtype)
    for number, array in enumerate(arrays):
        out[number] = array
    return out


def _keys(example: Any) -> Optional[List[Any]]:
    """Of what has parts, and is no class of which more is not known."""
    kind = type(example)
    if kind is dict:
        return list(example)
    if kind in (list, tuple) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return list(range(len(example)))
    return None


def _made(kind: Any, parts: Any) -> Any:
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
