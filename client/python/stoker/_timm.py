# SPDX-License-Identifier: MIT
"""Transforms of timm that are torchvision's under another name. Knows no daemon. Any thread."""
from __future__ import annotations

from typing import Any


def as_torchvision(transform: Any) -> Any:
    """torchvision's transform that gives the same of a picture; anything else as it is."""
    kind = type(transform)
    if kind.__module__ != "timm.data.transforms":
        return transform
    from torchvision import transforms
    if kind.__name__ == "MaybeToTensor":
        return transforms.ToTensor()
    if kind.__name__ == "MaybePILToTensor":
        return transforms.PILToTensor()
    one = not isinstance(getattr(transform, "interpolation", ()), (list, tuple))
    if kind.__name__ == "RandomResizedCropAndInterpolation" and one:
        return transforms.RandomResizedCrop(transform.size, transform.scale, transform.ratio,
                                            transform.interpolation)
    return transform
