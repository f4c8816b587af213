# SPDX-License-Identifier: MIT
"""stokerctl preview: a sheet of what a trainer with the same transforms and seed gets."""

import json
import sys
from pathlib import Path

import numpy
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "dataset"))

import published

GAP, TEXT = 4, 14
TRAIN = [{"name": "RandomResizedCrop", "size": 40}, {"name": "RandomHorizontalFlip"}]
WORDS = ("RandomResizedCrop(size=40) | RandomHorizontalFlip() | "
         "Normalize(mean=[0.5, 0.4, 0.3], std=[0.2, 0.3, 0.4])")


def read_first(daemon, dataset, count, **fields):
    """The same samples, as a reader gets them."""
    with daemon.connect() as peer:
        peer.attach(dataset, transforms=TRAIN, dtype="uint8", layout="NHWC", epochs=1,
                    batch_size=count, resize="pillow-13", **fields)
        return peer.ring.read(peer.expect("batch").fields["runs"])


def tile(sheet, row, column, side=40):
    top = GAP + row * (side + GAP + TEXT)
    left = GAP + column * (side + GAP)
    return sheet[top:top + side, left:left + side], sheet[top + side:top + side + TEXT,
                                                          left:left + side]


def test_without_transforms(daemon, tmp_path):
    """With an empty list: samples of one size need no transforms."""
    pictures = numpy.random.default_rng(3).integers(0, 256, (4, 24, 16, 3)).astype("uint8")
    numpy.save(tmp_path / "x.npy", pictures)
    out = tmp_path / "sheet.png"
    values = json.loads(daemon.ctl("--json", "preview", tmp_path / "x.npy", "-t", " ", "-o", out,
                                   "--rows", 1, "--cols", 4).stdout)
    with Image.open(out) as picture:
        sheet = numpy.asarray(picture)
    for number, sample in enumerate(values["samples"]):
        left = GAP + number * (16 + GAP)
        assert numpy.array_equal(sheet[GAP:GAP + 24, left:left + 16], pictures[sample["index"]])


