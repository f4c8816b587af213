# SPDX-License-Identifier: MIT
"""The index of JPEG scans: it makes later visits faster and changes no byte, whatever becomes of
the files between two visits."""

import io
import os
import shutil
import sys

import numpy
import pytest
from PIL import Image

from harness import SOURCE
from test_law import N, STREAM, digests
from test_storage import epoch, files, run

sys.path.insert(0, str(SOURCE / "tests" / "reference"))
import stoker_reference  # noqa: E402 (it stands in a folder of its own)

sys.path.insert(0, str(SOURCE / "tests" / "demo"))
import photos as made  # noqa: E402 (as well)

# The counters of JPEGs that get no index.
REFUSALS = ("full", "progressive", "arithmetic", "restarts", "scans", "odd", "damaged", "stale")

CROPS = [{"name": "RandomCrop", "size": 24}]
LARGE = 24


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
    daemon = spawn(index_memory="8K")
    assert digests(daemon, photos) == reference
    status = daemon.status()
    assert status["index_full_total"] > 0
    assert 0 < status["index_built_total"] < len(jpegs(photos))


@pytest.mark.parametrize("keep_time", [False, True])
def test_a_file_changes_between_visits(spawn, folder, keep_time):
    """Each JPEG becomes another one, with a new time or with its old one, which is an error."""
    daemon = spawn(workers=2)
    paths = jpegs(folder)
    stream = {**STREAM, "shuffle": False, "epochs": 1, "batch_size": 1}
    with daemon.connect() as peer:
        peer.attach(folder, **stream)
        peer.digests()
        # One after the other in place of the one before: same inode, and the same time if asked.
        contents = [path.read_bytes() for path in paths]
        for path, content in zip(paths, contents[1:] + contents[:1]):
            before = path.stat()
            size = max(before.st_size, len(content))
            path.write_bytes(content + bytes(size - len(content)))
            if keep_time:
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        with daemon.connect() as again:
            again.attach(folder, **{**stream, "augment_seed": 5}, **snapshot(peer))
            after, bad = epoch(again)
    assert {b["name"] for b in bad} == {"sample_changed"}
    assert len(bad) == len(paths)
    assert len(after) == N - len(bad)
    assert daemon.status()["index_stale_total"] == 0
    plain, none = run(spawn(index_memory="0"), folder,
                      **{**stream, "augment_seed": 5})
    assert not none
    assert {position: plain[position] for position in after} == after


@pytest.fixture(name="large")
def fixture_large(tmp_path):
    """Pictures in which a stale index is seldom found out by its checksum, to change."""
    made.make(tmp_path / "large", count=LARGE, size=(360, 270))
    return tmp_path / "large"


def snapshot(peer):
    """Of an ATTACH that gets the dataset that another has, though its files have changed."""
    return {"expect_dataset": peer.attached["dataset_fingerprint"]} if peer else {}


def wrong_crops(peer, folder, epochs=3, beside=None):
    """Of a stream of small crops, and of the files as they were for `beside`: the crops that are
    not Pillow's, the number of the others, and what is bad."""
    wrong, good, bad = [], 0, []
    answer = peer.attach(folder, transforms=CROPS, dtype="uint8", shuffle=False, augment_seed=3,
                         epochs=epochs, batch_size=1, **snapshot(beside))
    assert answer.name == "attached", answer
    pictures = [Image.open(path).convert("RGB") for path in files(folder)]
    while (message := peer.receive()).name != "end":
        if message.name == "bad_sample":
            bad.append(message.fields)
            continue
        place = message.fields["epoch"], message.fields["position"]
        image = peer.ring.read(message.fields["runs"])["image"][0]
        wanted = stoker_reference.expected(pictures[place[1]], CROPS, dtype="uint8",
                                           augment_seed=3, epoch=place[0], position=place[1])
        peer.release(message)
        good += image.tobytes() == wanted.tobytes()
        if image.tobytes() != wanted.tobytes():
            wrong.append(place)
    return wrong, good, bad


def twin(data):
    """An undamaged JPEG of the same size and header, brighter or darker from some block on: with a
    bit of that block's DC flipped. The bits of the later blocks stand where they stood."""
    pixels = numpy.array(Image.open(io.BytesIO(data)).convert("RGB"), int)
    begin = data.index(b"\xff\xda") + 14
    for at in range(begin + 8, begin + 300):
        for bit in range(8):
            changed = bytearray(data)
            changed[at] ^= 1 << bit
            if 255 in (data[at], changed[at], data[at - 1]):
                continue
            try:
                other = numpy.array(Image.open(io.BytesIO(changed)).convert("RGB"), int)
            except OSError:
                continue
            shift = (other - pixels)[-40:]
            usual = numpy.median(shift)
            if abs(usual) > 3 and (abs(shift - usual) <= 1).mean() > 0.6:
                return bytes(changed)
    raise AssertionError("no bit of the scan does it")


def exchange(path, content, how):
    """Another content, of the same size, under the same modification time."""
    before = path.stat()
    assert len(content) == before.st_size and content != path.read_bytes()
    target = path if how == "in place" else path.with_name("new")
    with open(target, "r+b" if how == "in place" else "xb") as file:
        file.write(content)
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    target.rename(path)
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert (after.st_ino == before.st_ino) == (how == "in place")


@pytest.mark.parametrize("how", ["in place", "renamed"])
def test_a_file_changes_under_its_time(daemon, large, how):
    """Size and time stay: the file is bad as long as its dataset is in use, and is what it is
    now for who comes after; no crop is ever anything but Pillow's of one content."""
    paths = jpegs(large)[::2]
    with daemon.connect() as peer, daemon.connect() as again:
        assert wrong_crops(peer, large) == ([], 3 * LARGE, [])
        for path in paths:
            exchange(path, twin(path.read_bytes()), how)
        wrong, good, bad = wrong_crops(again, large, beside=peer)
    assert not wrong and good == 3 * (LARGE - len(paths))
    assert len(bad) == 3 * len(paths) and {b["name"] for b in bad} == {"sample_changed"}
    daemon.settle()
    with daemon.connect() as peer:
        assert wrong_crops(peer, large) == ([], 3 * LARGE, [])


def test_a_file_that_only_seems_to_change(daemon, folder):
    """Its rights, its names and its folder's name are not its content: no sample is lost, no index
    is made again."""
    paths = jpegs(folder)
    with daemon.connect() as peer, daemon.connect() as again:
        assert wrong_crops(peer, folder) == ([], 3 * N, [])
        before, ctimes = daemon.status(), [path.stat().st_ctime_ns for path in paths]
        for path in paths[::3]:
            path.chmod(0o600)
        for path in paths[1::3]:
            os.link(path, path.with_name("link"))
            path.with_name("link").unlink()
        for path in paths[2::3]:
            path.rename(path.with_name("away"))
            path.with_name("away").rename(path)
        assert all(path.stat().st_ctime_ns != ctime for path, ctime in zip(paths, ctimes))
        assert wrong_crops(again, folder) == ([], 3 * N, [])
    after = daemon.status()
    assert after["index_built_total"] == before["index_built_total"] == len(paths)
    assert after["files_changed_total"] == 0
