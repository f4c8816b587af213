# SPDX-License-Identifier: MIT
"""Streams whose batches have several sizes (Buckets)."""
import struct

import numpy as np
import pytest

SIZES = [[32, 32], [24, 40], [40, 24]]
WISH = {"transforms": [{"name": "Buckets", "sizes": SIZES}, {"name": "RandomHorizontalFlip"}],
        "dtype": "uint8", "layout": "NHWC", "batch_size": 4}


@pytest.fixture(scope="session", name="shapes")
def fixture_shapes(tmp_path_factory):
    """A folder of 38 pictures of many shapes, of 2 classes."""
    from PIL import Image
    folder, rng = tmp_path_factory.mktemp("shapes"), np.random.default_rng(11)
    for number in range(38):
        (folder / "ab"[number % 2]).mkdir(exist_ok=True)
        pixels = rng.integers(0, 256, (*rng.integers(24, 70, 2), 3), np.uint8)
        Image.fromarray(pixels).save(folder / "ab"[number % 2] / f"{number:02}.png")
    return folder


@pytest.fixture(name="sized")
def fixture_sized(stream, shapes):
    """As `stream`, of that folder."""
    return lambda **changed: stream(dataset={"path": str(shapes)}, **{**WISH, **changed})


@pytest.mark.parametrize("changed", [
    {"epochs": 2}, {"last_batch": "pad"}, {"last_batch": "drop"}, {"dtype": "float32"},
    {"layout": "NCHW"}, {"world": 3, "rank": 2, "job": "job"}], ids=str)
def test_stream(client, daemon, sized, truth, changed):
    attach = sized(**changed)
    attached, ring, batches = truth(attach)
    run = client.run(daemon.socket, attach)
    said, = run.said("attached")
    assert said["samples"] == str(attached["samples"]) and len(ring.sized) == 1
    assert said["fields"].startswith(
        f"image:{attach['dtype']}:" + ("3x0x0," if "layout" in changed else "0x0x3,"))
    assert run.batches == batches and len(run.said("end")) == 1


def test_held_batches_keep_their_bytes(client, daemon, sized, truth):
    attach = sized(epochs=3, inflight=3)
    assert client.run(daemon.socket, attach, hold=2).batches == truth(attach)[2]


def test_resuming(client, daemon, sized, truth):
    """At a place, and by a token."""
    attach = sized(epochs=2)
    whole = truth(attach)[2]
    at = {"epoch": int(whole[2]["next_epoch"]), "position": int(whole[2]["next_position"])}
    assert client.run(daemon.socket, sized(epochs=2, **at)).batches == whole[3:]


def test_detach_and_attach_again(client, daemon, sized, truth):
    """With a token, amid a run."""
    attach = sized(transforms=[{**WISH["transforms"][0], "run": 12}])
    run = client.run(daemon.socket, attach, take=3, hold=2, again=True)
    assert run.batches == truth(attach)[2] and len(run.said("attached")) == 2


ATTACH = {"dataset": {"path": "/data/20"}, "batch_size": 4, "epochs": 1}
MASK = 128 + 256 * 3  # its row, behind image, label and index


def misled(fake, corrupt=None, shape=(0, 0, 3), stride=48, **wrong):
    """A made daemon, with a sized field; what it says, changed."""
    row = ("mask", "uint8", 2, shape, stride, lambda index: (None, bytes(stride)))
    fake.segment = {"wide": [row], "corrupt": corrupt}
    said = {"height": 2, "width": 4, "origin": 0, **wrong}
    fake.hooks["say_batch"] = lambda peer, fields: fields.update(said)


def test_a_made_daemon_with_a_sized_field(client, fake):
    """What follows fails for its own reason."""
    misled(fake, height=4)
    run = client.run(fake.path, ATTACH)
    assert len(run.batches) == 5 and fake.last("attach")["accept_sizes"] is True
    assert run.said("attached")[0]["fields"].endswith(",mask:uint8:0x0x3")


@pytest.mark.parametrize("wrong", [
    {"height": 0}, {"width": 0}, {"height": 5}, {"height": 16384, "width": 16384},
    {"origin": 17}, {"origin": 2**32 - 1}, {"runs": [[0, 2], [2, 2]]}, {"runs": [[14, 4]]},
    {"count": 5, "runs": [[0, 5]]}, {"position": 3, "next_position": 3}, {"epoch": 1},
    {"next_epoch": 2, "next_position": 0}, {"next_epoch": 1, "next_position": 1},
    {"height": 2**14 + 1}], ids=str)
def test_a_batch_of_a_wrong_size_or_place(client, fake, wrong):
    misled(fake, **wrong)
    client.start(fake.path, ATTACH).fails("broken")


@pytest.mark.parametrize("row", [
    {"shape": (0, 4, 3)}, {"shape": (0, 3, 0)}, {"shape": (0, 0, 0)}, {"shape": (3, 0)},
    {"shape": ()}, {"stride": 2},
    {"corrupt": lambda header: header[:MASK + 216] + struct.pack("=Q", 2**62)
     + header[MASK + 224:]},
    {"corrupt": lambda header: header[:MASK + 96] + struct.pack("=I", 2**31)
     + header[MASK + 100:]}], ids=str)
def test_a_field_that_is_not_sized_rightly(client, fake, row):
    misled(fake, **row)
    client.start(fake.path, ATTACH).fails("broken")