def test_the_sheet_is_of_the_samples(daemon, photos, tmp_path):
    out = tmp_path / "sheet.png"
    done = daemon.ctl("--json", "preview", photos, "-t", WORDS, "-o", out, "--rows", 2, "--cols",
                      5, "--seed", 7, "--epoch", 3)
    values = json.loads(done.stdout)
    there = read_first(daemon, photos, 10, order_seed=7, augment_seed=7, epoch=3)
    with Image.open(out) as picture:
        sheet = numpy.asarray(picture)
    assert sheet.shape == (2 * (40 + GAP + TEXT) + GAP, 5 * (40 + GAP) + GAP, 3)
    for number in range(10):
        pixels, text = tile(sheet, number // 5, number % 5)
        assert numpy.array_equal(pixels, there["image"][number])
        assert (text == 0).any() and (text == 255).any()
    assert [sample["index"] for sample in values["samples"]] == there["index"].tolist()
    assert [sample["label"] for sample in values["samples"]] == there["label"].tolist()
    classes = sorted(path.name for path in photos.iterdir() if path.is_dir())
    names = [classes[label] for label in there["label"]]
    assert [sample["class"] for sample in values["samples"]] == names
    # One label of two pictures looks the same, another one does not.
    labels = there["label"].tolist()
    written = {}
    for number, label in enumerate(labels):
        text = tile(sheet, number // 5, number % 5)[1]
        assert numpy.array_equal(written.setdefault(label, text), text)
    assert len({text.tobytes() for text in written.values()}) == len(written)
    words = daemon.ctl("preview", photos, "-t", WORDS, "-o", out, "--rows", 2, "--cols", 5,
                       "--seed", 7, "--epoch", 3).stdout
    assert words.split() == names and len(words.splitlines()) == 2
    daemon.settle()


def test_crops_of_a_sample(daemon, photos, tmp_path):
    """Views are one below the other: five of 20 rows are as high as one of 100."""
    out = tmp_path / "sheet.png"
    crops = [{"name": "FiveCrop", "size": [20, 40]}]
    daemon.ctl("preview", photos, "-t", "FiveCrop(size=[20, 40])", "-o", out, "--rows", 1)
    with daemon.connect() as peer, Image.open(out) as picture:
        peer.attach(photos, transforms=crops, dtype="uint8", layout="NHWC", batch_size=8)
        there = peer.ring.read(peer.expect("batch").fields["runs"])["image"]
        sheet = numpy.asarray(picture)
    assert sheet.shape[0] == 100 + 2 * GAP + TEXT and there.shape == (8, 5, 20, 40, 3)
    for number in range(8):
        left = GAP + number * (40 + GAP)
        assert numpy.array_equal(sheet[GAP:GAP + 100, left:left + 40],
                                 there[number].reshape(100, 40, 3))


def test_fewer_samples_than_places(daemon, photos, tmp_path):
    """An epoch of 60 on a sheet of 64; and the default transforms show the image."""
    out = tmp_path / "sheet.png"
    values = json.loads(daemon.ctl("--json", "preview", photos, "-o", out, "--rows", 8).stdout)
    assert len(values["samples"]) == 60 and (values["rows"], values["columns"]) == (8, 8)
    with Image.open(out) as picture:
        sheet = numpy.asarray(picture)
    assert (tile(sheet, 7, 7, 128)[0] == 255).all() and (tile(sheet, 7, 3, 128)[0] < 255).any()


def test_what_cannot_be(daemon, photos, tmp_path):
    out = tmp_path / "sheet.png"
    for arguments, words in (
            ((photos,), "-o sheet.png"),
            ((photos, "-o", out, "--rows", "0"), "at least 1"),
            ((photos, "-o", out, "--cols", "101"), "--cols: '101' is not a number from 0 to 100"),
            ((photos, "-o", out, "--seed", "-1"), "--seed: '-1'"),
            ((photos, "-o", tmp_path / "none" / "a.png"), "cannot write"),
            ((photos, "-o", out, "-t", "Blur()"), "Blur"),
            ((tmp_path / "nowhere", "-o", out), "nowhere")):
        done = daemon.ctl("preview", *arguments, check=False)
        assert done.returncode != 0 and words in done.stderr, done
    done = daemon.ctl("status", "--rows", "4", check=False)
    assert done.returncode == 64 and "--rows is for preview, not for status" in done.stderr
    done = daemon.ctl("preview", photos, "--position", "4", check=False)
    assert done.returncode == 64 and "--position is for replay, not for preview" in done.stderr
    daemon.settle()


SIDE = 16
AUGMENT = {
    "keras": "ImageDataGenerator(rotation_range=20, horizontal_flip=True)",
    "rescaled": "ImageDataGenerator(rescale=0.00392156862745098)",
    "alpha": "ImageDataGenerator(color_mode=rgba)",
    "standard": "ImageDataGenerator(samplewise_center=True, samplewise_std_normalization=True)",
    "erased": "RandomHorizontalFlip() | ToTensor() | Normalize(mean=[0.5, 0.4, 0.3], "
              "std=[0.2, 0.3, 0.4]) | RandomErasing(p=1, value='random')",
    "mixed": "RandomHorizontalFlip() | MixUp(alpha=1.0)",
    "cut": "CutMix(alpha=1.0)",
}


@pytest.fixture(name="arrays", scope="module")
def fixture_arrays(tmp_path_factory):
    """{name: path} of the same images in several kinds of datasets, and the images."""
    folder = tmp_path_factory.mktemp("arrays")
    images = published.pictures(12, (SIDE, SIDE, 3))
    large, labels = published.pictures(12, (32, 32, 3), 2), numpy.arange(12) % 10
    numpy.save(folder / "x.npy", images)
    numpy.savez(folder / "x.npz", x_train=images, y_train=labels, x_test=images[::-1],
                y_test=labels[::-1])
    published.put(folder / "cifar.tar.gz", {
        **published.cifar10(large, labels, 2),
        **published.cifar10(large[::-1], labels[::-1], 2, test=True)})
    published.put(folder / "mnist", {
        **published.mnist(large[..., 0], labels),
        **published.mnist(large[::-1, ..., 0], labels[::-1], test=True)})
    gray = numpy.repeat(large[..., :1], 3, axis=3)
    return {"npy": (folder / "x.npy", images, numpy.arange(12)),
            "npz": (folder / "x.npz", images, labels),
            "cifar": (folder / "cifar.tar.gz", large, labels),
            "mnist": (folder / "mnist", gray, labels)}


def preview(daemon, out, dataset, *arguments):
    """(pixels of the sheet, what stokerctl says)"""
    done = daemon.ctl("--json", "preview", dataset, "-o", out, "--rows", 2, "--cols", 4,
                      *arguments)
    with Image.open(out) as picture:
        return numpy.asarray(picture), json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["npy", "npz", "cifar", "mnist"])
@pytest.mark.parametrize("split", [None, "train", "test"])
def test_arrays(daemon, arrays, tmp_path, kind, split):
    """Pixels in memory, unchanged; also of the other split."""
    path, images, labels = arrays[kind]
    if split and kind == "npy":
        done = daemon.ctl("preview", path, "-o", tmp_path / "a.png", "--split", split, check=False)
        assert done.returncode != 0 and "'split' is not for the kind 'npy'" in done.stderr
        return
    if split == "test":
        images, labels = images[::-1], labels[::-1]
    side = images.shape[1]
    sheet, values = preview(daemon, tmp_path / "a.png", path, "-t", "RandomHorizontalFlip(p=0)",
                            *(["--split", split] if split else []))
    for number, sample in enumerate(values["samples"]):
        pixels = tile(sheet, number // 4, number % 4, side)[0]
        assert numpy.array_equal(pixels, images[sample["index"]])
        assert sample["label"] == labels[sample["index"]]


@pytest.mark.parametrize("name", AUGMENT)
def test_what_makes_numbers(daemon, arrays, tmp_path, name):
    """Output in fractions is shown as an image, too."""
    path, images, labels = arrays["npz"]
    sheet, values = preview(daemon, tmp_path / "a.png", path, "-t", AUGMENT[name])
    assert len(values["samples"]) == 8
    for number, sample in enumerate(values["samples"]):
        image = images[sample["index"]]
        pixels = tile(sheet, number // 4, number % 4, SIDE)[0].astype(int)
        if name in ("rescaled", "alpha"):
            assert numpy.array_equal(pixels, image)
        elif name == "standard":
            least, most = int(image.min()), int(image.max())
            assert abs(pixels - (image.astype(float) - least) * 255 / (most - least)).max() <= 1
        else:
            assert pixels.std() > 40 and pixels.max() > 200 and pixels.min() < 50
        if name in ("mixed", "cut"):
            assert len(sample["label"]) == 10 and abs(sum(sample["label"]) - 1) < 1e-3
        else:
            assert sample["label"] == labels[sample["index"]]
    words = daemon.ctl("preview", path, "-o", tmp_path / "a.png", "--rows", 2, "--cols", 4, "-t",
                       AUGMENT[name]).stdout.split()
    assert [int(word) for word in words] == [
        int(numpy.argmax(sample["label"])) if name in ("mixed", "cut") else sample["label"]
        for sample in values["samples"]]
    daemon.settle()


def test_erased_is_what_it_is(daemon, arrays, tmp_path):
    """Without a random value: the image, black where it was erased."""
    path, images, _ = arrays["npy"]
    sheet, values = preview(daemon, tmp_path / "a.png", path, "-t", "RandomErasing(p=1)")
    for number, sample in enumerate(values["samples"]):
        pixels = tile(sheet, number // 4, number % 4, SIDE)[0]
        black = (pixels == 0).all(axis=2)
        assert black.any() and numpy.array_equal(pixels[~black], images[sample["index"]][~black])


def test_views_of_numbers(daemon, arrays, tmp_path):
    """One below the other, as with bytes."""
    path, images, _ = arrays["npz"]
    sheet, values = preview(daemon, tmp_path / "a.png", path, "-t",
                            "FiveCrop(size=8) | RandomErasing(p=0)")
    for number, sample in enumerate(values["samples"]):
        image = images[sample["index"]]
        top = GAP + number // 4 * (40 + GAP + TEXT)
        left = GAP + number % 4 * (8 + GAP)
        assert numpy.array_equal(sheet[top:top + 40, left:left + 8], numpy.concatenate(
            [image[:8, :8], image[:8, 8:], image[8:, :8], image[8:, 8:], image[4:12, 4:12]]))


def test_replay_of_numbers(daemon, arrays, tmp_path):
    path, images, _ = arrays["npy"]
    transforms = [{"name": "ImageDataGenerator", "rescale": 1 / 255}]
    with daemon.connect() as peer:
        answer = peer.attach(str(path), transforms=transforms, shuffle=False, batch_size=4)
        assert answer.name == "attached", answer
        daemon.ctl("replay", answer.fields["stream"], "--epoch", 0, "--position", 3, "-o",
                   tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as picture:
        assert numpy.array_equal(numpy.asarray(picture), images[3])


def test_a_folder_without_classes(daemon, photos, tmp_path):
    """Each command that takes a dataset takes its kind."""
    folder = next(path for path in sorted(photos.iterdir()) if path.is_dir())
    count = len(list(folder.iterdir()))
    done = daemon.ctl("index", folder, check=False)
    assert done.returncode != 0 and "kind = flat" in done.stderr
    assert json.loads(daemon.ctl("--json", "index", folder, "--kind", "flat").stdout
                      )["samples"] == count
    fit = daemon.ctl("--json", "fit", folder, "--kind", "flat", "-t", "CenterCrop(size=16)")
    assert json.loads(fit.stdout)["samples"] == count
    bench = daemon.ctl("bench", folder, "--kind", "flat", "-b", "1", "--seconds", "0.1")
    assert "images/s" in bench.stdout
    out = tmp_path / "flat.png"
    daemon.ctl("preview", folder, "--kind", "flat", "-o", out, "--rows", 1, "-t",
               WORDS.rpartition(" | ")[0])
    with daemon.connect() as peer:
        peer.attach("", dataset={"path": str(folder), "kind": "flat"}, transforms=TRAIN,
                    dtype="uint8", layout="NHWC", epochs=1, batch_size=8)
        there = peer.ring.read(peer.expect("batch").fields["runs"])
    with Image.open(out) as picture:
        sheet = numpy.asarray(picture)
    for number in range(8):
        assert numpy.array_equal(tile(sheet, 0, number)[0], there["image"][number])
    done = daemon.ctl("status", "--kind", "flat", check=False)
    assert done.returncode == 64 and "not for status" in done.stderr


def test_one_channel(daemon, photos, tmp_path):
    """A sheet of gray pictures, as libstoker gets them; Pillow says which gray."""
    out = tmp_path / "gray.png"
    daemon.ctl("preview", photos, "-t", "CenterCrop(size=40) | Grayscale(num_output_channels=1)",
               "-o", out, "--rows", 1)
    with daemon.connect() as peer:
        peer.attach(photos, transforms=[{"name": "CenterCrop", "size": 40}], dtype="uint8",
                    layout="NHWC", epochs=1, batch_size=8)
        there = peer.ring.read(peer.expect("batch").fields["runs"])["image"]
    with Image.open(out) as picture:
        sheet = numpy.asarray(picture.convert("L"))
    for number in range(8):
        assert numpy.array_equal(tile(sheet, 0, number)[0],
                                 numpy.asarray(Image.fromarray(there[number]).convert("L")))


def test_pictures_of_several_sizes(daemon, photos, tmp_path):
    """Buckets: a sheet has one size, and a sample its own."""
    sizes = [[24, 40], [40, 24], [32, 32]]
    transforms = [{"name": "Buckets", "sizes": sizes, "run": 8}]
    out = tmp_path / "a.png"
    with daemon.connect() as peer:
        answer = peer.attach(photos, transforms=transforms, dtype="uint8", layout="NHWC",
                             batch_size=4, epochs=1, page=2, accept_sizes=True,
                             resize="pillow-13")
        assert answer.name == "attached", answer
        batch = peer.expect("batch").fields
        there = peer.ring.read(**batch)["image"]
        daemon.ctl("replay", answer.fields["stream"], "--epoch", 0, "--position",
                   batch["position"] + 2, "-o", out)
    with Image.open(out) as picture:
        assert numpy.array_equal(numpy.asarray(picture), there[2])
    assert list(there.shape[1:3]) in sizes
    words = "Buckets(sizes=[(24, 40), (40, 24), (32, 32)])"
    daemon.ctl("preview", photos, "-t", words, "-o", out, "--rows", 1, "--cols", 2)
    with Image.open(out) as picture:
        assert (picture.height, picture.width) in {
            (height + 2 * GAP + TEXT, 2 * (width + GAP) + GAP) for height, width in sizes}
    bench = daemon.ctl("bench", photos, "-t", words, "-b", "2", "--seconds", "0.1")
    assert "images/s" in bench.stdout
