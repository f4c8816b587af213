# SPDX-License-Identifier: MIT
"""Files that change under a dataset: before their first read they are bad samples; who attaches
next sees lists, labels and folders as they are then, and who reads goes on with what it had."""

import contextlib
import io
import json
import os
import pathlib
import shutil
import struct
import tarfile

import numpy
import pytest
from PIL import Image

from harness import NEWS, hash_of, wait_for
from object_server import Objects

PLAIN = {"transforms": [{"name": "Resize", "size": [8, 8]}], "dtype": "uint8", "layout": "NHWC",
         "shuffle": False, "epochs": 1}


def write_folder(root, count=64, first=0):
    """One class of gray pictures: the level of each is its number."""
    (root / "a").mkdir(parents=True, exist_ok=True)
    for number in range(first, first + count):
        Image.new("RGB", (8, 8), (number,) * 3).save(root / "a" / f"{number:03}.bmp")
    return root


def levels(peer, field="image"):
    """The level, or the label, of each picture of an epoch, in order; the name of the error for a
    batch of it."""
    got = []
    while (message := peer.receive()).name != "end":
        if message.name == "ring":
            peer.follow(message)
        elif message.name == "bad_sample":
            got.append(message.fields["name"])
        elif message.name not in NEWS:
            rows = peer.ring.read(message.fields["runs"])[field]
            got += [int(row.flat[0]) for row in rows]
            peer.release(message)
    return got


@pytest.mark.parametrize("how", ["size", "time", "joined"])
def test_changed_before_the_first_read(daemon, tmp_path, how):
    """FAULTS 64: rewritten after the attach and before the first read: each such picture is a bad
    sample, not its new pixels beside the fingerprint of before; who comes after sees them."""
    data, other = write_folder(tmp_path / "data"), write_folder(tmp_path / "other", 8, 200)
    wish = {**PLAIN, "batch_size": 1, "prefetch": 1, "inflight": 1}
    if how == "joined":
        wish["dataset"] = {"parts": [{"path": str(other)}, {"path": str(data)}]}
    before = list(range(200, 208)) * (how == "joined") + list(range(64))
    with daemon.connect() as peer, daemon.connect() as after:
        assert peer.attach(data, **wish).name == "attached"
        fingerprint = peer.attached["dataset_fingerprint"]
        for number in range(40, 64):
            path = data / "a" / f"{number:03}.bmp"
            size = path.stat().st_size
            level = 255 - number
            Image.new("RGB", (8, 8) if how == "time" else (90, 90), (level,) * 3).save(path)
            assert (path.stat().st_size == size) == (how == "time")
        got = levels(peer)
        assert got[:-24] == before[:-24] and set(got[-24:]) == {"sample_changed"}, got
        assert after.attach(data, **wish).name == "attached"
        assert levels(after)[-24:] == [255 - number for number in range(40, 64)]
        assert how == "time" or after.attached["dataset_fingerprint"] != fingerprint


def fingerprint_of(root):
    """The digest of daemon/dataset/index.h for a folder of class folders, from os.walk()."""
    def number(value):
        return struct.pack("<Q", value)

    def text(value):
        return number(len(os.fsencode(value))) + os.fsencode(value)

    classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    parts = [text("stoker dataset 1"), text("folder")]
    parts += [number(1) + text(name) for name in classes]
    count = 0
    for label, name in enumerate(classes):
        for folder, _, files in sorted(os.walk(root / name)):
            for file in sorted(files):
                path = os.path.join(folder, file)
                parts.append(number(2) + text(os.path.relpath(path, root)) +
                             number(os.path.getsize(path)) + number(label))
                count += 1
    return hash_of(b"".join([*parts, number(4), number(count)])).hex()


def test_many_classes(daemon, tmp_path):
    """Classes are listed by several threads, more of them than are held at a time: the fingerprint
    is that of their order. The first class that is wrong is named, wherever the threads are."""
    data = tmp_path / "data"
    for number in range(200):
        folder = data / f"c{number * 7919 % 200:03}" / ("deep" if number % 3 else "")
        folder.mkdir(parents=True)
        for file in range(number % 5 + 1):
            (folder / f"{file * 3 % 5}.png").write_bytes(b"x" * (number + file + 1))
    wish = {**PLAIN, "batch_size": 1, "bad_samples": "substitute"}
    with daemon.connect() as peer:
        assert peer.attach(data, **wish).name == "attached"
        assert peer.attached["dataset_fingerprint"] == fingerprint_of(data)
    daemon.settle()
    for name in ("c190", "c070", "c120"):
        (data / name / "deep").mkdir(exist_ok=True)
        shutil.rmtree(data / name)
        (data / name).mkdir()
    for _ in range(5):
        with daemon.connect() as peer:
            answer = peer.attach(data, **wish)
            assert answer.name == "error" and "class folder c070 (" in answer.fields["text"], answer


