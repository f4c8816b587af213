# SPDX-License-Identifier: MIT
"""What peers should not say: each bad message costs its sender, at most, the connection, and nobody
else anything.
"""

import itertools
import mmap
import os
import select
import socket
import struct

import msgpack
import pytest

from harness import ERRORS, MESSAGES, NAMES, SLOW, WAIT_S, Peer, frame, wait_for
from test_law import STREAM

# Data messages of a client, well-formed, and the states in which each may come.
SAID = {
    "hello": ({"seq": 1, "version_min": 1, "version_max": 1}, {"new"}),
    "ping": ({"seq": 1}, {"ready", "attached"}),
    "attach": ({"seq": 1, "batch_size": 4, "accept_fd": True}, {"ready"}),
    "credit": ({"inflight": 2}, {"attached"}),
    "release": ({"lease": 1}, {"ready", "attached"}),
    "detach": ({"seq": 1}, {"attached"}),
    "credentials": ({"seq": 1, "url": "s3://b", "key": "k", "secret": "s"}, {"ready", "attached"}),
    "list": ({"seq": 1, "what": "classes"}, {"attached"}),
    "produce": ({"seq": 1, "code": "c", "secret": "s" * 16}, {"ready"}),
    "made": ({"group": 1, "samples": []}, set()),
    "failed": ({"group": 1, "sample": 0, "text": ""}, set()),
}
STATES = ("new", "ready", "attached")


def in_state(daemon, photos, state):
    peer = daemon.connect(hello=state != "new")
    if state == "attached":
        assert peer.attach(photos, **STREAM, inflight=1).name == "attached"
        peer.expect("batch")
    return peer


def still_serves(daemon, photos):
    with daemon.connect() as peer:
        assert peer.attach(photos, **STREAM).name == "attached"
        assert len(list(peer.samples(keep=()))) == 60


@pytest.mark.parametrize("state,name", list(itertools.product(STATES, SAID)))
def test_state_by_message(daemon, photos, state, name):
    """FAULTS 43: the whole matrix; a wrong state is an error by name and the end."""
    fields, states = SAID[name]
    if name == "attach":
        fields = {**fields, "dataset": {"path": str(photos)},
                  "transforms": STREAM["transforms"]}
    with in_state(daemon, photos, state) as peer:
        peer.send(name, **fields)
        if state in states:
            if name not in ("credit", "release"):
                assert peer.receive().name != "error"
            else:
                assert peer.request("ping").name == "ok"
        else:
            error = peer.expect_error("wrong_state", hang_up=True)
            assert name in error["text"]
    still_serves(daemon, photos)


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_messages_of_the_other_side_or_socket(daemon, name):
    """A message that only daemons send, or that belongs to the other socket, is refused by name."""
    control_only = {"status", "set", "reload", "drop", "pin", "stop", "index"}
    data_only = {"attach", "credit", "release", "detach", "credentials",
                 "produce", "made", "failed"}
    of_client = control_only | data_only | {"hello", "ping", "list", "fit"}
    for control in (False, True):
        if name in of_client - (data_only if control else control_only):
            continue
        with daemon.connect(control=control) as peer:
            number = MESSAGES[name]
            peer.send_bytes(frame({"type": number, **minimal(name)}))
            peer.expect_error("message", hang_up=True)


def minimal(name):
    """Values for every field that some message needs: unknown keys are ignored."""
    return {"seq": 1, "version": 1, "name": "frame", "text": "", "what": "x", "done": 0,
            "reader": 1, "stream": 1, "ring": 1, "dataset_fingerprint": "0" * 32,
            "pipeline_hash": "0" * 32, "samples": 1, "batches": 1, "transport": "fd",
            "bytes": 4096, "lease": 1, "epoch": 0, "position": 0, "count": 1, "runs": [[0, 1]],
            "next_epoch": 0, "next_position": 0, "sample": 0, "deadline_ms": 1, "read_ms": 1,
            "values": {}, "items": [], "next": 0, "value": "1", "inflight": 1, "dataset": {},
            "batch_size": 1, "url": "s3://b", "key": "k", "secret": "s" * 16,
            "code": "1" if name == "produce" else 1, "group": 1, "producer": 1, "offset": 0,
            "seed": 0, "samples": [] if name in ("work", "made") else 1}


