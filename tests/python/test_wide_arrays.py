# SPDX-License-Identifier: MIT
"""Arrays of uint16 and float32 as pictures: the batches are those of the same numbers in files,
geometry is that of Pillow's mode F and of torchvision's tensors."""
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import stoker
from stoker._in_memory import array_file

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
import wide  # noqa: E402

N, SIZE = 6, (29, 37)
WISH = {"batch_size": 4, "layout": "NHWC", "resize": "pillow-12", "timeout": 60}
MOVED = [stoker.RandomResizedCrop((23, 19), interpolation="bicubic"),
         stoker.RandomHorizontalFlip(), stoker.Pad((1, 2, 3, 4), fill=9),
         stoker.RandomCrop((17, 20))]


def numbers(channels=1, dtype="uint16"):
    random = np.random.default_rng(channels)
    shape = (N, *SIZE, channels)
    if dtype == "float32":
        return (random.normal(size=shape) * 1000).astype(dtype)
    return random.integers(0, 65535, shape, dtype=dtype, endpoint=True)


def read(near, dataset, transforms=(), **wish):
    with near.loader(dataset, transforms=[*transforms], **{**WISH, **wish}) as loader:
        return np.stack([image.copy() for batch in loader.batches() for image in batch["image"]])


def saved(folder, values):
    np.save(folder / "x.npy", values)
    return str(folder / "x.npy")


def filed(folder, values, write):
    names = [f"{n}.picture" for n in range(len(values))]
    for name, one in zip(names, values):
        (folder / name).write_bytes(write(one))
    (folder / "list.txt").write_text("".join(f"{name}\n" for name in names))
    return str(folder / "list.txt")


FORMS = [  # dtype of the array, ReadAs, dtype of the batch
    ("uint16", None, "uint16"), ("uint16", "uint16", "float32"), ("uint16", "uint16", "float16"),
    ("uint16", "float32", "float32"), ("float32", "float32", "float32"),
    ("float32", "float32", "bfloat16")]


@pytest.mark.parametrize("stored, read_as, dtype", FORMS)
def test_batches_are_those_of_files(near, tmp_path, stored, read_as, dtype):
    """PNG where it has such pictures, else TIFF; in and out of order, as pixels and as planes."""
    for channels in (1, 2, 3, 4, 7, 64):
        values = numbers(channels, stored)
        write = wide.png if stored == "uint16" and channels <= 4 else wide.tiff
        files, array = filed(tmp_path, values, write), saved(tmp_path, values)
        first = [stoker.ReadAs(read_as)] if read_as else []
        for wish in ({"seed": 3}, {"shuffle": False, "layout": "NCHW"}):
            for transforms in ([], MOVED):
                found, wanted = (read(near, data, first + transforms, dtype=dtype, **wish)
                                 for data in (array, files))
                assert found.dtype == wanted.dtype and np.array_equal(found, wanted), channels


