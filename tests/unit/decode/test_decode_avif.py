# SPDX-License-Identifier: MIT
"""AVIF: the pixels of avifdec, which has the same libavif, and those of a Pillow that reads AVIF,
at most 2 levels apart, since its libavif is another. avifenc makes the pictures."""

import io
import random
import shutil
import struct
import subprocess

import numpy
import pytest

from by_pillow import CORRUPT, LIMIT, SIZES, UNSUPPORTED, Image, image, pillow, saved

try:
    from PIL import features
    PILLOW_READS = "avif" in features.modules and features.check("avif")
except ImportError:
    PILLOW_READS = False


@pytest.fixture(name="avifs")
def fixture_avifs(decode, tmp_path):
    """(decode, make): make(image, ...) has avifenc write it."""
    encoder = shutil.which("avifenc")
    if not encoder:
        pytest.skip("no avifenc (libavif-bin)")

    def make(picture, *options):
        picture.save(tmp_path / "in.png")
        subprocess.run([encoder, "-s", "10", *options, tmp_path / "in.png", tmp_path / "out.avif"],
                       check=True, stdout=subprocess.DEVNULL)
        return (tmp_path / "out.avif").read_bytes()

    condition, words = decode(make(image("RGB", 3, 2)))
    if condition == UNSUPPORTED and "built without" in words:
        pytest.skip("this stokerd was built without libavif")
    return decode, make


def avifdec(folder, data):
    """Its pixels as RGB, None if it refuses; the orientation is not applied to them."""
    (folder / "dec.avif").write_bytes(data)
    done = subprocess.run(["avifdec", "-j", "1", "-d", "8", folder / "dec.avif",
                           folder / "dec.png"], check=False, capture_output=True)
    if done.returncode:
        return None
    with Image.open(folder / "dec.png") as png:
        return numpy.asarray(png.convert("RGBA"))


def near(pixels, expected, levels, name):
    """Where something is visible they are that near; an encoder may clear what is not."""
    apart = abs(pixels.astype(int) - expected.astype(int))[expected[:, :, 3] > 0]
    assert apart.max(initial=0) <= levels, name


def compare(avifs, data, folder, name="", depth=8):
    decode = avifs[0]
    expected = avifdec(folder, data)
    assert expected is not None, name
    condition, whole = decode(data, alpha=True)
    assert condition == 0, (name, whole)
    if depth == 8:
        numpy.testing.assert_array_equal(whole, expected, err_msg=name)
    near(whole, expected, 0 if depth == 8 else 6, name)  # libavif 0.11 does it another way
    if PILLOW_READS:
        near(whole, pillow(data, mode="RGBA"), 2, name)
    condition, pixels = decode(data)
    assert condition == 0, (name, pixels)
    numpy.testing.assert_array_equal(pixels, whole[:, :, :3], err_msg=name)
    rng = random.Random(len(data))
    height, width = whole.shape[:2]
    for _ in range(4):
        x, y = rng.randrange(width), rng.randrange(height)
        w, h = rng.randint(1, width - x), rng.randint(1, height - y)
        condition, pixels = decode(data, (x, y, w, h), alpha=True)
        assert condition == 0, (name, pixels)
        numpy.testing.assert_array_equal(pixels, whole[y : y + h, x : x + w], err_msg=name)


@pytest.mark.parametrize("form", ["444", "422", "420", "400"])
@pytest.mark.parametrize("depth", [8, 10, 12])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L"])
def test_forms(avifs, tmp_path, mode, depth, form):
    for size in SIZES[2], SIZES[-1]:
        data = avifs[1](image(mode, *size), "-y", form, "-d", str(depth))
        compare(avifs, data, tmp_path, f"{mode} {depth} {form} {size}", depth)


@pytest.mark.parametrize("options", [
    ("-l",), ("-r", "limited"), ("-r", "full"), ("--cicp", "9/16/9"), ("--cicp", "1/13/0"),
    ("-d", "10", "--cicp", "1/13/0"),
    ("--premultiply",), ("--min", "20", "--max", "40"), ("--tilerowslog2", "1")], ids=" ".join)
def test_options(avifs, tmp_path, options):
    form = ("-y", "444") if options[-1] == "1/13/0" else ()
    for mode in "RGB", "RGBA":
        compare(avifs, avifs[1](image(mode, 61, 47), *form, *options), tmp_path, " ".join(options),
                10 if "10" in options else 8)


# Matrices that each way of converting knows, one that none does, and greys that have none.
@pytest.mark.parametrize("primaries, matrix", [(1, 1), (1, 4), (9, 9), (1, 7), (1, 8), (9, 12),
                                               (11, 12), (1, 0)])
