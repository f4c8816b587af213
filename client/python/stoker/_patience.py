# SPDX-License-Identifier: MIT
"""How long, and how often, to try to reach a daemon that went away. Knows no socket."""
from __future__ import annotations

import math
import time

FIRST_S = 0.05
LAST_S = 1.0


class Patience:
    """Counts from the loss to the first word of the daemon that is there again, so that one that
    dies over and over, and says nothing in between, is given up, too.

    limit: seconds; 0: never try.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._until = math.inf
        self._pause = FIRST_S

    def lose(self) -> bool:
        """It is gone. True if this is news: then try at once."""
        news = self._until == math.inf
        if news:
            self._until = time.monotonic() + self.limit
        return news

    def find(self) -> None:
        """It has said something."""
        self._until = math.inf
        self._pause = FIRST_S

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._until

    def sleep(self, until: float) -> None:
        """Until it is worth another try, or the time is over, or ``until``."""
        now = time.monotonic()
        time.sleep(max(0.0, min(self._pause, self._until - now, until - now)))
        self._pause = min(2 * self._pause, LAST_S)
