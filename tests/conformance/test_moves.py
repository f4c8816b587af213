# SPDX-License-Identifier: MIT
"""Readers at paces of their own: a client follows RING to another ring and back, with batches of
the old one in its hands."""

import contextlib

from harness import wait_for
from program import as_clients_ask, wire

WISH = {"batch_size": 6, "prefetch": 6, "epochs": 3}


def counter(daemon, name):
    return daemon.status()[name]


@contextlib.contextmanager
def beside(daemon, attach, transport="fd"):
    """A raw reader of the same stream that can move."""
    with daemon.connect() as peer:
        answer = peer.request("attach", accept_moves=True, **{"accept_" + transport: True},
                              **{key: wire(value)
                                 for key, value in as_clients_ask(attach).items()})
        assert answer.name == "attached", answer
        peer.follow(answer)
        yield peer


def kind(client):
    """Rings are shared by readers that take the same transport."""
    return "path" if "fd" in client.lacks else "fd"


def go(peer, count):
    """So many batches; wherever they are."""
    while count:
        message = peer.receive()
        if message.name == "ring":
            peer.follow(message)
        if message.name == "batch":
            peer.release(message)
            count -= 1


def test_fork(client, spawn, stream, truth):
    """Past a reader that stands still: in another ring."""
    daemon, attach = spawn(), stream(**WISH)
    with beside(daemon, attach, kind(client)) as slow:
        slow.expect("batch")
        run = client.run(daemon.socket, {**attach, "pace": "free"}, hold=2)
        assert run.batches == truth(attach)[2]
        assert counter(daemon, "forks_total") >= 1


def test_merge(client, spawn, stream, truth):
    """It stands still, with batches in its hands, while another one goes on without it, and catches
    up with that: in the other's ring."""
    daemon, attach = spawn(), stream(**WISH)
    run = client.start(daemon.socket, attach, pause=2, hold=1)
    run.wait_for("paused")
    with beside(daemon, {**attach, "pace": "free"}, kind(client)) as fast:
        go(fast, 20)
        assert counter(daemon, "forks_total") == 1
        run.go_on()
        wait_for(lambda: counter(daemon, "merges_total") >= 1, "the rings are one again")
        go(fast, 10)
    assert run.finish().batches == truth(attach)[2]


def test_fork_by_path(client, spawn, stream, truth):
    client.needs("path")
    daemon, attach = spawn(), stream(**WISH)
    with beside(daemon, attach, "path") as slow:
        slow.expect("batch")
        run = client.run(daemon.socket, {**attach, "pace": "free"}, hold=1, transport="path")
        assert run.batches == truth(attach)[2]
        assert counter(daemon, "forks_total") >= 1


def test_live(client, spawn, stream, truth):
    """It begins where another reader is, and says where that is."""
    daemon, attach = spawn(), stream(**WISH)
    with beside(daemon, attach, kind(client)) as other:
        go(other, 4)
        other.expect("batch")
        run = client.start(daemon.socket, {**attach, "start": "live", "epochs": 1})
        first = run.wait_for("batch")
        assert int(first["position"]) >= 24
    batches = [batch for batch in truth(attach)[2] if batch["epoch"] == "0"]
    assert run.finish().batches == batches[int(first["position"]) // 6:]
