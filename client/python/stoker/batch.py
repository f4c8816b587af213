# SPDX-License-Identifier: MIT
"""Leases, and the Batch that a loader gives."""
from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Type, Union

import numpy as np

if TYPE_CHECKING:
    from ._connection import Connection
    from ._ring import Ring


class Lease:
    """The right to read some slots. Ends once, by release() or with the last reference."""

    __slots__ = ("_connection", "_number", "__weakref__")

    def __init__(self, connection: Connection, number: int, explicit: bool) -> None:
        connection.grant(number, explicit)
        self._connection = connection
        self._number = [number]

    def release(self) -> None:
        try:
            number = self._number.pop()  # only one of two threads gets it
        except IndexError:
            return
        self._connection.release(number)

    @property
    def released(self) -> bool:
        return not self._number

    def __del__(self) -> None:
        try:
            self.release()
        except Exception:  # when the interpreter exits, modules may be gone
            pass


class Copy:
    """Copied arrays instead of a ring and a lease: the daemon does not wait for them."""

    def __init__(self, ring: Ring, runs: List[Sequence[int]]) -> None:
        self._arrays = {name: np.array(ring.gather(name, runs, None)) for name in ring.fields}
        for array in self._arrays.values():
            array.flags.writeable = False
        self.released = False

    def gather(self, field: str, *_: object) -> np.ndarray[Any, Any]:
        return self._arrays[field]

    def release(self) -> None:
        self.released = True


class Batch:
    """The samples of consecutive positions of an epoch.

    ``images, labels = batch`` works, and so does ``batch["weight"]`` if the dataset has weights.
    The arrays are read-only views of shared memory. They are valid until release(); if that is
    never called, as long as there is a reference to the batch or to one of them. Any thread.

    Attributes:
        epoch, position: of its first sample; the position counts over all ranks.
        count: number of samples.
        padded: number of samples at its end that repeat the start of the epoch
            (``last_batch="pad"``).
        substituted: number of samples that replace bad ones.
    """

    def __init__(self, ring: Union[Ring, Copy], lease: Union[Lease, Copy],
                 fields: Dict[str, Any]) -> None:
        self.epoch: int = fields["epoch"]
        self.position: int = fields["position"]
        self.count: int = fields["count"]
        self.padded: int = fields["padded"]
        self.substituted: int = fields["substituted"]
        self._ring: Union[Ring, Copy, None] = ring
        self._lease = lease
        self._runs: List[Sequence[int]] = fields["runs"]

    @property
    def images(self) -> np.ndarray[Any, Any]:
        """(count, C, H, W) or (count, H, W, C) of the loader's dtype; bfloat16 as uint16 bits."""
        return self._field("image")

    @property
    def labels(self) -> np.ndarray[Any, Any]:
        """(count,) or (count, n): int64 classes, or the labels of the manifest."""
        return self._field("label")

    @property
    def index(self) -> np.ndarray[Any, Any]:
        """(count,) int64: index of each sample in the dataset."""
        return self._field("index")

    def __getitem__(self, field: str) -> np.ndarray[Any, Any]:
        """Any field by its name: image, label, index, and the further ones of Loader.fields
        (weight, mask, boxes, points, targets). Raises KeyError."""
        return self._field(field)

    def split(self, n: int) -> List[Tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        """A list of ``n`` pairs (images, labels), for n devices: consecutive parts without a copy,
        of the sizes of numpy.array_split() (the first ones may be larger by one)."""
        if n < 1:
            raise ValueError(f"n must be at least 1, not {n}")
        return list(zip(np.array_split(self.images, n), np.array_split(self.labels, n)))

    @property
    def released(self) -> bool:
        return self._lease.released

    def release(self) -> None:
        """Release the slots now. The arrays must not be read after that. May be called twice."""
        self._lease.release()
        self._ring = None

    def _field(self, name: str) -> np.ndarray[Any, Any]:
        if self._ring is None:
            raise ValueError("the batch was released")
        try:
            return self._ring.gather(name, self._runs, self._lease)
        except KeyError:
            raise KeyError(f"no field {name!r}: see Loader.fields, and the option fields= of "
                           "Node.loader()") from None

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        return iter((self.images, self.labels))

    def __len__(self) -> int:
        return self.count

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.release()

    def __repr__(self) -> str:
        return (f"<stoker.Batch epoch {self.epoch} position {self.position} count {self.count}"
                f"{' released' if self.released else ''}>")
