# SPDX-License-Identifier: MIT
"""A warp's bytes against Pillow's Image.transform: not one may differ.

STOKER_CPU names the instruction set (plain, avx2, avx512), STOKER_CASES how many warps to try.
"""

import ctypes
import math
import os
import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

SOURCE = Path(os.environ.get("STOKER_SOURCE", Path(__file__).resolve().parents[3]))
BUILD = Path(os.environ.get("STOKER_BUILD", SOURCE / "build"))
CASES = int(os.environ.get("STOKER_CASES", "300"))
SLACK = 64  # bytes behind an image that may be read
AFFINE, PERSPECTIVE = 0, 1
KINDS = {AFFINE: Image.Transform.AFFINE, PERSPECTIVE: Image.Transform.PERSPECTIVE}
FILTERS = {"nearest": (0, Image.NEAREST), "bilinear": (2, Image.BILINEAR),
           "bicubic": (4, Image.BICUBIC)}


class Picture(ctypes.Structure):
    _fields_ = [("pixels", ctypes.c_void_p), ("stride", ctypes.c_size_t),
                ("width", ctypes.c_int32), ("height", ctypes.c_int32),
                ("area", ctypes.c_int32 * 4)]


class Warp(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("filter", ctypes.c_int), ("size", ctypes.c_int32 * 2),
                ("a", ctypes.c_double * 8), ("fill", ctypes.c_uint8 * 3)]


def load():
    found = [BUILD / "tests" / "unit" / "transform" / "warp_tool.so", BUILD / "warp_tool.so"]
    return ctypes.CDLL(str(next(path for path in found if path.exists())))


LIB = load()


def warp(image, size, kind, numbers, filter, fill, columns, rows):
    height, width = image.shape[:2]
    block = np.concatenate([image.ravel(), np.full(SLACK, 0xA5, np.uint8)])
    picture = Picture(block.ctypes.data, 3 * width, width, height, (0, 0, width, height))
    wanted = [np.asarray(list(places), np.int32) for places in (columns, rows)]
    out = np.full(3 * len(wanted[0]) * len(wanted[1]) + SLACK, 0x5A, np.uint8)
    it = Warp(kind, FILTERS[filter][0], size, (*numbers, *[0] * (8 - len(numbers))), tuple(fill))
    assert LIB.tool_warp(ctypes.byref(it), ctypes.byref(picture),
                         wanted[0].ctypes.data_as(ctypes.c_void_p), len(wanted[0]),
                         wanted[1].ctypes.data_as(ctypes.c_void_p), len(wanted[1]),
                         out.ctypes.data_as(ctypes.c_void_p)) == 0
    assert (out[-SLACK:] == 0x5A).all()
    return out[:-SLACK].reshape(len(wanted[1]), len(wanted[0]), 3)


def assert_same_pixels(image, size, kind, numbers, filter, fill, columns=None, rows=None):
    columns = range(size[0]) if columns is None else columns
    rows = range(size[1]) if rows is None else rows
    whole = np.asarray(Image.fromarray(image).transform(
        size, KINDS[kind], numbers, FILTERS[filter][1], fillcolor=tuple(fill)))
    want = whole[np.asarray(list(rows))][:, np.asarray(list(columns))]
    got = warp(image, size, kind, numbers, filter, fill, columns, rows)
    differ = np.argwhere(got != want)
    assert not len(differ), (image.shape, size, kind, numbers, filter, fill, len(differ), differ[0])


def random_picture(rng, width, height):
    make = np.random.default_rng(rng.getrandbits(32))
    if rng.random() < 0.3:
        return make.integers(0, 2, (height, width, 3), dtype=np.uint8) * 255
    return make.integers(0, 256, (height, width, 3), dtype=np.uint8)


