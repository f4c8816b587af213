# SPDX-License-Identifier: MIT
"""The shared memory of a ring, mapped read-only, as numpy arrays (layout: proto/segment.h).

The mapping lives as long as any array that points into it, also after the connection or the daemon
is gone. Knows no message and no lease. Immutable.
"""
from __future__ import annotations

import fcntl
import mmap
import os
import stat
import struct
from math import prod
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .errors import ProtocolError

_HEADER = struct.Struct("=8sIIQQII16s16s56x")
_FIELD = struct.Struct("=16s16sI6I4xQQ")
_MAGIC = b"stoker\r\n"
_VERSION = 1
_PAGE = 4096
_FIELDS_MAX = 16
_DIMS_MAX = 6
FIELDS = ("image", "label", "index")  # every ring has them
# numpy has no bfloat16: its bits are given as uint16.
_TYPES = {"uint8": "|u1", "float16": "<f2", "bfloat16": "<u2", "float32": "<f4", "int64": "<i8"}
_F_GET_SEALS, _F_SEAL_SHRINK = 1034, 2


class Field(NamedTuple):
    """One array of the ring: ``shape`` is of one sample, slot i is at offset + i * stride."""

    dtype: str
    typestr: str
    shape: Tuple[int, ...]
    stride: int
    offset: int


class _Slots:
    """Makes numpy build an array at an address, and keep ``owners`` alive as long as the array."""

    __slots__ = ("__array_interface__", "owners")

    def __init__(self, interface: Dict[str, Any], *owners: object) -> None:
        self.__array_interface__ = interface
        self.owners = owners


class Ring:
    """``fields`` by name: image, label, index, and further ones of the dataset. ``slots``: how many
    samples it holds. ``identity``: the hashes of dataset and pipeline in its header."""

    def __init__(self, memory: mmap.mmap, number: int) -> None:
        self._bytes = np.frombuffer(memory, dtype=np.uint8)  # keeps `memory`
        self._address: int = self._bytes.__array_interface__["data"][0]
        self.slots, self.fields, self.identity = _parse(memory, number)

    def view(self, field: str, first: int, count: int, owner: object, *,
             writable: bool = False) -> np.ndarray[Any, Any]:
        """Slots [first, first + count) of a field, (count, *shape), not copied.

        The array keeps ``owner`` alive. ``writable`` marks it as writable, though it is not:
        writing to it kills the process.
        """
        what = self.fields[field]
        return np.asarray(_Slots({
            "version": 3,
            "data": (self._address + what.offset + first * what.stride, not writable),
            "typestr": what.typestr,
            "shape": (count, *what.shape),
        }, owner, self))

    def gather(self, field: str, runs: Sequence[Sequence[int]], owner: object, *,
               writable: bool = False) -> np.ndarray[Any, Any]:
        """view() if there is one run; else a copy of all runs in one array."""
        if len(runs) == 1:
            return self.view(field, runs[0][0], runs[0][1], owner, writable=writable)
        out: np.ndarray[Any, Any] = np.concatenate(
            [self.view(field, first, count, owner) for first, count in runs])
        out.flags.writeable = writable
        return out

    def __reduce__(self) -> Any:
        raise TypeError("a batch is a view of shared memory and cannot be pickled: pickle its "
                        "arrays, which are then copied")

    def like(self, other: Ring) -> bool:
        """Do both have the same dataset, pipeline and fields? Slots and offsets may differ."""
        return self.identity == other.identity and all(
            name in other.fields and self.fields[name][:3] == other.fields[name][:3]
            for name in self.fields)

    def has(self, runs: Sequence[Sequence[int]], count: int) -> bool:
        """Are these runs inside of the ring, and do they have ``count`` samples?"""
        return (sum(size for _, size in runs) == count and
                all(first + size <= self.slots for first, size in runs))


def open_ring(fields: Dict[str, Any], fd: Optional[int], uid: int) -> Ring:
    """The ring that an ATTACHED or RING announces; closes ``fd``, which came with it. Raises
    ProtocolError, OSError or ValueError."""
    size, number = fields["bytes"], fields["ring"]
    if fields["transport"] == "fd" and fd is not None:
        return map_fd(fd, size, number)
    if fields["transport"] == "path" and fields["path"] and fd is None:
        return map_path(fields["path"], size, number, uid)
    if fd is not None:
        os.close(fd)
    raise ProtocolError(f"the ring announced with transport {fields['transport']!r} is missing")


def map_fd(fd: int, size: int, number: int) -> Ring:
    """Map a sealed memfd of ``size`` bytes; closes ``fd``. Raises ProtocolError or OSError."""
    try:
        if not fcntl.fcntl(fd, _F_GET_SEALS) & _F_SEAL_SHRINK:
            raise ProtocolError("the memory of the ring is not sealed: it could shrink")
        return _map(fd, size, number)
    finally:
        os.close(fd)


def map_path(path: str, size: int, number: int, uid: int) -> Ring:
    """Map a shared memory object of the daemon's user. Raises ProtocolError or OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != uid:
            raise ProtocolError(f"{path} is not a ring of the daemon")
        return _map(fd, size, number)
    finally:
        os.close(fd)


def _map(fd: int, size: int, number: int) -> Ring:
    there = os.fstat(fd).st_size
    if there < size:
        raise ProtocolError(f"the ring has {there} bytes, not {size} as announced")
    return Ring(mmap.mmap(fd, size, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ), number)


def _parse(memory: mmap.mmap, number: int) -> Tuple[int, Dict[str, Field], bytes]:
    (magic, version, header_bytes, total, ring, slots, n_fields, dataset,
     pipeline) = _HEADER.unpack_from(memory)
    if magic != _MAGIC or version != _VERSION or header_bytes != _PAGE:
        raise ProtocolError(f"the header of the ring is not of version {_VERSION}")
    if total != len(memory) or ring != number:
        raise ProtocolError("the header is that of another ring")
    if not slots or n_fields > _FIELDS_MAX:
        raise ProtocolError("the header of the ring has invalid numbers")
    rows = [_FIELD.unpack_from(memory, _HEADER.size + i * _FIELD.size) for i in range(n_fields)]
    fields = {_text(row[0]): row[1:] for row in rows}
    for name in FIELDS:
        if name not in fields:
            raise ProtocolError(f"the ring has no field {name}")
    # Fields of unknown types, from a newer daemon, are left out.
    parsed = {name: _parse_field(name, row, slots, total) for name, row in fields.items()
              if name in FIELDS or _text(row[0]) in _TYPES}
    return slots, parsed, dataset + pipeline


def _text(padded: bytes) -> str:
    return padded.rstrip(b"\0").decode("ascii", "replace")


def _parse_field(label: str, row: Tuple[Any, ...], slots: int, total: int) -> Field:
    kind, dims, *sizes, stride, offset = _text(row[0]), *row[1:]
    if kind not in _TYPES or dims > _DIMS_MAX:
        raise ProtocolError(f"the ring's field {label!r} has an unknown type or shape")
    shape = tuple(sizes[:dims])
    item = np.dtype(_TYPES[kind]).itemsize
    if stride != prod(shape) * item or offset % item or offset + slots * stride > total:
        raise ProtocolError(f"the ring's field {label!r} is outside of it")
    return Field(kind, _TYPES[kind], shape, stride, offset)
