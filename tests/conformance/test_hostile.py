# SPDX-License-Identifier: MIT
"""A daemon that is newer, slow, or violates the protocol: no client crashes or hangs, each says an
error. The daemon is that of tests/python/fake_daemon.py."""

import hashlib
import json
import os
import random
import struct
from pathlib import Path

import numpy as np
import pytest
from fake_daemon import FINGERPRINT, PIPELINE, SHAPE, frame, sample, told, wide
from fake_daemon import NUMBERS as FAKE_NUMBERS

ATTACH = {"dataset": {"path": "/data/20"}, "batch_size": 4, "epochs": 1}
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "frames.json").read_text())


def raw(payload):
    return struct.pack(">I", len(payload)) + payload


def test_plain(client, fake):
    """The fake daemon is one that all can read: what follows fails for its own reason."""
    run = client.run(fake.path, ATTACH)
    assert [batch["position"] for batch in run.batches] == ["0", "4", "8", "12", "16"]
    assert run.said("attached")[0]["dataset"] == FINGERPRINT
    assert run.said("attached")[0]["pipeline"] == PIPELINE


def test_byte_by_byte(client, fake):
    """Frames come in pieces."""
    def say(peer, fields):
        for byte in frame("batch", **fields):
            peer.sock.sendall(bytes([byte]))
        return b""

    fake.hooks["say_batch"] = say
    assert len(client.run(fake.path, ATTACH).batches) == 5


def test_unknown_keys(client, fake):
    """Of a newer daemon, whatever their values."""
    def more(peer, fields):
        fields.update({"zz": {"a": [1, -1, 2.5, None, True, "\udcff"]}, "zy": b"\xff",
                       "zx": 2**64 - 1, "zw": -2**63, "zv": ["x" * 300] * 20})

    for name in ("welcome", "progress", "attached", "batch", "end"):
        fake.hooks["say_" + name] = more
    assert len(client.run(fake.path, ATTACH).batches) == 5


def test_unknown_fields_of_the_ring(client, fake):
    """A field of a type that is not known is left out, and the others are read."""
    def corrupt(header):
        struct.pack_into("=I", header, 36, 4)
        return header + struct.pack("=16s16sI6I4xQQ", b"novel", b"quaternion", 0, *[0] * 6, 16,
                                    4096)

    fake.segment = {"corrupt": corrupt}
    run = client.run(fake.path, ATTACH)
    assert len(run.batches) == 5
    assert run.said("attached")[0]["fields"].count(",") == 2


def test_version(client, fake):
    def refuse(peer, fields):
        peer.fail(fields["seq"], 6, "version", "this daemon speaks versions 7 to 9")
        peer.sock.shutdown(2)
        return True

    fake.hooks["hello"] = refuse
    assert "7 to 9" in client.start(fake.path, ATTACH).fails("version")


def test_unknown_error(client, fake):
    """Of a newer daemon: an error like any other."""
    fake.hooks["attach"] = lambda peer, fields: peer.fail(fields["seq"], 38, "moon",
                                                          "not at full moon") or True
    assert "full moon" in client.start(fake.path, ATTACH).fails("moon", "unknown")


def test_control_characters(client, fake):
    """Terminals obey them: they come from names of files, and from a daemon that is none."""
    text = "a\x1b[31m red\nline\x07 \x7f \u009b31m \xe9"
    fake.hooks["attach"] = lambda peer, fields: peer.fail(fields["seq"], 20, "dataset",
                                                          text) or True
    said = client.start(fake.path, ATTACH).fails("dataset")
    assert "a?[31m red?line? ? ?" in said and "31m \xe9" in said
    assert not [c for c in said if ord(c) < 32 or 127 <= ord(c) < 160], said


def test_error_that_ends_the_connection(client, fake):
    """It is told, and the client does not come back: what it holds may have changed."""
    connected = []

    def overrun(peer, fields):
        connected.append(fake.count("hello"))
        peer.fail(0, 10, "overrun", "the peer does not read")
        peer.sock.shutdown(2)
        return True

    fake.hooks["release"] = overrun
    client.start(fake.path, ATTACH).fails("overrun")
    assert fake.count("hello") == connected[0]


