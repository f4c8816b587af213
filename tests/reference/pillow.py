# SPDX-License-Identifier: MIT
"""Whose bytes a resize makes: those of Pillow up to 12, or of 13, by any Pillow.

Up to 12 the horizontal pass is always first; from 13 on the vertical one, where it shrinks the
height by more than twice what the width shrinks, in pixels. A resize of one edge is one pass, so
that each Pillow can make both. tests/unit/transform/test_rows_first.py has digests of 13 itself.
"""

import contextlib

import PIL
from PIL import Image

# That of this process' Pillow.
MAJOR = int(PIL.__version__.split(".")[0])
OWN = "pillow-13" if MAJOR >= 13 else "pillow-12"
_resize = Image.Image.resize


def rows_first(size, to):
    height = size[1] - to[1]
    return height > 0 and height > 2 * (size[0] - to[0])


def _resize_as(whose):
    def resize(image, size, resample=Image.Resampling.BICUBIC, box=None, reducing_gap=None):
        (width, height), whole = size, (0, 0, *image.size)
        box = tuple(box or whole)
        assert reducing_gap is None
        # Of these modes Pillow resizes another one, by this function.
        if (resample == Image.Resampling.NEAREST or image.mode in ("1", "P", "LA", "RGBA")
                or (tuple(size) == image.size and box == whole)):
            return _resize(image, size, resample, box)
        if whose == "pillow-13" and rows_first(image.size, size):
            image = _resize(image, (image.width, height), resample,
                            (0, box[1], image.width, box[3]))
            return _resize(image, size, resample, (box[0], 0, box[2], height))
        image = _resize(image, (width, image.height), resample,
                        (box[0], 0, box[2], image.height))
        return _resize(image, size, resample, (0, box[1], width, box[3]))
    return resize


@contextlib.contextmanager
def resizing_as(whose):
    """Image.resize() makes the bytes of `whose`, pillow-12 or pillow-13, within."""
    # Pillows 10 to 12 make the vertical pass first of pictures 100 times as tall as they are wide.
    if whose != OWN or 10 <= MAJOR < 13:
        Image.Image.resize = _resize_as(whose)
    try:
        yield
    finally:
        Image.Image.resize = _resize
