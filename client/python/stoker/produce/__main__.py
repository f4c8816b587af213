# SPDX-License-Identifier: MIT
"""The template of producers: imports and unpickles the user's object once, then forks.

    python -m stoker.produce MODULE:FACTORY -n 8

makes producers that belong to no trainer: of what the factory gives, a stoker.Source or a dataset,
until SIGTERM or Ctrl-C. Else a trainer starts it.

It is executed, not forked, so it has one thread when it forks, and what the object holds is in
memory once. The trainer holds the other end of its socket: when that closes, the template kills its
producers and ends. It starts producers again that died, kills those whose sample takes longer than
the daemon's deadline, with their Python stack in stderr, and tells the trainer when five in a row
died without having made a sample.
"""
from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import gc
import importlib
import os
import select
import signal
import socket
import sys
import time
import traceback
from typing import Any, Dict, List, Optional, Set

from . import shipping
from ._board import Board
from .seeds import seed_later

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT = 1 << 25  # bytes that were freed and that a producer keeps for the next sample
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
               "NUMEXPR_NUM_THREADS")
_PAUSE_S, _PAUSE_MOST_S = 0.1, 10.0  # before a dead producer is started again; doubled each time
_DEATHS = 5  # in a row, without a sample made
_SPARE_S = 60  # that a template which was forked waits for an object
_STACK_S = 0.2  # that a hung producer has to write its stack
_NO_DAEMON = 75  # exit status: EX_TEMPFAIL
_RECYCLED = 76  # likewise: it has made its number of samples
_HOPELESS = 77  # likewise: _DEATHS actors of a cluster ended in a row


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


def _keep_freed() -> None:
    """The next sample has its arrays where the last one had them: to give the memory back and to
    have it cleared again takes longer than many a sample."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # of glibc
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _KEPT // 2)
        mallopt(_M_TRIM_THRESHOLD, _KEPT)


class _Forked(BaseException):
    """This process is another template now. ``control``: its socket to the trainer."""

    def __init__(self, control: int) -> None:
        super().__init__()
        self.control = control


class _Template:
    """``control``: to the trainer, which sends a job and its object, and later others; None: it is
    given one, for good."""

    def __init__(self, control: Optional[socket.socket] = None) -> None:
        self._control = control
        self._thing: Any = None
        self._maker: Any = None
        self._pids: List[int] = []
        self._own: Set[int] = set()  # processes that the object began when it was unpickled
        self._packed = -1  # the object as it came, for a cluster
        self._pid = os.getpid()

    def take(self) -> None:
        """A job in the place of that before. Raises EOFError if the trainer has ended, and what the
        object raises."""
        assert self._control is not None
        job, fds = shipping.receive(self._control)
        if job is None:
            self._fork_template(*fds)
            return
        (fd,) = fds
        self._end()
        if self._thing is not None:
            self._thing = self._maker = None  # two of it may be too large
            gc.unfreeze()
            gc.collect()
        sys.path[:] = job["path"]
        os.chdir(job["folder"])
        if self._packed >= 0:
            os.close(self._packed)
        self._packed = fd
        thing, record = shipping.unpack(fd)
        self.give(job, thing, record)

    def _fork_template(self, control: int, out: int) -> None:
        """Another template, which has imported what this one has and has no object. Here it is as
        what the object began: it goes on when this one ends."""
        pid = os.fork()
        if not pid:
            assert self._control is not None
            self._control.close()
            self._pids = []
            if self._packed >= 0:
                os.close(self._packed)
            for stream in (1, 2):
                os.dup2(out, stream)
            os.close(out)
            raise _Forked(control)
        self._own.add(pid)
        os.close(control)
        os.close(out)

    def give(self, job: Dict[str, Any], thing: Any, record: Any) -> None:
        from .producer import Maker, code_of
        from .seeds import Seeds
        self._job, self._thing = job, thing
        self._maker = Maker(code_of(thing), Seeds(thing), record)
        processes = job["count"] + bool(job.get("cluster"))  # the last one has the cluster's actors
        self._board = Board(processes)
        self._pids = [0] * processes
        self._due = [0.0] * processes
        self._pause = _PAUSE_S
        self._deaths = self._made = 0
        self._own = _children()
        gc.freeze()  # a collection in each producer would copy the pages of all objects

    def run(self, wait_ms: Optional[int] = None) -> None:
        """``wait_ms``: for the first job; None: as long as it takes."""
        poll = select.poll()
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            if self._control is not None:
                poll.register(self._control, select.POLLIN)
                if not poll.poll(wait_ms):
                    return
                self.take()
            while True:
                self._start()
                if poll.poll(100):
                    self.take()
                self._reap()
                self._kill_hung()
        except (EOFError, ConnectionResetError):  # what it was told lies there unread
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
        while True:
            orphans = _children() - self._own - set(self._pids)
            for pid in orphans:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            if not orphans:
                return

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
            if self._control is not None:
                self._control.close()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the template ends us
            faulthandler.register(signal.SIGUSR1, all_threads=True)
            _compute_alone()
            _keep_freed()
            here = number < self._job["count"]
            status = self._produce(number) if here else self._forward(number)
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
        os.environ["STOKER_SOCKET"] = job["socket"]  # for code that asks a daemon
        say_place(number, job["count"])
        try:
            code = f"{job['code']} {number}" if job.get("apart") else job["code"]
            producer = Producer(job["socket"], code, job["secret"], job["name"], self._maker,
                                self._board.line(number), recycle=job["recycle"],
                                deadline_ms=job["deadline_ms"], check=job["check"])
        except (DaemonUnavailable, Disconnected):
            return _NO_DAEMON
        os.setpriority(os.PRIO_PROCESS, 0, max(producer.nice, os.getpriority(os.PRIO_PROCESS, 0)))
        return _RECYCLED if producer.run() else _NO_DAEMON

    def _forward(self, number: int) -> int:
        from .forward import Hopeless, forward
        try:
            forward(self._job, self._packed, self._board.line(number))
        except Hopeless as error:
            self._say(str(error))
        return _HOPELESS

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            self._own.discard(pid)
            if pid in self._pids:  # else one that the user's code left behind
                self._lost(self._pids.index(pid), os.waitstatus_to_exitcode(status))
                self._kill_orphans()

    def _lost(self, number: int, status: int) -> None:
        self._pids[number] = 0
        if status == _RECYCLED:
            return
        made = self._board.made()
        if made > self._made:
            self._deaths, self._pause = 0, _PAUSE_S
        self._made = made
        self._due[number] = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, _PAUSE_MOST_S)
        if status == _NO_DAEMON:
            return
        self._deaths += _DEATHS if status == _HOPELESS else 1
        self._say(f"a producer of {self._job['name']} " + (
            f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"))
        if self._deaths >= _DEATHS:
            self._deaths = 0
            self._tell()

    def _say(self, text: str) -> None:
        print(f"stoker: {text}", file=sys.stderr, flush=True)

    def _tell(self) -> None:
        if self._control is None:
            self._say(f"{_DEATHS} producers in a row died before they had made a sample")
            return
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the trainer ends us
    _prepare()
    return _run(socket.socket(fileno=fd))


def _run(control: socket.socket, wait_ms: Optional[int] = None) -> int:
    try:
        _Template(control).run(wait_ms)
        return 0
    except _Forked as forked:
        control = socket.socket(fileno=forked.control)
    except BaseException:
        traceback.print_exc()
        with contextlib.suppress(OSError):
            control.send(b"i")
        return 1
    with contextlib.suppress(OSError):  # the trainer may have given it up
        control.sendall(os.getpid().to_bytes(shipping.NUMBER, "little"))
    gc.unfreeze()  # the other template's object goes
    gc.collect()
    return _run(control, 1000 * _SPARE_S)


def _find(path: Optional[str]) -> str:
    """The daemon's socket, once it answers."""
    from .. import _address
    from ..errors import DaemonUnavailable
    said = False
    while path is None:
        try:
            path, connection = _address.find(None)
            connection.close()
        except DaemonUnavailable as error:
            if not said:
                print(f"stoker: waiting for the daemon: {error}", file=sys.stderr, flush=True)
            said = True
            time.sleep(_PAUSE_MOST_S / 10)
    return path


