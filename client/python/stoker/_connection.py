# SPDX-License-Identifier: MIT
"""One connection to the daemon: sends, receives, maps rings, and releases leases.

One thread at a time uses it, except for release(): any thread may call it at any time, also the
garbage collector in the middle of another call. It never waits and never raises.
"""
from __future__ import annotations

import array
import logging
import os
import select
import socket
import sys
import threading
import time
import weakref
from collections import deque
from typing import (TYPE_CHECKING, Any, Deque, Dict, List, NamedTuple, Optional, Sequence,
                    Tuple)

from . import _ring, _wire
from .errors import Disconnected, Error, ForkError, ProtocolError, from_message, stopping

if TYPE_CHECKING:
    from .batch import Lease

REPLY_S = 30.0  # for a reply that needs no work, and for the rest of a frame
_ASK_S = 2.0  # of silence, after which the daemon is asked for a sign of life by PING
_SAY_S = 5.0  # of silence, after which the user is told
_FAIR_S = 2.5  # least time for the answer to PING: this process itself may have been stopped
_PROGRESS_S = 10.0  # between two lines on a long request
_CHUNK = 65536
_FDS = 8
_ENDING_MAX = 19  # errors up to this code end the connection
_CONTROL = socket.CMSG_SPACE(_FDS * 4)
_SEND = int(socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)  # as numbers: enums are slow to combine
_RECEIVE = int(socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC)

_log = logging.getLogger("stoker")
_open: weakref.WeakSet[Connection] = weakref.WeakSet()


class _Held(NamedTuple):
    """A lease that the application holds: of which batch, and whether it has that as a Batch."""

    number: int
    explicit: bool
    lease: weakref.ref[Lease]


class _Pulse:
    """Finds when to ask a silent daemon for a sign of life, and when to say that none has come."""

    def __init__(self) -> None:
        self.greeted = False  # the daemon has answered: PING is allowed
        self.ping = 0  # seq of the PING that has no answer yet; 0: there is none
        self._asked = 0.0  # when the last PING was sent
        self._silent = 0.0  # since when nothing has come, within this wait
        self._said = False  # the user was told, in this wait

    def begin(self) -> None:
        self._silent, self._said = time.monotonic(), False

    def asks_now(self, now: float) -> bool:
        """Is it time for a PING, which will have the number ``ping``?"""
        if not self.greeted or self.ping or now < self._silent + _ASK_S:
            return False
        self._asked = now
        return True

    def says_now(self, now: float) -> bool:
        """Is it time to say that no sign of life has come? True once in a wait."""
        if self._said or now < self._say_due():
            return False
        self._said = True
        return True

    def due(self) -> Optional[float]:
        """When asks_now() or says_now() will be true next; None: not in this wait."""
        if self._said:
            return None
        return self._silent + _ASK_S if self.greeted and not self.ping else self._say_due()

    def _say_due(self) -> float:
        return max(self._silent + _SAY_S, self._asked + _FAIR_S if self.greeted else 0.0)


class _Progress:
    """Progress of a long request: logs how far it is, and the time left."""

    def __init__(self, path: str) -> None:
        self._path, self._what, self._first = path, "", 0
        self._begun = self._said = 0.0

    def note(self, fields: Dict[str, Any]) -> None:
        now, what, done = time.monotonic(), fields["what"], fields["done"]
        if what != self._what:
            self._what, self._first, self._begun, self._said = what, done, now, now
        left = fields.get("total", 0) - done
        if now - self._said > _PROGRESS_S and done > self._first and left > 0:
            self._said = now
            _log.warning("stokerd at %s: %s, %d of %d, about %.1f min left", self._path, what, done,
                         done + left, (now - self._begun) * left / (done - self._first) / 60)


