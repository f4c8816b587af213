# SPDX-License-Identifier: MIT
"""Every client delivers what the daemon sends to a raw peer: each batch with its place, its digest
and where to resume."""

import pytest

NUMBERS = ("samples", "batches")
HASHES = {"dataset": "dataset_fingerprint", "pipeline": "pipeline_hash",
          "sampling": "sampling_hash"}

STREAMS = {
    "one epoch": {},
    "three epochs": {"epochs": 3, "batch_size": 16},
    "in order": {"shuffle": False},
    "bytes, channels last": {"dtype": "uint8", "layout": "NHWC"},
    "float16": {"dtype": "float16"},
    "bfloat16": {"dtype": "bfloat16"},
    "batches of one": {"batch_size": 1},
    "a batch of all": {"batch_size": 60},
    "drop": {"last_batch": "drop", "epochs": 2},
    "pad": {"last_batch": "pad", "epochs": 2},
    "wrap": {"last_batch": "wrap", "epochs": 3},
    "a rank that pads": {"last_batch": "pad", "world": 3, "rank": 2},
    "a ring that wraps round": {"prefetch": 2, "inflight": 2, "epochs": 4},
    "a part of the samples": {"subset_start": 10, "subset_stop": 31},
    "a later epoch": {"epoch": 4, "position": 21},
    "one hot": {"one_hot": True},
    "three views": {"views": 3, "batch_size": 4},
    "echoes": {"echo": 2, "echo_window": 8},
    "drawn by weights": {"sampler": {"name": "weighted", "weights_by_class": [1, 2, 3, 4, 5, 6.5],
                                     "num_samples": 40}},
    "balanced": {"sampler": {"name": "balanced", "per_class": 5}, "epochs": 2},
    "listed samples": {"sampler": {"name": "subset", "indices": [5, 39, 17, 2, 3, 59]}},
    "normalised, and gray": {"transforms": [
        {"name": "Resize", "size": [20, 18], "interpolation": "bicubic"},
        {"name": "RandomApply", "p": 0.3,
         "transforms": [{"name": "ColorJitter", "brightness": 0.4, "hue": [-0.1, 0.1]}]},
        {"name": "Grayscale"}, {"name": "Normalize", "mean": [0.5], "std": [0.25]}]},
}

BYTES = {"dtype": "uint8", "layout": "NHWC", "epochs": 0}  # what the programs can measure


@pytest.mark.parametrize("changed", STREAMS.values(), ids=STREAMS)
def test_stream(client, daemon, stream, truth, changed):
    attach = stream(**changed)
    attached, ring, batches = truth(attach)
    run = client.run(daemon.socket, attach)
    said, = run.said("attached")
    assert all(said[key] == str(attached[key]) for key in NUMBERS), (said, attached)
    assert all(said[key] == attached.get(name, "") for key, name in HASHES.items()), said
    assert said["fields"].split(",") == [
        f"{name}:{kind}:{'x'.join(map(str, field.shape[1:]))}"
        for (name, field), kind in zip(ring.fields.items(), kinds(attach, ring))]
    assert run.batches == batches
    assert run.said("end")[0]["reconnects"] == "0"


def kinds(attach, ring):
    """The dtypes: numpy has no bfloat16."""
    for name, field in ring.fields.items():
        yield attach.get("dtype", "float32") if name == "image" else str(field.dtype)


def test_ranks_read_each_sample_once(client, daemon, stream, truth):
    """Three ranks of one job at a time."""
    ranks = [stream(world=3, rank=rank, job="job", batch_size=4) for rank in range(3)]
    runs = [client.start(daemon.socket, attach) for attach in ranks]
    seen = []
    for run, attach in zip(runs, ranks):
        assert run.finish().batches == truth(attach)[2]
        seen += [int(batch["position"]) + i for batch in run.batches
                 for i in range(int(batch["count"]))]
    assert sorted(seen) == list(range(60))


def test_held_batches_keep_their_bytes(client, daemon, stream, truth):
    """A program that holds two of three batches all the time, and looks again before it gives them
    back."""
    attach = stream(epochs=3, inflight=3, prefetch=3)
    assert client.run(daemon.socket, attach, hold=2).batches == truth(attach)[2]


def test_credit(client, daemon, stream, truth):
    """Held batches and a limit that is raised: three can be held only with four."""
    client.needs("credit")
    attach = stream(epochs=2, inflight=2, prefetch=8)
    run = client.run(daemon.socket, attach, hold=1, credit=[3, 6])
    assert run.batches == truth(attach)[2]


def test_ring_by_path(client, daemon, stream, truth):
    client.needs("path")
    attach = stream(epochs=2)
    assert client.run(daemon.socket, attach, transport="path").batches == truth(attach)[2]


def test_names_of_classes(client, daemon, stream):
    run = client.run(daemon.socket, stream(), classes=True)
    names = [bytes.fromhex(name).decode() for name in run.said("classes")[0]["names"].split(",")]
    assert len(names) == 6 and names == sorted(names), names


def test_detach_and_attach_again(client, daemon, stream, truth):
    """On one connection: some batches, then the rest of the epoch."""
    attach = stream()
    run = client.run(daemon.socket, attach, take=3, hold=2, again=True)
    assert run.batches == truth(attach)[2] and len(run.said("attached")) == 2


def test_attach_again_at_the_end(client, daemon, stream, truth):
    """Nothing more comes behind the last epoch."""
    attach = stream(epochs=2)
    run = client.run(daemon.socket, attach, again=True)
    assert run.batches == truth(attach)[2] and len(run.said("end")) == 2


def test_seek_to_no_place(client, daemon, stream):
    """It is refused, and the reader goes on where it was."""
    run = client.start(daemon.socket, stream(**BYTES), measure=True)
    run.wait_for("attached")
    run.tell("seek 1 14", f"seek 1 {10**6}", "read 1", "seek 1 21")
    assert run.wait_for("sought", 2)["position"] == "21"
    assert run.said("refused")[0]["name"] in ("argument", "token")
    assert len(run.said("measured")) == 1
    run.finish()


def test_seek_while_the_daemon_is_away(client, spawn, stream):
    """What the next daemon gives begins there."""
    daemon = spawn()
    run = client.start(daemon.socket, stream(**BYTES), measure=True)
    run.wait_for("attached")
    run.tell("seek 1 14")
    first = run.wait_for("sought")
    daemon.kill()
    run.tell("seek 0 7", "seek 1 14")
    daemon.spawn()
    assert run.wait_for("sought", 3)["sum"] == first["sum"]
    assert run.said("sought")[1]["position"] == "7"
    run.finish()
