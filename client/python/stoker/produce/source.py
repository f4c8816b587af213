# SPDX-License-Identifier: MIT
"""A dataset of a user's own code, and the processes that run it."""
from __future__ import annotations

import collections
import copy
import hashlib
import logging
import os
import pickle
import secrets
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import weakref
from typing import Any, Deque, Dict, Optional

from ..errors import Error, ProducerError, plain
from . import identity, shipping
from .producer import Producer, Record, RecordOfArrays, code_of, record_of_bytes
from .seeds import Seeds
from .tree import Tree

__all__ = ["Source"]

_ARRAYS_MAX = 15
_TAIL = 20  # lines of producers that an error shows
_DEATHS = 5  # as in __main__.py
_END_S = 5.0
_log = logging.getLogger("stoker")


class Source:
    """Samples that your own code makes: ``function(index)``, or ``dataset[index]``. It runs in
    processes of yours beside the daemon, which shares what they make between trainers, orders and
    resumes it.

    Args:
        code: a function of an index, or an object with ``__getitem__``.
        samples: how many there are; None: ``len(code)``.
        gives: "bytes": of a file (JPEG, PNG, ...), or (bytes, label), which the daemon decodes,
            keeps and transforms; the same index must give the same bytes. "arrays": finished
            samples, nested dicts, lists and tuples of arrays, tensors and numbers, each of one
            dtype and shape in all samples; batches have the same tree, with (n, *shape) in the
            place of each.
        like: a sample, to see what samples are; None: the code makes sample 0 for that, here.
        version: names what the code does: two codes of one version are taken as the same; None: a
            digest of its code and state.
    """

    def __init__(self, code: Any, samples: Optional[int] = None, *, gives: str = "bytes",
                 like: Any = None, version: Optional[str] = None) -> None:
        if gives not in ("bytes", "arrays"):
            raise ValueError(f"gives must be 'bytes' or 'arrays', not {gives!r}")
        if samples is None:
            try:
                samples = len(code)
            except TypeError:
                raise TypeError("say how many samples there are: Source(code, samples=N)") from None
        if not callable(code) and not hasattr(code, "__getitem__"):
            raise TypeError(f"a source is a function of an index, or has __getitem__; "
                            f"{type(code).__name__} is neither")
        self.code, self.samples = code, int(samples)
        self.name = getattr(code, "__qualname__", None) or type(code).__qualname__
        self.version = version
        self.tree: Optional[Tree] = None
        if gives == "arrays":
            self.tree = Tree(_first(code) if like is None else like)
            _check_tree(self.tree)
        self._private: Optional[str] = None

    def identity(self) -> str:
        """Equal where the same code makes the same samples: in all ranks, and when a script is run
        again. Where that cannot be told it is this object's alone, and so is the stream."""
        if self.version is not None:
            return "version " + hashlib.blake2b(self.version.encode(), digest_size=16).hexdigest()
        if self._private is not None:
            return self._private
        try:
            return identity.identity_of(self.code)
        except identity.CannotTell as error:
            _log.warning("no other process shares the samples of %s, and no run resumes them: %s; "
                         "say version= to change that", self.name, error)
            self._private = "private " + secrets.token_hex(16)
            return self._private

    def description(self) -> Dict[str, str]:
        out = {"path": f"code:{self.name}", "kind": "code", "code": self.identity(),
               "samples": str(self.samples)}
        if self.tree is not None:
            out["arrays"] = " ".join(
                f"array{number}:{leaf.dtype}:{'x'.join(map(str, leaf.shape))}"
                for number, leaf in enumerate(self.tree.leaves))
        return out

    def record(self) -> Record:
        """What makes a record of what the code gave."""
        return record_of_bytes if self.tree is None else RecordOfArrays(self.tree)


def _first(code: Any) -> Any:
    """A sample, to see what samples are. Of a copy: what the code opens at its first call is not to
    be held by the object that goes to other processes."""
    code = copy.copy(code)
    Seeds(code).set(0, 0, 0)
    return code_of(code)(0)


def _check_tree(tree: Tree) -> None:
    if len(tree.leaves) > _ARRAYS_MAX:
        raise ValueError(f"a sample has {len(tree.leaves)} arrays, and at most {_ARRAYS_MAX} are "
                         "possible")


