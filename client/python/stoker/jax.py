# SPDX-License-Identifier: MIT
"""Batches of a loader as JAX arrays. Needs jax.

    for images, labels in stoker.jax.arrays(loader): ...
"""
from __future__ import annotations

from typing import Any

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise ImportError("stoker.jax needs jax: pip install jax") from error

from ._wire import Received
from .loader import Iteration, Loader

__all__ = ["arrays"]


def arrays(loader: Loader, device: Any = None) -> Iteration[Any]:
    """Iterates over the rest of an epoch of the loader: (images, labels) on ``device``, which may
    be a sharding (None: the default device of JAX). bfloat16 stays bfloat16. Labels are int32
    unless jax_enable_x64 is set, as all integers in JAX. Of a Source or Map with gives="arrays": as
    the loader has it, with JAX's arrays; texts and bytes, which JAX lacks, stay as they are.

    They never change, and may be kept, like the loader's own. On a CPU JAX takes images where the
    daemon has written them, if that is at a multiple of 64 bytes; to other devices it copies while
    the program goes on. Raises what iterating over a loader raises.
    """
    bits = jnp.bfloat16 if loader.dtype == "bfloat16" else None

    def put(message: Received) -> Any:
        batch = loader._arrays(message)
        if bits is not None and loader._reader.tree is None:
            images, labels = batch
            batch = jax.tree_util.tree_map(lambda array: array.view(bits), images), labels
        # JAX keeps the array as long as it reads it, and the array its memory as it is.
        leaves, tree = jax.tree_util.tree_flatten(batch)
        known = [leaf for leaf in leaves if not isinstance(leaf, (str, bytes))]
        on_device = iter(jax.device_put(known, device))
        return jax.tree_util.tree_unflatten(tree, [
            leaf if isinstance(leaf, (str, bytes)) else next(on_device) for leaf in leaves])

    return Iteration(loader, put)
