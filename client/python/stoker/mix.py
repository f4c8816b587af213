# SPDX-License-Identifier: MIT
"""Several datasets as one. A description only: the daemon joins them."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Sequence

from .errors import short
from .samplers import Weighted

__all__ = ["Mix"]


@dataclass(frozen=True)
class Mix:
    """2 to 16 datasets (as loader() takes them, but no Mix) one behind the other.

    They must have the same classes and labels of one type, and labels alone: what a manifest has
    beside is refused. With ``weights``, one for each, a dataset is drawn from as often as its
    weight says, however large it is: with replacement, ``num_samples`` an epoch (None: as many as
    there are in all of them).
    """

    datasets: Sequence[Any]
    weights: Optional[Sequence[float]] = None
    num_samples: Optional[int] = None

    def __post_init__(self) -> None:
        if self.weights is None and self.num_samples is not None:
            raise ValueError("num_samples is how many are drawn by weights, and there are none")
        if self.weights is not None and len(self.weights) != len(self.datasets):
            raise ValueError(f"there are {len(self.weights)} weights for "
                             f"{len(self.datasets)} datasets")
        if not isinstance(self.datasets, (list, tuple)) or len(self.datasets) < 2:
            raise ValueError(f"a Mix is a list of 2 to 16 datasets, not {short(self.datasets)}")

    def sampler(self, other: Any) -> Any:
        """The weights as a sampler, else the other one, which may be None."""
        if self.weights is None:
            return other
        if other is not None:
            raise ValueError("a Mix with weights is a sampler, and sampler= another: choose one")
        return Weighted(weights_by_part=self.weights, num_samples=self.num_samples)