def test_no_batch_in_time(client, fake):
    """STALLED says which file hangs; the time-out of the program ends the wait."""
    def stall(peer, fields):
        return frame("stalled", epoch=0, position=0, sample=3, path=b"/m/\xff.jpg", read_ms=5100)

    fake.hooks["say_batch"] = stall
    assert client.start(fake.path, ATTACH, timeout_ms=300).fails("timeout")


def test_no_attach_in_time(client, fake):
    """The daemon reports progress, and no end of it."""
    fake.hooks["attach"] = lambda peer, fields: peer.say(
        "progress", seq=fields["seq"], what="indexing", done=1) or True
    client.start(fake.path, ATTACH, attach_timeout_ms=300).fails("timeout")


def test_it_dies_again_and_again(client, fake):
    """... without a batch: given up after reconnect_ms."""
    fake.hooks["say_batch"] = lambda peer, fields: peer.sock.shutdown(2) or b""
    client.start(fake.path, ATTACH, reconnect_ms=500).fails("disconnected", "unavailable")
    assert fake.count("hello") >= 2


CREDENTIALS = [{"url": "s3://bucket/train", "key": "AK", "secret": "s\u00e9cret",
                "token": "t" * 900, "expires": 2**33},
               {"url": "s3://other", "key": "AK2", "secret": "s2"}]


def test_credentials(client, fake):
    """They come before ATTACH, over each connection."""
    client.needs("credentials")
    lost = []

    def die(peer, fields):
        if not lost:
            lost.append(peer.sock.shutdown(2))
            return b""

    fake.hooks["say_welcome"] = lambda peer, fields: fields.update(capabilities=["credentials"])
    fake.hooks["say_batch"] = die
    assert len(client.run(fake.path, ATTACH, credentials=CREDENTIALS).batches) == 5
    asked = [(name, {**fields, "seq": None}) for name, fields in fake.seen
             if name in ("hello", "credentials", "attach")]
    sent = [("credentials", {**one, "seq": None}) for one in CREDENTIALS]
    assert [name for name, _ in asked] == ["hello", "credentials", "credentials", "attach"] * 2
    assert asked[1:3] == asked[5:7] == sent


def test_credentials_that_are_refused(client, fake):
    """The dataset is not asked for."""
    client.needs("credentials")
    fake.hooks["say_welcome"] = lambda peer, fields: fields.update(capabilities=["credentials"])
    fake.hooks["credentials"] = lambda peer, fields: peer.fail(
        fields["seq"], 22, "argument", "these credentials have expired") or True
    run = client.start(fake.path, ATTACH, credentials=CREDENTIALS)
    assert "expired" in run.fails("argument", "option")
    assert not fake.count("attach")


def test_every_option(client, fake):
    """ATTACH takes each option by its name, and sends it as it was given."""
    options = {"dataset": {"path": "/data/20", "kind": "manifest", "root": "/data",
                           "format": "csv", "split": "test", "label_column": "class"},
               "transforms": [{"name": "Resize", "size": [16, 16], "interpolation": "bilinear",
                               "antialias": True}],
               "dtype": "uint8", "layout": "NHWC", "shuffle": False, "order_seed": 2**63 + 1,
               "augment_seed": 5, "subset_start": 3, "subset_stop": 17,
               "bad_samples": "substitute", "exif_orientation": True, "job": "j\u00f6b", "rank": 1,
               "world": 2, "batch_size": 4, "last_batch": "pad", "epochs": 2, "inflight": 5,
               "prefetch": 9, "pace": "free", "priority": 30, "draft": True, "echo": 3,
               "echo_window": 64, "views": 2, "order": "shards", "window": 4096,
               "fields": ["weight", "age"], "one_hot": True, "resize": "pillow-13"}
    given = {**options, "order_seed": {"uint": str(2**63 + 1)}}
    fake.hooks["say_welcome"] = lambda peer, fields: fields.update(capabilities=["pillow-13"])
    client.run(fake.path, given, take=1)
    seen = next(fields for name, fields in fake.seen if name == "attach")
    wrong = {key: (seen.get(key), value) for key, value in options.items()
             if key not in ("transforms", "order_seed") and seen.get(key) != value}
    assert not wrong
    assert seen["order_seed"] == 2**63 + 1
    assert seen["transforms"][0] == options["transforms"][0]
    assert seen["accept_moves"] is True


