# SPDX-License-Identifier: MIT
"""What LISTING and REPORT carry is what proto/rows.h says: each key is named there, has its type,
and stands in its order."""

import json
import sys

import pytest

from harness import SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "golden"))
import tables  # noqa: E402  pylint: disable=wrong-import-position

TABLES = tables.load()
ROWS = {row.name: row.columns for row in TABLES.rows}
TRANSFORMS = [{"name": "Resize", "size": [8, 8]}]
WHOLE = [{"name": "CenterCrop", "size": 1}]


def is_of(kind, value):
    """Is it a value of this type of a column?"""
    if kind == "three":
        return len(value) == 3 and all(type(number) is float for number in value)
    if kind == "hex":
        return len(value) == 32 and not value.strip("0123456789abcdef")
    return kind == "value" or type(value) is {"uint": int, "boolean": bool, "number": float,
                                              "text": str}[kind]


def check(name, row, entries=()):
    """The map is a row of this kind; `entries`: the keys that another table names."""
    left = list(row)
    for column in ROWS[name]:
        if column.type == "entries":
            assert left[:len(entries)] == list(entries)
            del left[:len(entries)]
        elif not column.maybe or left[:1] == [column.key]:
            assert left.pop(0) == column.key
            value = row[column.key]
            assert is_of(column.type, value) and value != -1, (column.key, value)
    assert not left, f"no column of {name} has these keys"


def values_of(peer, what, **fields):
    answer = peer.request(what, **fields)
    assert answer.name == "report", answer
    return answer.fields["values"]


@pytest.fixture(name="served")
def fixture_served(spawn, photos, tmp_path):
    """A daemon with something in each of its lists."""
    folder = tmp_path / "dataset" / "class"
    folder.mkdir(parents=True)
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 and no more")
    daemon = spawn(cache_memory="64M", metrics_socket=tmp_path / "metrics")
    with daemon.connect() as bad, daemon.connect() as plain, daemon.connect() as sampled:
        bad.attach(folder.parent, transforms=TRANSFORMS)
        bad.expect("bad_sample")
        plain.attach(photos, transforms=TRANSFORMS, epochs=0)
        plain.expect("batch")
        answer = sampled.attach(photos, dataset={"path": str(photos), "kind": "folder"},
                                transforms=TRANSFORMS, sampler={"name": "balanced"},
                                views=2, epochs=0)
        assert answer.name == "attached", answer
        yield daemon


def test_lists(served):
    streams = served.list("streams")
    assert len(streams) == 3
    for row in streams:
        check("stream", row, ("path", "kind") if "kind" in row else ("path",))
    sampled, = (row for row in streams if "kind" in row)
    with served.connect(control=True) as peer:
        answer = peer.request("list", what="description", id=sampled["stream"])
    row, = answer.fields["items"]
    check("description", row)
    assert row["digest"] == sampled["digest"]
    assert "sampling_hash" in sampled and "sampling_hash" not in streams[0]
    for what, name in (("readers", "reader"), ("datasets", "dataset"), ("cache", "cache"),
                       ("memory", "memory"), ("bad", "bad"), ("page", "page")):
        rows = served.list(what)
        assert rows
        for row in rows:
            check(name, row)


def test_reports(served, photos):
    check("status", served.status(), [counter.name for counter in TABLES.counters])
    dataset = {"path": str(photos)}
    with served.connect(control=True) as peer:
        reload = values_of(peer, "reload")
        check("reload", reload)
        for change in reload["changes"]:
            check("change", change)
        check("index", values_of(peer, "index", dataset=dataset))
        check("warm", values_of(peer, "index", dataset=dataset, transforms=WHOLE))
        check("fit", values_of(peer, "fit", dataset=dataset, transforms=TRANSFORMS))


def test_changes_of_a_reload(spawn, tmp_path):
    file = tmp_path / "stokerd.conf"
    file.write_text("[stokerd]\nworkers = 2\n")
    daemon = spawn(config=file)
    daemon.set("workers", "3")
    file.write_text("[stokerd]\nworkers = 1\nmax-connections = 50\n")
    with daemon.connect(control=True) as peer:
        changes = values_of(peer, "reload")["changes"]
    assert {change["name"] for change in changes} == {"max-connections", "workers"}
    for change in changes:
        check("change", change)


def test_json_of_stokerctl(served):
    """The same keys in the same order."""
    for what, name in (("readers", "reader"), ("memory", "memory")):
        for row in json.loads(served.ctl("--json", what).stdout)[what]:
            check(name, row)
