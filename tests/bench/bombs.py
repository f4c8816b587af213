# SPDX-License-Identifier: MIT
"""The section "bombs": small files that claim or repeat so much that decoding them takes seconds or
gigabytes, and the CPU time until stoker has refused them. What they took libjpeg, libpng and their
kind stands in the list."""

import functools
import io
import os
import pathlib
import resource
import subprocess
import tempfile
import zlib

from PIL import Image

from table import Row

SOI, EOI = b"\xff\xd8", b"\xff\xd9"


@functools.lru_cache
def _jpeg(size, mode="RGB", **options):
    out = io.BytesIO()
    Image.new(mode, size, 128).save(out, "JPEG", **options)
    return out.getvalue()


def _segments(data):
    """(marker, first byte, one behind the last) of each; a scan with what follows its header."""
    at = len(SOI)
    while data[at:at + 2] != EOI:
        end = at + 2 + int.from_bytes(data[at + 2:at + 4], "big")
        if data[at + 1] == 0xda:
            while data[end] != 0xff or data[end + 1] == 0 or 0xd0 <= data[end + 1] <= 0xd7:
                end += 1
        yield data[at + 1], at, end
        at = end


def claim(data, size):
    """The same JPEG, of another size if one believes its header."""
    for marker, at, _ in _segments(data):
        if marker in (0xc0, 0xc2):
            width, height = (side.to_bytes(2, "big") for side in size)
            return data[:at + 5] + height + width + data[at + 9:]
    raise ValueError("no frame")


def scans(times, side=8000):
    """A progressive JPEG, flat, one of whose scans of 95 bytes comes again and again."""
    data = _jpeg((side, side), "L", progressive=True)
    for marker, at, end in _segments(data):
        if marker == 0xda and data[at + 7] > 0:  # of AC coefficients
            return data[:end] + data[at:end] * times + EOI
    raise ValueError("no scan")


def _chunk(name, data):
    return (len(data).to_bytes(4, "big") + name + data
            + zlib.crc32(name + data).to_bytes(4, "big"))


def png(side):
    """Zeros, nothing but zeros: packed a thousandth of them."""
    size, pack = side.to_bytes(4, "big"), zlib.compressobj(9, wbits=-15)
    times = (side * (side * 3 + 1) >> 20) + 1
    block = pack.compress(bytes(1 << 20)) + pack.flush(zlib.Z_FULL_FLUSH)
    adler = ((times << 20) % 65521 << 16 | 1).to_bytes(4, "big")
    return (b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", size + size + b"\x08\x02\0\0\0")
            + _chunk(b"IDAT", b"\x78\xda" + block * times + b"\x03\0" + adler)
            + _chunk(b"IEND", b""))


# name: (how it is made, the seconds it took djpeg or a plain use of the library)
BOMBS = {
    "scans-100.jpg": (lambda: scans(100), 0.96),
    "scans-500.jpg": (lambda: scans(500), 3.46),
    "scans-2000.jpg": (lambda: scans(2000), 11.25),
    "progressive-20000.jpg": (lambda: claim(_jpeg((64, 64), progressive=True), (20000, 20000)),
                              3.59),
    "progressive-65500.jpg": (lambda: claim(_jpeg((64, 64), progressive=True), (65500, 65500)),
                              None),
    "baseline-65500.jpg": (lambda: claim(_jpeg((64, 64)), (65500, 65500)), 3.92),
    "zeros.png": (lambda: png(14000), None),
}


def make(folder):
    """All of them as files of this folder."""
    for name, (how, _) in BOMBS.items():
        (folder / name).write_bytes(how())


def cpu_ms(tool, path):
    """CPU time of a process that tries to decode this file."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([tool], input=f"0 0 0 0 0 {path}\n".encode(), capture_output=True,
                          check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert not done.stdout.startswith(b"0 "), f"{path.name} was decoded"
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def rows(options):
    tool = os.fspath(options.build / "tests" / "unit" / "decode" / "decode_tool")
    with tempfile.TemporaryDirectory(prefix="stoker-bombs-") as folder:
        make(pathlib.Path(folder))
        for name, (_, seconds) in BOMBS.items():
            path = pathlib.Path(folder) / name
            ours = [cpu_ms(tool, path) for _ in range(options.rounds)]
            other = [1000 * seconds] if seconds else None
            yield Row(f"refuse {name} ({path.stat().st_size} bytes); the library's own time",
                      ours, other, "ms", at_most=50, of_ours=True, digits=1)
