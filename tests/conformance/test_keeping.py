# SPDX-License-Identifier: MIT
"""Batches that a program keeps while it goes on: every other batch comes, and then the end, also
where the ring comes round to what is kept. Where that cannot be, it is told which one."""

import pytest

LONG = {"batch_size": 4, "epochs": 3}  # 45 batches; a ring has some 5


@pytest.fixture(scope="session", name="damaged")
def fixture_damaged(tmp_path_factory, photos):
    """The first 4 pictures and the last 4 are whole, and all between them are no pictures: many
    rings of bad ones."""
    folder = tmp_path_factory.mktemp("damaged") / "class"
    folder.mkdir()
    whole = sorted(photos.rglob("*.jpg"))
    for i in range(60):
        data = whole[i % len(whole)].read_bytes() if i < 4 or i >= 56 else b"no picture"
        (folder / f"{i:02}.jpg").write_bytes(data)
    return folder.parent


@pytest.mark.parametrize("kept, how", [
    (1, {}), (2, {}), (1, {"inflight": 2}), (1, {"prefetch": 1}), (2, {"prefetch": 2}),
    (1, {"batch_size": 7, "last_batch": "wrap"}), (1, {"batch_size": 7, "last_batch": "drop"}),
    (1, {"pace": "together"}), (1, {"echo": 2, "echo_window": 8}), (1, {"views": 2}),
    (1, {"world": 2, "rank": 1})], ids=str)
def test_to_the_end(client, daemon, stream, truth, kept, how):
    """The first batches are kept over three epochs."""
    attach = stream(**{**LONG, **how})
    assert client.run(daemon.socket, attach, keep=kept).batches == truth(attach)[2]


def test_while_others_are_held(client, daemon, stream, truth):
    attach = stream(**LONG)
    assert client.run(daemon.socket, attach, keep=1, hold=1).batches == truth(attach)[2]


@pytest.mark.parametrize("how", [{"keep": 1}, {"hold": 1}], ids=str)
def test_behind_bad_ones(client, spawn, stream, damaged, how):
    """A bad batch uses no credit, but slots: one that is held is in the way of the next."""
    attach = stream(dataset={"path": str(damaged)}, shuffle=False, **LONG)
    run = client.run(spawn().socket, attach, timeout_ms=20_000, **how)
    assert [int(batch["position"]) for batch in run.batches] == [0, 56] * 3
    assert len(run.said("bad")) == 13 * 3


def test_over_a_restart(client, spawn, stream, truth):
    daemon, attach = spawn(), stream(**LONG)
    run = client.start(daemon.socket, attach, keep=1, pause=3)
    run.wait_for("paused")
    daemon.kill()
    daemon.spawn()
    run.go_on()
    assert run.finish().batches == truth(attach)[2]


def test_no_room_for_another_ring(client, spawn, stream, truth):
    """The error names the batch; Python's is a copy by then."""
    attach = stream(**{**LONG, "transforms": [{"name": "Resize", "size": [64, 64]}]}, prefetch=4)
    daemon = spawn(ring_memory="1M")  # of rings of 16 samples of 3 x 64 x 64 floats one fits
    run = client.start(daemon.socket, attach, keep=1)
    if client.name == "python":
        assert run.finish().batches == truth(attach)[2]
        return
    text = run.fails("held")
    assert "epoch 0, position 0 is still held" in text and "ring-memory" in text
    assert run.batches == truth(attach)[2][:4]