# -- attaching again ------------------------------------------------------------------------------


def png(level, edge=8):
    file = io.BytesIO()
    Image.new("RGB", (edge, edge), (level,) * 3).save(file, "PNG")
    return file.getvalue()


def write_tar(path, labels):
    with tarfile.open(path, "w") as archive:
        for number, label in enumerate(labels):
            for ending, data in ("png", png(9)), ("cls", str(label).encode()):
                member = tarfile.TarInfo(f"{path.stem}-{number}.{ending}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


def make_manifest(root):
    for number in range(2):
        (root / f"{number}.png").write_bytes(png(number))
    (root / "list.csv").write_text("path,label\n0.png,1\n1.png,2\n")
    return ({"path": str(root / "list.csv")},
            lambda: (root / "list.csv").write_text("path,label\n0.png,7\n1.png,8\n"))


def make_npy(root):
    numpy.save(root / "x.npy", numpy.zeros((2, 8, 8, 3), numpy.uint8))
    numpy.save(root / "y.npy", numpy.array([1, 2]))
    return ({"path": str(root / "x.npy"), "labels": str(root / "y.npy")},
            lambda: numpy.save(root / "y.npy", numpy.array([7, 8])))


def make_npz(root):
    def save(labels):
        numpy.savez(root / "set.npz", x=numpy.zeros((2, 8, 8, 3), numpy.uint8), y=labels)
    save([1, 2])
    return {"path": str(root / "set.npz")}, lambda: save([7, 8])


def make_mnist(root):
    def save(labels):
        head = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28])
        (root / "train-images-idx3-ubyte").write_bytes(head + bytes(2 * 28 * 28))
        (root / "train-labels-idx1-ubyte").write_bytes(
            bytes([0, 0, 8, 1, 0, 0, 0, 2, *labels]))
    save([1, 2])
    return {"path": str(root), "kind": "mnist"}, lambda: save([7, 8])


def make_tar(root):
    write_tar(root / "s-0.tar", [1, 2])
    return {"path": str(root / "s-*.tar")}, lambda: write_tar(root / "s-0.tar", [7, 8])


def make_moved(root):
    """Replaced by a rename, as most editors do."""
    write_tar(root / "s.tar", [1, 2])
    write_tar(root / "other", [7, 8])
    return {"path": str(root / "s.tar")}, lambda: os.replace(root / "other", root / "s.tar")


def make_list_of_shards(root):
    def save(name):
        (root / "list.json").write_text(json.dumps({
            "__kind__": "wids-shard-index-v1", "wids_version": 1,
            "shardlist": [{"url": name, "nsamples": 2}]}))
    write_tar(root / "a.tar", [1, 2])
    write_tar(root / "b.tar", [7, 8])
    save("a.tar")
    return {"path": str(root / "list.json")}, lambda: save("b.tar")


def make_glob(root):
    """A shard more, and one less."""
    write_tar(root / "s-1.tar", [1, 2])

    def change():
        write_tar(root / "s-0.tar", [7, 8])
        (root / "s-1.tar").unlink()
    return {"path": str(root / "s-*.tar")}, change


def make_joined(root):
    (root / "one").mkdir()
    (root / "two").mkdir()
    first, change = make_npy(root / "two")
    numpy.save(root / "one" / "x.npy", numpy.zeros((1, 8, 8, 3), numpy.uint8))
    numpy.save(root / "one" / "y.npy", numpy.array([3]))
    part = {"path": str(root / "one" / "x.npy"), "labels": str(root / "one" / "y.npy")}
    return {"parts": [part, first]}, change


MAKERS = [make_manifest, make_npy, make_npz, make_mnist, make_tar, make_moved, make_list_of_shards,
          make_glob, make_joined]


def attached(peer, dataset, **fields):
    answer = peer.attach("", dataset=dataset, **{**PLAIN, "batch_size": 1, **fields})
    assert answer.name == "attached", answer
    return answer.fields


