# SPDX-License-Identifier: MIT
"""A user's object on its way to a fresh process.

It goes by pickle, unless it names something that a fresh process cannot import: what is defined in
``__main__`` or in a notebook. pickle writes those by name, and fails only where it is read; so they
go by cloudpickle. Unpickling runs the user's code, so only the user's own processes do it.

It lies in memory that both processes have (memfd): large arrays are written there once, and what
unpickles it reads them in place, as pages of its own as soon as it writes to them.
"""
from __future__ import annotations

import hashlib
import importlib.util
import mmap
import os
import pickle
import socket
import sys
import types
from typing import Any, BinaryIO, List, Optional, Set, Tuple

__all__ = ["CannotShip", "copied", "digest", "pack", "receive", "send", "unpack",
           "unpacked"]

_LARGE = 1 << 16  # bytes: what is smaller lies in the pickle
_ALIGN = 64
NUMBER = 8  # bytes, little endian
_FDS_MAX = 2  # with one message


class CannotShip(Exception):
    """The object cannot be pickled. ``where``: the name of what cannot, from the object on."""

    def __init__(self, where: str, why: object) -> None:
        super().__init__(f"{where} cannot be pickled: {why}")
        self.where = where


class _NotImportable(Exception):
    pass


class _ByName(pickle.Pickler):
    """A pickler that stops at a global that another process would not find."""

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, (type, types.FunctionType)) and not _is_importable(thing):
            raise _NotImportable
        return NotImplemented


def _is_importable(thing: Any) -> bool:
    name = getattr(thing, "__module__", None)
    if not isinstance(name, str) or name in ("__main__", "__mp_main__"):
        return False
    found: Any = sys.modules.get(name)
    try:
        if found is None or importlib.util.find_spec(name) is None:
            return False
    except (ImportError, ValueError, AttributeError):  # made by hand: it has no spec
        return False
    for part in thing.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is thing


def pack(thing: object, beside: object = None) -> int:
    """A descriptor of memory with both, which the caller closes. Raises CannotShip, which names
    what is in ``thing``, or ImportError if it takes cloudpickle and that is not there."""
    fd = os.memfd_create("stoker-object", os.MFD_CLOEXEC)
    try:
        with open(fd, "r+b", closefd=False) as file:
            try:
                _write(file, thing, beside)
            except (CannotShip, ImportError):
                raise
            except Exception as error:  # whatever the object's own code raises
                raise CannotShip(_culprit(thing), error) from error
    except BaseException:
        os.close(fd)
        raise
    return fd


def digest(thing: object) -> bytes:
    """Of its pickle, the same in this process as long as the object does not change; b"": it has
    none."""
    try:
        fd = pack(thing)
    except (CannotShip, ImportError):
        return b""
    with open(fd, "rb"):
        return hashlib.blake2b(mmap.mmap(fd, 0, prot=mmap.PROT_READ), digest_size=16).digest()


def _write(file: BinaryIO, thing: object, beside: object) -> None:
    """The pickle, large buffers, and where these are: a pickle, with its size behind it."""
    buffers: List[Any] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        raw = memoryview(buffer)
        if raw.nbytes < _LARGE or not raw.contiguous:
            return True
        buffers.append(buffer.raw())
        return False
    try:
        _ByName(file, 5, buffer_callback=is_small).dump((thing, beside))
    except _NotImportable:
        buffers.clear()
        file.seek(0)
        file.truncate()
        _cloudpickle().dump((thing, beside), file, 5, buffer_callback=is_small)
    places = [(0, file.tell())]
    for raw in buffers:
        file.seek(-file.tell() % _ALIGN, os.SEEK_CUR)
        places.append((file.tell(), raw.nbytes))
        file.write(raw)
    table = pickle.dumps(places)
    file.write(table + len(table).to_bytes(NUMBER, "little"))


def _cloudpickle() -> Any:
    try:
        import cloudpickle
    except ImportError:
        raise ImportError(
            "what is defined in the main script or in a notebook takes cloudpickle to reach other "
            "processes: pip install cloudpickle, or put it into a module of its own") from None
    return cloudpickle


def unpack(fd: int) -> Tuple[Any, Any]:
    """Both. The descriptor stays the caller's, and the memory lives as long as the object."""
    return unpacked(memoryview(mmap.mmap(fd, 0, mmap.MAP_PRIVATE)))


def unpacked(view: memoryview) -> Tuple[Any, Any]:
    """Of what is there. It is the object's, which may write to it."""
    size = int.from_bytes(view[-NUMBER:], "little")
    places = pickle.loads(view[len(view) - NUMBER - size:-NUMBER])
    head, *buffers = [view[at:at + size] for at, size in places]
    made: Tuple[Any, Any] = pickle.loads(head, buffers=buffers)
    return made


def copied(thing: Any) -> Any:
    """A copy, as another process has it. Raises what pack() raises."""
    fd = pack(thing)
    try:
        return unpack(fd)[0]
    finally:
        os.close(fd)


def send(control: socket.socket, message: object, *fds: int) -> None:
    """To a process that calls receive()."""
    packed = pickle.dumps(message)
    size = len(packed).to_bytes(NUMBER, "little")
    socket.send_fds(control, [size], fds)
    control.sendall(packed)


def receive(control: socket.socket) -> Tuple[Any, List[int]]:
    """A message, and its descriptors, which are the caller's. EOFError: the other end closed."""
    size, fds, _, _ = socket.recv_fds(control, NUMBER, _FDS_MAX)
    left = int.from_bytes(_exactly(control, size, NUMBER), "little")
    message = pickle.loads(_exactly(control, b"", left))
    return message, list(fds)


def _exactly(control: socket.socket, data: bytes, size: int) -> bytes:
    while len(data) < size:
        part = control.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def _culprit(thing: object) -> str:
    """The name of the deepest attribute that cannot be pickled by itself."""
    return _deepest(thing, type(thing).__qualname__, set()) or type(thing).__qualname__


def _deepest(thing: object, name: str, seen: Set[int]) -> Optional[str]:
    if id(thing) in seen or _can(thing):
        return None
    seen.add(id(thing))
    parts: List[Any] = list(vars(thing).items()) if hasattr(thing, "__dict__") else []
    parts = [(f"{name}.{key}", value) for key, value in parts]
    if isinstance(thing, dict):
        parts = [(f"{name}[{key!r:.40}]", value) for key, value in thing.items()]
    elif isinstance(thing, (list, tuple)):
        parts = [(f"{name}[{number}]", value) for number, value in enumerate(thing)]
    for more, value in parts:
        found = _deepest(value, more, seen)
        if found:
            return found
    return name


def _can(thing: object) -> bool:
    try:
        import cloudpickle
        cloudpickle.dumps(thing)
    except ImportError:
        try:
            pickle.dumps(thing)
        except Exception:
            return False
    except Exception:
        return False
    return True
