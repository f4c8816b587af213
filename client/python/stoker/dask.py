# SPDX-License-Identifier: MIT
"""An epoch as lazy dask arrays. Needs dask.

    images, labels = stoker.dask.epoch("/data/train", batch_size=64, transforms=[...])
    images.mean(axis=(0, 2, 3)).compute()
"""
from __future__ import annotations

from typing import Any, Optional, Tuple

try:
    import dask
    import dask.array as da
except ImportError as error:
    raise ImportError("stoker.dask needs dask: pip install 'dask[array]'") from error

from .node import Dataset, connect

__all__ = ["epoch"]


def epoch(dataset: Dataset, batch_size: int, *, epoch: int = 0, socket: Optional[str] = None,
          **options: Any) -> Tuple[Any, Any]:
    """(images, labels) of one epoch, in its order; each chunk is a batch.

    Nothing is made before it is computed, and each chunk by itself: whichever process computes it
    asks the daemon of its own node, and gets the same bytes there as anywhere. `options` are those
    of Node.loader(); `socket` as of stoker.connect().
    """
    with connect(socket) as node, node.loader(dataset, batch_size=batch_size, **options) as loader:
        samples, fields = loader.samples, loader.fields
        # bfloat16 comes as bits
        dtypes = {name: "uint16" if fields[name].dtype == "bfloat16" else fields[name].dtype
                  for name in ("image", "label")}
        shapes = {name: fields[name].shape for name in ("image", "label")}
    fetch = dask.delayed(_fetch, nout=2)
    chunks = []
    for k in range(-(-samples // batch_size)):
        count = min(batch_size, samples - k * batch_size)
        parts = fetch(socket, dataset, batch_size, options, epoch, k)
        chunks.append(tuple(da.from_delayed(part, (count, *shapes[name]), dtypes[name])
                            for name, part in zip(("image", "label"), parts)))
    images, labels = zip(*chunks)
    return da.concatenate(images), da.concatenate(labels)


def _fetch(socket: Optional[str], dataset: Dataset, batch_size: int, options: Any, epoch: int,
           k: int) -> Tuple[Any, Any]:
    with connect(socket) as node, node.loader(dataset, batch_size=batch_size, **options) as loader:
        with loader.batch(epoch, k) as batch:
            return batch.images.copy(), batch.labels.copy()
