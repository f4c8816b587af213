# SPDX-License-Identifier: MIT
"""LMDB databases, written by the package `lmdb` where it is installed (python3-lmdb): the values in
the order of the keys, whatever their sizes; what was cut is refused.

STOKER_BUILD names the build folder that holds tests/unit/dataset/shard_tool.
"""

import random

import pytest

from test_dataset_shard_index import hash_of
from test_dataset_shards import opened

lmdb = pytest.importorskip("lmdb")


def write(path, items, **keys):
    with lmdb.open(str(path), map_size=1 << 28, **keys) as database:
        with database.begin(write=True) as writer:
            for key, value in items:
                writer.put(key, value)


@pytest.mark.parametrize("seed", range(6))
def test_values(tmp_path, seed):
    """Those that lie among the keys and those that have pages of their own; rewritten ones, too."""
    draw = random.Random(seed)
    items = {b"%040x" % draw.getrandbits(160): draw.randbytes(draw.choice([1, 90, 2000, 4080, 9000,
                                                                           70000]))
             for _ in range(draw.choice([1, 3, 400]))}
    write(tmp_path, items.items())
    again = draw.sample(sorted(items), len(items) // 3)
    write(tmp_path, [(key, items[key] + b"!") for key in again])
    items.update({key: items[key] + b"!" for key in again})
    write(tmp_path, [(b"__len__", b"5"), (b"__keys__", b"x" * 5000)])
    fingerprint, _, skipped, classes, samples = opened(str(tmp_path))
    assert skipped == 0 and not classes
    assert [(row[0], row[3]) for row in samples] == [
        (f"data.mdb/{key.decode()}", hash_of(items[key]).hex()) for key in sorted(items)]
    assert all(row[1] == bytes(8) for row in samples)
    assert opened(str(tmp_path / "data.mdb"))[0] == fingerprint
    assert opened(str(tmp_path), kind="lmdb")[0] == fingerprint


def test_a_file_and_keys_that_are_no_text(tmp_path):
    write(tmp_path / "x.lmdb", [(b"\0\1", b"p"), (b"\xff", b"q"), (b"ab", b"r")], subdir=False)
    assert [row[0] for row in opened(str(tmp_path / "x.lmdb"))[4]] == [
        "x.lmdb/0001", "x.lmdb/ab", "x.lmdb/ff"]


def test_kept(tmp_path):
    keep = tmp_path / "keep"
    keep.mkdir(mode=0o700)
    write(tmp_path, [(b"%05d" % at, b"x" * at) for at in range(1, 300)])
    first = opened(str(tmp_path), str(keep))
    again = opened(str(tmp_path), str(keep))
    assert len(list(keep.iterdir())) == 1 and again[0] == first[0] and again[4] == first[4]
    write(tmp_path, [(b"00001", b"new")])
    assert opened(str(tmp_path), str(keep))[0] != first[0]


def test_refused(tmp_path):
    (tmp_path / "none").mkdir()
    assert opened(str(tmp_path / "none"), kind="lmdb").startswith("refused")
    write(tmp_path, [(b"%05d" % at, b"x" * 5000) for at in range(300)])
    data = (tmp_path / "data.mdb").read_bytes()
    for size in (0, 100, 5000, 8192, len(data) // 2, len(data) - 4096):
        (tmp_path / "data.mdb").write_bytes(data[:size])
        assert opened(str(tmp_path)).startswith("refused"), size
    write(tmp_path / "empty", [])
    assert "has no samples" in opened(str(tmp_path / "empty"))
    (tmp_path / "y.mdb").write_bytes(b"junk" * 5000)
    assert "no LMDB database" in opened(str(tmp_path / "y.mdb"))


def test_databases_within_and_lists_of_values(tmp_path):
    """They are refused in words, not read as something else."""
    with lmdb.open(str(tmp_path / "named"), map_size=1 << 20, max_dbs=2) as database:
        inner = database.open_db(b"inner")
        with database.begin(write=True) as writer:
            writer.put(b"key", b"value", db=inner)
    assert "databases within" in opened(str(tmp_path / "named"))
    write(tmp_path / "list", [(b"key", b"value")])
    data = bytearray((tmp_path / "list" / "data.mdb").read_bytes())
    for head in (0, 4096):
        data[head + 92] |= 4  # MDB_DUPSORT, which the package does not set here
    (tmp_path / "list" / "data.mdb").write_bytes(data)
    assert "several values" in opened(str(tmp_path / "list"))


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_that_was_written_to_often(tmp_path, seed):
    """Keys of many lengths come, go and get other values in many transactions: a tree of several
    levels, with freed pages between. As the package reads it."""
    draw = random.Random(seed)
    keys = [draw.randbytes(draw.choice([1, 8, 40, 300, 500])) for _ in range(2000)]
    with lmdb.open(str(tmp_path), map_size=1 << 28, writemap=seed % 2 == 1) as database:
        for _ in range(12):
            with database.begin(write=True) as writer:
                for key in draw.sample(keys, 500):
                    if draw.random() < 0.4:
                        writer.delete(key)
                    else:
                        writer.put(key, draw.randbytes(draw.choice([1, 17, 800, 3000, 12000])))
        with database.begin() as reader:
            want = [hash_of(value).hex() for _, value in reader.cursor()]
            assert database.stat()["depth"] >= 3
    assert [row[3] for row in opened(str(tmp_path))[4]] == want


def test_flipped_bits(tmp_path):
    """Of the pages of the tree: the database is refused, or has all its keys, of which one at most
    has another value than was written."""
    draw = random.Random(1)
    items = {b"%06d" % at: bytes([at % 251]) * draw.choice([60, 700, 5000]) for at in range(200)}
    write(tmp_path / "a", items.items())
    data = (tmp_path / "a" / "data.mdb").read_bytes()
    sums = {hash_of(value).hex() for value in items.values()}
    (tmp_path / "b").mkdir()
    tree = [page for page in range(0, len(data), 4096) if data[page + 10] in (1, 2, 8)
            and int.from_bytes(data[page:page + 8], "little") == page // 4096]
    refused = 0
    for _ in range(150):
        damaged = bytearray(data)
        at = draw.choice(tree) + draw.choice([draw.randrange(8, 16), draw.randrange(16, 160)])
        damaged[at] ^= 1 << draw.randrange(8)
        (tmp_path / "b" / "data.mdb").write_bytes(damaged)
        answer = opened(str(tmp_path / "b"))
        refused += isinstance(answer, str)
        if not isinstance(answer, str):
            assert len(answer[4]) == len(items), at
            assert sum(row[3] not in sums for row in answer[4]) <= 1, at
    assert refused > 25
