# SPDX-License-Identifier: MIT
"""What Keras' ImageDataGenerator does with a picture, in producers: for a function of the user's,
which the daemon does not run. The code is Keras' own."""
from __future__ import annotations

import logging
import os
from typing import Any, Tuple

import numpy as np

from ..produce import shipping
from ..produce.map import Map

_log = logging.getLogger("stoker")


class Prepared:
    """Transforms and standardizes a picture by a generator of Keras. ``gray``: its three channels
    are equal, and the generator gets one."""

    def __init__(self, generator: Any, gray: bool) -> None:
        self.generator, self.gray = generator, gray

    def __call__(self, picture: np.ndarray[Any, Any]) -> Any:
        generator = self.generator
        pixels = (picture[..., :1] if self.gray else picture).astype(generator.dtype)
        if generator.data_format == "channels_first":
            pixels = np.ascontiguousarray(pixels.transpose(2, 0, 1))
        drawn = generator.get_random_transform(pixels.shape)
        made = generator.standardize(generator.apply_transform(pixels, drawn))
        return np.ascontiguousarray(made, dtype=generator.dtype)

    def shape(self, size: Tuple[int, int]) -> Tuple[int, ...]:
        channels = 1 if self.gray else 3
        return (*size, channels) if self.generator.data_format == "channels_last" else \
            (channels, *size)


def mapped(generator: Any, size: Tuple[int, int], gray: bool) -> Any:
    """A Map that does so with pictures of this size; None, after a line of the log: the function
    cannot reach another process."""
    prepared = Prepared(generator, gray)
    try:
        os.close(shipping.pack(prepared))
    except (shipping.CannotShip, ImportError) as error:
        _log.warning("preprocessing_function runs in this process, on one image after the other: "
                     "%s", error)
        return None
    return Map(prepared, gives="arrays", takes="array",
               like=np.zeros(prepared.shape(size), generator.dtype))
