# SPDX-License-Identifier: MIT
"""Datasets as people have them, with the real daemon: compared with Pillow and torchvision."""
import csv
import gc
import json
import os
import pickle
import random
import tempfile
from pathlib import Path

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")

import stoker
from real_daemon import binary
from stoker._paths import absolute

pytestmark = pytest.mark.skipif(binary() is None, reason="no stokerd was built")
PLAIN = {"batch_size": 4, "shuffle": False, "dtype": "uint8", "layout": "NHWC"}
RESIZE = {**PLAIN, "transforms": [stoker.CenterCrop(8)]}


@pytest.fixture
def node(near):
    return near


@pytest.fixture
def samples(folder):
    """[(path, class)] as torchvision's ImageFolder lists them."""
    datasets = pytest.importorskip("torchvision.datasets")
    return datasets.ImageFolder(folder).samples


def epoch(loader):
    """Images and labels of an epoch."""
    images, labels = zip(*[(batch.images.copy(), batch.labels.copy())
                           for batch in loader.batches()])
    return np.concatenate(images), np.concatenate(labels)


def pixels(paths, size=8):
    """What Pillow makes of them."""
    crops = []
    for path in paths:
        with Image.open(path) as image:
            left, top = (image.width - size) // 2, (image.height - size) // 2
            crops.append(np.asarray(image.convert("RGB").crop((left, top, left + size,
                                                               top + size))))
    return np.stack(crops)


def lists():
    """How many descriptors of lists in memory are open."""
    return sum("memfd:stoker-list" in os.readlink(f"/proc/self/fd/{fd}")
               for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}"))


def test_a_list_of_paths(node, samples):
    random.Random(1).shuffle(samples)
    paths, labels = [path for path, _ in samples], [label for _, label in samples]
    forms = {"pairs": (samples, None), "lists": (paths, labels),
             "arrays": (np.array(paths), np.array(labels)),
             "objects": ([Path(p) for p in paths], tuple(labels)),
             "bytes": ([os.fsencode(p) for p in paths], [np.int32(n) for n in labels])}
    for name, (dataset, given) in forms.items():
        images, found = epoch(node.loader(dataset, labels=given, **RESIZE))
        assert np.array_equal(images, pixels(paths)), name
        assert list(found) == labels and found.dtype == np.int64, name


def test_a_list_without_labels(node, samples):
    paths = [path for path, _ in samples]
    loader = node.loader(paths, **RESIZE)
    images, labels = epoch(loader)
    assert np.array_equal(images, pixels(paths)) and not labels.any() and not loader.classes


def test_names_of_classes(node, samples):
    names = ["eel", "Cat", "7"]
    loader = node.loader([path for path, _ in samples], labels=[names[n] for _, n in samples],
                         **RESIZE)
    assert loader.classes == sorted(names)
    assert list(epoch(loader)[1]) == [sorted(names).index(names[n]) for _, n in samples]
    hot = node.loader([path for path, _ in samples], labels=[names[n] for _, n in samples],
                      one_hot=True, **RESIZE)
    assert np.array_equal(epoch(hot)[1].argmax(axis=1), epoch(loader)[1])


def test_masks_are_no_labels(node, folder, samples):
    """Pairs of pictures would have a class for each mask."""
    paths = [path for path, _ in samples]
    for dataset, labels in ((list(zip(paths, paths)), None), (zip(paths, paths), None),
                            (paths, paths), (paths, [Path(path) for path in paths]),
                            (paths, np.array(paths))):
        with pytest.raises(ValueError, match="label of entry 0 is a picture.*were masks meant.*"
                                             '"mask": "a.png"'):
            node.loader(dataset, labels=labels, **RESIZE)
    with pytest.raises(TypeError, match="is a folder.*stoker.Mix.*masks"):
        node.loader((folder, folder), **RESIZE)
    _, labels = epoch(node.loader(zip(paths, range(len(paths))), **RESIZE))
    assert list(labels) == list(range(len(paths)))


