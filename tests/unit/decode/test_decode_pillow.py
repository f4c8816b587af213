# SPDX-License-Identifier: MIT
"""The decoder against Pillow: Image.open(...).convert("RGB"), and "RGBA", bit for bit, of JPEG, PNG
and WebP in every mode and depth; and what Pillow refuses is refused (FAULTS 72, 75, 76).
"""

import random
import struct
import zlib

import numpy
import pytest

from by_pillow import (CORRUPT, FORMAT, JPEG_TURBO, LIMIT, PILLOW, SIZES, UNSUPPORTED, Image, image,
                       pillow, same, saved)


# --- JPEG ---


def segments(data):
    """(marker, offset, length) of a JPEG's segments up to the first scan's."""
    at = 2
    while True:
        marker, length = data[at + 1], struct.unpack(">H", data[at + 2 : at + 4])[0]
        yield marker, at, length + 2
        if marker == 0xDA:
            return
        at += length + 2


def without(data, *markers):
    out, end = data[:2], 2
    for marker, at, length in segments(data):
        end = at + length
        if marker not in markers:
            out += data[at:end]
    return out + data[end:]


def with_segment(data, marker, body):
    head = struct.pack(">BBH", 0xFF, marker, len(body) + 2)
    return data[:2] + head + body + data[2:]


def adobe(transform):
    return b"Adobe" + struct.pack(">HHHB", 100, 0, 0, transform)


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_jpeg(decode, mode, progressive):
    for width, height in SIZES:
        for subsampling in (0, 1, 2):
            for quality in (30, 95):
                data = saved(image(mode, width, height), "JPEG", quality=quality,
                             subsampling=subsampling, progressive=progressive)
                same(decode, data, name=f"{mode} {width}x{height} {subsampling} {quality}")


@pytest.mark.parametrize("transform", [0, 1, 2])
@pytest.mark.parametrize("mode", ["RGB", "CMYK"])
def test_jpeg_adobe(decode, mode, transform):
    """The marker says how the components are meant: RGB, YCbCr, CMYK, YCCK."""
    for width, height in SIZES:
        data = without(saved(image(mode, width, height), "JPEG", subsampling=0), 0xE0, 0xEE)
        same(decode, data, name="neither JFIF nor Adobe")
        same(decode, with_segment(data, 0xEE, adobe(transform)))


def test_jpeg_is_told_by_content_and_trailing_bytes_do_not_matter(decode):
    data = saved(image("RGB", 40, 33), "JPEG")
    same(decode, data + b"trailing" * 20)
    same(decode, with_segment(data, 0xE2, b"ICC_PROFILE\0\1\1" + bytes(3000)))
    assert decode(b"")[0] == FORMAT
    assert decode(b"<svg xmlns=" + bytes(100))[0] == FORMAT


@pytest.mark.parametrize("progressive", [False, True])
def test_jpeg_cut_short(decode, progressive):
    """FAULTS 72: refused where Pillow refuses, whichever part is asked for; an end that comes too
    early is painted over, as Pillow does."""
    if progressive and JPEG_TURBO >= "3":
        pytest.skip("libjpeg-turbo 3 smooths what lacks scans otherwise")
    data = saved(image("RGB", 61, 47), "JPEG", quality=70, progressive=progressive)
    for cut in range(3, len(data) - 2, 3):
        assert decode(data[:cut])[0] == CORRUPT or pillow(data[:cut]) is not None, cut
        same(decode, data[:cut], parts=2, name=f"cut at {cut}")
        if pillow(data[:cut]) is None:
            assert decode(data[:cut], (0, 0, 3, 1))[0]
        same(decode, data[:cut] + b"\xff\xd9", parts=2, name=f"ended at {cut}")


