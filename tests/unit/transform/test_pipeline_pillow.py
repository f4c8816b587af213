# SPDX-License-Identifier: MIT
"""The pipeline's bytes against Pillow's and torchvision's: not one may differ. FAULTS 78.

STOKER_CPU names the instruction set (plain, avx2, avx512), STOKER_CASES how many crops to try.
Resizes are those of Pillow 12, and of 13 where a test says so: any Pillow makes both.
"""

import ctypes
import os
import random
import re
import sys
from pathlib import Path

import msgpack
import numpy as np
import pytest
from PIL import Image

SOURCE = Path(os.environ.get("STOKER_SOURCE", Path(__file__).resolve().parents[3]))
BUILD = Path(os.environ.get("STOKER_BUILD", SOURCE / "build"))
sys.path.insert(0, str(SOURCE / "tests" / "reference"))

import stoker_reference as reference  # noqa: E402

DTYPES = {"uint8": np.uint8, "float16": np.float16, "bfloat16": np.uint16, "float32": np.float32}
FILTERS = ["nearest", "bilinear", "bicubic", "box", "lanczos", "hamming"]
BORDERS = ["constant", "edge", "reflect", "symmetric"]
CASES = int(os.environ.get("STOKER_CASES", "300"))
RESIZES = ["pillow-12", "pillow-13"]
NOTHING_LEFT = "must be > 0|larger than|edge would be 0|finds no crop"  # of a small picture
SLACK = 64  # bytes behind an image that may be read


class Key(ctypes.Structure):
    _fields_ = [("seed", ctypes.c_uint64), ("epoch", ctypes.c_uint32),
                ("position", ctypes.c_uint64)]


class Rect(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("x", "y", "width", "height")]


class Picture(ctypes.Structure):
    _fields_ = [("pixels", ctypes.c_void_p), ("stride", ctypes.c_size_t),
                ("width", ctypes.c_int32), ("height", ctypes.c_int32), ("area", Rect)]


def load():
    lib = ctypes.CDLL(str(BUILD / "tests" / "unit" / "transform" / "pipeline_tool.so"))
    lib.tool_new.restype = ctypes.c_void_p
    lib.tool_text.restype = ctypes.c_char_p
    lib.tool_bytes.restype = lib.tool_order.restype = ctypes.c_uint64
    lib.tool_exact.restype = ctypes.c_double
    return lib


LIB = load()


class Refused(Exception):
    pass


class Tool:
    """A pipeline of the daemon's, with the scratch memory of one worker."""

    def __init__(self, transforms, dtype="float32", layout="NCHW", resize="pillow-12"):
        spec = msgpack.packb({"transforms": transforms, "dtype": dtype, "layout": layout,
                              "resize": resize})
        words = ctypes.create_string_buffer(480)
        tool = LIB.tool_new(spec, ctypes.c_size_t(len(spec)), words, ctypes.c_size_t(480))
        if not tool:
            raise Refused(words.value.decode())
        self.tool = ctypes.c_void_p(tool)
        self.dtype = DTYPES[dtype]
        self.text = LIB.tool_text(self.tool).decode()

    def __del__(self):
        if hasattr(self, "tool"):
            LIB.tool_free(self.tool)

    def need(self, size, key=(0, 0, 0)):
        rect = Rect()
        words = ctypes.create_string_buffer(480)
        r = LIB.tool_draw(self.tool, ctypes.byref(Key(*key)), (ctypes.c_int32 * 2)(*size),
                          ctypes.byref(rect), words, ctypes.c_size_t(480))
        if r:
            raise Refused(words.value.decode())
        assert rect.x >= 0 and rect.y >= 0 and rect.width > 0 and rect.height > 0
        assert rect.x + rect.width <= size[0] and rect.y + rect.height <= size[1]
        return rect

    def make(self, image, key=(0, 0, 0)):
        """Like the daemon: with only the needed part of the picture in memory."""
        need = self.need(image.size, key)
        part = np.asarray(image)[need.y:need.y + need.height, need.x:need.x + need.width]
        block = np.concatenate([part.ravel(), np.full(SLACK, 0xA5, np.uint8)])
        picture = Picture(block.ctypes.data, 3 * need.width, image.width, image.height, need)
        size = LIB.tool_bytes(self.tool)
        out = np.full(size + SLACK, 0x5A, np.uint8)
        assert LIB.tool_apply(self.tool, ctypes.byref(picture), out.ctypes.data_as(
            ctypes.c_void_p)) == 0
        assert (out[size:] == 0x5A).all(), "wrote behind the slot"
        return out[:size].view(self.dtype)


