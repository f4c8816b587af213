# SPDX-License-Identifier: MIT
"""CIFAR and MNIST as published, written by the test: every pixel and label, in each form and each
kind of archive; torchvision reads the same from the same folders; and damaged files are refused
with a message.

STOKER_BUILD names the build folder that holds tests/unit/dataset/dataset_tool.
"""

import gzip
import os
import random
import subprocess
import tarfile
import zipfile

import numpy as np
import pytest

import published

PLACES = ["folder", "archive.tar.gz", "archive.tgz", "archive.tar", "archive.zip"]
COUNT = 12


def look(path, **keys):
    """(classes, labels, images), or the words of the refusal."""
    tool = os.path.join(os.environ["STOKER_BUILD"], "tests", "unit", "dataset", "dataset_tool")
    words = [word for key, value in keys.items() for word in (key, value)]
    done = subprocess.run([tool, path, *words], capture_output=True, check=True, timeout=120)
    classes, labels, images = [], [], []
    for line in done.stdout.decode(errors="replace").splitlines():
        words = line.split(" ")
        if words[0] == "refused":
            return line
        if words[0] == "class":
            classes.append(bytes.fromhex(words[1]).decode())
        else:
            labels.append(int(words[1]))
            images.append(np.frombuffer(bytes.fromhex(words[4]), np.uint8)
                          .reshape(int(words[3]), int(words[2]), 3))
    return classes, labels, np.array(images)


def compare(got, classes, labels, images):
    assert not isinstance(got, str), got
    assert got[0] == classes
    assert got[1] == [int(label) for label in labels]
    assert np.array_equal(got[2], images)


@pytest.fixture(name="samples", scope="module")
def fixture_samples():
    draw = np.random.default_rng(5)
    return (published.pictures(COUNT, (32, 32, 3)), draw.integers(0, 10, COUNT),
            draw.integers(0, 100, COUNT), draw.integers(0, 20, COUNT))


@pytest.mark.parametrize("python", [None, 0, 2, 3, 4, 5])
@pytest.mark.parametrize("place", PLACES)
def test_cifar10(tmp_path, samples, place, python):
    images, labels = samples[:2]
    files = {**published.cifar10(images[::-1], labels[::-1], python, test=True),
             **published.cifar10(images, labels, python)}
    path = published.put(tmp_path / place, files)
    compare(look(path), published.CIFAR10, labels, images)
    compare(look(path, kind="cifar10", split="train"), published.CIFAR10, labels, images)
    compare(look(path, split="test"), published.CIFAR10, labels[::-1], images[::-1])


@pytest.mark.parametrize("python", [None, 0, 2, 4, 5])
@pytest.mark.parametrize("place", PLACES)
def test_cifar100(tmp_path, samples, place, python):
    images, _, fine, coarse = samples
    files = {**published.cifar100(images[::-1], fine[::-1], coarse[::-1], python, test=True),
             **published.cifar100(images, fine, coarse, python)}
    path = published.put(tmp_path / place, files)
    compare(look(path), published.FINE, fine, images)
    compare(look(path, labels="fine", kind="cifar100"), published.FINE, fine, images)
    compare(look(path, labels="coarse", split="test"), published.COARSE, coarse[::-1], images[::-1])
    assert "fine or coarse" in look(path, labels="/somewhere.npy")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("place", PLACES + ["raw"])
def test_mnist(tmp_path, place, packed):
    gray, labels = published.pictures(COUNT, (9, 7)), np.arange(COUNT) % 10
    files = {**published.mnist(gray, labels, packed=packed),
             **published.mnist(gray[::-1], labels[::-1], test=True, packed=packed)}
    path = published.put(tmp_path / place, files)
    digits = [str(digit) for digit in range(10)]
    images = np.repeat(gray[..., None], 3, axis=3)
    compare(look(path), digits, labels, images)
    compare(look(path, kind="mnist", split="test"), digits, labels[::-1], images[::-1])
    if place == "raw": # as torchvision keeps them
        compare(look(str(tmp_path)), digits, labels, images)


def test_more_classes_than_digits(tmp_path):
    path = published.put(tmp_path / "letters", published.mnist(
        published.pictures(3, (4, 4)), np.array([0, 25, 3])))
    assert look(path)[0] == [str(number) for number in range(26)]


