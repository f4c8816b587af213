# SPDX-License-Identifier: MIT
"""Several datasets as one. Only a description: the daemon joins them."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Sequence

from .errors import short
from .samplers import Weighted

__all__ = ["Mix"]


@dataclass(frozen=True)
class Mix:
    """2 to 16 datasets, joined in this order. Each is as for loader(), but not a Mix.

    All must have the same classes and labels of one type; manifests with further fields are
    refused. With ``weights``, one for each dataset, samples are drawn with replacement, from each
    dataset as often as its weight says, whatever its size; ``num_samples`` per epoch (None: as many
    as all datasets have together).
    """

    datasets: Sequence[Any]
    weights: Optional[Sequence[float]] = None
    num_samples: Optional[int] = None

    def __post_init__(self) -> None:
        if self.weights is None and self.num_samples is not None:
            raise ValueError("num_samples needs weights")
        if self.weights is not None and len(self.weights) != len(self.datasets):
            raise ValueError(f"there are {len(self.weights)} weights for "
                             f"{len(self.datasets)} datasets")
        if not isinstance(self.datasets, (list, tuple)) or len(self.datasets) < 2:
            raise ValueError(f"a Mix needs a list of 2 to 16 datasets, not {short(self.datasets)}")

    def sampler(self, other: Any) -> Any:
        """The weights as a sampler; without weights ``other``, which may be None."""
        if self.weights is None:
            return other
        if other is not None:
            raise ValueError("a Mix with weights is a sampler: leave out sampler=")
        return Weighted(weights_by_part=self.weights, num_samples=self.num_samples)
