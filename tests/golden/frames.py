#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write frames.json from proto/tables.h (format: README.md), with a msgpack that is not the C one.

frames.py           compare: exit 1 if the file is not what the tables give
frames.py --write   write it
"""

import json
import struct
import sys
from pathlib import Path

try:
    import msgpack
except ModuleNotFoundError:
    sys.exit(f"{sys.argv[0]}: {sys.executable} has no msgpack: use Debian's /usr/bin/python3 with "
             "the package python3-msgpack")
import tables

FILE = Path(__file__).with_name("frames.json")
TABLES = tables.load()
FRAME_MAX = TABLES.constants["PROTO_FRAME_MAX"]
DEPTH_MAX = TABLES.constants["PROTO_DEPTH_MAX"]
NUMBER = {message.name: message.number for message in TABLES.messages}

TREE = {
    "path": "/data/größe",
    "nil": None,
    "yes": True,
    "no": False,
    "zero": 0,
    "minus": -1,
    "lowest": -(2**63),
    "highest": 2**64 - 1,
    "half": 0.5,
    "list": [1, [2, [3]], {}],
    "bytes": b"\xff\xfe/a\x00b",
    "long": "x" * 300,
}
# Realistic values, where a made-up one would mislead a reader of the file.
VALUES = {
    "client": "example 1.0",
    "daemon": "stokerd 0.1.0",
    "capabilities": ["path", "fd"],
    "dataset": {"path": "/data/train", "kind": "folder"},
    "transforms": [
        {"name": "RandomResizedCrop", "size": 224, "scale": [0.25, 1.0]},
        {"name": "RandomHorizontalFlip", "p": 0.5},
    ],
    "dtype": "uint8",
    "layout": "NHWC",
    "bad_samples": "substitute",
    "last_batch": "drop",
    "transport": "path",
    "path": b"/dev/shm/stoker-\xff",
    "runs": [[1020, 4], [0, 60]],
    "values": {"samples_decoded_total": 123456, "rate": 1201.5},
    "items": [{"stream": 1, "job": "a"}, {"stream": 2, "job": "b"}],
    "expect_dataset": "00112233445566778899aabbccddeeff",
    "expect_pipeline": "ffeeddccbbaa99887766554433221100",
    "dataset_fingerprint": "00112233445566778899aabbccddeeff",
    "pipeline_hash": "ffeeddccbbaa99887766554433221100",
}


def pack(value):
    return msgpack.packb(value, use_bin_type=True)


def pack_canonical(value):
    """As pack(), with bytes as str: a text is a str on the wire, whatever its bytes."""
    if isinstance(value, dict):
        return map_head(len(value)) + b"".join(
            pack_canonical(k) + pack_canonical(v) for k, v in value.items()
        )
    if isinstance(value, list):
        head = pack([0] * len(value))[: -len(value) or None]
        return head + b"".join(pack_canonical(item) for item in value)
    if isinstance(value, bytes):
        return msgpack.packb(
            value.decode("utf-8", "surrogateescape"), unicode_errors="surrogateescape"
        )
    return pack(value)


def map_head(count):
    return bytes([0x80 | count]) if count < 16 else b"\xde" + struct.pack(">H", count)


def framed(payload):
    return struct.pack(">I", len(payload)) + payload


def to_json(value):
    """What JSON cannot hold: bytes that are not UTF-8, integers beyond 63 bits."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, int) and value >= 2**63:
        return {"uint": str(value)}
    return value


def made_up(message, index, field):
    if field.key in VALUES:
        return VALUES[field.key]
    if field.type == "uint":
        return min(field.max, field.min + 100 * message.number + index + 1)
    if field.type == "boolean":
        return not field.default
    return f"{field.key} of {message.name}".ljust(field.min)[: field.max]


