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


@pytest.fixture(name="built", autouse=True)
def fixture_built(tmp_path_factory):
    path = tmp_path_factory.mktemp("probe")
    write(path, [(b"a", b"b")])
    if "built without liblmdb" in opened(str(path)):
        pytest.skip("this stokerd was built without liblmdb")


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
    assert "liblmdb" in opened(str(tmp_path / "y.mdb"))
