# SPDX-License-Identifier: MIT
"""A daemon that violates the protocol: the client raises, never hangs or crashes (FAULTS 48)."""
import os
import random
import socket
import struct
import threading
import time

import pytest

import stoker
from fake_daemon import frame

EXPECTED = (stoker.Error, TimeoutError)


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Long waits of the client take one second here."""
    monkeypatch.setattr("stoker._connection.REPLY_S", 1)
    monkeypatch.setattr("stoker._address.CONNECT_S", 1)


@pytest.fixture
def later(monkeypatch):
    """A daemon that is slow because of the load is not a failure."""
    monkeypatch.setattr("stoker._connection.REPLY_S", 30)


def attach(node, **options):
    return node.loader("/data/20", **{"batch_size": 4, "timeout": 0.5, "reconnect": 0.2, **options})


def use(node, **options):
    loader = attach(node, **options)
    try:
        for _ in range(2):
            for images, labels in loader:
                images.sum(), labels.sum()
        return loader.classes
    finally:
        loader.close()


def descriptors():
    """Those of this process, and of the fake daemon, which keeps those of its last peer."""
    return len(os.listdir("/proc/self/fd"))


GARBAGE = {
    "nothing at all": b"",
    "a length of 0": bytes(4),
    "a length above the limit": struct.pack(">I", 65537) + b"x" * 100,
    "HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "half a frame": frame("ok", seq=1)[:7],
    "not msgpack": struct.pack(">I", 1) + b"\xc1",
    "a list": struct.pack(">I", 1) + b"\x90",
    "deep nesting": struct.pack(">I", 20000) + b"\x91" * 20000,
    "counts that lie": struct.pack(">I", 9) + b"\x82\xdd\x04\x00\x00\x00\xdf\xff\xff",
    "an unknown message": frame(99, seq=1),
    "a message of the client's": frame("attach", seq=1, dataset={}, batch_size=1),
    "no fields": frame("welcome"),
    "another reply": frame("listing", seq=1, items=[], next=0),
}


@pytest.mark.parametrize("message", ["welcome", "ok", "attached", "batch", "listing"])
@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_instead_of_a_message(daemon, message, garbage):
    def say(peer, fields):
        if daemon.count("hello") > (message in ("ok",)):
            return GARBAGE[garbage]
        return None

    daemon.hooks["say_" + message] = say
    begun = time.monotonic()
    if message == "ok":  # of the PING in connect()
        daemon.hooks["say_ok"] = lambda peer, fields: GARBAGE[garbage]
    with pytest.raises(EXPECTED):
        use(stoker.connect(daemon.path))
    assert time.monotonic() - begun < 60  # it does not hang
    daemon.settle(lambda: not daemon.peers)


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("message", ["hello", "ping", "attach", "list"])
def test_the_daemon_closes(daemon, message):
    def close(peer, fields):
        peer.sock.shutdown(socket.SHUT_RDWR)
        return True

    daemon.hooks[message] = close
    with pytest.raises((stoker.DaemonUnavailable, stoker.Disconnected)):
        use(stoker.connect(daemon.path), timeout=30)


def test_closing_in_the_middle_of_a_frame(daemon, node):
    def say(peer, fields):
        peer.raw(frame("batch", **fields)[:20])
        peer.sock.shutdown(socket.SHUT_RDWR)
        return b""

    daemon.hooks["say_batch"] = say
    with pytest.raises(stoker.Disconnected):
        use(node, timeout=30)


def test_a_frame_that_never_ends_is_given_up(daemon, node):
    """Also if the loader has no time-out (FAULTS 44, client side)."""
    daemon.hooks["say_batch"] = lambda peer, fields: frame("batch", **fields)[:20]
    with pytest.raises(stoker.ProtocolError, match="rest of a frame"):
        next(iter(attach(node, timeout=None)))


def test_frames_byte_by_byte(daemon, node):
    def say(peer, fields):
        for byte in frame("batch", **fields):
            peer.sock.sendall(bytes([byte]))
        return b""

    daemon.hooks["say_batch"] = say
    assert len(use(node)) == 4


WRONG_BATCHES = {
    "slots beyond the ring": {"runs": [[1000000, 4]]},
    "a run over the ring's end": {"runs": [[15, 4]]},
    "fewer slots than samples": {"runs": [[0, 3]]},
    "more slots than samples": {"runs": [[0, 4], [4, 4]]},
    "a sum beyond 32 bits": {"runs": [[0, 2**32 - 1], [0, 5]]},
    "an empty run": {"runs": [[0, 4], [4, 0]]},
    "no runs": {"runs": []},
    "five runs": {"runs": [[0, 1]] * 5},
    "runs of texts": {"runs": [["a", "b"]]},
    "a negative slot": {"runs": [[-1, 4]]},
    "count 0": {"count": 0},
    "a place before": {"next_epoch": 0, "next_position": 0},
    "a place beyond the epoch": {"next_position": 21},
    "lease 0": {"lease": 0},
    "a text as lease": {"lease": "1"},
}


@pytest.mark.parametrize("wrong", WRONG_BATCHES)
def test_wrong_batches(daemon, node, wrong):
    daemon.hooks["say_batch"] = lambda peer, fields: frame(
        "batch", **{**fields, **WRONG_BATCHES[wrong]})
    with pytest.raises(stoker.ProtocolError):
        use(node)
    daemon.settle(lambda: not daemon.peers)


def test_the_same_lease_twice(daemon, node):
    daemon.hooks["say_batch"] = lambda peer, fields: frame("batch", **{**fields, "lease": 5})
    it = iter(attach(node))
    kept = next(it)
    with pytest.raises(stoker.ProtocolError):
        next(it)
    assert kept[0][1, 0, 0, 0] == 7


WRONG_RINGS = {
    "bytes 2^63": {"bytes": 2**63},
    "more bytes than there are": {"bytes": 1 << 30},
    "fewer bytes": {"bytes": 4096},
    "another ring": {"ring": 12345},
    "a transport of the future": {"transport": "telepathy"},
    "a path that is not there": {"transport": "path", "path": "/nowhere/ring"},
    "no path": {"transport": "path"},
    "a path that is a device": {"transport": "path", "path": "/dev/zero"},
    "a path with a zero byte": {"transport": "path", "path": "/dev/shm/a\0b"},
    "a folder": {"transport": "path", "path": "/"},
    "a short fingerprint": {"dataset_fingerprint": "abc"},
}


@pytest.mark.parametrize("wrong", WRONG_RINGS)
def test_wrong_rings(daemon, node, wrong):
    daemon.hooks["say_attached"] = lambda peer, fields: frame(
        "attached", **{**fields, **WRONG_RINGS[wrong]})
    before = descriptors()
    for _ in range(6):
        with pytest.raises(stoker.Error):
            attach(node)
    daemon.settle(lambda: descriptors() < before + 6, "descriptors")


def test_no_descriptor(daemon, node):
    daemon.hooks["attach"] = lambda peer, fields: peer.raw(frame(
        "attached", seq=fields["seq"], reader=1, stream=1, ring=1, dataset_fingerprint="d" * 32,
        pipeline_hash="f" * 32, samples=20, batches=5, bytes=8192, transport="fd")) or True
    with pytest.raises(stoker.ProtocolError, match="is missing"):
        attach(node)


def test_an_unsealed_descriptor_or_one_that_is_no_memory(daemon, node):
    daemon.segment = {"seal": False}
    with pytest.raises(stoker.ProtocolError, match="sealed"):
        attach(node)
    read, write = os.pipe()
    daemon.hooks["say_attached"] = lambda peer, fields: peer.raw(
        frame("attached", **fields), [read]) or b""
    with pytest.raises(stoker.ProtocolError):
        attach(node)
    os.close(read)
    os.close(write)


def test_descriptors_that_nobody_asked_for(daemon, node):
    """FAULTS 47, client side: they are closed."""
    daemon.hooks["say_batch"] = lambda peer, fields: peer.raw(
        frame("batch", **fields), [0, 1, 2]) or b""
    before = descriptors()
    for _ in range(10):
        with pytest.raises(stoker.ProtocolError, match="descriptors"):
            use(node)
    daemon.settle(lambda: descriptors() < before + 10, "descriptors")


HEADER, FIELD = 128, 80
CORRUPTIONS = {
    "magic": (0, b"\0"), "version": (8, b"\2"), "header bytes": (12, b"\0\0\0\0"),
    "total": (16, b"\xff" * 8), "ring": (24, b"\xff" * 8), "no slots": (32, bytes(4)),
    "slots": (32, b"\xff" * 4), "no fields": (36, bytes(4)), "fields": (36, b"\xff" * 4),
    "name": (HEADER, b"pixel\0"), "dtype": (HEADER + 16, b"complex512"),
    "dims": (HEADER + 32, b"\x07"), "more dims": (HEADER + 32, b"\xff" * 4),
    "shape": (HEADER + 36, b"\xff" * 4), "zero shape": (HEADER + 36, bytes(4)),
    "stride": (HEADER + 64, b"\0"), "offset": (HEADER + 72, b"\xff" * 8),
    "offset by one": (HEADER + 72, b"\1"), "label": (HEADER + FIELD + 16, b"float99"),
    "non-ascii name": (HEADER + 2 * FIELD, b"\xff\xfe"),
}


@pytest.mark.parametrize("what", CORRUPTIONS)
def test_wrong_headers(daemon, node, what):
    def corrupt(header):
        at, data = CORRUPTIONS[what]
        header[at:at + len(data)] = data
        return header

    daemon.segment = {"corrupt": corrupt}
    with pytest.raises(stoker.ProtocolError):
        attach(node)


@pytest.mark.usefixtures("later")
def test_random_headers(daemon, node):
    rng = random.Random(2)
    raised = 0
    for _ in range(150):
        def corrupt(header):
            for _ in range(rng.randint(1, 3)):
                at = rng.choice([rng.randrange(40), rng.randrange(HEADER, HEADER + 3 * FIELD)])
                header[at] = rng.randrange(256)
            return header
        daemon.segment = {"corrupt": corrupt}
        try:
            use(node)
        except stoker.ProtocolError:
            raised += 1
    assert raised > 20


def test_random_frames(daemon, node):
    """Any message instead of a BATCH gives an exception or a batch."""
    rng = random.Random(3)

    def say(peer, fields):
        data = bytearray(frame("batch", **fields))
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(4, len(data))] = rng.randrange(256)
        return bytes(data)

    daemon.hooks["say_batch"] = say
    raised = 0
    for _ in range(100):
        try:
            use(node)
        except EXPECTED:
            raised += 1
    assert raised > 50


def test_class_names_of_wrong_types_or_without_end(daemon, node):
    loader = attach(node)
    for items in (5, [5], {"a": 1}, None, [["x"]]):
        daemon.hooks["say_listing"] = lambda peer, fields: frame(
            "listing", **{**fields, "items": items, "next": 0})
        with pytest.raises(stoker.ProtocolError):
            attach(node).classes
    daemon.hooks["say_listing"] = lambda peer, fields: frame("listing", **{**fields, "next": 2})
    with pytest.raises(stoker.ProtocolError, match="end"):
        loader.classes


def test_a_silent_daemon(daemon):
    daemon.hooks["hello"] = lambda peer, fields: True
    with pytest.raises(stoker.DaemonUnavailable, match="answer"):
        stoker.connect(daemon.path)


def test_goaway(daemon, node):
    """Announced batches come first, then each call raises."""
    loader = attach(node, reconnect=None)
    daemon.settle(lambda: daemon.leased() == 3)
    daemon.settle(lambda: len(daemon.peers) == 1)
    peer = daemon.peers[0]
    with peer.lock:
        peer.inflight = 0
        peer.say("goaway", text="upgrade", deadline_ms=1000)
    it = iter(loader)
    for _ in range(3):
        next(it)
    for _ in range(2):
        with pytest.raises(stoker.Stopping, match="upgrade.*state_dict"):
            next(it)
    assert loader.state_dict()["position"] == 12


def test_errors_of_the_daemon(daemon, node):
    loader = attach(node, reconnect=0)
    daemon.settle(lambda: len(daemon.peers) == 1)
    with daemon.peers[0].lock:
        daemon.peers[0].say("error", seq=0, code=10, name="overrun", text="you do not read")
        daemon.peers[0].sock.shutdown(socket.SHUT_RDWR)
    with pytest.raises(stoker.RequestError, match="do not read") as caught:
        list(map(lambda pair: None, loader))
    assert (caught.value.code, caught.value.name) == (10, "overrun")
    with pytest.raises(stoker.Disconnected):
        list(loader)


@pytest.mark.usefixtures("later")
def test_a_daemon_that_does_not_read(daemon, node):
    """Releases are queued; the caller does not wait."""
    loader = node.loader("/data/2000", batch_size=1, inflight=1000, timeout=60)
    batches = [batch for _, batch in zip(range(1000), loader.batches())]
    loader._reader.connection._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    daemon.settle(lambda: len(daemon.peers) == 1)
    with daemon.peers[0].lock:  # it stops in its handler
        begun = time.monotonic()
        for batch in batches:
            batch.release()
        assert time.monotonic() - begun < 60
    assert loader._reader.connection._releases or loader._reader.connection._out
    assert loader.classes  # any call sends what waited
    daemon.settle(lambda: daemon.count("release") == 1000)


@pytest.mark.usefixtures("later")
def test_two_threads_at_once_do_not_lose_frames(daemon, node):
    """A thread that drops arrays while another one asks for classes and batches."""
    loader = node.loader("/data/400", batch_size=1, inflight=32, timeout=60)
    kept, done = [], threading.Event()

    def drop():
        while not done.is_set():
            kept.clear()

    thread = threading.Thread(target=drop)
    thread.start()
    try:
        for images, _ in loader:
            kept.append(images)
            loader._classes = None
            assert len(loader.classes) == 4
    finally:
        done.set()
        thread.join()
    assert daemon.bad_releases == 0