def test_as_torchvision(tmp_path, samples, monkeypatch):
    """The same folders, read by it."""
    datasets = pytest.importorskip("torchvision.datasets")
    images, labels, fine, coarse = samples
    published.put(tmp_path / "cifar-10-batches-py", published.cifar10(images, labels, 0))
    published.put(tmp_path / "cifar-100-python", published.cifar100(images, fine, coarse, 0))
    published.put(tmp_path / "MNIST" / "raw", {
        **published.mnist(images[..., 0], labels),
        **published.mnist(images[..., 0], labels, test=True)})
    monkeypatch.setattr(datasets.cifar, "check_integrity", lambda *_: True)
    for kind, place, of in (("cifar10", "cifar-10-batches-py", datasets.CIFAR10),
                            ("cifar100", "cifar-100-python", datasets.CIFAR100)):
        reference = of(str(tmp_path))
        compare(look(str(tmp_path / place)), reference.classes, reference.targets, reference.data)
        compare(look(str(tmp_path), kind=kind), reference.classes, reference.targets,
                reference.data)
    reference = datasets.MNIST(str(tmp_path))
    _, labels, images = look(str(tmp_path / "MNIST"))
    assert labels == reference.targets.tolist()
    assert np.array_equal(images[..., 1], reference.data.numpy())


def test_no_recognition_by_chance(tmp_path):
    """An image folder with such names of folders is one, and a text is a manifest."""
    for name in ("train", "test", "meta", "raw", "data_batch_1"):
        published.put(tmp_path / "images" / name, {"a.jpg": b"x", "train": b"x"})
    folder = look_text(str(tmp_path / "images"))
    assert "class " + "train".encode().hex() in folder
    (tmp_path / "list.txt").write_bytes(b"a.jpg 1\n")
    assert "sample 1 " in look_text(str(tmp_path / "list.txt"))
    assert "has no files of CIFAR-10" in look(published.put(tmp_path / "a.zip", {"x": b"y"}))


def look_text(path):
    tool = os.path.join(os.environ["STOKER_BUILD"], "tests", "unit", "dataset", "dataset_tool")
    done = subprocess.run([tool, path], capture_output=True, check=True, timeout=120)
    return done.stdout.decode()


# Damage

def test_missing(tmp_path, samples):
    files = published.cifar10(*samples[:2], 2)
    del files["data_batch_3"]
    path = published.put(tmp_path / "a", files)
    assert "data_batch_3: the file is missing" in look(path, kind="cifar10")
    files = published.cifar10(*samples[:2])
    del files["batches.meta.txt"]
    assert "batches.meta.txt: the file is missing" in look(published.put(tmp_path / "b", files))
    for kind, name in (("cifar10", "data_batch_1"), ("cifar100", "train"),
                       ("mnist", "train-images-idx3-ubyte")):
        assert name + ": the file is missing" in look(published.put(tmp_path / "c", {}), kind=kind)
        assert "No such file" in look(str(tmp_path / "nowhere"), kind=kind)


