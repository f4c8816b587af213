# SPDX-License-Identifier: MIT
"""Lists of numbers that do not fit into a request: .npy files in memory, which have no name and end
with the process, for the daemon by descriptor (``list_fd``). Any thread."""
from __future__ import annotations

import fcntl
import os
from typing import Any

import numpy as np

from .errors import short


class Numbers:
    """Whole numbers or floats; ``fd`` is open while it lives. ``path`` is what messages say."""

    def __init__(self, name: str, values: Any, whole: bool) -> None:
        """Raises TypeError, which calls it ``name``, and OSError."""
        array = _array(name, values, whole)
        self.path = f"/memory/{name}.npy"
        self.count = len(array)
        self.fd = os.memfd_create(f"stoker-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            with os.fdopen(os.dup(self.fd), "wb") as file:
                np.save(file, array)
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS,
                        fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            self.close()


def _array(name: str, values: Any, whole: bool) -> np.ndarray[Any, Any]:
    array = np.asarray(values.tolist() if hasattr(values, "tolist") else values)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be a list of numbers, not {short(values)}")
    if not whole:
        return array.astype(np.float64)
    integers = array.astype(np.int64)
    if not np.array_equal(integers, array):
        raise TypeError(f"{name} must be whole numbers, not {short(values)}")
    return integers
