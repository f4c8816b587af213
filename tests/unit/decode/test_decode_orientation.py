# SPDX-License-Identifier: MIT
"""FAULTS 75: the orientation of a picture wherever a file may have it: EXIF, XMP, and of PNGs in
front of the pixels and behind. The right ones stand here; a Pillow from 12 on, whose rules they
are, is asked, too."""
import struct
import zlib

import numpy
import pytest

from by_pillow import PILLOW, Image, image, pillow, saved
from test_decode_pillow import exif, with_segment

KNOWS = PILLOW >= (12, 0)
XMP_NAME = b"http://ns.adobe.com/xap/1.0/\0"
PLAIN = image("RGB", 23, 11)


def xmp(orientation, element=False):
    text = (f"<tiff:Orientation>{orientation}</tiff:Orientation>" if element else
            f'<rdf:Description tiff:Orientation="{orientation}" xmlns:x="y"/>')
    return f"<x:xmpmeta><rdf:RDF>{text}</rdf:RDF></x:xmpmeta>".encode()


def turned(pixels, orientation):
    """As the orientation says, by NumPy."""
    if orientation in (5, 6, 7, 8):
        pixels = pixels.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return pixels


def check(decode, data, orientation, name="", like_pillow=True):
    condition, plain = decode(data)
    assert condition == 0, plain
    condition, pixels = decode(data, exif=True)
    assert condition == 0, pixels
    numpy.testing.assert_array_equal(pixels, turned(plain, orientation), err_msg=str(name))
    if KNOWS and like_pillow:
        theirs = pillow(data, exif=True).astype(int)
        assert theirs.shape == pixels.shape and abs(theirs - pixels).max() <= 2, name


# --- PNG ---


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + \
        struct.pack(">I", zlib.crc32(kind + content))


def png(before=b"", behind=b""):
    whole = saved(PLAIN, "PNG")
    first, last = whole.index(b"IDAT") - 4, whole.index(b"IEND") - 4
    return whole[:first] + before + whole[first:last] + behind + whole[last:]


def raw(block, line=72):
    digits = (b"Exif\0\0" + block).hex()
    lines = [digits[at:at + line] for at in range(0, len(digits), line)]
    return "\n".join(["", "exif", f"{len(block) + 6:8}", *lines, ""]).encode()


RAW, XML = b"Raw profile type exif\0", b"XML:com.adobe.xmp\0"
PNGS = {
    "eXIf": lambda o: chunk(b"eXIf", exif(o)),
    "eXIf with the name of JPEG's": lambda o: chunk(b"eXIf", b"Exif\0\0" + exif(o)),
    "tEXt exif": lambda o: chunk(b"tEXt", b"exif\0Exif\0\0" + exif(o)),
    "tEXt raw": lambda o: chunk(b"tEXt", RAW + raw(exif(o, ">"))),
    "zTXt raw": lambda o: chunk(b"zTXt", RAW + b"\0" + zlib.compress(raw(exif(o), 7))),
    "iTXt raw": lambda o: chunk(b"iTXt", RAW + b"\0\0\0\0" + raw(exif(o))),
    "iTXt": lambda o: chunk(b"iTXt", XML + b"\0\0en\0name\0" + xmp(o)),
    "packed iTXt": lambda o: chunk(b"iTXt", XML + b"\1\0\0\0" + zlib.compress(xmp(o, True))),
    "tEXt": lambda o: chunk(b"tEXt", XML + xmp(o)),
    "zTXt": lambda o: chunk(b"zTXt", XML + b"\0" + zlib.compress(xmp(o))),
}


@pytest.mark.parametrize("name", PNGS)
def test_of_a_png(decode, name):
    for orientation in range(10):
        right = orientation if 1 <= orientation <= 8 else 1
        part = PNGS[name](orientation)
        check(decode, png(part), right, (name, orientation))
        check(decode, png(behind=part), right, (name, orientation, "behind"))


