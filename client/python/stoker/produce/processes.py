# SPDX-License-Identifier: MIT
"""The processes that run a source's code, as the trainer sees them: begun, given the object again
when it has changed, ended.

Any thread, one at a time.
"""
from __future__ import annotations

import collections
import contextlib
import logging
import os
import pickle
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from typing import Any, BinaryIO, Deque, Dict, List, Mapping, Optional, Tuple, Union

from ..errors import (DaemonUnavailable, Disconnected, Error, ProducerError, TokenError,
                      plain)
from ..state import Place
from . import identity, shipping
from .cluster import Cluster
from .producer import Maker, Producer, code_of
from .seeds import Seeds
from .source import Source

_TAIL = 20  # lines of producers that an error shows
_DEATHS = 5  # as in __main__.py
_END_S = 5.0
_FORK_S = 0.3  # that a template has to fork another one: to execute one takes no longer
_YOUNG_S = 45.0  # so long one without an object is there, at least: _SPARE_S of __main__.py
_PAUSE_S = 1.0  # before a thread asks the daemon again
_INSTALLED = re.compile("^" + re.escape(os.path.dirname(os.__file__)) +
                        "/|/(site|dist)-packages/")
_log = logging.getLogger("stoker")
_Files = Dict[str, Tuple[int, int]]


class Producers:
    """Processes that run a source's code, or a thread of this process where it cannot be pickled.
    Ended by close(), or with this process.

    ``count``: processes; 0: a thread; or with actors of a cluster. ``shown``: the secret.
    """

    def __init__(self, source: Source, code: str, count: Union[int, Cluster], path: str,
                 shown: bytes) -> None:
        self._source, self._code, self._first = source, code, code
        self._resumed: Optional[Tuple[Place, Any]] = None
        self._cluster = count if isinstance(count, Cluster) else None
        self._count = count.local if isinstance(count, Cluster) else count
        self._path, self._shown = path, shown
        self._teams: List[_Team] = []  # one
        self._finish = weakref.finalize(self, _end, self._teams)
        self._run()
        _running.add(self)

    def close(self) -> None:
        """A program that makes a loader after the other need not import all anew for each."""
        _running.discard(self)
        for team in self._teams:
            _keep_spare(team)
        self._finish()

    @property
    def _process(self) -> Optional[_Process]:
        return self._teams[0].process

    def renew(self, place: Place) -> Optional[Dict[str, str]]:
        """If the object has changed, give them what it is now, and return the dataset that it makes
        now. What they made of the old one is nobody's any more.

        Raises TokenError if ``place`` is in the middle of an epoch that a state resumes, whose
        beginning another object had made."""
        described = self._source.description()
        if self._resumed is not None:
            resumed, code = self._resumed
            if place == resumed and described["code"] != code:
                raise TokenError.local(
                    f"code: {self._source.name} is not as it was when the state was taken: change "
                    "it as for that epoch, then iterate")
            self._resumed = None
        if described["code"] == self._code:
            return None
        self._code = described["code"]
        self._run()
        return described

    @property
    def code(self) -> str:
        """The identity of what they run."""
        return self._code

    def adopt(self, source: Source) -> None:
        """They run this one from now on, of the same code."""
        self._source = source

    def words(self) -> str:
        """Where the code runs, and which of its random numbers are seeded."""
        count = self._count if self._process is not None else 0
        actors = "" if self._cluster is None or self._process is None else \
            f"{self._cluster.n} actor{'s' * (self._cluster.n > 1)} of {self._cluster.engine}"
        where = actors if actors and not count else \
            "a thread of this process" if not count else \
            "a process of yours" if count == 1 else f"{count} processes of yours"
        where += f" and {actors}" if actors and count else ""
        held = Seeds(self._source.code).names
        also = f", and what it holds ({', '.join(held)})" if held else ""
        return f"{self._source.name} runs in {where}; for each sample random, numpy.random and " \
               f"torch are seeded{also}"

    def state(self) -> Dict[str, str]:
        """What a token has of an object that has changed since the loader was made."""
        return {} if self._code == self._first else {"code": self._code}

    def resume(self, token: Mapping[str, Any], place: Place) -> None:
        """The samples before ``place`` were made by the object that the token names."""
        self._resumed = (place, token.get("code", self._first)) if place.position else None

    def check(self) -> None:
        """Raise ProducerError if they cannot make samples."""
        self._teams[0].check()

    def _run(self) -> None:
        source = self._source
        fd = _packed(source) if self._count or self._cluster else None
        try:
            if fd is None:
                self._put(_Thread(source, self._code, self._path, self._shown))
                return
            job = {"path": sys.path, "folder": os.getcwd(), "socket": self._path,
                   "secret": self._shown, "code": self._code, "name": source.name,
                   "count": self._count, "apart": source.apart, **source.life.job()}
            if self._cluster is not None:
                job.update(cluster=pickle.dumps(self._cluster), same=_same(source))
            if not self._teams or not self._teams[0].take(job, fd, source.codes):
                self._put(_processes(source))
                self._teams[0].take(job, fd, source.codes)
        finally:
            if fd is not None:
                os.close(fd)

    def _put(self, team: _Team) -> None:
        _end(self._teams)
        self._teams.append(team)