BATCHES = {
    "slots beyond the ring": {"runs": [[1000000, 4]]},
    "a run over the ring's end": {"runs": [[15, 4]]},
    "fewer slots than samples": {"runs": [[0, 3]]},
    "a sum beyond 32 bits": {"runs": [[0, 2**32 - 1], [0, 5]]},
    "an empty run": {"runs": [[0, 4], [4, 0]]},
    "five runs": {"runs": [[0, 1]] * 5},
    "a negative slot": {"runs": [[-1, 4]]},
    "more samples than were asked for": {"count": 8, "runs": [[0, 8]]},
    "lease 0": {"lease": 0},
}


@pytest.mark.parametrize("wrong", BATCHES.values(), ids=BATCHES)
def test_wrong_batch(client, fake, wrong):
    fake.hooks["say_batch"] = lambda peer, fields: fields.update(wrong)
    client.start(fake.path, ATTACH).fails("broken")


def end_early(peer, fields):
    return frame("end", epoch=1)


def bad_elsewhere(peer, fields):
    return frame("bad_sample", epoch=0, position=13, sample=3, code=42, name="sample_corrupt",
                 path="a.jpg", text="cut short", next_epoch=0, next_position=16)


def bad_and_a_gap(peer, fields):
    return frame("bad_sample", epoch=0, position=9, sample=3, code=42, name="sample_corrupt",
                 path="a.jpg", text="cut short", next_epoch=0, next_position=16)


def change_fields(**wrong):
    return lambda peer, fields: fields.update(wrong)


def lease_again(peer, fields):
    fields["lease"] -= 1  # that of the batch before


def one_less(peer, fields):
    (first, _), *_ = fields["runs"]
    fields.update(count=3, runs=[[first, 3]])


# In place of the batch of position 8.
ORDERS = {
    "a batch again": change_fields(position=4, next_position=8),
    "the first batch again": change_fields(position=0, next_position=4),
    "a batch left out": change_fields(position=12, next_position=16),
    "another epoch": change_fields(epoch=1, next_epoch=1),
    "the positions of another rank": change_fields(position=9),
    "the same place behind it": change_fields(next_position=8),
    "another place behind it": change_fields(next_position=16),
    "another epoch behind it": change_fields(next_epoch=1, next_position=0),
    "a position of 2^64 - 1": change_fields(position=2**64 - 1),
    "fewer samples": one_less,
    "a lease again": lease_again,
    "a bad sample of another batch": bad_elsewhere,
    "a bad sample and a gap": bad_and_a_gap,
    "the end": end_early,
}


@pytest.mark.parametrize("wrong", ORDERS.values(), ids=ORDERS)
def test_out_of_order(client, fake, wrong):
    """Never other samples than those that are due (PROTOCOL.md, section 7)."""
    fake.hooks["say_batch"] = lambda peer, fields: fields["position"] == 8 and wrong(peer, fields)
    run = client.start(fake.path, ATTACH)
    run.fails("broken")
    assert [batch["position"] for batch in run.batches] in ([], ["0"], ["0", "4"])


def header(offset, layout, value):
    def corrupt(data):
        struct.pack_into(layout, data, offset, value)
        return data
    return corrupt


RINGS = {
    "another magic": header(0, "=8s", b"stoker\n\n"),
    "another version": header(8, "=I", 3),
    "rows of version 2 in a page of version 1": header(8, "=I", 2),
    "more bytes than it has": header(16, "=Q", 1 << 30),
    "another number": header(24, "=Q", 999),
    "more slots than fit": header(32, "=I", 2**31),
    "no fields": header(36, "=I", 0),
    "too many fields": header(36, "=I", 17),
    "a shape that does not fit": header(128 + 36, "=I", 2**31),
    "too many dimensions": header(128 + 32, "=I", 7),
    "a field outside of it": header(128 + 72, "=Q", 2**63),
    "a stride that is none": header(128 + 64, "=Q", 7),
}


