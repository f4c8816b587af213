# SPDX-License-Identifier: MIT
"""Private mappings of a ring, and the regions of them that batches use.

A program may write to what it got: the pages become its own, and neither the daemon nor another
reader sees it. But such a page no longer shows what the daemon writes to the ring later. Therefore:

- A page is used by one region of a mapping at a time. Batches that share a page, because they do
  not begin at the start of one, are in different mappings of the same ring.
- A batch that goes on at the ring's begin is one region of a mapping that has the field twice.
- When a region ends, pages that were written are dropped.
- A region that is kept while its slots go back to the daemon gets all of its pages for itself.

Knows no message. Any thread, but not two at a time on one region: its lease has the lock.
"""
from __future__ import annotations

import errno
from typing import Any, List, Optional, Set, Tuple

from . import _memory
from ._memory import PAGE


class Region:
    """The whole pages around [address, address + length) of a mapping, from its `take()` to
    `drop()`. ``lock``: that of its lease."""

    __slots__ = ("begin", "length", "lock", "_mapping", "_kept", "_faults")

    def __init__(self, mapping: Mapping, begin: int, length: int) -> None:
        self.begin = begin
        self.length = length
        self.lock: Any = None
        self._mapping: Optional[Mapping] = mapping  # None: anonymous memory
        self._kept = False
        self._faults = _memory.faults()

    def keep(self) -> None:
        """Make the pages this process' own: the slots may be used again. Raises MemoryError."""
        try:
            self._keep()
        except OSError as error:
            raise MemoryError(f"cannot keep a batch of {self.length} bytes: {error.strerror}; keep "
                              "less, or copy parts of it") from error

    def _keep(self) -> None:
        mapping = self._mapping
        if mapping is None:
            return
        try:
            if not self._kept:
                _memory.populate(self.begin, self.length)
            self._kept = True
        except OSError as error:
            if error.errno != errno.EINVAL:  # an older kernel
                raise
            self._detach(mapping)
        if mapping.left:
            self.leave()

    def leave(self) -> None:
        """The ring is not used any more: if the region is kept, it shall not pin the ring."""
        if not self._kept:
            return
        with self.lock:
            mapping = self._mapping
            if mapping is None or self not in mapping.taken:  # dropped, or done
                return
            try:
                self._detach(mapping)
            except OSError:  # too little memory: the ring stays as long as the region
                pass

    def _detach(self, mapping: Mapping) -> None:
        _memory.replace(self.begin, self.length)
        mapping.cede(self)
        self._mapping = None

    def drop(self) -> None:
        """Nobody uses the region any more."""
        mapping = self._mapping
        if mapping is None:
            _memory.unmap(self.begin, self.length)
        else:
            # The first write to a page is a fault: mostly there was none.
            faults = _memory.faults()
            if self._kept or ((faults < 0 or faults != self._faults) and
                              _memory.is_written(self.begin, self.length)):
                _memory.discard(self.begin, self.length)
            mapping.taken.discard(self)


class Twice:
    """A part of a ring, mapped twice, read-only, as the daemon writes to it. Raises OSError."""

    __slots__ = ("address", "_length")

    def __init__(self, fd: int, offset: int, length: int) -> None:
        self._length = 0
        self.address = _memory.map_twice(fd, offset, length, True)
        self._length = 2 * length

    def __del__(self) -> None:
        try:
            if self._length:
                _memory.unmap(self.address, self._length)
        except Exception:  # when the interpreter exits, modules may be gone
            pass


class Mapping:
    """``length`` bytes of a ring, mapped at ``address``: from its begin on; or ``twice``, with this
    offset, the second time behind the first. Lives as long as a region of it.

    ``taken``: the regions in use. ``left``: no more are taken. Raises OSError."""

    def __init__(self, fd: int, length: int, twice: Optional[int] = None) -> None:
        self.left = False
        self.taken: Set[Region] = set()
        self._ceded: List[Tuple[int, int]] = []  # what was detached: begin, end
        self._end = 0
        if twice is None:
            self.address = _memory.map_private(fd, length)
        else:
            self.address = _memory.map_twice(fd, twice, length, False)
            length *= 2
        self._end = self.address + (length + PAGE - 1) // PAGE * PAGE

    def take(self, offset: int, length: int) -> Optional[Region]:
        """The region for these bytes; None if another one uses a page of it."""
        begin = (self.address + offset) // PAGE * PAGE
        end = (self.address + offset + length + PAGE - 1) // PAGE * PAGE
        for taken in list(self.taken):
            if begin < taken.begin + taken.length and taken.begin < end:
                return None
        for first, last in self._ceded:
            if begin < last and first < end:
                return None
        region = Region(self, begin, end - begin)
        self.taken.add(region)
        return region

    def cede(self, region: Region) -> None:
        """The region's memory is no longer part of the mapping."""
        self._ceded.append((region.begin, region.begin + region.length))
        self.taken.discard(region)

    def leave(self) -> None:
        """No more regions are taken."""
        self.left = True
        for region in list(self.taken):
            region.leave()

    def __del__(self) -> None:
        begin = self.address if self._end else 0
        try:
            for first, last in sorted(self._ceded) + [(self._end, self._end)]:
                if begin < first:
                    _memory.unmap(begin, first - begin)
                begin = last
        except Exception:  # when the interpreter exits, modules may be gone
            pass