def lowest(field):
    return {
        "uint": lambda: field.min,
        "boolean": lambda: False,
        "text": lambda: "a" * field.min,
        "runs": lambda: [[0, 1]] * field.min,
        "any": lambda: {},
    }[field.type]()


def highest(field):
    return {
        "uint": lambda: field.max,
        "boolean": lambda: True,
        "text": lambda: "z" * min(field.max, 300),
        "runs": lambda: [[2**32 - 1, 2**32 - 1]] * field.max,
        "any": lambda: TREE,
    }[field.type]()


def is_default(field, value):
    if field.required:
        return False
    empty = {"uint": field.default, "boolean": bool(field.default), "text": "", "any": None}
    return value == empty[field.type] and type(value) is type(empty[field.type])


def frame(name, message, fields):
    said = {f.key: fields[f.key] for f in message.fields if f.key in fields}
    said = {f.key: said[f.key] for f in message.fields
            if f.key in said and not is_default(f, said[f.key])}
    return {
        "name": f"{message.name}: {name}",
        "message": message.name,
        "hex": framed(pack_canonical({"type": message.number, **said})).hex(),
        "fields": to_json(said),
    }


def frames():
    for message in TABLES.messages:
        full = {f.key: made_up(message, i, f) for i, f in enumerate(message.fields)}
        yield frame("all fields", message, full)
        yield frame("required fields", message,
                    {f.key: full[f.key] for f in message.fields if f.required})
        yield frame("lowest", message, {f.key: lowest(f) for f in message.fields})
        yield frame("highest", message, {f.key: highest(f) for f in message.fields})
        if message.name == "attach":
            yield frame("each key of a dataset and a sampler", message, {
                **{f.key: lowest(f) for f in message.fields if f.required},
                "dataset": {key.key: f"{key.key} of a dataset" for key in TABLES.dataset},
                "sampler": {key.key: f"{key.key} of a sampler" for key in TABLES.sampler}})


def accepted():
    """Frames that an encoder does not write, but a decoder must accept."""
    ping = {"seq": 7}

    def row(name, message, payload, fields):
        return {"name": name, "message": message, "hex": framed(payload).hex(),
                "fields": to_json(fields)}

    yield row("an unknown key", "ping", pack({"type": 30, "seq": 7, "colour": [1, {"a": 2}]}), ping)
    yield row("seq first, type last", "ping", pack({"seq": 7, "type": 30}), ping)
    yield row("an unknown key with a zero byte", "ping",
              pack({"type": 30, "seq": 7, "seq\0": "x"}), ping)
    yield row("an unknown key that is no UTF-8", "ping",
              b"\x83\xa4type\x1e\xa3seq\x07\xa2\xff\xfe\x01", ping)
    yield row("map16", "ping", b"\xde\0\2\xa4type\x1e\xa3seq\x07", ping)
    yield row("map32", "ping", b"\xdf\0\0\0\2\xa4type\x1e\xa3seq\x07", ping)
    yield row("uint64 of a small number", "ping",
              b"\x82\xa4type\x1e\xa3seq\xcf\0\0\0\0\0\0\0\7", ping)
    yield row("int8 of a positive number", "ping", b"\x82\xa4type\xd0\x1e\xa3seq\xd0\x07", ping)
    yield row("str32 keys", "ping",
              b"\x82\xdb\0\0\0\4type\x1e\xd9\3seq\x07", ping)
    yield row("bin for a text", "hello",
              pack({"type": 1, "seq": 1, "version_min": 1, "version_max": 1, "client": b"c"}),
              {"seq": 1, "version_min": 1, "version_max": 1, "client": "c"})
    yield row("defaults said aloud", "attach",
              pack({"type": 10, "seq": 1, "dataset": {}, "transforms": None, "batch_size": 8,
                    "world": 1, "shuffle": True, "subset_stop": 2**64 - 1, "inflight": 3,
                    "dtype": ""}),
              {"seq": 1, "dataset": {}, "batch_size": 8})
    yield row("float32 within a tree", "report",
              b"\x83\xa4type\x20\xa3seq\1\xa6values\xca\x3f\0\0\0", {"seq": 1, "values": 0.5})
    deepest = []
    for _ in range(DEPTH_MAX - 2):
        deepest = [deepest]
    yield row("as deep as may be", "report",
              pack({"type": 32, "seq": 1, "values": deepest}), {"seq": 1, "values": deepest})


