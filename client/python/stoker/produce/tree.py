# SPDX-License-Identifier: MIT
"""A sample of a user's code as arrays: nested dicts, lists and tuples of arrays, tensors and
numbers.

A Tree is made of one sample. It names each leaf by its place ("0", "1.boxes"), takes other samples
of the same tree apart into arrays, one a leaf, and puts batches of such arrays together again. It
can be pickled. Any thread.
"""
from __future__ import annotations

import math
import struct
import sys
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

_NUMBERS = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
_PACKED = {bool: "=?", int: "=q", float: "=d"}  # numbers that become bytes without an array ...
_KINDS = {_NUMBERS[kind]: kind for kind in _PACKED}  # ... by what they are in one
DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32",
          "int64", "uint64", "float64", "complex64", "complex128")


class Leaf(NamedTuple):
    """``dtype``: one of DTYPES. ``shape``: of one sample; () of a number."""

    name: str
    dtype: str
    shape: Tuple[int, ...]


class _Node(NamedTuple):
    """A dict, list or tuple."""

    kind: Any
    keys: Tuple[Any, ...]
    items: Tuple[Any, ...]  # each a _Node, or the number of a leaf


class Tree:
    """``leaves``: the arrays of a sample, in their order; ``sizes``: bytes of each. Raises
    TypeError, which names the leaf, if there is something that is neither array, tensor nor number.
    """

    def __init__(self, sample: Any) -> None:
        self.leaves: List[Leaf] = []
        self._root = self._grow(sample, "")
        # Of each leaf: the type of Python that its numbers have, if it is one, dtype and shape.
        self._forms = [(None if leaf.shape else _KINDS.get(leaf.dtype), np.dtype(leaf.dtype),
                        leaf.shape) for leaf in self.leaves]
        self.sizes = [dtype.itemsize * math.prod(shape) for _, dtype, shape in self._forms]

    @property
    def nested(self) -> bool:
        """Is a sample more than an array?"""
        return isinstance(self._root, _Node)

    def described(self) -> str:
        """The arrays, as the daemon takes them."""
        return " ".join(f"array{number}:{leaf.dtype}:{'x'.join(map(str, leaf.shape))}"
                        for number, leaf in enumerate(self.leaves))

    def split(self, sample: Any) -> List[np.ndarray[Any, Any]]:
        """A sample's arrays, one a leaf. Raises ValueError or TypeError, which name the leaf, if it
        is of another tree, dtype or shape."""
        out: List[np.ndarray[Any, Any]] = []
        self._split(self._root, sample, "", out)
        return out

    def parts(self, sample: Any) -> List[Any]:
        """split(), as contiguous memory of any form: buffers of ``sizes``. They may be the sample's
        own. Quick where it is just as the first one was."""
        out: List[Any] = []
        try:
            if self._take(self._root, sample, out):
                return out
        except struct.error:  # a number that is too large: split() says so
            pass
        return [np.ascontiguousarray(array) for array in self.split(sample)]

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
            array = _array(thing, name or "the sample")
            self.leaves.append(Leaf(name or "0", array.dtype.name, array.shape))
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
                             f"was {_words(node.kind, node.keys)} in the first sample")
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
        raise TypeError(f"{name} is of {array.dtype}, which is not possible: {', '.join(DTYPES)}")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _fit(leaf: Leaf, thing: Any) -> np.ndarray[Any, Any]:
    """The array of a leaf, if it is as in the first sample."""
    array = _array(thing, leaf.name)
    if array.dtype.name != leaf.dtype:
        raise ValueError(f"{leaf.name} is of {array.dtype}, and was of {leaf.dtype} in the first "
                         "sample: make all of one type")
    if array.shape != leaf.shape:
        raise ValueError(f"{leaf.name} has the shape {array.shape}, and had {leaf.shape} in the "
                         "first sample: make all of one shape")
    return array
