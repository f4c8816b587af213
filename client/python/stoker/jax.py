# SPDX-License-Identifier: MIT
"""Batches of a loader as JAX arrays. Needs jax.

    for images, labels in stoker.jax.arrays(loader): ...
"""
from __future__ import annotations

from typing import Any, Tuple

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise ImportError("stoker.jax needs jax: pip install jax") from error

from ._wire import Received
from .loader import Iteration, Loader

__all__ = ["arrays"]


def arrays(loader: Loader, device: Any = None) -> Iteration[Tuple[jax.Array, jax.Array]]:
    """Iterates over the rest of an epoch of the loader: (images, labels) on ``device``, which may
    be a sharding (None: the default device of JAX). bfloat16 stays bfloat16. Labels are int32
    unless jax_enable_x64 is set, as all integers in JAX.

    They never change, and may be kept, like the loader's own. On a CPU JAX takes images where the
    daemon has written them, if that is at a multiple of 64 bytes; to other devices it copies while
    the program goes on. Raises what iterating over a loader raises.
    """
    bits = jnp.bfloat16 if loader.dtype == "bfloat16" else None

    def put(message: Received) -> Tuple[jax.Array, jax.Array]:
        images, labels = loader._arrays(message)
        # JAX keeps the array as long as it reads it, and the array its memory as it is.
        out: Tuple[jax.Array, jax.Array] = jax.device_put(
            (images if bits is None else images.view(bits), labels), device)
        return out

    return Iteration(loader, put)
