# SPDX-License-Identifier: MIT
"""Batches of a sequence of the program's own, made by producers or by threads of this process.

An epoch is begun with the numbers of its batches in their order; then batches() gives them. One
thread at a time.
"""
from __future__ import annotations

import logging
import os
import random
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Deque, Dict, Iterator, Optional, Sequence, Union

import numpy as np

from .. import samplers
from ..errors import MemoryBudgetError, SampleError
from ..loader import Iteration, Loader
from ..node import Node, _producers, connect
from ..produce.sealed import size_of
from ..produce.sealing import SealedSource, opener, program_seed

ENDLESS = 1 << 24  # batches of a dataset that says no number
_IDLE_S = 30.0  # producers that nobody asks are kept so long
_IDLE = 2  # and those of so many sequences: of training, and of validation
_log = logging.getLogger("stoker")


def count_of(sequence: Any) -> Optional[int]:
    """The batches of an epoch; None: there is no end. Raises TypeError if it is no sequence."""
    has = hasattr(sequence, "__getitem__") and (
        hasattr(sequence, "__len__") or hasattr(sequence, "num_batches"))
    if not has or isinstance(sequence, (str, bytes)):
        raise TypeError(f"a {type(sequence).__name__} is no sequence of batches, with __getitem__ "
                        "and __len__; of a generator take GeneratorEnqueuer")
    found = sequence.num_batches if hasattr(sequence, "num_batches") else len(sequence)
    if found is not None and not isinstance(found, (int, np.integer)):
        raise TypeError(f"num_batches of a {type(sequence).__name__} is {found!r:.60}, and must be "
                        "a number, or None")
    return None if found is None else int(found)


def drawn_order(count: Optional[int], shuffle: bool) -> Sequence[int]:
    """Of an epoch's batches, as Keras draws it."""
    if count is None or not shuffle:
        return range(ENDLESS if count is None else count)
    order = list(range(count))
    random.shuffle(order)
    return order


class ByThreads:
    """Threads of this process, as Keras' own without use_multiprocessing."""

    def __init__(self, sequence: Any, workers: int, queued: int) -> None:
        self.workers, self.queued = workers, queued
        self._sequence = sequence
        self._pool: Optional[ThreadPoolExecutor] = None
        self._numbers: Iterator[int] = iter(())
        self._ahead: Deque[Future[Any]] = deque()

    def begin(self, order: Sequence[int]) -> None:
        self.stop()
        self._pool = ThreadPoolExecutor(max(1, self.workers), "stoker keras")
        self._numbers = iter(order)
        for _ in range(max(1, self.queued)):
            self._ask()

    def batches(self) -> Iterator[Any]:
        while self._ahead:
            batch = self._ahead.popleft().result()
            self._ask()
            yield batch

    def stop(self) -> None:
        pool, self._pool = self._pool, None
        self._ahead.clear()
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self) -> None:
        number = next(self._numbers, None)
        if number is not None and self._pool is not None:
            self._ahead.append(self._pool.submit(self._sequence.__getitem__, number))


