# SPDX-License-Identifier: MIT
"""Pictures of 16 bits and floats: files of them, written here byte by byte, and what Pillow's modes
I;16 and F (of Pillow 11 and later, which many machines lack) make of a channel.

By hand, with a Pillow of 11 or later, tifffile and a built daemon, 300 files beside those two:

    STOKER_BUILD=build PYTHONPATH=client/python:tests/python python3 tests/reference/wide.py
"""
import math
import struct
import zlib

import numpy

SUPPORT = {"box": 0.5, "bilinear": 1.0, "bicubic": 2.0, "lanczos": 3.0}


def sinc(x):
    return math.sin(x * math.pi) / (x * math.pi) if x else 1.0


def weight(name, x):
    if name == "box":
        return float(-0.5 < x <= 0.5)
    if name == "lanczos":
        return sinc(x) * sinc(x / 3.0) if -3.0 <= x < 3.0 else 0.0
    x = abs(x)
    if name == "bilinear":
        return max(1.0 - x, 0.0)
    if x < 1.0:
        return (1.5 * x - 2.5) * x * x + 1.0
    return (((x - 5.0) * x + 8.0) * x - 4.0) * -0.5 if x < 2.0 else 0.0


def cut(sums):
    """Pillow's uint16 of sums, which cuts each of the two bytes."""
    numbers = numpy.trunc(sums + numpy.copysign(0.5, sums)).astype(numpy.int64)
    low = numpy.where(numbers < 0, 0, numbers % 256)
    return (numpy.clip(numbers >> 8, 0, 255) << 8 | low).astype(numpy.uint16)


def resize_rows(values, height, name):
    """Along the first axis."""
    count = values.shape[0]
    if count == height:
        return values
    scale = count / height
    stretch = max(scale, 1.0)
    support = SUPPORT[name] * stretch
    rows = []
    for number in range(height):
        center = (number + 0.5) * scale
        first = max(int(center - support + 0.5), 0)
        end = min(int(center + support + 0.5), count)
        weights = [weight(name, (at - center + 0.5) * (1.0 / stretch))
                   for at in range(first, end)]
        whole = 0.0
        for one in weights:
            whole += one
        row = numpy.zeros(values.shape[1:])
        for one, line in zip(weights, values[first:end]):
            row += line.astype(numpy.float64) * (one / whole)
        rows.append(cut(row) if values.dtype == numpy.uint16 else row.astype(numpy.float32))
    return numpy.stack(rows)


def resize(values, size, name="bilinear"):
    """`values`: (H, W) or (H, W, C), uint16 or float32; `size`: (height, width)."""
    across = resize_rows(values.swapaxes(0, 1), size[1], name).swapaxes(0, 1)
    return resize_rows(across, size[0], name)