def labels(peer):
    return [label for label in levels(peer, "label") if label != 3]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_changed_labels(daemon, tmp_path, make):
    """Who attaches after the change has the new labels; who reads, who has a token, and the other
    ranks of a job have the old ones; without a change all share a stream."""
    tmp_path = tmp_path / "set"
    tmp_path.mkdir()
    dataset, change = make(tmp_path)
    with daemon.connect() as first, daemon.connect() as twin, daemon.connect() as rank, \
            daemon.connect() as other, daemon.connect() as after, daemon.connect() as token:
        old = attached(first, dataset, epochs=0)
        assert attached(twin, dataset, epochs=1)["stream"] == old["stream"]
        assert attached(rank, dataset, world=2, rank=0)["stream"] == old["stream"]
        assert labels(twin) == [1, 2]
        change()
        new = attached(after, dataset)
        assert labels(after) == [7, 8] and new["stream"] != old["stream"]
        assert new["dataset_fingerprint"] != old["dataset_fingerprint"]
        assert attached(other, dataset, world=2, rank=1)["stream"] == old["stream"]
        if make not in (make_tar, make_moved, make_glob):  # once these are read they are gone
            assert attached(token, dataset, expect_dataset=old["dataset_fingerprint"],
                            epochs=1)["stream"] == old["stream"]
            assert labels(token) == [1, 2]
        with daemon.connect() as again:
            assert attached(again, dataset)["stream"] == new["stream"]
    daemon.settle()
    with daemon.connect() as late:
        answer = late.attach("", dataset=dataset, **PLAIN,
                             expect_dataset=old["dataset_fingerprint"])
        assert answer.name == "error" and "dataset" in answer.fields["text"], answer


def attach_same(daemon, wish, stream):
    """Two attaches that find all as it was: the first looks at it and has it watched, the second
    looks no more."""
    for _ in range(2):
        with daemon.connect() as peer:
            assert attached(peer, wish)["stream"] == stream


