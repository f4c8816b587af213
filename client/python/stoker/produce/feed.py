# SPDX-License-Identifier: MIT
"""What whole batches are made of, on its way from a program to its producers: a folder below the
user's own, as long as an epoch is. Producers are kept over epochs, and find each epoch's by a key.

Either `indices.npy` and `ends.npy` say all batches, or each has a file of its number, a pickle,
which is there before the batch is asked for; `end` says how many there are, once that is known. A
file appears whole. The program holds a lock on the folder; one whose program has died goes when
another is made.
"""
from __future__ import annotations

import contextlib
import fcntl
import os
import pickle
import shutil
import tempfile
import time
import weakref
from typing import Any, List, Optional, Tuple

import numpy as np

from .source import users_folder

_PAUSE_S = 0.002
_PATIENCE_S = 5.0  # with a program that has not yet said what a batch is made of


class Feed:
    """One program's, of one epoch. ``key``: 64 bits; equal ones are of equal batches. ``seed``,
    ``epoch``: of what batches draw. One thread. It ends with close(), or with this object."""

    def __init__(self, key: int, seed: int, epoch: int) -> None:
        home = users_folder()
        _tidy(home)
        made = tempfile.mkdtemp(prefix="new-batches-", dir=home)
        lock = os.open(made, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_SH)
        self._folder = os.path.join(home, f"batches-{key:016x}-{made.rpartition('-')[2]}")
        os.rename(made, self._folder)
        self.close = weakref.finalize(self, _close, self._folder, lock, os.getpid())
        self._put("seeds", (seed, epoch))

    def put_all(self, indices: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]) -> None:
        """Of all batches; where each of them ends."""
        np.save(os.path.join(self._folder, "indices.npy"), indices)
        np.save(os.path.join(self._folder, "new.npy"), ends)
        os.rename(os.path.join(self._folder, "new.npy"), os.path.join(self._folder, "ends.npy"))

    def put(self, number: int, indices: Any) -> None:
        self._put(str(number), indices)

    def put_end(self, count: int) -> None:
        self._put("end", count)

    def forget(self, number: int) -> None:
        """The batch came."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self._folder, str(number)))

    def _put(self, name: str, what: Any) -> None:
        new = os.path.join(self._folder, "new")
        with open(new, "wb") as file:
            pickle.dump(what, file, 5)
        os.rename(new, os.path.join(self._folder, name))


class Fed:
    """In a producer: the feeds of a key. Raises FileNotFoundError if none is there (any more)."""

    def __init__(self, key: int) -> None:
        self._key = key
        self._all: Optional[Tuple[Any, Any]] = None
        self.seed, self.epoch = self._load("seeds")

    def batch(self, number: int) -> Any:
        """Its indices; None behind the end. Raises TimeoutError if the program does not say."""
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until:
            if self._all is None:
                self._all = self._found()
            if self._all is not None:
                return _part(*self._all, number)
            with contextlib.suppress(FileNotFoundError):
                return self._load(str(number))
            with contextlib.suppress(FileNotFoundError):
                if number >= self._load("end"):
                    return None
            self._load("seeds")  # is the feed still there?
            time.sleep(_PAUSE_S)
        raise TimeoutError(f"the program has not said what batch {number} is made of: is it "
                           "stopped?")

    def put_beside(self, name: str, data: Any) -> str:
        """A file of these bytes, which goes with the feed at the latest; its path."""
        path = os.path.join(self._folders()[0], name)
        with open(f"{path}.new", "wb") as file:
            file.write(data)
        os.rename(f"{path}.new", path)
        return path

    def _found(self) -> Optional[Tuple[Any, Any]]:
        for folder in self._folders():
            with contextlib.suppress(FileNotFoundError):
                ends = np.load(os.path.join(folder, "ends.npy"))
                return np.load(os.path.join(folder, "indices.npy"), mmap_mode="r"), ends
        return None

    def _folders(self) -> List[str]:
        home = users_folder()
        return [os.path.join(home, name) for name in os.listdir(home)
                if name.startswith(f"batches-{self._key:016x}-")]

    def _load(self, name: str) -> Any:
        for folder in self._folders():
            with contextlib.suppress(FileNotFoundError), \
                    open(os.path.join(folder, name), "rb") as file:
                return pickle.load(file)
        raise FileNotFoundError(f"no {name} of the batches {self._key:016x}: their program has "
                                "ended")


def _part(indices: Any, ends: Any, number: int) -> Any:
    if number >= len(ends):
        return None
    return indices[int(ends[number - 1]) if number else 0:int(ends[number])].tolist()


def _close(folder: str, lock: int, pid: int) -> None:
    if os.getpid() == pid:  # else it is the parent's
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _tidy(home: str) -> None:
    for name in os.listdir(home):
        if not name.startswith("batches-"):
            continue
        folder = os.path.join(home, name)
        with contextlib.suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
