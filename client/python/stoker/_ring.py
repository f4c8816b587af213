# SPDX-License-Identifier: MIT
"""The shared memory of a ring as numpy arrays (layout: proto/ring_layout.h).

It is mapped read-only and shared, from which small fields are copied, and privately, where the
program may write (_mapping.py); for batches that go on at the ring's begin each field twice in a
row, in the same two ways, so that they are one piece. A mapping lives as long as any array that
points into it, also after the connection or the daemon is gone. Knows no message. One thread at a
time takes batches.
"""
from __future__ import annotations

import ctypes
import fcntl
import itertools
import mmap
import os
import stat
import struct
from math import prod
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._mapping import Mapping, Region, Twice
from ._memory import PAGE
from .errors import ProtocolError

if TYPE_CHECKING:
    from .batch import Lease

_HEADER = struct.Struct("=8sIIQQII16s16sI52x")
_NARROW = struct.Struct("=16s16sI6I4xQQ")  # a row of version 1 ...
_WIDE = struct.Struct("=64s16sII32IQQ24x")  # ... and of version 2
_MAGIC = b"stoker\r\n"
PAGE_VERSION = 2  # the newest that is read
_PAGE = 4096
_HEADER_MAX = 1 << 20
_FIELDS_MAX = 16  # of version 1
_PLAIN, _RAGGED, _SIZED = 0, 1, 2
FIELDS = ("label", "index")  # every ring has them, and images
# numpy has no bfloat16: its bits are given as uint16.
_TYPES = {"uint8": "|u1", "float16": "<f2", "bfloat16": "<u2", "float32": "<f4", "int64": "<i8",
          "bool": "|b1", "int8": "|i1", "int16": "<i2", "uint16": "<u2", "int32": "<i4",
          "uint32": "<u4", "uint64": "<u8", "float64": "<f8", "complex64": "<c8",
          "complex128": "<c16", "text": "|u1", "bytes": "|u1"}
_F_GET_SEALS, _F_SEAL_SHRINK = 1034, 2
_COPIED = ("label", "index")  # always
_COPIED_BYTES = 65536  # copying less costs less than watching its pages


class Field(NamedTuple):
    """One array of the ring: ``shape`` is of one sample, slot i is at offset + i * stride. Where
    ``ragged`` is set each sample has a shape of its own, with any number where ``shape`` has 0;
    "text" and "bytes" are of such fields. Where ``sized`` is set a height and width of 0 are those
    of each batch."""

    dtype: str
    typestr: str
    shape: Tuple[int, ...]
    stride: int
    offset: int
    ragged: bool = False
    sized: bool = False

    def of(self, size: Tuple[int, int]) -> Tuple[int, ...]:
        """The shape of a sized field's sample, for a height and width."""
        edges = iter(size)
        return tuple(edge or next(edges) for edge in self.shape)

    def room(self) -> int:
        """Bytes of numbers that a sample of a ragged field may have."""
        return self.stride - _ragged_at(len(self.shape))

    def item(self, slot: np.ndarray[Any, Any]) -> Any:
        """The sample in a slot of a ragged field, which is given as bytes: an array there, or text
        or bytes. Raises ProtocolError."""
        at, item = _ragged_at(len(self.shape)), np.dtype(self.typestr).itemsize
        shape = tuple(map(int, slot[:8 * len(self.shape)].view(np.uint64)))
        size = prod(shape) * item
        if size > len(slot) - at or any(
                known not in (0, edge) for known, edge in zip(self.shape, shape)):
            raise ProtocolError(f"a sample of a ragged field has the shape {shape}, which does not "
                                "fit")
        if self.dtype == "text":
            return slot[at:at + size].tobytes().decode("utf-8", "replace")
        if self.dtype == "bytes":
            return slot[at:at + size].tobytes()
        return slot[at:at + size].view(self.typestr).reshape(shape)


def _ragged_at(dims: int) -> int:
    """Where the numbers of a ragged sample begin in its slot."""
    return (8 * dims + 15) // 16 * 16


def _form(field: Field, count: int) -> Tuple[Tuple[int, ...], str]:
    """Shape and type of so many slots: those of a ragged field are bytes."""
    return ((count, field.stride), "|u1") if field.ragged else \
        ((count, *field.shape), field.typestr)


class Sized(List[Sequence[int]]):
    """The runs of a batch whose images have a height and width of their own, and the slot from
    which on their samples lie one behind the other."""

    def __init__(self, runs: Iterable[Sequence[int]], size: Tuple[int, int], origin: int) -> None:
        super().__init__(runs)
        self.size = size
        self.origin = origin


