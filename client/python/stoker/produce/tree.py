# SPDX-License-Identifier: MIT
"""A sample of a user's code as arrays: nested dicts, lists and tuples of arrays, tensors, numbers
and texts.

A Tree is made of one sample. It names each leaf by its place ("0", "1.boxes"), takes other samples
of the same tree apart into arrays, one a leaf, and puts batches of such arrays together again. It
can be pickled. Any thread.
"""
from __future__ import annotations

import math
import struct
import sys
from typing import (
    Any, Collection, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union)

import numpy as np

_NUMBERS = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
_PACKED = {bool: "=?", int: "=q", float: "=d"}  # numbers that become bytes without an array ...
_KINDS = {_NUMBERS[kind]: kind for kind in _PACKED}  # ... by what they are in one
DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32",
          "int64", "uint64", "float64", "complex64", "complex128")


_TEXTS: Dict[type, str] = {str: "text", bytes: "bytes"}
_STEP = 64  # bytes, by which rooms grow
_ROOM_LEAST = 256
_SPARE, _GROWTH = 2.0, 1.5  # of the first sample, and of one that had no room


def is_of_another_form(text: str) -> bool:
    """Is it what split() says of a sample that is not as the first one was?"""
    return text.startswith("ValueError: ") and " in the first sample" in text


class Leaf(NamedTuple):
    """``dtype``: one of DTYPES, or "text" or "bytes". ``shape``: of one sample; () of a number; of
    a ragged one that of the first sample, and others have as many dimensions."""

    name: str
    dtype: str
    shape: Tuple[int, ...]
    ragged: bool = False


class _Node(NamedTuple):
    """A dict, list or tuple."""

    kind: Any
    keys: Tuple[Any, ...]
    items: Tuple[Any, ...]  # each a _Node, or the number of a leaf