def _source(arguments: argparse.Namespace) -> Any:
    from .source import Source
    module, _, name = arguments.code.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split(".") if name else ():
        found = getattr(found, part)
    made = found() if callable(found) and not isinstance(found, Source) else found
    if isinstance(made, Source):
        return made
    return Source(made, arguments.samples, gives=arguments.gives, version=arguments.version)


def _arguments(given: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="stoker produce", description="Run a user's own code for all loaders of a "
        "stoker.Source of it, until SIGTERM or Ctrl-C. Loaders with external=True start no "
        "processes of their own. Both find the secret, which shows that they are of one user, in "
        "$STOKER_SECRET, else $XDG_RUNTIME_DIR/stoker-producers.secret: a file of mode 0600, which "
        "is made if it is not there.")
    parser.add_argument("code", metavar="MODULE:FACTORY",
                        help="a function that gives a stoker.Source or a dataset, or one of these")
    parser.add_argument("-n", "--num-workers", type=int, default=len(os.sched_getaffinity(0)),
                        metavar="N", help="processes; default: as many as processors")
    parser.add_argument("--socket", help="of the daemon; default: as stoker.connect() finds it")
    as_of = "as of stoker.Source, if a dataset is given"
    parser.add_argument("--samples", type=int, help=as_of)
    parser.add_argument("--gives", default="bytes", help=as_of)
    parser.add_argument("--version", help=as_of)
    out = parser.parse_args(given)
    if out.num_workers < 1:
        parser.error("-n must be at least 1")
    return out


def produce(given: List[str]) -> int:
    """`stoker produce`, until it is told to end."""
    from .source import secret
    arguments = _arguments(given)
    _prepare()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    sys.path.insert(0, os.getcwd())
    source = _source(arguments)
    template = _Template()
    template.give({"socket": _find(arguments.socket), "code": source.identity(),
                   "secret": secret(), "name": source.name, "count": arguments.num_workers,
                   **source.life.job()},
                  source.code, source.record())
    template.run()
    return 0


def _prepare() -> None:
    seed_later()
    for name in _ONE_THREAD:
        os.environ.setdefault(name, "1")


def _main() -> int:
    if sys.argv[1:2] == ["--control"] and len(sys.argv) == 3:
        status = _serve(int(sys.argv[2]))
        sys.stderr.flush()
        os._exit(status)  # what was imported has nothing to tidy up, and the trainer waits
    return produce(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(_main())
