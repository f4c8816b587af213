# SPDX-License-Identifier: MIT
"""The scan indexes on the disk: the next daemon begins where the last one ended, whatever somebody
has done to the files there it gives the same bytes, and a disk that refuses costs nothing else."""

import json
import os
import re
import shutil
import signal
import struct
import time

import pytest
from PIL import Image

from harness import SLOW, WAIT_S, digest_of, hash_of, wait_for
from test_index import (LARGE, REFUSALS, exchange, fixture_folder,  # noqa: F401 (fixtures)
                        fixture_large, fixture_needs_index, jpegs, twin, wrong_crops)
from test_law import N, STREAM, digests
from test_storage import files

HEADER, RECORD = 264, 48  # bytes of a file's header and of a record's; see index_store_file.c


@pytest.fixture(name="directory")
def fixture_index_folder(tmp_path):
    return tmp_path / "directory"


def kept(directory):
    """The files of the directory that are whole."""
    return sorted(directory.glob("*.index")) if directory.exists() else []


def learn(spawn, photos, directory, whole=False):
    """A daemon reads it once and ends; the file that it leaves. An index grows by what trainers
    ask for, unless all of it is asked for."""
    daemon = spawn(index_dir=directory)
    if whole:
        daemon.ctl("index", photos)
    digests(daemon, photos, epochs=1)
    daemon.terminate()
    assert len(kept(directory)) == 1
    return kept(directory)[0]


@pytest.mark.parametrize("whole", [False, True])
def test_the_next_daemon_knows_it(spawn, photos, directory, whole):
    reference = digests(spawn(index_memory="0"), photos, epochs=2)
    learn(spawn, photos, directory, whole)
    assert directory.stat().st_mode & 0o777 == 0o700
    assert kept(directory)[0].stat().st_mode & 0o777 == 0o600
    before = kept(directory)[0].read_bytes()
    daemon = spawn(index_dir=directory)
    assert digests(daemon, photos, epochs=2) == reference
    status = daemon.status()
    assert status["index_built_total"] == 0
    assert status["index_used_total"] == 2 * len(jpegs(photos))
    assert daemon.terminate().count("from the disk") == 1
    if whole:
        assert kept(directory)[0].read_bytes() == before, "nothing new: nothing is written"
    else:
        assert len(kept(directory)[0].read_bytes()) >= len(before)
    found = {path.suffix for path in directory.iterdir()}
    assert found == ({".index", ".sizes"} if whole else {".index"}), "nothing half written"


def test_it_comes_back_at_once(spawn, photos, directory):
    """The dataset is let go and asked for again, over and over: what was learnt is there, whether
    it is on the disk already or on its way."""
    daemon = spawn(index_dir=directory)
    for _ in range(5):
        digests(daemon, photos, epochs=1)
    status = daemon.status()
    assert status["index_built_total"] == len(jpegs(photos))
    assert status["index_used_total"] == 4 * len(jpegs(photos))


@pytest.mark.parametrize("how", ["in place", "renamed"])
def test_a_file_changes_between_daemons(spawn, large, directory, how):
    """Size and time stay, and so may the inode: a file of another content is indexed again."""
    daemon = spawn(index_dir=directory)
    with daemon.connect() as peer:
        assert wrong_crops(peer, large) == ([], 3 * LARGE, [])
    daemon.terminate()
    paths = jpegs(large)[::2]
    for path in paths:
        exchange(path, twin(path.read_bytes()), how)
    daemon = spawn(index_dir=directory)
    with daemon.connect() as peer:
        assert wrong_crops(peer, large) == ([], 3 * LARGE, [])
        status = daemon.status()
    # Of the changed ones as many are indexed as by a daemon that knows nothing.
    without = spawn()
    with without.connect() as peer:
        assert wrong_crops(peer, large) == ([], 3 * LARGE, [])
    known = len(jpegs(large)) - len(paths)
    assert status["index_built_total"] == without.status()["index_built_total"] - known
    assert status["index_built_total"] > len(paths) / 2 and status["index_stale_total"] == 0


def test_a_file_that_only_seems_to_change(spawn, folder, directory, tmp_path):
    """Inode, times and device may be others: the index is of the content."""
    learn(spawn, folder, directory, whole=True)
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy, copy_function=shutil.copyfile)
    for there in (copy, folder):
        daemon = spawn(index_dir=directory)
        with daemon.connect() as peer:
            assert wrong_crops(peer, there) == ([], 3 * N, [])
        assert daemon.status()["index_built_total"] == 0
        assert daemon.status()["index_used_total"] == 3 * len(jpegs(there))
        daemon.terminate()
        for path in jpegs(folder):
            path.touch()


