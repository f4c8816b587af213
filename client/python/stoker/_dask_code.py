# SPDX-License-Identifier: MIT
"""What stoker.dask has producers run: rows of a dask array, and calls of a function. Any thread."""
from __future__ import annotations

import bisect
import itertools
from collections import OrderedDict
from typing import Any, Callable, Dict, Sequence

import dask.array as da
import numpy as np
from dask.delayed import Delayed

from .produce.source import Source

_KEPT_BYTES = 1 << 28  # of computed chunks, in each producer


def source_of(dataset: Any) -> Any:
    """A dask array's or a Delayed's rows as a source; anything else as it is."""
    if isinstance(dataset, Delayed):
        made = np.asarray(dataset.compute(scheduler="synchronous"))
        if made.ndim == 0:
            raise TypeError("the Delayed gives a single value, and a dataset is an array of "
                            "samples: stoker.dask.from_function(f, xs) makes one of many calls")
        dataset = da.from_delayed(dataset, made.shape, made.dtype)
    if not isinstance(dataset, da.Array):
        return dataset
    if dataset.ndim == 0 or any(size != size for size in dataset.shape):
        raise ValueError(f"the dask array has the shape {dataset.shape}, and its rows are to be "
                         "samples: call compute_chunk_sizes() first")
    source = Source(Rows(dataset), gives="arrays")
    source.name = "dask array"
    return source


class Rows:
    """Row i of a dask array: the chunk that holds it is computed, and kept for a while."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.ends = list(itertools.accumulate(array.chunks[0]))
        self._kept: OrderedDict[int, Any] = OrderedDict()

    def __len__(self) -> int:
        return int(self.ends[-1])

    def __getitem__(self, index: int) -> Any:
        chunk = bisect.bisect_right(self.ends, index)
        if chunk not in self._kept:
            self._kept[chunk] = np.asarray(self.array.blocks[chunk].compute(
                scheduler="synchronous"))
            while len(self._kept) > 1 and \
                    sum(each.nbytes for each in self._kept.values()) > _KEPT_BYTES:
                self._kept.popitem(last=False)
        self._kept.move_to_end(chunk)
        return self._kept[chunk][index - (self.ends[chunk - 1] if chunk else 0)]

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_kept": OrderedDict()}


class Calls:
    """Sample i is what a function makes of the i-th of some values."""

    def __init__(self, function: Callable[[Any], Any], over: Sequence[Any]) -> None:
        self.function, self.over = function, over

    def __len__(self) -> int:
        return len(self.over)

    def __getitem__(self, index: int) -> Any:
        return self.function(self.over[index])
