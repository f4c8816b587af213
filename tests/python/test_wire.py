# SPDX-License-Identifier: MIT
"""The codec against the tables, the golden frames, and hostile bytes."""
import json
import random
import struct
import sys
from pathlib import Path

import pytest

from stoker import _tables, _wire, errors

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "golden"))
import tables as header  # noqa: E402

GOLDEN = json.loads((ROOT / "tests" / "golden" / "frames.json").read_text())
OURS = set(_tables.BY_NAME)


def plain(value):
    """A value of frames.json, as the codec gives it."""
    if isinstance(value, dict):
        if list(value) == ["hex"]:
            return bytes.fromhex(value["hex"]).decode("utf-8", "surrogateescape")
        if list(value) == ["uint"]:
            return int(value["uint"])
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def rows(name):
    return [pytest.param(row, id=row["name"]) for row in GOLDEN[name]
            if row.get("message", "ping") in OURS]


def test_tables_are_the_headers():
    """Each message is, field by field, that of proto/tables.h; each error class has its number."""
    tables = header.load()
    theirs = {message.name: message for message in tables.messages}
    for ours in _tables.BY_NUMBER.values():
        message = theirs[ours.name]
        assert ours.number == message.number
        assert ours.fields == {
            field.key: _tables.Field(field.type, None if field.required else field.default,
                                     field.min, field.max if field.type != "runs" else
                                     tables.constants["PROTO_RUNS_MAX"])
            for field in message.fields}
    assert {m.name for m in tables.messages if m.socket != "CONTROL"} - OURS == set()
    for name in ("FRAME_MAX", "DEPTH_MAX", "NODES_MAX", "VERSION"):
        assert getattr(_tables, name) == tables.constants["PROTO_" + name]
    numbers = {error.name: error.number for error in tables.errors}
    for name, kind in (("version", errors.VersionError), ("dataset", errors.DatasetError),
                       ("pipeline", errors.PipelineError), ("memory", errors.MemoryBudgetError),
                       ("token", errors.TokenError), ("permission", errors.NotPermitted),
                       ("argument", errors.ArgumentError), ("stopping", errors.Stopping),
                       ("transport", errors.TransportError),
                       ("too_many_connections", errors.TooManyConnections)):
        assert type(errors.from_message({"code": numbers[name], "name": name, "text": ""})) is kind
    assert errors.TokenError.CODE == numbers["token"]


@pytest.mark.parametrize("row", rows("frames"))
def test_golden_frames(row):
    data, fields = bytes.fromhex(row["hex"]), plain(row["fields"])
    assert _wire.encode(row["message"], **fields) == data
    got = _wire.decode(data[4:])
    assert got.name == row["message"]
    assert {key: got.fields[key] for key in fields} == fields


@pytest.mark.parametrize("row", rows("accepted"))
def test_golden_accepted(row):
    got = _wire.decode(bytes.fromhex(row["hex"])[4:])
    fields = plain(row["fields"])
    assert got.name == row["message"]
    assert {key: got.fields[key] for key in fields} == fields


@pytest.mark.parametrize("row", rows("bad"))
def test_golden_bad(row):
    """FAULTS 38-42, client side."""
    with pytest.raises(errors.ProtocolError):
        _wire.decode(bytes.fromhex(row["hex"])[4:])


@pytest.mark.parametrize("pairs", [15, 16, 95, 96])
def test_a_key_twice_in_a_long_map(pairs):
    """Also where the map's first byte is that of a shorter one with its keys."""
    keys = [b"\xa4type\x1e"] + [b"\xa3%03d\x01" % i for i in range(pairs - 2)] + [b"\xa3000\x02"]
    head = bytes([0x80 + pairs]) if pairs < 16 else b"\xde" + pairs.to_bytes(2, "big")
    with pytest.raises(errors.ProtocolError, match="twice"):
        _wire.decode(head + b"".join(keys))


@pytest.mark.parametrize("row", GOLDEN["lengths"])
def test_lengths(row):
    """FAULTS 41."""
    reader = _wire.FrameReader()
    reader.feed(bytes.fromhex(row["hex"]))
    if row["good"]:
        assert reader.next() is None and reader.partial
    else:
        with pytest.raises(errors.ProtocolError):
            reader.next()


def test_frames_in_pieces():
    stream = b"".join(bytes.fromhex(row["hex"]) for row in GOLDEN["frames"])
    reader, got = _wire.FrameReader(), []
    for i in range(0, len(stream), 7):
        reader.feed(stream[i:i + 7])
        while True:
            frame = reader.next()
            if frame is None:
                break
            got.append(struct.pack(">I", len(frame)) + frame)
    assert b"".join(got) == stream and not reader.partial


def test_mutated_frames_decode_or_raise():
    """FAULTS 48: any bytes raise ProtocolError or nothing."""
    rng = random.Random(1)
    frames = [bytes.fromhex(row["hex"])[4:] for row in GOLDEN["frames"] + GOLDEN["bad"]]
    refused = 0
    for _ in range(20000):
        data = bytearray(rng.choice(frames))
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        data = data[:rng.randint(1, len(data))] if rng.random() < 0.3 else data
        found = decoded(data)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_wire, "_numbers", lambda *_: None)
            assert found == decoded(data)  # the short way is none of its own
        refused += found is None
    assert 0 < refused < 20000


def decoded(data):
    """None if it is refused."""
    try:
        return _wire.decode(bytes(data))
    except errors.ProtocolError:
        return None


@pytest.mark.parametrize("lease", [0, 1, 127, 128, 255, 2**16 - 1, 2**16, 2**32, 2**64 - 1])
def test_release_is_encoded_as_any_message(lease):
    assert _wire.release(lease) == _wire.encode("release", lease=lease)


def test_encode_names_the_field():
    for fields, error in (({"seq": 1, "what": 5}, TypeError), ({"seq": True}, TypeError),
                          ({"seq": -1}, ValueError), ({"seq": 1, "what": "x" * 33}, ValueError),
                          ({"seq": 1, "color": 1}, TypeError)):
        with pytest.raises(error, match="seq|what|color"):
            _wire.encode("list", **fields)
    with pytest.raises(ValueError, match="bytes"):
        _wire.encode("attach", seq=1, batch_size=1, dataset={"path": "x" * 70000})