def _array(field: Field, address: int, count: int, owner: object) -> np.ndarray[Any, Any]:
    """An array at an address that keeps ``owner`` alive."""
    memory: Any = (ctypes.c_char * (count * field.stride)).from_address(address)
    memory.owner = owner
    return np.ndarray(*_form(field, count), memory)


class Ring:
    """``fields`` by name: image (or as Crops call it), label, index, and further ones of the
    dataset. ``slots``: how many samples it holds. ``identity``: the hashes of dataset and pipeline
    in its header. Owns ``fd``, a descriptor of the memory."""

    def __init__(self, memory: mmap.mmap, number: int, fd: int, images: str = "image") -> None:
        self._fd = -1
        self._size = len(memory)
        self._mappings: Dict[Optional[str], List[Mapping]] = {}  # of a field, twice; None: of all
        self._twice: Dict[str, Twice] = {}
        self.slots, self.fields, self.identity = _parse(memory, number, images)
        # All slots of each field, read-only; these keep `memory`.
        self._slots = {name: np.ndarray(*_form(field, self.slots), memory, field.offset)
                       for name, field in self.fields.items()}
        self._memory: Optional[mmap.mmap] = memory
        self._fd = fd

    @property
    def sized(self) -> bool:
        """Have its batches several sizes?"""
        return any(field.sized for field in self.fields.values())

    def field_of(self, name: str, runs: Sequence[Sequence[int]]) -> Field:
        """A field as it is in this batch: slot i is where it says, also of a sized one."""
        field = self.fields[name]
        if not field.sized or not isinstance(runs, Sized):
            return field
        shape = field.of(runs.size)
        stride = prod(shape) * np.dtype(field.typestr).itemsize
        return field._replace(shape=shape, stride=stride,
                              offset=field.offset + runs.origin * (field.stride - stride))

    def take(self, fields: Iterable[str], runs: Sequence[Sequence[int]],
             lease: Lease) -> Dict[str, Any]:
        """These fields of the slots of a batch, each (count, *shape), by name; a list of samples of
        a ragged one. All are writable.

        Labels, indices, and a field that is small, are copied; so is one that goes on at the ring's
        begin, unless its slots are whole pages there. Others are not, and the lease gets their
        regions.
        """
        return {name: self._open(name, self._take(name, runs, lease)) for name in fields}

    def _open(self, name: str, slots: np.ndarray[Any, Any]) -> Any:
        """A list of the samples of a ragged field; another one as it is."""
        field = self.fields[name]
        return [field.item(slot) for slot in slots] if field.ragged else slots

    def _take(self, name: str, runs: Sequence[Sequence[int]],
              lease: Lease) -> np.ndarray[Any, Any]:
        field, (first, _) = self.field_of(name, runs), runs[0]
        count = sum(size for _, size in runs)
        offset, length = first * field.stride, count * field.stride
        if name not in _COPIED and length >= _COPIED_BYTES and self._is_one(field, runs):
            found = self._private(name, offset, length) if len(runs) > 1 else \
                self._private(None, field.offset + offset, length)
            if found is not None:
                address, region = found
                lease.add(region)
                return _array(field, address, count, lease)
        return self._copy(name, runs)

    def _is_one(self, field: Field, runs: Sequence[Sequence[int]]) -> bool:
        """Can these runs of a field have one address?"""
        (first, size), *more = runs
        return not more or (field.offset % PAGE == 0 and self.slots * field.stride % PAGE == 0 and
                            len(more) == 1 and first + size == self.slots and more[0][0] == 0)

    def _private(self, twice: Optional[str], offset: int,
                 length: int) -> Optional[Tuple[int, Region]]:
        """The address of these bytes in a private mapping, of the ring or of a field twice, and
        their region; None if the memory cannot be mapped (once more)."""
        mappings = self._mappings.get(twice, [])
        for mapping in reversed(mappings):
            region = mapping.take(offset, length)
            if region is not None:
                return mapping.address + offset, region
        self._mappings[twice] = mappings = [mapping for mapping in mappings if mapping.taken]
        try:
            if twice is None:
                mappings.append(Mapping(self._fd, self._size))
            else:
                mappings.append(self._map_twice(twice))
        except OSError:
            return None
        return self._private(twice, offset, length)

    def _map_twice(self, name: str) -> Mapping:
        """A field; the first time, also for shared()."""
        field = self.fields[name]
        length = self.slots * field.stride
        if name not in self._twice:
            self._twice[name] = Twice(self._fd, field.offset, length)
        return Mapping(self._fd, length, field.offset)

    def shared(self, name: str, runs: Sequence[Sequence[int]]) -> np.ndarray[Any, Any]:
        """These slots of a field: (count, *shape), read-only, not copied. Raises ValueError if
        take() had to copy them."""
        field = self.fields[name]
        first, _ = runs[0]
        if len(runs) == 1:
            return self.parts(name, runs)[0]
        if name not in self._twice or not self._is_one(field, runs):
            raise ValueError(f"the batch's {name} is in two parts of the ring: use its array, "
                             "which is a copy")
        twice = self._twice[name]
        array = _array(field, twice.address + first * field.stride,
                       sum(size for _, size in runs), twice)
        array.flags.writeable = False
        return array

    def whole(self) -> np.ndarray[Any, Any]:
        """All of the memory as bytes, read-only, as the daemon writes to it. It stays mapped as
        long as the array lives. Raises ValueError after close()."""
        if self._memory is None:
            raise ValueError("the ring was closed: copy what is needed later")
        return np.frombuffer(self._memory, np.uint8)

    @property
    def holes(self) -> bool:
        """Has a part of the ring no memory, as slots of ranks that are elsewhere?"""
        return self._fd < 0 or os.fstat(self._fd).st_blocks * 512 < self._size

    def parts(self, name: str, runs: Sequence[Sequence[int]]) -> List[np.ndarray[Any, Any]]:
        """These slots of a field, read-only, not copied: an array for each run."""
        field = self.field_of(name, runs)
        if field.sized:
            if self._memory is None:
                raise ValueError("the ring was closed: copy what is needed later")
            return [np.ndarray((count, *field.shape), field.typestr, self._memory,
                               field.offset + first * field.stride) for first, count in runs]
        slots = self._slots[name]
        return [slots[first:first + count] for first, count in runs]

    def _copy(self, name: str, runs: Sequence[Sequence[int]],
              out: Optional[np.ndarray[Any, Any]] = None) -> np.ndarray[Any, Any]:
        parts = self.parts(name, runs)
        if out is None and len(parts) == 1:
            return parts[0].copy()
        return np.concatenate(parts, out=out)

    def copy(self, runs: Sequence[Sequence[int]],
             out: Dict[str, Optional[np.ndarray[Any, Any]]]) -> Dict[str, Any]:
        """The fields in ``out`` of these slots, copied to there; None: to a new array."""
        return {name: self._open(name, self._copy(name, runs, array))
                for name, array in out.items()}

    def leave(self) -> None:
        """No more batches come from this ring: what the program keeps of it shall not pin it."""
        mappings, self._mappings = self._mappings, {}
        for mapping in itertools.chain.from_iterable(mappings.values()):
            mapping.leave()
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def close(self) -> None:
        """leave(), and nobody holds a lease. Only ``slots``, ``fields`` and ``identity`` remain."""
        self.leave()
        self._slots = {}
        self._twice = {}
        self._memory = None

    def __del__(self) -> None:
        self.leave()

    def like(self, other: Ring) -> bool:
        """Do both have the same dataset, pipeline and fields? Slots and offsets may differ."""
        return self.identity == other.identity and all(
            name in other.fields and self.fields[name]._replace(stride=0, offset=0) ==
            other.fields[name]._replace(stride=0, offset=0) for name in self.fields)

    def has(self, runs: Sequence[Sequence[int]], count: int) -> bool:
        """Are these runs inside of the ring, and do they have ``count`` samples?"""
        for first, size in runs:
            if first + size > self.slots:
                return False
            count -= size
        return count == 0 and (not self.sized or self._has_sizes(runs))

    def _has_sizes(self, runs: Sequence[Sequence[int]]) -> bool:
        """Is the one run of this batch, with its size, inside of each field?"""
        if not isinstance(runs, Sized) or len(runs) != 1 or runs.origin > runs[0][0] or \
                0 in runs.size:
            return False
        return all(self.field_of(name, runs).stride <= field.stride
                   for name, field in self.fields.items())


