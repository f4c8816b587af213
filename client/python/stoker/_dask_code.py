# SPDX-License-Identifier: MIT
"""What stoker.dask is asked for, and what it has producers run: rows of a dask array, and calls of
a function. Any thread."""
from __future__ import annotations

import bisect
import copy
import itertools
import operator
import os
import secrets
from collections import OrderedDict
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

import dask.array as da
import numpy as np
from dask.base import compute, is_dask_collection, tokenize
from dask.delayed import Delayed

from ._paths import absolute
from ._tables import U32
from .errors import Error
from .loader import Loader
from .produce.source import Source

_CHANGEABLE = (list, dict, set, bytearray, np.ndarray)
_KEPT_BYTES = 1 << 28  # of computed chunks, in each producer


class Found(NamedTuple):
    """What the arrays were made for. ``fingerprints``: of the dataset, by kind."""

    fingerprints: Dict[str, str]
    samples: int
    arrays: Tuple[Tuple[str, Tuple[int, ...], str], ...]  # name, shape of a sample, dtype of each

    def check(self, now: Found) -> None:
        """A process that computes a chunk later has found ``now``. Raises Error."""
        common = self.fingerprints.keys() & now.fingerprints.keys()
        if self[1:] != now[1:] or any(self.fingerprints[kind] != now.fingerprints[kind]
                                      for kind in common):
            raise Error("the dataset has changed since this array of dask was made: make the array "
                        "anew")


class Asked(NamedTuple):
    """What a reader is made of. ``key``: equal where that is."""

    key: str
    socket: Optional[str]
    dataset: Any
    batch_size: int
    options: Dict[str, Any]
    found: Optional[Found] = None  # by the process that made the array


def asked_of(socket: Optional[str], dataset: Any, batch_size: int, options: Any) -> Asked:
    # Not the rank of the process that computes a chunk.
    options = {**options, "rank": 0, "world_size": 1}
    known = dataset.description() if isinstance(dataset, Source) else dataset
    return Asked(tokenize(socket, known, batch_size, options), socket, dataset, batch_size,
                  options)


def number_of(name: str, value: Any) -> int:
    """Also of numpy."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, not {type(value).__name__}") from None
    if not 0 <= number <= U32:
        raise ValueError(f"{name} must be a number from 0 to {U32}, not {number}")
    return number


def from_anywhere(dataset: Any) -> Any:
    """Its paths for processes that have other working directories."""
    if isinstance(dataset, Mapping):
        return {key: from_anywhere(value) if key in ("path", "root") else value
                for key, value in dataset.items()}
    if not isinstance(dataset, (str, os.PathLike)):
        return dataset
    path = os.path.expanduser(os.fsdecode(dataset))
    return absolute(path) if path and "://" not in path else dataset


def found_by(loader: Loader, names: Sequence[str]) -> Found:
    fingerprints = {kind: each for kind, each in loader._reader._known().fingerprints.items()
                    if each and kind in ("dataset", "names")}
    fields = loader.fields
    return Found(fingerprints, loader.samples, tuple(
        (name, tuple(fields[name].shape), fields[name].dtype) for name in names))


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
    if dataset.ndim == 0:
        raise ValueError("the dask array has a single value, and its rows are to be samples")
    if any(size != size for size in dataset.shape):
        raise ValueError(f"the dask array has the shape {dataset.shape}, and its rows are to be "
                         "samples: call compute_chunk_sizes() first")
    if 0 in dataset.shape:
        raise ValueError(f"the dask array has the shape {dataset.shape}, and no sample: give one "
                         "that has rows")
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
            self._kept[chunk] = np.asarray(_finished("the dask array", self.array.blocks[
                chunk].compute(scheduler="synchronous")))
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
        # Each array has a stream of its own: what the function reads may be another since the last.
        self.made = secrets.token_hex(8)

    @property
    def name(self) -> str:
        own = getattr(self.function, "__qualname__", None)  # anything, of a Delayed
        return own if isinstance(own, str) else type(self.function).__qualname__

    def __len__(self) -> int:
        return len(self.over)

    def __getitem__(self, index: int) -> Any:
        value = self.over[index]
        if isinstance(value, _CHANGEABLE):  # the function is called again for it
            value = _copied(value)
        value, = compute(value, scheduler="synchronous")  # a Delayed, as delayed() does
        return _finished(self.name, self.function(value))


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # of something within it
        return value


def _finished(name: str, made: Any) -> Any:
    """What can be a sample. Raises TypeError for what would lose something, or is lazy."""
    if isinstance(made, (list, tuple, dict)):
        for each in made.values() if isinstance(made, dict) else made:
            _finished(name, each)
    elif isinstance(made, np.ma.MaskedArray):
        raise TypeError(f"{name} gives a masked array, whose mask would be lost: give "
                        "made.filled(), and np.ma.getmaskarray(made) beside it")
    elif is_dask_collection(made):
        raise TypeError(f"{name} gives a lazy {type(made).__name__} of dask: give the function "
                        "itself, without delayed(), and let it return arrays")
    return made
