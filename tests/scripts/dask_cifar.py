# SPDX-License-Identifier: MIT
# needs: dask cloudpickle
"""CIFAR's parts as a lazy array, mirrored at random and reduced, as of their pickles."""
import pickle
import sys
from pathlib import Path

import dask
import dask.array as da
import numpy as np

import made

home = Path(sys.argv[1])
for part in range(5):
    data = np.random.default_rng(part).integers(0, 256, (100, 3072), np.uint8)
    (home / f"data_batch_{part + 1}").write_bytes(pickle.dumps({b"data": data}))


def load_data(part):
    return pickle.loads((home / f"data_batch_{part + 1}").read_bytes())[b"data"]


def lazy(function, parts):
    return da.concatenate([da.from_delayed(dask.delayed(function)(part), (100, 3072), np.uint8)
                           for part in parts])


from_function = lazy  # or: from stoker.dask import from_function

pictures = from_function(load_data, range(5)).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
print(pictures.shape, pictures.dtype, made.digest(pictures.compute()))
mirrored = pictures.map_blocks(lambda block: np.flip(block, axis=2), dtype=np.uint8)
print(made.digest(mirrored[50:250].compute()), mirrored.mean(axis=(0, 1, 2)).compute().tolist())
print((pictures.astype(np.float32) / 255).std().compute())