class ByProducers:
    """Producers. A batch that none of them gave is made in this process, which is said once; so an
    exception of the sequence is raised here as it is."""

    def __init__(self, sequence: Any, workers: Optional[int], queued: int,
                 node: Optional[Node]) -> None:
        self.workers, self.queued = workers, queued
        self._sequence, self._node = sequence, node
        self._source = SealedSource(sequence, type(sequence).__qualname__)
        self._stream: Optional[Loader] = None
        self._order: Sequence[int] = ()
        self._seed = program_seed()
        self._begun = 0  # streams
        self._said = False

    def begin(self, order: Sequence[int]) -> None:
        _wake(self)
        self._order = order
        before, self._stream = self._stream, self._attach()
        if before is not None:
            before.close()

    def batches(self) -> Iterator[Any]:
        done, larger = 0, True
        while larger:
            larger = False
            assert self._stream is not None
            batches = Iteration(self._stream, opener(self._stream))
            while not larger:
                try:
                    batch, = next(batches)
                except StopIteration:
                    return
                except SampleError as error:
                    batch = self._make(self._order[done], error)
                    larger = self._source.fit(size_of(batch))
                done += 1
                if larger and done < len(self._order):
                    self.begin(self._order[done:])
                    done = 0
                yield batch

    def stop(self) -> None:
        """What is made ahead is nobody's any more; the producers stay for a while."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
            _rest(self)

    def close(self) -> None:
        """Its producers end."""
        self._source.close()

    def _attach(self) -> Loader:
        node = self._node = connect() if self._node is None else self._node
        source, order = self._source, self._order
        in_order = isinstance(order, range) and order.step == 1
        source.code.first = order[0] if in_order and len(order) else 0
        source.samples = len(order) if in_order else max(source.samples, int(max(order)) + 1)
        options: Dict[str, Any] = {} if in_order else {
            "sampler": samplers.Subset(np.asarray(order, np.int64))}
        source.begin(node.socket, _producers(self.workers))
        self._begun += 1
        options.update(batch_size=1, shuffle=False, rank=0, world_size=1, epochs=1,
                       augment_seed=(self._seed + self._begun) % 2**63)
        try:
            return node.loader(source, prefetch=max(1, self.queued), **options)
        except MemoryBudgetError:
            return node.loader(source, **options)

    def _make(self, number: int, error: SampleError) -> Any:
        batch = self._sequence[number]
        if not self._said and size_of(batch) <= self._source.code.size:
            self._said = True
            _log.warning("a batch of %s is made in this process, since no producer gave it: %s",
                         type(self._sequence).__name__, error)
        return batch


# Whose producers wait for a next epoch, the longest first, and what ends the wait.
_idle: Dict[ByProducers, threading.Timer] = {}
_idle_lock = threading.Lock()


def _rest(by: ByProducers) -> None:
    """A program may make one sequence after the other: what the earlier ones hold goes."""
    timer = threading.Timer(_IDLE_S, _end, (by,))
    timer.daemon = True
    with _idle_lock:
        _idle[by] = timer
        over = list(_idle)[:-_IDLE]
    timer.start()
    for other in over:
        _end(other)


def _wake(by: ByProducers) -> None:
    with _idle_lock:
        timer = _idle.pop(by, None)
    if timer is not None:
        timer.cancel()


def _end(by: ByProducers) -> None:
    """Unless it was woken. With the lock: who wakes it waits until it has ended."""
    with _idle_lock:
        timer = _idle.pop(by, None)
        if timer is not None:
            timer.cancel()
            by.close()


def _forked() -> None:
    """What waits is the parent's."""
    global _idle_lock
    _idle_lock = threading.Lock()
    _idle.clear()


os.register_at_fork(after_in_child=_forked)


class OwnByNumber:
    """take(k) gives batch k of the current epoch, in the order that was drawn for it if ``shuffle``
    is set; ascending numbers come from what is made ahead. Any thread."""

    epoch = None

    def __init__(self, sequence: Any, workers: Optional[int], processes: bool, queued: int,
                 node: Optional[Node]) -> None:
        self.shuffle = False
        self._sequence = sequence
        count_of(sequence)
        own = getattr(sequence, "workers", 1)
        workers = own if workers is None and isinstance(own, int) and own > 1 else workers
        self._by: Union[ByProducers, ByThreads] = \
            ByProducers(sequence, workers, queued, node) if processes else \
            ByThreads(sequence, workers or 1, queued)
        self._lock = threading.Lock()
        self._order: Sequence[int] = ()
        self._batches: Iterator[Any] = iter(())
        self._next = -1  # number of the next batch of `_batches`; -1: none
        self._alone = True  # nobody has begun an epoch

    @property
    def count(self) -> Optional[int]:
        return count_of(self._sequence)

    def begin(self) -> None:
        """Somebody is about to ask for the batches of an epoch."""
        on_epoch_begin = getattr(self._sequence, "on_epoch_begin", None)
        if on_epoch_begin is not None:
            on_epoch_begin()
        self._alone = False

    def end(self) -> None:
        """The current epoch is over."""
        on_epoch_end = getattr(self._sequence, "on_epoch_end", None)
        if on_epoch_end is not None:
            on_epoch_end()
        with self._lock:
            self._next, self._alone = -1, True
            self._by.stop()

    forget = end  # Keras, too, tells a sequence so when it has only looked

    def take(self, number: int) -> Any:
        with self._lock:
            if number < 0:
                number += self.count or 0
            if number == 0 or self._next < 0 and self._alone:
                self._order = drawn_order(self.count, self.shuffle and not self._alone)
                self._next = -1
            if not 0 <= number < len(self._order):
                raise IndexError(f"no batch {number}: an epoch has {len(self._order)} batches"
                                 ": take a number below that")
            if number != self._next:
                self._begin(number)
            self._next += 1
            return self._some()

    def _begin(self, number: int) -> None:
        self._by.begin(self._order[number:])
        self._batches, self._next = self._by.batches(), number

    def _some(self) -> Any:
        """The next batch that is one. Behind the last one the first ones come again."""
        for _ in range(2):
            for batch in self._batches:
                if batch is not None:
                    return batch
            number = self._next
            self._begin(0)
            self._next = number
        raise ValueError(f"all batches of {type(self._sequence).__name__} are None")