def test_which_one_of_a_png(decode):
    """EXIF before XMP, eXIf before the raw profile, the last one of a kind."""
    for name, right, before, behind in [
        ("exif", 6, PNGS["iTXt"](3) + PNGS["eXIf"](6), b""),
        ("exif behind", 6, PNGS["iTXt"](3), PNGS["eXIf"](6)),
        ("exif that is 1", 1, PNGS["iTXt"](3) + PNGS["eXIf"](1), b""),
        ("exif that is invalid", 1, PNGS["iTXt"](3) + PNGS["eXIf"](9), b""),
        ("eXIf", 6, PNGS["eXIf"](6) + PNGS["tEXt raw"](3), b""),
        ("raw", 3, PNGS["iTXt"](6) + PNGS["tEXt raw"](3), b""),
        ("last eXIf", 8, PNGS["eXIf"](6) + PNGS["eXIf"](3), PNGS["eXIf"](8)),
        ("last text", 8, PNGS["tEXt"](6) + PNGS["zTXt"](8), b""),
        ("behind the frames", 6, PNGS["eXIf"](6), chunk(b"IEND", b"") + PNGS["eXIf"](3)),
    ]:
        check(decode, png(before, behind), right, name)


def test_of_a_png_that_is_damaged(decode):
    """Nothing to go by is no orientation, never an error."""
    whole = PNGS["tEXt raw"](6)[8:-4]
    huge = zlib.compress(b" " * (3 << 20) + xmp(6))
    for kind, content in [
        (b"tEXt", whole[:-8]), (b"tEXt", whole[:-11]), (b"tEXt", RAW[:-1]), (b"tEXt", RAW),
        (b"tEXt", whole.replace(b"exif\n", b"exif")), (b"tEXt", RAW + b"\n\n\nxyz"),
        (b"zTXt", RAW), (b"zTXt", RAW + b"\0junk"), (b"zTXt", RAW + b"\0" + zlib.compress(b"")),
        (b"iTXt", XML), (b"iTXt", XML + b"\0"), (b"iTXt", XML + b"\0\0\0"), (b"tEXt", b""),
        (b"iTXt", XML + b"\0\0\0tiff:Orientation=\"6\""), (b"iTXt", XML + b"\1\1\0\0" + huge),
        (b"iTXt", XML + b"\1\0\0\0" + b"junk"),
        (b"iTXt", XML + b"\0\0\0\0tiff:Orientation"), (b"iTXt", XML + b"\0\0\0\0tiff:Orientation="),
        (b"iTXt", XML + b"\0\0\0\0tiff:Orientation=\""), (b"eXIf", b"Exif\0\0"),
    ]:
        for data in png(chunk(kind, content)), png(behind=chunk(kind, content)):
            check(decode, data, 1, (kind, content[:60]), like_pillow=False)


# --- other formats ---


@pytest.mark.parametrize("element", [False, True])
@pytest.mark.parametrize("orientation", range(10))
def test_xmp(decode, orientation, element):
    right = orientation if 1 <= orientation <= 8 else 1
    text = xmp(orientation, element)
    for options in {}, {"progressive": True}:
        plain = saved(PLAIN, "JPEG", **options)
        check(decode, with_segment(plain, 0xE1, XMP_NAME + text), right, "JPEG")
    check(decode, saved(PLAIN, "WEBP", xmp=text, lossless=True), right, "WebP")
    pixels = numpy.asarray(PLAIN)
    condition, found = decode(saved(PLAIN, "TIFF", tiffinfo={700: text}))
    assert condition == 0, found  # is turned whether it is asked for or not
    numpy.testing.assert_array_equal(found, turned(pixels, right))


