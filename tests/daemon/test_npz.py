# SPDX-License-Identifier: MIT
"""NumPy's .npz: which arrays are taken, that they are the samples of the same arrays in .npy files,
and what is said of those that are none."""

import random
import struct
import zipfile

import numpy as np
import pytest

N, H, W = 40, 7, 5
AUGMENT = [{"name": "RandomCrop", "size": [7, 5], "padding": 2}, {"name": "RandomHorizontalFlip"}]
PLAIN = {"shuffle": False, "dtype": "uint8", "layout": "NHWC", "epochs": 1, "batch_size": 8}


def pictures(shape=(N, H, W, 3), seed=3):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def attach(peer, path, keys, fields):
    return peer.attach(str(path), dataset={"path": str(path), **keys}, **{**PLAIN, **fields})


def read(daemon, path, keys=None, **fields):
    """(images, labels)"""
    with daemon.connect() as peer:
        answer = attach(peer, path, keys or {}, fields)
        assert answer.name == "attached", answer
        samples = [arrays for _, _, arrays in peer.samples()]
    return (np.array([sample["image"] for sample in samples]),
            np.array([sample["label"] for sample in samples]))


def refused(daemon, path, keys=None):
    with daemon.connect() as peer:
        answer = attach(peer, path, keys or {}, {})
        assert answer.name == "error" and answer.fields["name"] == "dataset", answer
        return answer.fields["text"]


def compare(got, images, labels):
    assert np.array_equal(got[0], images)
    assert got[1].dtype == (labels.dtype if labels.dtype == np.float32 else np.int64)
    assert np.array_equal(got[1], labels)


@pytest.fixture(name="keras", scope="module", params=[np.savez, np.savez_compressed])
def fixture_keras(request, tmp_path_factory):
    """(arrays, path), as keras.datasets keeps them."""
    arrays = {"x_train": pictures(), "y_train": np.arange(N) % 7,
              "x_test": pictures((9, H, W, 3), 4), "y_test": np.arange(9, dtype=np.uint8) % 3}
    path = tmp_path_factory.mktemp("npz") / "set.npz"
    request.param(path, **arrays)
    return arrays, path


def test_splits(daemon, keras):
    arrays, path = keras
    train, test = ((arrays["x_" + split], arrays["y_" + split]) for split in ("train", "test"))
    compare(read(daemon, path), *train)
    compare(read(daemon, path, {"split": "train", "kind": "npz"}), *train)
    compare(read(daemon, path, {"split": "test"}), *test)
    compare(read(daemon, path, {"images": "x_test", "labels": "y_test"}), *test)
    compare(read(daemon, path, {"images": "x_test"}), test[0], np.arange(9))
    compare(read(daemon, path, {"labels": "y_train"}), *train)
    daemon.settle()


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_names(daemon, tmp_path, write):
    """Those that people use, in this order; else the only one that can be pictures."""
    images, labels = pictures(), np.arange(N) % 5
    floats = np.zeros((3, 4, 4, 3), np.float32)
    for number, (arrays, want) in enumerate((
            ({"images": images[::-1], "x": images, "y": labels}, labels),
            ({"labels": labels, "images": images, "others": images[:3]}, labels),
            ({"x": images}, np.arange(N)),
            ({"mean": floats, "data": images, "y": labels}, np.arange(N)),
            ({"data": images, "masks": images[..., 0]}, np.arange(N)),
            ({"arr_0": images, "arr_1": labels}, np.arange(N)))):
        path = tmp_path / f"{number}.npz"
        write(path, **arrays)
        compare(read(daemon, path), images, want)
    gray = images[..., 0]
    write(tmp_path / "gray.npz", gray, labels)
    compare(read(daemon, tmp_path / "gray.npz", {"labels": "arr_1"}),
            np.repeat(gray[..., None], 3, axis=3), labels)
    one = np.random.default_rng(1).random((N, 4), dtype=np.float32)
    write(tmp_path / "soft.npz", x=images, y=one)
    compare(read(daemon, tmp_path / "soft.npz"), images, one)


def test_one_law_for_npy_and_npz(spawn, keras, tmp_path):
    """The same arrays are the same dataset: its fingerprint, and every byte made of it."""
    arrays, path = keras
    np.save(tmp_path / "x.npy", arrays["x_train"])
    np.save(tmp_path / "y.npy", arrays["y_train"])

    def digests(daemon, dataset, **fields):
        with daemon.connect() as peer:
            answer = peer.attach(str(path), dataset=dataset, transforms=AUGMENT, epochs=2,
                                 order_seed=3, augment_seed=4, **{"batch_size": 8, **fields})
            assert answer.name == "attached", answer
            return peer.digests(), daemon.list("datasets")[0]["fingerprint"]

    reference = digests(spawn(workers=1), {"path": str(tmp_path / "x.npy"),
                                           "labels": str(tmp_path / "y.npy")})
    assert len(reference[0]) == 2 * N
    daemon = spawn(workers=3)
    assert digests(daemon, {"path": str(path)}) == reference
    assert digests(daemon, {"path": str(path), "split": "train"}, batch_size=5) == reference
    assert digests(daemon, {"path": str(path), "split": "test"}) != reference


