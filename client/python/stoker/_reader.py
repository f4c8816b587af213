# SPDX-License-Identifier: MIT
"""A reader of one stream: attaches to the daemon, moves to another place, and attaches again after
the daemon was lost.

Knows messages and places. Iterations and arrays belong to the loader.
"""
from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence

from . import _buckets, _crops, _resize
from ._given import Given, given_of
from ._in_memory import InMemory
from ._patience import Patience
from ._share import Runs, Share
from ._tables import BYTES
from ._wire import Received
from .batch import Batch
from .errors import (DaemonUnavailable, Disconnected, Error, RequestError, SampleError, Stopping,
                     TokenError, TooManyConnections, from_message, plain, stopping)
from .state import Identity, Place, attached as identity_of, compare

if TYPE_CHECKING:
    from ._connection import Connection
    from ._credentials import Credentials
    from ._device import Copier
    from ._ring import Ring
    from .produce.processes import Producers
    from .produce.tree import Tree

# Errors of a daemon that is starting or stopping: another attempt can succeed.
_PASSING = (DaemonUnavailable, Disconnected, Stopping, TooManyConnections)
_LIKE_FILLS = {"dataset", *BYTES}  # what an ATTACH by number need not say
SLOW = ": give a longer timeout=, or see `stokerctl readers`"
_log = logging.getLogger("stoker")


def _left(deadline: float) -> Optional[float]:
    return None if deadline == math.inf else max(0.0, deadline - time.monotonic())


def _note_stalled(fields: Dict[str, Any], starting: bool = False) -> str:
    """Log why a batch is late; returns it as the end of a sentence. ``starting``: the program has
    begun producers, which import first."""
    words = plain(fields["why"]) or f"the read of {plain(fields['path'])} has taken " \
            f"{fields['read_ms'] // 1000} s so far: does its storage hang?"
    level = logging.INFO if starting and fields["why"] else logging.WARNING
    _log.log(level, "epoch %d, position %d waits: %s", fields["epoch"], fields["position"], words)
    return f"; {words}"


