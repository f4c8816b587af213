# SPDX-License-Identifier: MIT
"""torch's Subsets, as random_split() makes them: indices of the dataset below. Any thread."""
from __future__ import annotations

from typing import Any, List, Sequence, Tuple

import numpy as np
from torch.utils.data import Subset


def within(dataset: Any) -> Tuple[Any, List[Any]]:
    """The dataset below Subsets, and their lists of indices, the outermost first."""
    lists: List[Any] = []
    while type(dataset) is Subset:
        lists.append(dataset.indices)
        dataset = dataset.dataset
    return dataset, lists


def indices_within(lists: Sequence[Any], indices: Any = None) -> np.ndarray[Any, Any]:
    """Indices of the outermost Subset (None: all) as those of the dataset below."""
    out = None if indices is None else np.asarray(indices, np.int64)
    for one in lists:
        array = np.asarray(one, np.int64)
        out = array if out is None else array[out]
    if out is None:
        raise ValueError("there is no Subset")
    return out


def from_the_end(indices: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    """As a list takes them: -1 is the last of ``count``. Raises IndexError."""
    outside = indices[(indices < -count) | (indices >= count)]
    if outside.size:
        raise IndexError(f"there is no sample {outside[0]}: the dataset has {count}")
    return np.where(indices < 0, indices + count, indices)
