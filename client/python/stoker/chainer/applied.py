# SPDX-License-Identifier: MIT
"""The functions of TransformDatasets behind the daemon's pictures, as a Map: they run in producers,
and each example, of any types and size, lies sealed in a field of bytes.

Applied runs in producers, all else in the program. One thread at a time.
"""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from ..produce import shipping
from ..produce.map import Map, _size_behind
from ..produce.producer import sample
from ..produce.sealed import seal, size_of, unseal
from ..produce.seeds import Seeds, as_they_were

_FIRST = 1 << 16  # bytes of an example, if that of a black picture does not tell


class Applied:
    """Makes of a picture the example that Chainer's dataset has of its file, and calls them.
    ``labels``: of all; None: an example is an image."""

    def __init__(self, functions: Tuple[Callable[[Any], Any], ...],
                 labels: Optional[List[np.ndarray[Any, Any]]], dtype: Any) -> None:
        self.functions, self.labels, self.dtype = functions, labels, np.dtype(dtype)

    def __call__(self, picture: np.ndarray[Any, Any]) -> Dict[str, np.ndarray[Any, Any]]:
        return {"example": self.sealed(picture, sample().index)}

    def sealed(self, picture: np.ndarray[Any, Any], index: int) -> np.ndarray[Any, Any]:
        image = np.ascontiguousarray(picture.transpose(2, 0, 1), self.dtype)
        example: Any = image if self.labels is None else (image, self.labels[index].copy())
        for function in self.functions:
            example = function(example)
        return seal(example, size_of(example))


def map_of(applied: Applied, before: Sequence[Any]) -> Union[Map, str]:
    """Behind these transforms; or why producers cannot run it."""
    try:
        os.close(shipping.pack(applied))
        copy = shipping.copied(applied)
    except (shipping.CannotShip, ImportError) as error:
        return str(error)
    try:
        with as_they_were():
            Seeds(copy).set(0, 0, 0)
            first = copy.sealed(np.zeros((*_size_behind(before), 3), np.uint8), 0)
    except Exception:  # of the program's code, which black pictures need not suit
        first = np.empty(_FIRST, np.uint8)
    return Map(applied, gives="arrays", like={"example": first}, ragged=True)


def examples_of(batch: Dict[str, Any]) -> List[Any]:
    return [unseal(sealed) for sealed in batch["example"]]
