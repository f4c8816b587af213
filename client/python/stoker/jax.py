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
    """Iterates over the rest of an epoch of the loader: (images, labels) on ``device`` (None: the
    default device of JAX). Each batch is copied once and then released, so the arrays stay valid.
    bfloat16 stays bfloat16. Labels are int32 unless jax_enable_x64 is set, as all integers in JAX.
    Raises what iterating over a loader raises, and then ends.
    """
    for batch in loader.batches():
        with batch:
            # jax.device_put() may use the memory of a NumPy array without a copy, and this memory
            # belongs to the ring: copy first.
            pair = tuple(jax.device_put(jnp.array(array, copy=True), device)
                         for array in (_images(batch.images, loader.dtype), batch.labels))
            jax.block_until_ready(pair)
        yield pair[0], pair[1]


def _images(array: Any, dtype: str) -> Any:
    return array.view(jnp.bfloat16) if dtype == "bfloat16" else array
