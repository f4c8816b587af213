# SPDX-License-Identifier: MIT
"""Credentials of one's own that are replaced while a stream runs: a server of objects that verifies
signatures refuses the first ones from the middle of the epoch on."""

import contextlib

import pytest

from object_server import Objects

SECRETS = {"AKIDTEST": "open/sesame+12", "AKIDFIRST": "first/secret+1", "AKIDNEXT": "next/secret+2"}


def make_own_keys(name):
    return [{"url": "s3://b", "key": f"AKID{name}", "secret": SECRETS[f"AKID{name}"]}]


@contextlib.contextmanager
def running(client, spawn, stream, photos):
    """(server, daemon, program), which has paused after three batches of many."""
    with Objects(photos.parent, bucket="b") as server:
        server.accounts = dict(SECRETS)
        daemon = spawn(environment=server.environment(), fetchers=2)
        program = client.start(
            daemon.socket, stream(dataset={"path": f"s3://b/{photos.name}"}, **SMALL),
            credentials=make_own_keys("FIRST"), refresh=make_own_keys("NEXT"), pause=3)
        program.wait_for("paused")
        server.expired.add("AKIDFIRST")
        yield server, daemon, program


SMALL = {"batch_size": 2, "prefetch": 2, "inflight": 1}


def signers(server):
    return {headers["authorization"].split("Credential=")[1].split("/")[0]
            for _, headers in server.requests}


@pytest.mark.parametrize("away", [False, True], ids=["served", "away"])
def test_others_in_mid_run(client, spawn, photos, stream, truth, away):
    """Every batch comes, also where the daemon is another one by then: it is sent the new ones."""
    client.needs("credentials")
    _, _, batches = truth(stream(**SMALL))
    with running(client, spawn, stream, photos) as (server, daemon, program):
        if away:
            daemon.kill()
            daemon.spawn()
        program.go_on()
        assert program.finish().batches == batches
        assert program.said("end")[0]["reconnects"] == str(int(away))
        assert signers(server) == {"AKIDFIRST", "AKIDNEXT"}
