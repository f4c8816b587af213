# SPDX-License-Identifier: MIT
"""Tokens, and daemons that are killed, stopped or never come back."""

import itertools

import clients
import pytest
from conftest import ask
from harness import wait_for
from program import Program, truth as truth_of
from relay import Relay

N = 60


def test_token(client, daemon, stream, truth):
    """Three batches, then the rest from the token: also with another batch size, from the middle
    of a later epoch, and through JSON."""
    attach = stream(epochs=2)
    _, _, batches = truth(attach)
    first = client.run(daemon.socket, attach, take=11)
    token = first.token
    assert first.batches == batches[:11]
    assert (token["epoch"], token["position"]) == (1, 14)
    rest = client.run(daemon.socket, stream(), token=token)
    assert rest.batches == [b for b in truth(stream(epoch=1, position=14))[2]
                            if b["epoch"] == "1"]


def test_token_of_large_seeds(client, daemon, stream, truth):
    """Numbers of 64 bits, which a float does not hold: the token has all digits, as numbers or, of
    JavaScript's JSON.stringify(), as texts; each client takes both."""
    seeds = {"order_seed": 2**63 - 1, "augment_seed": 2**53 + 1}
    attach = stream(**{name: {"uint": str(seed)} for name, seed in seeds.items()})
    first = client.run(daemon.socket, attach, take=2)
    token = {**first.token, **{name: int(first.token[name]) for name in seeds}}
    assert {name: token[name] for name in seeds} == seeds
    texts = {**token, **{name: str(seed) for name, seed in seeds.items()}}
    for written in (token, texts):
        rest = client.run(daemon.socket, attach, token=written)
        assert first.batches + rest.batches == truth(attach)[2]


def test_token_of_large_seeds_of_another(client, daemon, stream):
    """It differs in the last digit, which a float has not."""
    client.needs("token")
    seed = 2**53
    attach = stream(order_seed={"uint": str(seed)})
    token = client.run(daemon.socket, attach, take=1).token
    for other in (seed + 1, str(seed + 1)):
        run = client.start(daemon.socket, attach, token={**token, "order_seed": other})
        assert "order_seed" in run.fails("token")


@pytest.mark.parametrize("changed, word", [
    ({"transforms": [{"name": "Resize", "size": [16, 16]}]}, "pipeline"),
    ({"sampler": {"name": "balanced"}}, "sampling"),
])
def test_token_of_something_else(client, daemon, stream, changed, word):
    token = client.run(daemon.socket, stream(), take=1).token
    assert word in client.start(daemon.socket, stream(**changed), token=token).fails("token")


def test_killed_daemon(client, spawn, stream, truth):
    """It dies while the program holds a batch; the same batches come, after a pause."""
    daemon = spawn()
    attach = stream(epochs=2)
    run = client.start(daemon.socket, attach, pause=4, hold=1)
    run.wait_for("paused")
    daemon.kill()
    daemon.spawn()
    run.go_on()
    run.finish()
    assert run.batches == truth(attach)[2]
    assert run.said("end")[0]["reconnects"] == "1"


def test_killed_daemon_of_a_later_epoch(client, spawn, stream, truth):
    """The place of a reader that began in the middle is not forgotten."""
    daemon = spawn()
    attach = stream(epoch=3, position=14, epochs=2)
    run = client.start(daemon.socket, attach, pause=2)
    run.wait_for("paused")
    daemon.kill()
    daemon.spawn()
    run.go_on()
    assert run.finish().batches == truth(attach)[2]


def test_killed_daemon_whose_ring_is_gone(client, spawn, stream, truth):
    """By path: it is killed once more, and replaced, before the client opens what it announced."""
    client.needs("path")
    daemon = spawn()
    attach = stream(epochs=2)
    with Relay(daemon.socket) as relay:
        run = client.start(relay.socket, attach, pause=4, hold=1, transport="path")
        run.wait_for("paused")
        daemon.kill()
        daemon.spawn()
        relay.hold()
        run.go_on()
        wait_for(lambda: daemon.status()["slots_leased"], "it is given batches")
        daemon.kill()
        daemon.spawn()
        assert not daemon.shared_names()
        relay.go_on()
        run.finish()
    assert run.batches == truth(attach)[2]
    assert run.said("end")[0]["reconnects"] == "1"


def test_stopped_daemon(client, spawn, stream, truth):
    """GOAWAY, and another daemon at the same place."""
    daemon = spawn(drain_timeout="1s")
    attach = stream(epochs=2)
    run = client.start(daemon.socket, attach, pause=3, hold=1)
    run.wait_for("paused")
    daemon.terminate()
    daemon.spawn()
    run.go_on()
    assert run.finish().batches == truth(attach)[2]


def test_no_daemon_comes_back(client, spawn, stream, truth):
    daemon = spawn()
    attach = stream(epochs=2)
    run = client.start(daemon.socket, attach, pause=2, reconnect_ms=300)
    run.wait_for("paused")
    daemon.kill()
    run.go_on()
    run.fails("disconnected", "unavailable")
    assert run.batches == truth(attach)[2][:len(run.batches)]


def test_other_data_comes_back(client, spawn, stream, photos, tmp_path):
    """A daemon that finds other files at the same path: the token refuses them."""
    folder = tmp_path / "data"
    folder.symlink_to(photos, target_is_directory=True)
    daemon = spawn()
    run = client.start(daemon.socket, stream(dataset={"path": str(folder)}), pause=2)
    run.wait_for("paused")
    daemon.kill()
    folder.unlink()
    folder.mkdir()
    (folder / "class").symlink_to(next(path for path in photos.iterdir() if path.is_dir()))
    daemon.spawn()
    run.go_on()
    run.fails("token")


def test_tokens_cross_languages(daemon, stream, truth):
    """Each client goes on from the token of the one before, around the whole circle."""
    able = [name for name in clients.chosen() if clients.command(name)[0]]
    attach = stream(batch_size=2, epochs=2)
    got, token = [], None
    for name in itertools.islice(itertools.cycle(able), len(able) + 1):
        extra = {"token": token} if token else {}
        run = Program(clients.command(name)[0], daemon.socket, attach, take=3, **extra).finish()
        got, token = got + run.batches, run.token
    assert got == truth(attach)[2][:len(got)]


def test_all_at_once(spawn, stream):
    """All clients on one stream at a time, with the daemon killed in between: one digest."""
    able = [ask(name) for name in clients.chosen() if clients.command(name)[0]]
    daemon = spawn()
    attach = stream(epochs=2, batch_size=5)
    _, _, batches = truth_of(daemon, attach)
    runs = [client.start(daemon.socket, attach, pause=5 + i) for i, client in enumerate(able)]
    for run in runs:
        run.wait_for("paused")
    daemon.kill()
    daemon.spawn()
    for run in runs:
        run.go_on()
    for client, run in zip(able, runs):
        assert run.finish().batches == batches, client.name
        assert run.said("end")[0]["reconnects"] == "1"
