# SPDX-License-Identifier: MIT
"""Datasets whose samples are pixels in memory: NumPy arrays. What comes is what is in the file, by
the law; what is no such array is refused with words."""

import shutil
import struct

import numpy as np
import pytest
from PIL import Image

from harness import wait_for

N, H, W = 50, 7, 5
AUGMENT = [{"name": "RandomCrop", "size": [7, 5], "padding": 2}, {"name": "RandomHorizontalFlip"}]
STREAM = {"transforms": AUGMENT, "order_seed": 7, "augment_seed": 9, "batch_size": 8}
PLAIN = {"shuffle": False, "dtype": "uint8", "layout": "NHWC", "epochs": 1, "batch_size": 8}


def pictures(shape=(N, H, W, 3)):
    return np.random.default_rng(3).integers(0, 256, shape, dtype=np.uint8)


@pytest.fixture(name="images")
def fixture_images(tmp_path):
    np.save(tmp_path / "x.npy", pictures())
    np.save(tmp_path / "y.npy", np.arange(N) % 7)
    return {"path": str(tmp_path / "x.npy"), "labels": str(tmp_path / "y.npy")}


def attach(peer, dataset, **fields):
    return peer.attach(dataset["path"], dataset=dataset, **fields)


def refused(daemon, dataset, error="dataset", **fields):
    """The words of what is said instead."""
    with daemon.connect() as peer:
        answer = attach(peer, dataset, **fields)
        assert answer.name == "error" and answer.fields["name"] == error, answer
        return answer.fields["text"]


def samples(daemon, dataset, **fields):
    with daemon.connect() as peer:
        answer = attach(peer, dataset, **fields)
        assert answer.name == "attached", answer
        return [arrays for _, _, arrays in peer.samples()]


def digests(daemon, dataset, **fields):
    with daemon.connect() as peer:
        answer = attach(peer, dataset, **{**STREAM, "epochs": 2, **fields})
        assert answer.name == "attached", answer
        return peer.digests()


def test_pixels_and_labels(daemon, images):
    got = samples(daemon, images, **PLAIN)
    assert np.array_equal([s["image"] for s in got], pictures())
    assert [int(s["label"]) for s in got] == [i % 7 for i in range(N)]
    assert [int(s["index"]) for s in got] == list(range(N))


@pytest.mark.parametrize("shape", [(N, H, W), (N, H, W, 1)])
def test_gray(daemon, tmp_path, shape):
    np.save(tmp_path / "gray.npy", pictures(shape))
    got = samples(daemon, {"path": str(tmp_path / "gray.npy")}, **PLAIN)
    want = np.repeat(pictures(shape).reshape(N, H, W, 1), 3, axis=3)
    assert np.array_equal([s["image"] for s in got], want)
    assert [int(s["label"]) for s in got] == list(range(N)), "without labels: the numbers"


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32"])
@pytest.mark.parametrize("shape", [(N,), (N, 1), (N, 3)])
def test_labels(daemon, images, tmp_path, dtype, shape):
    labels = (np.random.default_rng(4).random(shape) * 200).astype(dtype)
    np.save(tmp_path / "y.npy", labels)
    got = samples(daemon, images, **PLAIN)
    kind = np.float32 if dtype == "float32" else np.int64
    assert all(np.asarray(s["label"]).dtype == kind for s in got)
    want = labels.reshape(N) if shape == (N, 1) else labels
    assert np.array_equal([s["label"] for s in got], want)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_versions(daemon, tmp_path, version):
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array(file, pictures(), version=version)
    got = samples(daemon, {"path": str(tmp_path / "x.npy")}, **PLAIN)
    assert np.array_equal([s["image"] for s in got], pictures())


def test_the_law(spawn, images):
    reference = digests(spawn(workers=1), images)
    assert len(reference) == 2 * N
    for workers in (2, 5):
        daemon = spawn(workers=workers)
        assert digests(daemon, images) == reference
    assert digests(daemon, images, accept_fd=False, accept_path=True) == reference
    assert digests(daemon, images, batch_size=13) == reference
    for position in (1, 8, N - 1):
        rest = {key: value for key, value in reference.items() if key >= (0, position)}
        assert digests(daemon, images, position=position, batch_size=5) == rest