def test_jpeg_with_flipped_bits(decode):
    """FAULTS 73: never another picture than Pillow's."""
    rng = random.Random(3)
    data = saved(image("RGB", 90, 70), "JPEG", quality=80)
    start = max(at + length for _, at, length in segments(data))
    for _ in range(150):
        bad = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            bad[rng.randrange(start, len(data) - 2)] ^= 1 << rng.randrange(8)
        expected = pillow(bytes(bad))
        condition, pixels = decode(bytes(bad))
        if expected is not None:
            assert condition == 0, pixels
            numpy.testing.assert_array_equal(pixels, expected)


SHORT = [(0xE0, b"JFIF\0\1"), (0xEE, b"Adobe\0"), (0xE2, b"ICC_PROFILE\0\1"),
         (0xED, b"Photoshop 3.0\x008BIM\4\4"),
         (0xED, b"Photoshop 3.0\x008BIM\4\4\0\0\0\0\0\1x\x008BIM\3\xed")]
LONG_ENOUGH = [(0xE0, b"JFIF\0\1\1"), (0xE0, b"JFI"), (0xEE, b"Adobe\0\1"), (0xEE, b"Adob"),
               (0xE2, b"ICC_PROFILE\0\1\2"), (0xE2, b"ICC_PROFILE"), (0xED, b"Photoshop 3.0"),
               (0xED, b"Photoshop 3.0\x008BIM\4"), (0xED, b"Photoshop 3.0\x008BIM\4\4\0"),
               (0xED, b"Photoshop 3.0\x008BIM\3\xed\0\0\0\0\0\1x\x008BIM\4\4"),
               (0xED, b"Photoshop 3.0\x008BIM\4\4\0\0\xff\xff\xff\xff"), (0xFE, b"")]


@pytest.mark.parametrize("marker, body", SHORT + LONG_ENOUGH)
def test_jpeg_segments_that_are_short(decode, marker, body):
    """Pillow looks into some segments, and refuses those that end too early."""
    data = saved(image("RGB", 40, 33), "JPEG")
    for bad in with_segment(data, marker, body), with_segment(with_segment(data, marker, body),
                                                              0xE2, b"ICC_PROFILE\0\0\1x"):
        same(decode, bad, 1, name=repr(body))
    assert (decode(with_segment(data, marker, body))[0] != 0) == ((marker, body) in SHORT)


def test_jpeg_markers(decode):
    """Those between two segments; what is none of JPEG's is refused."""
    data = saved(image("RGB", 40, 33), "JPEG")
    places = [at for _, at, _ in segments(data)]
    for at in places[0], places[-1]:
        for more in [bytes([0xFF, marker]) for marker in range(256)] + [b"x", b"\0\0", b"\xff\0y"]:
            same(decode, data[:at] + more + data[at:], 1, name=f"{more} at {at}")
    cut = data[:places[-1]]
    for more in b"\xff\xe1", b"\xff\xe1\0", b"\xff\xe1\0\x20abc":
        assert decode(cut + more)[0] == CORRUPT


def test_jpeg_refused_by_name(decode):
    """FAULTS 75: 12-bit, lossless."""
    data = saved(image("RGB", 40, 33), "JPEG")
    frame = next(at for marker, at, _ in segments(data) if marker == 0xC0)
    deep = data[: frame + 4] + b"\x0c" + data[frame + 5 :]
    lossless = data[: frame + 1] + b"\xc3" + data[frame + 2 :]
    for bad in deep, lossless:
        assert pillow(bad) is None
        assert decode(bad)[0] == UNSUPPORTED


# --- PNG ---


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
          (0, 1, 1, 2)]


