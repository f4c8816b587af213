# SPDX-License-Identifier: MIT
"""Batches on their way to a device: copied ahead on a stream of its own, straight out of the ring
where the device can, else through a stage.

The ring's shared mapping is pinned, once, and its slots are released when their copy has ended. (A
private mapping would not do: pinned pages are the process' own, and do not show later batches.) A
device that cannot pin memory that is mapped read-only is given the batches through a stage: one
batch of pinned memory, from which it copies while the slots are released.

Knows no framework: a Device allocates. One thread at a time, that of the loader, but for leases,
which end in any thread.
"""
from __future__ import annotations

import ctypes
import logging
import os
import threading
from typing import (TYPE_CHECKING, Any, Callable, ContextManager, Dict, List, Optional, Protocol,
                    Sequence, Tuple)

import numpy as np

from . import _cuda
from ._memory import PAGE
from ._wire import Received
from .batch import Lease
from .errors import DeviceError
from .loader import Item, Iteration, Loader

if TYPE_CHECKING:
    from ._connection import Connection
    from ._ring import Field, Ring

_AHEAD = 2  # copies of batches that the program has not asked for
_ALIGNED = 256  # fields in the stage
_log = logging.getLogger("stoker")
_pinned_for_ever: List[object] = []  # what could not be unpinned stays mapped


class Device(Protocol):
    """What a framework has. ``stream``: a number; copies are made there."""

    number: int
    stream: int

    def here(self) -> ContextManager[object]:
        """Within it the device and the stream of copies are the current ones."""

    def empty(self, field: Field, count: int) -> Tuple[Any, int]:
        """An array for a field of so many samples, and its address."""

    def consumer(self) -> int:
        """The stream on which the program will use the arrays."""

    def hand(self, array: Any) -> None:
        """The program gets the array, and uses it on that stream."""


class _Copy:
    """A batch on its way. ``arrays``: by name. ``event``: None once it has arrived. Any thread."""

    __slots__ = ("arrays", "event", "_runtime", "_stream", "_lock")

    def __init__(self, runtime: _cuda.Runtime, stream: int, event: int,
                 arrays: Dict[str, Any]) -> None:
        self.arrays = arrays
        self.event: Optional[int] = event
        self._runtime = runtime
        self._stream = stream
        self._lock = threading.Lock()

    def has_arrived(self) -> bool:
        with self._lock:
            return self.event is None or self._end(self._runtime.is_done)

    def wait(self) -> None:
        """Until nothing reads the slots and writes to the arrays, also if it raises DeviceError."""
        with self._lock:
            if self.event is not None:
                self._end(self._runtime.wait)

    def _end(self, look: Callable[[int], Optional[bool]]) -> bool:
        assert self.event is not None
        try:
            if look(self.event) is False:
                return False
        except DeviceError:
            _calm(self._runtime, self._stream, self.event)
            self.event = None
            raise
        event, self.event = self.event, None
        self._runtime.destroy(event)
        return True


def _calm(runtime: _cuda.Runtime, stream: int, event: int) -> None:
    """After a failure: nothing is under way, or the device is lost."""
    for call, what in (runtime.finish, stream), (runtime.destroy, event):
        try:
            call(what)
        except DeviceError as error:
            _log.warning("%s", error)


class _Reading(Lease):
    """A lease of slots that a copy reads: they go back when it has arrived. Any thread."""

    __slots__ = ("copy",)

    def __init__(self, connection: Connection, ring: Ring, fields: Dict[str, Any],
                 copy: _Copy) -> None:
        self.copy = copy
        super().__init__(connection, fields["lease"], False, ring, fields["runs"])

    def keep(self) -> None:
        self.release()

    def release(self) -> None:
        try:
            self.copy.wait()
        finally:
            super().release()