def bad_structure():
    deep = []
    for _ in range(DEPTH_MAX - 1):
        deep = [deep]
    seq = b"\xa4type\x1e\xa3seq\x07"
    for name, payload in {
        "a frame that ends in its map": b"\x82\xa4type\x1e\xa3seq",
        "bytes behind the map": b"\x82" + seq + b"\xc0",
        "two maps": pack({"type": 30, "seq": 1}) * 2,
        "nil": b"\xc0",
        "a number": b"\x07",
        "a text": b"\xa5hello",
        "a list": b"\x92\x1e\x07",
        "the byte that msgpack never uses": b"\x83" + seq + b"\xa1a\xc1",
        "one level too deep": pack({"type": 32, "seq": 1, "values": deep}),
        "nested without end": b"\x91" * 60,
        "array32 of 64 million": b"\xdd\x04\x00\x00\x00",
        "array32 of 64 million in a map": b"\x83" + seq + b"\xa1a\xdd\x04\x00\x00\x00",
        "array16 of 65535": b"\xdc\xff\xff",
        "array32 of 64 million, 30 deep": b"\xdd\x04\x00\x00\x00" * 30,
        "map32 of 4 billion": b"\xdf\xff\xff\xff\xff",
        "map16 of 65535": b"\xde\xff\xff",
        "str32 of 4 billion": b"\xdb\xff\xff\xff\xff",
        "str32 of 4 billion as key": b"\x83" + seq + b"\xdb\xff\xff\xff\xff",
        "str8 with a byte too few": b"\xd9\x03ab",
        "bin32 of 4 billion": b"\xc6\xff\xff\xff\xff",
        "fixext1": b"\x83" + seq + b"\xa1a\xd4\x01\x00",
        "fixext16": b"\x83" + seq + b"\xa1a\xd8\x01" + bytes(16),
        "ext8": b"\x83" + seq + b"\xa1a\xc7\x01\x01\x00",
        "ext32 of 4 billion": b"\x83" + seq + b"\xa1a\xc9\xff\xff\xff\xff\x01",
        "uint64 cut short": b"\x82\xa4type\x1e\xa3seq\xcf\0\0\0",
        "GET / HTTP/1.1": b"GET / HTTP/1.1\r\n\r\n",
        "SSH-2.0": b"SSH-2.0-OpenSSH_9.2\r\n",
        "a TLS hello": bytes.fromhex("16030100a5010000a10303"),
    }.items():
        yield name, payload, "structure", 0


