# SPDX-License-Identifier: MIT
"""Producers that outlive the loaders of an epoch: they import and open things once.

Any thread, one at a time.
"""
from __future__ import annotations

import os
import weakref
from typing import Any, Dict, Optional, Tuple

from ..errors import ProducerError
from ..state import Place
from .processes import Producers
from .source import Source, secret

_Key = Tuple[str, str, int, str]  # code, arrays, processes, the daemon's socket


class Kept:
    """The producers of a source, which outlive the loaders of an epoch. They end with close(), or
    with this object; or they go to another one of the same code, when this one rests."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._producers: Optional[Producers] = None
        self._at: Tuple[int, str] = 0, ""
        self._rests: Optional[_Key] = None

    def begin(self, path: str, count: int) -> Optional[Dict[str, str]]:
        """Before the loader of an epoch: they run, and have the code as it is now. Its description,
        if that has changed."""
        if self._rests is not None and _resting.get(self._rests) is self:
            del _resting[self._rests]
        self._rests = None
        if self._producers is not None:
            return self._producers.renew(Place(0, 0))
        described = self._source.description()
        self._at = count, path
        self._producers = self._taken_over(described["code"]) or Producers(
            self._source, described["code"], count, path, secret())
        self._source.kept = _Lent(self._producers)
        return described

    def rest(self) -> None:
        """No sample is asked for until begin(): another one of the same code may have them. A
        program that evaluates by a new loader each time so starts no new ones."""
        if self._producers is not None:
            self._rests = self._key(self._producers.code)
            _resting[self._rests] = self

    def close(self) -> None:
        if self._producers is not None:
            self._producers.close()
        self._producers = self._source.kept = None

    def _key(self, code: str) -> _Key:
        tree = self._source.tree
        return code, "" if tree is None else tree.described(), *self._at

    def _taken_over(self, code: str) -> Optional[Producers]:
        other = _resting.pop(self._key(code), None)
        found = None if other is None else other._producers
        if other is None or found is None:
            return None
        try:
            found.check()
        except ProducerError:
            return None
        other._producers = other._source.kept = None
        found.adopt(self._source)
        return found


class KeptSource(Source):
    """A dataset, whose producers outlive the loaders of an epoch."""

    def __init__(self, code: Any, like: Any, name: str, samples: Optional[int] = None) -> None:
        super().__init__(code, samples, gives="arrays", like=like)
        self.name = name
        self._producers = Kept(self)
        self._now: Optional[Dict[str, str]] = None

    @staticmethod
    def _ragged(_: Any) -> None:
        """What has texts goes sealed."""

    def begin(self, path: str, count: int) -> None:
        """Before the loader of an epoch. A digest of a large dataset takes its time: once."""
        before, self._now = self._now, None
        self._now = self._producers.begin(path, count) or before

    def rest(self) -> None:
        self._producers.rest()

    def description(self) -> Dict[str, str]:
        return super().description() if self._now is None else self._now

    def close(self) -> None:
        self._producers.close()
        self._now = None


class _Lent:
    """Producers that their borrower neither ends nor gives another object."""

    def __init__(self, producers: Producers) -> None:
        self.check = producers.check

    def renew(self, _: Place) -> None:
        pass

    def state(self) -> Dict[str, str]:
        return {}

    def close(self) -> None:
        pass


_resting: weakref.WeakValueDictionary[_Key, Kept] = weakref.WeakValueDictionary()
os.register_at_fork(after_in_child=_resting.clear)  # they are the parent's
