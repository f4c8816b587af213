# SPDX-License-Identifier: MIT
"""A daemon to test, from outside: Daemon (new, spawn, connect, settle, terminate), and Peer, which
speaks the raw protocol and can therefore say what no client would.

Knows neither the Python client nor the daemon's inside: the numbers of the messages come from
proto/tables.h, the layout of a ring from proto/ring_layout.h, the rest from what the daemon
answers.
"""

import collections
import ctypes
import hashlib
import mmap
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import msgpack
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from place import BUILD, SOURCE, installed  # noqa: E402 (it stands in the folder above)

STOKERD = BUILD / "daemon" / "stokerd"
STOKERCTL = BUILD / "client" / "ctl" / "stokerctl"
# A sanitizer's build is slower: everything that waits waits longer.
SLOW = float(os.environ.get("STOKER_SLOW", "1"))
WAIT_S = 10 * SLOW

_tables = (SOURCE / "proto" / "tables.h").read_text()
MESSAGES = {name: int(number)
            for number, name in re.findall(r"\bM\((\d+), \w+, (\w+),", _tables)}
NAMES = {number: name for name, number in MESSAGES.items()}
ERRORS = {name: int(number) for number, name in re.findall(r"\bE\((\d+), \w+, (\w+),", _tables)}
# What the daemon tells whoever waits, whenever it likes: no answer to anything.
NEWS = ("progress", "stalled")
# What is zero when nobody is there.
IDLE = ("readers", "streams", "rings", "ring_bytes", "slots_leased", "queued")
REPORTS = re.compile(r"(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|Assertion )")

Message = collections.namedtuple("Message", "name fields")
Usage = collections.namedtuple("Usage", "fds threads rss")


