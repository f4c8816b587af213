# SPDX-License-Identifier: MIT
"""Whole batches of a program's own dataset, for producers: of any tree, types and shapes. A batch
is a sample of the stream, in sealed form.

Runs in the program, but for BatchCode, which runs in producers, too.
"""
from __future__ import annotations

import hashlib
import logging
import os
from typing import Any, ContextManager, Dict, Iterator, List, Optional, Protocol, Union

import numpy as np

from .. import loader as _loader
from ..errors import SampleError
from ..node import Node
from ..state import Place
from . import shipping
from .feed import Fed, Feed
from .kept import KeptSource
from .producer import sample
from .sealed import seal, size_of, unseal
from .seeds import Seeds, seed_of
from .tree import Tree

# Batches of an epoch of the stream. It goes on from one to the next, as long as there are batches.
_STREAMS_EPOCH = 4096
_SPARE = 1.25  # of the largest batch that is known
_PAGE = 4096
_log = logging.getLogger("stoker")


class Maker(Protocol):
    """Makes a batch of the indices of its samples. It goes to producers."""

    def __call__(self, indices: List[Any]) -> Any: ...

    def here(self, count: int) -> ContextManager[object]:
        """Within it a batch is made in the program as the first of ``count`` producers makes it,
        and the program's own random generators are left as they are."""


class BatchCode:
    """Makes a batch of an epoch. ``size``: of a sealed one. ``length``: of the stream's epochs."""

    def __init__(self, make: Maker) -> None:
        self.make = make
        self.size, self.length = 0, _STREAMS_EPOCH
        self._fed: Dict[int, Fed] = {}  # in a producer: that of the last key
        self._seeds: Optional[Seeds] = None

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> np.ndarray[Any, Any]:
        """Sealed; nothing behind the end, up to which the daemon does not know how far it is."""
        now = sample()
        number = now.epoch * self.length + index
        if now.seed not in self._fed:
            self._fed = {now.seed: Fed(now.seed)}
        fed = self._fed[now.seed]
        indices = fed.batch(number)
        if indices is None:
            return seal(None, self.size)
        return seal(self.batch(indices, fed.seed, fed.epoch, number), self.size)

    def batch(self, indices: List[Any], seed: int, epoch: int, number: int) -> Any:
        """Its random numbers follow from the last three."""
        if self._seeds is None:
            self._seeds = Seeds(self.make)
        self._seeds.set(seed, epoch, number)
        return self.make(indices)