def test_labels_of_numbers(node, samples):
    paths = [path for path, _ in samples]
    wide = np.random.default_rng(3).normal(size=(len(paths), 5)).astype("float32")
    found = epoch(node.loader(paths, labels=wide, **RESIZE))[1]
    assert found.dtype == np.float32 and np.array_equal(found, wide)
    torch = pytest.importorskip("torch")
    found = epoch(node.loader(paths, labels=torch.arange(len(paths)), **RESIZE))[1]
    assert list(found) == list(range(len(paths)))


def test_relative_paths(node, samples, folder, monkeypatch):
    monkeypatch.chdir(folder)
    relative = [os.path.relpath(path, folder) for path, _ in samples]
    images, _ = epoch(node.loader(relative, **RESIZE))
    assert np.array_equal(images, pixels(path for path, _ in samples))


def test_the_same_list_resumes(node, samples, folder, tmp_path):
    """A list of another copy is the same dataset, and the same stream."""
    more = {**RESIZE, "shuffle": True, "seed": 3}
    first = node.loader(samples, **more)
    batches = first.batches()
    next(batches)
    state = first.state_dict()
    rest = [batch.images.copy() for batch in batches]
    moved = tmp_path / "moved"
    os.symlink(folder, moved)
    second = node.loader([(path.replace(folder, str(moved)), label) for path, label in samples],
                         **more)
    second.load_state_dict(state)
    for one, other in zip(rest, second.batches()):
        assert np.array_equal(one, other.images)
    other = node.loader(samples[:-1], **more)
    with pytest.raises(stoker.TokenError, match="dataset"):
        other.load_state_dict(state)