def png(width, height, depth, color, interlaced=False, palette=None, transparency=None, extra=b""):
    """Every filter, every bit at random: Pillow cannot write most of these."""
    rng = numpy.random.default_rng(width * 31 + depth)
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
    rows = b""
    for x, y, step_x, step_y in PASSES if interlaced else [(0, 0, 1, 1)]:
        columns = -(-max(width - x, 0) // step_x)
        size = (columns * channels * depth + 7) // 8
        for _ in range(-(-max(height - y, 0) // step_y) if columns else 0):
            rows += bytes([int(rng.integers(0, 5))])
            rows += rng.integers(0, 256, size, dtype=numpy.uint8).tobytes()
    packed = zlib.compress(rows)
    half = len(packed) // 2
    out = b"\x89PNG\r\n\x1a\n"
    out += chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced))
    out += extra
    out += chunk(b"PLTE", palette) if palette else b""
    out += chunk(b"tRNS", transparency) if transparency else b""
    return out + chunk(b"IDAT", packed[:half]) + chunk(b"IDAT", packed[half:]) + chunk(b"IEND", b"")


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("color, depth", [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16),
                                          (4, 8), (4, 16), (6, 8), (6, 16)])
def test_png(decode, color, depth, interlaced):
    for width, height in SIZES:
        same(decode, png(width, height, depth, color, interlaced), parts=5)
        if color in (0, 2):
            for key in b"\0\5", b"\0\xff", b"\0\0", b"\0\1", b"\1\0":
                if depth == 1 and PILLOW < (12, 0):
                    continue  # compares the number with 255
                transparent = key * (3 if color == 2 else 1)
                data = png(width, height, depth, color, interlaced, transparency=transparent)
                same(decode, data, parts=2)


@pytest.mark.parametrize("depth", [8, 16])
def test_png_transparent_colour(decode, depth):
    """Of a few colours, so that some pixels have it."""
    rng = numpy.random.default_rng(depth)
    rows = rng.integers(0, 2, (40, 33 * 3 * depth // 8), dtype=numpy.uint8) * 77
    packed = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))
    head = struct.pack(">IIBBBBB", 33, 40, depth, 2, 0, 0, False)
    for key in b"\0\0" * 3, b"\0M\0\0\0M", b"M\0\0\0M\0", b"\0M":
        data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"tRNS", key)
        same(decode, data + chunk(b"IDAT", packed) + chunk(b"IEND", b""), name=repr(key))


