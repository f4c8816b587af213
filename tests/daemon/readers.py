# SPDX-License-Identifier: MIT
"""Readers of one stream that are driven batch by batch, and what they should have been given."""

import contextlib
import threading

import pytest

from harness import Daemon, digest_of, wait_for
from test_law import N, STREAM, digests

# Six batches of six in a ring, so that an epoch of 60 does not fit by far.
WISH = {**STREAM, "batch_size": 6, "prefetch": 6, "inflight": 2, "accept_moves": True}
EPOCHS = 3


class Reader:
    """A peer that is driven batch by batch and keeps the digest of every sample it was given."""

    def __init__(self, daemon, photos, **fields):
        self.peer = daemon.connect()
        self.wish = {**WISH, "epochs": EPOCHS, **fields}
        answer = self.peer.attach(photos, **self.wish)
        assert answer.name == "attached", answer
        self.got, self.held, self.rings = {}, [], [self.peer.ring.number]

    def take(self, seconds=None):
        """Receive one batch and hold it; None at the END."""
        while True:
            message = self.peer.receive(*([seconds] if seconds else []))
            assert message, "hung up"
            if message.name == "end":
                return None
            if message.name == "progress":
                continue
            if message.name == "ring":
                self.peer.follow(message)
                self.rings.append(self.peer.ring.number)
                continue
            assert message.name == "batch", message
            batch = (self.peer.ring, message)
            for key, digest in self.digests(batch).items():
                assert key not in self.got, f"{key} came twice"
                self.got[key] = digest
            self.held.append(batch)
            return message

    @staticmethod
    def digests(batch):
        ring, message = batch
        arrays, fields = ring.read(message.fields["runs"]), message.fields
        return {(fields["epoch"], fields["position"] + i):
                digest_of({name: array[i] for name, array in arrays.items()})
                for i in range(fields["count"])}

    def release(self, count=1):
        """Give the oldest back, which must still be as they came."""
        for _ in range(count):
            batch = self.held.pop(0)
            for key, digest in self.digests(batch).items():
                assert self.got[key] == digest, "a held batch changed"
            self.peer.release(batch[1])

    def go(self, batches):
        """Take and release so many."""
        for _ in range(batches):
            self.take()
            self.release(len(self.held))

    def finish(self):
        """All that is left; the digests of the whole run."""
        self.release(len(self.held))
        while self.take():
            self.release()
        return self.got

    def stand_still(self, seconds=0.3):
        """Take and release until nothing comes."""
        with contextlib.suppress(TimeoutError):
            while True:
                self.release(len(self.held))
                assert self.take(seconds), "it ended"


def finish_together(readers):
    """Each in a thread of its own, to the end."""
    threads = [threading.Thread(target=one.finish) for one in readers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def counter(daemon, name):
    return daemon.status()[name]


def forked(daemon, count=1):
    wait_for(lambda: counter(daemon, "forks_total") >= count, f"{count} forks")


@pytest.fixture(scope="module", name="reference")
def fixture_reference(photos):
    daemon = Daemon(workers=1, fetchers=1).spawn()
    try:
        out = digests(daemon, photos, epochs=EPOCHS)
        daemon.terminate()
    finally:
        daemon.remove()
    assert len(out) == EPOCHS * N
    return out


@pytest.fixture(name="reader")
def fixture_reader(daemon, photos):
    """A function that attaches a Reader; all leave at the end, and nothing of them stays."""
    with contextlib.ExitStack() as stack:
        def reader(**fields):
            made = Reader(daemon, photos, **fields)
            stack.callback(made.peer.close)
            return made
        yield reader
    daemon.settle()