class Tree:
    """``leaves``: the arrays of a sample, in their order; ``sizes``: bytes of each; None if samples
    differ in that. Raises TypeError, which names the leaf, if there is something that is neither
    array, tensor nor number, nor text or bytes.

    ``ragged``: names of leaves whose samples have shapes of their own, or whether all arrays are;
    texts always are. None: there may be neither. Raises ValueError for a name that is no leaf.
    """

    def __init__(self, sample: Any, ragged: Union[None, bool, Collection[str]] = None) -> None:
        self.leaves: List[Leaf] = []
        self._ragged = ragged
        self._root = self._grow(sample, "")
        self._check_names()
        # Of each leaf: the type of Python that its numbers have, if it is one, dtype and shape.
        self._forms = [(None if leaf.shape else _KINDS.get(leaf.dtype), _dtype(leaf), leaf.shape)
                       for leaf in self.leaves]
        sizes = [dtype.itemsize * math.prod(shape) for _, dtype, shape in self._forms]
        # Bytes of numbers that the slots of ragged ones have room for.
        self.rooms = [_rounded(size * _SPARE) if leaf.ragged else 0
                      for leaf, size in zip(self.leaves, sizes)]
        self.sizes = None if any(self.rooms) else sizes

    def grow(self, number: int, needed: int) -> int:
        """Let samples of a ragged leaf have so many bytes; the room that they have then."""
        self.rooms[number] = max(self.rooms[number], _rounded(needed * _GROWTH))
        return self.rooms[number]

    def _check_names(self) -> None:
        names = () if isinstance(self._ragged, bool) or self._ragged is None else self._ragged
        known = [leaf.name for leaf in self.leaves]
        for name in names:
            if name not in known:
                raise ValueError(f"ragged: a sample has no {name!r}: it has {', '.join(known)}")
            if not self.leaves[known.index(name)].shape:
                raise ValueError(f"ragged: {name} is a number, which has no shape"
                                 ": leave its name out")

    def _is_ragged(self, name: str, shape: Tuple[int, ...]) -> bool:
        if isinstance(self._ragged, bool) or self._ragged is None:
            return bool(self._ragged) and len(shape) > 0
        return name in self._ragged

    @property
    def nested(self) -> bool:
        """Is a sample more than an array?"""
        return isinstance(self._root, _Node)

    def described(self, rooms: bool = True) -> str:
        """The arrays, as the daemon takes them. ``rooms``: with those of ragged ones."""
        return " ".join(f"array{number}:{leaf.dtype}:{_shape(leaf)}" + (
            f"@{self.rooms[number]}" if leaf.ragged and rooms else "")
                        for number, leaf in enumerate(self.leaves))

    def described_in(self, request: Mapping[str, Any], labels: bool) -> Dict[str, Any]:
        """What a request says of the arrays: in its dataset, or with ``labels`` in its Map."""
        told = {"arrays": self.described()}
        if not labels:
            return {"dataset": {**request["dataset"], **told}}
        return {"transforms": [{**transform, **told} if transform["name"] == "Map" else transform
                               for transform in request["transforms"]]}

    def number_of(self, field: str, labels: bool) -> Optional[int]:
        """Of the ragged leaf that is this field of a ring; None: it is none. ``labels``: there are
        labels beside the tree."""
        names = ["image", "array1" if labels else "label"]
        names += [f"array{number}" for number in range(2, len(self.leaves))]
        return next((number for number, leaf in enumerate(self.leaves)
                     if leaf.ragged and names[number] == field), None)

    def split(self, sample: Any) -> List[np.ndarray[Any, Any]]:
        """A sample's arrays, one a leaf. Raises ValueError or TypeError, which name the leaf, if it
        is of another tree, dtype or shape."""
        out: List[np.ndarray[Any, Any]] = []
        self._split(self._root, sample, "", out)
        return out

    def parts(self, sample: Any) -> List[Any]:
        """split(), as contiguous memory of any form: buffers of ``sizes``. They may be the sample's
        own. Quick where it is just as the first one was. Of ragged ones the shape stands in front,
        as a part of its own."""
        out: List[Any] = []
        if self.sizes is None:
            return self._ragged_parts(sample)
        try:
            if self._take(self._root, sample, out):
                return out
        except struct.error:  # a number that is too large: split() says so
            pass
        return [np.ascontiguousarray(array) for array in self.split(sample)]

    def _ragged_parts(self, sample: Any) -> List[Any]:
        out: List[Any] = []
        for leaf, array in zip(self.leaves, self.split(sample)):
            if leaf.ragged:
                out.append(struct.pack(f"={array.ndim}Q", *array.shape))
            if array.size:
                out.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        return out

    def _take(self, node: Any, thing: Any, out: List[Any]) -> bool:
        """False: look closer."""
        kind = type(thing)
        if type(node) is _Node:
            if kind is not node.kind or len(thing) != len(node.keys):
                return False
            things = map(thing.get, node.keys) if issubclass(kind, dict) else thing
            for item, part in zip(node.items, things):
                if not self._take(item, part, out):
                    return False
            return True
        number, dtype, shape = self._forms[node]
        if kind is number:
            out.append(struct.pack(_PACKED[kind], thing))
            return True
        if issubclass(kind, np.generic):
            if shape or thing.dtype != dtype:
                return False
            out.append(thing.tobytes())
            return True
        if kind.__module__ == "torch":
            try:
                thing = thing.numpy()
            except (AttributeError, RuntimeError, TypeError):
                return False
        elif kind is not np.ndarray:
            return False
        if thing.dtype != dtype or thing.shape != shape or not thing.flags.c_contiguous:
            return False
        out.append(thing)
        return True

    def join(self, arrays: Sequence[Any]) -> Any:
        """The tree of a batch: in the place of each leaf what ``arrays`` has for it."""
        return self._join(self._root, arrays)

    def _grow(self, thing: Any, name: str) -> Any:
        keys = _keys(thing)
        if keys is None:
            text = None if self._ragged is None else _TEXTS.get(type(thing))
            if text is not None:
                self.leaves.append(Leaf(name or "0", text, (len(_encoded(thing)),), True))
                return len(self.leaves) - 1
            array = _array(thing, name or "the sample")
            self.leaves.append(Leaf(name or "0", array.dtype.name, array.shape,
                                    self._is_ragged(name or "0", array.shape)))
            return len(self.leaves) - 1
        items = tuple(self._grow(thing[key], _below(name, key)) for key in keys)
        return _Node(type(thing), keys, items)

    def _split(self, node: Any, thing: Any, name: str, out: List[np.ndarray[Any, Any]]) -> None:
        if not isinstance(node, _Node):
            out.append(_fit(self.leaves[node], thing))
            return
        keys = _keys(thing)
        if keys is None or type(thing) is not node.kind or set(keys) != set(node.keys):
            raise ValueError(f"{name or 'the sample'} is {_words(type(thing), keys or ())}, and "
                             f"was {_words(node.kind, node.keys)} in the first sample"
                             ": return one type and shape for all samples")
        for key, item in zip(node.keys, node.items):
            self._split(item, thing[key], _below(name, key), out)

    def _join(self, node: Any, arrays: Sequence[Any]) -> Any:
        if not isinstance(node, _Node):
            return arrays[node]
        items = [self._join(item, arrays) for item in node.items]
        if issubclass(node.kind, dict):
            return dict(zip(node.keys, items))
        return node.kind(*items) if hasattr(node.kind, "_fields") else node.kind(items)


