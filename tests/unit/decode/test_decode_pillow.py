# SPDX-License-Identifier: MIT
"""The decoder against Pillow: Image.open(...).convert("RGB"), and "RGBA", bit for bit, for every
format, mode and depth, whole and in parts; and what Pillow refuses is refused (FAULTS 72, 75, 76).

STOKER_BUILD names the build folder that holds tests/unit/decode/decode_tool.
"""

import io
import os
import random
import struct
import subprocess
import warnings
import zlib

import numpy
import pytest

Image = pytest.importorskip("PIL.Image")
ImageOps = pytest.importorskip("PIL.ImageOps")

PILLOW = tuple(map(int, pytest.importorskip("PIL").__version__.split(".")[:2]))
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


@pytest.fixture(scope="module")
def decode(tmp_path_factory):
    decoder = Decoder(tmp_path_factory.mktemp("decode"))
    yield decoder
    decoder.close()


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
            for key in b"\0\5", b"\0\xff", b"\0\0":
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
                source = Image.fromarray(numpy.asarray(source).astype(numpy.int32) * 5, "I")
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


@pytest.mark.parametrize("block", [
    exif(6, ">"), exif(6, "<", "I"), exif(6, ">", "I"), exif(6, "<", "B"), exif(6, count=0),
    exif(6, count=2), exif(6, entries=[(0x10F, 2, 4, 0)]), exif(6, entries=[(0x10F, 2, 9, 8)]),
    exif(6, entries=[(0x10F, 2, 5000, 8)]), exif(6, entries=[(0x10F, 99, 5000, 8)]),
    exif(6, entries=[(0x112, 3, 1, 3)]), exif(6)[:21], exif(6)[:22], exif(6)[:12], exif(6)[:9],
    b"II\0*" + exif(6)[4:], b"MM*\0" + exif(6, ">")[4:],
])
def test_exif_that_is_odd(decode, block):
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


RUNS = [bytes([5, 0x12, 12, 0x34, 0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 12, 7, 0, 0, 20, 9, 0, 0, 0, 1]),
        bytes([17, 1] * 5), bytes([17, 1, 0, 0] * 5 + [0, 1]), bytes([255, 7] * 5),
        bytes([3, 1, 0, 0] * 5), bytes([0, 4, 1, 2, 3, 4, 13, 8] * 5 + [0, 1]),
        bytes([0, 3, 1, 2, 3, 0, 14, 8, 0, 0] * 5), bytes([17, 1] * 4), bytes([17, 1, 0, 1]), b"",
        bytes([17, 1] * 4 + [0]), bytes([17, 1] * 4 + [0, 90, 1])]


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("bits, compression", [(8, 1), (4, 2)])
def test_bmp_runs(decode, bits, compression, runs):
    for down in (False, True):
        for pad in (0, 1):
            palette = noise(4 << bits) + b"x" * pad
            same(decode, bmp(17, 5, bits, [runs], 40, compression, palette, down=down))


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
    condition, words = decode(bmp(17, 5, 8, [bytes([0, 2, 3, 1] * 9)], 40, 1, noise(1024)))
    assert condition == UNSUPPORTED and "jumps" in words


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


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("bits, photometric, samples, extras", [
    (1, 0, 1, ()), (1, 1, 1, ()), (2, 0, 1, ()), (2, 1, 1, ()), (4, 0, 1, ()), (4, 1, 1, ()),
    (8, 0, 1, ()), (8, 1, 1, ()), (16, 0, 1, ()), (16, 1, 1, ()), (8, 1, 2, (2,)), (8, 1, 2, (1,)),
    (8, 2, 3, ()), (8, 2, 4, ()), (8, 2, 4, (0,)), (8, 2, 4, (1,)), (8, 2, 4, (2,)),
    (8, 2, 5, (0, 0)), (8, 2, 5, (1, 0)), (8, 2, 5, (2, 0)), (8, 2, 6, (0, 0, 0)),
    (8, 2, 6, (1, 0, 0)), (16, 2, 3, ()), (16, 2, 4, ()), (16, 2, 4, (0,)), (16, 2, 4, (1,)),
    (16, 2, 4, (2,)), (1, 3, 1, ()), (2, 3, 1, ()), (4, 3, 1, ()), (8, 3, 1, ()), (8, 3, 2, (2,)),
    (8, 5, 4, ()), (8, 5, 5, (0,)), (8, 5, 6, (0, 0)), (16, 5, 4, ()),
    (8, 5, 5, (1,)), (16, 2, 5, (0, 0)), (3, 1, 1, ()), (8, 1, 3, ())])
def test_tiff_forms(tiffs, bits, photometric, samples, extras, order):
    """What Pillow does not write: each form of pixels, in strips of some rows."""
    for width, height in SIZES:
        more = {"t338": (3, extras)} if extras else {}
        if photometric == 3:
            more["t320"] = (3, [value * 257 for value in noise(3 << bits)])
        rows = 3
        stride = (width * samples * bits + 7) // 8
        blocks = [noise(stride * min(rows, height - y), y) for y in range(0, height, rows)]
        same(tiffs, tiff(tiff_tags(width, height, bits, photometric, samples, t278=(4, [rows]),
                                   **more), blocks, order), parts=3)


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
    assert tiffs(tiff({**tiff_tags(17, 5, 8, 1), 259: (3, [6])}, [rows]))[0] == UNSUPPORTED
    assert tiffs(tiff(tiff_tags(17, 5, 8, 8, 3, t278=(4, [5])), [rows]))[0] == UNSUPPORTED  # LAB
    for depth, form in (32, 1), (32, 3), (16, 2), (64, 3):
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
    draw = random.Random(1)
    same(decode, gif((17, 13), (0, 0, 17, 13), 3, draw, noise(24), before=before), 2)


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


@pytest.mark.parametrize("data", [
    b"P6 2 2 255\n" + b"x" * 12, b"P6\t2\r2\x0b255\x0c" + b"x" * 12, b"P6 2 2 255\n" + b"x" * 11,
    b"P6#c\n2 2 255\n" + b"x" * 12, b"P6 2#c\n3 2 255\n" + b"x" * 138,
    b"P6 #c\r2 2 255 " + b"x" * 12,
    b"P6 2 2 0\n" + b"x" * 12, b"P6 2 2 65536\n" + b"x" * 24, b"P6 2 2 x\n" + b"x" * 12, b"P6 2 2",
    b"P6 2", b"P6 ", b"P6 -2 2 255\n" + b"x" * 12, b"P6 12345678901 2 255 ", b"P3 1 1 9 1 2 10\n",
    b"P3 1 1 9 1 2 x\n", b"P3 1 1 9 1 2 00000000009\n", b"P3 1 1 9 1 2 3 4 x\n", b"P2 1 1 9 #\n",
    b"P5 2 2 255\n" + b"#" * 4, b"P7 2 2 255\n", b"P0 2 2 255\n", b"P6", b"P"])
def test_netpbm_headers(decode, data):
    same(decode, data, 1)


def test_netpbm_limit(decode):
    assert decode(b"P6 0 5 255\n")[0] == CORRUPT
    assert decode(b"P6 20000 20000 255\n")[0] == LIMIT
