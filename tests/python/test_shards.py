# SPDX-License-Identifier: MIT
"""Shards that stoker.write_shards() wrote, read by the daemon as the folder that they were made of,
by tarfile, and by webdataset where it is installed."""
import glob
import json
import os
import tarfile

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")

import stoker
from stoker import shards
from test_datasets import epoch
from real_daemon import binary

needs_daemon = pytest.mark.skipif(binary() is None, reason="no stokerd was built")
PLAIN = {"batch_size": 4, "dtype": "uint8", "layout": "NHWC", "seed": 3,
         "transforms": [stoker.RandomCrop(8)]}


@needs_daemon
def test_a_folder_in_shards(near, folder, tmp_path):
    """The same pictures in the same order, whatever the order is asked to be; labels as written."""
    paths = stoker.write_shards(folder, str(tmp_path / "a-%03d.tar"), samples_per_shard=8)
    assert [os.path.basename(path) for path in paths] == ["a-000.tar", "a-001.tar", "a-002.tar"]
    assert not glob.glob(str(tmp_path / "*.new"))
    pattern = os.path.relpath(tmp_path / "a-{000..002}.tar")
    plain, ways = near.loader(folder, **PLAIN), {}
    for label in ("cls", "json:class"):
        ways[label] = near.loader({"path": pattern, "label": label}, **PLAIN)
    images, labels = epoch(plain)
    for loader in ways.values():
        other, numbers = epoch(loader)
        assert np.array_equal(other, images) and np.array_equal(numbers, labels)
    assert ways["json:class"].classes == plain.classes and not ways["cls"].classes
    with near.loader(pattern, **PLAIN, order="shards", window=4) as loader:
        seen = [int(index) for batch in loader.batches() for index in batch.index]
        assert sorted(seen) == list(range(21))
        starts = [seen[at] // 8 for at in range(0, 21, 4)]
        assert len(set(starts)) == 3


def test_the_same_bytes_again(folder, tmp_path):
    one, two = (stoker.write_shards(folder, str(tmp_path / f"{name}-%d.tar"))[0] for name in "ab")
    with open(one, "rb") as a, open(two, "rb") as b:
        assert a.read() == b.read()


def test_mappings_and_pairs(tmp_path):
    samples = [{"__key__": f"d/{number}", "jpg": b"j%d" % number, "cls": np.int64(number),
                "txt": "wörd", "json": {"a": [1]}, "emb.bin": bytearray(b"\0")}
               for number in range(5)]
    paths = stoker.write_shards(iter(samples), str(tmp_path / "a-%d.tar"), samples_per_shard=2)
    assert len(paths) == 3
    with tarfile.open(paths[1]) as tar:
        assert [member.name for member in tar] == [
            f"d/{number}.{part}" for number in (2, 3)
            for part in ("jpg", "cls", "txt", "json", "emb.bin")]
        assert tar.extractfile("d/3.cls").read() == b"3"
        assert json.loads(tar.extractfile("d/3.json").read()) == {"a": [1]}
    (tmp_path / "x.PNG").write_bytes(b"png")
    pairs = stoker.write_shards([(tmp_path / "x.PNG", "cat")], str(tmp_path / "p-%d.tar"))
    with tarfile.open(pairs[0]) as tar:
        assert [member.name for member in tar] == ["000000000.png", "000000000.cls"]
    sizes = stoker.write_shards(samples, str(tmp_path / "s-%d.tar"), bytes_per_shard=1)
    assert len(sizes) == 5


@pytest.mark.parametrize("samples, words", [
    ([], "no samples"), ([{"__key__": "a.b", "jpg": b""}], "have no dot"),
    ([{"__key__": "a", "jpg": b""}] * 2, "'a' comes twice"), ([{"__key__": "a"}], "no components"),
    ([{"jpg": object()}], "encode pictures"), ([3], "a mapping, or a pair")])
def test_refused(tmp_path, samples, words):
    """Nothing is left that could pass for a shard."""
    with pytest.raises((ValueError, TypeError), match=words):
        stoker.write_shards(samples, str(tmp_path / "a-%d.tar"))
    assert os.listdir(tmp_path) == []
    with pytest.raises(ValueError, match="no number"):
        stoker.write_shards(samples, str(tmp_path / "a.tar"))


def test_webdataset_reads_them(folder, tmp_path):
    wds = pytest.importorskip("webdataset", reason="webdataset is not installed")
    stoker.write_shards(folder, str(tmp_path / "a-%03d.tar"), samples_per_shard=8)
    found = list(wds.WebDataset(str(tmp_path / "a-{000..002}.tar"), shardshuffle=False,
                                empty_check=False).decode("rgb8"))
    assert [(sample["__key__"], sample["cls"]) for sample in found] == \
        [(sample["__key__"], sample["cls"]) for sample in shards.from_folder(folder)]
    assert all(sample["png"].shape == (24, 24, 3) for sample in found)