def _below(name: str, key: Any) -> str:
    return f"{name}.{key}" if name else str(key)


def _keys(thing: Any) -> Optional[Tuple[Any, ...]]:
    """Of what has parts."""
    if isinstance(thing, dict):
        return tuple(thing)
    if isinstance(thing, (list, tuple)):
        return tuple(range(len(thing)))
    return None


def _words(kind: type, keys: Tuple[Any, ...]) -> str:
    if issubclass(kind, dict):
        return f"a dict of {', '.join(map(str, keys))}"
    if issubclass(kind, (list, tuple)):
        return f"a {kind.__qualname__} of {len(keys)}"
    return f"a {kind.__qualname__}"


def _array(thing: Any, name: str) -> np.ndarray[Any, Any]:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(thing, torch.Tensor):
        if thing.dtype == torch.bfloat16:
            raise TypeError(f"{name} is a tensor of bfloat16, which NumPy lacks: give float16 or "
                            "float32")
        thing = thing.detach().cpu().numpy()
    elif type(thing) in _NUMBERS:
        thing = np.asarray(thing, _NUMBERS[type(thing)])
    if not isinstance(thing, (np.ndarray, np.generic)):
        raise TypeError(f"{name} is a {type(thing).__qualname__}: a sample of gives='arrays' is "
                        "made of arrays, tensors and numbers")
    array = np.asarray(thing)
    if array.dtype.name not in DTYPES:
        raise TypeError(f"{name} is of {array.dtype}, which is not possible: {', '.join(DTYPES)}"
                        ": return numbers")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _dtype(leaf: Leaf) -> np.dtype[Any]:
    return np.dtype(np.uint8 if leaf.dtype in _TEXTS.values() else leaf.dtype)


def _shape(leaf: Leaf) -> str:
    return "x".join("?" if leaf.ragged else str(edge) for edge in leaf.shape)


def _rounded(room: float) -> int:
    return max(_ROOM_LEAST, -(-int(room) // _STEP) * _STEP)


def _encoded(text: Any) -> bytes:
    made: bytes = text.encode() if isinstance(text, str) else text
    return made


def _fit(leaf: Leaf, thing: Any) -> np.ndarray[Any, Any]:
    """The array of a leaf, if it is as in the first sample."""
    if leaf.dtype in _TEXTS.values():
        if _TEXTS.get(type(thing)) != leaf.dtype:
            raise ValueError(f"{leaf.name} is {type(thing).__qualname__}, and was {leaf.dtype} in "
                             "the first sample: make all of one type")
        return np.frombuffer(_encoded(thing), np.uint8)
    array = _array(thing, leaf.name)
    if array.dtype.name != leaf.dtype:
        raise ValueError(f"{leaf.name} is of {array.dtype}, and was of {leaf.dtype} in the first "
                         "sample: make all of one type")
    if leaf.ragged and array.ndim != len(leaf.shape):
        raise ValueError(f"{leaf.name} has the shape {array.shape}, and had {leaf.shape} in the "
                         "first sample: make all of as many dimensions")
    if not leaf.ragged and array.shape != leaf.shape:
        raise ValueError(f"{leaf.name} has the shape {array.shape}, and had {leaf.shape} in the "
                         "first sample: make all of one shape, or say that it is ragged")
    return array
