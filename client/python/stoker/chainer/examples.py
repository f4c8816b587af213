# SPDX-License-Identifier: MIT
"""Batches of examples of any dataset, made by producers, in the order that Chainer draws.

Needs no chainer. One thread at a time.
"""
from __future__ import annotations

import warnings
from typing import Any, Callable, List, NamedTuple, Optional, Tuple, Type

import numpy as np

from ..produce.sealing import program_seed
from .streams import Way, streams_of

Order = Optional[np.ndarray[Any, Any]]  # None: that of the dataset
OrderSampler = Callable[[np.ndarray[Any, Any], int], np.ndarray[Any, Any]]


class State(NamedTuple):
    """As Chainer's iterators have it, behind a batch."""

    position: int = 0
    epoch: int = 0
    is_new_epoch: bool = False
    order: Order = None


class Examples:
    """``state``: behind the last batch. ``sampler``: makes the order of the next epoch, from that
    of this one and the place in it; None: the order is the dataset's.

    ``late``: the class of the warning that no batch has come for the time of ``way``."""

    def __init__(self, dataset: Any, way: Way, repeat: bool, sampler: Optional[OrderSampler],
                 late: Type[Warning]) -> None:
        self._dataset, self._batch_size, self._repeat = dataset, way.batch_size, repeat
        self._sampler = sampler
        self._late = late
        self.seed = program_seed()
        self._streams = streams_of(dataset, way)
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
        left, self._left = self._left, 0  # after an exception it is asked for again
        batch = self._take(indices)
        self._left = 0 if self._streams.ended else left - 1
        self.state = state
        if self._left == 0:  # the next batches are made while this one is used
            self._begin()
        return batch

    def close(self) -> None:
        self._streams.close()

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
                                     f"{count} before: have it give always as many")
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
        self._streams.attach(indices, before, self.seed, here.epoch if within else state.epoch)

    def _take(self, indices: np.ndarray[Any, Any]) -> List[Any]:
        while True:
            try:
                return self._streams.take(indices)
            except TimeoutError as error:
                warnings.warn(f"{error}; waiting on", self._late, stacklevel=5)


def _part(order: Order, begin: int, end: int) -> np.ndarray[Any, Any]:
    return np.arange(begin, end) if order is None else np.asarray(order[begin:end])
