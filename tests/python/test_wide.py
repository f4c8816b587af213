# SPDX-License-Identifier: MIT
"""Pictures of 16 bits and floats: dtype uint16 and ReadAs. The numbers are those of the file, and
geometry is that of Pillow's modes I;16 and F, each channel by itself (tests/reference/wide.py)."""
import json
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

import own_code
import stoker

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
import wide  # noqa: E402

RANDOM = np.random.default_rng(35)
WISH = {"shuffle": False, "batch_size": 1, "layout": "NHWC", "resize": "pillow-12", "timeout": 60}


def numbers(channels=1, size=(29, 37), dtype=np.uint16):
    shape = (*size, channels)
    if np.dtype(dtype).kind == "f":
        return (RANDOM.normal(size=shape) * 1000).astype(dtype)
    ends = np.iinfo(dtype)
    return RANDOM.integers(ends.min, ends.max, shape, dtype=dtype, endpoint=True)


def listed(folder, files, **columns):
    """A manifest of these files, {name: bytes}, with a column of each of `columns`."""
    lines = []
    for number, (name, data) in enumerate(files.items()):
        (folder / name).write_bytes(data)
        more = {column: values[number] for column, values in columns.items()}
        lines.append(json.dumps({"path": name, **more}) + "\n")
    (folder / "list.jsonl").write_text("".join(lines))
    return str(folder / "list.jsonl")


def images(loader):
    return [image.copy() for batch in loader.batches() for image in batch["image"]]


def read(near, folder, values, transforms=(), data=None, **wish):
    path = listed(folder, {"picture": wide.png(values) if data is None else data})
    with near.loader(path, transforms=[*transforms], **{**WISH, **wish}) as loader:
        return images(loader)[0]


FILES = {
    "png": wide.png, "pnm": wide.pnm, "tiff": wide.tiff,
    "tiff of planes": lambda values: wide.tiff(values, planes=True, packed=True),
    "tiff, big-endian": lambda values: wide.tiff(values, ">"),
    "tiff, packed": lambda values: wide.tiff(values, packed=True),
}
MANY = {"png": (1, 2, 3, 4), "pnm": (1, 3)}


@pytest.mark.parametrize("kind", FILES)
def test_numbers_of_a_file_are_those_of_the_batch(near, tmp_path, kind):
    for channels in MANY.get(kind, (1, 2, 3, 4, 7)):
        values = numbers(channels)
        found = read(near, tmp_path, None, data=FILES[kind](values), dtype="uint16")
        assert found.dtype == np.uint16 and np.array_equal(found, values), channels
        planes = read(near, tmp_path, None, data=FILES[kind](values), dtype="uint16",
                      layout="NCHW")
        assert np.array_equal(planes, values.transpose(2, 0, 1)), channels


@pytest.mark.parametrize("dtype", ["u2", "i2", "u4", "i4", "f4", "f8"])
def test_read_as_float32_gives_the_numbers_of_a_tiff(near, tmp_path, dtype):
    for order in "<>":
        values = numbers(2, dtype=dtype)
        values[0, 0, 0] = {"f": np.inf}.get(np.dtype(dtype).kind, 5)
        found = read(near, tmp_path, None, [stoker.ReadAs("float32")],
                     wide.tiff(values, order, packed=order == ">"), dtype="float32")
        assert np.array_equal(found, values.astype(np.float32))


@pytest.mark.parametrize("kind, channels", [(5, 1), (6, 3)])
def test_a_value_above_maxval_is_the_largest(near, tmp_path, kind, channels):
    """As Pillow has it."""
    values = np.resize([0, 1, 30000, 60000, 60001, 65535], (4, 5, channels))
    data = b"P%d 5 4 60000\n" % kind + values.astype(">u2").tobytes()
    found = read(near, tmp_path, None, data=data, dtype="uint16")
    assert np.array_equal(found, np.minimum(np.round(values / 60000 * 65535), 65535))


def test_a_tiff_is_turned_as_it_says(near, tmp_path):
    values = numbers(3)
    found = read(near, tmp_path, None, data=wide.tiff(values, turned=6), dtype="uint16")
    assert np.array_equal(found, np.rot90(values, -1))


def test_floats_of_uint16_are_shares_of_65535_and_those_of_float32_are_not(near, tmp_path):
    values = numbers(3)
    singles = values.astype(np.float32)
    mean, std = np.float32([0.4, 0.5, 0.6]), np.float32([0.2, 0.25, 0.3])
    as_uint16, as_float = [stoker.ReadAs("uint16")], [stoker.ReadAs("float32", 3)]
    normal = [stoker.Normalize(mean.tolist(), std.tolist())]
    shares = singles / np.float32(65535)
    assert np.array_equal(read(near, tmp_path, values, as_uint16), shares)
    assert np.array_equal(read(near, tmp_path, values, as_float), singles)
    assert np.array_equal(read(near, tmp_path, values, as_uint16 + normal), (shares - mean) / std)
    assert np.array_equal(read(near, tmp_path, values, as_float + normal), (singles - mean) / std)
    half = read(near, tmp_path, values, as_uint16, dtype="float16")
    assert np.array_equal(half, shares.astype(np.float16))