def test_another_secret(spawn, photos, directory):
    """Each file has a secret of its own, and only with that its indexes are found."""
    path = learn(spawn, photos, directory, whole=True)
    secret = path.read_bytes()[56:HEADER - 16]
    assert len(set(secret)) > 64
    path.unlink()
    other = learn(spawn, photos, directory, whole=True).read_bytes()
    assert other[56:HEADER - 16] != secret
    head = other[:56] + secret
    path.write_bytes(head + hash_of(head) + other[HEADER:])
    daemon = spawn(index_dir=directory)
    digests(daemon, photos, epochs=1)
    assert daemon.status()["index_built_total"] == len(jpegs(photos))


def test_a_secret_that_others_can_read(spawn, photos, directory):
    """It is one no more: a new file takes its place."""
    path = learn(spawn, photos, directory, whole=True)
    path.chmod(0o640)
    old = path.read_bytes()[56:HEADER - 16]
    daemon = spawn(index_dir=directory)
    digests(daemon, photos, epochs=1)
    assert daemon.status()["index_built_total"] == len(jpegs(photos))
    assert "other users may use it" in daemon.terminate()
    assert path.read_bytes()[56:HEADER - 16] != old and path.stat().st_mode & 0o777 == 0o600


def test_a_file_of_another_version(spawn, photos, directory):
    """It is left out, with a line that says why, and replaced."""
    path = learn(spawn, photos, directory)
    data = path.read_bytes()
    path.write_bytes(data[:8] + struct.pack("=I", 1) + data[12:])
    daemon = spawn(index_dir=directory)
    digests(daemon, photos, epochs=1)
    assert re.search(r"another version of stokerd wrote it: its format is 1, this one's is 2",
                     daemon.terminate())
    assert path.read_bytes()[8:12] == data[8:12]


def record(data, at):
    """Size of the record at this place, sum and all."""
    (size,) = struct.unpack_from("=I", data, at + RECORD - 8)
    return RECORD + size


def spoilt(data):
    """What may have become of the file on the disk."""
    first = HEADER + record(data, HEADER)
    middle = len(data) // 2
    yield "empty", b""
    yield "cut in the header", data[:HEADER - 1]
    yield "only the header", data[:HEADER]
    yield "cut in the middle", data[:middle]
    yield "one byte less", data[:-1]
    yield "one byte more", data + b"x"
    yield "zeros", bytes(len(data))
    yield "another magic", b"S" + data[1:]
    yield "another version", data[:8] + bytes([data[8] ^ 1]) + data[9:]
    yield "another dataset", data[:16] + bytes([data[16] ^ 1]) + data[17:]
    yield "more records than there are", data[:40] + struct.pack("=Q", 2**63) + data[48:]
    yield "a flipped bit", data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1:]
    size = HEADER + RECORD - 8
    yield "a huge record", data[:size] + b"\xff\xff\xff\xff" + data[size + 4:]
    yield "a record twice", data[:first] + data[HEADER:]


def test_what_stands_there_is_not_trusted(spawn, photos, directory):
    path = learn(spawn, photos, directory)
    good = path.read_bytes()
    reference = digests(spawn(index_memory="0"), photos, epochs=1)
    for what, data in spoilt(good):
        path.write_bytes(data)
        daemon = spawn(index_dir=directory)
        assert digests(daemon, photos, epochs=1) == reference, what
        status = daemon.status()
        assert 0 < status["index_built_total"] <= len(jpegs(photos)), what
        log = daemon.terminate()
        assert log.count("the others will be built again") == 1, (what, log)
        assert path.read_bytes() != data, f"{what}: it stays spoilt"
        assert record(path.read_bytes(), HEADER) == record(good, HEADER)


def test_what_is_no_file_is_not_opened(spawn, photos, directory, tmp_path):
    path = learn(spawn, photos, directory)
    (tmp_path / "elsewhere").write_bytes(path.read_bytes())
    for make in (lambda: os.mkfifo(path), lambda: path.symlink_to(tmp_path / "elsewhere")):
        path.unlink()
        make()
        daemon = spawn(index_dir=directory)
        digests(daemon, photos, epochs=1)
        assert daemon.status()["index_used_total"] == 0
        assert "the others will be built again" in daemon.terminate()
        assert path.is_file() and not path.is_symlink(), "a good one takes its place"


