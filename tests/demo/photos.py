# SPDX-License-Identifier: MIT
"""Made photographs: folders of classes, for the demo, the tests and the bench.

Each picture is a function of (seed, number) alone: a shaded background, a few bodies of the class's
kind in front of it, and the grain of a sensor, so that its JPEG is about as large as a real one.

    python3 photos.py FOLDER [COUNT]
"""

import math
import os
import sys

import numpy
from PIL import Image, ImageDraw, ImageFilter

CLASSES = ("ball", "box", "tent", "star", "fence", "ripple", "leaf", "moon")
SIZES = ((500, 375), (375, 500), (500, 333), (333, 500), (500, 500), (400, 300), (640, 480))
QUALITY = 92


def random_of(seed, number):
    return numpy.random.Generator(numpy.random.Philox(key=[seed, number]))


def background(random, width, height):
    """Light from one side over two colours, as floats."""
    angle = random.uniform(0, 2 * math.pi)
    x = numpy.linspace(-0.5, 0.5, width, dtype=numpy.float32)[None, :, None]
    y = numpy.linspace(-0.5, 0.5, height, dtype=numpy.float32)[:, None, None]
    ramp = 0.5 + math.cos(angle) * x + math.sin(angle) * y
    near, far = (random.uniform(40, 220, 3).astype(numpy.float32) for _ in range(2))
    return near * ramp + far * (1 - ramp)


def around(x, y, size, turns, corners, inner=1.0):
    """A polygon around (x, y); every second corner at `inner` of the size."""
    return [(x + size * (inner if i % 2 else 1) * math.cos(2 * math.pi * (turns + i / corners)),
             y + size * (inner if i % 2 else 1) * math.sin(2 * math.pi * (turns + i / corners)))
            for i in range(corners)]


def body(draw, random, kind, width, height):
    """One body of a class, at a random place."""
    x, y = random.uniform(0.15, 0.85) * width, random.uniform(0.15, 0.85) * height
    size = random.uniform(0.08, 0.22) * min(width, height)
    turns = random.uniform(0, 1)
    colour = tuple(int(v) for v in random.integers(10, 245, 3))
    dark = tuple(v // 2 for v in colour)
    if kind == "ball":
        draw.ellipse([x - size, y - size, x + size, y + size], fill=colour, outline=dark, width=3)
    elif kind == "box":
        draw.polygon(around(x, y, size, turns, 4), fill=colour, outline=dark)
    elif kind == "tent":
        draw.polygon(around(x, y, size, turns, 3), fill=colour, outline=dark)
    elif kind == "star":
        draw.polygon(around(x, y, size, turns, 10, 0.4), fill=colour, outline=dark)
    elif kind == "fence":
        for i in range(-3, 4):
            at = x + i * size / 2
            draw.line([at, y - size, at, y + size], fill=colour, width=max(2, int(size / 8)))
        draw.line([x - 2 * size, y, x + 2 * size, y], fill=dark, width=max(2, int(size / 10)))
    elif kind == "ripple":
        for i in range(1, 6):
            r = size * i / 4
            draw.ellipse([x - r, y - r, x + r, y + r], outline=colour, width=3)
    elif kind == "leaf":
        draw.chord([x - size, y - size, x + size, y + size], 360 * turns, 360 * turns + 120,
                   fill=colour, outline=dark)
    else:
        draw.pieslice([x - size, y - size, x + size, y + size], 360 * turns, 360 * turns + 230,
                      fill=colour, outline=dark)


def picture(seed, number, kind, size=None):
    """One made photograph, as an RGB image."""
    random = random_of(seed, number)
    width, height = size or SIZES[random.integers(len(SIZES))]
    ground = background(random, width, height)
    image = Image.fromarray(ground.clip(0, 255).astype(numpy.uint8))
    draw = ImageDraw.Draw(image)
    for _ in range(random.integers(2, 6)):
        body(draw, random, kind, width, height)
    image = image.filter(ImageFilter.GaussianBlur(random.uniform(0.3, 1.2)))
    grain = random.standard_normal((height, width, 1), dtype=numpy.float32) * 9
    pixels = numpy.asarray(image, dtype=numpy.float32) + grain
    return Image.fromarray(pixels.clip(0, 255).astype(numpy.uint8))


def make(folder, count=300, classes=CLASSES[:6], seed=1, size=None, plain=False):
    """An image folder of `count` photographs, `folder`/class/0001.jpg; returns the paths in it,
    sorted as an image folder sorts. Every eighth is gray and every tenth a PNG or a WebP, as in
    collections that grew; with `plain` all are JPEGs in colour."""
    paths = []
    for number in range(count):
        kind = classes[number % len(classes)]
        image = picture(seed, number, kind, size)
        ending, options = "jpg", {"quality": QUALITY, "subsampling": 2 * (number % 3 == 0)}
        if not plain and number % 8 == 7:
            image = image.convert("L")
        if not plain and number % 20 == 9:
            ending, options = "png", {"compress_level": 1}
        elif not plain and number % 20 == 19:
            ending, options = "webp", {"quality": QUALITY}
        path = os.path.join(kind, f"{number:04}.{ending}")
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
        image.save(os.path.join(folder, path), **options)
        paths.append(path)
    return sorted(paths)


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__.strip())
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    paths = make(sys.argv[1], count)
    print(f"{len(paths)} photographs of {len(CLASSES[:6])} classes in {sys.argv[1]}")


if __name__ == "__main__":
    main()
