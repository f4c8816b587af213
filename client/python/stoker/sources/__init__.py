# SPDX-License-Identifier: MIT
"""Datasets in files that other libraries read, as sources: each by its own library, which is
imported when it is used.

    import stoker
    from stoker import sources

    loader = node.loader(sources.Parquet("train-*.parquet"), batch_size=64, transforms=[...])
    loader = node.loader("train.parquet", batch_size=64)  # the same, with columns by their names

Encoded pictures go to the daemon as they are, which decodes, keeps, transforms and shares them as
those of files; arrays go as arrays. docs/FORMATS.md has a table of all.
"""
from .arrow import Arrow
from .dicom import DICOM
from .find import found
from .hdf5 import HDF5
from .huggingface import HuggingFace
from .lance import Lance
from .litdata import LitData
from .mds import MDS
from .parquet import Parquet
from .zarr import Zarr

__all__ = ["Arrow", "DICOM", "HDF5", "HuggingFace", "Lance", "LitData", "MDS", "Parquet", "Zarr",
           "found"]
