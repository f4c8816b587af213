# SPDX-License-Identifier: MIT
"""The loader: an attached reader of one stream, as an iterable of batches.

Only one thread at a time may use a loader. Arrays and batches may be used in any thread.
"""
from __future__ import annotations

import math
import operator
import sys
import threading
import time
import warnings
import weakref
from typing import (TYPE_CHECKING, Any, Callable, Dict, Generic, Iterable, List, Mapping,
                    Optional, Sequence, Tuple, TypeVar, Union)

import numpy as np

from . import _crops, _show, state
from ._reader import SLOW, Reader, _left
from ._wire import Received
from .batch import Batch, Lease
from .errors import ArgumentError, Disconnected, Error, SampleError, Stopping, from_message
from .produce.cluster import Cluster
from .produce.plan import plan
from .produce.processes import Producers
from .state import Place

if TYPE_CHECKING:
    from .produce.map import MapCode
    from ._connection import Connection
    from ._credentials import Credentials
    from ._ring import Field

Item = TypeVar("Item")
Arrays = Tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]

_LOOK_S = 0.5  # how often it is looked whether the program's producers live


class _Alone:
    """Only one thread at a time is inside. The owner is kept as a number, not as a lock, so a
    thread that an exception interrupted here at any moment can enter again."""

    def __init__(self) -> None:
        self._inside = 0

    def __enter__(self) -> None:
        thread = threading.get_ident()
        if self._inside not in (0, thread):
            raise RuntimeError("another thread is using this loader, and only one at a time can: "
                               "make a loader for each thread, or take batches in one thread")
        self._inside = thread

    def __exit__(self, *_: object) -> None:
        self._inside = 0


class Iteration(Generic[Item]):
    """One pass over the rest of an epoch. Ends when another pass of the same loader begins."""

    def __init__(self, loader: Loader, make: Callable[[Received], Item]) -> None:
        self._loader = loader
        self._make = make
        with loader._alone:
            self._number, self._epoch = loader._begin()
            loader._current = weakref.ref(self)

    def __iter__(self) -> Iteration[Item]:
        return self

    def __next__(self) -> Item:
        with self._loader._alone:
            message = self._loader._next_batch(self._number, self._epoch)
        if message is None:
            raise StopIteration
        return self._make(message)


class _Passed(Generic[Item]):
    """An attribute of a loader that is its reader's."""

    def __set_name__(self, owner: object, name: str) -> None:
        self._name = name

    def __get__(self, loader: Optional[Loader], owner: object = None) -> Item:
        if loader is None:
            return self  # type: ignore[return-value]
        return getattr(loader._reader, self._name)  # type: ignore[no-any-return]

    def __set__(self, loader: Loader, value: Item) -> None:
        setattr(loader._reader, self._name, value)


