# SPDX-License-Identifier: MIT
"""Whole batches of a program's own dataset, for producers: what its collate_fn makes, of any tree,
types and shapes. A batch is a sample of the stream, in sealed form.

Runs in the program, but for BatchCode, which runs in producers, too.
"""
from __future__ import annotations

import logging
import os
from typing import Any, Callable, List, Optional, Union

import numpy as np

from ..errors import SampleError
from ..produce import shipping
from ..produce.kept import KeptSource
from ..produce.sealed import seal, size_of
from ..produce.seeds import Seeds
from ..produce.tree import Tree
from .own_code import InWorker, as_a_worker

_SPARE = 1.25  # of the largest batch that is known
_PAGE = 4096
_log = logging.getLogger("stoker")


class BatchCode:
    """Makes batch j of an epoch. ``size``: of a sealed one."""

    def __init__(self, samples: InWorker, collate: Callable[[Any], Any], single: bool) -> None:
        self.samples, self.collate, self.single = samples, collate, single
        self.indices = np.empty(0, np.int64)  # of all batches
        self.ends = np.empty(0, np.int64)
        self.size = 0

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number: int) -> np.ndarray[Any, Any]:
        return seal(self.batch(number), self.size)

    def batch(self, number: int) -> Any:
        """As torch's workers make it."""
        begin = int(self.ends[number - 1]) if number else 0
        indices = self.indices[begin:self.ends[number]].tolist()
        if self.single:
            return self.collate(self.samples[indices[0]])
        several = getattr(self.samples.dataset, "__getitems__", None)
        self.samples.enter()
        return self.collate(several(indices) if several else
                            [self.samples.dataset[index] for index in indices])


class Batches:
    """The producers of a dataset's batches, which outlive the loaders of an epoch."""

    tree = None

    def __init__(self, code: BatchCode) -> None:
        self.code = code
        self.name = type(code.samples.dataset).__qualname__
        self._source: Optional[KeptSource] = None
        self._said = False
        self._count = 0

    def begin(self, path: str, count: int, batches: List[List[int]]) -> KeptSource:
        """Before the loader of an epoch of these batches: producers have them, and the dataset as
        it is now. Raises what the code raises."""
        code = self.code
        code.indices = np.concatenate([np.asarray(batch, np.int64) for batch in batches])
        code.ends = np.cumsum([len(batch) for batch in batches])
        if code.size == 0:
            self._grow(size_of(_first(code, count)))
        if self._source is None:
            self._source = KeptSource(code, np.empty(code.size, np.uint8), self.name)
        self._source.samples = len(batches)
        self._source.tree = Tree(np.empty(code.size, np.uint8))
        self._source.begin(path, count)
        self._count = count
        return self._source

    def here(self, error: SampleError) -> Any:
        """A batch that a producer could not give, made in this process: so an exception of the code
        is raised as it is."""
        with as_a_worker(self.code.samples.dataset, self._count):
            batch = self.code.batch(error.sample)
        needed = size_of(batch)
        if needed > self.code.size:
            self._grow(needed)
        elif not self._said:
            self._said = True
            _log.warning("a batch of %s is made in this process, since no producer gave it: %s",
                         self.name, error)
        return batch

    def close(self) -> None:
        if self._source is not None:
            self._source.close()

    def _grow(self, needed: int) -> None:
        """Of the next epoch on."""
        self.code.size = -(-int(needed * _SPARE) // _PAGE) * _PAGE


def _first(code: BatchCode, count: int) -> Any:
    """Batch 0, to see how large batches are, of a copy: what the dataset opens at its first call is
    not to be held by the object that goes to other processes."""
    copy = shipping.copied(code)
    with as_a_worker(copy.samples.dataset, count):
        Seeds(copy).set(0, 0, 0)
        return copy.batch(0)


def batches_of(dataset: Any, collate: Callable[[Any], Any], single: bool,
               init: Optional[Callable[[int], object]]) -> Union[Batches, str]:
    """Or why producers cannot make them. ``single``: a sample each, without a batch around it.
    ``init``: a worker_init_fn."""
    code = BatchCode(InWorker(dataset, init), collate, single)
    try:
        os.close(shipping.pack(dataset, init))
        os.close(shipping.pack(code))
    except (shipping.CannotShip, ImportError) as error:
        return str(error)
    return Batches(code)
