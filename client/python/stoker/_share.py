# SPDX-License-Identifier: MIT
"""Which positions are a reader's batches (PROTOCOL.md, section 7), to check what the daemon says.
Knows no connection."""
from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from .state import Place


class Share(NamedTuple):
    """What one rank reads. ``samples``: of an epoch, over all ranks."""

    samples: int
    batch_size: int
    rank: int
    world: int
    last_batch: str

    @property
    def _all(self) -> int:
        """The batch of all ranks together."""
        return self.batch_size * self.world

    @property
    def _offset(self) -> int:
        return self.batch_size * self.rank

    def next(self, at: Place) -> Place:
        """Where the next batch begins, when everything before ``at`` was had."""
        left = self.samples - at.position
        least = {"drop": self._all, "short": self._offset + 1}.get(self.last_batch, 1)
        if left < least:
            at = Place(at.epoch + 1, max(0, -left) if self.last_batch == "wrap" else 0)
        return Place(at.epoch, at.position + self._offset)

    def after(self, first: Place) -> Place:
        """Where the batch behind the one at ``first`` is looked for: the same for all ranks."""
        begin = first.position - self._offset
        left = self.samples - begin
        if left > self._all and not (self.last_batch == "drop" and left < 2 * self._all):
            return Place(first.epoch, begin + self._all)
        return Place(first.epoch + 1, self._all - left if self.last_batch == "wrap" else 0)

    def has(self, at: Place, fields: Mapping[str, Any]) -> bool:
        """Is this BATCH or BAD_SAMPLE the next one?"""
        first = self.next(at)
        inside = fields["position"] - first.position
        if "count" in fields:  # a batch
            left = self.samples - first.position
            short = self.last_batch == "short" and left < self.batch_size
            good = inside == 0 and fields["count"] == (left if short else self.batch_size)
        else:
            good = 0 <= inside < self.batch_size
        return good and fields["epoch"] == first.epoch and \
            self.after(first) == (fields["next_epoch"], fields["next_position"])


class Runs(Share):
    """Of a stream whose samples have several sizes: which run of one size is where, only the daemon
    knows."""

    def next(self, at: Place) -> Place:
        return at

    def has(self, at: Place, fields: Mapping[str, Any]) -> bool:
        """Is this BATCH or BAD_SAMPLE behind ``at``, in its epoch, and before where it goes on?"""
        here = Place(fields["epoch"], fields["position"])
        following = Place(fields["next_epoch"], fields["next_position"])
        forth = following > here if following.epoch == at.epoch else \
            following == Place(at.epoch + 1, 0)
        return here.epoch == at.epoch and here >= at and forth and \
            fields.get("count", 1) <= self.batch_size