@pytest.mark.parametrize("length", [0, 65537, 2**31 - 1, 2**31, 2**32 - 1])
def test_frame_lengths(daemon, photos, length):
    """FAULTS 41: refused by the length alone."""
    before = daemon.usage()
    with daemon.connect() as peer:
        peer.send_bytes(struct.pack(">I", length) + b"x" * 100)
        peer.expect_error("frame", hang_up=True)
    daemon.settle(before)


def test_the_largest_frame(daemon):
    payload = msgpack.packb({"type": MESSAGES["ping"], "seq": 5, "x": b""})
    payload = msgpack.packb({"type": MESSAGES["ping"], "seq": 5,
                             "x": b"y" * (65536 - len(payload) - 1)})
    assert len(payload) == 65536
    with daemon.connect() as peer:
        peer.send_bytes(struct.pack(">I", len(payload)) + payload)
        assert peer.expect("ok").fields["seq"] == 5


@pytest.mark.parametrize("payload,name", [
    (b"\xc1", "structure"), (b"\xdd\x04\x00\x00\x00", "structure"),  # array32(64M): FAULTS 39
    (b"\xdf\xff\xff\xff\xff", "structure"), (b"\xdb\xff\xff\xff\xff", "structure"),
    (b"\xc6\xff\xff\xff\xff", "structure"), (b"\x91" * 60000 + b"\xc0", "structure"),  # 40
    (b"\x81\xa4type\xc7\x00\x01", "structure"), (msgpack.packb([1, 2]), "structure"),
    (msgpack.packb({}), "field"), (msgpack.packb({"type": 99}), "message"),
    (msgpack.packb({"type": "hello"}), "field"), (b"\x00", "structure"),
    (msgpack.packb({"type": 30}), "field"), (msgpack.packb({"type": 30, "seq": -1}), "field"),
    (msgpack.packb({"type": 30, "seq": 2**32}), "field"),
    (msgpack.packb({"type": 30, "seq": 1.0}), "field"),
    (msgpack.packb({"type": 30, "seq": None}), "field"),
    (b"\x83\xa4type\x1e\xa3seq\x01\xa3seq\x02", None),
], ids=lambda value: value[:8].hex() if isinstance(value, bytes) else value)
def test_payloads(daemon, photos, payload, name):
    """FAULTS 38-40, 42: typed errors, nothing allocated by what is only claimed."""
    peak = lambda: int(next(line for line in open(f"/proc/{daemon.process.pid}/status")
                            if line.startswith("VmPeak")).split()[1])
    with daemon.connect() as peer:
        peer.request("ping")
        before = peak()
        peer.send_bytes(struct.pack(">I", len(payload)) + payload)
        error = peer.expect("error").fields
        if name:
            assert error["name"] == name, error
        assert peer.receive() is None
        assert peak() - before < 1024 * SLOW, "kB of address space"
    assert daemon.status()["protocol_errors_total"] == 1


@pytest.mark.parametrize("hello", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n",
                                   bytes.fromhex("1603010200010001fc0303") + os.urandom(50)])
def test_other_protocols(daemon, photos, hello):
    """FAULTS 46: hung up within a frame, and the log does not fill."""
    for _ in range(50):
        with daemon.connect(hello=False) as peer:
            peer.send_bytes(hello)
            peer.expect_error("frame", hang_up=True)
    assert daemon.log().count("cut off") <= 20
    still_serves(daemon, photos)


