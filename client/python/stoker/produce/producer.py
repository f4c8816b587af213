# SPDX-License-Identifier: MIT
"""A producer: makes the samples that the daemon asks for, by the user's code, into its tray.

One thread. It ends when the daemon closes the connection, or with its parent.
"""
from __future__ import annotations

import dataclasses
import math
import mmap
import os
import struct
import threading
import time
import traceback
from typing import Any, Callable, List, Optional, Tuple

import numpy as np

from .. import _address
from .._connection import Connection
from ..errors import Disconnected, Error, ProtocolError
from ._board import Line
from .picture import pnm
from .seeds import Seeds
from .tree import Tree

_LABEL = struct.Struct("=q")
_TELL_S = 0.05  # what is made is told after so long, also if more of the group is to come
_TEXT_MAX = 4096
_FIRST = 10  # deadlines that the first call has: it may import and open things
_at = threading.local()
_place: Optional[Tuple[int, int]] = None

Record = Callable[[Any], List[Any]]


@dataclasses.dataclass(frozen=True)
class Sample:
    """Which sample the code is called for. ``seed``: its stream's augment seed."""

    index: int
    epoch: int
    position: int
    seed: int = 0


def sample() -> Sample:
    """The sample that this thread makes. Raises RuntimeError outside of a producer's call."""
    found: Optional[Tuple[List[int], int]] = getattr(_at, "sample", None)
    if found is None:
        raise RuntimeError("stoker.sample() is for code that a producer calls: a stoker.Source or "
                           "stoker.Map")
    index, epoch, position = found[0][:3]
    return Sample(index, epoch, position, found[1])


def place_of_producer() -> Optional[Tuple[int, int]]:
    """The number of this process among the producers that its template started, from 0, and how
    many these are. None: this is no such process."""
    return _place


def say_place(number: int, count: int) -> None:
    """In a producer, before it makes a sample."""
    global _place
    _place = number, count


def code_of(thing: Any) -> Callable[[int], Any]:
    """What makes a sample of an index."""
    found: Callable[[int], Any] = thing.__getitem__ if hasattr(thing, "__getitem__") else thing
    return found


def _labelled(made: Any, what: str) -> Tuple[Any, bytes]:
    """It, and its label: ``made``, or (made, label)."""
    label: Any = 0
    if isinstance(made, (tuple, list)):
        if len(made) != 2:
            raise TypeError(f"a source gives {what}, or ({what}, label), and this is "
                            f"{type(made).__name__} of {len(made)}")
        made, label = made
    return made, _LABEL.pack(int(label))


def record_of_picture(made: Any) -> List[Any]:
    """The parts of a record: the label, and a picture as a file. ``made``: it, or (it, label)."""
    made, label = _labelled(made, "a picture")
    return [label, *pnm(made)]


def record_of_bytes(made: Any) -> List[bytes]:
    """The parts of a record: the label, and a file's bytes. ``made``: bytes, or (bytes, label)."""
    made, label = _labelled(made, "bytes")
    if not isinstance(made, (bytes, bytearray, memoryview)):
        raise TypeError(f"a source with gives='bytes' gives the bytes of a file, not "
                        f"{type(made).__name__}")
    return [label, bytes(made)]


class RecordOfArrays:
    """The parts of a record: the arrays of a sample, in the order of the tree's leaves."""

    def __init__(self, tree: Tree) -> None:
        self._tree, self.sizes = tree, tree.sizes

    def __call__(self, made: Any) -> List[Any]:
        return self._tree.parts(made)


class Maker:
    """Makes samples of a user's code, each by itself. One thread at a time.

    ``call``: makes a sample of an index or a picture. ``record``: the parts of its record.
    """

    def __init__(self, call: Callable[[Any], Any], seeds: Seeds, record: Record) -> None:
        self._call, self._seeds, self._record = call, seeds, record
        self.sizes: Optional[List[int]] = getattr(record, "sizes", None)  # of each record's parts
        # What is told of a group before its samples are made, if the code wants that.
        self.ahead: Callable[[List[List[int]]], None] = getattr(
            getattr(call, "__self__", None), "stoker_ahead", lambda samples: None)

    def make(self, sample: List[int], seed: int, given: Any) -> List[Any]:
        """The parts of its record, which the next one may write over. ``sample``: as in WORK:
        index, epoch, position. ``given``: the picture that it is made of; None: the index."""
        _at.sample = sample, seed
        self._seeds.set(seed, sample[1], sample[2])
        return self._record(self._call(sample[0] if given is None else given))