def png_of_palette(palette, width, height, depth, interlaced=False, transparency=None):
    """The file, and one that Pillow decodes as it does this one since 10.1: the colours that the
    palette lacks are black. Before they were shades of grey."""
    def make(palette):
        return png(width, height, depth, 3, interlaced, palette, transparency)

    data = make(palette)
    return data, data if PILLOW >= (10, 1) else make(
        palette[:len(palette) // 3 * 3].ljust(768, b"\0") if len(palette) < 768 else palette)


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 4, 8])
def test_png_palette(decode, depth, interlaced):
    rng = numpy.random.default_rng(depth)
    for entries in sorted({1, (1 << depth) // 2 + 1, 1 << depth}):  # fewer than are used, too
        palette = rng.integers(0, 256, entries * 3, dtype=numpy.uint8).tobytes()
        for transparency in None, b"\0", b"\x10", bytes(range(250, 256)), b"\xff\0\xff":
            for width, height in SIZES:
                data, like = png_of_palette(palette, width, height, depth, interlaced,
                                            transparency)
                same(decode, data, parts=2, like=like)


def test_png_by_pillow(decode):
    for mode in "1", "L", "LA", "P", "RGB", "RGBA", "I":
        for width, height in SIZES:
            source = image("RGB", width, height).convert("L" if mode == "I" else mode)
            if mode == "I":  # beyond 8 bits: clipped
                source = Image.fromarray(numpy.asarray(source).astype(numpy.uint16) * 5)
            same(decode, saved(source, "PNG"), parts=3, name=mode)


def test_png_checksums(decode):
    """As in Pillow: an error of the header and the palette, none of the pixels."""
    data = png(33, 21, 8, 3, palette=bytes(range(256)) * 3)
    for kind, refused in (b"IHDR", True), (b"PLTE", True), (b"IDAT", False):
        at = data.find(kind)
        size = struct.unpack(">I", data[at - 4 : at])[0]
        bad = bytearray(data)
        bad[at + 4 + size] ^= 1
        assert (pillow(bytes(bad)) is None) == refused
        same(decode, bytes(bad), name=kind.decode())


def test_png_cut_short(decode):
    data = png(33, 21, 8, 2)
    for cut in range(8, len(data) - 24):
        assert pillow(data[:cut]) is None
        assert decode(data[:cut])[0] == CORRUPT, cut
        assert decode(data[:cut], (0, 0, 3, 1))[0] == CORRUPT, cut
    same(decode, data[:-12], name="no IEND")
    same(decode, data + b"trailing")


def png_chunks(data):
    """[kind, content, checksum] of each chunk."""
    out, at = [], 8
    while at < len(data):
        size = struct.unpack(">I", data[at : at + 4])[0]
        out.append([data[at + 4 : at + 8], data[at + 8 : at + 8 + size],
                    data[at + 8 + size : at + 12 + size]])
        at += 12 + size
    return out


def joined(chunks):
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + check for kind, content, check in chunks)


def test_png_containers(decode):
    """Where libspng would refuse what Pillow loads, or the reverse."""
    for size in (0, 1, 3, 5, 30, 765, 768, 769, 770, 771, 774, 1200):  # bytes of the palette
        palette = bytes(i * 7 % 256 for i in range(size))
        data, like = png_of_palette(palette, 33, 21, 8)
        same(decode, data, parts=2, name=f"palette {size}", like=like)
        same(decode, png(33, 21, 8, 2, extra=chunk(b"PLTE", palette)), parts=2,
             name=f"palette {size} of colours")
    plain = png(33, 21, 8, 2)
    for kind in b"tEXt", b"gAMA", b"IEND", b"IDAT", b"abcd", b"ab-d", b"IHDR":
        for content in b"", b"\0\0\0\1", bytes(40):
            for check in True, False:
                more = bytearray(chunk(kind, content))
                more[-1] ^= check
                for at in 33, len(plain) - 12, len(plain):
                    same(decode, plain[:at] + bytes(more) + plain[at:], parts=2,
                         name=f"{kind} {content} {check} at {at}")
    for kind in b"gAMA", b"sRGB", b"pHYs", b"acTL", b"fcTL":
        same(decode, png(33, 21, 8, 2, extra=chunk(kind, b"")), name=kind.decode())
    twice = chunk(b"tIME", bytes(7)) + chunk(b"tIME", bytes(7)) + chunk(b"sBIT", b"\x09\x09\x09")
    same(decode, png(33, 21, 8, 2, extra=twice), name="chunks that make no sense")


def animated(before, behind, frames=2):
    """A picture with chunks of an animation before and behind its pixels."""
    plain = png(33, 21, 8, 2)
    announced = chunk(b"acTL", struct.pack(">II", frames, 0)) if frames is not None else b""
    before, behind = announced + b"".join(before), b"".join(behind)
    return plain[:33] + before + plain[33:-12] + behind + plain[-12:]


def frame(number, width=33, height=21, x=0, y=0):
    return chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, width, height, x, y, 1, 10, 0, 0))


def part(number, body=b"abc"):
    return chunk(b"fdAT", struct.pack(">I", number) + body)


def test_png_animations(decode):
    """The first picture, unless the parts are out of order, as far as Pillow looks at them."""
    for before, behind in [
            ([frame(0)], [frame(1), part(2)]), ([frame(0)], [frame(7)]), ([frame(5)], []),
            ([frame(1)], []), ([frame(0), frame(1)], []), ([frame(0), frame(0)], []),
            ([frame(0, 34)], []), ([frame(0, 33, 21, 1)], []), ([frame(0, 33, 22)], []),
            ([], [frame(0), part(1)]), ([], [part(0)]), ([], [part(1)]),
            ([frame(0)], [part(1)]), ([frame(0)], [part(2)]), ([frame(0)], [frame(1, 34)]),
            ([], [chunk(b"fdAT", b"ab")]), ([frame(0)], [chunk(b"fdAT", b"ab")]),
            ([chunk(b"acTL", struct.pack(">II", 2, 0))], [frame(9)]),
            ([chunk(b"acTL", struct.pack(">II", 2, 0))] * 2, [frame(9)])]:
        for frames in None, 0, 1, 2, 1 << 31, (1 << 31) + 1:
            same(decode, animated(before, behind, frames), 2, name=f"{before} {behind} {frames}")
    # Of a part of the picture Pillow makes another one.
    for before in [frame(0, 32)], [frame(0), part(1)]:
        assert decode(animated(before, []))[0] == UNSUPPORTED