def test_random_bytes(daemon, photos):
    """FAULTS 38: well-framed noise."""
    import random
    source = random.Random(4)
    for _ in range(200):
        with daemon.connect(hello=source.random() < 0.8) as peer:
            payload = source.randbytes(source.randrange(1, 300))
            peer.send_bytes(struct.pack(">I", len(payload)) + payload)
            assert peer.receive().name == "error"
            assert peer.receive() is None
    still_serves(daemon, photos)


def test_frames_in_pieces(daemon, photos):
    """FAULTS 8: byte by byte is slow, not wrong; a frame cut anywhere and then EOF is nothing."""
    whole = frame({"type": MESSAGES["hello"], "seq": 1, "version_min": 1, "version_max": 1})
    with daemon.connect(hello=False) as peer:
        for i in range(len(whole)):
            peer.send_bytes(whole[i:i + 1])
        peer.expect("welcome")
    for cut in range(len(whole)):
        with daemon.connect(hello=False) as peer:
            peer.send_bytes(whole[:cut])
    daemon.settle()
    assert daemon.status()["protocol_errors_total"] == 0


def test_half_a_frame_and_silence(spawn, photos):
    """FAULTS 44: closed after request-timeout; so is who never says HELLO."""
    daemon = spawn(request_timeout="1s")
    quiet, half = daemon.connect(hello=False), daemon.connect()
    half.send_bytes(b"\0\0\0\x20half")
    idle = daemon.connect()  # has nothing to say, and may
    for peer in (quiet, half):
        peer.expect_error("timeout", hang_up=True)
        peer.close()
    assert daemon.status()["timeouts_total"] == 2
    assert idle.request("ping").name == "ok"
    idle.close()


@pytest.mark.parametrize("low,high,ok", [(1, 1, True), (1, 9, True), (2, 9, False), (0, 0, None)])
def test_versions(daemon, low, high, ok):
    """FAULTS 20: a common version, or both sides' numbers in the text."""
    with daemon.connect(hello=False) as peer:
        peer.send("hello", seq=3, version_min=low, version_max=high)
        message = peer.receive()
        if ok:
            assert message.name == "welcome" and message.fields["version"] == 1
            return
        assert message.name == "error" and message.fields["seq"] == 3
        if ok is False:
            assert message.fields["name"] == "version"
            assert "2 to 9" in message.fields["text"] and "0.1" in message.fields["text"]
        assert peer.receive() is None


def test_releases(daemon, photos):
    """FAULTS 16: twice, never granted, another reader's: an error, and the reader goes on."""
    with daemon.connect() as peer, daemon.connect() as other:
        peer.attach(photos, **STREAM, epochs=1, inflight=2)
        other.attach(photos, **{**STREAM, "order_seed": 1}, epochs=1, inflight=4)
        theirs = [other.expect("batch") for _ in range(4)]
        batch = peer.expect("batch")
        for lease in (999, 0, 2**64 - 1, theirs[3].fields["lease"]):
            peer.send("release", lease=lease)
        peer.release(batch)
        peer.release(batch)
        errors, count = 0, 1
        while (message := peer.receive()).name != "end":
            if message.name == "error":
                assert message.fields["name"] == "lease"
                errors += 1
            else:
                peer.release(message)
                count += 1
        assert (errors, count) == (5, 15)
        assert daemon.status()["bad_releases_total"] == 5
        assert daemon.status()["slots_leased"] == 16


