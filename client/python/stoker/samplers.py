# SPDX-License-Identifier: MIT
"""Samplers: which samples an epoch is made of. Only descriptions: the daemon draws.

A sampler can also be a dict {"name": ..., parameters...}, or an object of torch.utils.data: Subset,
SubsetRandomSampler, WeightedRandomSampler.

``indices`` and ``weights`` are lists of any length, or the path of a .npy file.
"""
from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any, Dict, Mapping, Optional, Sequence, Union

import numpy as np

from . import _in_memory, _options
from ._paths import absolute
from .errors import short
from .transforms import _plain

__all__ = ["Balanced", "Sampler", "Split", "Subset", "Weighted"]

# This many always fit into a request; longer lists go by descriptor.
LIST_MAX = 4096

Values = Union[Sequence[float], "np.ndarray[Any, Any]"]
Numbers = Union[Values, str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Sampler:
    """Base of all samplers."""

    def to_dict(self) -> Dict[str, Any]:
        """The dict for the daemon: the name, and every parameter that is not None."""
        named = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {"name": type(self).__name__.lower(),
                **{name: value for name, value in named if value is not None}}


@dataclass(frozen=True)
class Subset(Sampler):
    """These samples, in a new order in each epoch, or as listed with ``shuffle=False``."""

    indices: Numbers


@dataclass(frozen=True)
class Split(Sampler):
    """``validation_split`` and ``subset`` ("training" or "validation") of Keras. For a folder, the
    first part of each class is for validation; for any other dataset its first part, so shuffle a
    manifest or an array that is sorted by class. Each dataset of a stoker.Mix is split by itself.
    """

    validation_split: float
    subset: str


@dataclass(frozen=True)
class Weighted(Sampler):
    """Draws with replacement. A sample is as likely as its weight, or that of its class, says; or
    each dataset of a stoker.Mix is drawn from as often as its weight says, whatever its size."""

    weights: Optional[Numbers] = None
    weights_by_class: Optional[Values] = None
    num_samples: Optional[int] = None
    weights_by_part: Optional[Values] = None


@dataclass(frozen=True)
class Balanced(Sampler):
    """The same number of samples, ``per_class``, of each class."""

    per_class: Optional[int] = None


_options.name_all(*Sampler.__subclasses__())


def to_dict(sampler: Any) -> Dict[str, Any]:
    """A sampler as a dict for the daemon. Raises TypeError or ValueError."""
    if type(sampler).__module__.startswith("torch.utils.data"):
        sampler = _from_torch(sampler)
    if isinstance(sampler, Sampler):
        sampler = sampler.to_dict()
    if not isinstance(sampler, Mapping):
        raise TypeError(f"{short(sampler)} is not a sampler that stoker knows: use Subset (with "
                        "indices), Split, Weighted, Balanced, torch's Subset, SubsetRandomSampler "
                        "or WeightedRandomSampler, or a dict with a name")
    return {key: _value(key, value) for key, value in sampler.items()}


def _from_torch(sampler: Any) -> Any:
    name = type(sampler).__name__
    if name == "Subset":
        return Subset(_of_the_dataset(sampler))
    if name == "SubsetRandomSampler":
        return Subset(sampler.indices)
    if name != "WeightedRandomSampler":
        return sampler
    if not sampler.replacement:
        raise ValueError("a WeightedRandomSampler must have replacement=True")
    return Weighted(sampler.weights, num_samples=sampler.num_samples)


def _of_the_dataset(subset: Any) -> Any:
    """The indices of a torch Subset, whose dataset may be a Subset itself."""
    indices, inner = subset.indices, subset.dataset
    while type(inner).__module__.startswith("torch.utils.data") and hasattr(inner, "indices"):
        indices, inner = [inner.indices[index] for index in indices], inner.dataset
    return indices


def _value(key: str, value: Any) -> Any:
    if key in ("indices", "weights"):
        if isinstance(value, (str, bytes, os.PathLike)):
            return absolute(os.fsdecode(value))
        if hasattr(value, "__len__") and len(value) > LIST_MAX:
            return _in_memory.numbers(key, value, key == "indices")
    value = _plain(list(value) if isinstance(value, range) else value)
    if isinstance(value, list) and len(value) > LIST_MAX:
        raise ValueError(f"{key} has {len(value)} entries, at most {LIST_MAX} fit into a request")
    return value
