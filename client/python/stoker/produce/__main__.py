# SPDX-License-Identifier: MIT
"""The template of producers: imports and unpickles the user's object once, then forks.

It is executed, not forked, so it has one thread when it forks, and what the object holds is in
memory once. The trainer holds the other end of its socket: when that closes, the template kills its
producers and ends. It starts producers again that died, kills those whose sample takes longer than
the daemon's deadline, with their Python stack in stderr, and tells the trainer when five in a row
died without having made a sample.
"""
from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import os
import select
import signal
import socket
import sys
import time
import traceback
from typing import Any, Dict, List, Set

from . import shipping
from ._board import Board

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
               "NUMEXPR_NUM_THREADS")
_PAUSE_S, _PAUSE_MOST_S = 0.1, 10.0  # before a dead producer is started again; doubled each time
_DEATHS = 5  # in a row, without a sample made
_STACK_S = 0.2  # that a hung producer has to write its stack
_NO_DAEMON = 75  # exit status: EX_TEMPFAIL


def _children() -> Set[int]:
    """Of this process, which has one thread."""
    pid = os.getpid()
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return set(map(int, file.read().split()))


def _compute_alone() -> None:
    """One thread each for what has threads of its own: there are as many producers as cores."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    cv2 = sys.modules.get("cv2")
    if cv2 is not None:
        cv2.setNumThreads(0)


class _Template:
    """``control``: to the trainer, which sends a job and its object, and later others."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._pids: List[int] = []
        self._own: Set[int] = set()  # processes that the object began when it was unpickled
        self._pid = os.getpid()

    def take(self) -> None:
        """A job in the place of that before. Raises EOFError if the trainer has ended, and what the
        object raises."""
        from .producer import code_of
        from .seeds import Seeds
        job, fd = shipping.receive(self._control)
        self._end()
        self._thing = self._call = self._seeds = None  # two of it may be too large
        gc.unfreeze()
        gc.collect()
        sys.path[:] = job["path"]
        os.chdir(job["folder"])
        try:
            self._thing, self._record = shipping.unpack(fd)
        finally:
            os.close(fd)
        self._job: Dict[str, Any] = job
        self._seeds, self._call = Seeds(self._thing), code_of(self._thing)
        self._board = Board(job["count"])
        self._pids = [0] * job["count"]
        self._due = [0.0] * job["count"]
        self._pause = _PAUSE_S
        self._deaths = self._made = 0
        self._own = _children()
        gc.freeze()  # a collection in each producer would copy the pages of all objects

    def run(self) -> None:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        try:
            self.take()
            while True:
                self._start()
                if poll.poll(100):
                    self.take()
                self._reap()
                self._kill_hung()
        except EOFError:
            return
        finally:
            self._end()

    def _end(self) -> None:
        """Kill the producers, and wait for them: an object is in memory once."""
        for pid in filter(None, self._pids):
            os.kill(pid, signal.SIGKILL)
        for pid in filter(None, self._pids):
            os.waitpid(pid, 0)
        self._pids = []
        self._kill_orphans()

    def _kill_orphans(self) -> None:
        """What the user's code began in producers that are gone, and their children in turn."""
        orphans = True
        while orphans:
            orphans = _children() - self._own - set(self._pids)
            for pid in orphans:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def _start(self) -> None:
        now = time.monotonic()
        for number, pid in enumerate(self._pids):
            if not pid and now >= self._due[number]:
                self._pids[number] = self._fork(number)

    def _fork(self, number: int) -> int:
        self._board.clear(number)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if not pid:
            self._child(number)
        return pid

    def _child(self, number: int) -> None:
        status = 1
        try:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != self._pid:  # it ended before it could be told to kill us
                return
            self._control.close()
            faulthandler.register(signal.SIGUSR1, all_threads=True)
            _compute_alone()
            status = self._produce(number)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _produce(self, number: int) -> int:
        from ..errors import DaemonUnavailable, Disconnected
        from .producer import Producer, say_place
        job = self._job
        say_place(number, job["count"])
        try:
            producer = Producer(job["socket"], job["code"], job["secret"], job["name"], self._call,
                                self._seeds, self._record, self._board.line(number))
        except (DaemonUnavailable, Disconnected):
            return _NO_DAEMON
        producer.run()
        return _NO_DAEMON

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid in self._pids:  # else one that the user's code left behind
                self._lost(self._pids.index(pid), os.waitstatus_to_exitcode(status))
                self._kill_orphans()

    def _lost(self, number: int, status: int) -> None:
        self._pids[number] = 0
        made = self._board.made()
        if made > self._made:
            self._deaths, self._pause = 0, _PAUSE_S
        self._made = made
        self._due[number] = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, _PAUSE_MOST_S)
        if status == _NO_DAEMON:
            return
        self._deaths += 1
        self._say(f"a producer of {self._job['name']} " + (
            f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"))
        if self._deaths == _DEATHS:
            self._tell()

    def _say(self, text: str) -> None:
        print(f"stoker: {text}", file=sys.stderr, flush=True)

    def _tell(self) -> None:
        try:
            self._control.send(b"d", socket.MSG_DONTWAIT)
        except OSError:  # the trainer ends
            pass

    def _kill_hung(self) -> None:
        now = time.monotonic()
        for number, pid in enumerate(self._pids):
            if pid and self._board.is_late(number, now):
                self._say(f"a producer of {self._job['name']} has taken longer than the deadline "
                          "for a sample, and is killed; it is here:")
                os.kill(pid, signal.SIGUSR1)
                time.sleep(_STACK_S)
                os.kill(pid, signal.SIGKILL)


def _serve(fd: int) -> int:
    control = socket.socket(fileno=fd)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the trainer ends us
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        _Template(control).run()
        return 0
    except BaseException:
        traceback.print_exc()
        with contextlib.suppress(OSError):
            control.send(b"i")
        return 1


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "--control":
        sys.exit("python -m stoker.produce is started by a loader of a stoker.Source")
    for name in _ONE_THREAD:
        os.environ.setdefault(name, "1")
    status = _serve(int(sys.argv[2]))
    sys.stderr.flush()
    os._exit(status)  # what was imported has nothing to tidy up, and the trainer waits
