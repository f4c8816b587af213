# SPDX-License-Identifier: MIT
"""Zarr groups, by zarr."""
from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Sequence

from ._arrays import ArrayRows, ArraysOf
from ._stored import Files, Path, library, spread

_METADATA = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
_BLOCKS = 64  # chunks whose bytes are part of the fingerprint


class Zarr(ArraysOf):
    """The rows of arrays in a Zarr group, a folder: with the arguments of HDF5.

    Its fingerprint is of names, shapes and types, the chunks' names and sizes, and some of their
    bytes. Stamps are those of its metadata: chunks that are written anew are seen only where the
    daemon has kept what was read of them."""

    def __init__(self, folder: Path, image: str = "image", label: Optional[str] = "label",
                 columns: Sequence[str] = ()) -> None:
        folder = os.path.abspath(os.path.expanduser(os.fspath(folder)))
        files = _files(folder)
        metadata = [path for path in files if os.path.basename(path) in _METADATA]
        if not metadata:
            raise FileNotFoundError(f"{folder} is no folder of a Zarr group: give the path of one")
        chunks = [path for path in files if path not in set(metadata)]
        of: List[Any] = [(os.path.relpath(path, folder), os.path.getsize(path)) for path in chunks]
        of += [spread(path) for path in chunks[::max(1, len(chunks) // _BLOCKS)]]
        super().__init__(_Rows(Files(metadata), folder, image, label, columns), "zarr", of)


def _files(folder: str) -> List[str]:
    return sorted(os.path.join(place, name) for place, _, names in os.walk(folder)
                  for name in names)


class _Rows(ArrayRows):
    def __init__(self, files: Files, folder: str, *names: Any) -> None:
        self._folder = folder
        super().__init__(files, folder, *names)

    def _open(self) -> Dict[str, Any]:
        group = library("zarr", "zarr").open_group(self._folder, mode="r")
        return dict(_arrays(group, ""))

    def __setstate__(self, state: Any) -> None:
        library("zarr", "zarr")  # once, before producers are forked
        super().__setstate__(state)


def _arrays(group: Any, within: str) -> Any:
    for name, array in group.arrays():
        if array.ndim:
            yield within + name, array
    for name, inner in group.groups():
        yield from _arrays(inner, f"{within}{name}/")
