# SPDX-License-Identifier: MIT
"""Random numbers of a user's code: seeded before each call, so that a sample's bytes depend on
(augment seed, epoch, position) and on nothing else.

Seeded are Python's ``random``, NumPy's and torch's global generators where they are imported, and
the generators that the object itself holds: ``random.Random``, ``numpy.random.Generator`` and
``RandomState``, ``torch.Generator``, and what has ``set_random_seed()`` (albumentations 2). Code
that draws from elsewhere (``os.urandom``, ``secrets``, the clock) makes other bytes each time.
One thread at a time.
"""
from __future__ import annotations

import contextlib
import hashlib
import random
import struct
import sys
from typing import Any, Callable, Iterator, List, Optional, Set, Tuple

import numpy as np

_MASK = 2 ** 64 - 1
_ODD = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio: splitmix64's step
_DEEPEST = 12  # of attributes and items, from the object on
_ITEMS_MAX = 4096  # of a list or a dict that are looked at
_PCG = (np.random.PCG64, np.random.PCG64DXSM)


def seed_of(augment_seed: int, epoch: int, position: int) -> int:
    """64 bits: the first of BLAKE2b over the three as little-endian 64-bit integers."""
    packed = struct.pack("<QQQ", augment_seed & _MASK, epoch & _MASK, position & _MASK)
    return int.from_bytes(hashlib.blake2b(packed, digest_size=8).digest(), "little")


def _step(seed: int, number: int) -> int:
    """Another seed for each generator: splitmix64 (Steele, Lea, Flood 2014)."""
    value = (seed + _ODD * (number + 1)) & _MASK
    value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ value >> 27) * 0x94D049BB133111EB) & _MASK
    return value ^ value >> 31


class _Later(random.Random):
    """Python's generator, whose seed is worked out when something is drawn: that takes longer than
    many a sample. It draws what one that is seeded at once does."""

    _due: Optional[int] = None

    def begin(self, seed: int) -> None:
        self._due = seed
        self.gauss_next = None

    def _settle(self) -> None:
        due, self._due = self._due, None
        super().seed(due)

    def random(self) -> float:
        if self._due is not None:
            self._settle()
        return super().random()

    def getrandbits(self, count: int, /) -> int:
        if self._due is not None:
            self._settle()
        return super().getrandbits(count)

    def seed(self, *arguments: Any, **named: Any) -> None:
        self._due = None
        super().seed(*arguments, **named)

    def getstate(self) -> Any:
        if self._due is not None:
            self._settle()
        return super().getstate()

    def setstate(self, state: Any) -> None:
        self._due = None
        super().setstate(state)


_later: Optional[_Later] = None


def seed_later() -> None:
    """Have the functions of ``random`` draw from a _Later. For a process that has not imported the
    user's code yet, which may then import them by their names."""
    global _later
    module: Any = random
    old, _later = module._inst, _Later()
    for name, found in list(vars(random).items()):
        if getattr(found, "__self__", None) is old:
            setattr(random, name, getattr(_later, name))
    module._inst = _later


class Seeds:
    """Seeds what an object may draw from. ``names``: the generators that it holds, for people."""

    def __init__(self, thing: object) -> None:
        self.names: List[str] = []
        self._held: List[Callable[[int], object]] = []
        for name, seed in _held(thing, "", set(), 0):
            self.names.append(name)
            self._held.append(seed)

    def set(self, augment_seed: int, epoch: int, position: int) -> None:
        seed = seed_of(augment_seed, epoch, position)
        if _later is None:
            random.seed(seed)
        else:
            _later.begin(seed)
        np.random.seed(seed & 0xFFFFFFFF)
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.default_generator.manual_seed(seed >> 1)
        for number, held in enumerate(self._held):
            held(_step(seed, number))


@contextlib.contextmanager
def as_they_were() -> Iterator[None]:
    """Behind it the global generators are as before: they are the program's."""
    torch = sys.modules.get("torch")
    states = random.getstate(), np.random.get_state()
    drawn = None if torch is None else torch.default_generator.get_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        if torch is not None and drawn is not None:
            torch.default_generator.set_state(drawn)


def _seed_generator(generator: np.random.Generator) -> Callable[[int], object]:
    bits = generator.bit_generator
    kind = type(bits)
    name = kind.__name__

    def seed(value: int) -> None:
        bits.state = kind(value).state

    def seed_pcg(value: int) -> None:
        """All that its state is, at once: NumPy's way takes 20 times as long."""
        made = hashlib.blake2b(value.to_bytes(8, "little"), digest_size=32).digest()
        bits.state = {"bit_generator": name, "has_uint32": 0, "uinteger": 0, "state": {
            "state": int.from_bytes(made[:16], "little"),
            "inc": int.from_bytes(made[16:], "little") | 1}}
    return seed_pcg if kind in _PCG else seed


def _seed_torch(generator: Any) -> Callable[[int], object]:
    return lambda value: generator.manual_seed(value >> 1)


def _seeder(thing: Any) -> Any:
    """What seeds it with 64 bits, if it is a generator."""
    if isinstance(thing, random.Random):
        return thing.seed
    if isinstance(thing, np.random.Generator):
        return _seed_generator(thing)
    if isinstance(thing, np.random.RandomState):
        return lambda value: thing.seed(value & 0xFFFFFFFF)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(thing, torch.Generator):
        return _seed_torch(thing)
    own = getattr(type(thing), "set_random_seed", None)
    if callable(own):
        return lambda value: thing.set_random_seed(value & 0xFFFFFFFF)
    return None


def _parts(thing: Any) -> Iterator[Tuple[str, Any]]:
    """What it holds, with a name."""
    if isinstance(thing, dict):
        items = list(thing.items())[:_ITEMS_MAX]
        yield from ((f"[{key!r:.40}]", value) for key, value in items)
    elif isinstance(thing, (list, tuple)):
        yield from ((f"[{number}]", item) for number, item in enumerate(thing[:_ITEMS_MAX]))
    else:
        closure = getattr(thing, "__closure__", None) or ()
        names = getattr(getattr(thing, "__code__", None), "co_freevars", ())
        for name, cell in zip(names, closure):
            try:
                yield f".{name}", cell.cell_contents
            except ValueError:  # it is not filled yet
                pass
        owner = getattr(thing, "__self__", None)
        if owner is not None:
            yield "", owner
        state = getattr(thing, "__dict__", None)
        if isinstance(state, dict):
            yield from ((f".{name}", value) for name, value in sorted(state.items()))
        for kind in type(thing).__mro__:
            for name in getattr(kind, "__slots__", ()):
                if isinstance(name, str) and name not in ("__dict__", "__weakref__"):
                    value = getattr(thing, name, None)
                    yield f".{name}", value


def _held(thing: Any, name: str, seen: Set[int], depth: int
          ) -> Iterator[Tuple[str, Callable[[int], object]]]:
    if depth > _DEEPEST or id(thing) in seen or isinstance(
            thing, (str, bytes, int, float, complex, type(None), type, np.ndarray,
                    type(sys))):
        return
    seen.add(id(thing))
    seed = _seeder(thing)
    if seed is not None:
        yield name.lstrip(".") or type(thing).__qualname__, seed
        return
    for more, part in _parts(thing):
        yield from _held(part, name + more, seen, depth + 1)
