# SPDX-License-Identifier: MIT
"""A small daemon for the client's tests: the protocol with made-up samples, and every way to break
it. Has a codec of its own, so that the client's is not tested against itself.

Sample at position p of epoch e: index (p * 7 + e) % n, label index % 10, image all index + e / 8.
A dataset is a path: "/data/N" has N samples (default 20), other paths are errors.
"""
import array
import fcntl
import itertools
import os
import secrets
import socket
import struct
import threading
from contextlib import contextmanager

import msgpack
import numpy as np

NUMBERS = {"hello": 1, "welcome": 2, "error": 3, "ok": 4, "attach": 10, "progress": 11,
           "attached": 12, "credit": 13, "batch": 14, "release": 15, "bad_sample": 16, "end": 17,
           "detach": 18, "goaway": 19, "ring": 20, "stalled": 21, "credentials": 22,
           "ping": 30, "list": 33, "listing": 34}
NAMES = {number: name for name, number in NUMBERS.items()}
FINGERPRINT, PIPELINE = "d" * 32, "f" * 32
SHAPE = (3, 4, 5)
PAGE = 4096


def frame(name, /, **fields):
    body = msgpack.packb({"type": NUMBERS.get(name, name), **fields},
                         unicode_errors="surrogateescape")
    return struct.pack(">I", len(body)) + body


def sample(epoch, position, n):
    index = (position * 7 + epoch) % n
    return index, index % 10, index + epoch / 8


def page_up(size):
    return (size + PAGE - 1) // PAGE * PAGE


