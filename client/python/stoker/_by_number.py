# SPDX-License-Identifier: MIT
"""The batches of a loader's epochs by number, for who asks instead of iterating. Any thread.

Knows epochs, places and two readers; no framework.
"""
from __future__ import annotations

import operator
import threading
import time
from typing import Optional, Sequence

from ._wire import Received
from .batch import Batch
from .loader import Iteration, Loader
from .state import Place


IDLE_S = 30.0  # the second reader is kept so long; its next batches wait for it in the ring


class _Walk:
    """A loader that is read in order, from any place on: copies of some fields. One thread at a
    time."""

    def __init__(self, loader: Loader, fields: Sequence[str]) -> None:
        self.loader = loader
        self._fields = dict.fromkeys(fields)
        self._batches: Optional[Iteration[Batch]] = None
        self._left = self.at

    @property
    def at(self) -> Place:
        return self.loader._place()  # not .epoch, which is that of the next `for`

    @property
    def moved(self) -> bool:
        """Has somebody else moved the loader, by set_epoch() or load_state_dict()?"""
        return self.at != self._left

    def move(self, place: Place) -> None:
        if self.at != place:
            self.loader.load_state_dict({**self.loader.state_dict(), **place._asdict()})
            self._batches = None
        self._left = self.at

    def take(self, place: Place) -> Batch:
        if self.moved:
            self._batches = None
        self.move(place)
        try:
            return self._next()
        finally:
            self._left = self.at

    def _next(self) -> Batch:
        if self._batches is not None:
            try:
                return next(self._batches)
            except StopIteration:  # the place is the first one of the next epoch
                pass
        self._batches = Iteration(self.loader, self._copied)
        return next(self._batches)


    def _copied(self, message: Received) -> Batch:
        return self.loader._copied(message, self._fields)


class ByNumber:
    """take(k) gives batch k of the current epoch, whatever was asked before: copies of some fields.

    The current epoch starts where the loader stands at first. The next one starts when somebody
    asks for an earlier batch again after end(). An epoch that starts in the middle is filled up
    with the first batches of the next one.

    Who asks in ascending order reads the loader itself, so its state_dict() says where that reader
    is. Everything else comes from a second reader of the stream, which goes on from where it was
    sent, and is kept until nobody has asked it for 30 s.
    """

    def __init__(self, loader: Loader, fields: Sequence[str]) -> None:
        if loader._reader.request["last_batch"] not in ("short", "drop", "pad"):
            raise ValueError("batches by number need epochs of whole batches: last_batch must be "
                             f"short, drop or pad, not {loader._reader.request['last_batch']!r}")
        self._loader = loader
        self._fields = fields
        self._lock = threading.Lock()
        self._main = _Walk(loader, fields)
        self._other: Optional[_Walk] = None
        self._jumped = 0.0  # when it was last asked
        self._anchor: Optional[Loader] = None  # keeps the dataset while the loader moves
        self._start: Optional[Place] = None  # of batch 0
        self._last = -1  # the highest number asked for in this epoch
        self._over = self._again = False  # end(), begin() since then

    @property
    def count(self) -> int:
        """Batches of an epoch."""
        return len(self._loader)

    @property
    def epoch(self) -> Optional[int]:
        """The number of the epoch that batch 0 is of now; None: nothing was asked for yet."""
        return None if self._start is None else self._start.epoch + self._over

    def begin(self) -> None:
        """Somebody is about to ask for all batches from the first one on."""
        with self._lock:
            self._again = True

    def end(self) -> None:
        """The current epoch is over."""
        with self._lock:
            self._over = True

    def forget(self) -> None:
        """What was asked for since the epoch began was only to be looked at."""
        with self._lock:
            if self._start is not None and not self._over and not self._main.moved:
                self._go_to_start(self._start)

    def take(self, number: int) -> Batch:
        """Batch ``number``; negative ones count from the end. Raises IndexError, and what iterating
        over the loader raises."""
        count = len(self._loader)
        number = operator.index(number)
        place = number + count if number < 0 else number
        if not 0 <= place < count:
            raise IndexError(f"no batch {number}: an epoch has {count} batches, counted from 0"
                             ": take a number below that")
        with self._lock:
            return self._take(place)

    def _take(self, number: int) -> Batch:
        if self._start is None:
            self._start = self._main.at
        elif number > self._last:
            self._over = self._again = False
        elif self._over or self._again:
            self._restart()
        self._last = max(self._last, number)
        place = self._place(number)
        if place == self._main.at:
            return self._take_in_order(place)
        if self._other is None:
            self._other = _Walk(another(self._loader), self._fields)
        self._jumped = time.monotonic()
        return self._other.take(place)

    def _take_in_order(self, place: Place) -> Batch:
        batch = self._main.take(place)
        if self._anchor is not None:
            self._anchor.close()
            self._anchor = None
        if self._other is not None and time.monotonic() - self._jumped > IDLE_S:
            self._other.loader.close()
            self._other = None
        return batch

    def _restart(self) -> None:
        if self._main.moved:
            self._start = self._main.at
        elif self._over:
            self._start = Place(self._place(self._last).epoch + 1, 0)
        assert self._start is not None
        self._go_to_start(self._start)
        self._last = -1
        self._over = self._again = False

    def _go_to_start(self, start: Place) -> None:
        if self._main.at != start and self._anchor is None and self._other is None:
            self._anchor = another(self._loader, inflight=0)
        self._main.move(start)

    def _place(self, number: int) -> Place:
        assert self._start is not None
        epoch, position = self._start
        step = self._loader.batch_size * self._loader.world_size
        left = self._left(position)
        if number >= left:
            return Place(epoch + 1, (number - left) * step)
        return Place(epoch, position + number * step)

    def _left(self, position: int) -> int:
        """How many batches an epoch has from a position on."""
        if position == 0:
            return len(self._loader)
        loader = self._loader
        step = loader.batch_size * loader.world_size
        samples = loader.samples - position
        last_batch = loader._reader.request["last_batch"]
        if last_batch == "drop":
            return samples // step
        mine = 0 if last_batch == "pad" else loader.rank * loader.batch_size
        return max(0, -(-(samples - mine) // step))


def another(loader: Loader, inflight: int = 2) -> Loader:
    """A second reader of the same stream, which keeps few batches ready and holds nobody back.
    inflight 0: it only keeps the dataset, which the daemon forgets when nobody reads it."""
    request = {**loader._reader.request, "inflight": inflight, "prefetch": 2, "pace": "free"}
    request.pop("job", None)
    return Loader(loader._reader.connect, request, epochs=loader.epochs, timeout=loader.timeout,
                  reconnect=loader.reconnect, credentials=loader._reader.credentials)