@pytest.mark.parametrize("name", wide.SUPPORT)
@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_resizes_are_those_of_pillow(near, tmp_path, name, dtype):
    for channels, size in ((1, (17, 50)), (3, (29, 11)), (4, (60, 37)), (1, (3, 5))):
        values = numbers(channels)
        values[3:9, 4:20] = 65535  # beside 0: filters that overshoot do
        values[3:9, 20:30] = 0
        found = read(near, tmp_path, values,
                     [stoker.ReadAs(dtype), stoker.Resize(size, interpolation=name)],
                     dtype=dtype)
        assert np.array_equal(found, wide.resize(values.astype(dtype), size, name)), channels


def test_golden_values_of_pillow_12_3(near, tmp_path):
    """Image.fromarray(values).resize((3, 2), 3): mode I;16, and converted to F."""
    values = (np.arange(6 * 5, dtype=np.uint16).reshape(6, 5, 1) ** 3 * 7 % 65521).astype(np.uint16)
    values[2] = 65535
    values[3] = 0
    found = [read(near, tmp_path, values, [
        stoker.ReadAs(dtype), stoker.Resize((2, 3), interpolation="bicubic")], dtype=dtype)
        for dtype in ("uint16", "float32")]
    assert found[0][..., 0].tolist() == GOLDEN_UINT16
    assert found[1][..., 0].tolist() == GOLDEN_FLOAT32


def test_crops_flips_and_pads_move_the_numbers(near, tmp_path):
    values = numbers(3)
    moved = read(near, tmp_path, values, [
        stoker.CenterCrop((20, 21)), stoker.RandomHorizontalFlip(1.0),
        stoker.RandomVerticalFlip(1.0), stoker.Pad((1, 2, 3, 4), fill=(7, 8, 9))],
        dtype="uint16")
    top, left = 4, 8  # torchvision's: int(round(9 / 2)), int(round(16 / 2))
    crop = values[top:top + 20, left:left + 21][::-1, ::-1]
    expected = np.empty((26, 25, 3), np.uint16)
    expected[:] = (7, 8, 9)
    expected[2:22, 1:22] = crop
    assert np.array_equal(moved, expected)
    nearest = read(near, tmp_path, values, [
        stoker.Resize((58, 74), interpolation="nearest")], dtype="uint16")
    assert np.array_equal(nearest, values.repeat(2, 0).repeat(2, 1))


def test_a_random_crop_is_the_same_part_as_of_bytes(near, tmp_path):
    """The draws are those of the list without ReadAs, one place later: of a picture whose numbers
    are bytes both lists of uint16 give what they give beside each other."""
    values = numbers(1)
    part = [stoker.RandomResizedCrop((12, 15), interpolation="nearest"), stoker.RandomCrop((9, 9))]
    one = read(near, tmp_path, values, part, dtype="uint16", seed=4)
    again = read(near, tmp_path, values, part, dtype="uint16", seed=4)
    assert np.array_equal(one, again) and np.isin(one, values).all()


def test_masks_buckets_views_and_crops_beside_wide_pictures(near, tmp_path):
    files = {f"{n}.png": wide.png(numbers(1, (40 + n, 60))) for n in range(4)}
    masks = {f"m{n}.png": wide.png(numbers(1, (40 + n, 60))) for n in range(4)}
    for name, data in masks.items():
        (tmp_path / name).write_bytes(data)
    path = listed(tmp_path, files, mask16=[*masks])
    wish = {**WISH, "dtype": "uint16"}
    with near.loader(path, transforms=[stoker.Resize((20, 30)), stoker.CenterCrop(16)],
                     **wish) as loader:
        found = [(batch["image"].shape, batch["mask16"].shape) for batch in loader.batches()]
    assert found == [((1, 16, 16, 1), (1, 16, 16))] * 4
    with near.loader(path, transforms=[stoker.Buckets([(16, 24), (24, 16)])], fields=["label"],
                     **wish) as loader:
        assert [image.shape for image in images(loader)] == [(16, 24, 1)] * 4
    with near.loader(path, transforms=[stoker.FiveCrop(8)], fields=["label"], **wish) as loader:
        assert [image.shape for image in images(loader)] == [(5, 8, 8, 1)] * 4
    lists = {"large": (2, [stoker.ReadAs("float32"), stoker.RandomResizedCrop(12)]),
             "small": (3, [stoker.ReadAs("float32"), stoker.CenterCrop(6)])}
    with near.loader(path, crops=lists, fields=["label"],
                     **{**WISH, "dtype": "float32"}) as loader:
        batch = next(iter(loader.batches()))
        assert batch["large"].shape == (1, 2, 12, 12, 1) and batch["small"].dtype == np.float32