def test_which_one(decode):
    """EXIF's if it has one, valid or not; else the first of the last XMP."""
    plain, block = saved(PLAIN, "JPEG"), b"Exif\0\0"
    empty = exif(6)[:8] + b"\0" + exif(6)[9:]
    for right, exifs, texts in [(6, [exif(6)], [xmp(3)]), (1, [exif(1)], [xmp(3)]),
                                (1, [exif(0)], [xmp(3)]), (3, [empty], [xmp(3)]),
                                (8, [], [xmp(3), xmp(8)]), (3, [], [xmp(3) + xmp(8)]),
                                (3, [], [b"tiff:Orientation tiff:Orientation=6" + xmp(3)])]:
        data = plain
        for text in reversed(texts):
            data = with_segment(data, 0xE1, XMP_NAME + text)
        for one in exifs:
            data = with_segment(data, 0xE1, block + one)
        check(decode, data, right, (right, exifs, texts))
        if len(texts) == 1:
            more = {"exif": exifs[0]} if exifs else {}
            check(decode, saved(PLAIN, "WEBP", xmp=texts[0], lossless=True, **more), right, "WebP")
    for orientation in (1, 6):
        tags = {274: orientation, 700: xmp(3)}
        condition, found = decode(saved(PLAIN, "TIFF", tiffinfo=tags))
        assert condition == 0, found
        numpy.testing.assert_array_equal(found, turned(numpy.asarray(PLAIN), orientation))


@pytest.mark.parametrize("order", "<>")
def test_of_each_type(decode, order):
    """What Pillow takes for the number 6 is one, whatever type it has in the file."""
    for right, kind, value in [
        (6, 3, struct.pack(order + "HH", 6, 0)), (6, 4, struct.pack(order + "I", 6)),
        (6, 5, struct.pack(order + "II", 6, 1)), (6, 5, struct.pack(order + "II", 12, 2)),
        (1, 5, struct.pack(order + "II", 13, 2)), (1, 5, struct.pack(order + "II", 6, 0)),
        (6, 6, b"\6\0\0\0"), (1, 6, b"\xfa\0\0\0"), (6, 8, struct.pack(order + "hh", 6, 0)),
        (6, 9, struct.pack(order + "i", 6)), (6, 10, struct.pack(order + "ii", -6, -1)),
        (1, 10, struct.pack(order + "ii", -6, 1)), (6, 11, struct.pack(order + "f", 6)),
        (1, 11, struct.pack(order + "f", 6.5)), (1, 11, struct.pack(order + "f", numpy.nan)),
        (6, 12, struct.pack(order + "d", 6)), (1, 12, struct.pack(order + "d", 1e300)),
        (6, 13, struct.pack(order + "I", 6)), (6, 16, struct.pack(order + "Q", 6)),
        (1, 16, struct.pack(order + "Q", 6 + (1 << 40))), (1, 1, b"\6\0\0\0"),
        (1, 2, b"6\0\0\0"), (1, 7, b"\6\0\0\0"),
    ]:
        plain = exif(6, order)
        behind = b"" if len(value) == 4 else value
        place = struct.pack(order + "I", len(plain)) if behind else value
        block = plain[:12] + struct.pack(order + "HI", kind, 1) + place + plain[22:] + behind
        check(decode, with_segment(saved(PLAIN, "JPEG"), 0xE1, b"Exif\0\0" + block), right,
              (kind, value))
        check(decode, png(chunk(b"eXIf", block)), right, (kind, value))


def test_of_an_avif(decode):
    """The container's, which Pillow writes for EXIF's; else that of XMP."""
    if PILLOW < (11, 3):
        pytest.skip("this Pillow writes no AVIF")
    empty = Image.Exif()
    empty[0x10F] = "made by"
    for right, block, text in [(6, exif(6), b""), (6, exif(6), xmp(3)), (3, b"", xmp(3)),
                               (3, empty.tobytes(), xmp(3)), (1, b"", xmp(9))]:
        data = saved(PLAIN, "AVIF", exif=block, xmp=text)
        condition, plain = decode(data)
        if condition:
            pytest.skip("built without libavif")
        check(decode, data, right, (right, block, text))