def png(values):
    """`values`: (H, W, C) of uint16, C 1 to 4."""
    height, width, channels = values.shape
    rows = b"".join(b"\0" + row.tobytes() for row in values.astype(">u2"))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(
            ">I", zlib.crc32(name + data))
    header = struct.pack(">IIBBBBB", width, height, 16, (0, 4, 2, 6)[channels - 1], 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def pnm(values, most=65535):
    """`values`: (H, W, C) of uint16, C 1 or 3."""
    height, width, channels = values.shape
    head = f"P{5 if channels == 1 else 6}\n{width} {height}\n{most}\n"
    return head.encode() + values.astype(">u2").tobytes()


def tiff(values, order="<", planes=False, packed=False, rows=7, turned=1):
    """`values`: (H, W, C) of uint16, int16, int32, uint32, float32 or float64, in strips."""
    height, width, channels = values.shape
    bits, kind = values.dtype.itemsize * 8, {"u": 1, "i": 2, "f": 3}[values.dtype.kind]
    flat = values.astype(values.dtype.newbyteorder(order))
    parts = [flat[:, :, c] for c in range(channels)] if planes else [flat]
    strips = [part[y:y + rows].tobytes() for part in parts for y in range(0, height, rows)]
    strips = [zlib.compress(strip) for strip in strips] if packed else strips
    at, blocks = 8, b"".join(strips)
    offsets = [at + sum(map(len, strips[:n])) for n in range(len(strips))]
    tags, extra = [], b""
    directory = 8 + len(blocks) + len(blocks) % 2

    def tag(number, form, numbers):
        nonlocal extra
        data = struct.pack(f"{order}{len(numbers)}{'H' if form == 3 else 'I'}", *numbers)
        where = data.ljust(4, b"\0")
        if len(data) > 4:
            where = struct.pack(order + "I", directory + 2 + 12 * count + 4 + len(extra))
            extra += data + b"\0" * (len(data) % 2)
        tags.append(struct.pack(order + "HHI", number, form, len(numbers)) + where)
    count = 12 + (channels not in (1, 3))
    tag(256, 4, [width])
    tag(257, 4, [height])
    tag(258, 3, [bits] * channels)
    tag(259, 3, [8 if packed else 1])
    tag(262, 3, [2 if channels in (3, 4) else 1])
    tag(273, 4, offsets)
    tag(274, 3, [turned])
    tag(277, 3, [channels])
    tag(278, 4, [rows])
    tag(279, 4, [len(strip) for strip in strips])
    tag(284, 3, [2 if planes else 1])
    if channels not in (1, 3):
        tag(338, 3, [0] * (channels - (3 if channels == 4 else 1)))
    tag(339, 3, [kind] * channels)
    mark = b"II" if order == "<" else b"MM"
    return (mark + struct.pack(order + "HI", 42, directory) + blocks + b"\0" * (len(blocks) % 2) +
            struct.pack(order + "H", count) + b"".join(tags) + b"\0\0\0\0" + extra)


def beside(count=300):
    """By hand: `count` files beside Pillow and tifffile, whole, resized and cropped."""
    import json
    import tempfile

    import PIL.Image
    import tifffile

    import real_daemon
    import stoker
    draw, kinds = numpy.random.default_rng(1), ["u2", "f4", "i2", "f8", "u4"]
    equal = others = 0
    with tempfile.TemporaryDirectory() as folder:
        daemon = real_daemon.RealDaemon(folder)
        for number in range(count):
            height, width = (int(edge) for edge in draw.integers(5, 90, 2))
            channels = int(draw.integers(1, 7)) if number % 2 else 1
            kind = "u2" if number % 3 else kinds[number // 3 % len(kinds)]
            values = draw.integers(0, 30000, (height, width, channels)).astype(kind)
            dtype = "uint16" if kind == "u2" and number % 4 else "float32"
            path = f"{folder}/{number}"
            if kind == "u2" and channels < 5 and number % 5 < 2:
                with open(path, "wb") as file:
                    file.write(png(values))
                back = values if channels > 1 else numpy.asarray(PIL.Image.open(path))[..., None]
            else:
                tifffile.imwrite(
                    path, values if channels > 1 else values[..., 0], byteorder="<>"[number % 2],
                    photometric="rgb" if channels in (3, 4) else "minisblack",
                    planarconfig="contig" if channels > 1 else None,
                    tile=(32, 16) if number % 7 == 0 else None,
                    rowsperstrip=None if number % 7 == 0 else 1 + number % 9,
                    compression=[None, "zlib", "lzw", "zstd"][number % 4],
                    predictor=number % 4 > 0 and number % 3 == 1)
                back = tifffile.imread(path).reshape(values.shape)
                if channels == 1 and kind in ("u2", "f4"):
                    pillow = numpy.asarray(PIL.Image.open(path))
                    others += not numpy.array_equal(pillow, back[..., 0])
            assert numpy.array_equal(back, values)
            with open(f"{folder}/list.jsonl", "w", encoding="utf-8") as file:
                file.write(json.dumps({"path": str(number)}))
            back = back.astype(dtype)
            size = tuple(int(edge) for edge in draw.integers(3, 99, 2))
            name = [*SUPPORT][number % len(SUPPORT)]
            filters = dict(box=4, bilinear=2, bicubic=3, lanczos=1)
            with stoker.connect(daemon.path) as node:
                for transforms in ([], [stoker.Resize(size, interpolation=name)]):
                    loader = node.loader(
                        f"{folder}/list.jsonl", shuffle=False, batch_size=1, layout="NHWC",
                        dtype=dtype, resize="pillow-12",
                        transforms=[stoker.ReadAs(dtype), *transforms])
                    found = [batch["image"][0].copy() for batch in loader.batches()][0]
                    wanted = back if not transforms else numpy.stack(
                        [numpy.asarray(PIL.Image.fromarray(numpy.ascontiguousarray(
                            back[..., c])).resize(size[::-1], filters[name]))
                         for c in range(channels)], -1)
                    assert numpy.array_equal(found, wanted), (path, kind, values.shape, size, name)
            equal += 1
        daemon.stop()
    print(f"{equal} of {count} files equal to those of Pillow {PIL.__version__} and tifffile "
          f"{tifffile.__version__}, whole and resized; of {others} Pillow has other numbers than "
          "tifffile")


if __name__ == "__main__":
    beside()
