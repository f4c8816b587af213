# SPDX-License-Identifier: MIT
"""A user's code whose samples are of any tree, types and shapes: each lies sealed in a field of
bytes.

Runs in the program, but for Sealing, which runs in producers, too.
"""
from __future__ import annotations

import hashlib
import pickle
import random
from typing import Any, Callable, Dict, Optional

import numpy as np

from . import shipping
from .kept import KeptSource
from .producer import code_of
from .sealed import seal, size_of, unseal
from .seeds import Seeds, as_they_were
from .tree import Tree

_SPARE = 1.25  # of the largest sample that is known
_PAGE = 4096


class Sealing:
    """``first``: is added to each index. ``size``: of what is sealed."""

    def __init__(self, code: Any, size: int) -> None:
        self.code, self.size, self.first = code, size, 0
        self._room: Optional[np.ndarray[Any, Any]] = None

    def __getitem__(self, index: int) -> np.ndarray[Any, Any]:
        """Valid until the next call."""
        made = code_of(self.code)(index + self.first)
        if self._room is None or len(self._room) != self.size:
            self._room = np.empty(self.size, np.uint8)
        return seal(made, self.size, self._room)

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_room": None}


class SealedSource(KeptSource):
    """``samples`` may be set before begin()."""

    def __init__(self, code: Any, name: str) -> None:
        super().__init__(Sealing(code, 0), np.empty(0, np.uint8), name, 1)

    def begin(self, path: str, count: int) -> None:
        if self.code.size == 0:
            self.fit(_first_size(self.code.code))
        super().begin(path, count)

    def fit(self, needed: int) -> bool:
        """Let samples of so many bytes have room, from the next begin() on. False: they had."""
        if needed <= self.code.size:
            return False
        self.code.size = -(-int(needed * _SPARE) // _PAGE) * _PAGE
        self.tree = Tree(np.empty(self.code.size, np.uint8))
        return True


def opener(stream: Any) -> Callable[[Any], Any]:
    """Makes, of a message with a batch, a list of its samples, as their producers had them. Their
    arrays lie in the ring."""
    name = next(name for name in stream.fields if name != "index")

    def opened(message: Any) -> Any:
        arrays, _ = stream._take(message, [name])
        return [unseal(sealed) for sealed in arrays[name]]
    return opened


def program_seed() -> int:
    """Another one for each state of ``random`` and ``numpy.random``, from which it draws nothing:
    so code that is seeded by it follows what the program was seeded with."""
    states = random.getstate(), np.random.get_state()
    return int.from_bytes(hashlib.blake2b(pickle.dumps(states), digest_size=7).digest(), "little")


def _first_size(code: Any) -> int:
    """Of sample 0: of a copy, since what the code opens at its first call is not to be held by the
    object that goes to other processes. What it raises is raised where the sample is asked for."""
    try:
        copy = shipping.copied(code)
        with as_they_were():
            Seeds(copy).set(0, 0, 0)
            return size_of(code_of(copy)(0))
    except Exception:
        return _PAGE
