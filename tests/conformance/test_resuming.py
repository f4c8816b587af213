# SPDX-License-Identifier: MIT
"""Tokens, and daemons that are killed, stopped or never come back."""

import itertools
import os

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


def first_token(attached, changed, position=0):
    """As clients wrote it before there were descriptions."""
    seeds = {key: attached["description"][key] for key in ("order_seed", "augment_seed")}
    return {"version": 1, "dataset": attached["dataset_fingerprint"],
            "pipeline": attached["pipeline_hash"], "sampling": attached.get("sampling_hash", ""),
            **seeds, "shuffle": True, "subset": None, "exif_orientation": False,
            "resize": "pillow-13", **changed, "epoch": 0, "position": position, "batch_size": 7,
            "world_size": 1}


def test_token_of_version_1(client, daemon, stream, truth):
    """It goes on, and the next token is of version 2; what it has is compared, and named."""
    subset = {"subset_start": 3, "subset_stop": 40}
    attach = stream(order_seed=7, **subset)
    attached, _, batches = truth(attach)
    token = first_token(attached, {"subset": [3, 40]}, position=14)
    rest = client.run(daemon.socket, attach, token=token)
    assert rest.batches == batches[2:]
    assert rest.token["version"] == 2 and rest.token["description"]["subset_start"] == 3
    texts = client.start(daemon.socket, stream(order_seed=8, **subset), token=token).fails("token")
    assert all(word in texts for word in ("order_seed", "7", "8"))
    for changed, word in (({"subset": None}, "subset"), ({"shuffle": False}, "shuffle"),
                          ({"pipeline": "0" * 32}, "pipeline"), ({"sampling": "0" * 32},
                                                                 "sampling")):
        run = client.start(daemon.socket, attach, token={**token, **changed})
        assert word in run.fails("token")
    less = {key: token[key] for key in token if key not in ("shuffle", "augment_seed")}
    assert client.run(daemon.socket, attach, token=less, take=1).batches == batches[2:3]


def test_token_of_large_seeds(client, daemon, stream, truth):
    """Numbers of 64 bits, which a float does not hold: the token has all digits, as numbers or, of
    JavaScript's JSON.stringify(), as texts; each client takes both."""
    seeds = {"order_seed": 2**63 - 1, "augment_seed": 2**53 + 1}
    attach = stream(**{name: {"uint": str(seed)} for name, seed in seeds.items()})
    first = client.run(daemon.socket, attach, take=2)
    description = first.token["description"]
    assert {name: int(description[name]) for name in seeds} == seeds
    attached, _, batches = truth(attach)
    for written in (seeds, {name: str(seed) for name, seed in seeds.items()}):
        token = {**first.token, "description": {**description, **written}}
        old = first_token(attached, written, position=14)
        for each in (token, old):
            rest = client.run(daemon.socket, attach, token=each)
            assert first.batches + rest.batches == batches


def test_token_of_large_seeds_of_another(client, daemon, stream, truth):
    """It differs in the last digit, which a float has not."""
    seed = 2**53
    attach = stream(order_seed={"uint": str(seed)})
    token = client.run(daemon.socket, attach, take=1).token
    text = client.start(daemon.socket, stream(order_seed={"uint": str(seed + 1)}),
                        token=token).fails("token")
    assert "order_seed" in text and str(seed) in text and str(seed + 1) in text
    for other in (seed + 1, str(seed + 1)):
        old = first_token(truth(attach)[0], {"order_seed": other})
        assert "order_seed" in client.start(daemon.socket, attach, token=old).fails("token")


@pytest.mark.parametrize("changed, words", [
    ({"transforms": [{"name": "Resize", "size": [16, 16]}]}, ("transforms", "Resize")),
    ({"sampler": {"name": "balanced"}}, ("sampler",)),
    ({"augment_seed": 31}, ("augment_seed", "31")),
    ({"echo": 3}, ("echo", "1", "3")),
    ({"subset_start": 5}, ("subset_start", "0", "5")),
    ({"subset_stop": 8}, ("subset_stop", "60", "8")),
    ({"dtype": "float16"}, ("dtype", "uint8", "float16")),
])
def test_token_of_something_else(client, daemon, stream, changed, words):
    """The first field that differs has a name, and both values."""
    token = client.run(daemon.socket, stream(dtype="uint8"), take=2).token
    text = client.start(daemon.socket, stream(**{"dtype": "uint8", **changed}),
                        token=token).fails("token")
    assert all(word in text for word in words), text


def test_token_passes_on_what_it_does_not_know(client, daemon, stream, truth):
    """A kind of fingerprint of a newer client stays; one that has no kind but such is refused."""
    token = client.run(daemon.socket, stream(), take=1).token
    kinds = {**token["fingerprints"], "colours": "a1" * 16}
    rest = client.run(daemon.socket, stream(), token={**token, "fingerprints": kinds})
    assert rest.batches == truth(stream())[2][1:]
    assert rest.token["fingerprints"] == kinds
    strange = {**token, "fingerprints": {"colours": "a1" * 16}}
    client.start(daemon.socket, stream(), token=strange).fails("token", "option", "other")


@pytest.fixture(scope="module", name="large")
def fixture_large(photos, tmp_path_factory):
    """A folder that is opened by its names."""
    folder = tmp_path_factory.mktemp("large") / "a"
    folder.mkdir()
    few = sorted(path for path in photos.rglob("*") if path.is_file())
    for number in range(4200):
        photo = few[number % len(few)]
        os.link(photo, folder / f"{number:04}{photo.suffix}")
    return folder.parent


def test_token_of_a_large_folder(client, daemon, stream, large):
    """It has the fingerprint of names, and that of all once it is known; each is compared."""
    attach = stream(dataset={"path": str(large)}, subset_stop=35)
    with daemon.connect() as peer:
        assert peer.attach(large, accept_names=True).name == "attached"
        names = peer.attached["names_fingerprint"]

        def known():
            return [row["fingerprint"] for row in daemon.list("datasets")
                    if row["path"] == str(large) and row["fingerprint"] != names]

        wait_for(known, "the sizes")
        whole, = known()
        batches = client.run(daemon.socket, attach).batches
        first = client.run(daemon.socket, attach, take=2)
        assert first.token["fingerprints"] == {"dataset": whole, "names": names}
        for kinds in ({"dataset": whole, "names": names}, {"names": names}, {"dataset": whole}):
            rest = client.run(daemon.socket, attach, token={**first.token, "fingerprints": kinds})
            assert rest.batches == batches[2:]
            assert rest.token["fingerprints"] == first.token["fingerprints"]
        for wrong in ({"dataset": "0" * 32, "names": names}, {"names": "0" * 32}):
            token = {**first.token, "fingerprints": wrong}
            client.start(daemon.socket, attach, token=token).fails("token")


def test_token_of_a_daemon_that_knew_fewer_fields(client, daemon, stream, truth):
    """Its digest is another one; the field that it does not have is as usual, or it is refused."""
    token = client.run(daemon.socket, stream(), take=1).token
    description = {key: value for key, value in token["description"].items() if key != "echo"}
    older = {**token, "description": description, "digest": "0" * 32}
    rest = client.run(daemon.socket, stream(), token=older)
    assert rest.batches == truth(stream())[2][1:]
    assert rest.token["digest"] == token["digest"]
    assert "echo" in client.start(daemon.socket, stream(echo=2), token=older).fails("token")


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
