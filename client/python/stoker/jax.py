# SPDX-License-Identifier: MIT
"""Batches of a loader as JAX arrays. Needs jax.

    for images, labels in stoker.jax.arrays(loader): ...
"""
from __future__ import annotations

from typing import Any, Iterator, Tuple

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise ImportError("stoker.jax needs jax: pip install jax") from error

from .loader import Loader

__all__ = ["arrays"]


def arrays(loader: Loader, device: Any = None) -> Iterator[Tuple[jax.Array, jax.Array]]:
    """The rest of an epoch, as iterating over the loader: (images, labels) on ``device`` (None:
    JAX's default one), copied once, so they stay as they are for as long as you like; a batch is
    given back to the daemon as soon as it is copied. bfloat16 comes as such. Labels are int32
    unless jax_enable_x64 is set, as all of JAX's whole numbers. What iterating raises ends it.
    """
    for batch in loader.batches():
        with batch:
            # jax.device_put() may take a NumPy array's memory as it is, and this one's is the
            # ring's: only an array of its own is safe.
            pair = tuple(jax.device_put(jnp.array(array, copy=True), device)
                         for array in (_images(batch.images, loader.dtype), batch.labels))
            jax.block_until_ready(pair)
        yield pair[0], pair[1]


def _images(array: Any, dtype: str) -> Any:
    return array.view(jnp.bfloat16) if dtype == "bfloat16" else array
