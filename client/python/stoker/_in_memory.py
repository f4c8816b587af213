# SPDX-License-Identifier: MIT
"""Files for the daemon that have no name in any folder: arrays and lists in memory, which go by
descriptor (``list_fd``, ``path_fd``) and end with the process. Any thread."""
from __future__ import annotations

import fcntl
import hashlib
import os
from typing import Any, BinaryIO, Callable

import numpy as np

from .errors import short


class InMemory(str):
    """The path that messages say; ``fd`` is open until close(), or as long as this lives."""

    fd: int

    def __new__(cls, name: str, write: Callable[[BinaryIO], Any]) -> InMemory:
        """``write`` is given the file. Raises what that raises, and OSError."""
        return cls.named(f"/memory/{name}", _written(name, write))

    @classmethod
    def named(cls, path: str, fd: int) -> InMemory:
        """Takes ``fd`` over."""
        self = super().__new__(cls, path)
        self.fd = fd
        return self

    @classmethod
    def known(cls, name: str, write: Callable[[BinaryIO], Any]) -> InMemory:
        """One whose path says what it holds: for the daemon it is that of other programs that hold
        the same. As InMemory()."""
        fd = _written(name, write)
        digest = hashlib.blake2b(digest_size=16)
        with os.fdopen(os.dup(fd), "rb") as file:
            file.seek(0)
            for part in iter(lambda: file.read(1 << 20), b""):
                digest.update(part)
        return cls.named(f"/memory/{digest.hexdigest()}/{name}", fd)

    def close(self) -> None:
        """May be called twice."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            self.close()


def _written(name: str, write: Callable[[BinaryIO], Any]) -> int:
    fd = os.memfd_create(f"stoker-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with os.fdopen(os.dup(fd), "wb") as file:
            write(file)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS,
                    fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
    except BaseException:
        os.close(fd)
        raise
    return fd


def array_file(name: str, array: np.ndarray[Any, Any]) -> InMemory:
    return InMemory(f"{name}.npy", lambda file: np.save(file, array))


def numbers(name: str, values: Any, whole: bool) -> InMemory:
    """A list of numbers that does not fit into a request. Raises TypeError, which calls it
    ``name``, and OSError."""
    array = np.asarray(values.tolist() if hasattr(values, "tolist") else values)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be a list of numbers, not {short(values)}")
    if not whole:
        return array_file(name, array.astype(np.float64))
    integers = array.astype(np.int64)
    if not np.array_equal(integers, array):
        raise TypeError(f"{name} must be whole numbers, not {short(values)}")
    return array_file(name, integers)