def watched(daemon):
    """How many folders the kernel watches for the daemon."""
    count = 0
    for path in pathlib.Path(f"/proc/{daemon.process.pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            count += path.read_text().count("inotify wd:")
    return count


@pytest.mark.parametrize("how", ["added", "removed", "renamed", "rewritten", "class", "below",
                                 "moved", "link"])
def test_a_folder_changes(daemon, tmp_path, how):
    """Files, classes and folders that come, go, get another name or other pixels, and another
    folder at the path: who attaches sees it, once it is watched too."""
    data = write_folder(tmp_path / "data", 8)
    want = list(range(8))
    if how == "below":
        (data / "a" / "x" / "y").mkdir(parents=True)
    path = data
    if how == "link":
        path = tmp_path / "link"
        path.symlink_to("data")
    with daemon.connect() as first, daemon.connect() as same, daemon.connect() as after:
        wish = {"path": str(path)}
        old = attached(first, wish, epochs=0)
        assert attached(same, wish)["stream"] == old["stream"] and levels(same) == want
        attach_same(daemon, wish, old["stream"])
        if how == "added":
            write_folder(data, 1, 8)
            want.append(8)
        elif how == "removed":
            (data / "a" / "003.bmp").unlink()
            want.remove(3)
        elif how == "renamed":
            (data / "a" / "003.bmp").rename(data / "a" / "100.bmp")
            want = [0, 1, 2, 4, 5, 6, 7, 3]
        elif how == "rewritten":
            Image.new("RGB", (8, 8), (77,) * 3).save(data / "a" / "003.bmp")
            want[3] = 77
        elif how == "below":
            Image.new("RGB", (8, 8), (9,) * 3).save(data / "a" / "x" / "y" / "9.bmp")
            want.append(9)
        elif how == "class":
            shutil.copytree(data / "a", data / "b")
            want += want
        else:
            write_folder(tmp_path / "other", 3, 100)
            want = [100, 101, 102]
            if how == "moved":
                data.rename(tmp_path / "before")
                (tmp_path / "other").rename(data)
            else:
                path.unlink()
                path.symlink_to("other")
        assert attached(after, wish)["stream"] != old["stream"]
        assert levels(after) == want


@pytest.mark.parametrize("how", ["rewritten", "folder"])
def test_files_of_a_list_change(daemon, tmp_path, how):
    """A picture that a list names, or a folder on the way to it, is another one: who attaches has
    the new one."""
    folder = write_folder(tmp_path / "deep", 2)
    (tmp_path / "list.csv").write_text("path,label\ndeep/a/000.bmp,1\ndeep/a/001.bmp,2\n")
    with daemon.connect() as first, daemon.connect() as same, daemon.connect() as after:
        wish = {"path": str(tmp_path / "list.csv")}
        old = attached(first, wish, epochs=0)
        assert attached(same, wish)["stream"] == old["stream"] and levels(same) == [0, 1]
        attach_same(daemon, wish, old["stream"])
        if how == "folder":
            write_folder(tmp_path / "other", 2)
            folder.rename(tmp_path / "before")
            (tmp_path / "other").rename(folder)
        Image.new("RGB", (8, 8), (77,) * 3).save(folder / "a" / "001.bmp")
        assert attached(after, wish)["stream"] != old["stream"]
        assert levels(after) == [0, 77]


def test_a_linked_class_changes(daemon, tmp_path):
    """The links that lead to a class lie where nobody watches: they are looked at each time."""
    data = tmp_path / "data"
    data.mkdir()
    write_folder(tmp_path / "one", 2)
    write_folder(tmp_path / "two", 2, 40)
    (tmp_path / "now").symlink_to("one")
    (data / "a").symlink_to("../now/a")
    with daemon.connect() as first, daemon.connect() as after:
        wish = {"path": str(data)}
        old = attached(first, wish, epochs=0)
        attach_same(daemon, wish, old["stream"])
        (tmp_path / "now").unlink()
        (tmp_path / "now").symlink_to("two")
        assert attached(after, wish)["stream"] != old["stream"]
        assert levels(after) == [40, 41]


def test_a_linked_picture_changes(daemon, tmp_path):
    """What a link of a class leads to is written to, where nobody watches."""
    data = write_folder(tmp_path / "data", 2)
    other = write_folder(tmp_path / "other", 1, 40)
    (data / "a" / "x.bmp").symlink_to(other / "a" / "040.bmp")
    with daemon.connect() as first, daemon.connect() as after:
        wish = {"path": str(data)}
        old = attached(first, wish, epochs=0)
        attach_same(daemon, wish, old["stream"])
        Image.new("RGB", (8, 8), (77,) * 3).save(other / "a" / "040.bmp")
        assert attached(after, wish)["stream"] != old["stream"]
        assert levels(after) == [0, 1, 77]


def test_one_file_of_many_is_rewritten(daemon, tmp_path):
    """Of a folder that is too large to look at each file the kernel says what was written to; a log
    that a trainer writes beside the pictures is none of them. What watches goes with the
    dataset."""
    data = write_folder(tmp_path / "data", 2)
    (data / "a" / "log").write_text("1")
    for number in range(16400):
        os.link(data / "a" / "000.bmp", data / "a" / f"x{number}.bmp")
    before = watched(daemon)
    with daemon.connect() as first, daemon.connect() as after:
        wish = {"path": str(data)}
        old = attached(first, wish, epochs=0)
        attach_same(daemon, wish, old["stream"])
        if watched(daemon) == before:
            pytest.skip("nothing can be watched here (inotify, and the file system of TMPDIR)")
        assert watched(daemon) == before + 2
        with open(data / "a" / "log", "a", encoding="utf-8") as log:
            log.write("2")
        attach_same(daemon, wish, old["stream"])
        with open(data / "a" / "001.bmp", "r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"x")
        assert attached(after, wish)["stream"] != old["stream"]
    daemon.settle()
    wait_for(lambda: watched(daemon) == before, "nothing is watched any more")


def test_a_list_on_a_server(spawn, tmp_path):
    """By its ETag."""
    write_tar(tmp_path / "a.tar", [1, 2])
    write_tar(tmp_path / "b.tar", [7, 8])
    for number in range(2):
        (tmp_path / f"{number}.png").write_bytes(png(number))

    def save(shard, text):
        (tmp_path / "list.json").write_text(json.dumps({
            "__kind__": "wids-shard-index-v1", "wids_version": 1,
            "shardlist": [{"url": shard, "nsamples": 2}]}))
        (tmp_path / "list.csv").write_text(f"path,label\n0.png,{text[0]}\n1.png,{text[1]}\n")

    with Objects(tmp_path) as server:
        daemon = spawn()
        for name in ("list.json", "list.csv"):
            save("a.tar", "12")
            dataset = {"path": f"{server.url}/{name}"}
            with daemon.connect() as first, daemon.connect() as same, daemon.connect() as after:
                old = attached(first, dataset, epochs=0)
                assert attached(same, dataset)["stream"] == old["stream"]
                save("b.tar", "78")
                attached(after, dataset)
                assert labels(after) == [7, 8], name
            daemon.settle()