@pytest.mark.parametrize("name", ["RandomRotation", "RandomAffine", "RandomPerspective"])
def test_a_warp_of_a_part(daemon, images, tmp_path, name):
    """It sees the part alone, though all of the picture is there."""
    np.save(tmp_path / "part.npy", pictures()[:, 1:6, 1:4])
    warp = {"name": name, **({} if name == "RandomPerspective" else {"degrees": 40})}
    fields = {**PLAIN, "transforms": [{"name": "CenterCrop", "size": [5, 3]}, warp]}
    part = samples(daemon, {"path": str(tmp_path / "part.npy")}, **fields)
    whole = samples(daemon, images, **fields)
    assert np.array_equal([s["image"] for s in whole], [s["image"] for s in part])


def test_a_list_without_a_size_takes_the_dataset_s(daemon, images, photos, tmp_path):
    flip = [{"name": "Pad", "padding": 1}, {"name": "RandomHorizontalFlip"}]
    with daemon.connect() as peer:
        answer = attach(peer, images, transforms=flip)
        assert answer.name == "attached", answer
    shutil.copytree(photos, tmp_path / "copy")
    for path in sorted((tmp_path / "copy").glob("*/*"))[30:]:
        Image.new("RGB", (7, 9)).save(path)
    words = refused(daemon, {"path": str(tmp_path / "copy")}, "pipeline", transforms=flip)
    assert "one size" in words and "120 x 90" in words and "7 x 9" in words


GENERATOR = {"name": "ImageDataGenerator", "rotation_range": 30, "width_shift_range": 0.2,
             "zoom_range": 0.2, "horizontal_flip": True, "brightness_range": [0.5, 1.5],
             "channel_shift_range": 0.1, "samplewise_center": True}
FLOATS = {"transforms": [GENERATOR], "augment_seed": 9, "order_seed": 7, "batch_size": 8}


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("mode", ["nearest", "constant", "wrap"])
def test_floats_by_the_law(spawn, tmp_path, channels, mode):
    """On each instruction set, with any number of workers, in both layouts."""
    np.save(tmp_path / "x.npy", np.random.default_rng(1).random((N, H, W, channels), np.float32))
    dataset = {"path": str(tmp_path / "x.npy")}
    fields = {**FLOATS, "transforms": [{**GENERATOR, "fill_mode": mode}]}
    got = {}
    for name in ("plain", "avx2", "avx512"):
        daemon = spawn(environment={"STOKER_CPU": name}, workers=1 if name == "plain" else 3)
        got[name] = digests(daemon, dataset, **fields)
        planes, pixels = (np.array([s["image"] for s in samples(
            daemon, dataset, **fields, epochs=1, layout=layout)]) for layout in ("NCHW", "NHWC"))
        assert planes.shape == (N, channels, H, W)
        assert np.array_equal(planes, pixels.transpose(0, 3, 1, 2))
    assert got["plain"] == got["avx2"] == got["avx512"] and len(got["plain"]) == 2 * N