@pytest.mark.parametrize("corrupt", RINGS.values(), ids=RINGS)
def test_wrong_ring(client, fake, corrupt):
    fake.segment = {"corrupt": corrupt}
    client.start(fake.path, ATTACH).fails("broken")


def told_of(n, batch):
    """Digest of a batch of the first epoch of a wide ring."""
    digest = hashlib.sha256()
    for position in range(int(batch["position"]), int(batch["position"]) + int(batch["count"])):
        index, label, value = sample(0, position, n)
        digest.update(np.full(SHAPE, value, "f4").tobytes())
        digest.update(struct.pack("=qq", label, index))
        for _, _, ragged, _, _, make in wide():
            shape, numbers = make(index)
            digest.update(told(shape, numbers) if ragged else numbers)
    return digest.hexdigest()


def test_wide_ring(client, fake):
    """Version 2 of the header: all types of numbers, long names, many dimensions, ragged fields."""
    fake.segment = {"wide": list(wide())}
    run = client.run(fake.path, ATTACH)
    assert fake.last("attach")["page"] == 2
    fields = run.said("attached")[0]["fields"].split(",")
    assert fields[3:] == [f"{name}:{dtype}:{'x'.join(map(str, shape))}"
                          for name, dtype, _, shape, _, _ in wide()]
    assert [batch["digest"] for batch in run.batches] == [told_of(20, b) for b in run.batches]


FIRST, RAGGED = 128, 128 + 256 * 19  # rows of the image and of the boxes
WIDE_RINGS = {
    "a row of no bytes": header(72, "=I", 0),
    "a row of too few bytes": header(72, "=I", 255),
    "a row of too many bytes": header(72, "=I", 2**32 - 1),
    "more rows than fit": header(36, "=I", 32),
    "no rows": header(36, "=I", 0),
    "a header that ends in a page": header(12, "=I", 8191),
    "a header that is larger than the ring": header(12, "=I", 2**31),
    "no header": header(12, "=I", 0),
    "a name twice": header(FIRST + 512, "=6s", b"label\0"),
    "no name": header(RAGGED, "=6s", b""),
    "too many dimensions": header(FIRST + 84, "=I", 33),
    "a shape that does not fit": header(FIRST + 88, "=I", 2**31),
    "a stride that is none": header(FIRST + 216, "=Q", 7),
    "a field in the header": header(FIRST + 224, "=Q", 4096),
    "a field outside of it": header(FIRST + 224, "=Q", 2**63),
    "ragged, without dimensions": header(RAGGED + 84, "=I", 0),
    "ragged, with slots that have no room for a shape": header(RAGGED + 216, "=Q", 8),
    "ragged, with slots of a size that is no multiple": header(RAGGED + 216, "=Q", 60),
    "ragged, outside of it": header(RAGGED + 216, "=Q", 2**62),
}


@pytest.mark.parametrize("corrupt", WIDE_RINGS.values(), ids=WIDE_RINGS)
def test_wrong_wide_ring(client, fake, corrupt):
    fake.segment = {"wide": list(wide()), "corrupt": corrupt}
    client.start(fake.path, ATTACH).fails("broken")


def test_unknown_kind(client, fake):
    """A field of a newer daemon's kind is left out, and the others are read."""
    fake.segment = {"wide": list(wide()), "corrupt": header(RAGGED + 80, "=I", 77)}
    run = client.run(fake.path, ATTACH)
    assert run.said("attached")[0]["fields"].count(",") == 20


@pytest.mark.parametrize("shape", [(4, 4), (2**64 - 1, 4), (2**62, 4), (1, 5)])
def test_wrong_sample_of_a_ragged_field(client, fake, shape):
    """Its shape is within the slot, which the daemon writes."""
    rows = [row if row[0] != "boxes" else (*row[:5], lambda index: (shape, b""))
            for row in wide()]
    fake.segment = {"wide": rows}
    client.start(fake.path, ATTACH).fails("broken")


