# SPDX-License-Identifier: MIT
"""Packed tars: unpacked once, below cache-dir, for all streams and runs; the same samples, dataset
and token as of plain ones, whatever becomes of what is kept; bounded."""

import bz2
import gzip
import os
import shutil
import subprocess

import pytest

from harness import wait_for
from object_server import Objects
from test_law import STREAM, digests
from test_remote import PATTERN, fixture_reference, fixture_shards  # noqa: F401 (fixtures)
from test_staging import LARGE, asked, objects, taken

GZIP = PATTERN + ".gz"


@pytest.fixture(name="packed", scope="module")
def fixture_packed(shards, tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    for path in sorted(shards.glob("*.tar")):
        (folder / (path.name + ".gz")).write_bytes(gzip.compress(path.read_bytes()))
    return folder


def unpackings(daemon):
    """Bytes that were written anew."""
    return daemon.status()["stage_fetched_bytes_total"]


def test_once(spawn, shards, packed, reference, tmp_path):
    """Also after a restart; a token of the plain tars goes on with the packed ones."""
    daemon = spawn(cache_dir=tmp_path, fetchers=4, **LARGE)
    with daemon.connect() as peer:
        plain = peer.attach(shards / PATTERN, **STREAM)
    assert digests(daemon, packed / GZIP) == reference
    size = sum(path.stat().st_size for path in shards.glob("*.tar"))
    assert size <= unpackings(daemon) < size + 100
    with daemon.connect() as peer:
        assert peer.attach(packed / GZIP, **STREAM).fields["dataset_fingerprint"] == \
            plain.fields["dataset_fingerprint"]
    assert daemon.status()["stage_bytes"] == taken(tmp_path)
    daemon.terminate()
    daemon.spawn()
    assert digests(daemon, packed / GZIP) == reference
    assert unpackings(daemon) == 0


def test_from_a_server(spawn, packed, reference, tmp_path):
    """Fetched whole, once; who opens it again shows that it may read it."""
    size = sum(path.stat().st_size for path in packed.glob("*.gz"))
    with Objects(packed) as server:
        daemon = spawn(cache_dir=tmp_path, fetchers=4, **LARGE)
        assert digests(daemon, f"{server.url}/{GZIP}") == reference
        assert size <= asked(server) <= size + 4 * 5
        daemon.terminate()
        daemon.spawn()
        since = len(server.requests)
        assert digests(daemon, f"{server.url}/{GZIP}") == reference
        assert 0 < asked(server, since) <= 4 * 5


def test_other_packings(spawn, shards, reference, tmp_path):
    """A list of several kinds of packing, a plain tar among them."""
    tars = sorted(shards.glob("*.tar"))
    folder = tmp_path / "data"
    folder.mkdir()
    names = [path.name + ending for path, ending in zip(tars, ("", ".bz2", ".zst", ".lz4"))]
    tools = {".zst": ["zstd", "-qc"], ".lz4": ["lz4", "-qc"]}
    for path, name in zip(tars, names):
        tool = tools.get(name[-4:])
        if tool and not shutil.which(tool[0]):
            tool, name = None, path.name
            names[tars.index(path)] = name
        if tool:
            (folder / name).write_bytes(subprocess.check_output([*tool, str(path)]))
        else:
            data = path.read_bytes()
            (folder / name).write_bytes(bz2.compress(data) if ".bz2" in name else data)
    daemon = spawn(cache_dir=tmp_path / "c", **LARGE)
    url = f"{folder}/{{{','.join(names)}}}"
    assert digests(daemon, url) == reference


def test_what_is_kept_goes(spawn, packed, reference, tmp_path):
    """Dropped, damaged or deleted under a stream: unpacked again, and no byte is wrong."""
    daemon = spawn(cache_dir=tmp_path, fetchers=4, **LARGE)
    with daemon.connect() as peer:
        # It reads nothing, so another stream than the others': those would wait for it.
        assert peer.attach(packed / GZIP, **{**STREAM, "order_seed": 5}).name == "attached"
        for number, path in enumerate(objects(tmp_path)):
            if number % 2:
                path.unlink()
            else:
                data = bytearray(path.read_bytes())
                data[len(data) // 2] ^= 1
                path.write_bytes(data)
        assert digests(daemon, packed / GZIP) == reference
        with daemon.connect(control=True) as control:
            assert control.request("drop", id=0).name == "ok"
        wait_for(lambda: not objects(tmp_path), "all dropped")
        assert digests(daemon, packed / GZIP) == reference
        with daemon.connect(control=True) as control:
            assert control.request("set", name="cache-size", value="0").name == "ok"
        wait_for(lambda: not objects(tmp_path), "all given back")
        assert digests(daemon, packed / GZIP) == reference
        assert not objects(tmp_path)


def refusal(daemon, path):
    with daemon.connect() as peer:
        dataset = path if isinstance(path, dict) else {"path": str(path)}
        answer = peer.attach("", **{**STREAM, "dataset": dataset})
        assert answer.name == "error", answer
        return answer.fields["text"]


def test_refused(spawn, packed, tmp_path):
    """Without cache-dir; more than it has room for, which stays within it; cut; xz."""
    assert "packed with gzip" in refusal(spawn(), packed / GZIP)
    bomb, cut, xz = (tmp_path / name for name in ("b.tar.gz", "c.tar.gz", "x.tar.gz"))
    bomb.write_bytes(gzip.compress(bytes(64 << 20)))
    whole = (packed / "train-000.tar.gz").read_bytes()
    cut.write_bytes(whole[:len(whole) // 2])
    xz.write_bytes(b"\xfd7zXZ\0" + bytes(2000))
    daemon = spawn(cache_dir=tmp_path / "c", cache_size="8M", cache_free="0")
    text = refusal(daemon, tmp_path / "b.tar.g?")
    assert "b.tar.gz" in text and "no room to unpack it" in text
    assert taken(tmp_path / "c") <= 8 << 20
    assert "c.tar.gz" in refusal(daemon, tmp_path / "c.tar.g?")
    assert "packed with xz" in refusal(daemon, tmp_path / "x.tar.g?")
    assert "give kind = tar" in refusal(daemon, bomb)
    assert "no room to unpack it" in refusal(daemon, {"path": str(bomb), "kind": "tar"})


def test_a_packed_shard_that_changes(spawn, packed, shards, reference, tmp_path):
    """Another version is another shard: an error under the stream, and unpacked for the next."""
    folder = tmp_path / "data"
    shutil.copytree(packed, folder)
    daemon = spawn(cache_dir=tmp_path / "c", **LARGE)
    assert digests(daemon, folder / GZIP) == reference
    before = unpackings(daemon)
    path = folder / "train-001.tar.gz"
    path.write_bytes(gzip.compress((shards / "train-001.tar").read_bytes(), 1))
    os.utime(path)
    assert digests(daemon, folder / GZIP) == reference
    assert unpackings(daemon) > before
