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
import socket
import subprocess
import sys
import threading
import weakref
from typing import Any, Deque, Dict, List, Mapping, Optional, Tuple, Union

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
_PAUSE_S = 1.0  # before a thread asks the daemon again
_log = logging.getLogger("stoker")


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
        self._codes = dict(source.codes)
        self._teams: List[_Team] = []  # one
        self.close = weakref.finalize(self, _end, self._teams)
        self._run()
        _running.add(self)

    @property
    def _process(self) -> Optional[subprocess.Popen[bytes]]:
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
            if not self._knows(source.codes) or not self._teams[0].take(job, fd):
                self._codes = {}
                self._put(_Processes(source.name))
                self._teams[0].take(job, fd)
            self._codes.update(source.codes)
        finally:
            if fd is not None:
                os.close(fd)

    def _put(self, team: _Team) -> None:
        _end(self._teams)
        self._teams.append(team)

    def _knows(self, codes: Dict[str, bytes]) -> bool:
        """May the template go on? It has imported what was there when it began."""
        return bool(self._teams) and all(
            self._codes.get(name, code) == code for name, code in codes.items())


class _Thread:
    """One of this process."""

    process = None

    def __init__(self, source: Source, code: str, path: str, shown: bytes) -> None:
        self._ended = threading.Event()
        self._running: List[Producer] = []
        threading.Thread(target=self._run, args=(_copy(source), source, code, path, shown),
                         name=f"stoker {source.name}", daemon=True).start()

    def take(self, job: Dict[str, Any], fd: int) -> bool:
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

    def __init__(self, name: str) -> None:
        self._tail: Deque[str] = collections.deque(maxlen=_TAIL)
        self._name = name
        here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(
            filter(None, [here, os.environ.get("PYTHONPATH")]))}
        self._control, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "stoker.produce", "--control", str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, env=environment)
        self._relay = threading.Thread(target=_relay, args=(self.process.stdout, name, self._tail),
                                       name=f"stoker {name}", daemon=True)
        self._relay.start()

    def take(self, job: Dict[str, Any], fd: int) -> bool:
        """Make the samples of this object from now on. False: they have ended."""
        with contextlib.suppress(OSError):  # what was told of the old one
            self._control.recv(64, socket.MSG_DONTWAIT)
        try:
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


_Team = Union[_Thread, _Processes]


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


def _relay(stream: Any, name: str, tail: Deque[str]) -> None:
    """What producers say, on stderr."""
    for line in stream:
        text = plain(line.decode("utf-8", "replace").rstrip("\n"))
        tail.append(text)
        print(f"[{name}] {text}", file=sys.stderr, flush=True)


def _after_fork() -> None:
    """A child that holds the socket would keep producers alive when this process has ended."""
    for producers in list(_running):
        producers.close.detach()
        for team in producers._teams:
            team.forget()


_running: weakref.WeakSet[Producers] = weakref.WeakSet()
os.register_at_fork(after_in_child=_after_fork)
