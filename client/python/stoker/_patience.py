# SPDX-License-Identifier: MIT
"""How long and how often to try to reconnect to the daemon. Knows no socket."""
from __future__ import annotations

import math
import time

FIRST_S = 0.05
LAST_S = 1.0


class Patience:
    """Counts from the loss to the first message of the next daemon, so a daemon that dies again and
    again without a message is given up, too.

    limit: seconds; 0: never try.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._until = math.inf
        self._pause = FIRST_S

    def lose(self) -> bool:
        """The daemon is lost. True if it was not lost before: then try at once."""
        news = self._until == math.inf
        if news:
            self._until = time.monotonic() + self.limit
        return news

    def find(self) -> None:
        """The daemon has sent a message."""
        self._until = math.inf
        self._pause = FIRST_S

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._until

    def sleep(self, until: float) -> None:
        """Sleep until the next attempt, the end of the limit, or ``until``."""
        now = time.monotonic()
        time.sleep(max(0.0, min(self._pause, self._until - now, until - now)))
        self._pause = min(2 * self._pause, LAST_S)
