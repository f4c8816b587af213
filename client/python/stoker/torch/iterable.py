# SPDX-License-Identifier: MIT
"""IterableDatasets, for producers: each is one worker, with an iterator of its own and a stream of
its own, of whole batches in sealed form. The program takes a batch of each in turn, as torch does.

Runs in the program, but for StreamCode and its _Worker, which run in producers.
"""
from __future__ import annotations

import mmap
import os
import random
import secrets
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Union

import numpy as np
import torch
from torch._utils import ExceptionWrapper
from torch.utils.data import IterDataPipe
from torch.utils.data._utils import worker as _workers
from torch.utils.data._utils.fetch import _IterableDatasetFetcher

from .. import loader as _loader
from ..node import Node
from ..produce import shipping
from ..produce.batches import opener
from ..produce.feed import Fed, Feed
from ..produce.kept import KeptSource
from ..produce.producer import place_of_producer, sample
from ..produce.sealed import TooLarge, seal, unseal
from ..state import Place
from .draw import Draw
from .own_code import say_worker
from .settings import put, settings

_SLOT = 1 << 18  # bytes; what is larger goes in a file beside the epoch's feed
_STREAMS_EPOCH = 4096
_MORE = object()


class End:
    """In the place of a batch: the iterator has ended."""


class InFile:
    """In the place of a batch: it is there, sealed."""

    def __init__(self, path: str) -> None:
        self.path = path

    def take(self) -> Any:
        with open(self.path, "rb") as file:
            os.unlink(self.path)
            view = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE)
        return unseal(np.frombuffer(view, np.uint8))


class StreamCode:
    """Makes the batches of the worker that this process is. ``batch``: samples of one; None: each
    sample is by itself."""

    def __init__(self, dataset: Any, collate: Callable[[Any], Any], batch: Optional[int],
                 drop_last: bool, init: Optional[Callable[[int], object]]) -> None:
        self.dataset, self.collate, self.batch = dataset, collate, batch
        self.drop_last, self.init = drop_last, init
        self.settings = settings()
        self.program = secrets.token_hex(8)  # no other one's producers make these batches
        self._worker: Optional[_Worker] = None

    def __len__(self) -> int:
        return _STREAMS_EPOCH

    def __getitem__(self, index: int) -> np.ndarray[Any, Any]:
        now = sample()
        number = now.epoch * _STREAMS_EPOCH + index
        worker = self._worker
        if worker is None or worker.key != now.seed or worker.made > number:
            self._worker = worker = None  # its iterator ends before another one begins
            self._worker = worker = _Worker(self, now.seed)
        made = worker.batch(number)
        try:
            return seal(made, _SLOT)
        except TooLarge as error:
            path = worker.fed.put_beside(f"large-{worker.number}-{number}",
                                         seal(made, error.needed).data)
            return seal(InFile(path), _SLOT)


class _Worker:
    """An epoch's: with torch's own fetcher, and the random numbers of torch's worker of this
    number, which go on from batch to batch."""

    def __init__(self, code: StreamCode, key: int) -> None:
        self.key, self.made, self.fed = key, 0, Fed(key)
        self.number, count = place_of_producer() or (0, 1)
        dataset = shipping.copied(code.dataset)  # as it was: the last epoch may have used it up
        self._indices = None if code.batch is None else [None] * code.batch
        self._ended = False
        put(code.settings)
        seed = self.fed.seed + self.number
        random.seed(seed)
        torch.manual_seed(seed)
        np.random.seed(_workers._generate_state(self.fed.seed, self.number))
        say_worker(self.number, count, seed, dataset)
        self._fetcher: Any = None
        self._failed: Any = None
        try:
            if code.init is not None:
                code.init(self.number)
            self._fetcher = _IterableDatasetFetcher(dataset, code.batch is not None, code.collate,
                                                    code.drop_last)
        except Exception:
            self._failed = self._wrapped()
        self._keep()

    def batch(self, number: int) -> Any:
        """Those before it are skipped: a producer that died had made them."""
        made = None
        while self.made <= number:
            random.setstate(self._states[0])
            np.random.set_state(self._states[1])
            torch.set_rng_state(self._states[2])
            made = self._next()
            self._keep()
            self.made += 1
        return made

    def _next(self) -> Any:
        if self._failed is not None:
            return self._failed
        try:
            return End() if self._ended else self._fetcher.fetch(self._indices)
        except StopIteration:
            self._ended = True
            return End()
        except Exception:
            return self._wrapped()

    def _wrapped(self) -> Any:
        return ExceptionWrapper(where=f"in DataLoader worker process {self.number}")

    def _keep(self) -> None:
        self._states = random.getstate(), np.random.get_state(), torch.get_rng_state()