@pytest.mark.parametrize("name", ["box", "bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_resizes_are_those_of_pillow(near, tmp_path, name, dtype):
    """Mode F, by Pillow itself; I;16 by tests/reference/wide.py, since many Pillows lack it."""
    values = numbers(2, dtype)
    filters = {"box": 4, "bilinear": 2, "bicubic": 3, "lanczos": 1}
    for height, width in ((17, 50), (60, 11), (3, 5)):
        found = read(near, saved(tmp_path, values), [
            stoker.ReadAs(dtype), stoker.Resize((height, width), interpolation=name)],
            dtype=dtype, shuffle=False)
        for position, one in enumerate(values):
            for channel in range(2):
                plane = np.ascontiguousarray(one[..., channel])
                wanted = wide.resize(plane, (height, width), name) if dtype == "uint16" else \
                    np.asarray(Image.fromarray(plane).resize((width, height), filters[name]))
                assert np.array_equal(found[position, ..., channel], wanted)


def test_geometry_and_normalize_are_those_of_torchvisions_tensors(near, tmp_path):
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchvision.transforms.functional")
    values = numbers(3, "float32")
    mean, std = [40.0, 50.0, 60.0], [900.0, 1000.0, 1100.0]
    found = read(near, saved(tmp_path, values), [
        stoker.ReadAs("float32"), stoker.CenterCrop((20, 21)), stoker.RandomHorizontalFlip(1.0),
        stoker.RandomVerticalFlip(1.0), stoker.Pad((1, 2, 3, 4), fill=7), stoker.ToTensor(),
        stoker.Normalize(mean, std)], layout="NCHW", shuffle=False)
    tensor = torch.from_numpy(values.transpose(0, 3, 1, 2).copy())
    tensor = functional.vflip(functional.hflip(functional.center_crop(tensor, [20, 21])))
    tensor = functional.normalize(functional.pad(tensor, [1, 2, 3, 4], fill=7), mean, std)
    assert np.array_equal(found, tensor.numpy())


def test_an_array_without_channels_has_one(near, tmp_path):
    for dtype in ("uint16", "float32"):
        values = numbers(1, dtype)
        found = read(near, saved(tmp_path, values[..., 0]), [stoker.ReadAs(dtype)], dtype=dtype,
                     shuffle=False)
        assert np.array_equal(found, values)


def test_labels_classes_and_memory(near, tmp_path):
    """Labels of uint16 are whole numbers; an array by its descriptor needs no file."""
    values = array_file("images", numbers(5))
    np.save(tmp_path / "y.npy", np.arange(N, dtype=np.uint16) % 3)
    dataset = {"path": values, "labels": str(tmp_path / "y.npy")}
    with near.loader(dataset, dtype="uint16", shuffle=False, **WISH) as loader:
        batches = [(batch["image"].copy(), batch["label"].copy()) for batch in loader.batches()]
        assert loader.classes == ["0", "1", "2"]
    assert np.array_equal(np.concatenate([image for image, _ in batches]), numbers(5))
    assert np.concatenate([label for _, label in batches]).tolist() == [0, 1, 2, 0, 1, 2]


def test_in_npz_buckets_views_crops_and_a_state(near, tmp_path):
    values = numbers(2)
    np.savez(tmp_path / "x.npz", images=values)
    wish = {"dtype": "uint16", "shuffle": False}
    assert np.array_equal(read(near, str(tmp_path / "x.npz"), **wish), values)
    path = saved(tmp_path, values)
    buckets = read(near, path, [stoker.Buckets([(16, 24), (24, 16)])], **wish)
    assert buckets.shape == (N, 16, 24, 2)
    corners = read(near, path, [stoker.FiveCrop(8)], **wish)
    assert np.array_equal(corners[:, 3], values[:, -8:, -8:])
    lists = {"large": (2, [stoker.ReadAs("float32"), stoker.RandomResizedCrop(12)]),
             "whole": (1, [stoker.ReadAs("float32"), stoker.CenterCrop(SIZE)])}
    with near.loader(path, crops=lists, shuffle=False, **WISH) as loader:
        batch = next(iter(loader.batches()))
        assert batch["large"].shape == (4, 2, 12, 12, 2)
        assert np.array_equal(batch["whole"].reshape(4, *SIZE, 2), values[:4].astype("f4"))
    whole = read(near, path, MOVED, dtype="uint16", seed=5)
    with near.loader(path, transforms=MOVED, dtype="uint16", seed=5, **WISH) as loader:
        next(iter(loader.batches()))
        state = loader.state_dict()
    with near.loader(path, transforms=MOVED, dtype="uint16", seed=5, **WISH) as loader:
        loader.load_state_dict(state)
        rest = np.concatenate([batch["image"].copy() for batch in loader.batches()])
    assert np.array_equal(rest, whole[4:])


def test_the_type_is_of_the_dataset(near, tmp_path):
    """Equal bytes of another type are another dataset."""
    values = numbers(2)
    prints = set()
    for dtype in ("uint16", "float32"):
        bits = values if dtype == "uint16" else values.view(dtype)
        np.save(tmp_path / f"{dtype}.npy", bits)
        with near.loader(str(tmp_path / f"{dtype}.npy"), transforms=[stoker.ReadAs(dtype)],
                         **WISH) as loader:
            prints.add(loader.dataset_fingerprint)
    assert len(prints) == 2


REFUSED = [
    ("uint16", [], "float32", "arrays of uint16: take dtype uint16"),
    ("uint16", [], "uint8", "arrays of uint16: take dtype uint16"),
    ("float32", [], "uint16", "arrays of float32, which are not read as uint16"),
    ("float32", [], "float32", "only ImageDataGenerator.*ReadAs float32"),
    ("uint8", [], "uint16", "arrays of uint8, which are not read as uint16"),
    ("uint8", [stoker.ReadAs("float32")], "float32", "arrays of uint8, which are not read as"),
    ("uint16", [stoker.ReadAs("uint16", 2)], "uint16", "asks for 2 channels.*have 3"),
    ("uint16", [stoker.ColorJitter(0.5)], "uint16", "ColorJitter works on pictures of 8 bits"),
    ("uint16", [stoker.ReadAs("uint16"), stoker.MixUp()], "float32", "MixUp works on pictures"),
]


@pytest.mark.parametrize("stored, transforms, dtype, words", REFUSED)
def test_what_does_not_go_together_is_refused_in_words(near, tmp_path, stored, transforms, dtype,
                                                       words):
    path = saved(tmp_path, np.zeros((N, *SIZE, 3), stored))
    with pytest.raises(stoker.PipelineError, match=words):
        read(near, path, transforms, dtype=dtype)


@pytest.mark.parametrize("shape, dtype, words", [
    ((N, 4), "<u2", "1 to 64 channels, which come last"),
    ((N, 4, 4, 65), "<u2", "1 to 64 channels"), ((N, 4, 4, 0), "<f4", "1 to 64 channels"),
    ((N, 4, 4, 4, 4), "<u2", "1 to 4 numbers"), ((N, 4, 4), ">u2", "type is '>u2'.*byte order"),
    ((N, 4, 4), "<i2", "type is '<i2'"), ((N, 4, 4), "<f8", "uint8, uint16 or float32"),
    ((0, 4, 4), "<u2", "no samples"), ((N, 0, 4), "<u2", "cannot be kept in memory"),
])
def test_other_shapes_and_types_are_refused_in_words(near, tmp_path, shape, dtype, words):
    path = saved(tmp_path, np.zeros(shape, dtype))
    with pytest.raises(stoker.DatasetError, match=words):
        read(near, path, dtype="uint16")