def test_words(tmp_path, samples):
    """What contradicts itself."""
    images, labels, fine, coarse = samples

    def words(name, files, **keys):
        return look(published.put(tmp_path / name, files), **keys)

    files = published.cifar10(images, labels, 2)
    short = {**files, "data_batch_2": published.dump(
        {b"data": published.planes(images), b"labels": [1, 2]}, 2)}
    assert f"'labels' has 2 labels for {COUNT} pictures" in words("a", short)
    floats = {**files, "data_batch_2": published.dump(
        {b"data": np.zeros((2, 3072), np.float32), b"labels": [1, 2]}, 2)}
    assert "not an array of uint8 with the shape (N, 3072)" in words("b", floats)
    texts = {**files, "data_batch_2": published.dump(
        {b"data": np.zeros((2, 3072), np.uint8), b"labels": ["1", "2"]}, 2)}
    assert "label 0 of 'labels' is not an integer" in words("c", texts)
    assert "no list 'labels'" in words("d", {**files, "data_batch_2": published.dump(
        {b"data": np.zeros((2, 3072), np.uint8)}, 2)})
    run = b"\x80\x02cos\nsystem\nU\x02id\x85R."
    assert "asks for os.system" in words("e", {**files, "data_batch_5": run})
    assert "no list 'label_names'" in words("f", {**files, "batches.meta": published.dump({}, 2)})
    assert "9 class names, not 10" in words("g", {**files, "batches.meta": published.dump(
        {"label_names": published.CIFAR10[:9]}, 2)})
    assert "not one of the dataset's 10 classes" in words("h", published.cifar10(
        images, labels + 1 + np.arange(COUNT) % 2 * 5, 2))
    assert "not a multiple of a record's 3073" in words("i", published.cifar100(
        images, fine, coarse) | published.cifar10(images, labels) | {"data_batch_1.bin": b"abc"},
        kind="cifar10")
    gray = published.mnist(images[..., 0], labels)
    assert "pictures and labels differ" in words("j", {
        **gray, "train-labels-idx1-ubyte": published.idx(labels[:-1])})
    assert "1 dimensions, not 3" in words("k", {
        **gray, "train-images-idx3-ubyte": published.idx(labels)})
    first, second = gray.items()
    assert "two files of this name" in words("l.zip", {
        "a/" + first[0]: first[1], "b/" + first[0]: first[1], "a/" + second[0]: second[1]})


def test_cut(tmp_path, samples):
    """Cut anywhere, or with a byte changed: words or samples, never anything else."""
    images, labels = samples[:2]
    draw = random.Random(3)
    places = {"p": published.cifar10(images, labels, 2), "b": published.cifar10(images, labels),
              "m": published.mnist(images[..., 0], labels, packed=True)}
    for name, files in places.items():
        for number in range(8):
            hit = draw.choice(sorted(files))
            data = bytearray(files[hit])
            cut = bytes(data[:draw.randrange(len(data))])
            got = look(published.put(tmp_path / f"{name}{number}", {**files, hit: cut}))
            assert isinstance(got, str) and "cannot" in got, (hit, len(cut), got)
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            look(published.put(tmp_path / f"{name}{number}", {**files, hit: bytes(data)}))
    whole = published.put(tmp_path / "whole.tar.gz", places["p"])
    with open(whole, "rb") as file:
        data = file.read()
    for number in range(8):
        cut = tmp_path / f"cut{number}.tar.gz"
        cut.write_bytes(data[:draw.randrange(len(data) - 100)])
        assert isinstance(look(str(cut), kind="cifar10"), str)
    with open(published.put(tmp_path / "whole.zip", places["m"]), "rb") as file:
        data = file.read()
    (tmp_path / "cut.zip").write_bytes(data[:data.index(b"PK\x01\x02")])  # its directory
    assert "cannot read" in look(str(tmp_path / "cut.zip"), kind="mnist")


def write(path, data):
    os.unlink(path)  # a file that is emptied and written again goes to the disk
    with open(path, "xb") as file:
        file.write(data)


def other(data):
    """(position, the bytes with a bit of that one changed)"""
    for at in range(len(data)):
        yield at, data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1:]


@pytest.fixture(name="digits")
def fixture_digits():
    """(what a look shows, the files)"""
    gray, labels = published.pictures(3, (4, 4)), np.array([2, 0, 1])
    return (([str(digit) for digit in range(10)], labels, np.repeat(gray[..., None], 3, axis=3)),
            published.mnist(gray, labels))


@pytest.mark.parametrize("ending", ["tar.gz", "gz", "stored.zip", "deflated.zip"])
def test_checksums(tmp_path, digits, ending):
    """Whatever bit is another: words that name the path, or the same pixels."""
    shown, files = digits
    name = "train-images-idx3-ubyte"
    path, hit = (str(tmp_path / ("a." + ending)),) * 2
    if ending == "gz":
        path, hit = str(tmp_path), str(tmp_path / name) + ".gz"
        published.put(path, {name + ".gz": gzip.compress(files.pop(name)), **files})
    elif ending == "stored.zip":
        with zipfile.ZipFile(path, "w") as archive:
            for key, data in files.items():
                archive.writestr(key, data)
    else:
        published.put(path, files)
    with open(hit, "rb") as file:
        whole = file.read()
    compare(look(path, kind="mnist"), *shown)
    for at, data in other(whole):
        write(hit, data)
        got = look(path, kind="mnist")
        if isinstance(got, str):
            assert path in got, (at, got)
        else:
            compare(got, *shown)
            assert ending.endswith("zip") or at < len(whole) - 8, "a checksum or size is wrong"


