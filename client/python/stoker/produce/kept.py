# SPDX-License-Identifier: MIT
"""Producers that outlive the loaders of an epoch: they import and open things once.

Any thread, one at a time.
"""
from __future__ import annotations

from typing import Any, Dict, Optional

from ..state import Place
from .processes import Producers
from .source import Source, secret


class Kept:
    """The producers of a source, which outlive the loaders of an epoch. They end with close(), or
    with this object."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._producers: Optional[Producers] = None

    def begin(self, path: str, count: int) -> Optional[Dict[str, str]]:
        """Before the loader of an epoch: they run, and have the code as it is now. Its description,
        if that has changed."""
        if self._producers is not None:
            return self._producers.renew(Place(0, 0))
        described = self._source.description()
        self._producers = Producers(self._source, described["code"], count, path, secret())
        self._source.kept = _Lent(self._producers)
        return described

    def close(self) -> None:
        if self._producers is not None:
            self._producers.close()
        self._producers = self._source.kept = None


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