class Copier:
    """Owns the pinning of one ring at a time, a stage, and the copies. Methods raise DeviceError.

    ``how``: "registered" or "staged"; "" before the first batch."""

    def __init__(self, device: Device) -> None:
        self.how = ""
        self._device = device
        self._runtime = _cuda.runtime()
        self._process = os.getpid()
        with device.here():
            self._can_register = self._runtime.reads_registered(device.number)
        self._ring: Optional[Ring] = None
        self._pinned: Optional[np.ndarray[Any, Any]] = None  # its memory
        self._stage = self._stage_bytes = 0
        self._in_stage: Optional[_Copy] = None
        self._ahead: Dict[int, Tuple[Dict[str, Any], _Copy]] = {}  # by lease; fields of BATCH
        self._taken: List[_Reading] = []

    def take(self, connection: Connection, ring: Ring, fields: Dict[str, Any],
             names: Sequence[str]) -> Dict[str, Any]:
        """The arrays of a BATCH by name: what the program begins from now on finds them filled. Its
        slots are released when the copy has ended, also if this fails."""
        try:
            copy = self._copy_ahead(fields, names) or self._begin(ring, fields, names)
        except BaseException:
            connection.release(fields["lease"])
            raise
        try:
            if self._pinned is not None:
                self._taken.append(_Reading(connection, ring, fields, copy))
            else:  # the stage has it
                connection.release(fields["lease"])
            if copy.event is not None:
                self._runtime.follow(self._device.consumer(), copy.event)
            for array in copy.arrays.values():
                self._device.hand(array)
        except BaseException:
            copy.wait()
            raise
        return copy.arrays

    def go_ahead(self, connection: Connection, ring: Ring, batch_size: int,
                 names: Sequence[str]) -> None:
        """Begin to copy what was announced. What fails here is tried again when it is taken."""
        coming = connection.announced()
        self._keep_ahead(coming)
        for fields in coming[:_AHEAD]:
            if fields["lease"] in self._ahead:
                continue
            if ring is not self._ring or fields["count"] > batch_size or \
                    not ring.has(fields["runs"], fields["count"]) or self._is_stage_full():
                return
            try:
                self._ahead[fields["lease"]] = fields, self._begin(ring, fields, names)
            except Exception as error:  # the framework's, too, when it has no memory
                _log.debug("a batch is not copied ahead: %s", error)
                return

    def reap(self) -> None:
        """Release the slots of copies that have ended."""
        under_way = []
        try:
            while self._taken:
                if self._taken[0].copy.has_arrived():
                    self._taken.pop(0).release()
                else:
                    under_way.append(self._taken.pop(0))
        finally:
            self._taken = under_way + self._taken

    def settle(self) -> None:
        """Wait for the copies that the program has, and release their slots."""
        while self._taken:
            self._taken.pop(0).release()

    def let_go(self) -> None:
        """settle(), after a failure: a second one is only logged."""
        while self._taken:
            self._say(self.settle)

    def finish(self) -> None:
        """Wait for all copies; those ahead are forgotten."""
        try:
            self._keep_ahead(())
        finally:
            self.settle()

    def close(self) -> None:
        """Wait for all copies, and unpin. What fails is logged. May be called twice."""
        if os.getpid() != self._process:  # the parent's: CUDA does not survive a fork
            return
        while self._ahead or self._taken:
            self._say(self.finish)
        self._say(self._leave_ring)
        self._say(self._free_stage)

    def _say(self, step: Callable[[], None]) -> None:
        try:
            step()
        except DeviceError as error:
            _log.warning("%s", error)

    # Copies ahead

    def _copy_ahead(self, fields: Dict[str, Any], names: Sequence[str]) -> Optional[_Copy]:
        """The copy of a BATCH, if it was begun."""
        begun = self._ahead.pop(fields["lease"], None)
        if begun is None:
            return None
        if begun[0] is fields and list(begun[1].arrays) == list(names):
            return begun[1]
        begun[1].wait()
        return None

    def _keep_ahead(self, coming: Sequence[Dict[str, Any]]) -> None:
        """Forget the copies of other batches: the daemon was lost, or the program moved on."""
        for lease, (fields, copy) in list(self._ahead.items()):
            if not any(fields is other for other in coming):
                del self._ahead[lease]
                copy.wait()

    # Copying

    def _begin(self, ring: Ring, fields: Dict[str, Any], names: Sequence[str]) -> _Copy:
        if ring is not self._ring:
            self._enter_ring(ring)
        device, runtime = self._device, self._runtime
        parts = {name: ring.parts(name, fields["runs"]) for name in names}
        with device.here():
            sources = self._fill_stage(parts) if self._pinned is None else {
                name: [(part.ctypes.data, part.nbytes) for part in several]
                for name, several in parts.items()}
            event = runtime.event()
            arrays = {}
            try:
                for name, pieces in sources.items():
                    arrays[name], to = device.empty(
                        ring.field_of(name, fields["runs"]), fields["count"])
                    for source, length in pieces:
                        runtime.copy(to, source, length, device.stream)
                        to += length
                runtime.record(event, device.stream)
            except BaseException:
                _calm(runtime, device.stream, event)  # pieces may be under way
                raise
        copy = _Copy(runtime, device.stream, event, arrays)
        if self._pinned is None:
            self._in_stage = copy
        return copy

    def _is_stage_full(self) -> bool:
        return self._pinned is None and self._in_stage is not None and \
            not self._in_stage.has_arrived()

    def _fill_stage(self, parts: Dict[str, List[np.ndarray[Any, Any]]]
                    ) -> Dict[str, List[Tuple[int, int]]]:
        """Where they are in the stage, and how long."""
        sizes = {name: sum(part.nbytes for part in several) for name, several in parts.items()}
        needed = sum(_up(size, _ALIGNED) for size in sizes.values())
        if self._in_stage is not None:
            self._in_stage.wait()
        if needed > self._stage_bytes:
            self._free_stage()
            self._stage = self._runtime.allocate(_up(needed, PAGE))
            self._stage_bytes = _up(needed, PAGE)
        to, found = self._stage, {}
        for name, several in parts.items():
            found[name] = [(to, sizes[name])]
            at = to
            for part in several:
                ctypes.memmove(at, part.ctypes.data, part.nbytes)
                at += part.nbytes
            to += _up(sizes[name], _ALIGNED)
        return found

    def _free_stage(self) -> None:
        stage, self._stage, self._stage_bytes = self._stage, 0, 0
        try:
            if self._in_stage is not None:
                self._in_stage.wait()
        finally:
            if stage:
                self._runtime.free(stage)

    # The ring

    def _enter_ring(self, ring: Ring) -> None:
        self.finish()
        self._leave_ring()
        self._ring = ring
        self.how = "staged"
        if not self._can_register:
            _log.info("the device pins no memory that is mapped read-only: batches go through a "
                      "stage")
        elif ring.holes:  # pinning would fill them with memory that nobody has asked for
            _log.info("the ring has slots without memory: batches go through a stage")
        else:
            memory = ring.whole()
            try:
                with self._device.here():
                    self._runtime.register(memory.ctypes.data, _up(memory.nbytes, PAGE))
            except DeviceError as error:
                _log.warning("batches go through a stage: %s", error)
                return
            self._pinned = memory
            self.how = "registered"

    def _leave_ring(self) -> None:
        memory, self._pinned, self._ring = self._pinned, None, None
        if memory is None:
            return
        try:
            with self._device.here():
                self._runtime.unregister(memory.ctypes.data)
        except DeviceError as error:
            _pinned_for_ever.append(memory)
            _log.warning("the ring stays mapped: %s", error)


