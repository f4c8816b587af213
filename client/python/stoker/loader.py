# SPDX-License-Identifier: MIT
"""The loader: an attached reader of one stream, as an iterable of batches.

One thread at a time uses a loader. Arrays and batches may be read and dropped in any thread.
"""
from __future__ import annotations

import gc
import math
import operator
import threading
import time
import warnings
from typing import (TYPE_CHECKING, Any, Callable, Dict, Generic, Iterable, List, Mapping,
                    Optional, Tuple, TypeVar)

import numpy as np

from . import _show, state
from ._reader import Reader, _left
from ._wire import Received
from .batch import Batch, Lease
from .errors import ArgumentError, Disconnected, Error, SampleError, Stopping, from_message
from .state import Place

if TYPE_CHECKING:
    from ._connection import Connection
    from ._ring import Field

Item = TypeVar("Item")
Arrays = Tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]

# Where held batches keep others from coming: collect those in reference cycles, then tell.
HELD_COLLECT_S = 0.1
HELD_WARNING_S = 5.0


class _Alone:
    """One thread at a time is inside. Its owner is known by number and no lock is held, so a thread
    that an exception took out of here at any moment can come back."""

    def __init__(self) -> None:
        self._inside = 0

    def __enter__(self) -> None:
        if self._inside not in (0, threading.get_ident()):
            raise RuntimeError("another thread is using this loader, and one at a time can: make a "
                               "loader for each, or take batches in one thread and hand them on")
        self._inside = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self._inside = 0


class Iteration(Generic[Item]):
    """One pass over the rest of an epoch. Ends when another one of the same loader begins."""

    def __init__(self, loader: Loader, make: Callable[[Received], Item]) -> None:
        self._loader = loader
        self._make = make
        with loader._alone:
            self._number, self._epoch = loader._begin()

    def __iter__(self) -> Iteration[Item]:
        return self

    def __next__(self) -> Item:
        with self._loader._alone:
            message = self._loader._next_batch(self._number, self._epoch)
        if message is None:
            raise StopIteration
        return self._make(message)