def test_png_chunks_by_pillow(decode):
    """What Pillow reads of chunks that say nothing of the pixels, before and behind these."""
    small, large = zlib.compress(b"text"), zlib.compress(bytes((1 << 20) + 1))
    limit = zlib.compress(bytes(1 << 20))
    bodies = [b"", b"\0", b"a", b"a\0", b"a\0\0", b"a\0\7", b"\0\0", b"\7", b"a\0\0\0", b"a\0\1\0",
              b"a\0\1\0\0\0", b"a\0\1\1\0\0" + large, b"a\0\0\0\0\0\xff", b"a\0\1\0en\0",
              *(head + packed
                for head in (b"a\0\0", b"a\0\7", b"\0\0", b"a\0\1\0\0\0", b"a\0\1\0en")
                for packed in (small, small[:-6], limit, large, b"noise"))]
    plain = png(33, 21, 8, 2)
    for kind in b"iCCP", b"zTXt", b"iTXt", b"tEXt":
        for body in bodies:
            if kind == b"iCCP" and PILLOW < (12, 0) and body[body.find(b"\0") + 1 :][:1] != b"\0":
                continue  # looks at another byte
            for at in 33, len(plain) - 12:
                data = plain[:at] + chunk(kind, body) + plain[at:]
                same(decode, data, 1, name=f"{kind} {body[:12]} at {at}")
    lengths = {b"gAMA": 4, b"cHRM": 32, b"sRGB": 1, b"pHYs": 9, b"tIME": 0, b"bKGD": 0}
    for kind, size in lengths.items():
        for bytes_ in {max(size - 1, 0), size // 2, size, size + 1}:
            if kind == b"cHRM" and PILLOW < (13, 0) and bytes_ != size:
                continue  # takes as many as there are
            for at in 33, len(plain) - 12:
                data = plain[:at] + chunk(kind, bytes(bytes_)) + plain[at:]
                same(decode, data, 1, name=f"{kind} of {bytes_} at {at}")


def test_png_chunks_that_libspng_refuses(decode):
    """An empty EXIF, and a long text: the pixels alone are decoded then."""
    text = b"a\0" + bytes(17 << 20)
    for extra in chunk(b"eXIf", b""), chunk(b"tEXt", text):
        same(decode, png(33, 21, 8, 2, extra=extra), 1)


def test_png_pixels_one_too_many(decode):
    """A chunk of pixels behind the last one is read if it is there, and must then be whole."""
    plain = png(33, 21, 8, 2)
    for more in chunk(b"IDAT", b"abcdef"), chunk(b"tEXt", b"a\0b") + chunk(b"IDAT", b"abc"):
        for cut in range(len(more) + 1):
            same(decode, plain[:-12] + more[:cut], 1, name=f"{cut} of {more}")
        same(decode, plain[:-12] + more + plain[-12:], 1)


@pytest.mark.parametrize("transparency", [b"", b"\0", b"\xff\0\xff", b"\0\0", b"\5", b"\xff"])
def test_png_without_its_palette(decode, transparency):
    data = png(33, 21, 8, 3, transparency=transparency)
    if transparency.count(0) == 1:  # Pillow loads it, and fails to make it RGB
        assert decode(data)[0] == CORRUPT
    else:
        assert decode(data)[0] == 0


def test_png_pixels_in_pieces(decode):
    """The pixels in chunks of any size, also of none; the last one longer or shorter than it is."""
    head, body, end = png_chunks(saved(image("RGB", 33, 21), "PNG"))
    for size in (1, 7, 400):
        pieces = [body[1][at : at + size] for at in range(0, len(body[1]), size)]
        chunks = [[b"IDAT", piece, bytes(4)] for piece in [b"", *pieces, b""]]
        same(decode, joined([head, *chunks, end]), name=f"pieces of {size}")
        same(decode, joined([head, *chunks[:2], [b"tEXt", b"a\0b", bytes(4)], *chunks[2:], end]),
             name=f"a text between pieces of {size}")
    whole = joined([head, body])
    for cut in range(1, 16):
        same(decode, whole[:-cut], name=f"{cut} bytes less")
    for change in (-4, 4, 1 << 20):
        claimed = bytearray(joined([head, body, end]))
        claimed[33:37] = struct.pack(">I", len(body[1]) + change)
        same(decode, bytes(claimed), name=f"claims {change} bytes more")


def test_png_flipped(decode):
    """FAULTS 72: a bit of the compressed pixels; Pillow never delivers it."""
    data = png(33, 21, 8, 2)
    rng = random.Random(1)
    for at in range(41, len(data) - 16, 5):
        bad = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        same(decode, bad, parts=2, name=f"at {at}")


def test_png_bombs(decode):
    """FAULTS 74: the size is looked at before anything is unpacked; profiles and texts, too."""
    zeros = zlib.compress(bytes(20 << 20))
    for extra in chunk(b"iCCP", b"x\0\0" + zeros), chunk(b"zTXt", b"x\0\0" + zeros):
        data = png(8, 8, 8, 2, extra=extra)
        assert pillow(data) is None
        assert decode(data)[0] == LIMIT
    head = struct.pack(">IIBBBBB", 65500, 65500, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zeros)
    condition, words = decode(data)
    assert condition == LIMIT
    assert "65500x65500 = 4,290,250,000 pixels, the limit is 178,956,970" in words


# --- WebP ---


@pytest.mark.parametrize("lossless", [False, True])
@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_webp(decode, mode, lossless):
    for width, height in SIZES:
        for quality in (20, 90):
            data = saved(image(mode, width, height), "WEBP", lossless=lossless, quality=quality)
            same(decode, data, parts=20, name=f"{mode} {width}x{height} {quality}")


def test_webp_animation_is_its_first_frame(decode):
    for mode in "RGB", "RGBA":
        frames = [image(mode, 64, 50, seed) for seed in range(3)]
        data = saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], quality=60)
        same(decode, data)


