# SPDX-License-Identifier: MIT
"""Frames and the codec: bytes to checked messages and back. Pure: no socket, no state, any thread.

A text on the wire is bytes. Here it is a str; bytes that are not UTF-8 are surrogate escapes, as in
Python's file names (os.fsencode() gives the bytes back).
"""
from __future__ import annotations

import itertools
import math
import struct
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import msgpack

from . import _tables
from .errors import ProtocolError

HEAD = 4
_LENGTH = struct.Struct(">I")
_SHORT_MAP = 0x80  # the first byte of a map of up to 15 pairs, without their number


class Received(NamedTuple):
    """A received message with all fields of the table; absent ones have their default."""

    name: str
    fields: Dict[str, Any]


class FrameReader:
    """Finds frames in a stream that comes in pieces; holds no more than was received."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: Union[bytes, memoryview]) -> None:
        self._data += data

    @property
    def partial(self) -> bool:
        """Has a frame begun that is not whole yet?"""
        return len(self._data) > 0

    def next(self) -> Optional[bytes]:
        """The map of the next whole frame, or None. Raises ProtocolError for an invalid length."""
        if len(self._data) < HEAD:
            return None
        (size,) = _LENGTH.unpack_from(self._data)
        if not 0 < size <= _tables.FRAME_MAX:
            raise ProtocolError(f"a frame of {size} bytes; valid are 1 to {_tables.FRAME_MAX}")
        if len(self._data) < HEAD + size:
            return None
        frame = bytes(self._data[HEAD:HEAD + size])
        del self._data[:HEAD + size]
        return frame


def encode(name: str, /, **values: Any) -> bytes:
    """A whole frame, without the fields that have their default.

    Raises TypeError or ValueError that names the wrong field.
    """
    message = _tables.BY_NAME[name]
    out: Dict[str, Any] = {"type": message.number}
    for key, field in message.fields.items():
        if key in values:
            value = values.pop(key)
            check(key, field, value)
            if field.default is None or value != _default(field):
                out[key] = value
    if values:
        raise TypeError(f"{name} has no field {next(iter(values))!r}: it has "
                        f"{', '.join(message.fields)}")
    payload = msgpack.packb(out, unicode_errors="surrogateescape")
    if len(payload) > _tables.FRAME_MAX:
        raise ValueError(f"the request has {len(payload)} bytes, at most {_tables.FRAME_MAX} fit")
    return _LENGTH.pack(len(payload)) + bytes(payload)


_RELEASE = bytes(msgpack.packb({"type": _tables.BY_NAME["release"].number, "lease": 0})[:-1])


def release(lease: int) -> bytes:
    """encode("release", lease=lease), for a number that came in a message: once a batch."""
    number = bytes(msgpack.packb(lease))
    return _LENGTH.pack(len(_RELEASE) + len(number)) + _RELEASE + number


def check(key: str, field: _tables.Field, value: Any) -> None:
    """Raise TypeError or ValueError, with ``key`` in the text, if the value is not allowed."""
    if field.type == "uint":
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{key} must be an int, not {type(value).__name__}")
        if not field.min <= value <= field.max:
            raise ValueError(f"{key} must be {field.min} to {field.max}, not {value}")
    elif field.type == "boolean":
        if not isinstance(value, bool):
            raise TypeError(f"{key} must be True or False, not {value!r}")
    elif field.type == "text":
        if not isinstance(value, (str, bytes)):
            raise TypeError(f"{key} must be a str, not {type(value).__name__}")
        size = len(value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value)
        if not field.min <= size <= field.max:
            raise ValueError(f"{key} must have {field.min} to {field.max} bytes, not {size}")


def decode(payload: bytes) -> Received:
    """Check and decode the map of one frame. For wrong bytes it only raises ProtocolError."""
    value = _unpack(payload)
    numbers = _numbers(payload, value)
    if numbers is not None:
        return numbers
    if not _is_simple(payload, value):
        value = _unpack(payload, object_pairs_hook=_no_key_twice)
        if not isinstance(value, dict):
            raise ProtocolError(f"the frame holds a {type(value).__name__}, not a map")
        _check_tree(value, 1)
    number = value.get("type")
    message = _tables.BY_NUMBER.get(number) if type(number) is int else None
    if message is None:
        raise ProtocolError(f"no message has the number {number!r}")
    fields = _DEFAULTS[message.name].copy()
    for key, item in value.items():
        field = message.fields.get(key)
        if field is not None:
            fields[key] = _check_theirs(message.name, key, field, item)
    if len(fields) < len(message.fields):
        missing = next(key for key in message.fields if key not in fields)
        raise ProtocolError(f"{message.name} has no {missing}")
    return Received(message.name, fields)


def _unpack(payload: bytes, **hook: Any) -> Any:
    try:
        return msgpack.unpackb(payload, raw=False, unicode_errors="surrogateescape", max_ext_len=0,
                               max_array_len=_tables.NODES_MAX, max_map_len=_tables.NODES_MAX,
                               **hook)
    except ProtocolError:
        raise
    except Exception as error:  # msgpack raises many types, also plain Exception
        raise ProtocolError(f"the bytes are not one msgpack map: {error!r}") from error


def _numbers(payload: bytes, value: Any) -> Optional[Received]:
    """A good message of nothing but known numbers and runs, as a BATCH is; None: look closer."""
    if type(value) is not dict or payload[0] != _SHORT_MAP + len(value):
        return None
    number = value.get("type")
    message = _tables.BY_NUMBER.get(number) if type(number) is int else None
    if message is None:
        return None
    known = message.fields
    fields = _DEFAULTS[message.name].copy()
    for key, item in value.items():
        field = known.get(key)
        if field is None:
            if key == "type":
                continue
            return None
        kind, _, least, most = field
        if type(item) is int:
            if kind != "uint" or not least <= item <= most:
                return None
        elif kind != "runs" or not _is_runs(item, most):
            return None
        fields[key] = item
    return Received(message.name, fields) if len(fields) == len(known) else None


_LEAVES = (int, str, bool)
_LISTS, _INTS = frozenset([list]), frozenset([int])


def _is_simple(payload: bytes, value: Any) -> bool:
    """Is there nothing that _no_key_twice() and _check_tree() look for? So are most messages: a
    short map without maps, floats or deep lists in it, that has a key for each pair it begins with.
    """
    if type(value) is not dict or payload[0] != _SHORT_MAP + len(value) or len(value) > 15:
        return False
    for key, item in value.items():
        if type(key) is not str:
            return False
        if type(item) is list:
            if not (_LISTS.issuperset(map(type, item)) and
                    _INTS.issuperset(map(type, itertools.chain.from_iterable(item)))):
                return False
        elif type(item) not in _LEAVES:
            return False
    return True


def _check_tree(value: Any, depth: int) -> None:
    """Of a map or list: its depth, and that no number in it is infinite."""
    if depth > _tables.DEPTH_MAX:
        raise ProtocolError(f"the frame is nested deeper than {_tables.DEPTH_MAX}")
    for item in value.values() if isinstance(value, dict) else value:
        kind = type(item)
        if kind is dict or kind is list:
            _check_tree(item, depth + 1)
        elif kind is float and not math.isfinite(item):
            raise ProtocolError("a number is not finite")


def _no_key_twice(pairs: List[Tuple[Any, Any]]) -> Dict[str, Any]:
    out: Dict[str, Any] = {}
    for key, value in pairs:
        if isinstance(key, bytes):
            key = key.decode("utf-8", "surrogateescape")
        if not isinstance(key, str):
            raise ProtocolError("a key is not a text")
        if key in out:
            raise ProtocolError(f"the key {key!r} occurs twice")
        out[key] = value
    return out


_EMPTY: Dict[str, Any] = {"text": "", "any": None}


def _default(field: _tables.Field) -> Any:
    if field.type == "boolean":
        return bool(field.default)
    return _EMPTY.get(field.type, field.default)


# Of each message, those of the fields that may be absent.
_DEFAULTS = {name: {key: _default(field) for key, field in message.fields.items()
                    if field.default is not None} for name, message in _tables.BY_NAME.items()}


def _check_theirs(name: str, key: str, field: _tables.Field, value: Any) -> Any:
    if field.type == "uint":
        good = type(value) is int and field.min <= value <= field.max
    elif field.type == "boolean":
        good = isinstance(value, bool)
    elif field.type == "text":
        if isinstance(value, bytes):
            value = value.decode("utf-8", "surrogateescape")
        good = isinstance(value, str) and field.min <= _bytes_of(value) <= field.max
    elif field.type == "runs":
        good = _is_runs(value, field.max)
    else:
        good = True  # a tree: its user checks it
    if not good:
        raise ProtocolError(f"{name}.{key} is of a wrong type or out of range")
    return value


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def _is_runs(value: Any, most: int) -> bool:
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        return False
    for run in value:
        if not isinstance(run, list) or len(run) != 2:
            return False
        first, count = run
        if type(first) is not int or type(count) is not int or \
                not 0 <= first <= _tables.U32 or not 0 < count <= _tables.U32:
            return False
    return True
