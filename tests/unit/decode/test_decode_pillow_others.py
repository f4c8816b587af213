# SPDX-License-Identifier: MIT
"""As test_decode_pillow.py, of BMP, TIFF and GIF."""

import io
import itertools
import random
import struct
import zlib

import numpy
import pytest

from by_pillow import (CORRUPT, LIMIT, PILLOW, SIZES, UNSUPPORTED, Image, image, picture, pillow,
                       same, saved)


# --- BMP ---


def bmp(width, height, bits, rows, header=40, compression=0, palette=b"", masks=b"", offset=None,
        down=False):
    """A BMP file: `rows` as they lie in it, padded here."""
    if header == 12:
        info = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", header, width, -height if down else height, 1, bits,
                           compression, 0, 0, 0, 0, 0)
        info = (info + (masks if header > 40 else b"")).ljust(header, b"\0")
        info += masks if header == 40 else b""
    at = 14 + len(info) + len(palette) if offset is None else offset
    body = b"".join(row + b"\0" * (-len(row) % 4) for row in rows)
    return struct.pack("<2sIHHI", b"BM", 0, 0, 0, at) + info + palette + body


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA"])
def test_bmp_of_pillow(decode, mode):
    for size in SIZES:
        base = image("RGBA" if mode == "RGBA" else "RGB", *size)
        same(decode, saved(base if mode in ("RGB", "RGBA") else base.convert(mode), "BMP"))


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("header", [12, 40, 64, 108, 124])
@pytest.mark.parametrize("bits", [1, 4, 8, 16, 24, 32])
def test_bmp_forms(decode, bits, header, down):
    entry = 3 if header == 12 else 4
    for number, (width, height) in enumerate(SIZES):
        rows = [noise((width * bits + 7) // 8, seed) for seed in range(height)]
        palette = noise(entry << bits, number) if bits <= 8 else b""
        data = bmp(width, height, bits, rows, header, palette=palette, down=down)
        same(decode, data, name=f"{bits} {header} {down} {width}x{height}")
        same(decode, data[:-1], 1)
        same(decode, data[: len(data) // 2], 1)
        same(decode, bmp(width, height, bits, rows, header, palette=palette, offset=0), 2)
        if bits <= 8:  # as programs write it that count no palette
            behind = 14 + header
            if header == 12 and PILLOW < (12, 0):
                continue  # four bytes a colour, where the file has three
            same(decode, bmp(width, height, bits, rows, header, palette=palette, offset=behind), 2)


@pytest.mark.parametrize("colours", [
    [(9, 8, 7), (6, 5, 4), (3, 2, 1)], [(5, 6, 7)], [(0, 0, 0), (1, 1, 1)],
    [(0, 0, 0), (1, 1, 1), (2, 2, 2)]], ids=len)
def test_bmp_palette_that_is_short(decode, colours):
    """Black, or the next shades. Before Pillow 10.1 these were there in any case."""
    def make(colours):
        data = bytearray(bmp(16, 1, 8, [bytes(range(8)) + bytes(range(248, 256))],
                             palette=b"".join(bytes((*colour, 0)) for colour in colours)))
        data[46:50] = struct.pack("<I", len(colours))
        return bytes(data)

    whole = colours if len(colours) == 3 and colours[2] == (2, 2, 2) else \
        colours + [(0, 0, 0)] * (256 - len(colours))
    same(decode, make(colours), like=make(whole))
    if PILLOW >= (10, 1):
        same(decode, make(colours))


@pytest.mark.parametrize("header", [40, 108, 124])
@pytest.mark.parametrize("bits, masks", [
    (32, (0xFF0000, 0xFF00, 0xFF, 0)), (32, (0xFF000000, 0xFF0000, 0xFF00, 0)),
    (32, (0xFF000000, 0xFF0000, 0xFF00, 0xFF)), (32, (0xFF, 0xFF00, 0xFF0000, 0xFF000000)),
    (32, (0xFF0000, 0xFF00, 0xFF, 0xFF000000)), (32, (0, 0, 0, 0)), (24, (0xFF0000, 0xFF00, 0xFF)),
    (16, (0xF800, 0x7E0, 0x1F)), (16, (0x7C00, 0x3E0, 0x1F)), (16, (0xF00, 0xF0, 0xF)),
    (32, (1, 2, 3, 4)), (24, (1, 2, 3)), (8, (1, 2, 3))])
def test_bmp_masks(decode, bits, masks, header):
    rows = [noise(17 * bits // 8, seed) for seed in range(5)]
    packed = struct.pack(f"<{len(masks)}I", *masks)
    packed = packed[:12] if header == 40 else packed.ljust(16, b"\0")
    same(decode, bmp(17, 5, bits, rows, header, 3, masks=packed))


@pytest.mark.parametrize("header", [40, 52, 56])
@pytest.mark.parametrize("masks, places", [
    ((0xFF000000, 0xFF00, 0xFF, 0), (0, 1, 3)),
    ((0xFF000000, 0xFF00, 0xFF, 0xFF0000), (0, 1, 3, 2)),
    ((0xFF000000, 0xFF0000, 0xFF00, 0xFF), (1, 2, 3, 0))])
def test_bmp_of_newer_pillow(decode, header, masks, places):
    """Headers and masks that an old one refuses: the same pixels in another form."""
    rows = [noise(17 * 4, seed) for seed in range(5)]
    if header < 56:
        masks, places = (*masks[:3], 0), places[:3]
    # Blue, green, red, and alpha if there is one.
    plain = [bytes(row[x * 4 + place] for x in range(17) for place in places) for row in rows]
    usual = struct.pack("<4I", 0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    data = bmp(17, 5, 32, rows, header, 3,
               masks=struct.pack("<4I", *masks)[:12 if header < 56 else 16])
    like = bmp(17, 5, 24, plain) if len(places) == 3 else bmp(17, 5, 32, plain, 108, 3, masks=usual)
    same(decode, data, like=like)
    same(decode, bmp(17, 5, 24, rows, header), like=bmp(17, 5, 24, rows))
    if PILLOW >= (10, 4):
        same(decode, data)
        same(decode, bmp(17, 5, 24, rows, header))


def nibbles(values):
    """Bytes of two values of four bits."""
    return bytes(a << 4 | b for a, b in zip(values[::2], [*values[1::2], 0]))


RUNS = [bytes([5, 0x12, 12, 0x34, 0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 12, 7, 0, 0, 20, 9, 0, 0, 0, 1]),
        bytes([17, 1] * 5), bytes([17, 1, 0, 0] * 5 + [0, 1]), bytes([255, 7] * 5),
        bytes([3, 1, 0, 0] * 5), bytes([0, 4, 1, 2, 3, 4, 13, 8] * 5 + [0, 1]),
        bytes([0, 3, 1, 2, 3, 0, 14, 8, 0, 0] * 5), bytes([17, 1] * 4), bytes([17, 1, 0, 1]), b"",
        bytes([17, 1] * 4 + [0]), bytes([17, 1] * 4 + [0, 90, 1])]


# Jumps, and runs of literal pixels that are odd or longer than the picture: others before 13.
NEWER_RUNS = [bytes([0, 2, 3, 1, 9, 4] * 9 + [0, 1]), bytes([5, 7, 0, 2, 200, 200]), b"\0\2\1",
              bytes([5, 7, 0, 0, 0, 2, 0, 1, 0, 2, 16, 0, 1, 3] + [17, 1] * 5),
              bytes([0, 5, 0x12, 0x34, 0x56, 9, 9, 9, 12, 7] * 9),
              bytes([0, 255]) + bytes(range(255)),
              bytes([0, 255]) + bytes(range(84)), bytes([0, 255]) + bytes(range(30))]


@pytest.mark.parametrize("runs", RUNS + NEWER_RUNS)
@pytest.mark.parametrize("bits, compression", [(8, 1), (4, 2)])
def test_bmp_runs(decode, bits, compression, runs):
    odd = runs in RUNS[:1] + RUNS[6:7]
    if PILLOW < (13, 0) and (runs in NEWER_RUNS or (bits == 4 and odd)):
        pytest.skip(f"Pillow {PILLOW} decodes it otherwise")
    for down in (False, True):
        for pad in (0, 1):
            palette = noise(4 << bits) + b"x" * pad
            same(decode, bmp(17, 5, bits, [runs], 40, compression, palette, down=down))


def test_bmp_odd_runs(decode):
    """A run of an odd number of literal pixels of four bits has one that stands for nothing."""
    draw = random.Random(4)
    for width, height in SIZES:
        rows = [[draw.randrange(16) for _ in range(width)] for _ in range(height)]
        codes, plain = b"", []
        for row in rows:
            plain.append(nibbles(row))
            for at in range(0, width, 5):
                part = row[at : at + 5]
                data = nibbles(part)
                for single in part if len(part) < 3 else ():
                    codes += bytes([1, single << 4])
                if len(part) >= 3:
                    codes += bytes([0, len(part)]) + data + bytes(len(data) % 2)
            codes += b"\0\0"
        palette = noise(4 << 4)
        same(decode, bmp(width, height, 4, [codes + b"\0\1"], 40, 2, palette),
             like=bmp(width, height, 4, plain, palette=palette))


@pytest.mark.parametrize("bits", [1, 4, 8])
@pytest.mark.parametrize("colours, last", [(2, 1), (2, 255), (1, 0), (16, 15), (256, 255),
                                           (257, 255), (300, 7)])
def test_bmp_palette_of_greys(decode, bits, colours, last):
    """Pillow forgets it, and takes rows of less than 8 bits for bytes; or for bits, of two."""
    if PILLOW < (13, 0) and colours <= 2 and last < 255:
        pytest.skip(f"Pillow {PILLOW} takes one colour otherwise")
    greys = [shade & 255 for shade in range(colours - 1)] + [last]
    palette = b"".join(bytes([shade, shade, shade, 0]) for shade in greys)
    for width, height in SIZES + [(8, 4), (4, 2)]:
        data = bytearray(bmp(width, height, bits, [noise((width * bits + 7) // 8, seed)
                                                   for seed in range(height)], palette=palette))
        data[46:50] = struct.pack("<I", colours)
        same(decode, bytes(data), 2, name=f"{width}x{height}")
    if (bits, colours, last) == (8, 2, 255):  # eight of them a byte
        data = bytearray(bmp(8, 1, 8, [b"\xa5" * 8], palette=palette))
        data[46:50] = struct.pack("<I", 2)
        assert decode(bytes(data))[1][0, :, 0].tolist() == [255, 0, 255, 0, 0, 255, 0, 255]


def test_bmp_refused(decode):
    rows = [noise(17 * 3)] * 5
    for bits in (0, 2, 3, 48, 64):
        same(decode, bmp(17, 5, bits, rows))
    for compression in (4, 5, 6, 99):
        same(decode, bmp(17, 5, 24, rows, compression=compression))
    for header in (16, 48, 60, 200):
        same(decode, bmp(17, 5, 24, rows, header))
    whole = bmp(17, 5, 24, rows)
    for size in range(2, 54):
        assert decode(whole[:size])[0] in (CORRUPT, UNSUPPORTED)
    assert decode(bmp(0, 5, 24, rows))[0] == CORRUPT
    assert decode(bmp(20000, 20000, 24, rows))[0] == LIMIT


# --- TIFF ---


def tiff(tags, blocks, order="<"):
    """A file of one page: {number: (type, values)} and its strips or tiles."""
    data, places = b"", []
    for block in blocks:
        places.append(8 + len(data))
        data += block + bytes(len(block) % 2)
    where, counts = (324, 325) if 322 in tags else (273, 279)
    tags = {**tags, where: (4, places), counts: (4, [len(block) for block in blocks])}
    entries, behind = b"", b""
    begin = 8 + len(data) + 2 + 12 * len(tags) + 4
    for number in sorted(tags):
        kind, values = tags[number]
        body = struct.pack(order + f"{len(values)}{'.BsHI'[kind]}", *values)
        entries += struct.pack(order + "HHI", number, kind, len(values))
        if len(body) > 4:
            entries += struct.pack(order + "I", begin + len(behind))
            behind += body + bytes(len(body) % 2)
        else:
            entries += body.ljust(4, b"\0")
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8 + len(data))
    return head + data + struct.pack(order + "H", len(tags)) + entries + bytes(4) + behind


def tiff_tags(width, height, bits, photometric, samples=1, **more):
    tags = {256: (4, [width]), 257: (4, [height]), 258: (3, [bits] * samples), 259: (3, [1]),
            262: (3, [photometric]), 277: (3, [samples])}
    return {**tags, **{int(key[1:]): value for key, value in more.items()}}


@pytest.fixture(name="tiffs")
def fixture_tiffs(decode):
    condition, words = decode(saved(image("L", 3, 2), "TIFF"))
    if condition == UNSUPPORTED and "built without" in words:
        pytest.skip("this stokerd was built without libtiff")
    return decode


@pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_adobe_deflate", "packbits",
                                         "jpeg", "group4"])
@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "I;16"])
def test_tiff_by_pillow(tiffs, mode, compression):
    if compression == "group4" and mode != "1":
        pytest.skip("bits only")
    if compression == "jpeg" and mode not in ("L", "RGB", "CMYK", "YCbCr"):
        pytest.skip("not a form of JPEG")
    if mode == "YCbCr" and compression != "jpeg":
        pytest.skip("YCbCr is read of JPEG alone")
    for width, height in SIZES:
        if mode == "I;16":
            pixels = picture(width, height, 1)[:, :, 0].astype(numpy.uint16) * 2
            source = Image.fromarray(pixels)
        else:
            source = image("RGB", width, height).convert("RGBA" if mode == "LA" else mode)
            source = source.convert(mode)
            if mode in ("LA", "RGBA"):
                source.putalpha(image("L", width, height, 5))
        same(tiffs, saved(source, "TIFF", compression=compression), parts=4, name=mode)


# Refused before some newer Pillow.
TIFF_NEWER = [(8, 1, 2, (0,), "<"), (8, 1, 2, (0,), ">"), (8, 3, 2, (0,), "<"),
              (8, 3, 2, (0,), ">"), (16, 5, 4, (), ">")]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("bits, photometric, samples, extras", [
    (1, 0, 1, ()), (1, 1, 1, ()), (2, 0, 1, ()), (2, 1, 1, ()), (4, 0, 1, ()), (4, 1, 1, ()),
    (8, 0, 1, ()), (8, 1, 1, ()), (16, 0, 1, ()), (16, 1, 1, ()), (8, 1, 2, (2,)), (8, 1, 2, (1,)),
    (8, 2, 3, ()), (8, 2, 4, ()), (8, 2, 4, (0,)), (8, 2, 4, (1,)), (8, 2, 4, (2,)),
    (8, 2, 5, (0, 0)), (8, 2, 5, (1, 0)), (8, 2, 5, (2, 0)), (8, 2, 6, (0, 0, 0)),
    (8, 2, 6, (1, 0, 0)), (16, 2, 3, ()), (16, 2, 4, ()), (16, 2, 4, (0,)), (16, 2, 4, (1,)),
    (16, 2, 4, (2,)), (1, 3, 1, ()), (2, 3, 1, ()), (4, 3, 1, ()), (8, 3, 1, ()), (8, 3, 2, (2,)),
    (8, 5, 4, ()), (8, 5, 5, (0,)), (8, 5, 6, (0, 0)), (16, 5, 4, ()),
    (8, 5, 5, (1,)), (16, 2, 5, (0, 0)), (3, 1, 1, ()), (8, 1, 3, ()),
    (12, 1, 1, ()), (12, 0, 1, ()), (8, 1, 2, (0,)), (8, 3, 2, (0,)), (8, 0, 2, (0,)),
    (8, 2, 4, (999,)), (16, 1, 2, (0,)), (2, 2, 3, ()), (4, 1, 2, (2,))])
def test_tiff_forms(tiffs, bits, photometric, samples, extras, order):
    """What Pillow does not write: each form of pixels, in strips of some rows."""
    form = (bits, photometric, samples, extras, order)
    if PILLOW < (13, 0) and form in TIFF_NEWER:
        pytest.skip(f"Pillow {PILLOW} refuses it")
    for width, height in SIZES:
        more = {"t338": (3, extras)} if extras else {}
        if photometric == 3:
            more["t320"] = (3, [value * 257 for value in noise(3 << bits)])
        rows = 3
        stride = (width * samples * bits + 7) // 8
        blocks = [noise(stride * min(rows, height - y), y) for y in range(0, height, rows)]
        same(tiffs, tiff(tiff_tags(width, height, bits, photometric, samples, t278=(4, [rows]),
                                   **more), blocks, order), parts=3)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("bits", [8, 16])
def test_tiff_signed(tiffs, bits, order):
    """Numbers below 0 are black."""
    if PILLOW < (12, 0) and bits == 8:
        pytest.skip(f"Pillow {PILLOW} refuses it")
    for width, height in SIZES:
        tags = tiff_tags(width, height, bits, 1, t339=(3, [2]), t278=(4, [height]))
        values = [value - 300 for value in range(width * height)]
        data = (noise(width * height) if bits == 8
                else struct.pack(f"{order}{len(values)}h", *values))
        same(tiffs, tiff(tags, [data], order), parts=3)
        same(tiffs, tiff({**tags, 262: (3, [0])}, [data], order), parts=1)


@pytest.mark.parametrize("fill", [0, 1, 2, 3, 256])
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("packed", [False, True])
def test_tiff_order_of_bits(tiffs, order, fill, packed):
    """Reversed in some forms; an unknown order is none."""
    for bits, photometric, samples in ((1, 0, 1), (1, 1, 1), (4, 1, 1), (8, 1, 1), (16, 1, 1),
                                       (8, 2, 3), (8, 2, 4), (8, 5, 4)):
        rows = noise((17 * samples * bits + 7) // 8 * 5)
        tags = tiff_tags(17, 5, bits, photometric, samples, t278=(4, [5]), t266=(3, [fill]))
        if packed:
            tags[259], rows = (3, [8]), zlib.compress(rows)
        same(tiffs, tiff(tags, [rows], order), 2, name=f"{bits} {photometric} {samples}")


def test_tiff_plain_pixels(tiffs):
    """Those that are not compressed are found by their offsets; nothing else is asked."""
    for bits, samples, rows in (8, 1, 5), (8, 3, 2), (8, 3, 5), (1, 1, 2), (16, 1, 3):
        stride = (17 * samples * bits + 7) // 8
        blocks = [noise(stride * min(rows, 5 - y), y) for y in range(0, 5, rows)]
        tags = tiff_tags(17, 5, bits, 2 if samples == 3 else 1, samples, t278=(4, [rows]),
                         t284=(3, [1]))
        for order in "<>":
            data = tiff(tags, blocks, order)
            same(tiffs, data)
            for planar in 0, 3, 65535:
                other = {**tags, 284: (3, [planar])}
                same(tiffs, tiff(other, blocks, order), name=f"planes of {planar}")
                same(tiffs, renamed(tiff(other, blocks, order), 279, 65000, order))
            same(tiffs, renamed(data, 279, 65000, order), name="no counts")
            same(tiffs, renamed(data, 273, 65000, order), name="no offsets")
            for cut in range(4, 8 + sum(map(len, blocks)), 7):
                condition, words = tiffs(renamed(data, 279, 65000, order)[:cut])
                assert condition in (CORRUPT, UNSUPPORTED), (cut, words)


def renamed(data, tag, new, order):
    """The file with another number at a tag."""
    at = data.index(struct.pack(order + "HH", tag, 4))
    return data[:at] + struct.pack(order + "H", new) + data[at + 2:]


@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_tiff_old_jpeg(tiffs, mode, subsampling):
    """A whole JPEG within, as programs wrote it before the specification was mended."""
    for width, height in SIZES[2:4]:
        jpeg = saved(image(mode, width, height), "JPEG", quality=80, subsampling=subsampling)
        ratio = [[1, 1], [2, 1], [2, 2]][subsampling]
        tags = tiff_tags(width, height, 8, 6, 3, t278=(4, [height]), t513=(4, [8]),
                         t514=(4, [len(jpeg)]), t530=(3, ratio))
        tags[259] = (3, [6])
        same(tiffs, tiff(tags, [jpeg]), parts=3)


def tiff_of_kinds(photometric, samples, kinds, fill=1, bits=8, planes=False, packed=False):
    """Of 9 x 5 pixels; `kinds` of the samples behind the colours, None: the file does not say."""
    tags = tiff_tags(9, 5, bits, photometric, samples, t278=(4, [5]), t266=(3, [fill]))
    if kinds is not None:
        tags[338] = (3, kinds)
    if photometric == 3:
        tags[320] = (3, [i * 251 % 65536 for i in range(3 << bits)])
    blocks = [noise((9 * bits * (1 if planes else samples) + 7) // 8 * 5, i)
              for i in range(samples if planes else 1)]
    if planes:
        tags[284] = (3, [2])
    if packed:
        tags[259], blocks = (3, [8]), [zlib.compress(block) for block in blocks]
    return tiff(tags, blocks)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("planes", [False, True])
@pytest.mark.parametrize("kinds", [None, [0], [1], [2], [3], [999], [0, 0], [2, 0], [999, 0]])
def test_tiff_samples_of_each_kind(tiffs, kinds, planes, packed):
    """What the file does not say, or says otherwise than its samples are, is refused."""
    for photometric, samples in (1, 2), (2, 4), (2, 5), (3, 2), (5, 5):
        if PILLOW < (13, 0) and kinds and not any(kinds) and (samples == 2 or planes):
            continue  # refuses samples of no meaning
        if kinds == [1] and photometric == 1:
            continue  # Pillow has it without its alpha, which is refused
        if planes and packed and (samples == 2 or samples > 4):
            continue
        data = tiff_of_kinds(photometric, samples, kinds, planes=planes, packed=packed)
        same(tiffs, data, 1, name=f"{photometric} {samples}")
    if not planes:
        rgb = tiff_of_kinds(2, 4, kinds, packed=packed)
        assert (tiffs(rgb)[0] == 0) == (kinds in (None, [0], [1], [2], [999]))


@pytest.mark.parametrize("packed", [False, True])
def test_tiff_reversed_bits(tiffs, packed):
    """Of inverted grey and of small palettes Pillow reads them only where they are packed."""
    for photometric, bits, fill in itertools.product((0, 1, 3), (1, 2, 4, 8), range(4)):
        same(tiffs, tiff_of_kinds(photometric, 1, None, fill, bits, packed=packed), 1,
             name=f"{photometric} {bits} {fill}")


def test_tiff_windows_photo(tiffs):
    data = tiff({**tiff_tags(4, 3, 8, 1, t278=(4, [3])), 0xBC01: (3, [1])}, [noise(12)])
    assert pillow(data) is None
    assert tiffs(data)[0] == UNSUPPORTED


@pytest.mark.parametrize("ratio", [(1, 1), (2, 1), (2, 2)])
def test_tiff_ycbcr(tiffs, ratio):
    """Compressed, so that libtiff reads it for Pillow, too."""
    for width, height in (16, 12), (17, 5), (40, 33):
        across, down = -(-width // ratio[0]), -(-height // ratio[1])
        data = noise(across * down * (ratio[0] * ratio[1] + 2))
        tags = tiff_tags(width, height, 8, 6, 3, t278=(4, [height]), t530=(3, ratio))
        tags[259] = (3, [8])
        same(tiffs, tiff(tags, [zlib.compress(data)]), parts=3)


@pytest.mark.parametrize("samples", [1, 3, 4])
def test_tiff_planes_and_tiles(tiffs, samples):
    photometric = 1 if samples == 1 else 2
    for width, height in (1, 1), (40, 33), (70, 19):
        planes = [noise(width * height, seed) for seed in range(samples)]
        tags = tiff_tags(width, height, 8, photometric, samples, t278=(4, [height]))
        if samples > 1:
            same(tiffs, tiff({**tags, 284: (3, [2])}, planes))
        del tags[278]
        tags.update({322: (4, [32]), 323: (4, [16])})
        count = -(-width // 32) * -(-height // 16)
        same(tiffs, tiff(tags, [noise(32 * 16 * samples, seed) for seed in range(count)]))
        packed = {**tags, 259: (3, [8])}
        same(tiffs, tiff(packed, [zlib.compress(noise(32 * 16 * samples, seed))
                                  for seed in range(count)]))


def test_tiff_is_turned(tiffs):
    """As Pillow does whenever it loads one."""
    for orientation in range(10):
        for width, height in SIZES:
            tags = tiff_tags(width, height, 8, 2, 3, t274=(3, [orientation]), t278=(4, [height]))
            data = tiff(tags, [noise(width * height * 3)])
            same(tiffs, data, parts=3, name=str(orientation))


def test_tiff_refused(tiffs):
    rows = noise(17 * 5 * 3)
    whole = tiff(tiff_tags(17, 5, 8, 2, 3, t278=(4, [5])), [rows])
    for size in range(4, len(whole), 3):
        same(tiffs, whole[:size], 1, name=f"cut at {size}")
        assert tiffs(whole[:size])[0]
    assert tiffs(tiff(tiff_tags(20000, 20000, 8, 1, t278=(4, [5])), [rows]))[0] == LIMIT
    assert tiffs(tiff(tiff_tags(17, 5, 8, 1, t322=(4, [1 << 17]), t323=(4, [1 << 17])),
                      [rows]))[0] == LIMIT
    assert tiffs(tiff(tiff_tags(0, 5, 8, 1, t278=(4, [5])), [rows]))[0] == CORRUPT
    assert tiffs(tiff({**tiff_tags(17, 5, 8, 1), 259: (3, [32771])}, [rows]))[0] == UNSUPPORTED
    assert tiffs(tiff(tiff_tags(17, 5, 8, 6, 3, t278=(4, [5])), [rows]))[0] == UNSUPPORTED  # YCbCr
    assert tiffs(tiff(tiff_tags(17, 5, 8, 8, 3, t278=(4, [5])), [rows]))[0] == UNSUPPORTED  # LAB
    for depth, form in (32, 1), (32, 3), (16, 3), (64, 3):
        tags = tiff_tags(17, 5, depth, 1, t339=(3, [form]))
        assert tiffs(tiff(tags, [noise(17 * 5 * depth // 8)]))[0] == UNSUPPORTED


def test_tiff_first_page(tiffs):
    file = io.BytesIO()
    image("RGB", 17, 13).save(file, "TIFF", save_all=True, append_images=[image("L", 40, 33)])
    same(tiffs, file.getvalue())


# --- GIF ---


def gif_codes(pixels, bits, draw, cleared=0.01, late=False):
    """LZW codes of the pixels, with clears at random, in blocks of any size."""
    clear, codes, out, count = 1 << bits, {}, 0, 0
    size, following, string = bits + 1, (1 << bits) + 2, ()

    def put(code):
        nonlocal out, count
        out |= code << count
        count += size

    put(clear)
    for pixel in pixels:
        if len(string) == 0 or string + (pixel,) in codes:
            string += (pixel,)
            continue
        put(codes.get(string, string[0]))
        if following < 4096:
            codes[string + (pixel,)] = following
            if following == 1 << size and size < 12:
                size += 1
            following += 1
        string = (pixel,)
        if draw.random() < cleared or (following == 4096 and not late):
            put(codes.get(string, string[0])) if len(string) > 1 else None
            put(clear)
            codes, size, following = {}, bits + 1, clear + 2
    put(codes.get(string, string[0]))
    if following == 1 << size and size < 12:
        size += 1
    put(clear + 1)
    data = out.to_bytes(count // 8 + 1, "little")
    blocks = b""
    while data:
        step = draw.randint(1, 255)
        blocks += bytes([len(data[:step])]) + data[:step]
        data = data[step:]
    return blocks + b"\0"


def gif(screen, frame, bits, draw, colours=None, own=None, before=b"", interlaced=False, **keys):
    """One frame (x, y, width, height) on a screen."""
    count = frame[2] * frame[3]
    pixels = [draw.randrange(draw.choice((2, 1 << bits))) for _ in range(count)]

    def head(palette):
        return 0x80 | (len(palette) // 3).bit_length() - 2 if palette else 0

    out = b"GIF89a" + struct.pack("<HHBBB", *screen, head(colours), 0, 0) + (colours or b"")
    out += before + b"," + struct.pack("<HHHHB", *frame, head(own) | 0x40 * interlaced)
    return out + (own or b"") + bytes([max(bits, 2)]) + gif_codes(pixels, max(bits, 2), draw,
                                                                  **keys) + b";"


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA"])
def test_gif_by_pillow(decode, mode):
    for width, height in SIZES:
        for interlace in (0, 1):
            for more in {}, {"transparency": 3}:
                source = image("RGB", width, height).convert(mode)
                same(decode, saved(source, "GIF", interlace=interlace, **more), 4, name=mode)
    file = io.BytesIO()
    image("P", 17, 13).save(file, "GIF", save_all=True, append_images=[image("P", 17, 13, 2)])
    same(decode, file.getvalue())


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("interlaced", [False, True])
def test_gif_forms(decode, bits, interlaced):
    """Frames within and beyond the screen, palettes of each sort, transparent colours, clears."""
    draw = random.Random(bits)
    palette, other = noise(3 << bits, bits), noise(3 << bits, bits + 9)
    ramp = bytes(value // 3 for value in range(3 << bits))
    control = b"!\xf9\4\1\0\0\1\0"
    for width, height in SIZES[:3] if bits % 3 else SIZES[3:]:
        for frame in ((0, 0, width, height), (2, 1, width, height), (0, 0, max(width // 2, 1), 1)):
            for colours, own in (palette, None), (palette, other), (None, other), (palette, ramp):
                for before in b"", control, b"!\xfe\3abc\0xx" + control:
                    data = gif((width, height), frame, bits, draw, colours, own, before, interlaced)
                    same(decode, data, 1)
    for seed in range(2):
        same(decode, gif((200, 90), (0, 0, 200, 90), bits, draw, palette, interlaced=interlaced,
                         cleared=0, late=seed % 2 == 0), 2)


@pytest.mark.parametrize("bits", range(9, 14))
def test_gif_wide_codes(decode, bits):
    """Codes of more bits than an index has, up to LZW's 12: the lower eight are the index."""
    draw = random.Random(bits)
    for width, height in SIZES[:5]:
        pixels = [draw.randrange(1 << bits) for _ in range(width * height)]
        data = b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF7, 0, 0) + noise(768)
        data += b"," + struct.pack("<HHHHB", 0, 0, width, height, 0) + bytes([bits])
        same(decode, data + gif_codes(pixels, bits, draw, cleared=0.1) + b";", 2)


def test_gif_lacks_colours(decode):
    """Those that the palette lacks are black, as in Pillow since 10.1."""
    draw = random.Random(2)
    palette = noise(12)
    data = gif((40, 33), (0, 0, 40, 33), 4, draw, palette)
    like = data[:10] + bytes([0x83]) + data[11:13] + palette + bytes(36) + data[25:]
    same(decode, data, like=like)
    same(decode, gif((40, 33), (0, 0, 40, 33), 4, draw))


EXTENSIONS = [b"!", b"!\xf9", b"!\xf9\0", b"!\xf9\2ab\0", b"!\xf9\3\0bc\0", b"!\xf9\3\1bc\0",
              b"!\xfe\0", b"!\xfe\3ab", b"!\xff\0", b"!\xff\x0bNETSCAPE2.0\3\1\0\0\0",
              b"!\xff\x0bNETSCAPE2.0\0", b"!\xff\x0bNETSCAPE2.0\1\2\0", b"!\x01\0", b"!\x01\2ab\0",
              b"\0\1\2", b";", b"!\xff\x0bXMP DataXMP\xff\xff\0"]


@pytest.mark.parametrize("before", EXTENSIONS)
def test_gif_extensions(decode, before):
    if PILLOW < (11, 0) and before in (b"!\xf9\0", b"!\xff\0", b"!\xff\x0bNETSCAPE2.0\0"):
        pytest.skip(f"Pillow {PILLOW} refuses what is empty")
    draw = random.Random(1)
    for more in b"", b"\0":
        same(decode, gif((17, 13), (0, 0, 17, 13), 3, draw, noise(24), before=before + more), 2)


def test_gif_damage(decode):
    """The same verdict as Pillow's, and never another picture."""
    draw = random.Random(5)
    whole = gif((40, 33), (0, 0, 40, 33), 4, draw, noise(48), interlaced=True)
    for size in range(6, len(whole)):
        same(decode, whole[:size], 1, name=f"cut at {size}")
    for _ in range(600):
        at = draw.randrange(6, len(whole))
        bad = whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1:]
        expected = pillow(bad)
        condition, pixels = decode(bad)
        assert (condition == 0) == (expected is not None), (at, pixels)
        if expected is not None and expected.shape == pixels.shape and at >= 61:
            numpy.testing.assert_array_equal(pixels, expected)
    assert decode(b"GIF89a" + struct.pack("<HHBBB", 60000, 60000, 0, 0, 0) + b",")[0] == CORRUPT
    big = b"GIF89a" + struct.pack("<HHBBB", 60000, 60000, 0, 0, 0)
    assert decode(big + b"," + struct.pack("<HHHHB", 0, 0, 9, 9, 0) + b"\2")[0] == LIMIT


# --- Netpbm ---


@pytest.mark.parametrize("mode", ["1", "L", "I", "RGB"])
def test_netpbm_of_pillow(decode, mode):
    for size in SIZES:
        base = image("RGB", *size)
        wide = Image.fromarray(numpy.asarray(base.convert("L"), numpy.int32) * 2)
        data = saved(wide if mode == "I" else base.convert(mode), "PPM")
        same(decode, data)
        same(decode, data[:-1], 1)


@pytest.mark.parametrize("maxval", [1, 3, 7, 100, 254, 255, 256, 1000, 65534, 65535])
@pytest.mark.parametrize("kind", [2, 3, 5, 6])
def test_netpbm_values(decode, kind, maxval):
    for number, (width, height) in enumerate(SIZES):
        rng = random.Random(number)
        count = width * height * (3 if kind in (3, 6) else 1)
        values = [rng.randrange(rng.choice((2, maxval + 1))) for _ in range(count)]
        head = b"P%d %d\n# a word\n%d %d\n" % (kind, width, height, maxval)
        if kind < 4:
            body = b"".join(b"%d%s" % (value, rng.choice((b" ", b"\n", b" #x 9\n ", b"\t")))
                            for value in values) + b"\n"
        else:
            body = struct.pack(f">{count}{'H' if maxval > 255 else 'B'}", *values)
        same(decode, head + body, 3)
        same(decode, head + body + b"more", 1)
        if maxval > 3:
            same(decode, head + body[: len(body) // 2] + b"\n" * (kind < 4), 1)


def test_netpbm_bitmaps(decode):
    for width, height in SIZES:
        bits = "".join(random.Random(width).choice("01 \n") for _ in range(4 * width * height))
        same(decode, b"P1 %d %d\n" % (width, height) + bits.encode())
        same(decode, b"P1 %d %d\n1" % (width, height) + b"0" * (width * height - 2))
        rows = noise((width + 7) // 8 * height)
        same(decode, b"P4 %d %d\n" % (width, height) + rows)
        same(decode, b"P4 %d %d\n" % (width, height) + rows[:-1], 1)
    same(decode, b"P1 2 2\n0102")
    # What follows the pixels, too, as far as it is read with them.
    for more in b"1", b" \n", b"2", b"#2\n1", b"#\n2", b"1" * (1 << 20) + b"2":
        same(decode, b"P1 2 2\n0101" + more, 1, name=repr(more[:9]))


@pytest.mark.parametrize("data", [
    b"P6 2 2 255\n" + b"x" * 12, b"P6\t2\r2\x0b255\x0c" + b"x" * 12, b"P6 2 2 255\n" + b"x" * 11,
    b"P6#c\n2 2 255\n" + b"x" * 12, b"P6 2#c\n3 2 255\n" + b"x" * 138,
    b"P6 #c\r2 2 255 " + b"x" * 12,
    b"P6 2 2 0\n" + b"x" * 12, b"P6 2 2 65536\n" + b"x" * 24, b"P6 2 2 x\n" + b"x" * 12, b"P6 2 2",
    b"P6 2", b"P6 ", b"P6 -2 2 255\n" + b"x" * 12, b"P6 12345678901 2 255 ", b"P3 1 1 9 1 2 10\n",
    b"P6 +2 2 255\n" + b"x" * 12, b"P6 2 0_2 2_5_5\n" + b"x" * 12, b"P6 2_ 2 255\n" + b"x" * 12,
    b"P6 _2 2 255\n" + b"x" * 12, b"P6 2__0 2 255\n" + b"x" * 120, b"P6 ++2 2 255\n" + b"x" * 12,
    b"P6 2+ 2 255\n" + b"x" * 12, b"P6 + 2 255\n" + b"x" * 12, b"P3 1 1 9 +1 0_2 3\n",
    b"P3 1 1 9 1 2 x\n", b"P3 1 1 9 1 2 00000000009\n", b"P3 1 1 9 1 2 3 4 x\n", b"P2 1 1 9 #\n",
    b"P5 2 2 255\n" + b"#" * 4, b"P7 2 2 255\n", b"P0 2 2 255\n", b"P6", b"P"])
def test_netpbm_headers(decode, data):
    same(decode, data, 1)


def test_netpbm_limit(decode):
    assert decode(b"P6 0 5 255\n")[0] == CORRUPT
    assert decode(b"P6 20000 20000 255\n")[0] == LIMIT
