#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables in proto/PROTOCOL.md are what proto/tables.h, proto/keys.h, proto/rows.h,
proto/ring_layout.h and the registry of transforms say.

protocol.py           compare: exit 1 and a diff if they differ
protocol.py --write   put the tables in

The registry is that of the programs in build/, or in $STOKER_BUILD.
"""

import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "golden"))
import frames  # noqa: E402
import tables  # noqa: E402

PAGE = ROOT / "proto" / "PROTOCOL.md"
SEGMENT = ROOT / "proto" / "ring_layout.h"
BUILD = Path(os.environ.get("STOKER_BUILD") or ROOT / "build")
REGISTRY = BUILD / "tests" / "unit" / "transform" / "registry_rows"
TABLES = tables.load()

LIMITS = {
    "PROTO_VERSION": "version of the protocol on this page",
    "PROTO_FRAME_MAX": "bytes of the map in a frame",
    "PROTO_DEPTH_MAX": "levels of nested lists and maps, the outermost included",
    "PROTO_NODES_MAX": "values in a frame",
    "PROTO_RUNS_MAX": "runs of slots in a batch",
}


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"


def number(value):
    """2^32-1 is easier to read than its digits."""
    for bits in (32, 64):
        if value == 2**bits - 1:
            return f"2^{bits}-1"
    return str(value)


def default(field):
    if field.required:
        return "required"
    return {"uint": number(field.default), "boolean": str(bool(field.default)).lower(),
            "text": '""', "any": "nil", "runs": "none"}[field.type]


def span(field):
    if field.type in ("boolean", "any"):
        return ""
    if field.min == field.max:
        return number(field.min)
    return f"{number(field.min)} to {number(field.max)}"


def messages():
    way = {"CLIENT": "client", "DAEMON": "daemon"}
    yield "### Messages"
    yield ""
    yield from table(
        ("number", "message", "sent by", "socket", "since"),
        ((m.number, f"[{m.name.upper()}](#{m.name})", way[m.sender], m.socket.lower(), m.since)
         for m in TABLES.messages))
    for message in TABLES.messages:
        yield ""
        yield f"#### {message.name.upper()}"
        yield ""
        part = message.name == "attach"
        yield from table(
            ("key", "type", "range", "default", *["part of"] * part, "meaning"),
            ((f"`{f.key}`", f.type, span(f), default(f), *[f.part_of.lower()] * part, f.help)
             for f in message.fields))


def errors():
    return table(("code", "name", "meaning"),
                 ((e.number, f"`{e.name}`", e.help) for e in TABLES.errors))


def counters():
    return table(("counter", "kind", "meaning"),
                 ((f"`{c.name}`", c.kind.lower(), c.help) for c in TABLES.counters))


def dataset():
    types = {"PATH": "path", "EITHER": "path or name", "TEXT": "text"}
    return table(("key", "type", "kinds", "meaning"),
                 ((f"`{key.key}`", types[key.type], ", ".join(key.kinds) or "all", key.help)
                  for key in TABLES.dataset))


def sampler():
    return table(("key", "samplers", "meaning"),
                 ((f"`{key.key}`", ", ".join(key.kinds), key.help) for key in TABLES.sampler))


UNITS = {"NONE": "", "RATE": "a second", "SHARE": "0 to 1", "REFERENCE": ""}


def rows():
    """A table a kind of row. stokerctl shows an empty text as "-"."""
    def columns(row):
        for column in row.columns:
            key = "..." if column.type == "entries" else f"`{column.key}`"
            yield (key, {"entries": "", "three": "three floats", "number": "float"}.get(
                column.type, column.type), UNITS.get(column.unit, column.unit.lower()),
                "may be absent" if column.maybe else "", column.help.replace("-: ", "empty: "))

    for row in TABLES.rows:
        yield ""
        yield f"#### {row.where}"
        yield ""
        yield from table(("key", "type", "unit", "", "meaning"), columns(row))


def limits():
    missing = {name for name in TABLES.constants if name.startswith("PROTO_")} ^ LIMITS.keys()
    if missing:
        raise SystemExit(f"protocol.py has no words for, or tables.h has no: {sorted(missing)}")
    return table(("limit", "", "of"),
                 ((name, TABLES.constants[name], text) for name, text in LIMITS.items()))


def transforms():
    """A row a parameter. Its place counts from 0 in its transform, which is named once."""
    def rows():
        before, place = "", 0
        for line in subprocess.check_output([REGISTRY], text=True).splitlines():
            name, *parameter = line.split("\t")
            place = place + 1 if name == before else 0
            shown = "" if name == before else f"`{name}`"
            before = name
            if parameter:
                yield (shown, place, f"`{parameter[0]}`", *parameter[1:])
            else:
                yield (shown, "", "", "", "", "")

    return table(("transform", "place", "parameter", "values", "range", "default"), rows())


# The layout of the structs, by C's rules for natural alignment.
SIZES = {"char": 1, "uint8_t": 1, "uint32_t": 4, "uint64_t": 8}


def layout(name):
    source = SEGMENT.read_text()
    constants = {k: int(v) for k, v in re.findall(r"^#define (SEGMENT_\w+) (\d+)$", source, re.M)}
    body = re.search(rf"^struct {name} {{\n(.*?)^}};", source, re.M | re.S).group(1)
    at = 0
    for kind, key, count, note in re.findall(
            r"^\t((?:struct )?\w+) (\w+)(?:\[(\w+)\])?;[ \t]*(?:/\* (.*?) \*/)?$", body, re.M):
        count = int(constants.get(count, count or 1))
        nested = list(layout(kind[7:])) if kind.startswith("struct ") else None
        size = nested[-1][0] + nested[-1][1] if nested else SIZES[kind]
        align = 8 if nested else size
        at = -(-at // align) * align
        yield at, size * count, kind, key, count, note
        at += size * count


def segment(name):
    def rows():
        for at, size, kind, key, count, note in layout(name):
            yield at, size, f"`{key}`", kind + (f"[{count}]" if count > 1 else ""), note

    return table(("offset", "bytes", "member", "type", "meaning"), rows())


def shown(value):
    return f'"{value}"' if isinstance(value, str) else str(value)


def dump(title, name, fields):
    """One frame, a line for each thing in it."""
    pairs = {"type": frames.NUMBER[name], **fields}
    payload = frames.pack_canonical(pairs)
    yield title
    yield ""
    yield "```"
    yield f"{len(payload).to_bytes(4, 'big').hex(' '):<44}length: {len(payload)}"
    yield f"{frames.map_head(len(pairs)).hex(' '):<44}a map of {len(pairs)}"
    for key, value in pairs.items():
        yield f"{frames.pack_canonical(key).hex(' '):<44}\"{key}\""
        note = f" ({name.upper()})" if key == "type" else ""
        yield f"  {frames.pack_canonical(value).hex(' '):<42}{shown(value)}{note}"
    yield "```"
    yield ""


def example():
    yield ""
    yield from dump("The client says hello:", "hello",
                    {"seq": 1, "version_min": 1, "version_max": 1, "client": "demo"})
    yield from dump("The daemon announces 64 samples, the slots 1000 to 1023 and 0 to 39:", "batch",
                    {"lease": 17, "epoch": 0, "position": 1000, "count": 64,
                     "runs": [[1000, 24], [0, 40]], "next_epoch": 0, "next_position": 1064})
    yield from dump("The client has used them:", "release", {"lease": 17})


PARTS = {
    "example": example,
    "segment_header": lambda: segment("segment_header"),
    "segment_narrow": lambda: segment("segment_narrow"),
    "segment_field": lambda: segment("segment_field"),
    "dtypes": lambda: table(("type", "bytes"),
                            ((f"`{name}`", size) for name, size in TABLES.dtypes)),
    "limits": limits,
    "dataset": dataset,
    "sampler": sampler,
    "transforms": transforms,
    "messages": messages,
    "errors": errors,
    "counters": counters,
    "rows": rows,
}


def render(page):
    def part(match):
        lines = "\n".join(PARTS[match.group(1)]())
        return f"<!-- generated: {match.group(1)} -->\n{lines}\n<!-- end -->"

    found = re.findall(r"<!-- generated: (\w+) -->", page)
    if sorted(found) != sorted(PARTS):
        raise SystemExit(f"{PAGE} has the parts {found}, not {list(PARTS)}")
    return re.sub(r"<!-- generated: (\w+) -->\n.*?<!-- end -->", part, page, flags=re.S)


def main():
    page = PAGE.read_text()
    new = render(page)
    for part in PARTS:
        spoilt = re.sub(rf"(<!-- generated: {part} -->\n.*?)(<!-- end -->)", r"\1wrong\n\2", page,
                        flags=re.S)
        if render(spoilt) == spoilt:
            raise SystemExit(f"protocol.py cannot tell wrong {part} from right ones")
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(new)
    elif new != page:
        sys.stderr.writelines(difflib.unified_diff(
            page.splitlines(True), new.splitlines(True), str(PAGE), "what the sources say", n=0))
        print("run tests/style/protocol.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
