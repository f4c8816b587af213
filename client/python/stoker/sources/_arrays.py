# SPDX-License-Identifier: MIT
"""Rows of arrays that lie beside each other in one file (HDF5, Zarr): pictures, labels and more, of
as many rows each. Knows neither library. Any thread."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ._stored import Files, Rows, Stored, named, whole

_ADVICE = "; label=None is for arrays without one"


class ArraysOf(Stored):
    """``make``: the rows of files, a class. ``of``: what the fingerprint is of."""

    def __init__(self, rows: ArrayRows, kind: str, of: Sequence[Any]) -> None:
        super().__init__(rows, rows.samples, kind=kind, gives=rows.gives,
                         of=[*of, rows.image, rows.label, rows.columns, rows.described])


class ArrayRows(Rows):
    """``gives``: bytes of files where rows are bytes, a picture where they are of uint8, H x W or
    H x W x 1 or 3, else arrays. Raises ValueError, which names the arrays there are."""

    def __init__(self, files: Files, where: str, image: str, label: Optional[str],
                 columns: Sequence[str]) -> None:
        super().__init__(files)
        arrays: Dict[str, Any] = self._open()
        names = list(arrays)
        self.image = named(image, names, where)
        self.label = None if label is None else named(label, names, where, _ADVICE)
        self.columns = tuple(named(name, names, where) for name in columns)
        used = [self.image, *([] if self.label is None else [self.label]), *self.columns]
        self.samples = arrays[self.image].shape[0]
        for name in used:
            if arrays[name].shape[0] != self.samples:
                raise ValueError(f"{where}: {name!r} has {arrays[name].shape[0]} rows, and "
                                 f"{self.image!r} has {self.samples}: give all as many")
        self.gives = _gives(arrays[self.image], where, self.image)
        if self.columns:
            self.gives = "arrays"
        self.described = [(name, str(arrays[name].dtype), arrays[name].shape) for name in used]

    def __getitem__(self, index: int) -> Any:
        self.files.check_all()
        arrays = self.open()
        image = arrays[self.image][index]
        label: Any = 0 if self.label is None else arrays[self.label][index]
        if self.gives == "arrays":
            more = {name: np.asarray(arrays[name][index]) for name in self.columns}
            made = np.asarray(image)
            if more:
                return {self.image: made, **({} if self.label is None else
                                             {self.label: np.asarray(label)}), **more}
            return made if self.label is None else (made, np.asarray(label))
        if self.label is not None:
            label = whole(label, self.label)
        return (image if isinstance(image, bytes) else np.asarray(image).tobytes()
                if self.gives == "bytes" else np.asarray(image)), label


def _gives(array: Any, where: str, name: str) -> str:
    if array.ndim == 1:
        first = array[0] if array.shape[0] else b""
        if isinstance(first, bytes) and getattr(array.dtype, "kind", "O") != "S":
            return "bytes"
        if isinstance(first, np.void) or (
                isinstance(first, np.ndarray) and first.ndim == 1 and first.dtype.itemsize == 1):
            return "bytes"
        if isinstance(first, bytes):
            raise TypeError(f"{where}: {name!r} is of fixed-length texts, which lose zeros at "
                            "their end: write bytes of files as arrays of uint8")
    if array.dtype == np.uint8 and (array.ndim == 3 or (array.ndim == 4
                                                        and array.shape[3] in (1, 3))):
        return "picture"
    return "arrays"
