# SPDX-License-Identifier: MIT
"""The table of the bench: what was measured, round by round, and the rows that are made of it."""

import dataclasses
import statistics
from typing import List, Optional


@dataclasses.dataclass
class Row:
    """One line: `what`, ours beside the other, and their ratio. A bar is the ratio (or, with
    `of_ours`, our figure itself) that is aimed at: at least it, or at most it."""

    what: str
    ours: List[float]
    other: Optional[List[float]] = None
    unit: str = ""
    at_least: Optional[float] = None
    at_most: Optional[float] = None
    of_ours: bool = False
    digits: int = 0

    @property
    def ratio(self):
        """Of medians; of the rounds' own ratios where both sides were measured in each round, for
        what disturbs a round disturbs both."""
        if self.other is None:
            return None
        if len(self.ours) == len(self.other) > 1:
            return statistics.median(a / b for a, b in zip(self.ours, self.other))
        return statistics.median(self.ours) / statistics.median(self.other)

    @property
    def judged(self):
        return statistics.median(self.ours) if self.of_ours else self.ratio

    @property
    def met(self):
        """True, False, or None where there is no bar."""
        if self.at_least is not None:
            return self.judged >= self.at_least
        if self.at_most is not None:
            return self.judged <= self.at_most
        return None

    def _text(self, values):
        if values is None:
            return ""
        middle = f"{statistics.median(values):.{self.digits}f}"
        if len(values) == 1:
            return middle
        return f"{middle} ({min(values):.{self.digits}f}-{max(values):.{self.digits}f})"

    def cells(self):
        bar = ""
        if self.met is not None:
            sign, limit = ((">=", self.at_least) if self.at_least is not None
                           else ("<=", self.at_most))
            bar = f"{sign} {limit:g}: {'met' if self.met else 'MISSED'}"
        ratio = "" if self.ratio is None else f"{self.ratio:.3g}"
        what = f"{self.what}, {self.unit}" if self.unit else self.what
        return (what, self._text(self.ours), self._text(self.other), ratio, bar)

    def as_map(self):
        return {"what": self.what, "unit": self.unit, "ours": self.ours, "other": self.other,
                "ratio": self.ratio, "at_least": self.at_least, "at_most": self.at_most,
                "met": self.met}


def show(title, rows):
    """Print one section."""
    cells = [(title, "stoker", "the other", "ratio", "bar")] + [row.cells() for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(5)]
    for line in cells:
        print("  ".join([line[0].ljust(widths[0])]
                        + [line[i].rjust(widths[i]) for i in range(1, 4)]
                        + [line[4]]).rstrip())
    print(flush=True)
