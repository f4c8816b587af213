# SPDX-License-Identifier: MIT
"""FAULTS 53: memory runs out at each call in its turn that asks for some, from the start on: who
asked is told or hung up on, the daemon goes on or ends in words (EX_OSERR), and never crashes.
"""

import contextlib
import itertools
import os
import struct

import numpy as np
import pytest

from harness import BUILD, Daemon, Peer, installed, wait_for
from test_allocations import pytestmark  # noqa: F401 (not beside a sanitizer's allocator)
from test_law import STREAM

SAMPLES = 6
OUT_OF_MEMORY, NO_THREADS = 71, 73  # EX_OSERR, EX_CANTCREAT
OFFSET = 3 * 8  # of the number that counts down, see counting.c


class Shortage:
    """A daemon's environment in which the n-th call that asks for memory gets none."""

    def __init__(self, path):
        self.path = path
        self.path.write_bytes(bytes(4 * 8))
        self.environment = {"LD_PRELOAD": str(installed(BUILD / "tests/libcounting.so")),
                            "STOKER_COUNTS": str(path)}

    def begin(self, number):
        fd = os.open(self.path, os.O_WRONLY)
        os.pwrite(fd, struct.pack("Q", number), OFFSET)
        os.close(fd)

    def end(self):
        """Whether it came to that call."""
        left, = struct.unpack_from("Q", self.path.read_bytes(), OFFSET)
        self.begin(0)
        return left == 0


@pytest.fixture(name="shortage")
def fixture_shortage(tmp_path):
    return Shortage(tmp_path / "counts")


def session(daemon, folder):
    """All that a reader does: what it got, or None if it was refused or hung up on."""
    try:
        with Peer(daemon.socket) as peer:
            if peer.hello().name != "welcome" or \
                    peer.attach(folder, **STREAM, batch_size=2).name != "attached":
                return None
            got = peer.digests()
            return got if peer.request("list", what="classes").name == "listing" else None
    except TimeoutError:
        raise AssertionError(f"it waits\n{daemon.log()}{daemon.list('readers')}") from None
    except (AssertionError, ConnectionError):  # an ERROR or the end came instead
        return None


def folders(photos, tmp_path):
    """The same few pictures, each time as a dataset that the daemon has not met."""
    paths = sorted(path for path in photos.glob("*/*"))[::60 // SAMPLES][:SAMPLES]
    for number in itertools.count():
        folder = tmp_path / f"data{number}" / "one"
        folder.mkdir(parents=True)
        for path in paths:
            os.link(path, folder / path.name)
        yield folder.parent


def test_while_it_serves(spawn, photos, tmp_path, shortage):
    """Also the next reader gets every byte, and nothing is left of the one that had no luck."""
    unknown = folders(photos, tmp_path)
    daemon = spawn(environment=shortage.environment)
    reference = session(daemon, next(unknown))
    assert len(reference) == SAMPLES
    refused = 0
    for number in itertools.count(1):
        folder = next(unknown)
        shortage.begin(number)
        got = session(daemon, folder)
        met = shortage.end()
        assert got in (None, reference), number
        refused += got is None
        if daemon.process.poll() is not None:
            assert daemon.process.returncode == OUT_OF_MEMORY, (number, daemon.log())
            assert "out of memory" in daemon.log().splitlines()[-1], daemon.log()
            daemon.spawn()
        daemon.settle()
        assert session(daemon, folder) == reference, number
        if not met:
            break
    assert refused > 10 and number > 20, (refused, number)


def fitted(daemon, path):
    """The digest of an array's statistics, or None."""
    try:
        with Peer(daemon.socket) as peer:
            if peer.hello().name != "welcome":
                return None
            peer.send("fit", seq=1, dataset={"path": str(path)}, zca=True, per_pixel=True)
            answer = peer.receive()
            while answer and answer.name == "progress":
                answer = peer.receive()
            if not answer or answer.name != "report":
                return None
            return answer.fields["values"]["digest"]
    except TimeoutError:
        raise AssertionError(f"it waits\n{daemon.log()}") from None
    except (AssertionError, ConnectionError):  # as in session()
        return None


def test_while_it_fits(spawn, tmp_path, shortage):
    """Statistics are whole or there are none."""
    daemon = spawn(environment=shortage.environment, index_dir=tmp_path / "index")
    images = np.random.default_rng(4).integers(0, 256, (300, 3, 4, 3), np.uint8)
    refused = 0
    for number in itertools.count():
        path = tmp_path / f"x{number}.npy"
        images[0, 0, 0] = number  # another dataset
        np.save(path, images)
        shortage.begin(number)
        got = fitted(daemon, path)
        met = shortage.end()
        if daemon.process.poll() is not None:
            assert daemon.process.returncode == OUT_OF_MEMORY, (number, daemon.log())
            daemon.spawn()
        daemon.settle()
        reference = fitted(daemon, path)
        assert reference and got in (None, reference), number
        refused += got is None
        if number and not met:
            break
    assert refused > 20, (refused, number)


def serves_or_ended(daemon):
    try:
        return daemon.process.poll() is not None or daemon.serves()
    except (AssertionError, ConnectionError):  # ended, or it was this connection's memory
        return False


def start(shortage, number, **options):
    """Whether a start came to that call; then it serves or has ended in words."""
    daemon = Daemon(environment=shortage.environment, **options)
    shortage.begin(number)
    try:
        with contextlib.suppress(AssertionError, ConnectionError):
            daemon.spawn()
        wait_for(lambda: serves_or_ended(daemon), "it serves, or has ended")
        if daemon.process.poll() is not None:
            assert daemon.process.returncode in (OUT_OF_MEMORY, NO_THREADS), (number, daemon.log())
            assert daemon.log(), number
            daemon.process = None
        met = shortage.end()
        daemon.terminate()
        return met
    finally:
        if daemon.process:
            daemon.kill()
        daemon.remove()


def test_while_it_starts(shortage):
    """Each call, without the hundreds that the test of the JPEG library makes, and some of those.
    """
    number = 1
    while start(shortage, number, index_memory=0):
        number += 1
    assert number > 20
    number = 1
    while start(shortage, number):
        number += 1 + number // 6
