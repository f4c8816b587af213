# SPDX-License-Identifier: MIT
"""DICOM files, by pydicom."""
from __future__ import annotations

import os
from typing import Any, List, Optional, Sequence, Union

import numpy as np

from ._stored import Files, Path, Rows, Stored, library, spread, whole
from ._tables import files_of

_BLOCKS = 64  # files whose bytes are part of the fingerprint


class DICOM(Stored):
    """The pixels of DICOM files, as pydicom's ``pixel_array`` has them: pictures where they are of
    8 bits, grey or RGB, else arrays, which are finished samples, all of one shape and dtype.

    Args:
        files: a folder, a file, a pattern, or a list of these. Files are in the order of names.
        labels: a whole number for each file, in that order; None: files in class folders
            ("ct/0001.dcm") have the number of their class, if all are, else 0.

    ``paths`` of it are the files. Its fingerprint is of their names within their folder, their
    sizes and some blocks of bytes, and the labels.
    """

    def __init__(self, files: Union[Path, Sequence[Path]],
                 labels: Optional[Sequence[int]] = None) -> None:
        stamped = Files(files_of(files, (".dcm", ".DCM", ".dicom")))
        self.paths = stamped.paths
        top = os.path.commonpath([os.path.dirname(path) for path in self.paths])
        inner = [os.path.relpath(path, top) for path in self.paths]
        classes: List[str] = []
        if labels is None:
            classes = sorted({name.split(os.sep)[0] for name in inner if os.sep in name})
            if all(os.sep in name for name in inner):
                labels = [classes.index(name.split(os.sep)[0]) for name in inner]
            else:
                classes, labels = [], [0] * len(inner)
        if len(labels) != len(self.paths):
            raise ValueError(f"there are {len(labels)} labels for {len(self.paths)} files")
        numbers = [whole(label, "labels") for label in labels]
        rows = _Rows(stamped, numbers)
        first = rows.pixels(0)
        gives = "picture" if first.dtype == np.uint8 and (
            first.ndim == 2 or (first.ndim == 3 and first.shape[2] == 3)) else "arrays"
        of = [*inner, *map(os.path.getsize, self.paths), *numbers,
              *map(spread, self.paths[::max(1, len(self.paths) // _BLOCKS)])]
        super().__init__(rows, len(self.paths), kind="dicom", gives=gives, of=of, classes=classes)


class _Rows(Rows):
    def __init__(self, files: Files, labels: List[int]) -> None:
        super().__init__(files)
        self._labels = labels

    def pixels(self, index: int) -> Any:
        """Raises ImportError where another package has to unpack them, which pydicom names."""
        return library("pydicom", "pydicom").dcmread(self.files.paths[index]).pixel_array

    def __getitem__(self, index: int) -> Any:
        self.files.check(index)
        made = self.pixels(index)
        self.files.check(index)
        return made, self._labels[index]

    def __setstate__(self, state: Any) -> None:
        library("pydicom", "pydicom")  # once, before producers are forked
        super().__setstate__(state)
