# SPDX-License-Identifier: MIT
"""What the daemon refuses has the protocol's name in every client; so have a daemon that is not
there, is full, or closes the connection for a reason."""

import pytest
from harness import wait_for

REFUSED = {
    "no such dataset": ({"dataset": {"path": "/no/such/folder"}}, "dataset"),
    "a key that a dataset has not": ({"dataset": {"path": "/tmp", "kind": "tapestry"}}, "dataset"),
    "parts of parts": ({"dataset": {"parts": [{"path": "/tmp"}, {"parts": [{"path": "/tmp"},
                                                                          {"path": "/usr"}]}]}},
                       "dataset"),
    "no such transform": ({"transforms": [{"name": "Explode"}]}, "pipeline"),
    "no such parameter": ({"transforms": [{"name": "Resize", "size": 0}]}, "pipeline"),
    "no such end": ({"last_batch": "torn"}, "argument"),
    "a batch of more than an epoch": ({"last_batch": "wrap", "batch_size": 61}, "argument"),
    "no such field": ({"fields": ["weight"]}, "argument"),
    "a rank beyond the world": ({"rank": 3, "world": 2}, "argument"),
    "no such sampler": ({"sampler": {"name": "dowsing"}}, "argument"),
}


@pytest.mark.parametrize("changed, name", REFUSED.values(), ids=REFUSED)
def test_refused(client, daemon, stream, changed, name):
    """By the daemon, or by the client before it asks."""
    assert client.start(daemon.socket, stream(**changed)).fails(name, "option")


def test_memory(client, spawn, stream):
    daemon = spawn(ring_memory="1M")
    client.start(daemon.socket, stream(batch_size=4096)).fails("memory")


def test_no_daemon(client, tmp_path, stream):
    text = client.start(tmp_path / "stokerd.sock", stream()).fails("unavailable")
    assert "stokerd.sock" in text


def test_a_socket_with_too_long_a_path(client, tmp_path, stream):
    """Linux takes 107 bytes. What of it is said is why, and not that nothing is there."""
    path = tmp_path / ("ä" * 60) / "stokerd.sock"
    text = client.start(path, stream()).fails("unavailable", "other")
    assert "at most 107" in text, text


def test_full_daemon(client, spawn, stream):
    daemon = spawn(max_connections=1)
    with daemon.connect():
        client.start(daemon.socket, stream()).fails("too_many_connections")


def test_limit_of_a_user(client, spawn, stream):
    daemon = spawn(max_readers_per_user=1)
    with daemon.connect() as peer:
        assert peer.attach(stream()["dataset"]["path"]).name == "attached"
        client.start(daemon.socket, stream()).fails("limit")


def test_lease_timeout(client, spawn, stream):
    """The daemon takes back what is held too long: an error, and no attach again."""
    daemon = spawn(lease_timeout="1s")
    run = client.start(daemon.socket, stream(), pause=2, hold=1)
    run.wait_for("paused")
    wait_for(lambda: daemon.status()["leases_expired_total"] >= 1, "the lease expires")
    run.go_on()
    run.fails("timeout")
