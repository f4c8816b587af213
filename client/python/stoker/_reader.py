# SPDX-License-Identifier: MIT
"""A reader of one stream: attached to the daemon, moved, asked, and attached again once a daemon
that went away is back.

Knows messages and places. What an iteration and an array are its loader knows.
"""
from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from ._patience import Patience
from ._wire import Received
from .batch import Batch, Copy
from .errors import (DaemonUnavailable, Disconnected, Error, SampleError, Stopping,
                     TooManyConnections, from_message)
from .state import Place

if TYPE_CHECKING:
    from ._connection import Connection

# What a daemon that comes back, or has not gone yet, may answer: another try is worth it.
_PASSING = (DaemonUnavailable, Disconnected, Stopping, TooManyConnections)
_log = logging.getLogger("stoker")


def _left(deadline: float) -> Optional[float]:
    return None if deadline == math.inf else max(0.0, deadline - time.monotonic())


def _note_stalled(fields: Dict[str, Any]) -> str:
    """What the daemon says of a read that hangs, to the log and as the end of a sentence."""
    words = f"{fields['path']} has been read for {fields['read_ms'] // 1000} s: " \
            "does its storage hang?"
    _log.warning("epoch %d, position %d waits: %s", fields["epoch"], fields["position"], words)
    return f"; {words}"