def test_replay(daemon, keras, tmp_path):
    """What is needed to attach again is in the listing."""
    arrays, path = keras
    with daemon.connect() as peer:
        answer = attach(peer, path, {"images": "x_test", "labels": "y_test"}, {})
        assert answer.name == "attached", answer
        row = daemon.list("streams")[0]
        assert (row["images"], row["labels"]) == ("x_test", "y_test")
        done = daemon.ctl("replay", answer.fields["stream"], "--epoch", 0, "--position", 5, "-o",
                          tmp_path / "a.png").stdout
        assert f"label        {arrays['y_test'][5]}\n" in done


def test_which_is_not_said(daemon, tmp_path):
    images = pictures()
    path = tmp_path / "a.npz"
    np.savez(path, left=images, right=images, numbers=np.arange(3))
    text = refused(daemon, path)
    assert "'images'" in text and "left, right" in text and "numbers" not in text
    text = refused(daemon, path, {"images": "centre"})
    assert "no array 'centre'" in text and "left, right, numbers" in text
    assert "no array 'lefts'" in refused(daemon, path, {"images": "left", "labels": "lefts"})
    assert "no array 'x_test'" in refused(daemon, path, {"split": "test"})
    assert "no array 'x_train'" in refused(daemon, path, {"split": "train"})
    assert "give one of them" in refused(daemon, path, {"split": "test", "images": "left"})
    assert "labels for 3 samples" in refused(daemon, path, {"images": "left", "labels": "numbers"})
    assert "pictures must be uint8" in refused(daemon, path, {"images": "numbers"})
    assert "'root' is not for" in refused(daemon, path, {"root": "/tmp"})
    np.savez(path, numbers=np.arange(3))
    assert "no array of pictures: it holds numbers" in refused(daemon, path)
    np.savez(path)
    assert "cannot" in refused(daemon, path)
    assert "'images' is not for" in refused(daemon, tmp_path, {"images": "x", "kind": "folder"})
    daemon.settle()


def npy_header(shape):
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def put(path, files, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return path


def test_what_is_damaged(spawn, tmp_path):
    """And what would be more than may be in memory, told before it is there."""
    daemon = spawn(dataset_memory="3M")
    images = pictures((16, 8, 8, 3))
    header = npy_header("(16, 8, 8, 3)")
    for name, files, words in (
            ("none", [("x.npy", b"")], "not a NumPy array"),
            ("text", [("x.npy", b"hello" * 99)], "not a NumPy array"),
            ("short", [("x.npy", header + images.tobytes()[:-1])], "shorter than its header"),
            ("huge", [("x.npy", npy_header("(99999999999, 99999999, 9999999, 3)"))], "2^64"),
            ("large", [("x.npy", npy_header("(999999999, 999, 999, 3)"))], "shorter"),
            ("bomb", [("x.npy", npy_header("(400, 100, 100, 3)") + bytes(12000000))],
             "larger than the 3145728 bytes"),
            ("gray", [("x.npy", npy_header("(150, 100, 100)") + bytes(1500000))],
             "raise dataset-memory"),
            ("many", [(f"{i}.npy", b"") for i in range(1100)], "too many files"),
            ("twice", [("a/x.npy", header + images.tobytes()),
                       ("b/x.npy", header + images.tobytes())], "same name: it holds x, x")):
        text = refused(daemon, put(tmp_path / (name + ".npz"), files))
        assert words in text and name + ".npz" in text, text
    whole = tmp_path / "whole.npz"
    np.savez_compressed(whole, x=images, y=np.arange(16))
    data = whole.read_bytes()
    draw = random.Random(5)
    for number in range(12):
        cut = tmp_path / f"cut{number}.npz"
        cut.write_bytes(data[:draw.randrange(len(data))])
        assert str(cut) in refused(daemon, cut)
    for number in range(12):
        other, bytes_ = tmp_path / f"other{number}.npz", bytearray(data)
        bytes_[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        other.write_bytes(bytes_)
        with daemon.connect() as peer:
            answer = attach(peer, other, {}, {})
            assert answer.name in ("attached", "error")
            if answer.name == "attached":
                assert np.array_equal([arrays["image"] for _, _, arrays in peer.samples()], images)
    (tmp_path / "folder.npz").mkdir()
    assert "regular file" in refused(daemon, tmp_path / "folder.npz", {"kind": "npz"})
    assert "cannot read" in refused(daemon, tmp_path / "nowhere.npz", {"kind": "npz"})
    compare(read(daemon, whole), images, np.arange(16))
    daemon.settle()
