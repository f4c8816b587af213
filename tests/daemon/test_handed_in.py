# SPDX-License-Identifier: MIT
"""What is handed in as a dataset and is none, or changes: words, and nothing hangs or ends."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "dataset"))

import published

RESIZE = {"transforms": [{"name": "Resize", "size": [8, 8]}]}
# What root may do beside the modes of files, a daemon that is started so may not.
MORTAL = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")


def attach(peer, dataset, **more):
    return peer.attach("", **{**RESIZE, "dataset": dataset, **more})


def refused(daemon, dataset, **more):
    """The words of the error, which is of the dataset or, of a sampler, of an argument."""
    with daemon.connect() as peer:
        answer = attach(peer, dataset, **more)
    assert answer.name == "error", (dataset, answer)
    assert answer.fields["name"] == ("argument" if more else "dataset"), (dataset, answer)
    return answer.fields["text"]


def indices(daemon, dataset, **more):
    with daemon.connect() as peer:
        answer = attach(peer, dataset, **more)
        assert answer.name == "attached", (dataset, answer)
        return sorted(int(arrays["index"]) for _, _, arrays in peer.samples())


def put_array(path, count=5, side=4):
    np.save(path, np.arange(count * side * side * 3, dtype="uint8").reshape(count, side, side, 3))
    return {"path": str(path)}


def put_folder(path, photos, classes=("a", "b"), names=("1.jpg", "2.jpg")):
    photo = sorted(photos.glob("*/*.jpg"))[0]
    for kind in classes:
        home = os.path.join(os.fsencode(path), os.fsencode(kind))
        os.makedirs(home)
        for name in names:
            os.link(photo, os.path.join(home, os.fsencode(name)))
    return {"path": str(path)}


def test_what_has_no_end_is_not_waited_for(daemon, tmp_path):
    """More FIFOs at a time than the daemon has threads to open datasets."""
    good = put_array(tmp_path / "good.npy")
    for name in ("x.npy", "x.npz", "x.tar", "x.csv"):
        os.mkfifo(tmp_path / name)
    fifo = {name: str(tmp_path / ("x." + name)) for name in ("npy", "npz", "tar", "csv")}
    cases = [({"path": fifo["npy"]}, {}), ({"path": fifo["npz"]}, {}), ({"path": fifo["csv"]}, {}),
             ({**good, "labels": fifo["npy"]}, {}), ({"path": fifo["tar"], "kind": "cifar10"}, {}),
             ({"path": fifo["tar"], "kind": "mnist"}, {}),
             ({"path": fifo["csv"], "kind": "npz"}, {}),
             ({"parts": [good, {"path": fifo["npy"]}]}, {}),
             (good, {"sampler": {"name": "weighted", "weights": fifo["npy"]}}),
             ({"path": "/dev/zero", "kind": "npy"}, {}),
             ({"path": "/dev/zero", "kind": "manifest", "format": "lines"}, {})]
    peers = [daemon.connect() for _ in cases]
    for peer, (dataset, more) in zip(peers, cases):
        peer.send("attach", seq=9, dataset=dataset, **RESIZE, batch_size=1, accept_fd=True, **more)
    assert indices(daemon, good) == list(range(5))
    for peer, case in zip(peers, cases):
        assert "regular file" in peer.expect("error").fields["text"], case
        peer.close()
    daemon.settle()


def test_what_may_not_be_read(spawn, photos, tmp_path):
    """Each kind says which file it is, and why."""
    daemon = spawn(launcher=MORTAL if os.geteuid() == 0 else ())
    array, labels = put_array(tmp_path / "x.npy"), tmp_path / "labels.npy"
    np.save(labels, np.arange(5))
    np.savez(tmp_path / "x.npz", x=np.zeros((5, 4, 4, 3), "uint8"))
    large, numbers = published.pictures(12, (32, 32, 3), 2), np.arange(12) % 10
    published.put(tmp_path / "cifar.tar.gz", published.cifar10(large, numbers, 2))
    published.put(tmp_path / "cifar", published.cifar10(large, numbers, 2))
    folder = put_folder(tmp_path / "folder", photos)
    (tmp_path / "rows.txt").write_text("a/1.jpg 1\n")
    for path, dataset, more in (
            ("x.npy", array, {}), ("labels.npy", {**array, "labels": str(labels)}, {}),
            ("labels.npy", array, {"sampler": {"name": "subset", "indices": str(labels)}}),
            ("x.npz", {"path": str(tmp_path / "x.npz")}, {}),
            ("cifar.tar.gz", {"path": str(tmp_path / "cifar.tar.gz"), "kind": "cifar10"}, {}),
            ("cifar/data_batch_2", {"path": str(tmp_path / "cifar")}, {}),
            ("folder", folder, {}), ("folder/b", folder, {}),
            ("folder/b", {"parts": [folder, folder]}, {}),
            ("rows.txt", {"path": str(tmp_path / "rows.txt"), "root": folder["path"]}, {}),
            ("x.npy", {"parts": [{"path": str(tmp_path / "x.npz")}, array]}, {})):
        mode = (tmp_path / path).stat().st_mode
        (tmp_path / path).chmod(0)
        words = refused(daemon, dataset, **more)
        assert "Permission denied" in words and str(tmp_path / path.split("/")[0]) in words, words
        assert path.split("/")[-1] in words, words
        assert path != "folder" or "denied to the daemon's user" in words, words
        (tmp_path / path).chmod(mode)
    text = refused(daemon, {"path": str(tmp_path / "rows.tgz")})
    assert "rows.tgz" in text and "No such file" in text
    (tmp_path / "rows.tgz").write_text("a/1.jpg 1\n")
    assert "kind = cifar10" in refused(daemon, {"path": str(tmp_path / "rows.tgz")})
    daemon.settle()


def test_names_of_any_bytes(daemon, photos, tmp_path):
    """Of classes and files, and of the folder itself: they come back as they are."""
    classes = [b"\xff\xfe", b"a\nb", b" ", b"-rf", b"%s%n", b"\x1b[31m", b"x" * 255]
    names = [b"\n.jpg", b"\xff.JPG", b"y" * 251 + b".jpg", b" .jpeg"]
    folder = put_folder(tmp_path / "odd\n%n", photos, classes, names)
    root = os.fsencode(folder["path"])
    for dataset, before in ((folder, b""), ({"parts": [folder, folder]}, root + b"/")):
        with daemon.connect() as peer:
            answer = attach(peer, dataset, epochs=0, batch_size=1, inflight=0)
            assert answer.name == "attached", answer
            listed = {}
            for what in ("classes", "paths"):
                listed[what], after = [], 0
                while True:
                    page = peer.request("list", what=what, after=after).fields
                    listed[what] += [os.fsencode(item) for item in page["items"]]
                    after = page["next"]
                    if not after:
                        break
        assert listed["classes"] == sorted(classes)
        wanted = [before + kind + b"/" + name for kind in sorted(classes) for name in sorted(names)]
        assert listed["paths"] == (wanted if not before else wanted * 2)
    assert indices(daemon, folder) == list(range(len(classes) * len(names)))
    daemon.settle()


def test_what_changes_while_it_is_open(daemon, tmp_path):
    """Arrays are in memory: they stay what they are for who has them; who comes next has them as
    they are then."""
    array, path = put_array(tmp_path / "x.npy"), tmp_path / "x.npy"
    joined = {"parts": [array, array]}
    with daemon.connect() as peer, daemon.connect() as other:
        pictures = {}
        for who, dataset in ((peer, array), (other, joined)):
            answer = attach(who, dataset, epochs=0, batch_size=5, dtype="uint8", shuffle=False)
            assert answer.name == "attached", answer
        for change in (lambda: os.truncate(path, 200), lambda: os.truncate(path, 0), path.unlink):
            change()
            for who in (peer, other):
                batch = who.expect("batch")
                images = who.ring.read(batch.fields["runs"])["image"].tobytes()
                assert pictures.setdefault((who, batch.fields["position"]), images) == images
                who.release(batch)
        put_array(path, count=3)
        assert indices(daemon, joined) == list(range(6))
    daemon.settle()
    assert indices(daemon, joined) == list(range(6))
    os.truncate(path, 100)
    daemon.settle()
    assert "header" in refused(daemon, array) and "header" in refused(daemon, joined)


@pytest.mark.parametrize("parts,words", [
    ([], "2 to 16"), (["x"], "2 to 16"), (["x"] * 17, "2 to 16"), (5, "2 to 16"),
    (["x", "none"], "no samples"), (["none", "x"], "no samples"), (["x", "nowhere"], "nowhere"),
    (["x", "folder"], "no class folder"), ([["x", "x"], "x"], "'parts' of its own")])
def test_parts_that_are_none(daemon, tmp_path, parts, words):
    put_array(tmp_path / "x.npy")
    put_array(tmp_path / "none.npy", count=0)
    (tmp_path / "folder").mkdir()

    def part(name):
        if isinstance(name, list):
            return {"parts": [part(inner) for inner in name]}
        return {"path": str(tmp_path / (name if name == "folder" else name + ".npy"))}
    described = parts if parts == 5 else [part(name) for name in parts]
    assert words in refused(daemon, {"parts": described})
    assert indices(daemon, {"parts": [part("x")] * 16}) == list(range(80))


@pytest.mark.parametrize("weights,drawn", [
    ([0, 0], "leaves none"), ([1e308, 1e308], "sum"), ([1e308, 1e-300], "sum"), ([1], "1 weights"),
    ([5e-324, 0], "leaves none"), ([-1, 2], "numbers not below 0"),
    ([1, 0], range(5)), ([0, 1], range(5, 10)), ([1e300, 1e-300], range(5)), ([1, 1], range(10))])
def test_weights_of_parts(daemon, tmp_path, weights, drawn):
    array = put_array(tmp_path / "x.npy")
    sampler = {"name": "weighted", "weights_by_part": weights, "num_samples": 200}
    if isinstance(drawn, str):
        assert drawn in refused(daemon, {"parts": [array, array]}, sampler=sampler)
    else:
        assert set(indices(daemon, {"parts": [array, array]}, sampler=sampler)) == set(drawn)


def test_a_list_of_more_numbers_than_there_is_memory(spawn, tmp_path):
    """Files with a hole: 8 GB of indices, and 10^9 pictures, told before any is read."""
    daemon = spawn(ring_memory="64M", dataset_memory="64M")
    array, path = put_array(tmp_path / "x.npy"), tmp_path / "list.npy"
    np.save(path, np.arange(5))
    head = path.read_bytes()[:128].replace(b"(5,), }         ", b"(1000000000,), }")
    assert len(head) == 128 and b"1000000000" in head
    path.write_bytes(head)
    os.truncate(path, 128 + 8 * 10**9)
    with daemon.connect() as peer:
        answer = attach(peer, array, sampler={"name": "subset", "indices": str(path)})
        assert answer.fields["name"] == "memory" and "8000000000" in answer.fields["text"], answer
    np.save(path, np.zeros((5, 1, 1), "uint8"))
    head = path.read_bytes()[:128].replace(b"(5, 1, 1), }         ", b"(1000000000, 1, 1), }")
    assert len(head) == 128 and b"1000000000" in head
    path.write_bytes(head)
    os.truncate(path, 128 + 10**9)
    assert "raise dataset-memory" in refused(daemon, {"path": str(path)})
    daemon.settle()