class _Thread:
    """One of this process."""

    process = None

    def __init__(self, source: Source, code: str, path: str, shown: bytes) -> None:
        self._ended = threading.Event()
        self._running: List[Producer] = []
        threading.Thread(target=self._run, args=(_copy(source), source, code, path, shown),
                         name=f"stoker {source.name}", daemon=True).start()

    def take(self, job: Dict[str, Any], fd: int, codes: Dict[str, bytes]) -> bool:
        return False

    def check(self) -> None:
        pass

    def forget(self) -> None:
        """In a child: the thread is the parent's."""

    def end(self) -> None:
        self._ended.set()
        for producer in self._running:
            producer.close()

    def _run(self, thing: Any, source: Source, code: str, path: str, shown: bytes) -> None:
        maker, said = Maker(code_of(thing), Seeds(thing), source.record()), ""
        life = {**source.life.job(), "recycle": 0}
        while not self._ended.is_set():
            try:
                self._produce(Producer(path, code, shown, source.name, maker, None, **life))
            except (DaemonUnavailable, Disconnected):
                pass
            except Error as error:
                if str(error) != said and not self._ended.is_set():
                    _log.error("the samples of %s are not made: %s", source.name, error)
                said = str(error)
            self._ended.wait(_PAUSE_S)

    def _produce(self, producer: Producer) -> None:
        self._running.append(producer)
        try:
            if not self._ended.is_set():
                producer.run()
        except OSError:  # end() closed its socket
            pass
        finally:
            producer.close()
            self._running.remove(producer)


class _Processes:
    """A template and its producers. What they write to stdout and stderr comes out of this process'
    stderr, line by line, with the name of the code before it."""

    def __init__(self, name: str, other: Optional[_Processes] = None) -> None:
        """``other``: whose template forks this one's. Raises OSError if it does not."""
        self._tail: Deque[str] = collections.deque(maxlen=_TAIL)
        self._name, self._begun = name, time.monotonic()
        self._codes: Dict[str, bytes] = {} if other is None else dict(other._codes)
        self._files: _Files = {} if other is None else dict(other._files)
        self._environment: Dict[str, str] = dict(
            os.environ if other is None else other._environment)
        self._lock = threading.Lock()  # of what is sent
        self._control, theirs = socket.socketpair()
        reads, writes = os.pipe()
        said = open(reads, "rb")
        try:
            self.process: _Process = _executed(theirs, writes) if other is None else \
                other._forks(self._control, theirs, writes)
        except OSError:
            self._control.close()
            said.close()
            raise
        finally:
            theirs.close()
            os.close(writes)
        self._relay = threading.Thread(target=_relay, args=(said, self), name=f"stoker {name}",
                                       daemon=True)
        self._relay.start()

    def _forks(self, control: socket.socket, theirs: socket.socket, writes: int) -> _Forked:
        with self._lock:
            shipping.send(self._control, None, theirs.fileno(), writes)
        theirs.close()
        control.settimeout(_FORK_S)
        told = control.recv(shipping.NUMBER)
        control.settimeout(None)
        if not told:
            raise ChildProcessError("the template has ended")
        return _Forked(int.from_bytes(told, "little"))

    def knows(self, codes: Dict[str, bytes]) -> bool:
        """Has its template imported all that, as it is here, in this environment? What it has
        imported beside that may not be of another time either: a constant is no code."""
        return bool(codes) and codes.items() <= self._codes.items() and \
            self._environment == os.environ and self._files.items() <= _imported().items()

    def rename(self, name: str) -> _Processes:
        self._name = name
        return self

    def is_ready(self) -> bool:
        """Without an object: is it there, and for long enough?"""
        try:
            self._control.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK)
        except BlockingIOError:
            return time.monotonic() - self._begun < _YOUNG_S
        except OSError:
            pass
        return False

    def take(self, job: Dict[str, Any], fd: int, codes: Dict[str, bytes]) -> bool:
        """Make the samples of this object from now on. False: they have ended, or have imported
        other code than this."""
        if any(self._codes.get(name, code) != code for name, code in codes.items()):
            return False
        self._codes.update(codes)
        self._files = {**_imported(), **self._files}
        with contextlib.suppress(OSError):  # what was told of the old one
            self._control.recv(64, socket.MSG_DONTWAIT)
        try:
            with self._lock:
                shipping.send(self._control, job, fd)
        except OSError:  # check() says so
            return False
        return True

    def check(self) -> None:
        try:
            told = self._control.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            told = b""
        what = {b"d": f"{_DEATHS} producers in a row died before they had made a sample",
                b"i": "the object could not be made in another process"}.get(
                    told, "the process that starts producers ended")
        if told != b"d":  # it ends: what it said last may not have been read yet
            self._relay.join(_END_S)
        raise ProducerError(f"no samples of {self._name} are made: {what}. Their last words:\n"
                            + "\n".join(self._tail))

    def forget(self) -> None:
        self._control.close()

    def end(self) -> None:
        self._control.close()
        try:
            self.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class _Forked:
    """A process that is no child of this one, as subprocess.Popen has those that are."""

    def __init__(self, pid: int) -> None:
        self.pid, self._fd = pid, os.pidfd_open(pid)
        weakref.finalize(self, os.close, self._fd)

    def wait(self, seconds: Optional[float] = None) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        if not poll.poll(None if seconds is None else seconds * 1000):
            raise subprocess.TimeoutExpired("stoker.produce", seconds or 0)
        with contextlib.suppress(ChildProcessError):  # as process 1 it is the parent after all
            os.waitpid(self.pid, os.WNOHANG)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._fd, signal.SIGKILL)