class Connection:
    """A connected socket whose peer is trusted to be the daemon.

    ``held``: what the application holds, by lease. ``kept``: leases that it holds on to, though the
    daemon has got their slots back. ``lost``: the daemon closed the connection, or an answer was
    given up.
    """

    def __init__(self, sock: socket.socket, uid: int, path: str) -> None:
        self.uid = uid
        self._path = path
        self.daemon = ""  # name and version that it gave
        self.images = "image"  # a field of its rings: the images, or those of the first of Crops
        self.takes_fds = False  # it takes descriptors of a dataset
        self.takes_credentials = False
        self.resizes = False  # it knows the field resize of ATTACH
        self.takes_like = False  # it knows the field like of ATTACH, the number of a stream
        self.held: Dict[int, _Held] = {}
        self.kept: weakref.WeakSet[Lease] = weakref.WeakSet()
        self._passed = 0
        self._sock = sock
        self._reader = _wire.FrameReader()
        self._room = memoryview(bytearray(_CHUNK))
        self._full = False  # the last read may have left something on the socket
        self._inbox: Deque[_wire.Received] = deque()
        self._fds: List[int] = []
        self._seq = 0
        self._pulse = _Pulse()
        self._partial_until = 0.0
        self._out = bytearray()
        self._out_fds: List[Tuple[int, Sequence[int]]] = []  # each with its place in _out
        self._releases: Deque[int] = deque()
        self._lock = threading.Lock()  # for _out, and for sending on the socket
        self._mute = False  # sending failed; what the daemon sent can still be read
        self._forked = False
        self._closed = False
        self.lost = False
        self.last_lease = 0  # the newest that was announced and taken
        _open.add(self)

    @property
    def closed(self) -> bool:
        return self._closed

    def check_process(self) -> None:
        """Raise in a process that was forked after the connection was made."""
        if self._forked:
            raise ForkError("this loader was made before fork() and belongs to the parent process: "
                            "connect and make a loader in this process")

    def check(self) -> None:
        """Raise unless this process may use the connection."""
        self.check_process()
        if self._closed:
            raise Disconnected("the connection to stokerd is closed: make another with "
                               "stoker.connect()")

    def request(self, name: str, reply: str, /, **fields: Any) -> Dict[str, Any]:
        """Send a request and wait for its reply, REPLY_S at most: see request_within()."""
        return self.request_within(REPLY_S, name, reply, **fields)

    def request_within(self, timeout: Optional[float], name: str, reply: str, /,
                       fds: Sequence[int] = (), **fields: Any) -> Dict[str, Any]:
        """Send a request and wait for its reply; other messages are kept for receive(). ``fds`` go
        with it and stay the caller's, open until the reply.

        Raises the daemon's error, TimeoutError, Disconnected or ProtocolError. After a time-out or
        an interrupt the connection is lost, because the reply may still come.
        """
        self.check()
        self._seq += 1
        seq = self._seq
        self.send(name, fds, seq=seq, **fields)
        message = None
        try:
            message = self._reply(seq, None if timeout is None else time.monotonic() + timeout)
        finally:
            if message is None and not self._closed:
                self._give_up()
        if message is None:
            raise TimeoutError(f"stokerd did not answer {name} within {timeout:g} s: "
                               "see its log, or `stokerctl doctor`")
        if message.name == "error":
            raise from_message(message.fields)
        if message.name != reply:
            raise self.broken(f"{message.name} as the answer to {name}")
        self._pulse.greeted = True
        return message.fields

    def _reply(self, seq: int, deadline: Optional[float]) -> Optional[_wire.Received]:
        progress = _Progress(self._path)
        while True:
            message = self._next(deadline)
            if message is None:
                return None
            if message.fields.get("seq") != seq:
                self._inbox.append(message)
            elif message.name != "progress":
                return message
            else:
                progress.note(message.fields)

    def _give_up(self) -> None:
        self.lost = True
        self.close()

    def receive(self, timeout: Optional[float]) -> Optional[_wire.Received]:
        """The next message in order; None after ``timeout`` seconds (None: wait for ever). If the
        daemon has ended the connection, raises its error at once and gives none of the batches that
        came before it: their slots may be in use again."""
        self.check()
        self._collect()
        if self._inbox:
            return self._inbox.popleft()
        return self._next(None if timeout is None else time.monotonic() + timeout)

    def _collect(self) -> None:
        """Move what has come into the inbox. Raises an error that ends the connection."""
        more = self._full = True  # what was read before says nothing of what has come since
        while more:
            message = self._next(0.0)
            if message is None:
                return
            # A read that did not fill its buffer has emptied the socket: that is enough.
            more = self._reader.partial or self._full
            self._inbox.append(message)
            if message.name == "error" and message.fields["code"] <= _ENDING_MAX:
                self.close()
                raise from_message(message.fields)

    def unread(self, message: _wire.Received) -> None:
        """Put a message back: receive() will give it next."""
        self._inbox.appendleft(message)

    def announced(self) -> List[Dict[str, Any]]:
        """Fields of the batches that have come and were not received yet, up to a change of the
        ring: the same objects that receive() will give."""
        found = []
        for name, fields in self._inbox:
            if name == "ring":
                break
            if name == "batch":
                found.append(fields)
        return found

    def forget(self) -> None:
        """Drop messages that were not received yet, and release their batches. Needed after DETACH,
        too: a lease lasts until RELEASE or disconnect (PROTOCOL.md, section 11)."""
        while self._inbox:
            message = self._inbox.popleft()
            if message.name == "batch":
                self.release(message.fields["lease"])

    def send(self, name: str, fds: Sequence[int] = (), /, **fields: Any) -> None:
        """Queue a message and send what the socket takes; the rest is sent while waiting."""
        frame = _wire.encode(name, **fields)
        with self._lock:
            self._gather()
            if fds:
                self._out_fds.append((len(self._out), fds))
            self._out += frame
        self._flush()

    def count(self) -> None:
        """Count a batch that the application gets, or the error of a bad one: both had slots."""
        self._passed += 1

    def grant(self, number: int, explicit: bool, lease: Lease) -> None:
        """Record a lease of the batch counted last; ``explicit``: it was taken as a Batch."""
        self.held[number] = _Held(self._passed, explicit, weakref.ref(lease))

    def keep(self, newest: int = 0) -> None:
        """Give the slots of held batches back, except for the ``newest`` ones; the application
        keeps its arrays. Raises MemoryError."""
        for held in list(self.held.values()):
            lease = held.lease() if held.number <= self._passed - newest else None
            if lease is not None:
                lease.keep()

    def unreleased(self) -> int:
        """Number of Batches that the application has not released."""
        return sum(held.explicit for held in list(self.held.values()))

    def release(self, lease: int) -> None:
        """Release a lease, once. Any thread, also from a finalizer."""
        self._releases.append(lease)
        self.held.pop(lease, None)
        self._flush()

    def close(self) -> None:
        """Close the socket: the daemon frees everything, and the application keeps the arrays that
        it holds. May be called twice. Raises MemoryError if they cannot be kept."""
        try:
            if not self._forked:
                self.keep()
        finally:
            self._close()

    def _close(self) -> None:
        self._closed = True
        try:
            self._sock.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits for it
        except OSError:
            pass
        self._sock.close()
        for fd in self._fds:
            os.close(fd)
        self._fds = []

    def broken(self, what: str) -> ProtocolError:
        """Close because the daemon violated the protocol; returns the exception to raise."""
        self.close()
        return ProtocolError(f"stokerd violated the protocol: {what}")

    def _flush(self) -> None:
        """Send what the socket takes. A thread that has the lock does that for others, too."""
        while (self._releases or self._out) and self._lock.acquire(False):
            try:
                self._gather()
                done = self._push()
            finally:
                self._lock.release()
            if not done or not self._releases:
                return

    def _gather(self) -> None:
        """Queue RELEASE for all leases that were released. The lock is held."""
        while self._releases:
            self._out += _wire.release(self._releases.popleft())

    def _push(self) -> bool:
        """Send what can be sent now; True if that was all. The lock is held."""
        if self._closed or self._forked:
            self._out.clear()
            self._out_fds.clear()
            return True
        if self._mute:
            self._out.clear()
            self._out_fds.clear()
        try:
            while self._out:
                sent = self._push_some()
                del self._out[:sent]
                if self._out_fds:
                    self._out_fds = [(at - sent, fds) for at, fds in self._out_fds if at >= sent]
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            self._mute = True  # reading says why
        return True

    def _push_some(self) -> int:
        """Send up to the next descriptors, or with them. Returns how many bytes were sent."""
        if not self._out_fds:
            return self._sock.send(self._out, _SEND)
        at, fds = self._out_fds[0]
        if at:
            return self._sock.send(self._out[:at], _SEND)
        end = self._out_fds[1][0] if len(self._out_fds) > 1 else len(self._out)
        return self._sock.sendmsg([self._out[:end]], [
            (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))], _SEND)

    def _next(self, deadline: Optional[float]) -> Optional[_wire.Received]:
        try:
            while True:
                frame = self._reader.next()
                if frame is not None:
                    self._partial_until = 0.0
                    message = _wire.decode(frame)
                    if not self._take_pong(message):
                        return self._complete(message)
                elif not self._step(deadline):
                    return None
        except ProtocolError as error:
            raise self.broken(str(error)) from error

    def _complete(self, message: _wire.Received) -> _wire.Received:
        """Add the mapped ring to ATTACHED and RING, as field ``memory``, a size to runs of BATCH,
        and its descriptor to PRODUCER. A descriptor comes with the first byte of its message, so
        descriptors are in the order of messages."""
        if message.name in ("attached", "ring"):
            by_fd = message.fields["transport"] == "fd" and self._fds
            try:
                message.fields["memory"] = _ring.open_ring(
                    message.fields, self._fds.pop(0) if by_fd else None, self.uid, self.images)
            except FileNotFoundError as error:  # a daemon that ends, or its successor, removes it
                raise self._lost(f": its ring is gone ({error.filename})") from error
            except (OSError, ValueError) as error:
                raise ProtocolError(str(error)) from error
        if message.name == "batch" and message.fields["height"]:
            fields = message.fields
            fields["runs"] = _ring.Sized(fields["runs"], (fields["height"], fields["width"]),
                                         fields["origin"])
        if message.name == "producer" and self._fds:
            message.fields["fd"] = self._fds.pop(0)
        if self._fds and not self._reader.partial:
            raise ProtocolError("unexpected descriptors")
        return message

    def _take_pong(self, message: _wire.Received) -> bool:
        """Take the answer to a PING of _tend(), for which no caller waits; False: it is none."""
        if not self._pulse.ping or message.name != "ok" or \
                message.fields["seq"] != self._pulse.ping:
            return False
        self._pulse.ping = 0
        return True

    def _tend(self, now: float) -> None:
        """Ask a daemon that is silent for a sign of life, or say that none has come."""
        if self._pulse.asks_now(now):
            self._seq += 1
            self._pulse.ping = self._seq
            self.send("ping", seq=self._seq)
        elif self._pulse.says_now(now):
            _log.warning("stokerd at %s has not answered for %d s: is it stopped, or is the "
                         "machine busy? Waiting on", self._path, _SAY_S)

    def _step(self, deadline: Optional[float]) -> bool:
        """Read once, waiting until the deadline; False if nothing came until then."""
        self._flush()
        self._pulse.begin()
        while not self._read():
            now = time.monotonic()
            until = deadline
            if self._reader.partial:
                self._partial_until = self._partial_until or now + REPLY_S
                if now >= self._partial_until:
                    raise ProtocolError("the rest of a frame did not come")
                until = min(self._partial_until, until or self._partial_until)
            if deadline is not None and now >= deadline:
                return False
            self._tend(now)
            due = self._pulse.due()
            self._wait(until if due is None else due if until is None else min(due, until), now)
        return True

    def _wait(self, until: Optional[float], now: float) -> None:
        poll = select.poll()
        poll.register(self._sock, select.POLLIN | (select.POLLOUT if self._out else 0))
        poll.poll(None if until is None else max(1.0, (until - now) * 1000))
        self._flush()

    def _read(self) -> bool:
        try:
            size, control, _, _ = self._sock.recvmsg_into([self._room], _CONTROL, _RECEIVE)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            raise self._lost(f": {error.strerror}") from error
        for level, kind, payload in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self._keep_fds(payload)
        if not size:
            raise self._lost("")
        self._reader.feed(self._room[:size])
        self._full = size == _CHUNK or bool(control)
        return True

    def _keep_fds(self, payload: bytes) -> None:
        count = len(payload) // 4
        self._fds += [int.from_bytes(payload[i * 4:i * 4 + 4], sys.byteorder)
                      for i in range(count)]
        if len(self._fds) > _FDS:
            raise ProtocolError("unexpected descriptors")

    def _lost(self, why: str) -> Error:
        """Close because the daemon did; returns the exception to raise."""
        self.close()
        for message in self._inbox:
            if message.name == "error":  # why the daemon closed the connection
                return from_message(message.fields)
        self.lost = True
        for message in self._inbox:
            if message.name == "goaway":
                return stopping(message.fields)
        return Disconnected(f"stokerd closed the connection{why}")


def _before_fork() -> None:
    """Copy what is held: the child would see what the daemon writes into the slots later."""
    for connection in list(_open):
        if not connection._forked:
            connection.keep()


def _after_fork() -> None:
    for connection in list(_open):
        connection._forked = True
        for lease in list(connection.kept):
            lease.forked()
        connection._sock.close()  # else the daemon would not notice that the parent ended


os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