@pytest.mark.parametrize("depth", [8, 10, 12])
def test_matrices_by_pillow(avifs, depth, primaries, matrix):
    """The container's word for the matrix counts: not a pixel is another than Pillow's."""
    if not PILLOW_READS:
        pytest.skip("this Pillow reads no AVIF")
    for mode in "RGB", "RGBA", "L":
        for form in ("400",) if matrix == 0 else ("444", "420", "400"):
            data = avifs[1](image(mode, 61, 47), "-y", form, "-d", str(depth), "--cicp", "1/13/6")
            at = data.index(b"nclx") + 4
            data = data[:at] + struct.pack(">HHH", primaries, 13, matrix) + data[at + 6:]
            condition, pixels = avifs[0](data)
            assert condition == 0, pixels
            numpy.testing.assert_array_equal(pixels, pillow(data), err_msg=f"{mode} {form}")


def test_sizes(avifs, tmp_path):
    for size in SIZES:
        compare(avifs, avifs[1](image("RGB", *size)), tmp_path, str(size))


def test_grid(avifs, tmp_path):
    for number, part in enumerate(("a", "b")):
        image("RGB", 128, 64, number).save(tmp_path / f"{part}.png")
    subprocess.run(["avifenc", "-s", "10", "-g", "2x1", tmp_path / "a.png", tmp_path / "b.png",
                    tmp_path / "grid.avif"], check=True, stdout=subprocess.DEVNULL)
    compare(avifs, (tmp_path / "grid.avif").read_bytes(), tmp_path, "grid")


def test_a_sequence_is_its_first_frame(avifs, tmp_path):
    for number, part in enumerate(("a", "b")):
        image("RGB", 64, 48, number).save(tmp_path / f"{part}.png")
    subprocess.run(["avifenc", "-s", "10", tmp_path / "a.png", tmp_path / "b.png",
                    tmp_path / "two.avif"], check=True, stdout=subprocess.DEVNULL)
    compare(avifs, (tmp_path / "two.avif").read_bytes(), tmp_path, "sequence")


def turned(pixels, angle, axis):
    """As the container says: mirrored after it was turned."""
    pixels = numpy.rot90(pixels, angle)
    return pixels if axis is None else pixels[::-1] if axis == 0 else pixels[:, ::-1]


@pytest.mark.parametrize("angle", range(4))
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_orientation(avifs, angle, axis):
    decode, make = avifs
    options = ["--irot", str(angle)] if angle else []
    if axis is not None:
        options += ["--imir", str(axis)]
    data = make(image("RGB", 40, 24), *options)
    stored = decode(data)[1]
    assert stored.shape == (24, 40, 3)
    condition, shown = decode(data, exif=True)
    assert condition == 0, shown
    numpy.testing.assert_array_equal(shown, turned(stored, angle, axis))
    if PILLOW_READS:
        assert abs(pillow(data, exif=True).astype(int) - shown).max() <= 2


def test_damage(avifs, tmp_path):
    """The same verdict as avifdec's."""
    decode, make = avifs
    whole, draw = make(image("RGB", 61, 47)), random.Random(1)
    for size in range(16, len(whole), 7):
        assert decode(whole[:size])[0] == CORRUPT, size
    for _ in range(60):
        at = draw.randrange(16, len(whole))
        bad = whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1:]
        condition, words = decode(bad)
        expected = avifdec(tmp_path, bad)
        if condition == 0 and expected is not None:
            numpy.testing.assert_array_equal(words, expected[:, :, :3])
        elif expected is not None:  # avifdec checks more, never less
            pytest.fail(f"refused with a change at {at}: {words}")


def test_limits(avifs):
    decode, make = avifs
    whole = make(image("RGB", 61, 47))
    at = whole.index(b"ispe") + 8
    huge = whole[:at] + struct.pack(">II", 16000, 16000) + whole[at + 8:]
    assert decode(huge)[0] in (LIMIT, CORRUPT)
    assert decode(whole[:at] + struct.pack(">II", 0, 5) + whole[at + 8:])[0] == CORRUPT
    # The container says less than the stream holds.
    assert decode(whole[:at] + struct.pack(">II", 16, 16) + whole[at + 8:])[0] in (0, CORRUPT)


@pytest.mark.skipif(not PILLOW_READS, reason="this Pillow reads no AVIF")
def test_pictures_of_pillow(avifs, tmp_path):
    for mode in "RGB", "RGBA", "L":
        for options in {}, {"quality": 95, "subsampling": "4:4:4"}:
            compare(avifs, saved(image(mode, 130, 71), "AVIF", **options), tmp_path, mode)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x112] = orientation
        data = saved(image("RGB", 40, 24), "AVIF", exif=exif)
        condition, shown = avifs[0](data, exif=True)
        assert condition == 0, shown
        assert abs(pillow(data, exif=True).astype(int) - shown).max() <= 2, orientation
    frames = io.BytesIO()
    more = [image("RGB", 40, 24, 2)]
    image("RGB", 40, 24).save(frames, "AVIF", save_all=True, append_images=more)
    compare(avifs, frames.getvalue(), tmp_path, "animation")