_Process = Union["subprocess.Popen[bytes]", _Forked]
_Team = Union[_Thread, _Processes]


def _imported() -> _Files:
    """Files of all modules that are not installed, which are many and stay as they are; and what
    tells whether one was written since."""
    out = {}
    for module in list(sys.modules.values()):
        path = getattr(module, "__dict__", {}).get("__file__")
        if not isinstance(path, str) or _INSTALLED.search(path):
            continue
        with contextlib.suppress(OSError, ValueError):
            status = os.stat(path)
            out[path] = status.st_mtime_ns, status.st_size
    return out


def _executed(control: socket.socket, out: int) -> subprocess.Popen[bytes]:
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(
        filter(None, [here, os.environ.get("PYTHONPATH")]))}
    return subprocess.Popen(
        [sys.executable, "-m", "stoker.produce", "--control", str(control.fileno())],
        pass_fds=[control.fileno()], stdin=subprocess.DEVNULL, stdout=out,
        stderr=subprocess.STDOUT, env=environment)


def _processes(source: Source) -> _Processes:
    """With a template that has imported the source's code already, if there is one."""
    while _spares:
        spare = _spares.pop()
        if spare.is_ready() and spare.knows(source.codes):
            return spare.rename(source.name)
        spare.end()
    for other in _that_run():
        if other.knows(source.codes):
            with contextlib.suppress(OSError, AttributeError):  # a system without pidfd
                return _Processes(source.name, other)
    return _Processes(source.name)


def _that_run() -> List[_Processes]:
    return [team for producers in list(_running) for team in producers._teams
            if isinstance(team, _Processes)]


def _keep_spare(team: _Team) -> None:
    """For the next loader, if none is left whose template could be asked; for a minute."""
    ends = not threading.main_thread().is_alive()  # this process
    if not isinstance(team, _Processes) or _that_run() or ends:
        return
    while _spares:
        _spares.pop().end()
    with contextlib.suppress(OSError, AttributeError):
        _spares.append(_Processes(team._name, team))


def _end(teams: List[_Team]) -> None:
    while teams:
        teams.pop().end()


def _same(source: Source) -> Optional[str]:
    """The identity of its object, for other nodes; None: ``version`` stands for it, or nobody can
    tell."""
    try:
        return None if source.version else identity.identity_of(source.code)
    except identity.CannotTell:
        return None


def _packed(source: Source) -> Optional[int]:
    """None, after a warning: it cannot go to another process."""
    try:
        return shipping.pack(source.code, source.record())
    except shipping.CannotShip as error:
        _log.warning("%s runs in a thread of this process, since %s: samples are made one after "
                     "another", source.name, error)
        return None


def _copy(source: Source) -> Any:
    """What runs here: not the program's own object, if it can be copied as for another process, so
    that its calls change nothing of it."""
    try:
        fd = shipping.pack(source.code)
    except (shipping.CannotShip, ImportError):
        return source.code
    try:
        return shipping.unpack(fd)[0]
    except Exception:  # of the object's own code
        return source.code
    finally:
        os.close(fd)


def _relay(said: BinaryIO, processes: _Processes) -> None:
    """What producers say, on stderr."""
    with said:
        for line in said:
            text = plain(line.decode("utf-8", "replace").rstrip("\n"))
            processes._tail.append(text)
            with contextlib.suppress(OSError, ValueError):  # who reads on lets producers go on
                print(f"[{processes._name}] {text}", file=sys.stderr, flush=True)


def _after_fork() -> None:
    """A child that holds the socket would keep producers alive when this process has ended."""
    for producers in list(_running):
        producers._finish.detach()
        for team in producers._teams:
            team.forget()
    while _spares:
        _spares.pop().forget()


_running: weakref.WeakSet[Producers] = weakref.WeakSet()
_spares: List[_Processes] = []  # one at most: its template has no object
os.register_at_fork(after_in_child=_after_fork)