class Reader:
    """Attached as soon as it is made. ``_at``: all before it went to the application."""

    def __init__(self, connect: Callable[[], Connection], request: Dict[str, Any], *,
                 epochs: Optional[int], timeout: Optional[float], reconnect: Optional[float],
                 live: bool) -> None:
        self._connect = connect
        self._request = request
        self._at = Place(0, 0)
        self._attached = False
        self._away: Optional[Error] = None  # why the daemon went, if it was not found again
        self._patience = Patience(reconnect or 0)
        self._stalled = ""  # why the next batch does not come, if the daemon said so
        self.reconnect = reconnect
        self.reconnects = 0
        self.epochs = epochs
        self.timeout = timeout
        self.batch_size: int = request["batch_size"]
        self.inflight: int = request["inflight"]
        self.rank: int = request["rank"]
        self.world_size: int = request["world"]
        self._connection = connect()
        try:
            attached = self._attach(None if live else self._at)
        except BaseException:
            self._connection.close()
            raise
        self.samples: int = attached["samples"]
        self.dataset_fingerprint: str = attached["dataset_fingerprint"]
        self.pipeline_hash: str = attached["pipeline_hash"]
        self.sampling_hash: str = attached["sampling_hash"]

    # Attaching

    def _attach(self, place: Optional[Place], **expected: str) -> Dict[str, Any]:
        """``place`` None is where the stream is now."""
        connection = self._connection
        request = dict(self._request, **expected)
        if place is None:
            request["start"] = "live"
        else:
            request.update(epoch=place.epoch, position=place.position)
            if self.epochs is not None:
                request["epochs"] = max(1, self.epochs - place.epoch)  # 0 would be endless
        attached = connection.request_within(self.timeout, "attach", "attached", **request)
        connection.mark()
        self._ring = attached["memory"]
        self._batches: int = attached["batches"]
        self._at = self._entered(attached) if place is None else place
        self._attached = True
        return attached

    def _entered(self, attached: Dict[str, Any]) -> Place:
        """Where a live start begins: the place of all ranks' batch that our first one is of."""
        position = attached["position"] - self.rank * self.batch_size
        if not 0 <= position < attached["samples"]:
            raise self._connection.broken("a start outside of the epoch")
        return Place(attached["epoch"], position)

    def _move(self, place: Place) -> None:
        """Attach anew at another place, of what must be the same stream."""
        if self._attached:
            self._connection.request("detach", "ok")
            self._connection.forget()  # what the application holds stays as it is
        self._attached = False
        self._attach(place, **self._expected())

    def _expected(self) -> Dict[str, str]:
        return {"expect_dataset": self.dataset_fingerprint, "expect_pipeline": self.pipeline_hash,
                "expect_sampling": self.sampling_hash}

    # Receiving and asking

    def _receive(self, timeout: Optional[float]) -> Optional[Received]:
        """The next message that is for the iteration; None after ``timeout`` seconds."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            message = self._connection.receive(_left(deadline))
            if message is None:
                return None
            if message.name == "ring":
                self._follow(message.fields)
            elif message.name == "stalled":
                self._stalled = _note_stalled(message.fields)
            else:
                break
        if message.name == "goaway":
            self._connection.unread(message)  # so that whoever asks again hears it again
            raise Stopping(f"stokerd stops: {message.fields['text']}")
        self._patience.find()
        self._stalled = ""
        return message

    def _follow(self, fields: Dict[str, Any]) -> None:
        """Batches from now on are in another ring; those that are held keep theirs mapped."""
        if not fields["memory"].like(self._ring):
            raise self._connection.broken("a ring of other samples")
        self._ring = fields["memory"]

    def _list(self, what: str, after: int = 0) -> Dict[str, Any]:
        deadline = self._deadline()
        while True:
            try:
                return self._connection.request("list", "listing", what=what, after=after)
            except Disconnected as error:
                self._recover(error, self._at, deadline)

    def _only_batch(self, epoch: int, number: int) -> Batch:
        """A copy, by way of a reader beside this one that leaves at once. Any thread."""
        request = dict(self._request, epoch=epoch, epochs=1, inflight=1, prefetch=1, pace="free",
                       position=number * self.batch_size * self.world_size, **self._expected())
        request.pop("job", None)
        self._connection.check_process()
        connection = self._connect()
        try:
            return self._take_one(connection, request)
        finally:
            connection.close()

    def _take_one(self, connection: Connection, request: Dict[str, Any]) -> Batch:
        attached = connection.request_within(self.timeout, "attach", "attached", **request)
        ring, stalled = attached["memory"], ""
        while True:
            message = connection.receive(self.timeout)
            if message is None:
                raise TimeoutError(f"no batch came within {self.timeout:g} s{stalled}")
            name, fields = message
            if name == "stalled":
                stalled = _note_stalled(fields)
                continue
            if name == "ring" and fields["memory"].like(ring):
                ring = fields["memory"]
                continue
            if name == "bad_sample":
                raise SampleError.from_message(fields)
            if name == "error":
                raise from_message(fields)
            if name == "goaway":
                raise Stopping(f"stokerd stops: {fields['text']}")
            first = request["position"] + self.rank * self.batch_size
            if name != "batch" or not ring.has(fields["runs"], fields["count"]) or \
                    (fields["epoch"], fields["position"]) != (request["epoch"], first):
                raise connection.broken(f"{name} where one batch should come")
            copy = Copy(ring, fields["runs"])
            return Batch(copy, copy, fields)

    # When the daemon goes away

    def _deadline(self) -> float:
        return math.inf if self.timeout is None else time.monotonic() + self.timeout

    def _recover(self, error: Error, place: Place, deadline: float) -> None:
        """Wait for the daemon and attach at ``place``; raises ``error`` if that cannot be."""
        given_up = self._away is not None  # in an earlier call
        if self._away is not None:
            error = self._away
        elif self.reconnect and (self._connection.lost or isinstance(error, Stopping)):
            # As text: who keeps the record would keep the frames, and the arrays in them.
            _log.warning("%s; waiting up to %g s for another", str(error), self.reconnect)
            self._away = error
        else:
            raise type(error)(f"{error}; state_dict() says where to go on") from error
        if isinstance(error, Stopping):  # begins nothing new: what is held needs no lease
            self._connection.close()
        done = (self._patience.lose() or given_up) and self._reattach(place)
        while not done:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"no batch came within {self.timeout:g} s: {error}")
            if self._patience.over:
                raise type(error)(f"{error}, and none served within {self.reconnect:g} s; "
                                  "state_dict() says where to go on") from error
            self._patience.sleep(deadline)
            done = self._reattach(place)
        self._away = None
        self.reconnects += 1
        _log.warning("stokerd is there again; going on at epoch %d, position %d", *place)

    def _reattach(self, place: Place) -> bool:
        """One try; False if another one is worth it."""
        try:
            self._connection = self._connect()
        except _PASSING:
            return False
        try:
            self._attach(place, **self._expected())
        except _PASSING:
            self._connection.close()
            return False
        except BaseException:
            self._connection.close()
            raise
        return True