def bad_fields():
    def attach(**changed):
        fields = {"type": 10, "seq": 9, "dataset": {"path": "/d"}, "batch_size": 8, **changed}
        return pack({key: value for key, value in fields.items() if value is not ...})

    def batch(runs):
        return pack({"type": 14, "lease": 1, "epoch": 0, "position": 0, "count": 1, "runs": runs,
                     "next_epoch": 0, "next_position": 1})

    nan, inf = float("nan"), float("inf")
    seq = b"\xa4type\x1e\xa3seq\x07"
    yield "no type", pack({"seq": 7}), "field", 7
    yield "an empty map", b"\x80", "field", 0
    yield "type is a text", pack({"type": "ping", "seq": 7}), "field", 7
    yield "type is negative", pack({"type": -1, "seq": 7}), "field", 7
    yield "no such message", pack({"type": 29, "seq": 7}), "message", 7
    yield "a message number beyond 32 bits", pack({"type": 2**32 + 30, "seq": 7}), "message", 7
    yield "seq is missing", pack({"type": 30}), "field", 0
    yield "seq is a text", pack({"type": 30, "seq": "7"}), "field", 0
    yield "seq is too large", pack({"type": 30, "seq": 2**32}), "field", 0
    yield "seq is there twice", b"\x83" + seq + b"\xa3seq\x07", "field", 7
    yield "type is there twice", b"\x83" + seq + b"\xa4type\x1e", "field", 7
    yield "an unknown key is there twice", b"\x84" + seq + b"\xa1a\x01\xa1a\x01", "field", 7
    yield "the same key as str and as bin", b"\x84" + seq + b"\xa1a\x01\xc4\x01a\x01", "field", 7
    yield "a twin within a tree", \
        b"\x83\xa4type\x20\xa3seq\x07\xa6values\x82\xa1a\x01\xa1a\x01", "field", 7
    yield "a number as key", b"\x83" + seq + b"\x05\x01", "field", 7
    yield "nil as key", b"\x83" + seq + b"\xc0\x01", "field", 7
    yield "a list as key", b"\x83" + seq + b"\x91\x01\x01", "field", 7
    yield "not a number", attach(dataset={"path": "/d", "x": nan}), "field", 9
    yield "infinite", attach(transforms=[{"name": "Resize", "size": inf}]), "field", 9
    yield "infinite, in an unknown key", attach(extra=-inf), "field", 9
    yield "float32 infinite", b"\x83" + seq + b"\xa1a\xca\x7f\x80\0\0", "field", 7
    yield "batch_size is missing", attach(batch_size=...), "field", 9
    yield "dataset is missing", attach(dataset=...), "field", 9
    yield "batch_size 0", attach(batch_size=0), "field", 9
    yield "batch_size above the limit", attach(batch_size=1048577), "field", 9
    yield "batch_size 8.0", attach(batch_size=8.0), "field", 9
    yield "batch_size -8", attach(batch_size=-8), "field", 9
    yield "batch_size true", attach(batch_size=True), "field", 9
    yield "batch_size nil", attach(batch_size=None), "field", 9
    yield "shuffle 1", attach(shuffle=1), "field", 9
    yield "job too long", attach(job="j" * 256), "field", 9
    yield "dtype is a list", attach(dtype=["uint8"]), "field", 9
    yield "no runs", batch([]), "field", 0
    yield "five runs", batch([[0, 1]] * 5), "field", 0
    yield "runs are a map", batch({"0": 1}), "field", 0
    yield "a run of three", batch([[0, 1, 2]]), "field", 0
    yield "a run that is a number", batch([3]), "field", 0
    yield "a run of a negative slot", batch([[-1, 1]]), "field", 0
    yield "a run of a slot beyond 32 bits", batch([[2**32, 1]]), "field", 0
    yield "a run of no slots", batch([[0, 0]]), "field", 0


def bad():
    for name, payload, error, seq in [*bad_structure(), *bad_fields()]:
        yield {"name": name, "hex": framed(payload).hex(), "error": error, "seq": seq}


def lengths():
    """The first four bytes of a stream, and whether a frame may begin with them."""
    for length in (0, 1, 2**16 - 1, FRAME_MAX, FRAME_MAX + 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1):
        yield {"hex": struct.pack(">I", length).hex(), "good": 0 < length <= FRAME_MAX}


def render():
    """One row per line, so that a diff shows each change."""
    parts = []
    for key, rows in {"frames": frames(), "accepted": accepted(), "bad": bad(),
                      "lengths": lengths()}.items():
        lines = ",\n".join("  " + json.dumps(row) for row in rows)
        parts.append(f' "{key}": [\n{lines}\n ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main():
    if sys.argv[1:] == ["--write"]:
        FILE.write_text(render())
        return 0
    if FILE.read_text() == render():
        return 0
    print(f"{FILE} is not what proto/tables.h gives: run frames.py --write", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
