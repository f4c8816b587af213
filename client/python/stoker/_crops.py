# SPDX-License-Identifier: MIT
"""Several lists of transforms for one sample, each with a field of its own: {"global": (2, [...]),
"local": (6, [...])}. As a list of transforms that is one, Crops, and stands alone."""
from __future__ import annotations

import operator
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from . import transforms as _transforms

Crops = Mapping[str, Tuple[int, Any]]  # name of the field: number of images, their transforms


def to_dicts(crops: Crops) -> List[Dict[str, Any]]:
    """As the daemon takes it. Raises TypeError."""
    if not isinstance(crops, Mapping) or not all(
            isinstance(crop, (tuple, list)) and len(crop) == 2 for crop in crops.values()):
        raise TypeError('crops must be a dict of pairs, {"global": (2, [...]), "local": (6, '
                        "[...])}: the number of images, and their transforms")
    return [{"name": "Crops", "crops": [
        {"name": name, "count": operator.index(count),
         "transforms": _transforms.to_dicts(transforms)}
        for name, (count, transforms) in crops.items()]}]


def names(transforms: Sequence[Dict[str, Any]]) -> Tuple[str, ...]:
    """The fields that these make, if they are Crops; else none."""
    return tuple(crop["name"] for transform in transforms[:1] if transform.get("name") == "Crops"
                 for crop in transform["crops"])


def pictures(arrays: Dict[str, Any], crops: Sequence[str]) -> Any:
    """The images of a batch: an array, or of Crops a dict of them."""
    return {name: arrays[name] for name in crops} if crops else arrays["image"]
