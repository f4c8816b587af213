# SPDX-License-Identifier: MIT
"""The first batch, in an environment where a wheel is installed: of the folder that is named, or of
three made here, one of them TIFF. The daemon has to be the wheel's own, and ends a second later.

    PYTHON packaging/wheel/first_batch.py [FOLDER]
"""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

import stoker
from stoker import _start


def grey_tiff(width, height):
    """One strip behind its directory."""
    fields = [(256, width), (257, height), (258, 8), (259, 1), (262, 1), (273, 0), (277, 1),
              (278, height), (279, width * height)]
    start = 8 + 2 + 12 * len(fields) + 4
    packed = [struct.pack("<HHII", tag, 4, 1, start if tag == 273 else value)
              for tag, value in fields]
    return (struct.pack("<2sHIH", b"II", 42, 8, len(fields)) + b"".join(packed) + bytes(4) +
            b"\x80" * width * height)


def make_pictures(folder):
    """PPM, which needs no library, and TIFF, which needs most."""
    ppm = b"P6 40 30 255\n"
    for name, content in (("red/a.ppm", ppm + bytes((255, 0, 0)) * 40 * 30),
                          ("green/a.ppm", ppm + bytes((0, 255, 0)) * 40 * 30),
                          ("grey/a.tiff", grey_tiff(40, 30))):
        picture = folder / "pictures" / name
        picture.parent.mkdir(parents=True)
        picture.write_bytes(content)
    return folder / "pictures"


def main():
    package = pathlib.Path(stoker.__file__).parent
    assert pathlib.Path(_start.program("stokerd")) == package / "bin" / "stokerd", package
    for name in ("stokerd", "stokerctl"):
        command = pathlib.Path(sys.executable).with_name(name)
        print(subprocess.run([command, "--version"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout.strip())
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        os.environ["STOKER_EXIT_IDLE_TIME"] = "1s"
        data = sys.argv[1] if len(sys.argv) > 1 else make_pictures(place)
        start = time.monotonic()
        with stoker.connect(place / "run" / "stokerd.sock", start=True) as node:
            loader = node.loader(str(data), batch_size=3, transforms=[
                stoker.RandomResizedCrop(224), stoker.ToTensor()])
            images, labels = next(iter(loader))
            print(f"first batch: {images.shape} {images.dtype}, labels {labels}, "
                  f"{time.monotonic() - start:.2f} s after connect()")
            assert images.shape == (3, 3, 224, 224) and images.max() > 0
        until = time.monotonic() + 60
        while (place / "run" / "stokerd.sock").exists():
            assert time.monotonic() < until, "the daemon does not end"
            time.sleep(0.1)


if __name__ == "__main__":
    main()