class Group:
    """What is made of a group of samples, on its way into a tray. ``work``: as of WORK."""

    def __init__(self, connection: Connection, tray: mmap.mmap, work: Any) -> None:
        self._connection, self._tray, self._number = connection, tray, work["group"]
        self._at = self._begin = work["offset"]
        self._end = self._begin + work["bytes"]
        self._made: List[Tuple[int, int, int]] = []
        self._told = time.monotonic()

    def put(self, place: int, parts: List[Any], sizes: Optional[List[int]] = None) -> None:
        """The record of the sample of this place. ``sizes``: bytes of each part; None: their
        lengths."""
        sizes = sizes or list(map(len, parts))
        size, at = sum(sizes), self._at
        if size > self._end - at:
            room = self._end - self._begin
            self._fail(place, f"the sample has {size} bytes, and a tray has room for {room}",
                       needed=size)
            return
        self._made.append((place, at, size))
        for part, part_size in zip(parts, sizes):
            self._tray[at:at + part_size] = part
            at += part_size
        self._at = min(self._end, (at + 63) // 64 * 64)
        now = time.monotonic()
        if now - self._told > _TELL_S:
            self.tell()
            self._told = now

    def fail(self, place: int, text: str) -> None:
        """That sample cannot be made, for this reason."""
        self._fail(place, text)

    def _fail(self, place: int, text: str, **more: int) -> None:
        self.tell()
        self._connection.send("failed", group=self._number, sample=place, text=text, **more)

    def tell(self) -> None:
        """The daemon what was put since it was told last."""
        if self._made:
            self._connection.send("made", group=self._number, samples=self._made)
            self._made = []


class Attached:
    """A connection that groups of samples come by, and its tray.

    ``recycle``: about so many samples are made; 0: without end. ``deadline_ms``: 0: the daemon's.
    ``check``: of a million samples so many are made twice.
    """

    def __init__(self, socket: str, code: str, secret: bytes, name: str, *, recycle: int = 0,
                 deadline_ms: int = 0, check: int = 0) -> None:
        self._connection: Connection = _address.open_connection(socket)
        self._left = recycle or math.inf  # samples
        reply = self._connection.request("produce", "producer", code=code, secret=secret, name=name,
                                         deadline_ms=deadline_ms, check=check)
        self._take_tray(reply)
        self._deadline_s = reply["deadline_ms"] / 1000
        self.nice: int = reply["nice"]  # that the daemon's workers have

    def run(self) -> bool:
        """Until the connection ends; or True: it has made as many samples as it was to."""
        try:
            while self._left > 0:
                message = self._connection.receive(None)
                if message is None or message.name == "goaway":
                    continue
                if message.name == "error":
                    raise Error(message.fields["text"])
                if message.name == "producer":
                    self._take_tray(message.fields)
                if message.name == "work":
                    self._work(message.fields)
                    self._left -= len(message.fields["samples"])
            self._settle()
            self._connection.request("detach", "ok")
            return True
        except Disconnected:
            return False
        finally:
            self.close()

    def close(self) -> None:
        """Also from another thread: run() returns, or raises OSError."""
        self._connection.close()

    def _take_tray(self, told: Any) -> None:
        """Of PRODUCER: the first, and each larger one that comes in its place."""
        if told.get("fd", -1) < 0:
            raise ProtocolError("no descriptor of a tray came")
        self._tray = mmap.mmap(told["fd"], told["bytes"])
        os.close(told["fd"])

    def _picture(self, sample: List[int]) -> Optional[np.ndarray[Any, Any]]:
        """What a Map's function gets, in the tray; None: it is a source. ``sample``: as in WORK:
        index, epoch, position, and where its picture is."""
        if len(sample) == 3:
            return None
        offset, height, width = sample[3:]
        return np.frombuffer(self._tray, np.uint8, height * width * 3, offset).reshape(
            height, width, 3)

    def _work(self, work: Any) -> None:
        raise NotImplementedError

    def _settle(self) -> None:
        """All that was begun is told."""


class Producer(Attached):
    """Makes the samples itself. ``more``: of Attached."""

    def __init__(self, socket: str, code: str, secret: bytes, name: str, maker: Maker,
                 line: Optional[Line] = None, **more: int) -> None:
        super().__init__(socket, code, secret, name, **more)
        self._maker, self._line = maker, line
        self._limit_s = self._deadline_s * _FIRST

    def _work(self, work: Any) -> None:
        group = Group(self._connection, self._tray, work)
        self._maker.ahead(work["samples"])
        for place, sample in enumerate(work["samples"]):
            try:
                parts = self._make(sample, work["seed"])
            except Exception as error:
                group.fail(place, words_of(error))
                continue
            group.put(place, parts, self._maker.sizes)
        group.tell()

    def _make(self, sample: List[int], seed: int) -> List[Any]:
        if self._line is not None:
            self._line.begin(self._limit_s)
        try:
            return self._maker.make(sample, seed, self._picture(sample))
        finally:
            if self._line is not None:
                self._line.end()
            self._limit_s = self._deadline_s


def words_of(error: Exception) -> str:
    """What was raised, and the places in the code that it came through, the innermost first."""
    text = f"{type(error).__name__}: {error}"[:_TEXT_MAX // 8]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if os.path.dirname(frame.filename) != os.path.dirname(__file__)]
    for frame in reversed(frames):
        more = f"; {os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}"
        if len(text) + len(more) > _TEXT_MAX // 4:
            break
        text += more
    return text.encode("utf-8", "replace").decode()
