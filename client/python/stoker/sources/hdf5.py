# SPDX-License-Identifier: MIT
"""HDF5 files, by h5py."""
from __future__ import annotations

from typing import Any, Dict, Optional, Sequence

from ._arrays import ArrayRows, ArraysOf
from ._stored import Files, Path, library, spread


class HDF5(ArraysOf):
    """The rows of datasets in an HDF5 file. Rows of bytes (uint8 of any length, or opaque) are
    pictures' files; those of uint8, H x W or H x W x 1 or 3, are pictures; all others are arrays,
    (image, label), which are finished samples.

    Args:
        file: its path.
        image, label: names of datasets, with their groups ("train/images"); a name without its
            plural's s finds that, too. label=None: there is none.
        columns: further datasets; samples are dicts of arrays then, by the datasets' names.

    Its fingerprint is of names, shapes and types, and of the file's size and some blocks of bytes:
    a file that was changed in few places only should get another name and ``version``. A row takes
    the chunk that it lies in: write chunks of one row.
    """

    def __init__(self, file: Path, image: str = "image", label: Optional[str] = "label",
                 columns: Sequence[str] = ()) -> None:
        stamped = Files([file])
        super().__init__(_Rows(stamped, stamped.paths[0], image, label, columns), "hdf5",
                         [spread(stamped.paths[0])])


class _Rows(ArrayRows):
    def _open(self) -> Dict[str, Any]:
        h5py = library("h5py", "h5py")
        found: Dict[str, Any] = {}

        def take(name: str, thing: Any) -> None:
            if isinstance(thing, h5py.Dataset) and thing.ndim:
                found[name] = thing
        h5py.File(self.files.paths[0], "r").visititems(take)
        return found

    def __setstate__(self, state: Any) -> None:
        library("h5py", "h5py")  # once, before producers are forked
        super().__setstate__(state)
