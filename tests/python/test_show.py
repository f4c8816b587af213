# SPDX-License-Identifier: MIT
"""loader.show(): the samples of a batch as images, for any range of numbers."""
import sys

import numpy as np
import pytest

import stoker
from stoker import _show

SIDE = 12
PLAIN = [stoker.Resize((SIDE, SIDE))]
NUMBERS = [*PLAIN, stoker.ToTensor(), stoker.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.25))]


@pytest.fixture(name="pyplot")
def fixture_pyplot(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    yield pyplot
    pyplot.close("all")


def shown(figure):
    """[(pixels, title)] of the cells that have an image."""
    return [(np.asarray(axis.images[0].get_array()), axis.get_title())
            for axis in figure.axes if axis.images]


@pytest.mark.parametrize("dtype,layout", [("uint8", "NHWC"), ("uint8", "NCHW"),
                                          ("float32", "NCHW"), ("float16", "NHWC"),
                                          ("bfloat16", "NCHW")])
def test_pictures_and_titles(near, folder, pyplot, dtype, layout):
    plain = near.loader(folder, batch_size=4, seed=5, transforms=PLAIN, dtype="uint8",
                        layout="NHWC")
    loader = near.loader(folder, batch_size=4, seed=5, dtype=dtype, layout=layout,
                         transforms=PLAIN if dtype == "uint8" else NUMBERS)
    figure = loader.show(rows=2, cols=5)
    tiles = shown(figure)
    assert len(tiles) == 10 and len(figure.axes) == 10
    tolerance = {"uint8": 0, "float32": 0, "float16": 1, "bfloat16": 2}[dtype]
    expected = [(image, f"class{label}") for batch in range(3)
                for image, label in zip(*plain.batch(0, batch))]
    for (tile, title), (image, name) in zip(tiles, expected):
        assert tile.shape == (SIDE, SIDE, 3) and tile.dtype == np.uint8
        assert np.abs(tile.astype(int) - image).max() <= tolerance and title == name
    assert loader.state_dict()["position"] == 0  # the loop is not disturbed
    other = shown(loader.show(rows=1, cols=4, epoch=3))
    assert [title for _, title in other] == [
        f"class{label}" for label in plain.batch(3, 0).labels]


def test_more_places_than_samples(near, folder, pyplot):
    loader = near.loader(folder, batch_size=4, transforms=NUMBERS)
    figure = loader.show(rows=5, cols=5)
    assert len(figure.axes) == 25 and len(shown(figure)) == 21
    assert all(not axis.axison for axis in figure.axes)


def test_without_matplotlib(near, folder, monkeypatch):
    loader = near.loader(folder, batch_size=4, transforms=NUMBERS)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="install it"):
        loader.show()
    with pytest.raises(ValueError, match="at least 1"):
        loader.show(rows=0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", ["keras", "standard", "erased", "random"])
def test_what_makes_numbers(near, folder, pyplot, name, dtype):
    """Lists that end in numbers: the image is shown as well as possible."""
    resize = [stoker.Resize((SIDE, SIDE))]
    transforms = {
        "keras": [*resize, stoker.ImageDataGenerator(rescale=1 / 255)],
        "standard": [*resize, stoker.ImageDataGenerator(samplewise_center=True,
                                                        samplewise_std_normalization=True)],
        "erased": [*NUMBERS, stoker.RandomErasing(p=1)],
        "random": [*NUMBERS, stoker.RandomErasing(p=1, value="random")]}[name]
    plain = near.loader(folder, batch_size=4, seed=5, transforms=PLAIN, dtype="uint8",
                        layout="NHWC")
    loader = near.loader(folder, batch_size=4, seed=5, dtype=dtype, transforms=transforms)
    for (tile, title), image, label in zip(shown(loader.show(rows=1, cols=4)),
                                           *plain.batch(0, 0)):
        image, off = image.astype(float), 2 if dtype == "bfloat16" else 1
        if name == "standard":
            image = (image - image.min()) * 255 / np.ptp(image)
        same = (np.abs(tile - image) <= off).all(axis=2)
        assert title == f"class{label}"
        if name in ("keras", "standard"):
            assert same.all()
        else:  # an area of 2 to 33 in a hundred was erased, in steps of a pixel
            assert 0.5 < same.mean() < 1


def test_views(near, folder, pyplot):
    """Views are shown side by side, each with the label of its sample."""
    crop = [stoker.Resize((SIDE, SIDE)), stoker.RandomCrop(6)]
    for views, transforms in ((3, crop), (5, [crop[0], stoker.FiveCrop(6)])):
        loader = near.loader(folder, batch_size=2, seed=5, dtype="uint8", transforms=transforms,
                             views=views if views == 3 else 1, layout="NHWC")
        images, labels = loader.batch(0, 0)
        assert images.shape == (2, views, 6, 6, 3)
        tiles = shown(loader.show(rows=1, cols=2 * views))
        assert np.array_equal([tile for tile, _ in tiles], images.reshape(-1, 6, 6, 3))
        assert [title for _, title in tiles] == [f"class{label}" for label in labels
                                                 for _ in range(views)]


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_arrays(near, tmp_path, pyplot, ending):
    images = np.random.default_rng(2).integers(0, 256, (6, 9, 9, 3), dtype=np.uint8)
    path = tmp_path / ("x." + ending)
    if ending == "npy":
        np.save(path, images)
    else:
        np.savez(path, x_train=images[:1], x_test=images, y_test=np.arange(6) % 2)
    dataset = str(path) if ending == "npy" else {"path": str(path), "split": "test"}
    loader = near.loader(dataset, batch_size=6, shuffle=False, transforms=[stoker.ToTensor()])
    tiles = shown(loader.show(rows=2, cols=3))
    assert np.array_equal([tile for tile, _ in tiles], images)
    assert [title for _, title in tiles] == (["0", "1", "2", "3", "4", "5"] if ending == "npy"
                                             else ["0", "1"] * 3)


def test_mixed(near, folder, pyplot):
    loader = near.loader(folder, batch_size=4, transforms=[*NUMBERS, stoker.MixUp(alpha=1.0)])
    _, labels = loader.batch(0, 0)
    for (tile, title), label in zip(shown(loader.show(rows=1, cols=4)), labels):
        assert tile.shape == (SIDE, SIDE, 3)
        assert title.startswith(f"class{int(np.argmax(label))}")


def test_numbers_that_are_no_pixels():
    """The ranges of Keras: 0 to 255, and standardised, scaled for each image."""
    whole = np.arange(2 * 4 * 4 * 3, dtype=np.float32).reshape(2, 4, 4, 3)
    assert np.array_equal(_show.pictures(whole, "NHWC", "float32", []), whole)
    assert np.array_equal(_show.pictures(whole / 255, "NHWC", "float32", []), whole)
    standard = _show.pictures((whole - 50) / 9, "NHWC", "float32", [])
    assert [(tile.min(), tile.max()) for tile in standard] == [(0, 255)] * 2
    flat = _show.pictures(np.full((1, 2, 2, 3), -3, np.float32), "NHWC", "float32", [])
    assert (flat == 0).all()


def test_labels_of_all_kinds():
    assert _show._title(np.int64(1), ["cat", "dog"]) == "dog"
    assert _show._title(np.int64(7), ["cat", "dog"]) == "7"
    assert _show._title(np.float32([0.25, 1, 2, 3, 4]), ["cat"]) == "0.25 1 2 3"
    assert _show._title(np.float32([0.25, 0.75]), ["cat", "dog"]) == "dog 0.75 cat 0.25"
    assert _show._title(np.float32([0, 1]), ["cat", "dog"]) == "dog"
