# SPDX-License-Identifier: MIT
"""What producers are at, in memory that they share with their template: a line of numbers each.

A producer writes its own line, the template reads them all. Each number is 8 bytes, written at
once.
"""
from __future__ import annotations

import mmap
import time
from typing import Any

import numpy as np

_MADE, _SINCE, _LIMIT = range(3)  # samples; monotonic seconds, 0: idle; seconds


class Line:
    """One producer's."""

    def __init__(self, numbers: Any) -> None:
        self._numbers = numbers
        self._made, self._limit_s = numbers[_MADE], numbers[_LIMIT]

    def begin(self, limit_s: float) -> None:
        """A sample is begun, and may take so long."""
        if limit_s != self._limit_s:
            self._numbers[_LIMIT] = self._limit_s = limit_s
        self._numbers[_SINCE] = time.monotonic()

    def end(self) -> None:
        self._numbers[_SINCE] = 0.0
        self._made += 1.0
        self._numbers[_MADE] = self._made


class Board:
    """``count`` lines. Made before the fork."""

    def __init__(self, count: int) -> None:
        self._memory = memoryview(mmap.mmap(-1, max(1, count) * 3 * 8)).cast("d")
        self._lines = np.asarray(self._memory).reshape(-1, 3)
        self._past = 0.0  # samples of producers that ended

    def line(self, number: int) -> Line:
        return Line(self._memory[3 * number:3 * number + 3])

    def clear(self, number: int) -> None:
        """For another producer."""
        self._past += self._lines[number, _MADE]
        self._lines[number] = 0

    def made(self) -> int:
        """Samples that all of them made, those that ended too."""
        return int(self._past + self._lines[:, _MADE].sum())

    def is_late(self, number: int, now: float) -> bool:
        _, since, limit = self._lines[number]
        return bool(since > 0 and now > since + limit)