class Loader:
    """Made by Node.loader(). ``for images, labels in loader`` gives the rest of an epoch.

    Each ``for`` is the next epoch, also after a ``break`` in the middle of one, unless set_epoch()
    or load_state_dict() was called. Who takes one batch only, ``next(iter(loader))``, has had a
    look: the next ``for`` begins where that one did. After Ctrl-C, in a notebook or while the
    loader waits, the next ``for`` goes on in the epoch; elsewhere ``load_state_dict(state_dict())``
    says that it shall.

    images: (n, C, H, W) or (n, H, W, C) of ``dtype``; (n, views, ...) with views. labels: (n,)
    int64, or the labels of the manifest. The images of the last ``inflight`` - 1 batches are not
    copies: they are read where the daemon has written them. All arrays may be written to and kept
    like any other: a page that is written to becomes the process' own, and so does an older batch
    that is still referenced when another one is asked for. stats() says how much that is.

    If the daemon dies or is restarted, the loader waits for it, up to ``reconnect`` seconds, and
    continues after the last batch that it gave: the same batches come, after a pause. Arrays that
    are held stay as they are. The logger "stoker" reports this, and ``reconnects`` counts it. The
    logger also names the file if a batch waits for a read that hangs, as on a dead mount.

    Attributes:
        samples: in an epoch, over all ranks, echoes included.
        dtype, layout: of the images; bfloat16 is given as uint16 bits, because numpy has no such
            type.
        dataset_fingerprint, pipeline_hash: hexadecimal, the first "" as long as only the names of
            a large folder are known; sampling_hash: of order, sampler, echo and views, "" if there
            are none.
        resize: pillow-13 or pillow-12, whose bytes a resize makes.
        rank, world_size, batch_size, inflight, epochs, timeout, reconnect: as given.
        reconnects: how often it has attached again after the daemon was lost.

    Iterating raises SampleError (``next()`` then gives the batch after it), Stopping, Disconnected,
    ProtocolError, TimeoutError (nothing is lost), ForkError or RequestError.
    """

    samples = _Passed[int]()
    batch_size = _Passed[int]()
    inflight = _Passed[int]()
    rank = _Passed[int]()
    world_size = _Passed[int]()
    epochs = _Passed[Optional[int]]()
    timeout = _Passed[Optional[float]]()
    reconnect = _Passed[Optional[float]]()
    reconnects = _Passed[int]()
    resize = _Passed[str]()
    dataset_fingerprint = _Passed[str]()
    pipeline_hash = _Passed[str]()
    sampling_hash = _Passed[str]()

    def __init__(self, connect: Callable[[], Connection], request: Dict[str, Any], *,
                 epochs: Optional[int], timeout: Optional[float],
                 reconnect: Optional[float] = None, live: bool = False,
                 credentials: Optional[Credentials] = None) -> None:
        self._alone = _Alone()
        self._iteration = 0  # number of the current one
        self._taken: Optional[int] = None  # epoch of the last batch that it gave
        self._begun = Place(0, 0)  # where it began
        self._given = 0  # batches, and samples that could not be made
        self._current: Callable[[], Optional[Iteration[Any]]] = lambda: None  # if it is referenced
        self._interrupted = False  # by Ctrl-C, while it waited
        self._last_error: object = None  # what sys.last_value was when it began
        self._classes: Optional[List[str]] = None
        self._said: Optional[Place] = None  # where to begin: set_epoch, load_state_dict
        self._said_last = False  # ... and no batch was given since then
        self._got_batches = self._got_samples = 0
        self._waited_s = 0.0
        self.dtype: str = request["dtype"]
        self.layout: str = request["layout"]
        self._crops = _crops.names(request["transforms"])  # fields that are images; none: "image"
        self._reader = Reader(connect, request, epochs=epochs, timeout=timeout,
                              reconnect=reconnect, live=live, credentials=credentials)

    def __len__(self) -> int:
        """Number of batches in a whole epoch for this rank. With ``last_batch="wrap"`` an epoch
        that goes on behind a batch of the one before may have one less."""
        return self._reader.batches

    def __iter__(self) -> Iteration[Arrays]:
        return Iteration(self, self._arrays)

    def batches(self) -> Iteration[Batch]:
        """As iterating, but gives Batch objects, which know more and can be released early."""
        return Iteration(self, self._batch)

    def batch(self, epoch: int, k: int) -> Batch:
        """Batch ``k`` of this rank in an epoch, as iterating over the epoch gives it; negative
        numbers count from the end. Any batch can be had at any time; a running loop is not
        disturbed. With ``last_batch="wrap"`` it is of the epoch as set_epoch() enters it.

        The arrays are copies. It uses a connection of its own for a moment. Any thread. Raises
        IndexError, and what Node.loader() and iterating raise.
        """
        self._reader.check()
        epoch, k = _epoch(epoch), operator.index(k)
        number = k + len(self) if k < 0 else k
        if not 0 <= number < len(self):
            raise IndexError(f"no batch {k}: an epoch has {len(self)} batches for this rank, "
                             "counted from 0: take a number below that")
        if self._reader.ring.sized:
            raise Error("batch() does not know where a batch of Buckets stands in its epoch: "
                        "iterate, or resume with load_state_dict()")
        place = Place(epoch, number * self.batch_size * self.world_size)
        return self._reader.only_batch(place, self.batch_size)

    def show(self, rows: int = 4, cols: int = 8, epoch: Optional[int] = None) -> Any:
        """A matplotlib figure of the first samples of this rank in an epoch (default: that of the
        next batch), with their classes above them. Normalize is undone. A running loop is not
        disturbed. Raises ImportError without matplotlib."""
        return _show.show(self, rows, cols, self.epoch if epoch is None else epoch)

    def stats(self) -> Dict[str, Any]:
        """What this reader waits for, and what it has got.

        From the daemon, as with ``stokerctl readers --json``: ``share_trainer``,
        ``share_storage``, ``share_decode`` and ``share_slot`` (shares of its time in which the
        training loop was the slow part, or it waited for storage, for decoding, for a slot that
        another reader held), ``limited_by`` (the largest of them), and more. From the client:
        ``batches``, ``samples``, ``wait_seconds`` (in next()), ``reconnects``, ``kept_batches`` and
        ``kept_bytes`` (of memory of this process, because the program still has arrays of them;
        batches that were copied from the start are not counted). Raises Error if the daemon is too
        old.
        """
        self._reader.check()
        try:
            with self._alone:
                rows = self._reader.listing("reader")["items"]
        except ArgumentError as error:
            raise Error("this stokerd is older than the client and has no statistics of a reader: "
                        "upgrade it"
                        ) from error
        if not isinstance(rows, list) or len(rows) != 1 or not isinstance(rows[0], dict):
            raise self._reader.connection.broken("statistics that are not a map")
        kept = list(self._reader.connection.kept)
        return {**rows[0], "batches": self._got_batches, "samples": self._got_samples,
                "wait_seconds": self._waited_s, "reconnects": self.reconnects,
                "kept_batches": len(kept), "kept_bytes": sum(lease.bytes for lease in kept)}

    @property
    def shapes(self) -> List[Tuple[int, ...]]:
        """The shapes of an image that batches may have: with Buckets several, else one."""
        field = self._reader.ring.fields["image"]
        if not field.sized:
            return [field.shape]
        return [field.of(size) for size in self._reader.sizes]

    @property
    def fields(self) -> Dict[str, Field]:
        """The fields of a sample by name (image, label, index, and further ones of the dataset),
        each with its ``dtype`` (a text) and ``shape``."""
        return dict(self._reader.ring.fields)

    @property
    def epoch(self) -> int:
        """The epoch of the next batch, so ``for epoch in range(loader.epoch, 90)`` resumes. After a
        ``break``, that of the next ``for``."""
        left = self._said is None and self._left_off() and self._current() is None
        return (self._after() if left else self._place()).epoch

    @property
    def position(self) -> int:
        """The position of the next batch in its epoch, over all ranks."""
        return self._place().position

    @property
    def classes(self) -> List[str]:
        """Names of the classes by label; empty if the labels are not classes."""
        self._reader.check()
        if self._classes is None:
            names: List[str] = []
            after = 0
            while True:
                with self._alone:
                    page = self._reader.listing("classes", after)
                names += self._names(page["items"])
                if page["next"] == 0:
                    break
                if page["next"] <= after:
                    raise self._reader.connection.broken("a listing without end")
                after = page["next"]
            self._classes = names
        return list(self._classes)

    @property
    def class_to_idx(self) -> Dict[str, int]:
        """The label of each class by its name, as torchvision's ImageFolder has it."""
        return {name: label for label, name in enumerate(self.classes)}

    def paths(self, indices: Iterable[int]) -> List[str]:
        """The paths of these samples of the dataset (``batch.index``), relative to its root, as
        os.fsdecode() gives them. Raises IndexError if there is no such sample."""
        self._reader.check()
        wanted = [int(index) for index in indices]
        found: Dict[int, str] = {}
        for index in sorted(set(wanted)):
            if index in found:
                continue
            with self._alone:
                page = [] if index < 0 else \
                    self._names(self._reader.listing("paths", index)["items"])
            if not page:
                raise IndexError(f"the dataset has no sample {index}"
                                 ": take an index below its length")
            found.update(enumerate(page, index))
        return [found[index] for index in wanted]

    def set_epoch(self, epoch: int) -> None:
        """The next ``for`` begins this epoch."""
        self._reader.check()
        self._say(Place(_epoch(epoch), 0))

    def plan(self) -> str:
        """In words, a line each: what the daemon does, and what runs in how many processes."""
        return plan(self._reader.request, self._reader.producers, self._reader.map_producers)

    def state_dict(self) -> Dict[str, Any]:
        """Where to resume, as a dict that JSON can hold: of some 1 kB, and the transforms.

        It counts the batches that the application has got, not those that were prefetched; a batch
        counts once it was given. It is the same on all ranks after the same number of batches.
        """
        made = {} if self._reader.producers is None else self._reader.producers.state()
        inexact = {} if self._reader.exact else {"exact": False}
        return {**state.make(self._known(), self._place(), self.batch_size, self.world_size),
                **made, **inexact}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next ``for`` resumes where the state was taken, also in the middle of an epoch.

        Batch size and world size may differ. Raises TokenError, which names the field, if the state
        is for another dataset, pipeline, order, subset or sampler.
        """
        self._reader.check()
        theirs = state.read(state_dict)
        state.check(theirs, self._reader.as_of(theirs), self._reader.request)
        self._reader.heed(theirs)
        place = state.place_of(state_dict, self.samples)
        if state_dict.get("exact") is False:
            self._reader.resume_inexact()
        if self._reader.producers is not None:
            self._reader.producers.resume(state_dict, place)
        self._reader.expect(theirs)
        self._known().fingerprints.update({  # of kinds that other clients know
            kind: value for kind, value in theirs.fingerprints.items()
            if kind not in state.KINDS and kind != "code"})
        self._rewind(place)

    def close(self) -> None:
        """Disconnect. Arrays that are still held stay as they are. May be called twice."""
        if self._reader.closed:
            return
        unreleased = self._reader.connection.unreleased()
        self._reader.close()
        if unreleased:
            warnings.warn(f"{unreleased} batches were not released before the loader was closed",
                          ResourceWarning, stacklevel=2)

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self._reader.close()
        except Exception:  # not fully made, or the interpreter exits
            pass

    def __repr__(self) -> str:
        return f"<stoker.Loader {self._words()}>"

    def _name(self) -> str:
        """Of the dataset."""
        dataset = self._reader.request["dataset"]
        return " + ".join(part["path"] for part in dataset.get("parts", [dataset]))

    def _words(self) -> str:
        epoch, position = self._place()
        place = "closed" if self._reader.closed else f"at epoch {epoch} position {position}"
        return (f"{self._name()}: {len(self)} batches of {self.batch_size}, "
                f"rank {self.rank} of {self.world_size}, {place}")

    def __reduce__(self) -> Any:
        raise TypeError("a loader is a connection of this process and cannot be pickled: make one "
                        "in the process that needs it (worker processes are not needed: the daemon "
                        "does their work)")

    # Places

    def _place(self) -> Place:
        return self._said if self._said is not None and self._said_last else self._reader.at

    def _rewind(self, place: Place) -> None:
        """End the iteration; the next one begins there."""
        self._iteration += 1
        self._say(place)

    def _say(self, place: Place) -> None:
        self._said = place
        self._said_last = True

    def _known(self) -> state.Identity:
        assert self._reader.identity is not None
        return self._reader.identity

    # Iterating

    def _begin(self) -> Tuple[int, int]:
        """Begin another iteration; returns its number and its epoch."""
        self._reader.check()
        place = self._said
        if place is None:
            place = self._after() if self._left_off() else self._reader.at
        if self.epochs is not None and place.epoch >= self.epochs:
            raise Error(f"no epoch {place.epoch}: the loader has epochs={self.epochs}; make it "
                        "with more, or go back with set_epoch()")
        try:
            self._reader.connection.check()
            if self._reader.renew(place) or place != self._reader.at or \
                    not self._reader.attached or self._reader.unchecked:
                self._reader.move(place)
        except (Disconnected, Stopping) as error:
            self._reader.recover(error, place, self._reader.deadline())
        self._said = None
        self._said_last = False
        self._taken = None
        self._begun, self._given = place, 0
        self._interrupted = False
        self._last_error = getattr(sys, "last_value", None)
        self._iteration += 1
        return self._iteration, place.epoch

    def _after(self) -> Place:
        """Where the next iteration begins after one that was left: at its beginning, if no more
        than a look at its first batch was taken."""
        return self._begun if self._given == 1 else Place(self._reader.at.epoch + 1, 0)

    def _left_off(self) -> bool:
        """Was the last iteration left in the middle of its epoch, other than by Ctrl-C?"""
        error = getattr(sys, "last_value", None)  # in a notebook
        stopped = isinstance(error, KeyboardInterrupt) and error is not self._last_error
        return self._taken == self._reader.at.epoch and not (stopped or self._interrupted)

    def _next_batch(self, iteration: int, epoch: int) -> Optional[Received]:
        """The next BATCH of the epoch; None at its end."""
        self._reader.check()
        if iteration != self._iteration:
            raise RuntimeError("this iteration ended when another one of the same loader began: to "
                               "have two at a time, make two loaders")
        if self._reader.at.epoch > epoch:
            return None
        begun = time.monotonic()
        try:
            message = self._wait()
        except KeyboardInterrupt:
            self._interrupted = True
            raise
        self._waited_s += time.monotonic() - begun
        name, fields = message
        if name in ("batch", "bad_sample"):
            if self._reader.share.next(self._reader.at).epoch > epoch:  # no part of the last batch
                self._reader.connection.unread(message)
                self._reader.at = Place(epoch + 1, 0)
                return None
            if name == "bad_sample" and self._reader.make_room(fields):
                self._move_to_room()
                return self._next_batch(iteration, epoch)
            self._advance(fields)
            if name == "bad_sample":
                raise SampleError.from_message(fields, self._reader.root())
            self._got_batches += 1
            self._got_samples += fields["count"]
            return message
        if name == "end":
            due = self._reader.share.next(self._reader.at)
            if self.epochs is not None and due.epoch < self.epochs:
                raise self._disordered("the end", fields["epoch"], 0)
            self._reader.connection.unread(message)
            self._reader.at = Place(max(fields["epoch"], epoch + 1), 0)
            return None
        if name == "error":
            raise from_message(fields)
        raise self._reader.connection.broken(f"{name} instead of a batch")

    def _move_to_room(self) -> None:
        """Go on with larger slots, at the batch that had not enough."""
        place = self._reader.at
        try:
            self._reader.move(place)
        except (Disconnected, Stopping) as error:
            self._reader.recover(error, place, self._reader.deadline())

    def _advance(self, fields: Dict[str, Any]) -> None:
        connection = self._reader.connection
        again = fields.get("lease", math.inf) <= connection.last_lease
        if again or not self._reader.share.has(self._reader.at, fields):
            raise self._disordered("a batch", fields["epoch"], fields["position"])
        connection.last_lease = fields.get("lease", connection.last_lease)
        self._reader.at = Place(fields["next_epoch"], fields["next_position"])
        connection.count()
        self._said_last = False
        self._taken = fields["epoch"]
        self._given += 1

    def _disordered(self, what: str, epoch: int, position: int) -> Error:
        due = self._reader.share.next(self._reader.at)
        return self._reader.connection.broken(
            f"batches out of order: {what} of epoch {epoch}, position {position}, where the batch "
            f"of epoch {due.epoch}, position {due.position} is next")

    def _wait(self) -> Received:
        """The next message."""
        # Else the daemon would have to wait for them.
        self._reader.connection.keep(self._reader.most_held)
        deadline = self._reader.deadline()
        while True:
            try:
                message = self._receive_made(_left(deadline))
            except (Disconnected, Stopping) as error:
                self._reader.check()  # closed, maybe, by another thread or a signal handler
                self._reader.recover(error, self._reader.at, deadline)
                continue
            if message is None:
                raise TimeoutError(
                    f"no batch came within {self.timeout:g} s{self._reader.stalled or SLOW}")
            return message

    def _take_map(self, code: MapCode, count: Union[int, Cluster], path: str, shown: bytes) -> None:
        """The code of a Map of the list of transforms, and start what runs it."""
        reader = self._reader
        reader.map_producers = code.kept or Producers(code, code.identity(), count, path, shown)
        reader.labelled = code.tree is not None
        reader.tree = code.tree or reader.tree

    def _receive_made(self, left: Optional[float]) -> Optional[Received]:
        """As _receive(), while the program's own producers can make samples."""
        if not self._reader.all_producers():
            return self._reader.receive(left)
        until = math.inf if left is None else time.monotonic() + left
        while True:
            message = self._reader.receive(min(_LOOK_S, max(0.0, until - time.monotonic())))
            if message is not None or time.monotonic() >= until:
                return message
            for producers in self._reader.all_producers():
                producers.check()

    # From messages to arrays

    def _take(self, message: Received, names: Optional[Sequence[str]] = None
              ) -> Tuple[Dict[str, np.ndarray[Any, Any]], Optional[Lease]]:
        """The arrays of a BATCH by name (None: all), and its lease; None if all were copied."""
        fields, ring = message.fields, self._reader.ring
        self._check_batch(fields)
        lease = Lease(self._reader.connection, fields["lease"], names is None, ring,
                      fields["runs"])
        arrays = ring.take(ring.fields if names is None else names, fields["runs"], lease)
        if lease.regions:
            return arrays, lease
        lease.release()
        return arrays, None

    def _copied(self, message: Received,
                out: Dict[str, Optional[np.ndarray[Any, Any]]]) -> Batch:
        """A BATCH with only the fields in ``out``, copied to there (None: to a new array)."""
        fields = message.fields
        self._check_batch(fields)
        arrays = self._reader.ring.copy(fields["runs"], out)
        self._reader.connection.release(fields["lease"])
        return Batch(arrays, None, fields, self._crops)

    def _check_batch(self, fields: Dict[str, Any]) -> None:
        if not self._reader.ring.has(fields["runs"], fields["count"]) or \
                fields["count"] > self.batch_size or \
                fields["lease"] in self._reader.connection.held:
            raise self._reader.connection.broken(
                "a batch that is too large or outside of the ring")

    def _arrays(self, message: Received) -> Any:
        if self._reader.tree is not None:
            return self._joined(message, lambda array: array)
        arrays, _ = self._take(message, (*(self._crops or ("image",)), "label"))
        return _crops.pictures(arrays, self._crops), arrays["label"]

    def _joined(self, message: Received, of_array: Callable[[Any], Any]) -> Any:
        """A batch of arrays of the user's code, as the tree that its samples are."""
        arrays, _ = self._take(message, self._names_of_tree())
        return self._in_tree({name: of_array(array) for name, array in arrays.items()})

    def _names_of_tree(self) -> List[str]:
        """The fields that the user's code gives, and the label that goes with them."""
        reader = self._reader
        assert reader.tree is not None
        names = [name for name in reader.ring.fields if name != "index"][:len(reader.tree.leaves)]
        if not reader.labelled:
            return names
        return ["image", *(f"array{number}" for number in range(1, len(names))), "label"]

    def _in_tree(self, items: Mapping[str, Any]) -> Any:
        """These, one for each of _names_of_tree(), in the tree of a batch."""
        reader = self._reader
        assert reader.tree is not None
        made = [items[name] for name in self._names_of_tree()]
        tree = reader.tree.join(made)
        return (tree, made[-1]) if reader.labelled else tree

    def _batch(self, message: Received) -> Batch:
        return Batch(*self._take(message), message.fields, self._crops)

    def _names(self, items: Any) -> List[str]:
        if not isinstance(items, list) or not all(isinstance(item, (str, bytes)) for item in items):
            raise self._reader.connection.broken("names that are not texts")
        return [item if isinstance(item, str) else item.decode("utf-8", "surrogateescape")
                for item in items]


def _epoch(epoch: int) -> int:
    try:
        number = operator.index(epoch)
    except TypeError:
        number = -1
    if isinstance(epoch, bool) or number < 0:
        raise ValueError(f"an epoch must be an int of at least 0, not {epoch!r}")
    return number