def ragged(shape, numbers, stride):
    """What a slot of so many bytes has."""
    begin = struct.pack(f"={len(shape)}Q", *shape)
    return (begin.ljust(-(-len(begin) // 16) * 16, b"\0") + numbers).ljust(stride, b"\xff")


def told(shape, numbers):
    """What conformance programs digest of it."""
    return struct.pack(f"={len(shape)}Q", *shape) + numbers


DTYPES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2,
          "int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
          "complex64": 8, "complex128": 16}


def wide():
    """Fields that only a header of version 2 can say: (name, dtype, kind, shape, bytes of a
    slot, a function of an index that gives its (shape, numbers))."""
    for number, (dtype, size) in enumerate(DTYPES.items()):
        def ones(index, size=2 * size, number=number):
            return (2,), bytes((index + number + i) % 2 for i in range(size))
        yield f"a_field_of_two_numbers_of_{dtype}", dtype, False, (2,), 2 * size, ones
    yield ("deep", "int16", False, (1, 1, 2, 1, 1, 1, 1, 3), 12,
           lambda index: ((1, 1, 2, 1, 1, 1, 1, 3), bytes(range(index, index + 12))))
    yield ("boxes", "float32", True, (0, 4), 64,
           lambda index: ((index % 4, 4), struct.pack(f"={index % 4 * 4}f",
                                                      *range(index % 4 * 4))))
    yield ("caption", "text", True, (0,), 64,
           lambda index: ((2 * (index % 3),), "\xe9".encode() * (index % 3)))
    yield ("blob", "bytes", True, (0,), 64,
           lambda index: ((index % 5,), bytes(range(250, 250 + index % 5))))


class Segment:
    """The shared memory of one reader. ``wide``: its header is of version 2, with more fields."""

    def __init__(self, slots, number, path=None, *, seal=True, dtype="float32", corrupt=None,
                 wide=()):
        self.wide = list(wide)
        begin = 2 * PAGE if self.wide else PAGE
        kinds = {"float32": "f4", "float16": "f2", "bfloat16": "u2", "uint8": "u1"}
        fields = [("image", dtype, kinds[dtype], SHAPE), ("label", "int64", "i8", ()),
                  ("index", "int64", "i8", ())]
        rows, at = [], begin
        for name, kind, code, shape in fields:
            stride = int(np.dtype(code).itemsize * np.prod(shape, dtype=int))
            rows.append((name, kind, code, shape, stride, at))
            at = page_up(at + stride * slots)
        more = []
        for _, _, _, _, stride, _ in self.wide:
            more.append(at)
            at = page_up(at + stride * slots)
        self.slots, self.bytes, self.path = slots, at, path
        if path:
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        else:
            self.fd = os.memfd_create("ring", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.posix_fallocate(self.fd, 0, at)
        self.map = np.memmap(open(self.fd, "r+b", closefd=False), np.uint8, "r+")
        header = struct.pack("=8sIIQQII16s16sI52x", b"stoker\r\n", 2 if wide else 1, begin, at,
                             number, slots, len(rows) + len(more), bytes.fromhex(FINGERPRINT),
                             bytes.fromhex(PIPELINE), 256 if wide else 0)
        wides = [(name, kind, False, shape, stride, offset)
                 for name, kind, _, shape, stride, offset in rows]
        wides += [(*row[:5], offset) for row, offset in zip(self.wide, more)]
        for name, kind, is_ragged, shape, stride, offset in wides if wide else ():
            header += struct.pack("=64s16sII32IQQ24x", name.encode(), kind.encode(), is_ragged,
                                  len(shape), *shape, *[0] * (32 - len(shape)), stride, offset)
        for name, kind, _, shape, stride, offset in () if wide else rows:
            header += struct.pack("=16s16sI6I4xQQ", name.encode(), kind.encode(), len(shape),
                                  *shape, *[0] * (6 - len(shape)), stride, offset)
        header = corrupt(bytearray(header)) if corrupt else header
        self.map[:len(header)] = np.frombuffer(bytes(header), np.uint8)
        self.arrays = {
            name: self.map[offset:offset + stride * slots].view(code).reshape(slots, *shape)
            for name, _, code, shape, stride, offset in rows}
        self.raw = [self.map[offset:offset + row[4] * slots].reshape(slots, row[4])
                    for row, offset in zip(self.wide, more)]
        if seal and not path:
            fcntl.fcntl(self.fd, 1033, 2 | 4 | 0x10)  # F_ADD_SEALS: shrink, grow, future write


class Peer(threading.Thread):
    """One connection. Follows the protocol unless a hook of the daemon changes that."""

    def __init__(self, daemon, sock):
        super().__init__(daemon=True)
        self.daemon_, self.sock = daemon, sock
        self.lock = threading.RLock()  # of the sending side
        self.attach = None
        self.leases, self.kept, self.seen = {}, set(), []

    def run(self):
        data = b""
        try:
            while True:
                got = self.sock.recv(65536)
                if not got:
                    break
                data += got
                while len(data) >= 4 and len(data) >= 4 + struct.unpack(">I", data[:4])[0]:
                    size = struct.unpack(">I", data[:4])[0]
                    fields = msgpack.unpackb(data[4:4 + size], unicode_errors="surrogateescape")
                    data = data[4 + size:]
                    with self.lock:
                        self.handle(NAMES[fields.pop("type")], fields)
        except OSError:
            pass
        finally:
            self.sock.close()
            with self.daemon_.changed:
                self.daemon_.peers.remove(self)
                self.daemon_.changed.notify_all()

    def handle(self, name, fields):
        self.seen.append((name, fields))
        self.daemon_.seen.append((name, fields))
        hook = self.daemon_.hooks.get(name)
        if hook and hook(self, fields):
            return
        getattr(self, "on_" + name)(fields)

    def say(self, name, fds=(), /, **fields):
        """Send a message; a hook named "say_..." may change its fields, or return raw bytes."""
        hook = self.daemon_.hooks.get("say_" + name)
        out = hook(self, fields) if hook else None
        self.raw(out if isinstance(out, bytes) else frame(name, **fields), fds)

    def raw(self, data, fds=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self.sock.sendmsg([data], control)
        if sent < len(data):
            self.sock.sendall(data[sent:])

    def fail(self, seq, code, name, text):
        self.say("error", seq=seq, code=code, name=name, text=text)

    def on_hello(self, fields):
        if fields["version_min"] > 1:
            return self.fail(fields["seq"], 6, "version", "this daemon speaks version 1 only")
        self.say("welcome", seq=fields["seq"], version=1, daemon="fake", pid=os.getpid(),
                 capabilities=["pillow-13"], a_key_of_the_future=[1])

    def on_ping(self, fields):
        self.say("ok", seq=fields["seq"])

    def on_credentials(self, fields):
        self.say("ok", seq=fields["seq"])

    def on_list(self, fields):
        if fields["what"] == "reader":
            return self.say("listing", seq=fields["seq"], items=[self.daemon_.reader], next=0)
        names = self.daemon_.classes[fields.get("after", 0):][:3]
        after = fields.get("after", 0) + len(names)
        self.say("listing", seq=fields["seq"], items=names,
                 next=after if after < len(self.daemon_.classes) else 0)

    def on_attach(self, fields):
        seq, path = fields["seq"], fields["dataset"]["path"]
        if self.attach:
            return self.fail(seq, 5, "wrong_state", "attached already")
        for key, value in (("expect_dataset", FINGERPRINT), ("expect_pipeline", PIPELINE)):
            if fields.get(key, value) != value:
                return self.fail(seq, 25, "token", f"{key} differs")
        if not path.startswith("/data/"):
            return self.fail(seq, 20, "dataset", f"{path}: No such file or directory")
        for transform in fields.get("transforms", ()):
            if transform["name"] == "Explode":
                return self.fail(seq, 21, "pipeline", "there is no transform Explode")
        self.n = int(path.rsplit("/", 1)[1])
        self.say("progress", seq=seq, what="indexing", done=5)
        self.attach = fields
        self.batch, self.world = fields["batch_size"], fields.get("world", 1)
        self.epoch, self.origin = fields.get("epoch", 0), fields.get("position", 0)
        if fields.get("start") == "live":
            self.epoch, self.origin = self.daemon_.live
        self.k, self.ordinal = 0, 0
        self.end = self.epoch + fields["epochs"] if fields.get("epochs") else None
        self.inflight = fields.get("inflight", 3)
        slots = self.daemon_.slots or (self.inflight + 1) * self.batch
        ring = self.new_ring(slots)
        self.settle()
        first = self.origin + fields.get("rank", 0) * self.batch
        self.say_ring("attached", ring, seq=seq, reader=1, stream=1,
                      dataset_fingerprint=FINGERPRINT, pipeline_hash=PIPELINE, samples=self.n,
                      batches=self.batches(0), epoch=self.epoch, position=first)
        self.announce()

    def new_ring(self, slots, **options):
        number = self.daemon_.number()
        by_path = not self.attach.get("accept_fd")
        name = f"{self.daemon_.folder}/ring-{secrets.token_hex(8)}" if by_path else None
        self.ring = Segment(slots, number, name, **{
            "dtype": self.attach.get("dtype", "float32"), **self.daemon_.segment, **options})
        return number

    def say_ring(self, name, number, **fields):
        path = self.ring.path
        where = {"transport": "path", "path": path} if path else {"transport": "fd"}
        self.say(name, () if path else (self.ring.fd,), ring=number, bytes=self.ring.bytes,
                 **where, **fields)
        os.close(self.ring.fd)

    def move(self, slots, **options):
        """Move to a ring of its own, which has all later batches."""
        self.say_ring("ring", self.new_ring(slots, **options))

    def batches(self, origin):
        rank, whole = self.attach.get("rank", 0), self.batch * self.world
        left = self.n - origin
        kind = self.attach.get("last_batch", "short")
        if kind == "drop":
            return left // whole
        before = 0 if kind == "pad" else rank * self.batch
        return max(0, -(-(left - before) // whole))

    def settle(self):
        while self.k >= self.batches(self.origin):
            self.epoch, self.origin, self.k = self.epoch + 1, 0, 0

    def announce(self):
        """All batches that are due."""
        while self.attach and len(self.leases) < self.inflight:
            if self.end is not None and self.epoch >= self.end:
                if self.end:
                    self.say("end", epoch=self.epoch)
                self.end = 0
                return
            whole = self.batch * self.world
            position = self.origin + self.k * whole + self.attach.get("rank", 0) * self.batch
            padded = max(0, position + self.batch - self.n)
            count = self.batch
            if self.attach.get("last_batch") != "pad":
                count, padded = count - padded, 0
            oldest = min(self.leases.values(), default=self.ordinal)
            if self.ordinal + count - oldest > self.ring.slots:
                return
            ordinal = self.ordinal
            runs = self.fill(position, count)
            after = self.origin + (self.k + 1) * whole
            drops = self.attach.get("last_batch") == "drop"
            over = after >= self.n or drops and self.n - after < whole
            following = {"next_epoch": self.epoch + over, "next_position": 0 if over else after}
            epoch = self.epoch
            self.k += 1
            self.settle()
            if (epoch, position) in self.daemon_.bad:
                self.say("bad_sample", epoch=epoch, position=position, sample=3, code=42,
                         name="sample_corrupt", path=b"cats/\xff.jpg", text="cut short",
                         **following)
                continue
            lease = self.daemon_.number()
            self.leases[lease] = ordinal
            self.say("batch", lease=lease, epoch=epoch, position=position, count=count, runs=runs,
                     padded=padded, **following)

    def fill(self, position, count):
        slots = [(self.ordinal + i) % self.ring.slots for i in range(count)]
        for i, slot in enumerate(slots):
            index, label, value = sample(self.epoch, (position + i) % self.n, self.n)
            self.ring.arrays["image"][slot] = value
            self.ring.arrays["label"][slot] = label
            self.ring.arrays["index"][slot] = index
            for (_, _, is_ragged, _, stride, make), raw in zip(self.ring.wide, self.ring.raw):
                shape, numbers = make(index)
                said = ragged(shape, numbers, stride) if is_ragged == 1 else numbers
                raw[slot] = np.frombuffer(said, np.uint8)
        self.ordinal += count
        first = slots[0]
        if first + count <= self.ring.slots:
            return [[first, count]]
        return [[first, self.ring.slots - first], [0, count - (self.ring.slots - first)]]

    def on_credit(self, fields):
        self.inflight = fields["inflight"]
        self.announce()

    def on_release(self, fields):
        if fields["lease"] in self.kept:
            return self.kept.remove(fields["lease"])
        if fields["lease"] not in self.leases:
            self.daemon_.bad_releases += 1
            return self.fail(0, 7, "lease", "no such lease")
        del self.leases[fields["lease"]]
        self.announce()

    def on_detach(self, fields):
        self.attach = None
        self.kept.update(self.leases)  # leases outlive the reader: PROTOCOL.md, section 11
        self.leases.clear()
        self.say("ok", seq=fields["seq"])


class FakeDaemon:
    """Listens on ``path``. ``hooks``: by message name, called with (peer, fields); a true result
    means that it was handled; "say_NAME" may change what is sent."""

    def __init__(self, path):
        self.path, self.folder = str(path), os.path.dirname(path)
        self.hooks, self.bad, self.segment = {}, set(), {}
        self.live, self.reader = (0, 0), {}
        self.classes = ["ant", "bee", "cat", "dog"]
        self.slots = None
        self.bad_releases = 0
        self.seen, self.peers = [], []
        self.changed = threading.Condition()
        self._numbers = itertools.count(1)
        self.listen()

    def listen(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(16)
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            peer = Peer(self, sock)
            with self.changed:
                self.peers.append(peer)
            peer.start()

    def number(self):
        return next(self._numbers)

    def settle(self, predicate, what="the daemon"):
        """Wait until ``predicate()``; at most 5 s."""
        with self.changed:
            end = self.changed.wait_for
            for _ in range(500):
                if predicate():
                    return
                end(lambda: False, 0.01)
        raise AssertionError(f"{what} did not settle")

    def leased(self):
        return sum(len(peer.leases) for peer in list(self.peers))

    def count(self, name):
        return sum(1 for seen, _ in self.seen if seen == name)

    def last(self, name):
        return [fields for seen, fields in self.seen if seen == name][-1]

    def close(self):
        if self.listener.fileno() >= 0:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
        for peer in list(self.peers):
            try:
                peer.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def die(self):
        """As by kill -9: no message is sent, and the file of the socket stays."""
        self.close()
        self.settle(lambda: not self.peers)

    def again(self):
        """Another daemon at the same path."""
        os.unlink(self.path)
        self.listen()


@contextmanager
def fake_daemon(folder):
    daemon = FakeDaemon(os.path.join(folder, "stokerd.sock"))
    try:
        yield daemon
    finally:
        daemon.close()