class Batches:
    """The producers of a dataset's batches, which outlive the loaders of an epoch. ``size``: of
    the largest sealed batch that is known; 0: of none."""

    tree = None

    def __init__(self, make: Maker, name: str, size: int = 0) -> None:
        self.code = BatchCode(make)
        self.name = name
        self._source: Optional[KeptSource] = None
        self._said = False
        self._count = 0
        if size:
            self._grow(size)

    def begin(self, path: str, count: int, indices: List[Any]) -> KeptSource:
        """Before the loader of an epoch: producers have the dataset as it is now. ``indices``: of a
        batch, to see how large one is, of which nothing is known yet. Raises what the code
        raises."""
        code = self.code
        if code.size == 0:
            self._grow(size_of(_first(code, count, indices)))
        if self._source is None:
            self._source = KeptSource(code, np.empty(code.size, np.uint8), self.name)
        self._source.tree = Tree(np.empty(code.size, np.uint8))
        self._source.begin(path, count)
        self._count = count
        return self._source

    def here(self, error: SampleError, run: Run) -> Any:
        """A batch that a producer could not give, made in this process: so an exception of the code
        is raised as it is."""
        copy = shipping.copied(self.code)
        with copy.make.here(self._count):
            batch = copy.batch(run.given[run.came], run.seed, run.epoch, run.came)
        needed = size_of(batch)
        if needed > self.code.size:
            self._grow(needed)
        elif not self._said:
            self._said = True
            _log.warning("a batch of %s is made in this process, since no producer gave it: %s",
                         self.name, error)
        return batch

    def rest(self) -> None:
        """No batch is asked for until begin()."""
        if self._source is not None:
            self._source.rest()

    def close(self) -> None:
        if self._source is not None:
            self._source.close()

    def _grow(self, needed: int) -> None:
        """Of the next epoch on."""
        self.code.size = -(-int(needed * _SPARE) // _PAGE) * _PAGE


class Run:
    """The batches of one epoch, as they are drawn and given to producers. ``batches``: indices of
    the samples of each; an iterator, if they are to be drawn as they are needed, ``ahead`` of them.
    ``given``: the indices of those that have not come. ``came``: how many have.

    What was drawn at once has a key that equal batches have in other programs, too, which so share
    them; what is drawn as it goes is this program's alone.
    """

    def __init__(self, batches: Union[List[List[int]], Iterator[Any]], seed: int, epoch: int,
                 done: int, ahead: int) -> None:
        self.seed, self.epoch, self.came = seed, epoch, done
        self.at_once = isinstance(batches, list)
        self.count: Optional[int] = None  # None: it is not known yet
        self.key = seed_of(int.from_bytes(os.urandom(8), "little"), epoch, seed)
        self.given: Any = {}
        self._next, self._ahead = 0, ahead
        self._iteration: Iterator[Any] = iter(())
        if isinstance(batches, list):
            self.given, self.count = batches, len(batches)
            self._put_all(batches)
            return
        self._batches = iter(batches)
        self._feed = Feed(self.key, seed, epoch)
        for _ in range(done + ahead):
            self._draw()

    def at_end(self) -> bool:
        return self.came == self.count

    def begin(self, by: Batches, node: Node, count: int, **options: Any) -> _loader.Loader:
        """Have ``count`` producers make them; the stream of them, which is the caller's.
        ``options``: of it."""
        source = by.begin(node.socket, count, self.given[self.came])
        stream = node.loader(source, batch_size=1, shuffle=False, augment_seed=self.key, rank=0,
                             world_size=1, **{**self._options(source.samples, count), **options})
        stream._say(Place(*divmod(self.came, source.samples)))
        return stream

    def next(self, stream: Optional[_loader.Loader], by: Batches) -> Any:
        """The next batch. ``stream``: None, if there are no more. Raises StopIteration behind the
        last one, what the code raises, and what the stream does."""
        if self.at_end():
            self._feed.close()
            by.rest()
            raise StopIteration
        try:
            batch = self._opened(stream)
        except SampleError as error:
            try:
                batch = by.here(error, self)
            finally:
                self._take()
        else:
            self._take()
        return batch

    def _opened(self, stream: Optional[_loader.Loader]) -> Any:
        assert stream is not None
        for batch in self._iteration:
            return batch
        self._iteration = _loader.Iteration(stream, opener(stream))
        return next(self._iteration)

    def _take(self) -> None:
        """A batch came: another one is drawn."""
        if not self.at_once:
            del self.given[self.came]
            self._feed.forget(self.came)
            self._draw()
        self.came += 1

    def _options(self, length: int, workers: int) -> Dict[str, Any]:
        """Of a stream with epochs of this length: how far the daemon goes. A batch that is not
        drawn yet is not to be asked for; one is with the program."""
        if self.count is None or not self.at_once:
            return {"prefetch": min(self._ahead, workers + 2) + 1, "inflight": 2, "epochs": None}
        if self.count <= length:
            return {"subset": (0, self.count), "epochs": 1}
        return {"epochs": -(-self.count // length)}

    def _draw(self) -> None:
        if self.count is not None:
            return
        try:
            indices = next(self._batches)
        except StopIteration:
            self.count = self._next
            self._feed.put_end(self.count)
            return
        if self._next >= self.came:
            self.given[self._next] = list(indices)
            self._feed.put(self._next, self.given[self._next])
        self._next += 1

    def _put_all(self, batches: List[List[int]]) -> None:
        ends = np.cumsum([len(batch) for batch in batches], dtype=np.int64)
        indices = np.concatenate([np.asarray(batch, np.int64) for batch in batches]) \
            if batches else np.empty(0, np.int64)
        found = hashlib.blake2b(f"{self.seed} {self.epoch}".encode(), digest_size=8)
        found.update(ends.tobytes())
        found.update(indices.tobytes())
        self.key = int.from_bytes(found.digest(), "little")
        self._feed = Feed(self.key, self.seed, self.epoch)
        self._feed.put_all(indices, ends)


def _first(code: BatchCode, count: int, indices: List[Any]) -> Any:
    """A batch, to see how large batches are, of a copy: what the dataset opens at its first call is
    not to be held by the object that goes to other processes."""
    copy = shipping.copied(code)
    with copy.make.here(count):
        return copy.batch(indices, 0, 0, 0)


def opener(stream: _loader.Loader) -> Any:
    """What opens a batch of a stream of them, as its producer had it. It does not hold the epoch,
    so there is no circle."""
    name = next(name for name in stream.fields if name != "index")

    def opened(message: Any) -> Any:
        arrays, _ = stream._take(message, [name])
        return unseal(arrays[name][0])
    return opened
