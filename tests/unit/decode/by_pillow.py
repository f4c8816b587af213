# SPDX-License-Identifier: MIT
"""A decoder's tool beside Pillow, for the tests of all formats: pixels are equal, bit for bit,
whole and in parts, and what Pillow refuses is refused.

STOKER_BUILD names the build folder that holds tests/unit/decode/decode_tool.
"""

import io
import os
import random
import struct
import subprocess
import warnings

import numpy
import pytest

Image = pytest.importorskip("PIL.Image")
ImageOps = pytest.importorskip("PIL.ImageOps")

PILLOW = tuple(map(int, pytest.importorskip("PIL").__version__.split(".")[:2]))
JPEG_TURBO = pytest.importorskip("PIL.features").version_feature("libjpeg_turbo") or ""
FORMAT, CORRUPT, LIMIT, UNSUPPORTED = 1, 2, 3, 4
SIZES = [(1, 1), (3, 2), (17, 13), (40, 33), (5, 1), (1, 9), (130, 71)]


class Decoder:
    def __init__(self, folder):
        tool = os.path.join(os.environ["STOKER_BUILD"], "tests", "unit", "decode", "decode_tool")
        self.path = os.path.join(folder, "picture")
        self.tool = subprocess.Popen([tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, data, rect=(0, 0, 0, 0), exif=False, alpha=False):
        """(condition, words) or (0, array)"""
        with open(self.path, "wb") as file:
            file.write(data)
        line = "%d %d %d %d %d %s\n" % (exif + 2 * alpha, *rect, self.path)
        self.tool.stdin.write(line.encode())
        self.tool.stdin.flush()
        words = self.tool.stdout.readline().decode().split(" ", 7)
        condition, _, _, _, _, width, height = map(int, words[:7])
        if condition:
            return condition, words[7].strip()
        pixels = self.tool.stdout.read(width * height * (3 + alpha))
        return 0, numpy.frombuffer(pixels, numpy.uint8).reshape(height, width, 3 + alpha)

    def close(self):
        self.tool.stdin.close()
        assert self.tool.wait(10) == 0
        self.tool.stdout.close()


def pillow(data, exif=False, mode="RGB"):
    """Pillow's pixels, or None where it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            image = Image.open(io.BytesIO(data))
            if exif:
                image = ImageOps.exif_transpose(image)
            return numpy.asarray(image.convert(mode))
        except (OSError, EOFError, SyntaxError, ValueError, IndexError, TypeError, struct.error):
            return None


def same(decode, data, parts=8, exif=False, name="", like=None):
    """The pixels are Pillow's, or those that it has of `like`."""
    like = data if like is None else like
    expected = pillow(like, exif)
    condition, pixels = decode(data, exif=exif)
    if expected is None:
        assert condition, name
        assert decode(data, (0, 0, 1, 1), exif)[0] == condition, name
        return
    assert condition == 0, (name, pixels)
    numpy.testing.assert_array_equal(pixels, expected, err_msg=name)
    height, width = expected.shape[:2]
    rng = random.Random(len(data))
    for _ in range(parts):
        x, y = rng.randrange(width), rng.randrange(height)
        w, h = rng.randint(1, width - x), rng.randint(1, height - y)
        condition, pixels = decode(data, (x, y, w, h), exif)
        assert condition == 0, (name, pixels)
        numpy.testing.assert_array_equal(pixels, expected[y : y + h, x : x + w], err_msg=name)
    same_alpha(decode, data, exif, name, like)


def same_alpha(decode, data, exif, name, like):
    """The whole picture, and a part of it."""
    expected = pillow(like, exif, "RGBA")
    if expected is None:
        return
    height, width = expected.shape[:2]
    for x, y, w, h in (0, 0, width, height), (width // 3, height // 2, width // 2, height // 3):
        condition, pixels = decode(data, (x, y, w, h) if h and w else (0, 0, 0, 0), exif, True)
        assert condition == 0, (name, pixels)
        wanted = expected[y : y + h, x : x + w] if h and w else expected
        numpy.testing.assert_array_equal(pixels, wanted, err_msg=name + " with alpha")


def picture(width, height, channels, seed=1):
    """Soft shapes with some noise: what compresses like a photograph."""
    rng = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width][:, :, :, None] / 9.0
    phase = rng.uniform(0, 6, (2, channels))
    soft = 128 + 90 * numpy.sin(x + phase[0]) * numpy.cos(y * 0.7 + phase[1])
    noise = rng.normal(0, 8, (height, width, channels))
    return (soft + noise).clip(0, 255).astype(numpy.uint8)


def image(mode, width, height, seed=1):
    channels = len(Image.new(mode, (1, 1)).getbands())
    pixels = picture(width, height, channels, seed)
    return Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels, mode)


def saved(image, format, **options):
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()
