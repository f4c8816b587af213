# SPDX-License-Identifier: MIT
"""The bytes of changes of colour against Pillow's and torchvision's: none may differ, but for the
blur, which torch adds up in another order.

STOKER_CPU names the instruction set (plain, avx2, avx512).
"""

import ctypes
import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torchvision.transforms import functional

SOURCE = Path(os.environ.get("STOKER_SOURCE", Path(__file__).resolve().parents[3]))
sys.path.insert(0, str(SOURCE / "tests" / "reference"))
import stoker_reference  # noqa: E402 (it stands in a folder of its own)

BUILD = Path(os.environ.get("STOKER_BUILD", SOURCE / "build"))
WHOLE = 2**31 - 1
SLACK = 64  # bytes behind a picture that may be read

# In the order of colour_tool.c: how the amounts are drawn, and what torchvision does.
KINDS = {
    "invert": (lambda rng: [], functional.invert),
    "grayscale": (lambda rng: [], lambda image: functional.rgb_to_grayscale(image, 3)),
    "posterize": (lambda rng: [rng.randint(0, 8)], stoker_reference.posterize),
    "solarize": (lambda rng: [rng.choice([rng.uniform(0, 256), rng.randint(0, 256)])],
                 functional.solarize),
    "autocontrast": (lambda rng: [], functional.autocontrast),
    "equalize": (lambda rng: [], functional.equalize),
    "brightness": (lambda rng: [factor(rng)], functional.adjust_brightness),
    "contrast": (lambda rng: [factor(rng)], functional.adjust_contrast),
    "saturation": (lambda rng: [factor(rng)], functional.adjust_saturation),
    "sharpness": (lambda rng: [factor(rng)], functional.adjust_sharpness),
    "hue": (lambda rng: [rng.choice([rng.uniform(-0.5, 0.5), 0, 0.5, -0.5])],
            functional.adjust_hue),
    "blur": (lambda rng: [rng.randrange(1, 26, 2), rng.randrange(1, 26, 2),
                          rng.choice([rng.uniform(0.1, 2), rng.uniform(0.01, 20)])],
             lambda image, x, y, sigma: functional.gaussian_blur(image, [x, y], [sigma, sigma])),
}
NUMBER = {name: number for number, name in enumerate(KINDS)}


def factor(rng):
    return rng.choice([0, 1, rng.uniform(0, 1), rng.uniform(0, 2), rng.uniform(0, 20), 1e6])


class Rect(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("x", "y", "width", "height")]


class Picture(ctypes.Structure):
    _fields_ = [("pixels", ctypes.c_void_p), ("stride", ctypes.c_size_t),
                ("width", ctypes.c_int32), ("height", ctypes.c_int32), ("area", Rect)]


LIB = ctypes.CDLL(str(BUILD / "tests" / "unit" / "transform" / "colour_tool.so"))


def paint(name, amounts, image, wanted=None, in_place=False):
    """The part `wanted` of the changed picture, from only the pixels that it depends on."""
    x, y, width, height = wanted or (0, 0, *image.size)
    numbers = (ctypes.c_double * 3)(*amounts)
    reach = LIB.tool_reach(NUMBER[name], numbers)
    left, top = max(x - reach, 0), max(y - reach, 0)
    right, bottom = min(x + width + reach, image.width), min(y + height + reach, image.height)
    part = np.asarray(image)[top:bottom, left:right]
    block = np.concatenate([part.ravel(), np.full(SLACK, 0xA5, np.uint8)])
    stride = 3 * (right - left)
    picture = Picture(block.ctypes.data, stride, image.width, image.height,
                      Rect(left, top, right - left, bottom - top))
    out = np.full((height, 3 * width + 5), 0x5A, np.uint8)
    at = out.ctypes.data
    if in_place:
        assert reach in (0, WHOLE)
        at = block.ctypes.data + (y - top) * stride + 3 * (x - left)
    assert LIB.tool_colour(NUMBER[name], numbers, ctypes.byref(picture),
                           ctypes.byref(Rect(x, y, width, height)), ctypes.c_void_p(at),
                           ctypes.c_size_t(stride if in_place else out.shape[1]), 1) == 0
    if in_place:
        rows = block[:-SLACK].reshape(bottom - top, stride)
        return rows[y - top:y - top + height, 3 * (x - left):][:, :3 * width].reshape(
            height, width, 3)
    assert (out[:, 3 * width:] == 0x5A).all(), "wrote beside what is wanted"
    return out[:, :3 * width].reshape(height, width, 3)


