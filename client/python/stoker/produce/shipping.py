# SPDX-License-Identifier: MIT
"""A user's object on its way to a fresh process.

It goes by pickle, unless it names something that a fresh process cannot import: what is defined in
``__main__`` or in a notebook. pickle writes those by name, and fails only where it is read; so they
go by cloudpickle. Unpickling runs the user's code, so only the user's own processes do it.
"""
from __future__ import annotations

import importlib.util
import io
import pickle
import sys
import types
from typing import Any, List, Optional, Set

__all__ = ["CannotShip", "pack", "unpack"]


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


def pack(thing: object) -> bytes:
    """Raises CannotShip, or ImportError if it takes cloudpickle and that is not there."""
    out = io.BytesIO()
    try:
        _ByName(out, pickle.HIGHEST_PROTOCOL).dump(thing)
        return out.getvalue()
    except _NotImportable:
        return _by_value(thing)
    except Exception as error:  # whatever the object's own code raises
        raise CannotShip(_culprit(thing), error) from error


def _by_value(thing: object) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        raise ImportError(
            "what is defined in the main script or in a notebook takes cloudpickle to reach other "
            "processes: pip install cloudpickle, or put it into a module of its own") from None
    try:
        packed: bytes = cloudpickle.dumps(thing)
        return packed
    except Exception as error:
        raise CannotShip(_culprit(thing), error) from error


def unpack(data: bytes) -> Any:
    return pickle.loads(data)


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
