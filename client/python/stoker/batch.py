# SPDX-License-Identifier: MIT
"""Leases, and the Batch that a loader gives."""
from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Type

import numpy as np

if TYPE_CHECKING:
    from ._connection import Connection
    from ._mapping import Region
    from ._ring import Ring


class Lease:
    """The right to use some slots of a ring, and the regions of memory that show them. Ends once,
    by release() or with the last reference. ``number``: of the protocol.

    keep() gives the slots back before, and the memory stays as it is. Any thread.
    """

    __slots__ = ("regions", "_slots", "_connection", "_number", "_lock", "__weakref__")

    def __init__(self, connection: Connection, number: int, explicit: bool, ring: Ring,
                 runs: Sequence[Sequence[int]]) -> None:
        self.regions: List[Region] = []
        self._slots: Optional[Tuple[Ring, Sequence[Sequence[int]]]] = (ring, runs)
        self._connection = connection
        self._number: Optional[int] = number
        self._lock = threading.RLock()  # a finalizer may interrupt this thread anywhere
        connection.grant(number, explicit, self)

    def add(self, region: Region) -> None:
        region.lock = self._lock
        self.regions.append(region)

    def keep(self) -> None:
        """Raises MemoryError."""
        with self._lock:
            for region in self.regions:
                region.keep()
            if self.regions:
                self._connection.kept.add(self)
            self._give_back()

    def release(self) -> None:
        with self._lock:
            regions, self.regions = self.regions, []
            try:
                for region in regions:
                    region.drop()
            finally:
                self._give_back()

    def shared(self, field: str) -> np.ndarray[Any, Any]:
        """The slots in the memory that the daemon writes to. ValueError if they were given back."""
        slots = self._slots
        if slots is None:
            raise ValueError("the batch was kept, and its slots were given back: use its arrays")
        ring, runs = slots
        return ring.shared(field, runs)

    def forked(self) -> None:
        """In a child: the thread that may have had the lock is not there."""
        self._lock = threading.RLock()
        for region in self.regions:
            region.lock = self._lock

    def _give_back(self) -> None:
        number, self._number = self._number, None
        self._slots = None
        if number is not None:
            self._connection.release(number)

    @property
    def bytes(self) -> int:
        return sum(region.length for region in list(self.regions))

    def __del__(self) -> None:
        try:
            self.release()
        except Exception:  # when the interpreter exits, modules may be gone
            pass


class Batch:
    """The samples of consecutive positions of an epoch.

    ``images, labels = batch`` works, and so does ``batch["weight"]`` if the dataset has weights.
    The arrays may be written to: nobody else sees it. They are valid until release(); if that is
    never called, as long as there is a reference to the batch or to one of them. Any thread.

    Attributes:
        epoch, position: of its first sample; the position counts over all ranks.
        count: number of samples.
        padded: number of samples at its end that repeat the start of the epoch
            (``last_batch="pad"``).
        wrapped: number of samples at its end that are the first of the next epoch
            (``last_batch="wrap"``): sample i stands at position + i, less Loader.samples there.
        substituted: number of samples that replace bad ones.
    """

    def __init__(self, arrays: Dict[str, np.ndarray[Any, Any]], lease: Optional[Lease],
                 fields: Dict[str, Any], crops: Sequence[str] = ()) -> None:
        self.epoch: int = fields["epoch"]
        self.position: int = fields["position"]
        self.count: int = fields["count"]
        self.padded: int = fields["padded"]
        self.wrapped: int = fields["wrapped"]
        self.substituted: int = fields["substituted"]
        self._arrays: Optional[Dict[str, np.ndarray[Any, Any]]] = arrays
        self._lease = lease
        self._crops = crops

    @property
    def images(self) -> Any:
        """(count, C, H, W) or (count, H, W, C) of the loader's dtype; bfloat16 as uint16 bits. Of
        Crops a dict of such arrays, by name."""
        if self._crops:
            return {name: self._field(name) for name in self._crops}
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

    def shared(self, field: str) -> np.ndarray[Any, Any]:
        """A field, read-only, in the memory that the daemon writes to: what can be pinned for a
        device. It does not show what was written to the batch, and must not be used after the batch
        is released or kept. Raises ValueError if it is, or if its arrays are copies."""
        if self._arrays is None or self._lease is None:
            raise ValueError("the batch was released: copy what is needed later"
                             if self._arrays is None else "the batch is a copy: use its arrays")
        return self._lease.shared(field)

    def split(self, n: int) -> List[Tuple[Any, np.ndarray[Any, Any]]]:
        """A list of ``n`` pairs (images, labels), for n devices: consecutive parts without a copy,
        of the sizes of numpy.array_split() (the first ones may be larger by one)."""
        if n < 1:
            raise ValueError(f"n must be at least 1, not {n}")
        labels = np.array_split(self.labels, n)
        if not self._crops:
            return list(zip(np.array_split(self.images, n), labels))
        parts = {name: np.array_split(array, n) for name, array in self.images.items()}
        return [({name: some[i] for name, some in parts.items()}, labels[i]) for i in range(n)]

    @property
    def released(self) -> bool:
        return self._arrays is None

    def release(self) -> None:
        """Release the slots now. The arrays must not be used after that. May be called twice."""
        self._arrays = None
        if self._lease is not None:
            self._lease.release()

    def _field(self, name: str) -> np.ndarray[Any, Any]:
        if self._arrays is None:
            raise ValueError("the batch was released: copy what is needed later")
        try:
            return self._arrays[name]
        except KeyError:
            raise KeyError(f"no field {name!r}: see Loader.fields, and the option fields= of "
                           "Node.loader()") from None

    def __getstate__(self) -> Any:
        if self._lease is not None:
            raise TypeError("a batch holds memory that it shares with the daemon and cannot be "
                            "pickled: pickle its arrays, which are then copied")
        return self.__dict__

    def __iter__(self) -> Iterator[Any]:
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