def secret() -> bytes:
    """16 bytes that all processes of this user on this machine have, and nobody else: in a file
    that is theirs alone."""
    folder = os.environ.get("XDG_RUNTIME_DIR") or os.path.join(tempfile.gettempdir(),
                                                               f"stoker-{os.geteuid()}")
    os.makedirs(folder, 0o700, exist_ok=True)
    home = os.lstat(folder)
    if not stat.S_ISDIR(home.st_mode) or home.st_uid != os.geteuid() or home.st_mode & 0o022:
        raise PermissionError(f"{folder} must be a folder of yours that nobody else can write to: "
                              "set XDG_RUNTIME_DIR to one")
    path = os.path.join(folder, "stoker-producers.secret")
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(secrets.token_bytes(16))
    except FileExistsError:
        pass
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        found = file.read(17)
    if status.st_uid != os.geteuid() or status.st_mode & 0o077 or len(found) != 16:
        raise PermissionError(f"{path} must be a file of yours that only you can read, of 16 bytes")
    return found


class Producers:
    """Processes that run a source's code, or a thread of this process where it cannot be pickled.
    Ended by close(), or with this process.

    What they write to stdout and stderr comes out of this process' stderr, line by line, with the
    name of the code before it.
    """

    def __init__(self, source: Source, code: str, count: int, path: str, shown: bytes) -> None:
        self._tail: Deque[str] = collections.deque(maxlen=_TAIL)
        self._name, self._path = source.name, path
        self._process: Optional[subprocess.Popen[bytes]] = None
        packed = _packed(source) if count else None
        if packed is None:
            self._control, theirs = socket.socketpair()
            theirs.close()
            threading.Thread(target=_run_here, args=(source, code, path, shown),
                             name=f"stoker {source.name}", daemon=True).start()
        else:
            self._start({"path": sys.path, "folder": os.getcwd(), "socket": path, "secret": shown,
                         "code": code, "name": source.name, "count": count, "object": packed,
                         "record": source.record()})
        self.close = weakref.finalize(self, _end, self._control, self._process)
        _running.add(self)

    def _start(self, job: Dict[str, Any]) -> None:
        here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(
            filter(None, [here, os.environ.get("PYTHONPATH")]))}
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "stoker.produce", str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, env=environment)
        threading.Thread(target=_relay, args=(self._process.stdout, self._name, self._tail),
                         name=f"stoker {self._name}", daemon=True).start()
        packed = pickle.dumps(job)
        try:
            self._control.sendall(len(packed).to_bytes(8, "little") + packed)
        except OSError:  # it died: check() says so
            pass

    def check(self) -> None:
        """Raise ProducerError if they cannot make samples."""
        if self._process is None:
            return
        try:
            told = self._control.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            told = b""
        what = {b"d": f"{_DEATHS} producers in a row died before they had made a sample",
                b"i": "the object could not be made in another process"}.get(
                    told, "the process that starts producers ended")
        raise ProducerError(f"no samples of {self._name} are made: {what}. Their last words:\\n"
                            + "\\n".join(self._tail))


def _packed(source: Source) -> Optional[bytes]:
    """None, after a warning: it cannot go to another process."""
    try:
        return shipping.pack(source.code)
    except shipping.CannotShip as error:
        _log.warning("%s runs in a thread of this process, since %s: samples are made one after "
                     "another", source.name, error)
        return None


def _run_here(source: Source, code: str, path: str, shown: bytes) -> None:
    try:
        Producer(path, code, shown, source.name, code_of(source.code), Seeds(source.code),
                 source.record()).run()
    except Error as error:
        _log.error("the samples of %s are not made any more: %s", source.name, error)


def _relay(stream: Any, name: str, tail: Deque[str]) -> None:
    """What producers say, on stderr."""
    for line in stream:
        text = plain(line.decode("utf-8", "replace").rstrip("\n"))
        tail.append(text)
        print(f"[{name}] {text}", file=sys.stderr, flush=True)


def _end(control: socket.socket, process: Optional[subprocess.Popen[bytes]]) -> None:
    control.close()
    if process is None:
        return
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _after_fork() -> None:
    """A child that holds the socket would keep producers alive when this process has ended."""
    for producers in list(_running):
        producers.close.detach()
        producers._control.close()


_running: weakref.WeakSet[Producers] = weakref.WeakSet()
os.register_at_fork(after_in_child=_after_fork)