def noise(rng, width, height):
    """Pictures that show errors of rounding: noise, black and white, smooth ones."""
    make = np.random.default_rng(rng.getrandbits(32))
    kind = rng.random()
    if kind < 0.5:
        array = make.integers(0, 256, (height, width, 3), dtype=np.uint8)
    elif kind < 0.7:
        array = make.integers(0, 2, (height, width, 3), dtype=np.uint8) * 255
    else:
        small = make.integers(0, 256, (height // 8 + 2, width // 8 + 2, 3), dtype=np.uint8)
        return Image.fromarray(small).resize((width, height), Image.BICUBIC)
    return Image.fromarray(array)


def compare(image, transforms, dtype, layout, key, tool=None, resize="pillow-12"):
    want = reference.expected(image, transforms, dtype, layout, *key, resize=resize)
    got = (tool or Tool(transforms, dtype, layout, resize)).make(image, key)
    got = got.reshape(want.shape)
    assert got.dtype == want.dtype
    differ = np.argwhere(got.view(np.uint8) != want.view(np.uint8))
    assert not len(differ), (image.size, transforms, dtype, layout, key, len(differ), differ[:3])


def random_size(rng):
    kind = rng.random()
    if kind < 0.6:
        return rng.randint(20, 300), rng.randint(20, 300)
    if kind < 0.9:
        return rng.randint(1, 120), rng.randint(1, 120)
    return rng.sample([rng.randint(1, 8), rng.randint(1, 1500)], 2)


def random_pair(rng, most):
    return [rng.randint(1, most), rng.randint(1, most)]


def random_padding(rng, most=20):
    form = rng.choice([0, 1, 2, 4])
    return [rng.randint(0, most) for _ in range(form)] if form else rng.randint(0, most)


def random_fill(rng):
    return rng.choice([0, 7, 200.9, None, [1, 128, 255]])


def random_crop(rng):
    transform = {"name": "RandomCrop", "size": random_pair(rng, 80), "pad_if_needed": True,
                 "fill": random_fill(rng), "padding_mode": rng.choice(BORDERS)}
    if rng.random() < 0.5:
        transform["padding"] = random_padding(rng)
    return transform


def random_resized_crop(rng):
    transform = {"name": "RandomResizedCrop", "size": random_pair(rng, 90),
                 "interpolation": rng.choice(FILTERS)}
    if rng.random() < 0.3:
        transform["scale"] = sorted([rng.uniform(0.01, 1), rng.uniform(0.01, 1)])
    if rng.random() < 0.3:
        transform["ratio"] = sorted([rng.uniform(0.2, 5), rng.uniform(0.2, 5)])
    return transform


def random_jitter(rng):
    ranges = {name: rng.choice([rng.uniform(0, 2), [0.5, 0.5], [0, rng.uniform(0, 9)], 0])
              for name in ("brightness", "contrast", "saturation") if rng.random() < 0.8}
    return {"name": "ColorJitter", "hue": rng.choice([0, 0.5, rng.uniform(0, 0.5), [-0.2, 0.4]]),
            **ranges}


def random_colour(rng):
    name = rng.choice(["ColorJitter", "Grayscale", *reference.COLOURS])
    if name == "ColorJitter":
        return random_jitter(rng)
    if name == "Grayscale":
        return {"name": name, "num_output_channels": 3}
    p = rng.choice([{}, {"p": 1}])
    return {"name": name, **reference.COLOURS[name][1](rng), **p}


def random_detection(rng):
    return rng.choice([
        lambda: {"name": "RandomZoomOut", "fill": random_fill(rng), "p": rng.choice([0.5, 1])},
        lambda: {"name": "ScaleJitter", "target_size": random_pair(rng, 90),
                 "interpolation": rng.choice(FILTERS)},
        lambda: {"name": "RandomShortestSize", "min_size": rng.choice([40, [20, 33, 61]]),
                 "max_size": rng.choice([None, 70]), "interpolation": rng.choice(FILTERS)},
        lambda: {"name": "FixedSizeCrop", "size": random_pair(rng, 80), "fill": random_fill(rng),
                 "padding_mode": rng.choice(BORDERS)},
        lambda: {"name": "RandomPhotometricDistort", "p": rng.choice([0.5, 1])},
        lambda: {"name": "RandomIoUCrop"},
    ])()


def random_transform(rng):
    return rng.choice([
        lambda: {"name": "Resize", "size": random_pair(rng, 120),
                 "interpolation": rng.choice(FILTERS)},
        lambda: {"name": "Resize", "size": rng.randint(1, 60),
                 "interpolation": rng.choice(FILTERS)},
        lambda: {"name": "Resize", "size": rng.randint(20, 60), "max_size": rng.randint(61, 90)},
        lambda: {"name": "AspectResize", "size": random_pair(rng, 60),
                 "interpolation": rng.choice(FILTERS)},
        lambda: {"name": "CenterCrop", "size": random_pair(rng, 100)},
        lambda: {"name": "CenterCrop", "size": rng.randint(1, 100)},
        lambda: random_crop(rng),
        lambda: random_resized_crop(rng),
        lambda: {"name": "RandomHorizontalFlip", "p": rng.choice([0, 0.5, 1])},
        lambda: {"name": "RandomVerticalFlip", "p": rng.choice([0, 0.5, 1])},
        lambda: {"name": "Pad", "padding": random_padding(rng), "fill": random_fill(rng),
                 "padding_mode": rng.choice(BORDERS)},
        lambda: random_colour(rng),
    ])()


def random_list(rng):
    transforms = [random_transform(rng) for _ in range(rng.randint(0, 5))]
    last = rng.choice([
        lambda: {"name": "Resize", "size": random_pair(rng, 120),
                 "interpolation": rng.choice(FILTERS)},
        lambda: {"name": "CenterCrop", "size": rng.randint(1, 100)},
        lambda: random_crop(rng), lambda: random_resized_crop(rng)])
    transforms.insert(rng.randint(0, len(transforms)), last())
    if any(t["name"] == "Resize" and isinstance(t["size"], int)
           for t in transforms[transforms.index(transforms[-1]):]):
        transforms.append({"name": "CenterCrop", "size": rng.randint(1, 100)})
    return transforms


def random_end(rng, dtype):
    end = [{"name": "ToTensor"}] if rng.random() < 0.5 else []
    if dtype != "uint8" and rng.random() < 0.7:
        end.append({"name": "Normalize",
                     "mean": rng.choice([0.5, [0.5], [0.485, 0.456, 0.406]]),
                     "std": rng.choice([0.25, [0.5], [0.229, 0.224, 0.225]])})
    return end


@pytest.mark.parametrize("seed", range(12))
def test_any_list(seed):
    rng = random.Random(seed)
    done = 0
    while done < 150:
        dtype, layout = rng.choice(list(DTYPES)), rng.choice(["NCHW", "NHWC"])
        transforms = random_list(rng) + random_end(rng, dtype)
        image = noise(rng, *random_size(rng))
        key = (rng.getrandbits(64), rng.getrandbits(32), rng.getrandbits(64))
        try:
            compare(image, transforms, dtype, layout, key, resize=rng.choice(RESIZES))
        except (Refused, ValueError) as refused:
            # What leaves the size open, or an edge of 0: refused by both sides.
            with pytest.raises(Refused):
                Tool(transforms, dtype, layout).make(image, key)
            assert "Resize" in str(refused) or "must be > 0" in str(refused), refused
            continue
        done += 1


def test_lists_of_detection():
    """Without boxes: what they are for has tests in test_detection.py."""
    rng = random.Random(35)
    for position in range(200):
        transforms = [random_detection(rng) for _ in range(rng.randint(1, 3))]
        transforms.append(rng.choice([
            {"name": "FixedSizeCrop", "size": random_pair(rng, 80)},
            {"name": "Resize", "size": random_pair(rng, 80)}]))
        image = noise(rng, *random_size(rng))
        try:
            compare(image, transforms, "uint8", "NHWC", (35, 1, position))
        except (Refused, ValueError) as refused:
            assert re.search(NOTHING_LEFT, str(refused)), refused


def test_padding_to_a_size():
    rng = random.Random(36)
    for position in range(60):
        edge = rng.randint(8, 90)
        transforms = [{"name": "Resize", "max_size": edge, "interpolation": rng.choice(FILTERS)},
                      {"name": "Pad", "to": [edge + rng.randint(0, 9), edge + rng.randint(0, 9)],
                       "center": rng.choice([False, True]), "fill": random_fill(rng),
                       "padding_mode": rng.choice(["constant", "edge"])}]
        image = noise(rng, rng.randint(20, 90), rng.randint(20, 90))
        compare(image, transforms, "uint8", "NHWC", (36, 1, position))


def test_what_came_later_is_not_told():
    """Texts, and with them tokens, of lists that were there before are as they were."""
    size = {"name": "CenterCrop", "size": 9}
    assert Tool([{"name": "Pad", "padding": 1}, size]).text.startswith(
        "Pad(padding=(1, 1, 1, 1), fill=(0, 0, 0), padding_mode=constant)|")
    assert Tool([{"name": "Pad", "to": 9, "center": True}]).text.startswith(
        "Pad(padding=None, fill=(0, 0, 0), padding_mode=constant, to=(9, 9), center=True)|")


@pytest.mark.parametrize("transforms, words", [
    ([{"name": "Pad"}], "Pad needs 'padding', or 'to'"),
    ([{"name": "Pad", "padding": 1, "to": 9}], "'padding' and 'to' cannot be combined"),
    ([{"name": "Pad", "padding": 1, "center": True}], "'center' goes with 'to'"),
    ([{"name": "CenterCrop", "size": 9}, {"name": "Pad", "to": [9, 8]}],
     "Pad to 8 x 9 (width x height) is smaller than the picture, 9 x 9"),
    ([{"name": "Resize"}], "Resize needs 'size', or 'max_size'"),
    ([{"name": "Resize", "max_size": 9}], "fixes the longer edge only"),
])
def test_what_padding_refuses(transforms, words):
    with pytest.raises(Refused) as refused:
        Tool(transforms)
    assert words in str(refused.value)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_transform_in_every_dtype(dtype, layout):
    rng = random.Random(3)
    lists = [[{"name": "Resize", "size": [31, 47], "interpolation": f}] for f in FILTERS]
    lists += [[{"name": "RandomResizedCrop", "size": 40, "interpolation": f}] for f in FILTERS]
    lists += [[{"name": "Pad", "padding": [3, 70, 41, 6], "padding_mode": b, "fill": [9, 8, 7]},
               {"name": "CenterCrop", "size": [150, 90]}] for b in BORDERS]
    lists += [[{"name": "RandomCrop", "size": 32, "padding": 4, "padding_mode": b}]
              for b in BORDERS]
    lists += [[{"name": "CenterCrop", "size": [40, 20]}, {"name": "RandomHorizontalFlip"},
               {"name": "RandomVerticalFlip"}]]
    for transforms in lists:
        for _ in range(3):
            image = noise(rng, rng.randint(33, 90), rng.randint(33, 90))
            end = random_end(rng, dtype)
            compare(image, transforms + end, dtype, layout, (rng.getrandbits(64), 5, 1 << 40))


@pytest.mark.parametrize("resize", RESIZES)
def test_crops(resize):
    """Any size, crop, target, flip and filter, as random as they come."""
    rng = random.Random(CASES)
    for case in range(CASES):
        flips = [{"name": "RandomHorizontalFlip"}, {"name": "RandomVerticalFlip", "p": 0.2}]
        crop = {"name": "RandomResizedCrop", "size": random_pair(rng, 260),
                "interpolation": rng.choice(["bilinear", "bicubic"] * 3 + FILTERS)}
        if rng.random() < 0.3:
            crop.update(scale=[0.001, 1], ratio=[0.05, 20])
        dtype, layout = rng.choice(list(DTYPES)), rng.choice(["NCHW", "NHWC"])
        compare(noise(rng, *random_size(rng)), [crop, *flips, *random_end(rng, dtype)], dtype,
                layout, (7, 1, case), resize=resize)


def test_the_usual_lists():
    """One pipeline and one scratch over many pictures, as a worker has them."""
    rng = random.Random(11)
    normalize = {"name": "Normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
    train = [{"name": "RandomResizedCrop", "size": 224}, {"name": "RandomHorizontalFlip"},
             {"name": "ToTensor"}, normalize]
    check = [{"name": "Resize", "size": 256}, {"name": "CenterCrop", "size": 224}, normalize]
    cifar = [{"name": "RandomCrop", "size": 32, "padding": 4}, {"name": "RandomHorizontalFlip"}]
    for transforms, low, high, count in (train, 60, 600, 60), (check, 60, 600, 30), (
            cifar, 32, 32, 60):
        tool = Tool(transforms)
        for position in range(count):
            image = noise(rng, rng.randint(low, high), rng.randint(low, high))
            compare(image, transforms, "float32", "NCHW", (5, 1, position), tool)


@pytest.mark.parametrize("size", [(1, 1), (1, 65500), (65500, 1), (2, 3), (65500, 2), (3000, 2000)])
def test_odd_pictures(size):
    """FAULTS 76, 78: tiny, long, larger and smaller than what is asked for."""
    rng = random.Random(size[0])
    image = noise(rng, *size)
    for filter_ in FILTERS:
        for target in [1, 1], [7, 33], [64, 5]:
            resize = {"name": "Resize", "size": target, "interpolation": filter_}
            for whose in RESIZES:
                compare(image, [resize], "uint8", "NHWC", (1, 2, 3), resize=whose)
            compare(image, [{"name": "RandomVerticalFlip", "p": 1}, resize], "uint8", "NHWC",
                    (1, 2, 3))
        crop = {"name": "RandomResizedCrop", "size": 9, "interpolation": filter_}
        for position in range(5):
            compare(image, [crop], "uint8", "NCHW", (1, 2, position))
    compare(image, [{"name": "CenterCrop", "size": [50, 31]}], "uint8", "NHWC", (1, 2, 3))


@pytest.mark.parametrize("border", BORDERS[1:])
def test_padding_wider_than_the_picture(border):
    rng = random.Random(5)
    for size in (1, 1), (1, 4), (2, 2), (3, 7), (5, 2):
        for _ in range(6):
            image = noise(rng, *size)
            padding = [rng.randint(0, 40) for _ in range(4)]
            compare(image, [{"name": "Pad", "padding": padding, "padding_mode": border},
                            {"name": "CenterCrop", "size": [90, 90]}], "uint8", "NHWC", (0, 0, 0))


def test_only_what_is_needed_is_asked_for():
    crop = Tool([{"name": "CenterCrop", "size": [10, 20]}]).need((100, 80))
    assert (crop.x, crop.y, crop.width, crop.height) == (40, 35, 20, 10)
    scaled = Tool([{"name": "Resize", "size": 100}, {"name": "CenterCrop", "size": 50}])
    need = scaled.need((400, 200))
    assert need.x > 140 and need.width < 110 and need.y >= 48 and need.height < 110
    # Nothing but padding is seen: some pixel is named all the same.
    beside = Tool([{"name": "Pad", "padding": [0, 0, 500, 500]},
                   {"name": "CenterCrop", "size": 9}]).need((4, 4))
    assert beside.width == 1 and beside.height == 1


def test_colours_among_places():
    """Between and next to crops, borders and resizes: the pixels that each needs are there."""
    rng = random.Random(9)
    for position in range(200):
        transforms = [random_transform(rng) for _ in range(rng.randint(0, 2))]
        transforms += [random_colour(rng) for _ in range(rng.randint(1, 3))]
        transforms += [rng.choice([random_crop, random_resized_crop])(rng)]
        transforms += [random_colour(rng) for _ in range(rng.randint(0, 2))]
        image = noise(rng, *random_size(rng))
        try:
            compare(image, transforms, "uint8", "NHWC", (3, 1, position))
        except (Refused, ValueError) as refused:
            assert re.search(NOTHING_LEFT, str(refused)), refused


def test_blur():
    """torch sums in another order: pixels differ by 1 at most, and seldom."""
    rng = random.Random(2)
    for position in range(60):
        blur = {"name": "GaussianBlur", "kernel_size": [rng.randrange(1, 30, 2) for _ in "xy"]}
        if rng.random() < 0.5:
            blur["sigma"] = rng.choice([1.5, [0.2, 0.2], [0.5, 5]])
        transforms = [random_crop(rng), {"name": "Resize", "size": [40, 37]}, blur,
                      {"name": "RandomHorizontalFlip"}, {"name": "CenterCrop", "size": [30, 33]}]
        image, key = noise(rng, *random_size(rng)), (3, 1, position)
        want = reference.expected(image, transforms, "uint8", "NHWC", *key).astype(int)
        got = Tool(transforms, "uint8", "NHWC").make(image, key).reshape(want.shape)
        assert abs(got - want).max() <= 1 and abs(got - want).mean() < 0.01, transforms


@pytest.mark.parametrize("transform, words", [
    ({"name": "Grayscale", "num_output_channels": 2}, "'num_output_channels' must be 1 or 3"),
    ({"name": "ColorJitter", "brightness": -1}, "'brightness' must be from 0"),
    ({"name": "ColorJitter", "hue": -0.1}, "'hue' must be a number from 0"),
    ({"name": "ColorJitter", "hue": 0.6}, "'hue' must be from -0.5 to 0.5"),
    ({"name": "ColorJitter", "contrast": [2, 1]}, "not the other way round"),
    ({"name": "ColorJitter", "saturation": [1, 2, 3]}, "or (lowest, highest)"),
    ({"name": "GaussianBlur"}, "needs 'kernel_size'"),
    ({"name": "GaussianBlur", "kernel_size": 4}, "an odd whole number"),
    ({"name": "GaussianBlur", "kernel_size": [3, 2]}, "an odd whole number"),
    ({"name": "GaussianBlur", "kernel_size": 257}, "from 1 to 255"),
    ({"name": "GaussianBlur", "kernel_size": 3, "sigma": 0}, "'sigma' must be from"),
    ({"name": "GaussianBlur", "kernel_size": 21}, "too large for a picture of 10 x 30"),
    ({"name": "RandomPosterize", "bits": 9}, "'bits' must be from 0 to 8"),
    ({"name": "RandomSolarize"}, "needs 'threshold'"),
])
def test_what_colours_refuse(transform, words):
    with pytest.raises(Refused) as refused:
        Tool([{"name": "CenterCrop", "size": [30, 10]}, transform]).need((50, 50))
    assert words in str(refused.value)


@pytest.mark.parametrize("seed", range(4))
def test_crops_that_are_views(seed):
    """FiveCrop and TenCrop: torchvision's crops, in its order, of a picture drawn once; transforms
    behind them are drawn for each crop."""
    rng = random.Random(seed)
    done = 0
    while done < 8:
        crop = rng.choice([{"name": "FiveCrop"}, {"name": "TenCrop"},
                           {"name": "TenCrop", "vertical_flip": True}])
        before = [random_transform(rng) for _ in range(rng.randint(0, 2))]
        behind = [random_jitter(rng), {"name": "RandomHorizontalFlip"}][:rng.randint(0, 2)]
        size = rng.choice([rng.randint(1, 30), random_pair(rng, 40)])
        transforms = [*before, {**crop, "size": size}, *behind]
        image, place = noise(rng, *random_size(rng)), rng.getrandbits(48)
        key = rng.getrandbits(64), rng.getrandbits(32)
        try:
            for view in rng.sample(range(20), 12):
                compare(image, transforms, "uint8", "NHWC", (*key, place + (view << 56)))
        except (Refused, ValueError) as refused:
            with pytest.raises(Refused, match=NOTHING_LEFT):
                Tool(transforms, "uint8", "NHWC").make(image, (*key, place))
            assert re.search(NOTHING_LEFT + "|Requested crop|bigger than", str(refused)), refused
            continue
        done += 1


@pytest.mark.parametrize("transforms, words", [
    ([{"name": "FiveCrop", "size": 9}, {"name": "TenCrop", "size": 5}],
     "TenCrop stands behind another of its kind"),
    ([{"name": "RandomApply", "transforms": [{"name": "FiveCrop", "size": 9}]},
      {"name": "CenterCrop", "size": 9}], "FiveCrop stands inside of another transform"),
    ([{"name": "CenterCrop", "size": [30, 10]}, {"name": "TenCrop", "size": [20, 12]}],
     "TenCrop of 12 x 20 (width x height) is larger than the picture, 10 x 30"),
    ([{"name": "FiveCrop"}], "FiveCrop needs 'size'"),
])
def test_what_crops_refuse(transforms, words):
    with pytest.raises(Refused) as refused:
        Tool(transforms)
    assert words in str(refused.value)


def test_forms_that_mean_the_same():
    def text(**parameters):
        return Tool([{"name": "CenterCrop", "size": 5},
                     {"name": "ColorJitter", **parameters}]).text
    assert text(brightness=0.25) == text(brightness=[0.75, 1.25], hue=0)
    assert text(contrast=2) == text(contrast=[0, 3])
    assert text(hue=0.25) == text(hue=[-0.25, 0.25])
    assert text(hue=0.25) != text(hue=0.3)


def test_draws_are_spread_as_torchvision_spreads_them():
    key = (3, 1, 0)
    transforms = [{"name": "RandomHorizontalFlip", "p": 0.25}, {"name": "RandomCrop", "size": 5}]
    flips, tops = 0, np.zeros(6, int)
    for position in range(4000):
        flip, (top, _, _, _) = reference.parameters(transforms, (10, 10), (*key[:2], position))
        flips += flip
        tops[top] += 1
    assert abs(flips - 1000) < 120  # 4 standard deviations
    assert ((tops - 4000 / 6)**2 / (4000 / 6)).sum() < 25  # chi-square, 5 degrees of freedom


def test_order_is_the_reference():
    rng = random.Random(8)
    for _ in range(300):
        n = rng.choice([1, 2, 3, 10, 1281167, rng.getrandbits(40) + 1])
        at = (rng.getrandbits(64), rng.getrandbits(32), n, rng.randrange(n))
        got = LIB.tool_order(*(kind(number) for kind, number in zip(
            (ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64), at)))
        assert got == reference.order_at(*at)
