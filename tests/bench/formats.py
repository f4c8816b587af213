# SPDX-License-Identifier: MIT
"""The section "formats": crops of made files that are no baseline JPEGs, beside Pillow.

The same crops on both sides, of RandomResizedCrop's kind, each from the file's bytes to RGB pixels:
CPU time of one thread. A folder is measured by the one and then by the other, round by round. By
itself, on a build:

    /usr/bin/python3 tests/bench/formats.py [BUILD]
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
from PIL import Image
from table import Row

SIZE = (500, 375)
FILES = 8  # of each kind
CROPS = 4  # of each file and round


def photograph(number):
    """Something smooth with some noise, as a camera has it."""
    source = numpy.random.default_rng(number)
    small = Image.fromarray(source.integers(0, 256, (12, 16, 3), dtype=numpy.uint8))
    smooth = numpy.asarray(small.resize(SIZE, Image.BICUBIC), dtype=numpy.int16)
    return Image.fromarray((smooth + source.integers(-6, 7, smooth.shape)).clip(0, 255).astype(
        numpy.uint8))


def save_sixteen(image, path):
    Image.fromarray(numpy.asarray(image.convert("L"), dtype=numpy.uint16) * 257).save(path)


KINDS = {
    "PNG": lambda image, path: image.save(path, "PNG"),
    "PNG with alpha": lambda image, path: image.convert("RGBA").save(path, "PNG"),
    "PNG with a palette": lambda image, path: image.quantize(256).save(path, "PNG"),
    "PNG, gray of 16 bits": lambda image, path: save_sixteen(image, path),
    "WebP": lambda image, path: image.save(path, "WEBP", quality=85),
    "WebP, lossless": lambda image, path: image.save(path, "WEBP", lossless=True, method=2),
    "JPEG, progressive": lambda image, path: image.save(path, "JPEG", quality=92,
                                                        progressive=True),
}


def ours(build, folder):
    """Crops a CPU second, and the crops as (path, box)."""
    text = subprocess.run([build / "tests" / "bench" / "decode_bench", "crops", folder, str(CROPS)],
                          stdout=subprocess.PIPE, check=True, text=True).stdout
    spent, crops = 0, []
    for line in text.splitlines():
        ns, x, y, width, height, path = line.split(" ", 5)
        spent += int(ns)
        crops.append((path, (int(x), int(y), int(x) + int(width), int(y) + int(height))))
    return 1e9 * len(crops) / spent, crops


def pillows(crops):
    for path in {path for path, _ in crops}:
        pathlib.Path(path).read_bytes()
    start = time.thread_time()
    for path, box in crops:
        with Image.open(path) as image:
            image.convert("RGB").crop(box)
    return len(crops) / (time.thread_time() - start)


def rows(options):
    with tempfile.TemporaryDirectory() as folder:
        for kind, save in KINDS.items():
            place = pathlib.Path(folder) / kind
            place.mkdir()
            for number in range(FILES):
                name = f"{number}.png" if "PNG" in kind else str(number)
                save(photograph(number), place / name)
            own, others = [], []
            for _ in range(options.rounds):
                rate, crops = ours(options.build, place)
                own.append(rate)
                others.append(pillows(crops))
            yield Row(f"random crop of a {kind}; Pillow", own, others, "crops/s", at_least=1.0)


class Options:
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build")
    rounds = 7


if __name__ == "__main__":
    for row in rows(Options):
        print("  ".join(row.cells()), flush=True)
