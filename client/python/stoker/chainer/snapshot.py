# SPDX-License-Identifier: MIT
"""A loader's state in types that all serializers of chainer know. Needs no chainer."""
from __future__ import annotations

import contextlib
import json
from typing import Any, Mapping, Optional

import numpy as np

from ..errors import TokenError
from .examples import Examples, State

_BLOCK = 4096  # bytes of a state: a multiple of these
# A state of version 1: its fields, with texts padded to the bytes of a hash.
_TEXT = 32
_FIRST = {"version": 1, "dataset": "", "pipeline": "", "order_seed": 0, "augment_seed": 0,
          "shuffle": True, "subset": None, "exif_orientation": False, "sampling": "",
          "resize": "", "epoch": 0, "position": 0}


def serialized(serializer: Any, ours: Mapping[str, Any]) -> Mapping[str, Any]:
    """A state in a type that all serializers of chainer know: as bytes, of a size that hardly ever
    differs between two of one stream."""
    text = json.dumps(ours).encode()
    array = np.frombuffer(text.ljust(-(-len(text) // _BLOCK) * _BLOCK), np.uint8).copy()
    try:
        read = bytes(np.asarray(serializer("state", array), np.uint8))
    except ValueError:
        raise TokenError.local("the snapshot is of a stream with other transforms: give those of "
                               "its run") from None
    except KeyError:
        return _serialized_first(serializer)
    try:
        return dict(json.loads(read))
    except ValueError:
        raise TokenError.local("the state was not made by stoker"
                               ": load one that serialize() wrote") from None


def _serialized_first(serializer: Any) -> Mapping[str, Any]:
    """Of version 1; there were some without a word for resizes."""
    out = {}
    for key, value in _FIRST.items():
        try:
            out[key] = _decode(serializer(key, _encode(value)), value)
        except KeyError:
            if key != "resize":
                raise
    return out


def _encode(value: Any) -> Any:
    """In types that all serializers of chainer know: a text as bytes, a range (or None) as two
    numbers."""
    if isinstance(value, str):
        return np.frombuffer(value.encode().ljust(_TEXT), np.uint8).copy()
    if value is None or isinstance(value, list):
        return np.array([-1 if number is None else number for number in value or (None, None)])
    return value


def _decode(value: Any, ours: Any) -> Any:
    if ours is None or isinstance(ours, list):
        start, stop = (None if number < 0 else int(number) for number in value)
        return None if start is None else [start, stop]
    if not isinstance(ours, str):
        return type(ours)(value)
    try:
        return bytes(np.asarray(value, np.uint8)).decode("ascii").rstrip()
    except UnicodeDecodeError:
        raise TokenError.local("the state was not made by stoker"
                               ": load one that serialize() wrote") from None


def serialized_order(serializer: Any, examples: Examples, previous: Optional[float]
                     ) -> Optional[float]:
    """The place in an order that Chainer draws, as its own iterators write and read it. Returns
    previous_epoch_detail."""
    state = examples.state
    order = None if state.order is None else np.array(state.order)  # a deserializer fills it
    read = State(int(serializer("current_position", state.position)),
                 int(serializer("epoch", state.epoch)),
                 bool(serializer("is_new_epoch", state.is_new_epoch)), order)
    if order is not None:
        try:
            found = serializer("order", order)
        except KeyError:
            found = serializer("_order", order)
        read = read._replace(order=np.asarray(found))
    with contextlib.suppress(KeyError):  # of Chainer's own
        examples.seed = int(serializer("augment_seed", examples.seed))
    detail = serializer("previous_epoch_detail", -1.0 if previous is None else previous)
    same = read.order is None or state.order is None or np.array_equal(read.order, state.order)
    if read[:3] != state[:3] or not same:
        examples.move(read)
    return None if detail < 0 else float(detail)
