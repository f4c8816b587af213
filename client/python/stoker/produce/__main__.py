# SPDX-License-Identifier: MIT
"""The template of producers: imports and unpickles the user's object once, then forks.

It is executed, not forked, so it has one thread when it forks, and what the object holds is in
memory once. The trainer holds the other end of its socket: when that closes, the template kills its
producers and ends. It starts producers again that died, kills those whose sample takes longer than
the daemon's deadline, with their Python stack in stderr, and tells the trainer when five in a row
died without having made a sample.
"""
from __future__ import annotations

import ctypes
import faulthandler
import os
import pickle
import select
import signal
import socket
import sys
import time
import traceback
from typing import Any, Dict, List, Optional

from ._board import Board

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
               "NUMEXPR_NUM_THREADS")
_PAUSE_S, _PAUSE_MOST_S = 0.1, 10.0  # before a dead producer is started again; doubled each time
_DEATHS = 5  # in a row, without a sample made
_STACK_S = 0.2  # that a hung producer has to write its stack
_NO_DAEMON = 75  # exit status: EX_TEMPFAIL


def _receive(control: socket.socket) -> Any:
    """A message of the trainer: 8 bytes of length, then a pickle. EOFError at its end."""
    def exactly(size: int) -> bytearray:
        data = bytearray()
        while len(data) < size:
            part = control.recv(min(size - len(data), 1 << 20))
            if not part:
                raise EOFError
            data += part
        return data
    return pickle.loads(exactly(int.from_bytes(exactly(8), "little")))


def _compute_alone() -> None:
    """One thread each for what has threads of its own: there are as many producers as cores."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    cv2 = sys.modules.get("cv2")
    if cv2 is not None:
        cv2.setNumThreads(0)


class _Template:
    def __init__(self, control: socket.socket, job: Dict[str, Any]) -> None:
        from .producer import code_of
        from .seeds import Seeds
        self._control, self._job = control, job
        self._thing = pickle.loads(job["object"])
        self._seeds = Seeds(self._thing)
        self._call = code_of(self._thing)
        self._board = Board(job["count"])
        self._pids: List[int] = [0] * job["count"]
        self._due = [0.0] * job["count"]
        self._pause = _PAUSE_S
        self._deaths = self._made = 0

    def run(self) -> None:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        try:
            while True:
                self._start()
                if poll.poll(100) and not self._control.recv(1):
                    return
                self._reap()
                self._kill_hung()
        finally:
            for pid in self._pids:
                if pid:
                    os.kill(pid, signal.SIGKILL)

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
        from .producer import Producer
        job = self._job
        try:
            producer = Producer(job["socket"], job["code"], job["secret"], job["name"], self._call,
                                self._seeds, job["record"], self._board.line(number))
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


def _begin(fd: int) -> Optional[_Template]:
    """None: the object cannot be made here, and the trainer knows."""
    control = socket.socket(fileno=fd)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the trainer ends us
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        job = _receive(control)
        sys.path[:] = job["path"]
        os.chdir(job["folder"])
        return _Template(control, job)
    except EOFError:
        return None
    except BaseException:
        traceback.print_exc()
        control.send(b"i")
        return None


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("python -m stoker.produce is started by a loader of a stoker.Source")
    for name in _ONE_THREAD:
        os.environ.setdefault(name, "1")
    template = _begin(int(sys.argv[1]))
    if template is not None:
        template.run()