def test_members(tmp_path, digits):
    """Those of gzip behind each other, and zeros, as Python reads them; nothing else."""
    shown, files = digits
    name = "train-images-idx3-ubyte"
    with open(published.put(tmp_path / "a.tar", files), "rb") as file:
        tar = file.read()
    folder = published.put(tmp_path / "folder", files)
    os.unlink(os.path.join(folder, name))
    for path, hit, data in ((str(tmp_path / "a.tar.gz"),) * 2 + (tar,),
                            (folder, os.path.join(folder, name + ".gz"), files[name])):
        with open(hit, "xb"):
            pass
        packed = b"".join(map(gzip.compress, (data[:30], b"", data[30:])))
        for more in (b"", bytes(9), bytes(9) + gzip.compress(b"")):
            assert gzip.decompress(packed + more) == data
            write(hit, packed + more)
            compare(look(path, kind="mnist"), *shown)
        for more in (b"x", bytes(9) + b"x", gzip.compress(b"x")[:-1]):
            with pytest.raises((OSError, EOFError)):
                gzip.decompress(packed + more)
            write(hit, packed + more)
            got = look(path, kind="mnist")
            assert "cannot read" in got and path in got and "its gzip is damaged" in got


def test_bombs(tmp_path, samples):
    """The tool allows 64 MiB: what would be more is refused before it is there."""
    zeros = bytes(100 << 20)
    labels = samples[1]
    path = published.put(tmp_path / "a.tar.gz", {"data_batch_1": zeros})
    assert os.path.getsize(path) < 1 << 20
    assert "larger than the 67108864 bytes" in look(path)
    path = published.put(tmp_path / "b.zip", {"data_batch_1.bin": zeros})
    assert "larger than the 67108864 bytes" in look(path)
    entry = tarfile.TarInfo("a")
    entry.size = 5 << 30
    (tmp_path / "c.tar").write_bytes(entry.tobuf())
    assert "too many bytes besides" in look(str(tmp_path / "c.tar"), kind="cifar10")
    path = published.put(tmp_path / "d", {"train-images-idx3-ubyte.gz": gzip.compress(zeros),
                                          "train-labels-idx1-ubyte": published.idx(labels)})
    assert "larger than the 67108864 bytes" in look(path)
    # Packed twice: what packs to a thousandth packs to a millionth.
    gray = published.mnist(samples[0][..., 0], labels, packed=True)
    with open(published.put(tmp_path / "once.tar.gz", gray), "rb") as file:
        (tmp_path / "twice.tar.gz").write_bytes(gzip.compress(file.read()))
    assert "cannot read" in look(str(tmp_path / "twice.tar.gz"), kind="mnist")
    path = published.put(tmp_path / "f", {name: gzip.compress(data)
                                          for name, data in gray.items()})
    assert "not an idx file" in look(path)
    # 30 MB of gray pixels are 90 of RGB.
    path = published.put(tmp_path / "e", published.mnist(np.zeros((3, 3162, 3162), np.uint8),
                                                         labels[:3]))
    assert "dataset-memory" in look(path)


def test_no_way_out(tmp_path, samples):
    """Neither a link of a folder nor a path of an archive leads out."""
    files = published.mnist(samples[0][..., 0], samples[1])
    real = published.put(tmp_path / "real", files)
    os.mkdir(tmp_path / "links")
    for name in files:
        os.symlink(os.path.join(real, name), tmp_path / "links" / name)
    assert "the file is missing" in look(str(tmp_path / "links"), kind="mnist")
    path = published.put(tmp_path / "up.zip", {"../../" + name: data
                                               for name, data in files.items()})
    assert look(path)[1] == [int(label) for label in samples[1]]
    assert sorted(os.listdir(tmp_path)) == ["links", "real", "up.zip"]