def random_affine(rng, width, height):
    """Rotated, sheared and scaled about some point; sometimes with whole numbers."""
    turn, shear = rng.uniform(-math.pi, math.pi), rng.uniform(-1, 1)
    scale = rng.choice([1, 1, 0.5, 1 / 3, rng.uniform(0.2, 5)])
    kind = rng.random()
    if kind < 0.2:
        turn = rng.choice([0, math.pi / 2, math.pi])
    if kind < 0.3:
        shear = 0
    cos, sin = math.cos(turn), math.sin(turn)
    if kind < 0.2:
        cos, sin = round(cos), round(sin)
    a, b, c, d = (scale * cos, scale * (sin + shear), -scale * sin, scale * cos)
    if kind > 0.95:
        b = d = 0
    x, y = rng.uniform(-0.2, 1.2) * width, rng.uniform(-0.2, 1.2) * height
    if rng.random() < 0.5:
        x, y = width * 0.5, height * 0.5
    shift = [rng.choice([0, rng.randint(-9, 9), rng.uniform(-9, 9)]) for _ in range(2)]
    return [a, b, x - a * x - b * y + shift[0], c, d, y - c * x - d * y + shift[1]]


def random_perspective(rng, width, height):
    return [*random_affine(rng, width, height),
            rng.choice([0, rng.uniform(-1, 1) / width, rng.uniform(0, 0.3) / width]),
            rng.choice([0, rng.uniform(-1, 1) / height, rng.uniform(0, 0.3) / height])]


def random_side(rng):
    return rng.choice([rng.randint(1, 4), rng.randint(1, 60), rng.randint(1, 60),
                       rng.randint(1, 200)])


def random_places(rng, count):
    kind = rng.random()
    if kind < 0.5:
        return range(count)
    if kind < 0.75:
        return range(count - 1, rng.randint(-1, count - 2), -1)
    return [rng.randrange(count) for _ in range(rng.randint(1, 2 * count))]


@pytest.mark.parametrize("kind", [AFFINE, PERSPECTIVE])
@pytest.mark.parametrize("filter", FILTERS)
def test_as_pillow(kind, filter):
    rng = random.Random(f"{kind} {filter}")
    for _ in range(CASES):
        width, height = random_side(rng), random_side(rng)
        size = (width, height) if rng.random() < 0.6 else (random_side(rng), random_side(rng))
        numbers = (random_affine, random_perspective)[kind](rng, width, height)
        fill = [rng.choice([0, 255, rng.randrange(256)]) for _ in range(3)]
        assert_same_pixels(random_picture(rng, width, height), size, kind, numbers, filter, fill,
                           random_places(rng, size[0]), random_places(rng, size[1]))


@pytest.mark.parametrize("filter", FILTERS)
def test_edges_and_wide_places(filter):
    rng = random.Random(filter)
    image = random_picture(rng, 7, 5)
    for numbers in ([1, 0, 0, 0, 1, 0], [1, 0, 0.5, 0, 1, -0.5], [0, 1, 0, 1, 0, 0],
                    [-1, 0, 7, 0, -1, 5], [0, 0, 3.2, 0, 0, 1.7], [1, 0, 2.0**31, 0, 1, 0],
                    [1e6, 1, 0, 1, 1e6, 0], [1e300, 0, -1e300, 0, 1e300, 0],
                    [1e-6, 1e-7, 3, 1e-7, 1e-6, 2], [40000.0, 1, 0, 1, 1, 0]):
        assert_same_pixels(image, (9, 8), AFFINE, numbers, filter, [1, 2, 3])
        assert_same_pixels(image, (9, 8), PERSPECTIVE, [*numbers, 0, 0], filter, [1, 2, 3])
        assert_same_pixels(image, (9, 8), PERSPECTIVE, [*numbers, -0.21, 0.1], filter, [1, 2, 3])


def test_no_number_is_beside_the_picture():
    """0 / 0, where Pillow's conversion has no defined result."""
    image = random_picture(random.Random(0), 7, 5)
    for filter in FILTERS:
        numbers = [0, 0, 0, 0, 0, 0, -2, 0]  # the denominator is 0 at the first column
        got = warp(image, (1, 1), PERSPECTIVE, numbers, filter, [1, 2, 3], [0], [0])
        assert got.tolist() == [[[1, 2, 3]]]