def test_webp_frame_smaller_than_its_canvas(decode):
    frame = saved(image("RGB", 20, 12), "WEBP", quality=60)[12:]  # the VP8 chunk
    def riff(kind, body):
        return kind + struct.pack("<I", len(body)) + body + bytes(len(body) & 1)
    def three(number):
        return struct.pack("<I", number)[:3]
    head = bytes([2, 0, 0, 0]) + three(49) + three(39)
    place = three(4) + three(6) + three(19) + three(11) + three(100) + b"\0"
    body = b"WEBP" + riff(b"VP8X", head) + riff(b"ANIM", bytes(6)) + riff(b"ANMF", place + frame)
    data = b"RIFF" + struct.pack("<I", len(body)) + body
    assert pillow(data).shape == (40, 50, 3)
    same(decode, data, parts=40)


def test_webp_cut_short(decode):
    data = saved(image("RGB", 61, 47), "WEBP", quality=50)
    for cut in range(0, len(data), 5):
        assert pillow(data[:cut]) is None
        assert decode(data[:cut])[0] in (FORMAT, CORRUPT), cut


@pytest.mark.parametrize("more", [0, 1, 2, 8])
def test_webp_extended_header(decode, more):
    """One that is longer than it has to be is refused, by Pillows with a newer libwebp."""
    frame = saved(image("RGB", 20, 12), "WEBP", quality=60)[12:]
    head = bytes(4) + struct.pack("<I", 19)[:3] + struct.pack("<I", 11)[:3] + bytes(more)
    body = b"WEBPVP8X" + struct.pack("<I", len(head)) + head + bytes(more % 2) + frame
    data = b"RIFF" + struct.pack("<I", len(body)) + body
    assert (decode(data)[0] == 0) == (more == 0)
    if PILLOW >= (12, 0):
        same(decode, data, 2)