def test_the_memory_of_a_list(node, samples, tmp_path, monkeypatch):
    """It lasts as long as its loader, and no longer; also of one that was refused. No file has it,
    so none is left when the process is killed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    loader = node.loader(samples, **RESIZE)
    assert lists() > 0
    loader.close()
    del loader
    gc.collect()
    assert lists() == 0
    with pytest.raises(stoker.RequestError):
        node.loader(samples, batch_size=4, transforms=[stoker.CenterCrop(8)], fields=["nothing"])
    gc.collect()
    assert lists() == 0
    assert node.fit(samples, transforms=[stoker.CenterCrop(8)])["samples"] == len(samples)
    assert lists() == 0


def test_lists_are_parts_of_a_mix(node, samples, folder):
    mix = stoker.Mix([samples[:5], samples[5:]])
    images, labels = epoch(node.loader(mix, **RESIZE))
    assert np.array_equal(images, pixels(path for path, _ in samples))
    assert list(labels) == [label for _, label in samples]


@pytest.mark.parametrize("dataset, labels, words", [
    ([], None, "the list of paths is empty"),
    (["/a", 3], None, "entry 1 of the list must be a path, not int"),
    (["/a", ""], None, "entry 1 of the list is an empty path"),
    (["/a", "s3://b"], None, "entry 1 of the list is a URL"),
    (["/a", "/b"], [1], "there are 1 labels for 2 paths"),
    (["/a", "/b"], {"/a": 1, "/b": 2}, "a mapping gives"),
    (["/a", "/b"], {"/a", "/b"}, "in the order of the paths"),
    (["/a", "/b"], "ab", "in the order of the paths"),
    (["/a", "/b"], b"ab", "in the order of the paths"),
    ([("/a", 1), "/b"], None, "entry 1 of the list is '/b', and the first is a pair"),
    ([("/a", 1)], [1], "leave out labels="),
    (["/a"], [None], "the label of entry 0 is None"),
    (["/a"], [float("nan")], "the label of entry 0 is nan"),
    (["/a"], [True], "the label of entry 0 is True"),
    (["/a\udcff"], None, "is not UTF-8"),
    (["/tmp", "/usr"], None, "entry 0 of the list is a folder, /tmp: .* give a stoker.Mix"),
    ("/a", [1], "labels= goes with a list of paths"),
])
def test_lists_that_are_none(node, dataset, labels, words):
    with pytest.raises((TypeError, ValueError), match=words):
        node.loader(dataset, labels=labels, **RESIZE)
    assert lists() == 0


def test_labels_of_two_sorts(node, samples):
    paths = [path for path, _ in samples][:2]
    with pytest.raises(stoker.DatasetError, match="list.jsonl:2: the label is the name of a class"):
        node.loader(paths, labels=[1, "cat"], **RESIZE)


def test_columns(node, samples, folder, tmp_path):
    """A table with names of its own, and columns that nobody needs."""
    with open(tmp_path / "table.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "file", "species", "note"])
        rows.writerows([n, path, f"s{9 - label}", "x, y"]
                       for n, (path, label) in enumerate(samples))
    loader = node.loader({"path": tmp_path / "table.csv", "root": folder,
                          "columns": {"path": "file", "label": "species"}}, **RESIZE)
    images, labels = epoch(loader)
    assert np.array_equal(images, pixels(path for path, _ in samples))
    assert loader.classes == ["s7", "s8", "s9"]
    assert list(labels) == [2 - label for _, label in samples]
    with pytest.raises(ValueError, match="columns must be"):
        node.loader({"path": tmp_path / "table.csv", "columns": {"lable": "x"}}, **RESIZE)
    with pytest.raises(stoker.DatasetError, match="label_column tells which column"):
        node.loader({"path": tmp_path / "table.csv", "root": folder,
                     "columns": {"path": "file", "label": "spezies"}}, **RESIZE)


def test_absolute_paths_elsewhere(node, samples, tmp_path):
    (tmp_path / "list.jsonl").write_text(json.dumps({"path": samples[0][0], "label": 1}))
    with pytest.raises(stoker.DatasetError, match="not below the dataset's root"):
        node.loader(tmp_path / "list.jsonl", **RESIZE)


@pytest.fixture
def photos(tmp_path):
    """Five pictures in a folder without classes, one of them deeper."""
    home = tmp_path / "photos"
    (home / "more").mkdir(parents=True)
    draw = np.random.default_rng(5)
    for name in ("b.png", "a.JPG", "more/0.png", "c.webp", "d.jpeg"):
        image = Image.fromarray(draw.integers(0, 256, (20, 24, 3), "uint8"))
        image.save(home / name, **({"lossless": True} if "webp" in name else {}))
    return home


def test_a_folder_without_classes(node, photos):
    with pytest.raises(stoker.DatasetError, match="there is no image in the class folder more|"
                                                  "kind = flat"):
        node.loader(photos / "more", **RESIZE)
    loader = node.loader({"path": photos, "kind": "flat"}, **RESIZE)
    images, labels = epoch(loader)
    paths = [photos / name for name in ("a.JPG", "b.png", "c.webp", "d.jpeg", "more/0.png")]
    assert np.array_equal(images, pixels(paths))
    assert not labels.any() and loader.classes == []
    assert loader.paths(range(5)) == [str(path.relative_to(photos)) for path in paths]


def test_what_is_not_decoded(node, photos, caplog):
    """Said once, at the attach, by the names; then, where it is met, by the content."""
    home = photos / "class"
    home.mkdir()
    for number in range(3):
        (home / f"{number}.heic").write_bytes(b"\0\0\0\x18ftypheic" + bytes(50))
    Image.new("RGB", (20, 20)).save(home / "x.tif")
    dataset = {"path": photos, "kind": "flat"}
    with caplog.at_level("WARNING", "stoker"):
        loader = node.loader(dataset, bad_samples="error", **RESIZE)
    [record] = caplog.records
    assert "3 of 9 files are .heic, which stoker does not decode" in record.getMessage()
    assert len(list(loader.batches()))
    caplog.clear()
    paths = sorted(str(path) for path in home.iterdir())
    with caplog.at_level("WARNING", "stoker"):
        loader = node.loader(paths, **RESIZE)
    assert "3 of 4 files are .heic" in caplog.records[0].getMessage()
    with pytest.raises(stoker.SampleError, match="HEIC"):
        list(loader.batches())


@pytest.mark.parametrize("name, brands", [
    ("HEIC", b"heic\0\0\0\0mif1heic"), ("HEIC", b"heix\0\0\0\0mif1heix"),
    ("HEIC", b"mif1\0\0\0\0mif1heic"), ("HEIF", b"mif1\0\0\0\0mif1miaf")])
def test_another_format_under_the_name_of_a_jpeg(node, photos, name, brands):
    """As telephones write them."""
    home = photos / "class"
    home.mkdir()
    for number in range(2):
        (home / f"{number}.jpg").write_bytes(b"\0\0\0\x18ftyp" + brands + bytes(50))
    loader = node.loader(str(photos), bad_samples="error", **RESIZE)
    words = f"class/0.jpg.* is {name}, which stoker does not decode: convert it to JPEG, PNG"
    with pytest.raises(stoker.SampleError, match=words):
        list(loader.batches())
    with pytest.raises(stoker.PipelineError, match=f"1.jpg: is {name}, which stoker does not"):
        node.loader({"path": str(home), "kind": "flat"}, batch_size=1)


@pytest.mark.parametrize("ending", ["png", "tif", "pgm"])
def test_grey_of_16_bits_is_said(node, folder, tmp_path, caplog, ending):
    """It is clipped, as by Pillow: at the attach, with a file, whatever the transforms; once it is
    met, if the first picture is another one."""
    wide = Image.fromarray((np.arange(24 * 24, dtype=np.uint16) * 100).reshape(24, 24))
    home = tmp_path / "deep"
    home.mkdir()
    if ending == "pgm":
        data = np.asarray(wide).astype(">u2").tobytes()
        (home / "a.pgm").write_bytes(b"P5 24 24 65535\n" + data)
    else:
        wide.save(home / f"a.{ending}")
    dataset = {"path": home, "kind": "flat"}
    for options in (PLAIN, RESIZE):
        with caplog.at_level("WARNING", "stoker"):
            loader = node.loader(dataset, **options)
        [record] = caplog.records
        assert f"a.{ending} is grey of 16 bits, and what is above 255 becomes 255" in record.message
        caplog.clear()
        loader.close()
    Image.new("RGB", (24, 24)).save(home / "0.png")
    loader = node.loader(dataset, **RESIZE)
    assert not caplog.records
    images, _ = epoch(loader)
    with node.loader(dataset, **RESIZE):
        assert f"a.{ending} is grey of 16 bits" in caplog.records[0].message


def test_nothing_is_said_of_a_good_one(node, folder, caplog):
    with caplog.at_level("WARNING", "stoker"):
        node.loader(folder, **RESIZE)
    assert not caplog.records


def test_pictures_of_one_size(node, folder, samples):
    """Without a crop they come out as they are; what the transforms make of them is one size."""
    paths = [path for path, _ in samples]
    images, _ = epoch(node.loader(folder, **PLAIN))
    assert np.array_equal(images, pixels(paths, 24))
    images, _ = epoch(node.loader(folder, **PLAIN, transforms=[stoker.Pad(2)]))
    assert images.shape[1:] == (28, 28, 3)
    images, _ = epoch(node.loader(folder, **PLAIN, transforms=[stoker.Resize(12)]))
    assert images.shape[1:] == (12, 12, 3)
    for more in {"shuffle": True}, {"sampler": stoker.samplers.Split(0.2, "training")}:
        order = [int(index) for batch in node.loader(folder, **{**PLAIN, **more}).batches()
                 for index in batch.index]
        assert len(order) in (21, 18) and len(set(order)) == len(order)


def test_pictures_of_several_sizes(node, photos):
    """Found out at the attach, with the names of two; one that is overlooked is a bad sample."""
    Image.new("RGB", (20, 24)).save(photos / "e.png")
    dataset = {"path": photos, "kind": "flat"}
    with pytest.raises(stoker.PipelineError, match=r"one size: add .* and e.png 20 x 24\)"):
        node.loader(dataset, **PLAIN)
    assert epoch(node.loader(dataset, **RESIZE))[0].shape == (6, 8, 8, 3)
    for number in range(40):
        Image.new("RGB", (20, 20) if number == 2 else (24, 20)).save(photos / f"f{number:02}.png")
    (photos / "e.png").unlink()
    (photos / "a.JPG").write_bytes(b"no picture at all")
    loader = node.loader(dataset, **PLAIN)
    with pytest.raises(stoker.SampleError, match="a.JPG"):
        next(loader.batches())
    loader = node.loader(dataset, **PLAIN, subset=(5, 9))
    with pytest.raises(stoker.SampleError, match=r"f02.png.*20 x 20.*24 x 20: where pictures "
                                                 r"differ in size, add Resize"):
        next(loader.batches())
    substituted, _ = epoch(node.loader(dataset, **PLAIN, bad_samples="substitute"))
    assert substituted.shape == (45, 20, 24, 3)


def test_one_size_after_exif(node, tmp_path):
    """The size is that of the turned picture."""
    for number in range(3):
        image = Image.new("RGB", (30, 20), (number * 9, 0, 0))
        tag = Image.Exif()
        tag[0x112] = 6
        image.save(tmp_path / f"{number}.jpg", exif=tag)
    dataset = {"path": tmp_path, "kind": "flat"}
    assert epoch(node.loader(dataset, **PLAIN))[0].shape == (3, 20, 30, 3)
    turned = node.loader(dataset, exif_orientation=True, **PLAIN)
    assert epoch(turned)[0].shape == (3, 30, 20, 3)


GRAY = {
    "first": lambda t: [t.Grayscale(), t.Resize((9, 11)), t.Pad(2, fill=7)],
    "last": lambda t: [t.Resize((9, 11)), t.Pad(2, fill=(9, 200, 31)), t.Grayscale(1)],
    "composed": lambda t: [t.Compose([t.CenterCrop(12), t.Compose([t.Grayscale()])])],
    "twice": lambda t: [t.CenterCrop(12), t.Grayscale(3), t.Grayscale(1)],
    "coloured": lambda t: [t.Grayscale(), t.CenterCrop(12), t.RandomInvert(1.0),
                           t.RandomPosterize(3, 1.0), t.RandomEqualize(1.0),
                           t.RandomAutocontrast(1.0), t.RandomHorizontalFlip(1.0)],
}


@pytest.mark.parametrize("name", GRAY)
def test_one_channel(node, photos, name):
    """As torchvision makes it of pictures: bytes, numbers, and both layouts."""
    theirs = pytest.importorskip("torchvision.transforms")
    Image.open(photos / "b.png").convert("L").save(photos / "e.png")
    dataset = {"path": photos, "kind": "flat"}
    paths = [photos / n for n in ("a.JPG", "b.png", "c.webp", "d.jpeg", "e.png", "more/0.png")]
    make = theirs.Compose(GRAY[name](theirs))
    expected = [make(Image.open(path).convert("RGB")) for path in paths]
    assert {image.mode for image in expected} == {"L"}
    expected = np.stack([np.asarray(image) for image in expected])
    ours = GRAY[name](stoker)
    images, _ = epoch(node.loader(dataset, **PLAIN, transforms=ours))
    assert images.shape == (6, *expected.shape[1:], 1)
    assert np.array_equal(images[..., 0], expected)
    floats = np.stack([theirs.Normalize((0.4,), (0.3,))(theirs.ToTensor()(Image.fromarray(image)))
                       .numpy() for image in expected])
    ours += [stoker.ToTensor(), stoker.Normalize((0.4,), (0.3,))]
    for dtype in "float32", "float16":
        images, _ = epoch(node.loader(dataset, batch_size=4, shuffle=False, transforms=ours,
                                      dtype=dtype))
        assert images.shape == floats.shape and images.dtype == dtype
        assert np.array_equal(images, floats.astype(dtype))
    views, _ = epoch(node.loader(dataset, **PLAIN, views=2, transforms=GRAY[name](stoker)))
    assert np.array_equal(views[:, 1, ..., 0], expected)


@pytest.mark.parametrize("transforms, words", [
    ([stoker.RandomApply([stoker.Grayscale()])], "a Grayscale inside of another transform must"),
    ([stoker.Grayscale(2)], "must be 1 or 3"),
    ([stoker.Grayscale(), stoker.ToTensor(), stoker.Normalize((.4, .5, .4), (1, 1, 1))],
     "Normalize has 3 channels and Grayscale leaves one"),
    ([stoker.Grayscale(), stoker.Pad(1, fill=(1, 2, 3))], "the 'fill' of Pad has 3 channels"),
    ([stoker.Grayscale(), stoker.ToTensor(), stoker.RandomErasing()],
     "RandomErasing needs three channels"),
])
def test_what_one_channel_cannot_be(node, folder, transforms, words):
    with pytest.raises(stoker.PipelineError, match=words):
        node.loader(folder, batch_size=4, transforms=transforms)


def test_statistics_are_of_three_channels(node, folder):
    with pytest.raises(stoker.PipelineError, match="statistics are of three channels"):
        node.fit(folder, transforms=[stoker.CenterCrop(8), stoker.Grayscale()])


def test_the_parent_of_a_link(node, tmp_path):
    """".." is the parent of where the link before it leads, as for open()."""
    for side, colour in ("near", 1), ("far", 200):
        (tmp_path / side / "ds/c").mkdir(parents=True)
        (tmp_path / side / "deep").mkdir()
        Image.new("RGB", (8, 8), (colour, 0, 0)).save(tmp_path / side / "ds/c/0.png")
    (tmp_path / "near/link").symlink_to(tmp_path / "far/deep")
    place = f"{tmp_path}/near/link/../ds"
    for dataset in (place, [f"{place}/c/0.png"], [f"{tmp_path}/near/ds/c/0.png",
                                                  f"{place}/c/../c//./0.png"]):
        images, _ = epoch(node.loader(dataset, transforms=[], dtype="uint8", batch_size=1,
                                      shuffle=False))
        assert images[-1].max() == 200
    assert absolute(f"{place}/c") == f"{tmp_path}/far/ds/c"
    assert absolute(f"{tmp_path}/near/none/../ds") == f"{tmp_path}/near/none/../ds"
    assert absolute(f"{tmp_path}//near/./ds/") == f"{tmp_path}/near/ds"
    assert absolute("x/y") == os.path.abspath("x/y") and absolute("/..") == "/"


def test_files_that_the_daemon_does_not_read_have_advice(near, tmp_path):
    for name, words in (("c.json", "stoker.convert.coco"), ("x.mat", "stoker.Source"),
                        ("x.zip", "unpack it"), ("x.dat", None)):
        (tmp_path / name).write_bytes(b"{}")
        with pytest.raises(stoker.DatasetError) as error:
            near.loader(str(tmp_path / name), batch_size=1)
        assert words is None or words in str(error.value)
        assert str(tmp_path / name) in str(error.value)


def test_a_missing_file_of_a_list_is_named_by_its_whole_path(near, folder, tmp_path):
    there = next(str(path) for path in Path(folder).rglob("*.png"))
    missing = str(tmp_path / "none.png")
    loader = near.loader([there, missing], batch_size=2, transforms="Resize((4, 4))")
    with pytest.raises(stoker.SampleError) as error:
        next(iter(loader))
    assert repr(missing) in str(error.value)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    with pytest.raises(ValueError, match="stoker.connect.start=True"):
        near.loader([there], batch_size=1, start=True)