class Loader(Reader):
    """Made by Node.loader(). ``for images, labels in loader`` yields the rest of an epoch.

    Each ``for`` is the next epoch; after a ``break`` in mid-epoch the next one begins the epoch
    after it, unless set_epoch() or load_state_dict() said otherwise.

    images: (n, C, H, W) or (n, H, W, C) of ``dtype``, and (n, views, ...) with views; labels: (n,)
    int64, or what a manifest holds. Both are read-only views of shared memory, without a copy, and
    stay valid as long as there is a reference to them. The daemon waits for them: at most
    ``inflight`` batches are out at a time, of which a ``for`` loop holds one while it asks for the
    next.

    If the daemon dies or is started anew the loader waits for it, up to ``reconnect`` seconds, and
    goes on behind the last batch it gave: the same batches, after a pause. What is held stays
    readable. The logger "stoker" says so, and ``reconnects`` counts it. It also names the file if
    a batch waits for a read that hangs, as on a dead mount.

    Attributes:
        samples: of an epoch, over all ranks, echoes counted.
        dtype, layout: of the images; bfloat16 comes as uint16 bits, as numpy has no such type.
        dataset_fingerprint, pipeline_hash: hexadecimal; sampling_hash: of sampler, echo and views,
            "" if there are none.
        rank, world_size, batch_size, inflight, epochs, timeout, reconnect: as given.
        reconnects: how often the daemon was lost and found again.

    Raises, from iterating: SampleError (the next ``next()`` goes on behind that batch), Stopping,
    Disconnected, ProtocolError, TimeoutError (loses nothing), ForkError, RequestError.
    """

    def __init__(self, connect: Callable[[], Connection], request: Dict[str, Any], *,
                 epochs: Optional[int], timeout: Optional[float],
                 reconnect: Optional[float] = None, live: bool = False) -> None:
        self._alone = _Alone()
        self._iteration = 0  # the number of the one that may go on
        self._taken = False  # did the application get anything in it?
        self._classes: Optional[List[str]] = None
        self._said: Optional[Place] = None  # by set_epoch or load_state_dict: where to begin
        self._said_last = False  # ... and nothing went to the application since
        self._closed = False
        self._got_batches = self._got_samples = 0
        self._waited_s = 0.0
        self.dtype: str = request["dtype"]
        self.layout: str = request["layout"]
        super().__init__(connect, request, epochs=epochs, timeout=timeout, reconnect=reconnect,
                         live=live)

    def __len__(self) -> int:
        """Batches of a whole epoch for this rank."""
        return self._batches

    def __iter__(self) -> Iteration[Arrays]:
        return Iteration(self, self._arrays)

    def batches(self) -> Iteration[Batch]:
        """The same as iterating, but Batch objects, which know more and can be released early."""
        return Iteration(self, self._batch)

    def batch(self, epoch: int, k: int) -> Batch:
        """Batch ``k`` of this rank in an epoch, from 0 on, as iterating over the epoch gives it;
        negative ones count from its end. Any batch, at any time; the loop is not disturbed.

        The arrays are copies, and nobody waits for them. It takes a connection of its own, for a
        moment. Any thread. Raises IndexError, and what making a loader and iterating raise.
        """
        self._check()
        epoch, k = _epoch(epoch), operator.index(k)
        number = k + len(self) if k < 0 else k
        if not 0 <= number < len(self):
            raise IndexError(f"there is no batch {k}: an epoch has {len(self)} for this rank")
        return self._only_batch(epoch, number)

    def show(self, rows: int = 4, cols: int = 8, epoch: Optional[int] = None) -> Any:
        """A figure of matplotlib with this rank's first samples of an epoch (that of the next
        batch), with their classes above; what Normalize did is undone. As batch(): from copies, and
        the loop is not disturbed. Raises ImportError without matplotlib."""
        return _show.show(self, rows, cols, self.epoch if epoch is None else epoch)

    def stats(self) -> Dict[str, Any]:
        """What this reader is waiting for, and what it got.

        From the daemon, as ``stokerctl readers --json``: ``share_trainer``, ``share_storage``,
        ``share_decode``, ``share_slot`` (shares of its time that it was itself the slow one, or
        waited for storage, for decode, for a slot that others hold), ``limited_by`` (the largest of
        them), and more. From here: ``batches``, ``samples``, ``wait_seconds`` (in next()),
        ``reconnects``. Raises Error if the daemon is older than this.
        """
        self._check()
        try:
            with self._alone:
                rows = self._list("reader")["items"]
        except ArgumentError as error:
            raise Error("this stokerd cannot tell what a reader waits for: it is older than the "
                        "client") from error
        if not isinstance(rows, list) or len(rows) != 1 or not isinstance(rows[0], dict):
            raise self._connection.broken("statistics that are none")
        return {**rows[0], "batches": self._got_batches, "samples": self._got_samples,
                "wait_seconds": self._waited_s, "reconnects": self.reconnects}

    @property
    def fields(self) -> Dict[str, Field]:
        """What a sample has, by name (image, label, index, and what else its dataset has): each
        with its ``dtype``, stoker's word, and its ``shape``."""
        return dict(self._ring.fields)

    @property
    def epoch(self) -> int:
        """The epoch of the next batch, so ``for epoch in range(loader.epoch, 90)`` resumes."""
        return self._place().epoch

    @property
    def position(self) -> int:
        """Where in it, counted over all ranks, the next batch is."""
        return self._place().position

    @property
    def classes(self) -> List[str]:
        """Names of the classes by label; empty if the labels are none of classes."""
        self._check()
        if self._classes is None:
            names: List[str] = []
            after = 0
            while True:
                with self._alone:
                    page = self._list("classes", after)
                names += self._names(page["items"])
                if page["next"] == 0:
                    break
                if page["next"] <= after:
                    raise self._connection.broken("a listing without an end")
                after = page["next"]
            self._classes = names
        return list(self._classes)

    def paths(self, indices: Iterable[int]) -> List[str]:
        """The paths of these samples of the dataset (``batch.index``), relative to its root; what
        is no UTF-8 in them is as os.fsdecode() has it. Raises IndexError if there is no such
        sample."""
        self._check()
        wanted = [int(index) for index in indices]
        found: Dict[int, str] = {}
        for index in sorted(set(wanted)):
            if index in found:
                continue
            with self._alone:
                page = self._names(self._list("paths", index)["items"]) if index >= 0 else []
            if not page:
                raise IndexError(f"the dataset has no sample {index}")
            found.update(enumerate(page, index))
        return [found[index] for index in wanted]

    def set_epoch(self, epoch: int) -> None:
        """The next ``for`` begins this epoch."""
        self._check()
        self._say(Place(_epoch(epoch), 0))

    def state_dict(self) -> Dict[str, Any]:
        """Where to go on, as a dict of less than 1 kB that goes through JSON.

        Counts what the application got, not what was prefetched: after a batch was yielded it
        counts as used. The same on all ranks after the same number of batches.
        """
        return state.make(self._identity(), self._place(), self.batch_size, self.world_size)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next ``for`` goes on where the state was taken, in mid-epoch if need be.

        Batch size and world size may differ. Raises TokenError, naming the field, if the state is
        for another dataset, pipeline, order, subset or sampler.
        """
        self._check()
        place = state.check(state_dict, self._identity(), self.samples)
        self._iteration += 1
        self._say(place)

    def close(self) -> None:
        """Leave the daemon. Arrays that are still held stay readable, but no longer hold their
        slots: where other readers share the ring the contents may change. May be called twice."""
        if self._closed:
            return
        self._closed = True
        forgotten = self._connection.forgotten()
        self._connection.close()
        if forgotten:
            warnings.warn(f"{forgotten} batches were not released before the loader was closed",
                          ResourceWarning, stacklevel=2)

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self._connection.retire()  # arrays may be held still
        except Exception:  # half made, or at the interpreter's end
            pass

    def __repr__(self) -> str:
        return f"<stoker.Loader {self._words()}>"

    def _words(self) -> str:
        dataset = self._request["dataset"]
        paths = [part["path"] for part in dataset.get("parts", [dataset])]
        place = "closed" if self._closed else f"at epoch {self.epoch} position {self.position}"
        return (f"{' + '.join(paths)}: {len(self)} batches of {self.batch_size}, "
                f"rank {self.rank} of {self.world_size}, {place}")

    def __reduce__(self) -> Any:
        raise TypeError("a loader is a connection of this process and cannot be pickled: make one "
                        "in the process that needs it (no worker processes are needed: the daemon "
                        "does their work)")

    # Places

    def _place(self) -> Place:
        return self._said if self._said is not None and self._said_last else self._at

    def _say(self, place: Place) -> None:
        self._said = place
        self._said_last = True

    def _identity(self) -> state.Identity:
        request = self._request
        return state.Identity(
            dataset=self.dataset_fingerprint, pipeline=self.pipeline_hash,
            order_seed=request["order_seed"], augment_seed=request["augment_seed"],
            shuffle=request["shuffle"], subset=_subset(request),
            exif_orientation=request["exif_orientation"], sampling=self.sampling_hash)

    # Iterating

    def _check(self) -> None:
        if self._closed:
            raise Error("the loader is closed: node.loader() makes another")

    def _reattach(self, place: Place) -> bool:
        self._check()
        return super()._reattach(place)

    def _begin(self) -> Tuple[int, int]:
        """Be ready for another iteration; returns its number and its epoch."""
        self._check()
        place = self._said
        if place is None:
            broken_off = self._taken and self._at.position != 0
            place = Place(self._at.epoch + 1, 0) if broken_off else self._at
        if self.epochs is not None and place.epoch >= self.epochs:
            raise Error(f"epoch {place.epoch} was asked for, and epochs={self.epochs}: make the "
                        "loader with more, or go back by set_epoch()")
        try:
            self._connection.check()
            if place != self._at or not self._attached:
                self._move(place)
        except (Disconnected, Stopping) as error:
            self._recover(error, place, self._deadline())
        self._said = None
        self._said_last = False
        self._taken = False
        self._iteration += 1
        return self._iteration, place.epoch

    def _next_batch(self, iteration: int, epoch: int) -> Optional[Received]:
        """The next BATCH of the epoch; None at its end."""
        self._check()
        if iteration != self._iteration:
            raise RuntimeError("this iteration ended when another one of the loader began: for two "
                               "at a time make two loaders")
        if self._at.epoch > epoch:
            return None
        begun = time.monotonic()
        message = self._wait()
        self._waited_s += time.monotonic() - begun
        name, fields = message
        if name in ("batch", "bad_sample"):
            if fields["epoch"] > epoch:  # this rank has no share of the epoch's last batch
                self._connection.unread(message)
                self._at = Place(fields["epoch"], 0)
                return None
            self._advance(fields)
            if name == "bad_sample":
                raise SampleError.from_message(fields)
            self._got_batches += 1
            self._got_samples += fields["count"]
            return message
        if name == "end":
            self._connection.unread(message)
            self._at = Place(max(fields["epoch"], epoch + 1), 0)
            return None
        if name == "error":
            raise from_message(fields)
        raise self._connection.broken(f"{name} where a batch should come")

    def _advance(self, fields: Dict[str, Any]) -> None:
        place = Place(fields["next_epoch"], fields["next_position"])
        if fields["epoch"] < self._at.epoch or place <= self._at or place.position > self.samples:
            raise self._connection.broken("batches out of order")
        self._at = place
        self._said_last = False
        self._taken = True

    def _wait(self) -> Received:
        """The next message. Says why if it does not come because the application holds all."""
        begun, deadline = time.monotonic(), self._deadline()
        steps: List[Tuple[float, Callable[[], object]]] = [
            (begun + HELD_WARNING_S, self._warn_held), (begun + HELD_COLLECT_S, gc.collect)]
        while True:
            until = min(deadline, steps[-1][0] if steps else math.inf)
            try:
                message = self._receive(_left(until))
            except (Disconnected, Stopping) as error:
                self._check()  # closed meanwhile, by another thread or in a signal's handler
                self._recover(error, self._at, deadline)
                continue
            if message is not None:
                return message
            if time.monotonic() >= deadline:
                raise TimeoutError(f"no batch came within {self.timeout:g} s"
                                   + (self._why_held() or self._stalled))
            while steps and time.monotonic() >= steps[-1][0]:
                _, step = steps.pop()
                if self._why_held():
                    step()

    def _warn_held(self) -> None:
        warnings.warn("waiting for a batch" + self._why_held(), RuntimeWarning, stacklevel=5)

    def _why_held(self) -> str:
        """Why no batch can come, if it is for what the application holds; else nothing."""
        held, age, older = self._connection.held_state()
        if held >= self.inflight:
            what = f"all {held} batches that may be in flight"
        elif age >= self.inflight:  # the ring is a window of consecutive samples
            what = f"a batch from {age} batches ago, and the ring cannot move past it"
        elif older:
            what = f"{older} batches of an earlier iteration, and the ring may wait for them"
        else:
            return ""
        return (f": the application holds {what}; copy what is to be kept, drop the arrays, or "
                "raise inflight or prefetch")

    # From messages to arrays

    def _lease(self, fields: Dict[str, Any], explicit: bool) -> Lease:
        if not self._ring.has(fields["runs"], fields["count"]) or \
                fields["lease"] in self._connection.held:
            raise self._connection.broken("a batch that is not in the ring")
        return Lease(self._connection, fields["lease"], explicit)

    def _arrays(self, message: Received) -> Arrays:
        lease = self._lease(message.fields, False)
        runs = message.fields["runs"]
        return self._ring.gather("image", runs, lease), self._ring.gather("label", runs, lease)

    def _batch(self, message: Received) -> Batch:
        return Batch(self._ring, self._lease(message.fields, True), message.fields)

    def _names(self, items: Any) -> List[str]:
        if not isinstance(items, list) or not all(isinstance(item, (str, bytes)) for item in items):
            raise self._connection.broken("names that are no texts")
        return [item if isinstance(item, str) else item.decode("utf-8", "surrogateescape")
                for item in items]


def _epoch(epoch: int) -> int:
    try:
        number = operator.index(epoch)
    except TypeError:
        number = -1
    if isinstance(epoch, bool) or number < 0:
        raise ValueError(f"an epoch is an int from 0 on, not {epoch!r}")
    return number


def _subset(request: Dict[str, Any]) -> Optional[Tuple[int, Optional[int]]]:
    if "subset_start" not in request:
        return None
    return request["subset_start"], request.get("subset_stop")