def _up(size: int, to: int) -> int:
    return (size + to - 1) // to * to


class DeviceIteration(Iteration[Item]):
    """As Iteration, of arrays on a device. ``names``: the fields; None: all. If a copy cannot be
    begun, it ends, and the next one of the loader begins with that batch."""

    def __init__(self, loader: Loader, copier: Copier, names: Optional[Sequence[str]],
                 make: Callable[[Dict[str, Any]], Item]) -> None:
        self._copier = copier
        self._names = names
        self._finish = make
        self._before = loader._reader.at
        super().__init__(loader, self._take)

    def __next__(self) -> Item:
        self._before = self._loader._reader.at
        try:
            self._copier.reap()
            if not self._loader._reader.connection.announced():
                self._copier.settle()  # the daemon may wait for the slots
        except DeviceError:
            self._give_up()
            raise
        try:
            return super().__next__()
        except StopIteration:
            self._copier.settle()
            raise

    def _take(self, message: Received) -> Item:
        loader, copier = self._loader, self._copier
        loader._check_batch(message.fields)
        ring, connection = loader._reader.ring, loader._reader.connection
        names = list(ring.fields) if self._names is None else self._names
        try:
            arrays = copier.take(connection, ring, message.fields, names)
            copier.go_ahead(connection, ring, loader.batch_size, names)
        except BaseException:
            self._give_up()
            raise
        return self._finish(arrays)

    def _give_up(self) -> None:
        self._loader._rewind(self._before)
        self._copier.let_go()