def any_picture(rng):
    make = np.random.default_rng(rng.getrandbits(32))
    width, height = rng.choice([(rng.randint(1, 90), rng.randint(1, 90)), (1, rng.randint(1, 9)),
                                (rng.randint(1, 9), 1), (rng.randint(1, 4), rng.randint(1, 4)),
                                (rng.randint(1, 700), rng.randint(1, 5))])
    kind = rng.random()
    if kind < 0.4:
        array = make.integers(0, 256, (height, width, 3), dtype=np.uint8)
    elif kind < 0.5:
        array = make.integers(0, 2, (height, width, 3), dtype=np.uint8) * 255
    elif kind < 0.6:  # one colour
        array = np.broadcast_to(make.integers(0, 256, 3, dtype=np.uint8), (height, width, 3))
    elif kind < 0.7:  # few values, and some channel of one
        low, high = sorted(make.integers(0, 257, 2))
        array = make.integers(low, max(high, low + 1), (height, width, 3)).astype(np.uint8)
        array[:, :, make.integers(0, 3)] = low % 256
    else:
        small = make.integers(0, 256, (height // 8 + 2, width // 8 + 2, 3), dtype=np.uint8)
        return Image.fromarray(small).resize((width, height), Image.BICUBIC)
    return Image.fromarray(np.ascontiguousarray(array))


def any_part(rng, image):
    x, y = rng.randrange(image.width), rng.randrange(image.height)
    return x, y, rng.randint(1, image.width - x), rng.randint(1, image.height - y)


def compare(name, amounts, image, got, want):
    want = np.asarray(want)
    if name == "blur":
        apart = np.abs(got.astype(int) - want)
        assert apart.max() <= 1 and apart.mean() < 0.01, (image.size, amounts, apart.max())
        return
    differ = np.argwhere(got != want)
    assert not len(differ), (name, image.size, amounts, len(differ), differ[:3])


@pytest.mark.parametrize("name", KINDS)
def test_any_picture(name):
    rng = random.Random(NUMBER[name])
    draw, reference = KINDS[name]
    for _ in range(150):
        image, amounts = any_picture(rng), draw(rng)
        if name == "blur" and (amounts[0] // 2 >= image.width or amounts[1] // 2 >= image.height):
            continue  # torch refuses them
        want = np.asarray(reference(image, *amounts))
        compare(name, amounts, image, paint(name, amounts, image), want)
        x, y, width, height = part = any_part(rng, image)
        wanted = want[y:y + height, x:x + width]
        compare(name, amounts, image, paint(name, amounts, image, part), wanted)
        if LIB.tool_reach(NUMBER[name], (ctypes.c_double * 3)(*amounts)) in (0, WHOLE):
            compare(name, amounts, image, paint(name, amounts, image, part, True), wanted)


def many_colours():
    """A sixteenth of the 2^24, spread over all."""
    number = np.arange(1 << 20, dtype=np.uint32) * 0x9E3779B1 & 0xFFFFFF
    pixels = np.stack([number >> 16, number >> 8 & 255, number & 255], axis=1).astype(np.uint8)
    return Image.fromarray(pixels.reshape(1024, 1024, 3))


@pytest.mark.parametrize("name, amount", [("hue", 0), ("hue", 0.11), ("hue", -0.3),
                                          ("grayscale", 0)])
def test_many_colours(name, amount):
    amounts = [] if name == "grayscale" else [amount]
    image = many_colours()
    compare(name, amounts, image, paint(name, amounts, image), KINDS[name][1](image, *amounts))


def test_every_hue():
    """All that may stand behind the turn: hue, saturation, value as Pillow takes them back."""
    image = Image.fromarray(np.random.default_rng(5).integers(0, 256, (64, 64, 3), np.uint8))
    for turn in range(-127, 128):
        amounts = [turn / 255.0]
        compare("hue", amounts, image, paint("hue", amounts, image),
                functional.adjust_hue(image, *amounts))


@pytest.mark.parametrize("name", ["brightness", "saturation"])
def test_every_blend(name):
    rng = random.Random(4)
    grid = np.indices((256, 256)).transpose(1, 2, 0)
    image = Image.fromarray(np.concatenate([grid, grid[:, :, :1] ^ 0x55], axis=2).astype(np.uint8))
    for _ in range(100):
        amounts = [factor(rng)]
        compare(name, amounts, image, paint(name, amounts, image),
                KINDS[name][1](image, *amounts))


def test_wide_blur():
    """More than one strip of columns."""
    image = Image.fromarray(np.random.default_rng(1).integers(0, 256, (40, 3000, 3), np.uint8))
    want = np.asarray(functional.gaussian_blur(image, [23, 9], [3, 3]))
    compare("blur", [], image, paint("blur", [23, 9, 3.0], image), want)
    compare("blur", [], image, paint("blur", [23, 9, 3.0], image, (1000, 3, 1800, 30)),
            want[3:33, 1000:2800])