def test_a_directory_that_cannot_be_had(spawn, photos, directory, tmp_path):
    """The daemon says so in one line and does its work."""
    (tmp_path / "file").write_text("x")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    for bad in (tmp_path / "file", tmp_path / "no" / "parent", shared):
        daemon = spawn(index_dir=bad)
        digests(daemon, photos, epochs=2)
        assert daemon.status()["index_used_total"] > 0
        assert daemon.terminate().count("not kept on the disk") == 1, bad
    assert not os.listdir(shared)


def test_a_disk_that_refuses(spawn, photos, directory):
    daemon = spawn(index_dir=directory)
    directory.rmdir()
    for _ in range(3):
        digests(daemon, photos, epochs=2)
    assert daemon.terminate().count("not kept on the disk") == 1


def test_two_daemons_one_directory(spawn, photos, directory):
    """Both write it, one stays, and it is whole."""
    daemons = [spawn(index_dir=directory) for _ in range(2)]
    peers = [daemon.connect() for daemon in daemons]
    for peer in peers:
        peer.attach(photos, **STREAM, epochs=1)
    for peer in peers:
        peer.digests()
        peer.close()
    for daemon in daemons:
        assert "not kept" not in daemon.terminate()
    assert len(os.listdir(directory)) == 1
    third = spawn(index_dir=directory)
    digests(third, photos, epochs=1)
    assert third.status()["index_built_total"] == 0


def test_the_directory_keeps_within_the_memory(spawn, photos, directory, tmp_path):
    """The oldest goes, and what a killed daemon began."""
    size = learn(spawn, photos, directory).stat().st_size
    first = kept(directory)[0]
    begun = directory / (first.name + ".0123.new")
    begun.write_bytes(b"x")
    os.utime(begun, (0, 0))
    other = tmp_path / "other"
    shutil.copytree(photos, other)
    jpegs(other)[0].unlink()
    daemon = spawn(index_dir=directory, index_memory=str(size * 3 // 2))
    assert not begun.exists()
    digests(daemon, other, epochs=1)
    daemon.terminate()
    assert len(kept(directory)) == 1 and kept(directory)[0] != first


def test_a_stop_does_not_wait_for_it(spawn, photos, directory):
    """With no time to drain nothing is written any more, and nothing half of it is left."""
    daemon = spawn(index_dir=directory, drain_timeout="0s")
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=1)
        peer.digests()
        began = time.monotonic()
        daemon.terminate()
        assert time.monotonic() - began < WAIT_S
    assert os.listdir(directory) == []


def test_a_stop_keeps_what_was_learnt(spawn, photos, directory):
    """Also of a dataset that is in use to the end."""
    daemon = spawn(index_dir=directory)
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=0)
        wait_for(lambda: peer.receive().name == "batch", "a batch")
        daemon.process.send_signal(signal.SIGTERM)
        wait_for(lambda: kept(directory), "written while it drains")
    daemon.terminate(how=0)  # it was told already: once more would mean at once
    assert len(os.listdir(directory)) == 1


# stokerctl index


def index(daemon, path, *more, check=True):
    return daemon.ctl("--json", "index", path, *more, check=check)


def test_ahead_of_the_first_epoch(spawn, photos, directory):
    """`stokerctl index`: from its first epoch on a trainer finds every index, and the bytes are
    what they are without."""
    reference = digests(spawn(index_memory="0"), photos, epochs=1)
    daemon = spawn(index_dir=directory)
    report = json.loads(index(daemon, photos).stdout)
    count = len(jpegs(photos))
    assert report["path"] == str(photos) and report["samples"] == N
    assert report["indexed"] == count and report["other"] == N - count
    assert not any(report[name] for name in (*REFUSALS, "unread"))
    assert report["kept"] is True and report["seconds"] > 0
    assert report["kept_bytes"] == kept(directory)[0].stat().st_size > report["index_bytes"] > 0
    assert report["bytes_read"] == sum(path.stat().st_size for path in files(photos))
    assert report["fingerprint"] + ".index" == kept(directory)[0].name
    assert digests(daemon, photos, epochs=1) == reference
    status = daemon.status()
    assert (status["index_built_total"], status["index_used_total"]) == (count, count)
    assert status["queued"] == 0
    again = json.loads(index(daemon, photos).stdout)
    assert again["indexed"] == count and daemon.status()["index_built_total"] == count