def test_wide_and_plain_streams_of_one_dataset_do_not_mix(near, tmp_path):
    """Their decodes are not shared, and the plain one's kept pictures are not the other's."""
    values = [numbers(1) for _ in range(6)]
    path = listed(tmp_path, {f"{n}.png": wide.png(one) for n, one in enumerate(values)})
    crop = [stoker.CenterCrop(16)]
    with near.loader(path, transforms=crop, **{**WISH, "dtype": "uint8"}) as plain, \
            near.loader(path, transforms=crop, **{**WISH, "dtype": "uint16"}) as deep:
        for _ in range(3):
            bytes_, wides = images(plain), images(deep)
            for low, high in zip(bytes_, wides):
                assert low.shape == (16, 16, 3) and high.shape == (16, 16, 1)
                assert np.array_equal(low[..., :1], np.minimum(high, 255))


REFUSED = [
    ([stoker.ColorJitter(0.5)], "uint16", "ColorJitter works on pictures of 8 bits"),
    ([stoker.RandomRotation(5)], "uint16", "RandomRotation works on pictures of 8 bits"),
    ([stoker.ReadAs("float32"), stoker.RandomErasing()], "float32", "RandomErasing works on"),
    ([stoker.ReadAs("float32")], "uint8", "do not fit into uint8"),
    ([stoker.ReadAs("float32")], "uint16", "do not fit into uint16"),
    ([stoker.Normalize(0.5, 0.5)], "uint16", "Normalize makes fractions"),
    ([stoker.ReadAs("float32"), stoker.MixUp()], "float32", "MixUp works on pictures of 8 bits"),
    ([stoker.Compose([stoker.ReadAs("uint16")])], "uint16", "put it first"),
    ([stoker.CenterCrop(9), stoker.ReadAs("uint16")], "uint16", "put it first"),
    ([stoker.Pad(1, fill=(1, 2, 3))], "uint16", "'fill' of Pad has a number for each of 3"),
    ([stoker.ReadAs("uint16", 65)], "uint16", "channels"),
]


@pytest.mark.parametrize("transforms, dtype, words", REFUSED)
def test_what_wide_pictures_cannot_have_is_refused_in_words(near, tmp_path, transforms, dtype,
                                                            words):
    with pytest.raises(stoker.PipelineError, match=words):
        read(near, tmp_path, numbers(1), transforms, dtype=dtype)


@pytest.mark.parametrize("data, words", [
    (wide.tiff(numbers(dtype="f4")), "ReadAs"), (wide.pnm(numbers(3)), "channels"),
    (wide.tiff(numbers(65)), "65 channels"), (wide.tiff(numbers(2), planes=True)[:400], "TIFF"),
    (wide.tiff(numbers(1)).replace(struct.pack("<HHII", 256, 4, 1, 37),
                                   struct.pack("<HHII", 256, 4, 1, 1 << 28)), "pixels|limit"),
    (b"P5 4 4 255\n" + bytes(16), "8 bits"), (wide.png(numbers(1))[:99], "cut short|damaged|PNG"),
])
def test_files_that_have_no_such_numbers_are_bad_samples(near, tmp_path, data, words):
    path = listed(tmp_path, {"good.png": wide.png(numbers(1)), "bad": data})
    with near.loader(path, transforms=[stoker.Resize((9, 9))],
                     **{**WISH, "dtype": "uint16"}) as loader:
        with pytest.raises(stoker.Error, match=words):
            images(loader)


def test_pictures_of_8_bits_alone_are_refused_at_the_attach(near, tmp_path):
    with pytest.raises(stoker.PipelineError, match="how many channels.*8 bits"):
        read(near, tmp_path, None, data=b"P5 4 4 255\n" + bytes(16), dtype="uint16")


def test_bytes_of_own_code_are_read_so_too(near, tmp_path):
    values = [numbers(1) for _ in range(3)]
    (tmp_path / "class0").mkdir()
    for number, one in enumerate(values):
        (tmp_path / "class0" / f"{number}.png").write_bytes(wide.png(one))
    source = stoker.Source(own_code.Files(tmp_path))
    with near.loader(source, num_workers=1, transforms=[
            stoker.ReadAs("uint16", 1), stoker.CenterCrop((29, 37))],
                     **{**WISH, "dtype": "uint16"}) as loader:
        assert all(np.array_equal(*pair) for pair in zip(images(loader), values))


def test_a_state_goes_on_with_the_same_numbers(near, tmp_path):
    path = listed(tmp_path, {f"{n}.png": wide.png(numbers(2)) for n in range(6)})
    wish = {**WISH, "dtype": "uint16", "shuffle": True, "seed": 9, "bad_samples": "substitute",
            "transforms": [stoker.RandomResizedCrop(8), stoker.RandomHorizontalFlip()]}
    with near.loader(path, **wish) as loader:
        whole = images(loader)
    with near.loader(path, **wish) as loader:
        for number, _ in enumerate(loader.batches()):
            if number == 2:
                state = loader.state_dict()
                break
    with near.loader(path, **wish) as loader:
        loader.load_state_dict(state)
        rest = images(loader)
    assert 0 < len(rest) < 6 and np.array_equal(np.stack(rest), np.stack(whole[-len(rest):]))


GOLDEN_UINT16 = [[17159, 18449, 18987], [43430, 21536, 25343]]
GOLDEN_FLOAT32 = [[17158.61328125, 18448.84765625, 18986.65234375],
                  [43429.83984375, 21536.138671875, 25342.955078125]]