class Reader:
    """Attached when it is made. ``at``: the application has had everything before this place."""

    def __init__(self, connect: Callable[[], Connection], request: Dict[str, Any], *,
                 epochs: Optional[int], timeout: Optional[float], reconnect: Optional[float],
                 live: bool, credentials: Optional[Credentials] = None) -> None:
        self.connect = connect
        self.credentials = credentials
        self.request = request
        self.closed = False
        self.at = Place(0, 0)
        self.attached = False
        self.most_held = 0  # of the batches of the ring, as far as is known
        self._stream = ""  # fingerprint of what is read; "": not known yet
        self.unchecked = False  # a state says more of the dataset than was known at the attach
        self._number = 0  # of the stream at this daemon; 0: not known
        self._away: Optional[Error] = None  # why the daemon was lost, while it is
        self._patience = Patience(reconnect or 0)
        self.stalled = ""  # why the next batch is late, from STALLED
        self.exact = True  # as far as is known, what comes would come again
        self.most_held = 0  # batches of the ring, as far as is known
        self.reconnect = reconnect
        self.reconnects = 0
        self.epochs = epochs
        self.timeout = timeout
        self.batch_size: int = request["batch_size"]
        self.inflight: int = request["inflight"]
        self.rank: int = request["rank"]
        self.world_size: int = request["world"]
        self.identity: Optional[Identity] = None  # of the stream, once that is known
        self.given: Optional[Given] = None
        self.producers: Optional[Producers] = None  # that make its samples, if this process does
        self.map_producers: Optional[Producers] = None  # that run the code of its Map
        self.tree: Optional[Tree] = None  # of its samples, if they are arrays of the user's code
        self.labelled = False  # ... of a Map, beside which there are labels
        self.copier: Optional[Copier] = None  # to a device, if its owner wants that
        self.connection = self._dial()
        try:
            self._asked_resize: Optional[str] = request.get("resize")
            self._asked_run = _buckets.run_of(request["transforms"])
            self._set_resize(self._asked_resize)
            attached = self._attach(None if live else self.at)
        except BaseException:
            self.close()
            raise
        self.dataset_fingerprint: str = attached["dataset_fingerprint"]
        if attached["note"]:
            _log.warning("the dataset: %s", plain(attached["note"]))

    def check(self) -> None:
        if self.closed:
            raise Error("the loader is closed: its `with`, or that of its node, has ended, or "
                        "close() was called; make another with node.loader()")

    def all_producers(self) -> List[Producers]:
        return [producers for producers in (self.producers, self.map_producers)
                if producers is not None]

    def close(self) -> None:
        """Disconnect. May be called twice, and before it is attached."""
        self.closed = True
        self.connection.close()
        for producers in self.all_producers():
            producers.close()
        if self.copier is not None:
            self.copier.close()
        ring: Optional[Ring] = getattr(self, "ring", None)
        if ring is not None:
            ring.close()
        if self.given is not None:
            self.given.close()

    # Attaching

    def _attach(self, place: Optional[Place]) -> Dict[str, Any]:
        """``place`` None: where the stream is now."""
        connection = self.connection
        request = dict(self.request)
        if place is None:
            request["start"] = "live"
        else:
            request.update(epoch=place.epoch, position=place.position)
            if self.epochs is not None:
                request["epochs"] = max(1, self.epochs - place.epoch)  # 0 would be endless
        attached = self._ask_as_before(connection, request)
        self._use(attached["memory"])
        self._stream, self._number = attached["dataset_fingerprint"], attached["stream"]
        self.identity = identity_of(attached, self.request, self.resize, self.identity)
        self.pipeline_hash: str = attached["pipeline_hash"]
        self.sampling_hash: str = attached["sampling_hash"]
        self.batches: int = attached["batches"]
        self.sizes = _buckets.sizes_of(attached["sizes"])
        self.samples: int = attached["samples"]
        shared = Runs if self.ring.sized else Share
        self.share = shared(self.samples, self.batch_size, self.rank, self.world_size,
                            self.request.get("last_batch") or "short")
        self.at = self._entered(attached) if place is None else place
        self.attached = True
        self.unchecked = False
        return attached

    def _ask_as_before(self, connection: Connection, request: Dict[str, Any]) -> Dict[str, Any]:
        """ATTACH to the stream that it was. A daemon that knows more fields has other digests."""
        known = self.identity
        request.update(known.expected() if known else {})
        request.pop("expect_dataset", None)
        if self._stream:
            request["expect_dataset"] = self._stream
        fds = self._give(request)

        def ask() -> Dict[str, Any]:
            return connection.request_within(self.timeout, "attach", "attached", fds=fds, **request)
        try:
            return ask()
        except TokenError as error:
            if known is None or not known.digest or not error.description:
                raise
            compare(known.description, error.description, self.request)
            del request["expect_description"]
            return ask()

    def expect(self, theirs: Identity) -> None:
        """A state has the fingerprint of the dataset, and it may not be known yet what it is: the
        next ATTACH says it. Where the state has no names, that one waits for it."""
        ours = self.identity
        assert ours is not None
        if "dataset" in ours.fingerprints or "dataset" not in theirs.fingerprints:
            return
        self._stream = ours.fingerprints["dataset"] = theirs.fingerprints["dataset"]
        if "names" not in theirs.fingerprints:
            ours.fingerprints.pop("names", None)
        self.unchecked = True

    def _learn(self, fingerprint: str) -> None:
        """What the dataset is, from a BATCH: its sizes are known by now."""
        assert self.identity is not None
        self._stream = self.dataset_fingerprint = fingerprint
        self.identity.fingerprints.setdefault("dataset", fingerprint)

    def root(self) -> str:
        """Of a list of paths: what the daemon's names are below."""
        dataset = self.request["dataset"]
        return str(dataset["root"]) if isinstance(dataset.get("path"), InMemory) and \
            "root" in dataset else ""

    def _give(self, request: Dict[str, Any]) -> Sequence[int]:
        """Descriptors that go with it; their numbers are put into ``request``. The same ones
        whenever it is attached to again."""
        self.given = given_of(self.request, self.connection, self.given)
        if self.given is None:
            return ()
        request.update(self.given.fields)
        return self.given.fds

    def _set_resize(self, asked: Optional[str]) -> None:
        """Of later ATTACHs. None: what is usual, if the daemon knows it."""
        self.resize = _resize.settled(asked, self.connection.resizes)
        self.request.pop("resize", None)
        self.request.update(_resize.field(self.resize))

    def _left_open(self, theirs: Identity) -> Dict[str, Any]:
        """The fields of the description which a state decides about, and has otherwise than this
        reader: whose resizes, and how long the runs of Buckets are, if the program does not say."""
        ours = self._known()
        fields: Dict[str, Any] = {}
        if self._asked_resize is None and theirs.resize != self.resize:
            fields["resize"] = theirs.resize
        run = _buckets.run_of(theirs.description.get("transforms"))
        own = _buckets.run_of(ours.description.get("transforms"))
        if self._asked_run is None and run and own and run != own:
            fields["transforms"] = _buckets.with_run(ours.description["transforms"], run)
            fields["sampler"] = theirs.description.get("sampler")  # as for the hashes below
        return fields

    def _known(self) -> Identity:
        assert self.identity is not None
        return self.identity

    def as_of(self, theirs: Identity) -> Identity:
        """What this reader is, with all hashes, once it has of a state what the program leaves
        open."""
        ours, fields = self._known(), self._left_open(theirs)
        kinds = {**ours.fingerprints, "pipeline": self.pipeline_hash,
                 "sampling": self.sampling_hash}
        if fields:  # the hashes hang on these: the daemon compares them
            del kinds["pipeline"]
        if "sampler" in fields:
            del kinds["sampling"]
        return Identity({**ours.description, **fields}, ours.digest, kinds)

    def heed(self, theirs: Identity) -> None:
        """Go over to what a state says of what the program leaves open."""
        if self._asked_resize is None and "resize" not in theirs.description:
            _log.warning(_resize.OLD_STATE)
        fields, at = self._left_open(theirs), self.at
        was = self.identity, self.resize, self.request["transforms"]
        if not fields:
            return
        try:
            if "transforms" in fields:
                run = _buckets.run_of(fields["transforms"])
                self.request["transforms"] = _buckets.with_run(was[2], run or 0)
                at = Place(at.epoch, 0)  # where such runs begin
            self._set_resize(theirs.resize if "resize" in fields else self.resize)
            self.identity = theirs
            try:
                self.move(at)
            except (Disconnected, Stopping) as error:
                self.recover(error, at, self.deadline())
        except BaseException:
            self.identity, _, self.request["transforms"] = was
            self._set_resize(was[1])
            raise

    def _entered(self, attached: Dict[str, Any]) -> Place:
        """Where a live start begins: the place of the global batch that has our first one."""
        position = attached["position"] - self.rank * self.batch_size
        if not 0 <= position < attached["samples"]:
            raise self.connection.broken("a start outside of the epoch")
        return Place(attached["epoch"], position)

    def move(self, place: Place) -> None:
        """Attach to the same stream at another place."""
        if self.attached:
            self.connection.request("detach", "ok")
            if self.copier is not None:
                self.copier.finish()
            self.connection.forget()
            self.connection.keep()  # a held batch could be in the way of the new place
        self.attached = False
        self._attach(place)

    def make_room(self, bad: Mapping[str, Any]) -> bool:
        """Later attaches have room for a sample that is larger than slots of its ragged field.
        False: it is bad for another reason."""
        tree, name = self.tree, bad["field"]
        if bad["name"] != "sample_larger" or tree is None:
            return False
        number = tree.number_of(name, labels=self.labelled)
        if number is None:
            raise self.connection.broken(f"a sample that is too large for {plain(name)!r}")
        room = tree.grow(number, bad["needed"])
        _log.warning("sample %d has %d bytes in %s, more than its slots: attaching again with room "
                     "for %d bytes a sample", bad["sample"], bad["needed"],
                     tree.leaves[number].name, room)
        self.request.update(tree.described_in(self.request, labels=self.labelled))
        self._number = 0
        return True

    def renew(self, place: Place) -> bool:
        """Has an object of the user's code changed, so that another stream has its samples?"""
        dataset = None if self.producers is None else self.producers.renew(place)
        if dataset is None:
            return False
        self.request["dataset"] = dataset
        self._stream, self._number = "", 0
        return True

    # Receiving and asking

    def receive(self, timeout: Optional[float]) -> Optional[Received]:
        """The next message that is for the iteration; None after ``timeout`` seconds."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            message = self.connection.receive(self._until(deadline))
            if message is None:
                if time.monotonic() < deadline:  # it is time for other credentials
                    continue
                return None
            if message.name == "ring":
                self._follow(message.fields)
            elif message.name == "stalled" and message.fields["lease"]:
                self._make_room(message.fields)
            elif message.name == "stalled":
                self.stalled = _note_stalled(message.fields, self.producers is not None)
            else:
                break
        if message.name == "goaway":
            self.connection.unread(message)  # for the next call
            raise stopping(message.fields)
        if message.name == "batch" and message.fields["dataset_fingerprint"]:
            self._learn(message.fields["dataset_fingerprint"])
        if message.name == "batch" and not message.fields["exact"]:
            self._find_inexact(message.fields["differing"])
        self._patience.find()
        self.stalled = ""
        return message

    def resume_inexact(self) -> None:
        """A state is of code that makes samples otherwise each time."""
        self.exact = False
        _log.warning("the state says that its code made samples otherwise when it was asked for "
                     "them again: what comes now is not exactly what would have come then"
                     ": give the code a fixed seed")

    def _find_inexact(self, sample: int) -> None:
        if self.exact:
            _log.warning("your code made sample %d otherwise when it was asked for it again: no "
                         "resume of this run is exact, and no other program shares its samples. "
                         "Draw random numbers from random, numpy.random, torch or a generator that "
                         "the object holds, which are seeded for each sample, and let no sample "
                         "hang on those before it", sample)
        self.exact = False

    def _make_room(self, fields: Dict[str, Any]) -> None:
        """The ring cannot go on before batches that are held are given back."""
        self.most_held = max(0, self.most_held - 1)
        self.stalled = f"; {fields['why']}"
        self.connection.keep()

    def _dial(self) -> Connection:
        connection = self.connect() if self.credentials is None else \
            self.credentials.connect(self.connect)
        connection.images = next(iter(_crops.names(self.request["transforms"])), "image")
        return connection

    def _until(self, deadline: float) -> Optional[float]:
        """Seconds that a message may be waited for, after which credentials may be due."""
        left = _left(deadline)
        due = self.credentials.renew(self.connection) if self.credentials else None
        return left if due is None else due if left is None else min(left, due)

    def _follow(self, fields: Dict[str, Any]) -> None:
        """Later batches are in another ring; held batches keep theirs mapped."""
        if not fields["memory"].like(self.ring):
            raise self.connection.broken("a ring of other samples")
        self._use(fields["memory"])

    def _use(self, ring: Ring) -> None:
        left: Optional[Ring] = getattr(self, "ring", None)
        self.ring = ring
        self.most_held = self.inflight - 1
        if left is not None:
            left.leave()

    def listing(self, what: str, after: int = 0) -> Dict[str, Any]:
        deadline = self.deadline()
        while True:
            try:
                return self.connection.request("list", "listing", what=what, after=after)
            except Disconnected as error:
                self.recover(error, self.at, deadline)

    def only_batch(self, place: Place, count: int) -> Batch:
        """A copy of this rank's batch of so many at a place, through a connection of its own. Any
        thread."""
        request = dict(self.request, **place._asdict(), epochs=1, inflight=1, prefetch=1,
                       pace="free", batch_size=count)
        request.pop("job", None)
        self.connection.check_process()
        batch = None
        while batch is None:
            connection = self._dial()
            try:
                batch = self._take_one(connection, {**request, "dataset": self.request["dataset"]})
            finally:
                connection.close()
        return batch

    def _ask_beside(self, connection: Connection, request: Dict[str, Any]) -> Dict[str, Any]:
        """ATTACH by the number of the stream. A daemon that was started again has none of this
        number, or another one, which the expected digests refuse: then it is asked in full."""
        if connection.takes_like and self._number:
            short = {key: value for key, value in request.items() if key not in _LIKE_FILLS}
            try:
                return self._ask_as_before(connection, {**short, "like": self._number})
            except RequestError:
                pass
        return self._ask_as_before(connection, request)

    def _take_one(self, connection: Connection, request: Dict[str, Any]) -> Optional[Batch]:
        """None: there is more room from now on."""
        attached = self._ask_beside(connection, request)
        ring, stalled = attached["memory"], ""
        while True:
            message = connection.receive(self.timeout)
            if message is None:
                raise TimeoutError(f"no batch came within {self.timeout:g} s{stalled or SLOW}")
            name, fields = message
            if name == "stalled":
                stalled = _note_stalled(fields)
                continue
            if name == "ring" and fields["memory"].like(ring):
                ring = fields["memory"]
                continue
            if name == "bad_sample" and self.make_room(fields):
                return None
            if name == "bad_sample":
                raise SampleError.from_message(fields, self.root())
            if name == "error":
                raise from_message(fields)
            if name == "goaway":
                raise stopping(fields)
            first = request["position"] + self.rank * request["batch_size"]
            if name != "batch" or not ring.has(fields["runs"], fields["count"]) or \
                    (fields["epoch"], fields["position"]) != (request["epoch"], first):
                raise connection.broken(f"{name} instead of a batch")
            return Batch(ring.copy(fields["runs"], dict.fromkeys(ring.fields)), None, fields,
                         _crops.names(self.request["transforms"]))

    # When the daemon goes away

    def deadline(self) -> float:
        return math.inf if self.timeout is None else time.monotonic() + self.timeout

    def recover(self, error: Error, place: Place, deadline: float) -> None:
        """Wait for the daemon and attach at ``place``; raises ``error`` if that fails."""
        given_up = self._away is not None  # in an earlier call
        if self._away is not None:
            error = self._away
        elif self.reconnect and (self.connection.lost or isinstance(error, Stopping)):
            # As text: a kept log record would keep the stack frames, and the arrays in them.
            _log.warning("%s; waiting up to %g s for it to come back", str(error), self.reconnect)
            self._away = error
        else:
            raise type(error)(f"{error}; state_dict() says where to resume") from error
        if isinstance(error, Stopping):  # it fills no more slots: held batches need no lease
            self.connection.close()
        done = (self._patience.lose() or given_up) and self._reattach(place)
        while not done:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"no batch came within {self.timeout:g} s: {error}")
            if self._patience.over:
                raise type(error)(f"{error}, and did not come back within {self.reconnect:g} s; "
                                  "state_dict() says where to resume") from error
            self._patience.sleep(deadline)
            done = self._reattach(place)
        self._away = None
        self.reconnects += 1
        _log.warning("stokerd is back; resuming at epoch %d, position %d", *place)

    def _reattach(self, place: Place) -> bool:
        """One attempt; False if another one can succeed."""
        self.check()
        kept = self.connection.kept
        try:
            self.connection = self._dial()
        except _PASSING:
            return False
        self.connection.kept = kept
        try:
            self._attach(place)
        except _PASSING:
            self.connection.close()
            return False
        except BaseException:
            self.connection.close()
            raise
        return True
