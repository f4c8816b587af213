# SPDX-License-Identifier: MIT
"""The section "formats": crops of made files that are no baseline JPEGs, beside Pillow.

The same crops on both sides, of RandomResizedCrop's kind, each from the file's bytes to RGB pixels:
CPU time of one thread. A folder is measured by the one and then by the other, round by round. By
itself, on a build:

    PYTHON tests/bench/formats.py [BUILD] [--count 2000]

With --count no time is taken: so many files of each of these kinds and of those of OTHERS, of any
size, must have the pixels of PYTHON's Pillow, whole and in parts. The exit code is 1 if some have
others.
"""

import argparse
import functools
import io
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import numpy
import PIL
from PIL import Image
from table import Row

SIZE = (500, 375)
FILES = 8  # of each kind
CROPS = 4  # of each file and round


@functools.lru_cache(FILES)
def photograph(number):
    """Something smooth with some noise, as a camera has it."""
    source = numpy.random.default_rng(number)
    small = Image.fromarray(source.integers(0, 256, (12, 16, 3), dtype=numpy.uint8))
    smooth = numpy.asarray(small.resize(SIZE, Image.BICUBIC), dtype=numpy.int16)
    return Image.fromarray((smooth + source.integers(-6, 7, smooth.shape)).clip(0, 255).astype(
        numpy.uint8))


def save_sixteen(image, path):
    Image.fromarray(numpy.asarray(image.convert("L"), dtype=numpy.uint16) * 257).save(path, "PNG")


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


OTHERS = {
    "JPEG": lambda image, path: image.save(path, "JPEG", quality=90),
    "JPEG of CMYK": lambda image, path: image.convert("CMYK").save(path, "JPEG"),
    "WebP with alpha": lambda image, path: with_alpha(image).save(path, "WEBP"),
    "BMP": lambda image, path: image.save(path, "BMP"),
    "BMP with a palette": lambda image, path: image.quantize(256).save(path, "BMP"),
    "PPM": lambda image, path: image.save(path, "PPM"),
    "GIF": lambda image, path: image.save(path, "GIF"),
    "GIF, interlaced": lambda image, path: image.save(path, "GIF", interlace=1),
    "TIFF": lambda image, path: image.save(path, "TIFF"),
    "TIFF, LZW": lambda image, path: image.save(path, "TIFF", compression="tiff_lzw"),
    "TIFF, deflated": lambda image, path: with_alpha(image).save(
        path, "TIFF", compression="tiff_adobe_deflate"),
    "TIFF of JPEG": lambda image, path: image.save(path, "TIFF", compression="jpeg"),
    "TIFF of CMYK": lambda image, path: image.convert("CMYK").save(path, "TIFF"),
    "AVIF": lambda image, path: image.save(path, "AVIF", speed=10),
    "AVIF, 4:4:4, with alpha": lambda image, path: with_alpha(image).save(
        path, "AVIF", speed=10, subsampling="4:4:4"),
}


def with_alpha(image):
    image = image.convert("RGB")
    image.putalpha(image.getchannel(0))
    return image


def make_file(save, draw):
    """A file's bytes, of a part of a photograph."""
    image = photograph(draw.randrange(FILES))
    width, height = draw.randint(1, 200), draw.randint(1, 200)
    x, y = draw.randrange(SIZE[0] - width), draw.randrange(SIZE[1] - height)
    to = io.BytesIO()
    save(image.crop((x, y, x + width, y + height)), to)
    return to.getvalue()


def differing(decode, save, count):
    """How many of `count` files have other pixels than Pillow's."""
    draw, bad = random.Random(count), 0
    for _ in range(count):
        data = make_file(save, draw)
        with Image.open(io.BytesIO(data)) as image:
            wanted = numpy.asarray(image.convert("RGB"))
        height, width = wanted.shape[:2]
        x, y = draw.randrange(width), draw.randrange(height)
        w, h = draw.randint(1, width - x), draw.randint(1, height - y)
        whole, part = decode(data), decode(data, (x, y, w, h))
        bad += not (whole[0] == part[0] == 0 and numpy.array_equal(whole[1], wanted)
                    and numpy.array_equal(part[1], wanted[y:y + h, x:x + w]))
    return bad


def compare(build, count):
    os.environ["STOKER_BUILD"] = str(build)
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit" / "decode"))
    from by_pillow import Decoder  # it takes the build from the environment
    print(f"Pillow {PIL.__version__}", flush=True)
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        decode = Decoder(folder)
        for kind, save in {**KINDS, **OTHERS}.items():
            if "AVIF" in kind and "AVIF" not in Image.SAVE:
                continue
            bad = differing(decode, save, count)
            print(f"{kind}: {bad} of {count} differ", flush=True)
            total += bad
        decode.close()
    return total > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, nargs="?", default=pathlib.Path("build"))
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    Image.init()
    if options.count:
        return compare(options.build.resolve(), options.count)
    for row in rows(options):
        print("  ".join(row.cells()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
