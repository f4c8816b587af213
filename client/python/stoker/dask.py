# SPDX-License-Identifier: MIT
"""An epoch as lazy dask arrays. Needs dask.

    images, labels = stoker.dask.epoch("/data/train", batch_size=64, transforms=[...])
    images.mean(axis=(0, 2, 3)).compute()
"""
from __future__ import annotations

from typing import Any, Optional, Tuple

try:
    import dask.array as da
    from dask.delayed import delayed
except ImportError as error:
    raise ImportError("stoker.dask needs dask: pip install 'dask[array]'") from error

from .node import Dataset, connect

__all__ = ["epoch"]


def epoch(dataset: Dataset, batch_size: int, *, epoch: int = 0, socket: Optional[str] = None,
          **options: Any) -> Tuple[Any, Any]:
    """(images, labels) of one whole epoch, in its order; each chunk is a batch. bfloat16 is given
    as uint16 bits.

    A chunk is made when it is computed: the process that computes it asks the daemon of its own
    machine, and gets the same bytes on each machine. ``options`` are those of Node.loader() except
    ``rank`` and ``world_size``; ``socket`` is as for stoker.connect(). Raises what Node.loader()
    raises; a SampleError is raised where its chunk is computed.
    """
    if "rank" in options or "world_size" in options:
        raise ValueError("an epoch in dask has no ranks: leave out rank and world_size, and slice "
                         "the arrays")
    # Not the rank of the process that computes a chunk; and no batch more than the one asked for.
    options.update(rank=0, world_size=1, inflight=1, prefetch=1)
    with connect(socket) as node, node.loader(dataset, batch_size=batch_size, **options) as loader:
        samples, batches, fields = loader.samples, len(loader), loader.fields
        dtypes = {name: "uint16" if fields[name].dtype == "bfloat16" else fields[name].dtype
                  for name in ("image", "label")}
        shapes = {name: fields[name].shape for name in ("image", "label")}
    fetch = delayed(_fetch, nout=2)
    chunks = []
    padded = options.get("last_batch") == "pad"
    for k in range(batches):
        count = batch_size if padded else min(batch_size, samples - k * batch_size)
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