def test_what_it_says(spawn, photos, directory):
    text = spawn(index_dir=directory).ctl("index", photos).stdout
    assert f"{len(jpegs(photos))} of {N} files indexed" in text and "saved on disk" in text
    assert f"{N - len(jpegs(photos))} not indexed: not JPEG" in text
    text = spawn().ctl("index", os.path.relpath(photos)).stdout
    assert str(photos) in os.path.normpath(text.split(":")[0]) and "in memory only" in text


def test_each_file_without_an_index_has_a_reason(spawn, tmp_path, photos):
    folder = tmp_path / "mixed" / "a"
    folder.mkdir(parents=True)
    picture = Image.open(jpegs(photos)[0]).convert("RGB")
    picture.save(folder / "a.jpg")
    picture.save(folder / "b.jpg", progressive=True)
    picture.save(folder / "d.png")
    # An end too early: Pillow shows the rest in grey.
    (folder / "e.jpg").write_bytes((folder / "a.jpg").read_bytes()[:-300] + b"\xff\xd9")
    (folder / "f.jpg").write_bytes(b"none")
    daemon = spawn()
    report = json.loads(index(daemon, folder.parent).stdout)
    names = ("indexed", "progressive", "other", "damaged", "unread")
    assert [report[name] for name in names] == [1] * 5
    assert report["kept"] is False and report["kept_bytes"] == 0


def test_beside_trainers(spawn, photos, directory):
    """Trainers that always want more do not keep it from its end, nor it them from theirs."""
    daemon = spawn(workers=1, index_dir=directory)
    reference = digests(daemon, photos, epochs=1)
    for path in kept(directory):
        path.unlink()
    with daemon.connect() as peer, daemon.connect(control=True) as control:
        peer.attach(photos, **STREAM, epochs=0)
        control.seq += 1
        control.send("index", seq=control.seq, dataset={"path": str(photos)})
        delivered, report = {}, None
        while not report or len(delivered) < N:
            batch = peer.expect("batch")
            arrays = peer.ring.read(batch.fields["runs"])
            for i in range(batch.fields["count"]):
                place = batch.fields["epoch"], batch.fields["position"] + i
                delivered[place] = digest_of({name: arrays[name][i] for name in arrays})
            peer.release(batch)
            try:
                report = report or control.receive(0.001)
                report = report if report.name == "report" else None
            except (TimeoutError, AttributeError):
                pass
    assert report.fields["values"]["indexed"] == len(jpegs(photos))
    for place, digest in reference.items():
        assert delivered[place] == digest


def test_the_request_of_a_client_that_left_ends(daemon, photos):
    with daemon.connect(control=True) as peer:
        peer.send("index", seq=1, dataset={"path": str(photos)})
    daemon.settle()
    with daemon.connect(control=True) as peer:
        peer.send("index", seq=1, dataset={"path": str(photos)})
        peer.send("index", seq=2, dataset={"path": str(photos)})
        peer.expect_error("argument")
        assert peer.expect("report").fields["seq"] == 1
        assert peer.request("index", dataset={"path": str(photos)}).name == "report"
    daemon.settle()


def test_a_stop_ends_it(spawn, photos):
    """No worker: it never ends by itself."""
    daemon = spawn(workers=0)
    with daemon.connect(control=True) as peer:
        peer.send("index", seq=1, dataset={"path": str(photos)})
        message = peer.expect("progress", 30 * SLOW)
        while message.fields["what"] != "visiting":
            message = peer.expect("progress", 30 * SLOW)
        assert (message.fields["done"], message.fields["total"]) == (0, N)
        daemon.process.send_signal(signal.SIGTERM)
        peer.expect_error("stopping", hang_up=True)
    daemon.terminate()


def test_what_cannot_be_indexed(spawn, photos, tmp_path):
    daemon = spawn()
    done = index(daemon, tmp_path / "nothing", check=False)
    assert done.returncode != 0 and json.loads(done.stdout)["error"]["name"] == "dataset"
    done = index(spawn(index_memory="0"), photos, check=False)
    assert done.returncode != 0 and "index-memory" in json.loads(done.stdout)["error"]["text"]
    with daemon.connect(control=True) as peer:
        for bad in ({}, {"path": 3}, [], "x", {"path": "relative"}):
            peer.request("index", dataset=bad)
            peer.waiting.clear()
        assert peer.request("ping").name == "ok"