# --- EXIF ---


def exif(orientation, order="<", kind="H", count=1, entries=()):
    """A TIFF structure; `entries` come first: (tag, type, count, value)."""
    code = {"B": 1, "H": 3, "I": 4}[kind]
    value = struct.pack(order + kind, orientation).ljust(4, b"\0")
    rows = [struct.pack(order + "HHII", *entry) for entry in entries]
    rows.append(struct.pack(order + "HHI", 0x0112, code, count) + value)
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8)
    return head + struct.pack(order + "H", len(rows)) + b"".join(rows) + bytes(4)


@pytest.mark.parametrize("orientation", range(10))
def test_exif(decode, orientation):
    block = exif(orientation)
    for width, height in SIZES:
        plain = image("RGB", width, height)
        for data in (
            saved(plain, "JPEG", exif=b"Exif\0\0" + block),
            saved(plain, "JPEG", exif=b"Exif\0\0" + block, progressive=True, subsampling=2),
            saved(plain, "WEBP", exif=block, lossless=True),
            saved(plain, "PNG", exif=b"Exif\0\0" + block),
        ):
            same(decode, data, exif=True, name=f"{width}x{height}")
            same(decode, data, exif=False, parts=1)


# Of two orientations the first counts; a value larger than all there is is passed over.
EXIF_NEWER = [exif(6, entries=[(0x10F, 2, 5000, 8)]), exif(6, entries=[(0x112, 3, 1, 3)]),
              exif(6, entries=[(0x112, 3, 0, 3), (0x112, 3, 1, 8)]),
              exif(6, entries=[(0x10F, 2, 30, 8), (0x110, 2, 30, 8), (0x111, 2, 5, 8)])]


@pytest.mark.parametrize("block", EXIF_NEWER + [
    exif(6, ">"), exif(6, "<", "I"), exif(6, ">", "I"), exif(6, "<", "B"), exif(6, count=0),
    exif(6, count=2), exif(6, entries=[(0x10F, 2, 4, 0)]), exif(6, entries=[(0x10F, 2, 9, 8)]),
    exif(6, entries=[(0x10F, 99, 5000, 8)]), exif(6)[:21], exif(6)[:22], exif(6)[:12], exif(6)[:9],
    b"II\0*" + exif(6)[4:], b"MM*\0" + exif(6, ">")[4:],
])
def test_exif_that_is_odd(decode, block):
    if PILLOW < (13, 0) and block in EXIF_NEWER:
        pytest.skip(f"Pillow {PILLOW} goes on or ends elsewhere")
    data = saved(image("RGB", 23, 11), "JPEG", exif=b"Exif\0\0" + block)
    same(decode, data, parts=1, exif=True)


def test_exif_that_is_none(decode):
    plain = saved(image("RGB", 23, 11), "JPEG")
    for body in (b"Exif\0\0", b"Exif\0\0II*\0", b"Exif\0\0junkjunkjunk",
                 b"http://ns.adobe.com/\0" * 9):
        condition, pixels = decode(with_segment(plain, 0xE1, body), exif=True)
        assert condition == 0
        numpy.testing.assert_array_equal(pixels, pillow(plain))
    one = with_segment(plain, 0xE1, b"Exif\0\0" + exif(6))
    two = with_segment(one, 0xE1, b"Exif\0\0" + exif(3))
    same(decode, two, exif=True, name="the first one counts")
