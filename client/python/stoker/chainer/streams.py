# SPDX-License-Identifier: MIT
"""Streams of batches of a dataset of the program's own: small batches are made whole by producers,
large ones sample by sample.

Runs in the program, but for Whole, which runs in producers, too. One thread at a time.
"""
from __future__ import annotations

import logging
from typing import Any, Callable, ContextManager, List, NamedTuple, Optional, Union

import numpy as np

from .. import samplers
from ..errors import SampleError
from ..loader import Iteration, Loader
from ..node import Node, _producers
from ..produce import shipping
from ..produce.batches import Batches, Run
from ..produce.kept import KeptSource
from ..produce.sealed import size_of
from ..produce.sealing import SealedSource, opener
from ..produce.seeds import Seeds, as_they_were
from ..produce.tree import Tree
from ..state import Place
from .columns import columns, rows

_ARRAYS_MAX = 15
_WHOLE_MOST = 8 << 20  # bytes of a batch that a producer makes alone
_log = logging.getLogger("stoker")


class Way(NamedTuple):
    """How a stream comes."""

    node: Node
    processes: Optional[int]
    batch_size: int
    prefetch: int
    timeout: Optional[float]


class Whole:
    """Makes the columns of the examples of these indices."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __call__(self, indices: List[int]) -> Any:
        return columns([self.dataset[index] for index in indices])

    def here(self, _: int) -> ContextManager[object]:
        return as_they_were()


class ByBatch:
    """``size``: bytes that a batch has at most, as far as that is known. ``ended``: the batches
    behind the last one come of another stream."""

    def __init__(self, dataset: Any, size: int, way: Way) -> None:
        self._way = way
        self._batches = Batches(Whole(dataset), type(dataset).__qualname__, size)
        self._run: Optional[Run] = None
        self._stream: Optional[Loader] = None
        self.ended = False

    def attach(self, indices: np.ndarray[Any, Any], before: int, seed: int, epoch: int) -> None:
        """A stream of the examples that follow behind ``before``, in whole batches, of an epoch."""
        way, size = self._way, self._way.batch_size
        done = -(-before // size)
        batches: List[List[int]] = [[]] * done + [
            indices[at:at + size].tolist() for at in range(0, len(indices), size)]
        self._run, self.ended = Run(batches, seed, epoch, done, 0), False
        last, self._stream = self._stream, self._run.begin(
            self._batches, way.node, _producers(way.processes), inflight=way.prefetch + 1,
            timeout=way.timeout)
        if last is not None:
            last.close()

    def take(self, _: np.ndarray[Any, Any]) -> List[Any]:
        """The next batch. Raises what the code raises, and what the stream does."""
        assert self._run is not None
        size = self._batches.code.size
        batch = self._run.next(self._stream, self._batches)
        self.ended = self._batches.code.size != size
        return rows(batch)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None
        self._batches.close()


class BySample:
    """``first``: an example, or None. Where examples differ in shape they are sealed."""

    def __init__(self, dataset: Any, first: Any, way: Way) -> None:
        self._dataset, self._way = dataset, way
        self._name = type(dataset).__qualname__
        self._source = self._source_of(first)
        self._stream: Optional[Loader] = None
        self._batches: Any = iter(())
        self.ended = False

    def attach(self, indices: np.ndarray[Any, Any], before: int, seed: int, epoch: int) -> None:
        """As of ByBatch."""
        way, source = self._way, self._source
        source.samples = len(self._dataset)
        source.begin(way.node.socket, _producers(way.processes))
        order = np.concatenate([np.repeat(indices[:1], before), indices])
        last, self._stream = self._stream, way.node.loader(
            source, batch_size=way.batch_size, sampler=samplers.Subset(order), shuffle=False,
            rank=0, world_size=1, epochs=1, augment_seed=(seed + epoch) % 2**63,
            inflight=way.prefetch + 1, timeout=way.timeout)
        if last is not None:
            last.close()
        if before:
            self._stream._say(Place(0, before))
        make = opener(self._stream) if isinstance(source, SealedSource) else \
            _taker(self._stream, source.tree)
        self._batches, self.ended = Iteration(self._stream, make), False

    def take(self, indices: np.ndarray[Any, Any]) -> List[Any]:
        """As of ByBatch. ``indices``: of the batch."""
        try:
            found: List[Any] = next(self._batches)
            return found
        except SampleError as error:
            return self._make(indices, error)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None
        self._source.close()

    def _source_of(self, first: Any) -> KeptSource:
        try:
            if first is not None and len(Tree(first).leaves) <= _ARRAYS_MAX:
                return KeptSource(self._dataset, first, self._name)
        except (TypeError, ValueError):  # it is more than arrays
            pass
        return SealedSource(self._dataset, self._name)

    def _make(self, indices: np.ndarray[Any, Any], error: SampleError) -> List[Any]:
        """A batch that producers did not give, made here: so an exception is the dataset's own."""
        batch = [self._dataset[int(index)] for index in indices]
        if not isinstance(self._source, SealedSource):
            if not all(_fits(self._source.tree, example) for example in batch):
                self._source.close()
                self._source = SealedSource(self._dataset, self._name)
        self.ended = isinstance(self._source, SealedSource) and \
            self._source.fit(max(map(size_of, batch)))
        if not self.ended:
            _log.warning("a batch of %s is made in this process, since no producer gave it: %s",
                         self._name, error)
        return batch


def streams_of(dataset: Any, way: Way) -> Union[ByBatch, BySample]:
    """Looks at the first example. What it raises is raised where the example is asked for."""
    try:
        copy = shipping.copied(dataset)
    except (shipping.CannotShip, ImportError):
        return BySample(dataset, _first(dataset), way)
    first = _first(copy)
    size = size_of([first]) * way.batch_size
    return ByBatch(dataset, size, way) if size <= _WHOLE_MOST else BySample(dataset, first, way)


def _first(dataset: Any) -> Any:
    try:
        with as_they_were():
            Seeds(dataset).set(0, 0, 0)
            return dataset[0]
    except Exception:  # of the dataset
        return None


def _fits(tree: Any, example: Any) -> bool:
    try:
        tree.split(example)
    except (TypeError, ValueError):
        return False
    return True


def _taker(stream: Loader, tree: Any) -> Callable[[Any], List[Any]]:
    names = [name for name in stream.fields if name != "index"][:len(tree.leaves)]

    def taken(message: Any) -> List[Any]:
        arrays, _ = stream._take(message, names)
        return rows(tree.join([arrays[name] for name in names]))
    return taken
