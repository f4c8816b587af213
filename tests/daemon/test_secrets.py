# SPDX-License-Identifier: MIT
"""A client's own credentials leave the daemon's memory when they are done with: its memory is
searched for them, once their user has gone, and after frames that were refused or never whole."""

import itertools
import re
import struct
import time

import msgpack
import pytest

from harness import MESSAGES, frame, wait_for
from test_allocations import pytestmark  # noqa: F401 (a sanitizer's memory is too large to search)
from test_own_credentials import SECRETS, TOKEN, ask_attach, bucket, send_keys

PIECE = 1 << 24


@pytest.fixture(autouse=True)
def bound_at_the_start(monkeypatch):
    """As the unit of the system has it."""
    monkeypatch.setenv("LD_BIND_NOW", "1")


def regions(pid):
    """Where the process has memory of its own."""
    for line in open(f"/proc/{pid}/maps", encoding="ascii", errors="replace"):
        found = re.match(r"(\w+)-(\w+) rw.p ", line)
        if found and not line.rstrip().endswith(("[vvar]", "[vdso]")):
            yield int(found[1], 16), int(found[2], 16)


def holds(daemon, secret):
    """Does its memory have these bytes, at this moment?"""
    secret, pid = secret.encode(), daemon.process.pid
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for start, end in regions(pid):
            for at in range(start, end, PIECE):
                try:
                    memory.seek(at)
                    data = memory.read(min(PIECE + len(secret), end - at))
                except OSError:
                    continue  # it was given back meanwhile
                if secret in data:
                    return True
    return False


def test_of_those_that_left(spawn, photos):
    """Neither what was signed with, nor its token, in no copy of a library's."""
    secret, token = SECRETS["AKIDALICE"], TOKEN[:200]
    with bucket(photos) as server:
        daemon = spawn(environment=server.environment(), fetchers=4)
        with daemon.connect() as peer:
            assert send_keys(peer, "ALICE", token=TOKEN) == "ok"
            assert ask_attach(peer, f"s3://b/{photos.name}") == "attached"
            assert len(peer.digests()) > 0
            assert holds(daemon, secret) and holds(daemon, token)
            assert send_keys(peer, "NEXT") == "ok"  # take the place of the others
            peer.request("detach")
            wait_for(lambda: not holds(daemon, secret), "what was replaced is gone")
            assert holds(daemon, SECRETS["AKIDNEXT"])
        wait_for(lambda: not holds(daemon, SECRETS["AKIDNEXT"]), "what its user sent is gone")
        daemon.settle()
        assert not holds(daemon, secret) and not holds(daemon, token)


def refused_frames():
    """Of CREDENTIALS: the connection's socket, whether it greets, and the bytes for a secret."""
    fields = {"type": MESSAGES["credentials"], "seq": 7, "url": "s3://b", "key": "K", "token": ""}

    def whole(**more):
        return lambda secret: frame({**fields, "secret": secret, **more})

    def cut(secret):
        packed = msgpack.packb({**fields, "secret": secret})[:-3]
        return struct.pack(">I", len(packed)) + packed

    yield "before HELLO", False, False, whole()
    yield "on the control socket", True, True, whole()
    yield "of a wrong type", False, True, whole(url=5)
    yield "without a URL", False, True, lambda secret: frame(
        {"type": MESSAGES["credentials"], "seq": 7, "key": "K", "secret": secret})
    yield "that ends too soon", False, True, cut
    yield "of no message", False, True, whole(type=99)
    yield "for a wrong URL", False, True, whole(url="http://b/x")
    yield "with a byte that none has", False, True, whole(key="a\nb")
    yield "that has expired", False, True, whole(expires=1)
    yield "of many bytes", False, True, whole(key="a\n" * 20000)


@pytest.mark.parametrize("what, control, greets, make", refused_frames(),
                         ids=lambda value: value if isinstance(value, str) else "")
def test_of_a_refused_frame(spawn, what, control, greets, make):
    daemon, secret = spawn(), f"sesame/{what.replace(' ', '+')}/open"
    with daemon.connect(hello=greets, control=control) as peer:
        peer.send_bytes(make(secret))
        peer.expect("error")
        wait_for(lambda: not holds(daemon, secret), "the frame is wiped")
    daemon.settle()
    assert not holds(daemon, secret)


def test_a_frame_with_a_secret_that_never_becomes_complete(spawn):
    """It comes in pieces, so that its buffer grows, and its sender leaves before the end."""
    daemon, secret = spawn(), "sesame/in+pieces/open"
    packed = msgpack.packb({"type": MESSAGES["credentials"], "secret": secret, "seq": 7,
                            "url": "s3://b", "key": "K", "token": "t" * 50000})
    with daemon.connect() as peer:
        peer.send_bytes(struct.pack(">I", len(packed)))
        sizes = itertools.accumulate([0, 100, 150, 300, 1000, 3000, 9000, 20000])
        for start, end in itertools.pairwise(sizes):
            peer.send_bytes(packed[start:end])
            time.sleep(0.05)
        assert holds(daemon, secret)  # or this test finds nothing anywhere
    wait_for(lambda: not holds(daemon, secret), "the buffer is wiped")