def open_ring(fields: Dict[str, Any], fd: Optional[int], uid: int, images: str) -> Ring:
    """The ring that an ATTACHED or RING announces; takes ``fd``, which came with it. ``images``: a
    field that it has. Raises ProtocolError, OSError or ValueError."""
    size, number = fields["bytes"], fields["ring"]
    if fields["transport"] == "fd" and fd is not None:
        return map_fd(fd, size, number, images)
    if fields["transport"] == "path" and fields["path"] and fd is None:
        return map_path(fields["path"], size, number, uid, images)
    if fd is not None:
        os.close(fd)
    raise ProtocolError(f"the ring announced with transport {fields['transport']!r} is missing")


def map_fd(fd: int, size: int, number: int, images: str = "image") -> Ring:
    """Map a sealed memfd of ``size`` bytes; owns ``fd``. Raises ProtocolError or OSError."""
    try:
        if not fcntl.fcntl(fd, _F_GET_SEALS) & _F_SEAL_SHRINK:
            raise ProtocolError("the memory of the ring is not sealed: it could shrink")
        return _map(fd, size, number, images)
    except BaseException:
        os.close(fd)
        raise


def map_path(path: str, size: int, number: int, uid: int, images: str = "image") -> Ring:
    """Map a shared memory object of the daemon's user. Raises ProtocolError or OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != uid:
            raise ProtocolError(f"{path} is not a ring of the daemon")
        return _map(fd, size, number, images)
    except BaseException:
        os.close(fd)
        raise


def _map(fd: int, size: int, number: int, images: str) -> Ring:
    there = os.fstat(fd).st_size
    if there < size:
        raise ProtocolError(f"the ring has {there} bytes, not {size} as announced")
    memory = mmap.mmap(fd, size, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
    return Ring(memory, number, fd, images)


def _parse(memory: mmap.mmap, number: int, images: str
           ) -> Tuple[int, Dict[str, Field], bytes]:
    (magic, version, header_bytes, total, ring, slots, n_fields, dataset, pipeline,
     row_bytes) = _HEADER.unpack_from(memory)
    if magic != _MAGIC or not 1 <= version <= PAGE_VERSION or header_bytes < _PAGE:
        raise ProtocolError(f"the header of the ring is not of version 1 or {PAGE_VERSION}")
    if total != len(memory) or ring != number:
        raise ProtocolError("the header is that of another ring")
    if version == 1:
        row_bytes, fits = _NARROW.size, header_bytes == _PAGE and n_fields <= _FIELDS_MAX
    else:
        fits = header_bytes <= min(total, _HEADER_MAX) and header_bytes % _PAGE == 0 and \
            row_bytes >= _WIDE.size and n_fields * row_bytes <= header_bytes - _HEADER.size
    if not slots or not fits:
        raise ProtocolError("the header of the ring has invalid numbers")
    fields: Dict[str, _Row] = {}
    for i in range(n_fields):
        name, row = _row(memory, version, _HEADER.size + i * row_bytes)
        if version > 1 and (not name or name in fields):
            raise ProtocolError(f"the ring's field {name!r} has no name, or that of another one")
        fields[name] = row
    needed = (images, *FIELDS)
    for name in needed:
        if name not in fields:
            raise ProtocolError(f"the ring has no field {name}")
    # Fields of unknown types and kinds, from a newer daemon, are left out.
    parsed = {name: _parse_field(name, row, slots, header_bytes, total)
              for name, row in fields.items() if name in needed or _known(row)}
    return slots, parsed, dataset + pipeline


class _Row(NamedTuple):
    dtype: str
    kind: int
    dims: int
    shape: Tuple[int, ...]  # of as many dimensions as a row has room for
    stride: int
    offset: int


def _row(memory: mmap.mmap, version: int, at: int) -> Tuple[str, _Row]:
    if version == 1:
        name, dtype, dims, *shape, stride, offset = _NARROW.unpack_from(memory, at)
        kind = _PLAIN
    else:
        name, dtype, kind, dims, *shape, stride, offset = _WIDE.unpack_from(memory, at)
    return _text(name), _Row(_text(dtype), kind, dims, tuple(shape), stride, offset)


def _known(row: _Row) -> bool:
    return row.dtype in _TYPES and row.kind <= _SIZED


def _text(padded: bytes) -> str:
    return padded.rstrip(b"\0").decode("ascii", "replace")


def _parse_field(label: str, row: _Row, slots: int, begin: int, total: int) -> Field:
    if not _known(row) or row.dims > len(row.shape):
        raise ProtocolError(f"the ring's field {label!r} has an unknown type or shape")
    shape, item = row.shape[:row.dims], np.dtype(_TYPES[row.dtype]).itemsize
    ragged, sized = row.kind == _RAGGED, row.kind == _SIZED
    if ragged:
        unit, fits = max(item, 8), row.dims > 0 and row.stride >= _ragged_at(row.dims)
    elif sized:
        unit, fits = item, _is_sized(shape) and row.stride >= prod(filter(None, shape)) * item
    else:
        unit, fits = item, row.stride == prod(shape) * item
    if not fits or row.offset % unit or row.stride % unit or row.offset < begin or \
            row.offset + slots * row.stride > total:
        raise ProtocolError(f"the ring's field {label!r} is outside of it")
    return Field(row.dtype, _TYPES[row.dtype], shape, row.stride, row.offset, ragged, sized)


def _is_sized(shape: Tuple[int, ...]) -> bool:
    """Has it two zeros, side by side, for a height and a width?"""
    return shape.count(0) == 2 and shape[shape.index(0) + 1] == 0
