# SPDX-License-Identifier: MIT
"""One connection to the daemon: sends, receives, maps rings, and releases leases.

One thread at a time uses it, except for release() and retire(): any thread may call these at any
time, also the garbage collector in the middle of another call. They never wait and never raise.
"""
from __future__ import annotations

import os
import select
import socket
import sys
import threading
import time
import weakref
from collections import deque
from typing import Any, Deque, Dict, List, Optional, Tuple

from . import _ring, _wire
from .errors import Disconnected, Error, ForkError, ProtocolError, from_message

REPLY_S = 30.0  # for a reply that needs no work, and for the rest of a frame
_CHUNK = 65536
_FDS = 8
_CONTROL = socket.CMSG_SPACE(_FDS * 4)

_open: weakref.WeakSet[Connection] = weakref.WeakSet()


class Connection:
    """A connected socket whose peer is trusted to be the daemon.

    ``held``: the leases that the application holds, each with its number (the first is 1) and
    whether it was taken as a Batch. ``lost``: the daemon closed the connection, or an answer was
    given up.
    """

    def __init__(self, sock: socket.socket, uid: int) -> None:
        self.uid = uid
        self.held: Dict[int, Tuple[int, bool]] = {}
        self._granted = self._marked = 0
        self._sock = sock
        self._reader = _wire.FrameReader()
        self._inbox: Deque[_wire.Received] = deque()
        self._fds: List[int] = []
        self._seq = 0
        self._partial_until = 0.0
        self._out = bytearray()
        self._releases: Deque[int] = deque()
        self._lock = threading.Lock()  # for _out, and for sending on the socket
        self._mute = False  # sending failed; what the daemon sent can still be read
        self._retired = False
        self._paused = False
        self._forked = False
        self._closed = False
        self.lost = False
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
        if self._closed or self._retired:
            raise Disconnected("the connection to stokerd is closed")

    def request(self, name: str, reply: str, /, **fields: Any) -> Dict[str, Any]:
        """request_within() REPLY_S."""
        return self.request_within(REPLY_S, name, reply, **fields)

    def request_within(self, timeout: Optional[float], name: str, reply: str, /,
                       **fields: Any) -> Dict[str, Any]:
        """Send a request and wait for its reply; other messages are kept for receive().

        Raises the daemon's error, TimeoutError, Disconnected or ProtocolError. After a time-out or
        an interrupt the connection is lost, because the reply may still come.
        """
        self.check()
        self._seq += 1
        self.send(name, seq=self._seq, **fields)
        message = None
        try:
            message = self._reply(None if timeout is None else time.monotonic() + timeout)
        finally:
            if message is None and not self._closed:
                self._give_up()
        if message is None:
            raise TimeoutError(f"stokerd did not answer {name} within {timeout:g} s")
        if message.name == "error":
            raise from_message(message.fields)
        if message.name != reply:
            raise self.broken(f"{message.name} as the answer to {name}")
        return message.fields

    def _reply(self, deadline: Optional[float]) -> Optional[_wire.Received]:
        while True:
            message = self._next(deadline)
            if message is None:
                return None
            if message.fields.get("seq") != self._seq:
                self._inbox.append(message)
            elif message.name != "progress":
                return message

    def _give_up(self) -> None:
        """No more requests; leases that the application holds stay valid."""
        self.lost = self._paused = True  # send no CREDIT: we may not be attached
        if self.held:
            self.retire()
        else:
            self.close()

    def receive(self, timeout: Optional[float]) -> Optional[_wire.Received]:
        """The next message in order; None after ``timeout`` seconds (None: wait for ever)."""
        self.check()
        if self._inbox:
            return self._inbox.popleft()
        return self._next(None if timeout is None else time.monotonic() + timeout)

    def unread(self, message: _wire.Received) -> None:
        """Put a message back: receive() gives it again first."""
        self._inbox.appendleft(message)

    def forget(self) -> None:
        """Drop messages that were not received yet, and release their batches. Also after DETACH:
        leases outlive the reader (PROTOCOL.md, section 11), until RELEASE or disconnect."""
        while self._inbox:
            message = self._inbox.popleft()
            if message.name == "batch":
                self.release(message.fields["lease"])

    def send(self, name: str, /, **fields: Any) -> None:
        """Queue a message and send what the socket takes; the rest is sent while waiting."""
        frame = _wire.encode(name, **fields)
        with self._lock:
            self._gather()
            self._out += frame
        self._flush()

    def grant(self, lease: int, explicit: bool) -> None:
        """The application holds this lease now; ``explicit``: as a Batch."""
        self._granted += 1
        self.held[lease] = self._granted, explicit

    def mark(self) -> None:
        """A new reader begins here: leases that are held belong to earlier ones."""
        self._marked = self._granted

    def held_state(self) -> Tuple[int, int, int]:
        """The number of leases of this reader that the application holds, how many batches ago the
        oldest of them came, and the number of leases of earlier readers."""
        counts = [count for count, _ in self.held.copy().values()]
        ours = [count for count in counts if count > self._marked]
        return len(ours), self._granted - min(ours, default=self._granted), len(counts) - len(ours)

    def forgotten(self) -> int:
        """How many Batches the application holds."""
        return sum(explicit for _, explicit in self.held.copy().values())

    def release(self, lease: int) -> None:
        """Release a lease, once. Any thread, also from a finalizer."""
        # In this order: when `held` is empty, all releases are queued.
        self._releases.append(lease)
        self.held.pop(lease, None)
        self._flush()

    def retire(self) -> None:
        """No more batches; close when the application holds no lease. Threads as for release()."""
        self._retired = True
        self._flush()

    def close(self) -> None:
        """Close the socket: the daemon frees everything. May be called twice."""
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
        # Without the lock, leave the work to its holder, which looks again before it returns.
        while (self._releases or self._out or self._retired) and self._lock.acquire(False):
            try:
                self._gather()
                done = self._push()
            finally:
                self._lock.release()
            if not done or not self._releases:
                return

    def _gather(self) -> None:
        while self._releases:
            self._out += _wire.encode("release", lease=self._releases.popleft())
        if self._retired and not self._paused:
            self._paused = True
            self._out += _wire.encode("credit", inflight=0)

    def _push(self) -> bool:
        """Send what can be sent now; True if that was all. The lock is held."""
        if self._closed or self._forked:
            self._out.clear()
            return True
        if self._mute:
            self._out.clear()
        try:
            while self._out:
                sent = self._sock.send(self._out, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
                del self._out[:sent]
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            self._mute = True  # reading says why
        if self._retired and not self.held:
            self.close()
        return True

    def _next(self, deadline: Optional[float]) -> Optional[_wire.Received]:
        try:
            while True:
                frame = self._reader.next()
                if frame is not None:
                    self._partial_until = 0.0
                    return self._with_ring(_wire.decode(frame))
                if not self._step(deadline):
                    return None
        except ProtocolError as error:
            raise self.broken(str(error)) from error

    def _with_ring(self, message: _wire.Received) -> _wire.Received:
        """Map the ring that ATTACHED or RING announces, as field ``memory``. A descriptor comes
        with the first byte of its message, so descriptors are in the order of messages."""
        if message.name in ("attached", "ring"):
            by_fd = message.fields["transport"] == "fd" and self._fds
            try:
                message.fields["memory"] = _ring.open_ring(
                    message.fields, self._fds.pop(0) if by_fd else None, self.uid)
            except (OSError, ValueError) as error:
                raise ProtocolError(str(error)) from error
        if self._fds and not self._reader.partial:
            raise ProtocolError("unexpected descriptors")
        return message

    def _step(self, deadline: Optional[float]) -> bool:
        """Read once, waiting until the deadline; False if nothing came until then."""
        self._flush()
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
            self._wait(until, now)
        return True

    def _wait(self, until: Optional[float], now: float) -> None:
        poll = select.poll()
        poll.register(self._sock, select.POLLIN | (select.POLLOUT if self._out else 0))
        poll.poll(None if until is None else max(1.0, (until - now) * 1000))
        self._flush()

    def _read(self) -> bool:
        try:
            data, control, _, _ = self._sock.recvmsg(
                _CHUNK, _CONTROL, socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            raise self._lost(f": {error.strerror}") from error
        for level, kind, payload in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self._keep_fds(payload)
        if not data:
            raise self._lost("")
        self._reader.feed(data)
        return True

    def _keep_fds(self, payload: bytes) -> None:
        count = len(payload) // 4
        self._fds += [int.from_bytes(payload[i * 4:i * 4 + 4], sys.byteorder)
                      for i in range(count)]
        if len(self._fds) > _FDS:
            raise ProtocolError("unexpected descriptors")

    def _lost(self, why: str) -> Error:
        self.close()
        for message in self._inbox:
            if message.name == "error":  # why the daemon closed the connection
                return from_message(message.fields)
        self.lost = True
        return Disconnected(f"stokerd closed the connection{why}")


def _after_fork() -> None:
    for connection in list(_open):
        connection._forked = True
        connection._sock.close()  # else the daemon would not notice that the parent ended


os.register_at_fork(after_in_child=_after_fork)