class _OneOf(KeptSource):
    """The batches of one of its producers."""

    def __init__(self, whole: KeptSource, number: int) -> None:
        vars(self).update(vars(whole))
        self._number = number

    def description(self) -> Dict[str, str]:
        described = super().description()
        return {**described, "code": f"{described['code']} {self._number}"}


class Streams:
    """The producers of an IterableDataset, which outlive an epoch."""

    def __init__(self, code: StreamCode) -> None:
        self.name = type(code.dataset).__qualname__
        self._whole = KeptSource(code, np.empty(_SLOT, np.uint8), self.name)
        self._whole.apart = True

    def begin(self, node: Node, count: int, feed_key: int, ahead: int, came: List[int]
              ) -> List[_loader.Loader]:
        """A stream of each worker, from the batch on that is its next."""
        self._whole.begin(node.socket, count)
        streams = []
        for number in range(count):
            stream = node.loader(_OneOf(self._whole, number), batch_size=1, shuffle=False,
                                 augment_seed=feed_key, rank=0, world_size=1, inflight=2,
                                 prefetch=min(ahead // count, 3) + 1)
            stream._say(Place(*divmod(came[number], _STREAMS_EPOCH)))
            streams.append(stream)
        return streams

    def close(self) -> None:
        self._whole.close()


class Turns:
    """The batches of one ``for``: of each worker in turn, until all have ended. ``begun``: a state,
    or nothing. ``hand``: what a batch passes through at last."""

    def __init__(self, streams: Streams, node: Node, drawn: Draw, epoch: int, ahead: int,
                 count: int, begun: Mapping[str, Any], hand: Callable[[Any], Any]) -> None:
        self.drawn, self._hand = drawn, hand
        self.came: List[int] = list(begun.get("workers") or [0] * count)
        if len(self.came) != count:
            raise ValueError(f"the state is of {len(self.came)} workers, each with an iterator of "
                             f"its own, and this loader has num_workers={count}")
        self._turn = int(begun.get("turn", 0))
        self._ended = set(begun.get("ended", ()))
        key = int.from_bytes(os.urandom(8), "little")
        self._feed = Feed(key, drawn.seed, epoch)
        self._streams = streams.begin(node, count, key, ahead, self.came)
        self._batches: List[Iterator[Any]] = [iter(()) for _ in range(count)]

    def __iter__(self) -> Turns:
        return self

    @property
    def batches_done(self) -> int:
        return sum(self.came)

    def at_end(self) -> bool:
        return len(self._ended) == len(self.came)

    def state(self) -> Dict[str, Any]:
        return {"workers": list(self.came), "turn": self._turn, "ended": sorted(self._ended)}

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        self._feed.close()

    def __next__(self) -> Any:
        while not self.at_end():
            number, self._turn = self._turn, (self._turn + 1) % len(self.came)
            if number in self._ended:
                continue
            batch = self._opened(number)
            if isinstance(batch, End):
                self._ended.add(number)
                continue
            self.came[number] += 1
            if isinstance(batch, ExceptionWrapper):
                batch.reraise()
            return self._hand(batch)
        self.close()
        raise StopIteration

    def _opened(self, number: int) -> Any:
        batch: Any = next(self._batches[number], _MORE)
        if batch is _MORE:
            stream = self._streams[number]
            self._batches[number] = _loader.Iteration(stream, opener(stream))
            batch = next(self._batches[number])
        return batch.take() if isinstance(batch, InFile) else batch


def streams_of(dataset: Any, collate: Callable[[Any], Any], batch: Optional[int], drop_last: bool,
               init: Optional[Callable[[int], object]]) -> Union[Streams, str]:
    """Or why producers cannot run it."""
    if isinstance(dataset, IterDataPipe):
        return "an IterDataPipe has a seed that workers share"
    code = StreamCode(dataset, collate, batch, drop_last, init)
    try:
        os.close(shipping.pack(dataset, init))
        os.close(shipping.pack(code))
    except (shipping.CannotShip, ImportError) as error:
        return str(error)
    return Streams(code)