def test_readers_cannot_write(daemon, photos):
    """FAULTS 17, 18: by no way; the kernel says no."""
    with daemon.connect() as peer:
        peer.send("attach", seq=1, dataset={"path": str(photos)}, batch_size=4, accept_fd=True,
                  transforms=STREAM["transforms"])
        size = peer.expect("attached").fields["bytes"]
        fd = peer.fds.pop()
        with pytest.raises(PermissionError):
            mmap.mmap(fd, size)
        with pytest.raises(OSError):
            os.pwrite(fd, b"x", 0)
        for how in (lambda f: os.ftruncate(f, 0), lambda f: os.ftruncate(f, size * 2)):
            with pytest.raises(OSError):
                how(fd)
        again = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)  # the same user may; the seals hold
        for how in (lambda f: os.pwrite(f, b"x", 0), lambda f: mmap.mmap(f, size),
                    lambda f: os.ftruncate(f, 0), lambda f: os.ftruncate(f, size * 2)):
            with pytest.raises(PermissionError):
                how(again)
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        punch = 0x02 | 0x01  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
        assert libc.fallocate(again, punch, ctypes.c_long(0), ctypes.c_long(4096)) == -1
        libc.mmap.restype = ctypes.c_void_p
        at = libc.mmap(None, ctypes.c_size_t(size), 1, 1, fd, ctypes.c_long(0))
        assert at not in (None, ctypes.c_void_p(-1).value)
        assert libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(size), 3) == -1
        assert libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), 9) == -1  # MADV_REMOVE
        libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(size))
        os.close(again)
        os.close(fd)


def test_descriptors_that_nobody_asked_for(daemon, photos):
    """FAULTS 47: closed, and the message counts all the same."""
    before = daemon.usage()
    with daemon.connect(hello=False) as peer:
        files = [os.open("/dev/null", os.O_RDONLY) for _ in range(28)]
        socket.send_fds(peer.socket, [frame({"type": MESSAGES["hello"], "seq": 1,
                                             "version_min": 1, "version_max": 1})], files)
        peer.expect("welcome")
        for file in files:
            os.close(file)
        wait_for(lambda: daemon.usage().fds <= before.fds + 2, "descriptors are closed")


