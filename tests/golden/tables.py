# SPDX-License-Identifier: MIT
"""proto/tables.h and proto/rows.h as Python data: for the golden frames, the tables of PROTOCOL.md
and tests of what the daemon tells."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Field:
    type: str  # uint, boolean, text, runs, any
    key: str
    required: bool
    default: int
    min: int
    max: int
    help: str
    part_of: str  # BYTES, PLACE, STREAM or READER in ATTACH, else F


@dataclass(frozen=True)
class Message:
    number: int
    name: str
    sender: str  # CLIENT, DAEMON
    socket: str  # DATA, CONTROL, BOTH
    since: int
    fields: tuple


@dataclass(frozen=True)
class Error:
    number: int
    name: str
    help: str
    remedy: str


@dataclass(frozen=True)
class Counter:
    name: str
    kind: str  # TOTAL, GAUGE
    help: str


@dataclass(frozen=True)
class Key:
    """A key of a dataset's or a sampler's map."""
    type: str  # PATH, EITHER or TEXT; K of a sampler
    key: str
    kinds: tuple  # that take it; empty: all
    help: str


@dataclass(frozen=True)
class Column:
    type: str  # uint, boolean, number, text, hex, three, value, entries
    key: str
    maybe: bool  # left out where there is nothing to say
    unit: str  # NONE, BYTES, ...
    help: str


@dataclass(frozen=True)
class Row:
    name: str
    where: str  # what it is an item or the values of
    columns: tuple


@dataclass(frozen=True)
class Choice:
    word: str
    help: str


@dataclass(frozen=True)
class Tables:
    constants: dict
    messages: tuple
    errors: tuple
    counters: tuple
    rows: tuple
    dataset: tuple
    sampler: tuple
    dtypes: tuple  # (name, bytes of a number)
    choices: dict  # of a text of ATTACH, by its key; the first is the default
    page: int  # newest version of a ring's header


def _body(source, macro):
    match = re.search(rf"^#define {macro}\([\w, ]+\)(.*)$", source, re.M)
    if not match:
        raise ValueError(f"tables.h has no {macro}")
    return match.group(1)


def _rows(body):
    """Each row's macro and its arguments: words and numbers as they are, texts without quotes."""
    rows = []
    for match in re.finditer(r'\b([A-Z]+)\(((?:[^()"]|"[^"]*")*)\)', body):
        args = re.sub(r'"\s+"', "", match.group(2))  # texts that go on in the next line
        cells = re.findall(r'"([^"]*)"|([^\s,]+)', args)
        rows.append([match.group(1), *(text or word for text, word in cells)])
    return rows


def _source(path):
    return re.sub(r"\\\n", " ", Path(path).read_text())


def _kinds_of_rows(source):
    for _, upper, name, where in _rows(_body(source, "ROW_TABLE")):
        yield Row(name, where, tuple(
            Column(type, key, need == "MAYBE", unit, text)
            for _, type, key, need, unit, _, text in _rows(_body(source, f"{upper}_ROW"))
        ))


def load(path=ROOT / "proto" / "tables.h", rows=ROOT / "proto" / "rows.h",
         keys=ROOT / "proto" / "keys.h", counters=ROOT / "proto" / "counters.h",
         layout=ROOT / "proto" / "ring_layout.h"):
    layout = _source(layout)
    source, source_of_keys = _source(path) + _source(counters), _source(keys)
    constants = {
        name: int(value) for name, value in re.findall(r"^#define (\w+) (\d+)u?\b", source, re.M)
    }

    def number(word):
        return constants[word] if word in constants else int(word)

    def fields(name):
        body = _body(source, "ATTACH_TABLE" if name == "ATTACH" else f"{name}_FIELDS")
        return tuple(
            Field(type, key, need != "OPTIONAL", number(default), number(low), number(high), text,
                  part_of)
            for part_of, type, key, need, default, low, high, text in _rows(body)
        )

    def keys_of(macro):
        return tuple(Key(type, key, tuple(kinds.split()), text)
                     for type, key, kinds, text in _rows(_body(source_of_keys, macro)))

    return Tables(
        constants,
        tuple(
            Message(int(n), name, sender, socket, int(since), fields(upper))
            for _, n, upper, name, sender, socket, since in _rows(_body(source, "MESSAGE_TABLE"))
        ),
        tuple(
            Error(int(n), name, text, remedy)
            for _, n, _, name, text, remedy in _rows(_body(source, "ERROR_TABLE"))
        ),
        tuple(
            Counter(name, kind, text)
            for _, _, name, kind, _, text in _rows(_body(source, "COUNTER_TABLE"))
        ),
        tuple(_kinds_of_rows(_source(rows))),
        keys_of("DATASET_TABLE"),
        keys_of("SAMPLER_TABLE"),
        tuple((name, int(size)) for _, name, size in _rows(_body(layout, "DTYPE_TABLE"))),
        {name.lower(): tuple(Choice(word, text) for _, word, text in _rows(body))
         for name, body in re.findall(r"^#define (\w+)_CHOICES\(W\)(.*)$", source, re.M)},
        int(re.search(r"^#define SEGMENT_VERSION (\d+)", layout, re.M).group(1)),
    )