def test_ring_without_its_descriptor(client, fake):
    client.needs("fd")

    def bare(peer, fields):
        peer.raw(frame("attached", **fields))
        return b""

    fake.hooks["say_attached"] = bare
    client.start(fake.path, ATTACH).fails("broken")


def test_ring_that_is_gone(client, fake):
    """By path: what a daemon that was killed leaves, its successor removes. It is away, no more."""
    client.needs("path")
    gone = []

    def move(peer, fields):
        if fields["position"] == 12 and not gone:
            fake.hooks["say_ring"] = vanish
            peer.move(16)
            peer.sock.shutdown(2)

    def vanish(peer, fields):
        gone.append(fields["path"])
        os.unlink(fields["path"])

    fake.hooks["say_batch"] = move
    run = client.run(fake.path, ATTACH, transport="path")
    assert [batch["position"] for batch in run.batches] == ["0", "4", "8", "12", "16"]
    assert run.said("end")[0]["reconnects"] == "1" and len(gone) == 1


def test_ring_that_is_gone_again_and_again(client, fake):
    """When it has attached again, too, and though nobody hangs up; given up after reconnect_ms."""
    client.needs("path")

    def die(peer, fields):
        if fields["position"] == 8:
            fake.hooks["say_attached"] = lambda peer, fields: os.unlink(fields["path"])
            peer.sock.shutdown(2)
            return b""

    fake.hooks["say_batch"] = die
    run = client.start(fake.path, ATTACH, transport="path", reconnect_ms=500)
    run.fails("disconnected", "unavailable")
    assert fake.count("attach") >= 2


def test_ring_of_other_samples(client, fake):
    """A RING whose fields are not those of the first."""
    def move(peer, fields):
        if fields["position"] == 8:
            peer.move(16, dtype="uint8")

    fake.hooks["say_batch"] = move
    client.start(fake.path, ATTACH).fails("broken")


PAYLOADS = {row["name"]: row["hex"] for row in GOLDEN["bad"]
            if row["error"] in ("structure", "message") or "twice" in row["name"]
            or "infinite" in row["name"]}
CHOSEN = sorted(PAYLOADS)[::3]  # each client replays all of them in tests of its own


@pytest.mark.parametrize("name", CHOSEN)
def test_bad_frame(client, fake, name):
    """The golden frames that nobody may accept, in place of a batch."""
    fake.hooks["say_batch"] = lambda peer, fields: bytes.fromhex(PAYLOADS[name])
    client.start(fake.path, ATTACH, timeout_ms=1000).fails("broken", "timeout")


def test_wrong_length(client, fake):
    for length in (0, 65537, 2**31, 2**32 - 1):
        fake.hooks["say_batch"] = lambda peer, fields, length=length: struct.pack(">I", length)
        client.start(fake.path, ATTACH).fails("broken")


def test_messages_out_of_place(client, fake):
    """That are good ones elsewhere."""
    for out in (frame("attach", seq=1, dataset={}, batch_size=1), frame("release", lease=1),
                frame("welcome", seq=9, version=1)):
        fake.hooks["say_batch"] = lambda peer, fields, out=out: out
        client.start(fake.path, ATTACH).fails("broken")


@pytest.mark.parametrize("seed", range(8))
def test_fuzzed(client, fake, seed):
    """Bytes of good messages, changed at random: it ends by itself, with an error or with what it
    has got; a signal ends no program."""
    chance = random.Random(seed)

    def say(name):
        def hook(peer, fields):
            data = bytearray(frame(name, **fields))
            if chance.random() < 0.6:
                for _ in range(chance.randint(1, 4)):
                    data[chance.randrange(len(data))] = chance.randrange(256)
            return bytes(data)
        return hook

    for name in ("batch", "end", "progress"):
        assert name in FAKE_NUMBERS
        fake.hooks["say_" + name] = say(name)
    run = client.start(fake.path, {**ATTACH, "epochs": 3}, timeout_ms=1000, reconnect_ms=200)
    code = run.process.wait(60)
    run.thread.join(60)
    assert code in (0, 1), run.words()