def test_requests_without_reading(daemon, photos):
    """FAULTS 45: ten thousand at once: held back, not hoarded, and answered in the end. Others are
    meanwhile."""
    still_serves(daemon, photos)
    before = daemon.usage()
    with daemon.connect(control=True) as peer:
        many = frame({"type": MESSAGES["status"], "seq": 7})
        data, sent = many * 10000, 0
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
        peer.socket.setblocking(False)
        while True:
            try:
                sent += peer.socket.send(data[sent:])
            except BlockingIOError:
                still_serves(daemon, photos)  # time enough to read more, if it wanted to
                if not select.select([], [peer.socket], [], 0)[1]:
                    break
        assert sent < len(data), "all was taken"
        assert SLOW > 1 or daemon.usage().rss < before.rss + (16 << 20)
        peer.socket.setblocking(True)
        peer.socket.settimeout(WAIT_S)
        for _ in range(sent // len(many)):
            assert peer.receive().name == "report"
    still_serves(daemon, photos)


def test_a_reader_that_does_not_read(daemon, tmp_path):
    """FAULTS 15: what is announced to it without its asking has an end: it is cut off, with the
    reason in the log, and memory stays as it is. Another reader does not notice."""
    folder = tmp_path / "bad" / "one"
    folder.mkdir(parents=True)
    for i in range(60):
        (folder / f"{i}.jpg").write_bytes(b"no picture")
    with daemon.connect() as blind, daemon.connect() as other:
        blind.attach(folder.parent, **STREAM, batch_size=1, epochs=0)  # BAD_SAMPLEs without end
        wait_for(lambda: daemon.status()["overruns_total"] == 1, "it is cut off")
        wait_for(lambda: daemon.status()["readers"] == 0, "its reader is gone")
        assert "does not read what it asked for, and was cut off" in daemon.log()
        other.attach(folder.parent, **STREAM, batch_size=1, epochs=1)
        bad = [other.expect("bad_sample") for _ in range(60)]
        assert len({message.fields["sample"] for message in bad}) == 60
        other.expect("end")
    daemon.settle()


@pytest.mark.parametrize("change,name,words", [
    ({"dataset": {"path": "/nowhere/at/all"}}, "dataset", ["/nowhere/at/all", "No such file"]),
    ({"dataset": {"path": "relative"}}, "dataset", ["absolute"]),
    ({"dataset": {"path": "/tmp", "speed": 9}}, "dataset", ["speed"]),
    ({"transforms": [{"name": "RandomResizedCorp", "size": 3}]}, "pipeline",
     ["RandomResizedCorp", "RandomResizedCrop"]),
    ({"transforms": [{"name": "Resize"}]}, "pipeline", ["Resize", "size"]),
    ({"dtype": "float64"}, "pipeline", ["float64"]),
    ({"dtype": "flaot16"}, "pipeline", ["flaot16", "did you mean 'float16'?"]),
    ({"layout": "CHW"}, "pipeline", ["CHW"]),
    ({"rank": 2, "world": 2}, "argument", ["rank"]),
    ({"last_batch": "wraps"}, "argument", ["last_batch: 'wraps' is none of short, drop, pad, wrap",
                                           "did you mean 'wrap'?"]),
    ({"pace": "slow"}, "argument", ["pace: 'slow' is none of auto, free, together"]),
    ({"bad_samples": "skip"}, "argument", ["bad_samples"]),
    ({"position": 60}, "argument", ["60"]),
    ({"subset_start": 60}, "argument", ["subset"]),
    ({"batch_size": 61, "last_batch": "drop"}, "argument", ["batch_size"]),
    ({"accept_fd": False}, "transport", ["accept_fd"]),
    ({"expect_dataset": "0" * 32}, "token", ["dataset"]),
    ({"expect_pipeline": "0" * 32}, "token", ["pipeline"]),
    ({"prefetch": 1000, "batch_size": 1048576}, "memory", ["ring-memory"]),
])
def test_attach_that_cannot_be(daemon, photos, change, name, words):
    """Refused by name, with words, and the connection may try again. FAULTS 52, 90."""
    with daemon.connect() as peer:
        wish = {"dataset": {"path": str(photos)}, "transforms": STREAM["transforms"], **change}
        wish.pop("dataset")
        error = peer.request("attach", dataset=change.get("dataset", {"path": str(photos)}),
                             **{"batch_size": 4, "accept_fd": True, **wish})
        assert error.name == "error", error
        assert (error.fields["name"], error.fields["code"]) == (name, ERRORS[name])
        for word in words:
            assert word in error.fields["text"], error.fields["text"]
        assert peer.attach(photos, **STREAM).name == "attached"
    daemon.settle()


def test_control_answers(daemon, photos):
    with daemon.connect(control=True) as peer:
        assert peer.request("list", what="nothing").fields["name"] == "argument"
        assert peer.request("set", name="wrokers", value="2").fields["name"] == "setting"
        assert peer.request("set", name="workers", value="-1").fields["name"] == "setting"
        assert peer.request("set", name="workers", value="1").name == "ok"
        assert peer.request("status").fields["values"]["workers"] == 1


def test_the_list_of_readers_says_which_one_waits_for_another(daemon, photos):
    with daemon.connect() as slow, daemon.connect() as fast:
        for peer in (slow, fast):
            peer.attach(photos, **STREAM, epochs=0, inflight=1)
        held = slow.expect("batch")

        def waiting():
            while True:
                try:
                    fast.release(fast.expect("batch", seconds=0.2))
                except (TimeoutError, AssertionError):
                    break
            states = {r["reader"]: r for r in daemon.list("readers")}
            mine = states[fast.attached["reader"]]
            return mine["state"] == "waiting" and \
                mine["waits_for"] == slow.attached["reader"] and \
                states[slow.attached["reader"]]["state"] == "holding"
        wait_for(waiting, lambda: f"the fast one waits for the slow: {daemon.list('readers')}")
        slow.release(held)
        fast.expect("batch")


assert set(SAID) <= set(NAMES.values())
assert Peer