def wait_for(condition, what, seconds=WAIT_S):
    """Poll until condition() is true; its value. Fails with `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            what = what() if callable(what) else what
            raise AssertionError(f"after {seconds:g} s still not: {what}")
        time.sleep(0.01)


def frame(fields):
    """A map as the bytes of one frame."""
    payload = msgpack.packb(fields, use_bin_type=True)
    return struct.pack(">I", len(payload)) + payload


class Hash128(ctypes.Structure):
    """XXH128_hash_t of xxhash.h."""

    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def hash_of(data):
    """Its XXH3-128 hash, as base/digest.h has it."""
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_128bits.restype = Hash128
    hashed = library.XXH3_128bits(data, ctypes.c_size_t(len(data)))
    return struct.pack(">QQ", hashed.high, hashed.low)


def hash_of_path(path):
    """The first 32 bits of its hash, as loop/os/segment.c writes them."""
    return hash_of(os.fsencode(path))[:4].hex()


def digest_of(arrays):
    """SHA-256 of {name: array}, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(numpy.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


class Ring:
    """A ring's shared memory, read-only, by its header page."""

    HEAD = struct.Struct("=8sIIQQII16s16sI52x")
    NARROW = struct.Struct("=16s16s0sI6I4xQQ")  # a row of version 1, without a kind
    WIDE = struct.Struct("=64s16sII32IQQ24x")

    def __init__(self, fd, size):
        self.size = size
        self.map = mmap.mmap(fd, size, prot=mmap.PROT_READ)
        (magic, self.version, _, total, self.number, self.slots, count, self.fingerprint,
         self.pipeline, step) = self.HEAD.unpack_from(self.map, 0)
        layout = self.WIDE if self.version > 1 else self.NARROW
        step = step or layout.size
        assert magic == b"stoker\r\n" and total == size, (magic, total, size)
        self.fields = {}
        self.ragged = {}  # (dtype, shape) of those; their slots are given as bytes
        self.sized = {}  # likewise
        for i in range(count):
            name, dtype, kind, dims, *rest, stride, offset = layout.unpack_from(
                self.map, self.HEAD.size + i * step)
            shape = tuple(rest[:dims])
            name, dtype = name.rstrip(b"\0").decode(), dtype.rstrip(b"\0").decode()
            if kind in (1, 2):
                (self.ragged if kind == 1 else self.sized)[name] = dtype, shape
                dtype, shape = "uint8", (stride,)
            kind = numpy.dtype("uint16" if dtype == "bfloat16" else dtype)
            assert stride == kind.itemsize * int(numpy.prod(shape, dtype=int)), name
            assert offset + stride * self.slots <= size, name
            self.fields[name] = numpy.frombuffer(
                self.map, kind, self.slots * stride // kind.itemsize,
                offset).reshape(self.slots, *shape)

    def read(self, runs, height=0, width=0, origin=0, **_):
        """Copies of every field of these runs of slots; the others are those of a BATCH."""
        arrays = {name: numpy.concatenate([field[first:first + count] for first, count in runs])
                  for name, field in self.fields.items()}
        for name, (dtype, shape) in self.sized.items():
            (first, count), = runs
            edges, slots = iter((height, width)), self.fields[name]
            shape = tuple(edge or next(edges) for edge in shape)
            size = numpy.dtype(dtype).itemsize * int(numpy.prod(shape))
            begin = origin * slots.shape[1] + (first - origin) * size
            arrays[name] = slots.reshape(-1)[begin:begin + count * size].copy().view(
                dtype).reshape(count, *shape)
        return arrays


class Peer:
    """One connection, raw."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(WAIT_S)
        self.socket.connect(str(path))
        self.data, self.fds, self.seq, self.ended = b"", [], 0, False
        self.waiting = collections.deque()  # came while an answer was waited for
        self.attached = self.ring = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """What it maps goes, too: the daemon counts a ring for as long as somebody holds it."""
        self.socket.close()
        self.ring = None
        while self.fds:
            os.close(self.fds.pop())

    # Saying

    def send_bytes(self, data):
        self.socket.sendall(data)

    def send(self, name, /, give=(), **fields):
        """`give`: descriptors that go with it."""
        data = frame({"type": MESSAGES[name], **fields})
        if give:
            data = data[socket.send_fds(self.socket, [data], list(give)):]
        self.send_bytes(data)

    def request(self, name, /, give=(), **fields):
        """Say it with a number of its own and wait for what answers that, PROGRESS apart."""
        self.seq += 1
        self.send(name, give, seq=self.seq, **fields)
        aside = []
        while True:
            message = self.receive()
            assert message, f"hung up instead of answering {name}"
            if message.fields.get("seq") != self.seq:
                aside.append(message)
            elif message.name != "progress":
                self.waiting.extendleft(reversed(aside))
                return message

    def leave(self):
        """DETACH, and RELEASE of what was announced before: leases outlive the reader, and hold
        the ring."""
        self.request("detach")
        for message in self.waiting:
            if message.name == "batch":
                self.release(message)
        self.waiting.clear()

    def hello(self, **fields):
        return self.request("hello", **{"version_min": 1, "version_max": 1, "client": "test",
                                        **fields})

    def attach(self, path, **fields):
        """ATTACH to the dataset at `path`; maps the ring. Returns ATTACHED or ERROR."""
        wish = {"dataset": {"path": str(path)}, "batch_size": 4, "accept_fd": True, "epochs": 1}
        answer = self.request("attach", **{**wish, **fields})
        if answer.name == "attached":
            self.attached = answer.fields
            self.follow(answer)
        return answer

    def follow(self, message):
        """Map the ring that an ATTACHED or a RING brings: later batches are in it."""
        if message.fields["transport"] == "fd":
            fd = self.fds.pop(0)
        else:
            fd = os.open(message.fields["path"], os.O_RDONLY)
        try:
            self.ring = Ring(fd, message.fields["bytes"])
        finally:
            os.close(fd)
        assert self.ring.number == message.fields["ring"]

    def release(self, batch):
        self.send("release", lease=batch.fields["lease"])

    # Hearing

    def _more(self):
        try:
            data, fds, _, _ = socket.recv_fds(self.socket, 1 << 17, 16)
        except ConnectionResetError:
            data, fds = b"", []
        self.fds += fds
        self.data += data
        self.ended = not data

    def receive(self, seconds=WAIT_S):
        """The next message, or None once the daemon has hung up. Raises TimeoutError."""
        if self.waiting:
            return self.waiting.popleft()
        self.socket.settimeout(seconds)
        while True:
            if len(self.data) >= 4:
                (size,) = struct.unpack(">I", self.data[:4])
                if len(self.data) >= 4 + size:
                    fields = msgpack.unpackb(self.data[4:4 + size], raw=False,
                                             unicode_errors="surrogateescape")
                    self.data = self.data[4 + size:]
                    return Message(NAMES[fields.pop("type")], fields)
            if self.ended:
                assert not self.data, "hung up in the middle of a frame"
                return None
            self._more()

    def expect(self, name, seconds=WAIT_S):
        """The next message, which is of this name (but for NEWS)."""
        while True:
            message = self.receive(seconds)
            if message and message.name in NEWS and message.name != name:
                continue
            assert message and message.name == name, f"not {name}: {message}"
            return message

    def expect_error(self, name, hang_up=None):
        """An ERROR of this name; with hang_up True the end of the connection after it."""
        error = self.expect("error").fields
        assert (error["name"], error["code"]) == (name, ERRORS[name]), error
        if hang_up:
            assert self.receive() is None
        return error

    def samples(self, keep=("image", "label", "index")):
        """All samples until END: yields (epoch, position, {field: array}) and releases each
        batch once the next one is asked for. ``keep``: names of the fields; (): all."""
        while True:
            message = self.receive()
            assert message, "hung up before END"
            if message.name == "end":
                return
            if message.name == "ring":
                self.follow(message)
                continue
            if message.name in NEWS:
                continue
            assert message.name == "batch", message
            arrays = self.ring.read(message.fields["runs"])
            for i in range(message.fields["count"]):
                yield (message.fields["epoch"], message.fields["position"] + i,
                       {name: arrays[name][i] for name in keep or arrays})
            self.release(message)

    def digests(self):
        """{(epoch, position): SHA-256 of all the sample's fields} until END."""
        out = {}
        for epoch, position, arrays in self.samples():
            assert (epoch, position) not in out, "a position came twice"
            out[epoch, position] = digest_of(arrays)
        return out


class Daemon:
    """One stokerd in a folder of its own. Options are its flags: workers=2, ring_memory="64M". It
    keeps no pictures unless cache_memory is given, and no dataset that nobody reads unless
    dataset_idle is: tests count what is read, and wait until all is let go."""

    def __init__(self, launcher=(), environment=None, **options):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-"))
        self.socket = self.folder / "stokerd.sock"
        self.control = self.folder / "control.sock"
        self.log_path = self.folder / "log"
        self.launcher = list(launcher)
        self.options = {"workers": 2, "cache_memory": "0", "dataset_idle": "0", **options}
        self.environment = {**os.environ, **(environment or {})}
        self.process = None

    def command(self):
        """What is started by a launcher may have other rights, and another file system."""
        program = installed(STOKERD) if self.launcher else STOKERD
        flags = {"socket": self.socket, "control_socket": self.control, **self.options}
        return [*self.launcher, str(program)] + [
            part for name, value in flags.items() if value is not None
            for part in ("--" + name.replace("_", "-"), str(value))]

    def spawn(self):
        """Start it (again) and wait until it serves."""
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=self.environment)
        wait_for(self.serves, lambda: f"the daemon serves, {self.ran()}\n{self.log()}")
        return self

    def ran(self):
        """Words: how much of the processors it got. A busy machine tells itself from a fault."""
        ran, waited = map(int, pathlib.Path(
            f"/proc/{self.process.pid}/schedstat").read_text().split()[:2])
        return f"which ran for {ran / 1e9:.3f} s and waited {waited / 1e9:.3f} s for a processor"

    def serves(self):
        assert self.process.poll() is None, \
            f"the daemon ended with {self.process.returncode}\n{self.log()}"
        try:
            with self.connect():
                return True
        except (FileNotFoundError, ConnectionRefusedError):
            return False

    def connect(self, hello=True, control=False):
        """A Peer on the data (or control) socket."""
        peer = Peer(self.control if control else self.socket)
        if hello:
            answer = peer.hello()
            assert answer.name == "welcome", answer
        return peer

    def settle(self, usage=None, seconds=WAIT_S):
        """Wait until nobody and nothing is left of what peers made the daemon hold; with an earlier
        `usage` until descriptors and threads are back to that, memory within a hundredth and 4 MB
        (a sanitizer keeps what is freed, for a while).
        """
        seen = {}

        def settled():
            with self.connect(control=True) as peer:
                values = peer.request("status").fields["values"]
            seen.update({name: values[name] for name in IDLE if values[name]})
            if any(values[name] for name in IDLE) or values["connections"] > 1:
                return False
            now = self.usage()
            seen["usage"] = now
            return not usage or (now.fds <= usage.fds and now.threads <= usage.threads
                                 and (SLOW > 1 or now.rss <= usage.rss * 1.01 + (4 << 20)))

        wait_for(settled, lambda: f"all given back: {seen}, before: {usage}", seconds)

    def terminate(self, how=signal.SIGTERM, code=0):
        """End it and check that it leaves nothing behind; its whole log."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(20 * SLOW)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"it does not end\n{self.log()}") from None
        log = self.log()
        assert not REPORTS.search(log), log
        if self.process and how != signal.SIGKILL:
            assert self.process.returncode == code, f"ended with {self.process.returncode}\n{log}"
            assert not self.socket.exists() and not self.control.exists(), "a socket was left"
        self.process = None
        return log

    def kill(self):
        self.process.kill()
        self.process.wait()

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    # Looking

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def shared_names(self):
        """The names in shared memory that this daemon made: stoker-USER-HASH-..., by the hash of
        its socket's path. Other daemons may run beside it."""
        digits = hash_of_path(self.options.get("socket", self.socket))
        return [path.name for path in pathlib.Path("/dev/shm").glob(f"stoker-*-{digits}-*")]

    def status(self):
        """Counters and settings by name."""
        with self.connect(control=True) as peer:
            return peer.request("status").fields["values"]

    def list(self, what):
        out, after = [], 0
        with self.connect(control=True) as peer:
            while True:
                answer = peer.request("list", what=what, after=after)
                assert answer.name == "listing", answer
                out += answer.fields["items"]
                after = answer.fields["next"]
                if not after:
                    return out

    def set(self, name, value):
        with self.connect(control=True) as peer:
            return peer.request("set", name=name, value=str(value))

    def ctl(self, *arguments, check=True):
        """Run stokerctl on this daemon."""
        done = subprocess.run([str(STOKERCTL), "--socket", str(self.control), *map(str, arguments)],
                              text=True, capture_output=True, check=False, timeout=WAIT_S)
        assert not check or done.returncode == 0, done
        return done

    def usage(self):
        """What the kernel says that it holds, once that stands still: the daemon may not have seen
        the end of our last connection yet."""
        folder = pathlib.Path("/proc") / str(self.process.pid)

        def look():
            status = (folder / "status").read_text()
            return Usage(len(list((folder / "fd").iterdir())),
                         int(re.search(r"^Threads:\s+(\d+)", status, re.MULTILINE).group(1)),
                         int(re.search(r"^VmRSS:\s+(\d+)", status, re.MULTILINE).group(1)) << 10)

        now = look()
        for _ in range(20):
            time.sleep(0.02 * SLOW)
            before, now = now, look()
            if before.fds == now.fds:
                break
        return now
