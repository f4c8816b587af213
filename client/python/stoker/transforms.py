# SPDX-License-Identifier: MIT
"""Transforms, by torchvision's names, parameters and defaults. Descriptions only: the daemon
checks them and does the work, with torchvision's bytes.

Wherever a transform is expected a dict {"name": ..., parameters...} does as well, and so does an
object of torchvision.transforms by one of these names (or a Compose of them).
"""
from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Dict, Iterable, List, Optional, Sequence, Union

Size = Union[int, Sequence[int]]
Number = Union[int, float]


@dataclass(frozen=True)
class Transform:
    """Base of all transforms."""

    def to_dict(self) -> Dict[str, Any]:
        """What goes to the daemon: the name, and every parameter that is not None."""
        out: Dict[str, Any] = {"name": type(self).__name__}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and field.name not in _NOT_SENT:
                out[field.name] = _plain(value)
        return out


# Normalize(inplace=True) has no meaning where every result is a new array.
_NOT_SENT = frozenset({"inplace"})


@dataclass(frozen=True)
class Resize(Transform):
    """Shorter side to ``size``, or to (height, width)."""

    size: Size
    interpolation: str = "bilinear"
    max_size: Optional[int] = None
    antialias: Optional[bool] = True


@dataclass(frozen=True)
class CenterCrop(Transform):
    size: Size


@dataclass(frozen=True)
class RandomCrop(Transform):
    size: Size
    padding: Optional[Size] = None
    pad_if_needed: bool = False
    fill: Union[Number, Sequence[Number]] = 0
    padding_mode: str = "constant"


@dataclass(frozen=True)
class RandomResizedCrop(Transform):
    size: Size
    scale: Sequence[float] = (0.08, 1.0)
    ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0)
    interpolation: str = "bilinear"
    antialias: Optional[bool] = True


@dataclass(frozen=True)
class RandomHorizontalFlip(Transform):
    p: float = 0.5


@dataclass(frozen=True)
class RandomVerticalFlip(Transform):
    p: float = 0.5


@dataclass(frozen=True)
class Pad(Transform):
    padding: Size
    fill: Union[Number, Sequence[Number]] = 0
    padding_mode: str = "constant"


@dataclass(frozen=True)
class Normalize(Transform):
    """(value - mean) / std for each channel."""

    mean: Sequence[float]
    std: Sequence[float]
    inplace: bool = False


@dataclass(frozen=True)
class ToTensor(Transform):
    """0..255 to 0..1."""


_KNOWN = {kind.__name__: kind for kind in (
    Resize, CenterCrop, RandomCrop, RandomResizedCrop, RandomHorizontalFlip, RandomVerticalFlip,
    Pad, Normalize, ToTensor)}


def to_dicts(transforms: Any) -> List[Dict[str, Any]]:
    """A transform, or a list of them, as the daemon takes it. Raises TypeError on anything else."""
    if isinstance(transforms, (Transform, dict)) or _is_torchvision(transforms):
        transforms = [transforms]
    if isinstance(transforms, (str, bytes)) or not isinstance(transforms, Iterable):
        raise TypeError(f"{transforms!r} is no list of transforms")
    out: List[Dict[str, Any]] = []
    for transform in transforms:
        if isinstance(transform, Transform):
            out.append(transform.to_dict())
        elif isinstance(transform, dict):
            out.append({key: _plain(value) for key, value in transform.items()})
        else:
            out += _from_torchvision(transform)
    return out


def _is_torchvision(transform: object) -> bool:
    return type(transform).__module__.startswith("torchvision.transforms")


def _from_torchvision(transform: Any) -> List[Dict[str, Any]]:
    name = type(transform).__name__
    if _is_torchvision(transform) and name == "Compose":
        return to_dicts(transform.transforms)
    if not _is_torchvision(transform) or name not in _KNOWN:
        raise TypeError(f"{transform!r} is no transform that stoker knows; there are "
                        f"{', '.join(_KNOWN)}, and dicts with a name")
    kind = _KNOWN[name]
    # On the images that stoker decodes torchvision always antialiases, whatever this says.
    values = {field.name: getattr(transform, field.name) for field in fields(kind)
              if field.name != "antialias" and hasattr(transform, field.name)}
    return [kind(**values).to_dict()]


def _plain(value: Any) -> Any:
    """Tuples, numpy numbers and arrays, enums: as msgpack takes them."""
    if hasattr(value, "tolist"):  # numpy, torch
        value = value.tolist()
    if hasattr(value, "value"):  # torchvision's InterpolationMode
        value = value.value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