def test_floats_that_nothing_moves(daemon, tmp_path):
    """Equal to the bit, without a channel, too; the labels as ever."""
    x = np.random.default_rng(1).standard_normal((N, H, W)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    got = samples(daemon, {"path": str(tmp_path / "x.npy")}, shuffle=False, epochs=1, batch_size=8,
                  layout="NHWC", transforms=[{"name": "ImageDataGenerator"}])
    assert np.array_equal([s["image"] for s in got], x[..., None])
    assert [int(s["label"]) for s in got] == list(range(N))


@pytest.mark.parametrize("shape, error, words", [
    ((N, H, W, 2), "pipeline", "1, 3 or 4 channels"), ((N, H), "dataset", "(N, H, W)"),
    ((N, H, W, 5), "pipeline", "1, 3 or 4 channels"), ((N, H, W, 0), "dataset", "(N, H, W)")])
def test_floats_of_another_shape(daemon, tmp_path, shape, error, words):
    np.save(tmp_path / "x.npy", np.zeros(shape, np.float32))
    text = refused(daemon, {"path": str(tmp_path / "x.npy")}, error, **FLOATS)
    assert "float32" in text and words in text


@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_wide_pictures_by_the_law(spawn, tmp_path, dtype):
    np.save(tmp_path / "x.npy", (np.random.default_rng(1).random((N, H, W, 5)) * 65535)
            .astype(dtype))
    dataset = {"path": str(tmp_path / "x.npy")}
    fields = {"transforms": [{"name": "ReadAs", "dtype": "float32"}, *AUGMENT]}
    got = [digests(spawn(workers=workers), dataset, **fields) for workers in (1, 3)]
    assert got[0] == got[1] and len(got[0]) == 2 * N


@pytest.mark.parametrize("dtype, channels", [("uint16", 7), ("float32", 3)])
def test_wide_pictures_are_charged(spawn, tmp_path, dtype, channels):
    """As many bytes as they are: one more sample than the limit has room for is refused."""
    sample = 64 * 64 * channels * np.dtype(dtype).itemsize + 8
    dataset = {"path": str(tmp_path / "x.npy")}
    daemon = spawn(dataset_memory="3M")
    fields = {"transforms": [{"name": "ReadAs", "dtype": dtype}]}
    for count in ((3 << 20) // sample + 1, (3 << 20) // sample):
        np.save(dataset["path"], np.zeros((count, 64, 64, channels), dtype))
        if count * sample > 3 << 20:
            assert str(count * sample) in refused(daemon, dataset, **fields)
    with daemon.connect() as peer:
        assert attach(peer, dataset, **fields).name == "attached"


def test_a_picture_larger_than_one_of_a_file_is_refused(daemon, tmp_path):
    """3 bytes for each of max-pixels' largest, though the file is sparse and the memory there."""
    header = b"{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2048, 2048, 64)}"
    with open(tmp_path / "x.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        file.truncate(10 + len(header) + 2048 * 2048 * 64 * 2)
    text = refused(daemon, {"path": str(tmp_path / "x.npy")}, dtype="uint16")
    assert "cannot be kept in memory" in text


def test_one_copy_and_a_limit(spawn, images, tmp_path):
    """Streams share the memory; what does not fit is refused with the numbers, and fits later."""
    other = {"path": str(tmp_path / "other.npy")}
    np.save(other["path"], np.zeros((16, 224, 224, 3), np.uint8))
    big = {"path": str(tmp_path / "big.npy")}
    np.save(big["path"], np.zeros((10, 224, 224, 3), np.uint8))
    daemon = spawn(dataset_memory="3M")
    with daemon.connect() as one, daemon.connect() as two:
        assert attach(one, other, augment_seed=1).name == "attached"
        assert attach(two, other, augment_seed=2).name == "attached", "the same dataset again"
        assert len(daemon.list("datasets")) == 1
        text = refused(daemon, big)
        assert "dataset-memory" in text and str(10 * (224 * 224 * 3 + 8)) in text
    wait_for(lambda: not daemon.list("datasets"), "the dataset to be let go")
    with daemon.connect() as three:
        assert attach(three, big).name == "attached"


def damaged(data):
    """Name -> a file that is no array of pictures, and a word of what is said."""
    def header(text, version=b"\x01\x00"):
        return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text
    start = "{'descr': '|u1', 'fortran_order': False, 'shape': "
    return {
        "empty": (b"", "not a NumPy array"),
        "text": (b"hello\nworld\n" * 9, "not a NumPy array"),
        "short": (data[:-1], "shorter"),
        "cut header": (data[:60], "damaged"),
        "version": (header(b"{}", b"\x09\x00"), "version 9"),
        "no keys": (header(b"{}" + b" " * 20), "damaged"),
        "huge": (header((start + "(99999999999, 99999999, 9999999, 3)}").encode()), "2^64"),
        "huge axis": (header((start + "(99999999999999999999999,)}").encode()), "shape"),
        "many axes": (header((start + "(1,1,1,1,1,1)}").encode()), "shape"),
        "open": (header((start + "(1,1,1").encode()), "shape"),
        "fortran": (header(b"{'descr': '|u1', 'fortran_order': True, 'shape': (1,)}"), "Fortran"),
        "object": (header(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"), "'|O'"),
        "twice": (header((start + "(1,), 'shape': (1,)}").encode()), "damaged"),
        "one axis": (header((start + "(1,)}").encode()) + b"x", "(N, H, W)"),
        "no samples": (header((start + "(0, 2, 2)}").encode()), "no samples"),
        "no pixels": (header((start + "(3, 0, 2)}").encode()), "cannot be kept in memory"),
    }


@pytest.mark.parametrize("name", damaged(b""))
def test_what_is_no_array(daemon, images, name):
    with open(images["path"], "rb") as file:
        data, words = damaged(file.read())[name]
    with open(images["path"], "wb") as file:
        file.write(data)
    text = refused(daemon, {"path": images["path"]})
    assert words in text and "x.npy" in text, text


def test_labels_that_do_not_fit(daemon, images):
    for labels, words in ((np.zeros(N - 1, np.int64), "49 samples"),
                          (np.zeros((N, 2, 2), np.int64), "(N, K)"),
                          (np.zeros(N), "astype")):
        np.save(images["labels"], labels)
        assert words in refused(daemon, images)
    assert "'root' is not for" in refused(daemon, {"path": images["path"], "root": "/tmp"})
