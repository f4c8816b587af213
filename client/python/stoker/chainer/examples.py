# SPDX-License-Identifier: MIT
"""Batches of examples of any dataset, made by producers, in the order that Chainer draws.

Needs no chainer. One thread at a time.
"""
from __future__ import annotations

import logging
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Type

import numpy as np

from .. import samplers
from ..errors import SampleError
from ..loader import Iteration, Loader
from ..node import Node, _producers
from ..produce import shipping
from ..produce.kept import KeptSource
from ..produce.sealed import size_of
from ..produce.sealing import SealedSource, opener, program_seed
from ..produce.seeds import Seeds, as_they_were
from ..produce.tree import Tree
from ..state import Place

Order = Optional[np.ndarray[Any, Any]]  # None: that of the dataset
OrderSampler = Callable[[np.ndarray[Any, Any], int], np.ndarray[Any, Any]]
_ARRAYS_MAX = 15
_log = logging.getLogger("stoker")


class State(NamedTuple):
    """As Chainer's iterators have it, behind a batch."""

    position: int = 0
    epoch: int = 0
    is_new_epoch: bool = False
    order: Order = None


class Examples:
    """``state``: behind the last batch. ``sampler``: makes the order of the next epoch, from that
    of this one and the place in it; None: the order is the dataset's.

    ``late``: the class of the warning that no batch has come for ``timeout`` seconds."""

    def __init__(self, dataset: Any, batch_size: int, repeat: bool, sampler: Optional[OrderSampler],
                 processes: Optional[int], prefetch: int, node: Node, timeout: Optional[float],
                 late: Type[Warning]) -> None:
        self._dataset, self._batch_size, self._repeat = dataset, batch_size, repeat
        self._sampler, self._node = sampler, node
        self._processes, self._prefetch = processes, prefetch
        self._timeout, self._late = timeout, late
        self.seed = program_seed()
        self._name = type(dataset).__qualname__
        self._source = self._looked()
        self._stream: Optional[Loader] = None
        self._batches: Any = iter(())
        self._left = 0  # whole batches of the stream that were not taken
        self._next: Optional[Tuple[State, Optional[np.ndarray[Any, Any]]]] = None
        self.state = State()  # until reset()

    @property
    def size(self) -> int:
        """Of an epoch."""
        return len(self._dataset) if self.state.order is None else len(self.state.order)

    def reset(self) -> None:
        order = None if self._sampler is None else \
            self._sampler(np.arange(len(self._dataset)), 0)
        self.move(State(order=order))

    def move(self, state: State) -> None:
        self.state = state
        self._next, self._left = None, 0

    def take(self) -> Optional[List[Any]]:
        """The next batch; None at the end of what does not repeat."""
        if self._left == 0:
            self._begin()
        state, indices = self._next or self._step(self.state)
        self._next = None
        if indices is None:
            return None
        batch = self._take(indices)
        self._left -= 1
        self.state = state
        if self._left == 0:  # the next batches are made while this one is used
            self._begin()
        return batch

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None
        self._source.close()

    def _step(self, state: State) -> Tuple[State, Optional[np.ndarray[Any, Any]]]:
        """The next state, and the examples of the batch before it: what Chainer's iterators do."""
        at, epoch, _, order = state
        if not self._repeat and epoch > 0:
            return state, None
        count = len(self._dataset) if order is None else len(order)
        if self._repeat and count == 0:
            raise ValueError("an iterator that repeats needs a dataset that is not empty")
        end, new, parts = at + self._batch_size, False, []
        while end >= count:
            parts.append(_part(order, at, count))
            if order is not None and self._sampler is not None:
                following = self._sampler(order, at)
                if len(following) != count:
                    raise ValueError(f"the order_sampler gave {len(following)} numbers, and "
                                     f"{count} before")
                order = following
            epoch, new, at = epoch + 1, True, 0
            end = end - count if self._repeat else 0
            if not self._repeat:
                break
        parts.append(_part(order, at, end))
        return State(end, epoch, new, order), np.concatenate(parts)

    # The stream: of the batch behind the state, and the whole ones of the epoch behind that

    def _begin(self) -> None:
        self._next = state, first = self._step(self.state)
        if first is None or (not self._repeat and len(first) == 0):
            self._next = state, None
            return
        here = self.state
        within = state.epoch == here.epoch or state.position == 0 or not self._repeat
        rest = first[:0]
        if state.epoch == here.epoch or not within:
            count = len(self._dataset) if state.order is None else len(state.order)
            rest = _part(state.order, state.position, count)
        if self._repeat:  # a batch that goes on in the next epoch is of that one's stream
            rest = rest[:len(rest) // self._batch_size * self._batch_size]
        indices = np.concatenate([first, rest])
        self._left = -(-len(indices) // self._batch_size)
        # The same random numbers, wherever in an epoch it is begun.
        before = -(-here.position // self._batch_size) * self._batch_size if within else 0
        self._attach(np.concatenate([np.repeat(indices[:1], before), indices]), before,
                     here.epoch if within else state.epoch)

    def _attach(self, indices: np.ndarray[Any, Any], before: int, epoch: int) -> None:
        source = self._source
        source.samples = len(self._dataset)
        source.begin(self._node.socket, _producers(self._processes))
        last, self._stream = self._stream, self._node.loader(
            source, batch_size=self._batch_size, sampler=samplers.Subset(indices), shuffle=False,
            rank=0, world_size=1, epochs=1, augment_seed=(self.seed + epoch) % 2**63,
            inflight=self._prefetch + 1, timeout=self._timeout)
        if last is not None:
            last.close()
        if before:
            self._stream._say(Place(0, before))
        make = opener(self._stream) if isinstance(source, SealedSource) else \
            _taker(self._stream, source.tree)
        self._batches = Iteration(self._stream, make)

    def _take(self, indices: np.ndarray[Any, Any]) -> List[Any]:
        while True:
            try:
                found: List[Any] = next(self._batches)
                return found
            except TimeoutError as error:
                warnings.warn(f"{error}; waiting on", self._late, stacklevel=5)
            except SampleError as error:
                return self._make(indices, error)

    def _make(self, indices: np.ndarray[Any, Any], error: SampleError) -> List[Any]:
        """A batch that producers did not give, made here: so an exception is the dataset's own.
        Where examples differ in shape they are sealed from now on."""
        batch = [self._dataset[int(index)] for index in indices]
        if not isinstance(self._source, SealedSource):
            if not all(_fits(self._source.tree, example) for example in batch):
                self._source.close()
                self._source = SealedSource(self._dataset, self._name)
        if isinstance(self._source, SealedSource) and \
                self._source.fit(max(map(size_of, batch))):
            self._left = 1  # the others come of another stream
        else:
            _log.warning("a batch of %s is made in this process, since no producer gave it: %s",
                         self._name, error)
        return batch

    def _looked(self) -> KeptSource:
        """Of examples that are arrays, if the first is."""
        try:
            copy = shipping.copied(self._dataset)
        except (shipping.CannotShip, ImportError):
            copy = self._dataset
        try:
            with as_they_were():
                Seeds(copy).set(0, 0, 0)
                first = copy[0]
            if len(Tree(first).leaves) <= _ARRAYS_MAX:
                return KeptSource(self._dataset, first, self._name)
        except Exception:  # of the dataset: it is raised where the example is asked for
            pass
        return SealedSource(self._dataset, self._name)


def _part(order: Order, begin: int, end: int) -> np.ndarray[Any, Any]:
    return np.arange(begin, end) if order is None else np.asarray(order[begin:end])


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
        return parts(tree.join([arrays[name] for name in names]))
    return taken


def parts(batch: Any) -> List[Any]:
    """The examples of a batch: its arrays, taken apart."""
    if isinstance(batch, np.ndarray):
        return list(batch)
    if isinstance(batch, dict):
        return [dict(zip(batch, values)) for values in zip(*map(parts, batch.values()))]
    columns = zip(*map(parts, batch))
    return [type(batch)(*values) if hasattr(batch, "_fields") else type(batch)(values)
            for values in columns]
