# SPDX-License-Identifier: MIT
"""The index of JPEG scans: it makes later visits faster and changes no byte, whatever becomes of
the files between two visits."""

import os
import shutil

import pytest

from test_law import N, STREAM, digests
from test_storage import epoch, files, run

# The counters of JPEGs that get no index.
REFUSALS = ("full", "progressive", "arithmetic", "restarts", "scans", "odd", "damaged", "stale")


@pytest.fixture(autouse=True)
def fixture_needs_index(spawn):
    """Built without libjpeg-turbo's jpegint.h the daemon says so."""
    if "decoded without an index" in spawn().log():
        pytest.skip("no jpegint.h")


@pytest.fixture(name="folder")
def fixture_folder(photos, tmp_path):
    """A copy that a test may change."""
    folder = tmp_path / "photos"
    shutil.copytree(photos, folder)
    return folder


def jpegs(folder):
    return [path for path in files(folder) if path.read_bytes()[:2] == b"\xff\xd8"]


def test_no_byte_depends_on_it(spawn, photos):
    """Three epochs: the first without an index, the others with it; or none at all."""
    without, with_it = spawn(workers=1, index_memory="0"), spawn(workers=2)
    reference = digests(without, photos, epochs=3)
    assert digests(with_it, photos, epochs=3) == reference
    status = with_it.status()
    count = len(jpegs(photos))
    assert count > N / 3
    assert status["index_built_total"] == count
    # Two workers may have a sample in hand, of this epoch and of the next, before either knows it.
    assert count < status["index_used_total"] <= 2 * count
    assert status["index_bytes"] == 0, "it goes with the dataset"
    assert {name: status[f"index_{name}_total"] for name in REFUSALS} == dict.fromkeys(REFUSALS, 0)
    assert without.status()["index_built_total"] == without.status()["index_used_total"] == 0


def test_streams_share_it(daemon, photos):
    """A second stream of the dataset finds what the first one left."""
    count = len(jpegs(photos))
    with daemon.connect() as first, daemon.connect() as second:
        first.attach(photos, **STREAM, epochs=1)
        first.digests()
        assert daemon.status()["index_bytes"] > 0
        second.attach(photos, **{**STREAM, "augment_seed": 5}, epochs=1)
        second.digests()
    status = daemon.status()
    assert (status["index_built_total"], status["index_used_total"]) == (count, count)


def test_without_room(spawn, photos):
    """Of what does not fit nothing is kept, and the bytes are the same."""
    reference = digests(spawn(index_memory="0"), photos)
    daemon = spawn(index_memory="16K")
    assert digests(daemon, photos) == reference
    status = daemon.status()
    assert status["index_full_total"] > 0
    assert 0 < status["index_built_total"] < len(jpegs(photos))


@pytest.mark.parametrize("keep_time", [False, True])
def test_a_file_changes_between_visits(spawn, folder, keep_time):
    """Each JPEG becomes another one, under a new stamp, which is an error; or as far as it can be
    under its old one: then nobody notices, and its bytes are those of a read without an index."""
    daemon = spawn(workers=2)
    paths = jpegs(folder)
    stream = {**STREAM, "shuffle": False, "epochs": 1, "batch_size": 1}
    with daemon.connect() as peer:
        peer.attach(folder, **stream)
        peer.digests()
        # One after the other in place of the one before: same inode, and the same time if asked.
        contents = [path.read_bytes() for path in paths]
        unnoticed = 0
        for path, content in zip(paths, contents[1:] + contents[:1]):
            before = path.stat()
            size = max(before.st_size, len(content))
            path.write_bytes(content + bytes(size - len(content)))
            if keep_time:
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
                unnoticed += size == before.st_size
        with daemon.connect() as again:
            again.attach(folder, **{**stream, "augment_seed": 5})
            after, bad = epoch(again)
    assert {b["name"] for b in bad} == {"sample_changed"}
    assert len(bad) == len(paths) - unnoticed
    assert len(after) == N - len(bad)
    assert daemon.status()["index_stale_total"] <= unnoticed
    plain, none = run(spawn(index_memory="0"), folder,
                      **{**stream, "augment_seed": 5})
    assert not none
    assert {position: plain[position] for position in after} == after
