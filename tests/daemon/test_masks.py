# SPDX-License-Identifier: MIT
"""The numbers of a mask are those that NumPy shows of Pillow's picture, in every format; a pixel
that has none, or one that uint8 cannot hold, makes a bad sample.
"""

import json
import struct
import zlib

import numpy
import PIL.features
import PIL.Image
import pytest

SIZE = (16, 8)
RANDOM = numpy.random.default_rng(4)
STREAM = {"dtype": "uint8", "layout": "NHWC", "shuffle": False, "batch_size": 1, "transforms": []}


def numbers(below):
    return RANDOM.integers(0, below, SIZE[::-1], dtype=numpy.uint8)


def indexed(below, bits=8, **options):
    """Colours that are not their indices."""
    picture = PIL.Image.fromarray(numbers(below), "P")
    picture.putpalette([*bytes(RANDOM.integers(0, 255, 3 * below, dtype=numpy.uint8))])
    return picture, {"bits": bits, **options}


def grey(below=256):
    return PIL.Image.fromarray(numbers(below), "L"), {}


def bilevel():
    return PIL.Image.fromarray(numbers(2) * 255, "L").convert("1"), {}


def with_alpha():
    return PIL.Image.merge("LA", (grey()[0], grey()[0])), {}


def wide(most):
    values = numpy.linspace(0, most, SIZE[0] * SIZE[1]).astype(numpy.uint16).reshape(SIZE[::-1])
    return PIL.Image.fromarray(values), {}


def grey_colours(mode="RGB"):
    return PIL.Image.merge(mode, [grey(200)[0]] * 3), {}


SAME = {
    "palette.png": lambda: indexed(256), "palette1.png": lambda: indexed(2, 1),
    "palette2.png": lambda: indexed(4, 2), "palette4.png": lambda: indexed(16, 4),
    "palette.gif": lambda: indexed(200), "palette.tif": lambda: indexed(256),
    "palette.bmp": lambda: indexed(250), "bilevel.png": bilevel, "bilevel.tif": bilevel,
    "bilevel.bmp": bilevel, "bilevel.pbm": bilevel, "grey.png": grey, "grey.tif": grey,
    "grey.bmp": grey, "grey.pgm": grey, "grey.jpg": grey, "alpha.png": with_alpha,
    "small.png": lambda: wide(255), "small.tif": lambda: wide(255), "colours.png": grey_colours,
    "colours.bmp": grey_colours, "colours.tif": grey_colours, "colours.ppm": grey_colours,
}
NONE = {
    "large.png": lambda: wide(256), "large.tif": lambda: wide(40000),
    "colour.png": lambda: (PIL.Image.new("RGB", SIZE, (9, 9, 8)), {}),
    "colour.bmp": lambda: (PIL.Image.new("RGB", SIZE, (9, 8, 9)), {}),
    "colour.ppm": lambda: (PIL.Image.new("RGB", SIZE, (8, 9, 9)), {}),
    "colour.jpg": lambda: (PIL.Image.new("RGB", SIZE, (200, 9, 9)), {}),
    "cmyk.jpg": lambda: (PIL.Image.new("CMYK", SIZE, (0, 0, 0, 9)), {}),
    "cmyk.tif": lambda: (PIL.Image.new("CMYK", SIZE, (0, 0, 0, 9)), {}),
}
if PIL.features.check("webp"):
    SAME["colours.webp"] = lambda: (grey_colours()[0], {"lossless": True})
    NONE["lossy.webp"] = lambda: (grey_colours()[0], {"quality": 60})
    NONE["colour.webp"] = lambda: (PIL.Image.new("RGB", SIZE, (200, 9, 9)), {})


def bmp_of_bits(bits, values):
    """A BMP of less than 8 bits a pixel, whose palette are not its indices."""
    rows = b""
    for row in values[::-1]:
        line = "".join(f"{value:0{bits}b}" for value in row)
        data = int(line, 2).to_bytes(len(line) // 8, "big")
        rows += data + bytes(-len(data) % 4)
    palette = b"".join(bytes([7 * i % 256, 50, 99, 0]) for i in range(1 << bits))
    head = struct.pack("<IiiHHIIiiII", 40, *SIZE, 1, bits, 0, len(rows), 0, 0, 0, 0)
    at = 14 + 40 + len(palette)
    return b"BM" + struct.pack("<IHHI", at + len(rows), 0, 0, at) + head + palette + rows


def png_of(colour_type, depth, rows):
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", *SIZE, depth,
                                                              colour_type, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) +
            chunk(b"IEND", b""))


@pytest.fixture(name="read")
def fixture_read(daemon, tmp_path):
    PIL.Image.new("RGB", SIZE).save(tmp_path / "i.png")

    def read(name, column="mask", **fields):
        """The mask of that file, or the words about it."""
        path = tmp_path / "m.jsonl"
        path.write_text(json.dumps({"path": "i.png", column: name}) + "\n")
        with daemon.connect() as peer:
            answer = peer.attach(path, **{**STREAM, **fields})
            assert answer.name == "attached", answer
            message = peer.receive()
            if message.name == "bad_sample":
                return message.fields["text"]
            return peer.ring.read(message.fields["runs"])[column][0].copy()
    return read


def like_pillow(read, folder, name):
    expected = numpy.asarray(PIL.Image.open(folder / name))
    expected = expected[:, :, 0] if expected.ndim == 3 else expected
    numpy.testing.assert_array_equal(read(name), expected.astype(numpy.uint8), err_msg=name)


@pytest.mark.parametrize("name", SAME)
def test_the_numbers_are_those_of_pillow(read, tmp_path, name):
    picture, options = SAME[name]()
    picture.save(tmp_path / name, **options)
    like_pillow(read, tmp_path, name)


@pytest.mark.parametrize("bits", [1, 4])
def test_a_bmp_of_few_bits(read, tmp_path, bits):
    values = numbers(1 << bits)
    (tmp_path / "few.bmp").write_bytes(bmp_of_bits(bits, values))
    like_pillow(read, tmp_path, "few.bmp")
    numpy.testing.assert_array_equal(read("few.bmp"), values)


@pytest.mark.parametrize("name", NONE)
def test_what_is_no_number_is_a_bad_sample(read, tmp_path, name):
    picture, options = NONE[name]()
    picture.save(tmp_path / name, **options)
    words = read(name)
    assert isinstance(words, str) and "mask" in words, words


def test_sixteen_bits_beside_each_other(read, tmp_path):
    """Grey with alpha, and colours: the upper bytes are not what is stored."""
    for colour_type, samples in (2, 3), (4, 2), (6, 4):
        row = struct.pack(">H", 5) * (samples * SIZE[0])
        (tmp_path / "w.png").write_bytes(png_of(colour_type, 16, [row] * SIZE[1]))
        assert "above 255" in read("w.png")


def test_netpbm_of_more_than_eight_bits(read, tmp_path):
    ids = numpy.array([0, 1, 5, 255, 200, 7, 8, 9] * 16, numpy.uint16)
    (tmp_path / "g.pgm").write_bytes(b"P5 16 8 65535\n" + ids.astype(">u2").tobytes())
    like_pillow(read, tmp_path, "g.pgm")
    ids[100] = 300
    (tmp_path / "g.pgm").write_bytes(b"P5 16 8 65535\n" + ids.astype(">u2").tobytes())
    assert "pixel (4, 6)" in read("g.pgm")
    (tmp_path / "g.pgm").write_bytes(b"P2 16 8 65535\n" + b" ".join(b"%d" % n for n in ids))
    assert "pixel (4, 6)" in read("g.pgm")
    (tmp_path / "c.ppm").write_bytes(b"P6 16 8 65535\n" + bytes([0, 5]) * 3 * 128)
    assert "above 255" in read("c.ppm")


def test_only_what_is_seen_counts(read, tmp_path):
    """A number that is cut off is nobody's."""
    values = numpy.zeros(SIZE[::-1], numpy.uint16)
    values[0, 0] = 300
    values[4, 8] = 9
    PIL.Image.fromarray(values).save(tmp_path / "c.png")
    assert "pixel (0, 0)" in read("c.png")
    crop = read("c.png", transforms=[{"name": "CenterCrop", "size": [4, 4]}])
    numpy.testing.assert_array_equal(crop, values[2:6, 6:10])


WIDE = {
    "large.png": lambda: wide(65535), "large.tif": lambda: wide(65535),
    "large.pgm": lambda: (wide(65535)[0].convert("I"), {}), "byte.png": grey, "byte.pgm": grey,
    "palette.png": lambda: indexed(256), "bilevel.png": bilevel, "alpha.png": with_alpha,
    "colours.png": grey_colours, "palette.gif": lambda: indexed(200),
}


@pytest.mark.parametrize("name", WIDE)
def test_numbers_of_sixteen_bits(read, tmp_path, name):
    """The column mask16 has all of them, through a crop and a flip, too."""
    picture, options = WIDE[name]()
    picture.save(tmp_path / name, **options)
    expected = numpy.asarray(PIL.Image.open(tmp_path / name))
    expected = expected[:, :, 0] if expected.ndim == 3 else expected
    got = read(name, "mask16")
    assert got.dtype == numpy.uint16
    numpy.testing.assert_array_equal(got, expected, err_msg=name)
    moved = read(name, "mask16", transforms=[
        {"name": "Pad", "padding": 1}, {"name": "CenterCrop", "size": [10, 8]},
        {"name": "RandomHorizontalFlip", "p": 1.0}])
    frame = numpy.pad(expected.astype(numpy.uint16), 1)
    numpy.testing.assert_array_equal(moved, frame[:, 5:13][:, ::-1])


@pytest.mark.parametrize("name", ["colour.png", "colour.ppm", "cmyk.tif"])
def test_colours_have_no_sixteen_bits(read, tmp_path, name):
    """Nor one that looks like what stands for a number above 255 where that is grey."""
    picture, options = NONE[name]()
    picture.save(tmp_path / name, **options)
    assert "mask" in read(name, "mask16")
    PIL.Image.new("RGB", SIZE, (9, 1, 246)).save(tmp_path / "looks.png")
    assert "colour" in read("looks.png", "mask16")


def test_negative_numbers_are_none(read, tmp_path):
    values = numpy.zeros(SIZE[::-1], numpy.int16)
    values[3, 2] = -5
    tifffile(tmp_path / "n.tif", values)
    assert "pixel (2, 3)" in read("n.tif", "mask16")
    assert "pixel (2, 3)" in read("n.tif")


def tifffile(path, values):
    """A TIFF of signed grey of 16 bits, which Pillow does not write."""
    data = values.astype("<i2").tobytes()
    tags = [(256, 3, SIZE[0]), (257, 3, SIZE[1]), (258, 3, 16), (259, 3, 1), (262, 3, 1),
            (273, 4, 8), (277, 3, 1), (278, 3, SIZE[1]), (279, 4, len(data)), (339, 3, 2)]
    rows = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags)
    path.write_bytes(b"II*\0" + struct.pack("<I", 8 + len(data)) + data +
                     struct.pack("<H", len(tags)) + rows + bytes(4))


def test_one_mask_will_do(daemon, tmp_path):
    PIL.Image.new("L", SIZE).save(tmp_path / "i.png")
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps({"path": "i.png", "mask": "i.png", "mask16": "i.png"}) + "\n")
    with daemon.connect() as peer:
        answer = peer.attach(path, **STREAM)
        assert answer.name == "error" and "two of mask, mask16" in answer.fields["text"], answer
    table = tmp_path / "m.csv"
    table.write_text("path,mask16\ni.png,i.png\n")
    with daemon.connect() as peer:
        answer = peer.attach(table, **STREAM)
        assert answer.name == "attached", answer
        assert peer.ring.read([[0, 1]])["mask16"].dtype == numpy.uint16


def panoptic(below=1 << 24):
    """Ids of all 24 bits, and the picture of them."""
    ids = RANDOM.integers(1, below, SIZE[::-1], dtype=numpy.int32)
    ids[0, :3] = 0
    return ids, PIL.Image.fromarray(numpy.stack([ids, ids >> 8, ids >> 16], 2).astype(numpy.uint8))


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_panoptic_ids(read, tmp_path, mode):
    """R + 256 G + 65536 B of each pixel, as panopticapi's rgb2id(), through nearest pixels."""
    ids, picture = panoptic()
    picture.convert(mode).save(tmp_path / "ids.png")
    got = read("ids.png", "panoptic")
    assert got.dtype == numpy.int32
    numpy.testing.assert_array_equal(got, ids)
    moved = read("ids.png", "panoptic", transforms=[
        {"name": "Pad", "padding": 1, "fill": 9}, {"name": "CenterCrop", "size": [10, 8]},
        {"name": "RandomHorizontalFlip", "p": 1.0}, {"name": "Resize", "size": [20, 16]}])
    frame = numpy.pad(ids, 1)[:, 5:13][:, ::-1]
    numpy.testing.assert_array_equal(moved, frame.repeat(2, 0).repeat(2, 1))
    turned = read("ids.png", "panoptic", transforms=[
        {"name": "RandomRotation", "degrees": [30.0, 30.0], "interpolation": "bilinear"}])
    assert set(turned.ravel().tolist()) <= {0, *ids.ravel().tolist()}


@pytest.mark.parametrize("name", ["grey.png", "palette.png", "large.png", "colours.bmp",
                                  "grey.jpg"])
def test_what_has_no_panoptic_ids(read, tmp_path, name):
    """Other pictures, whose colours are numbers or not those that were saved."""
    picture, options = (SAME.get(name) or NONE[name])()
    picture.save(tmp_path / name, **options)
    assert "a PNG whose colours of 8 bits are ids" in read(name, "panoptic")


def test_colours_of_sixteen_bits_have_no_panoptic_ids(read, tmp_path):
    row = struct.pack(">H", 5) * (3 * SIZE[0])
    (tmp_path / "wide.png").write_bytes(png_of(2, 16, [row] * SIZE[1]))
    assert "a PNG whose colours of 8 bits are ids" in read("wide.png", "panoptic")


def test_an_id_that_the_row_does_not_name(daemon, tmp_path):
    """It makes a bad sample where it is shown; 0 is of no segment and needs no name."""
    PIL.Image.new("RGB", SIZE).save(tmp_path / "i.png")
    ids = numpy.zeros(SIZE[::-1], numpy.int32)
    ids[2:, 4:] = 70000
    ids[3, 15] = 300
    PIL.Image.fromarray(numpy.stack([ids, ids >> 8, ids >> 16], 2).astype(numpy.uint8)).save(
        tmp_path / "ids.png")
    path, row = tmp_path / "m.jsonl", {"path": "i.png", "panoptic": "ids.png"}

    def read(named, transforms=()):
        path.write_text(json.dumps({**row, "targets": {"segment_id": named}}) + "\n")
        with daemon.connect() as peer:
            # The names are the row's, whether the stream has them or not.
            answer = peer.attach(path, **{**STREAM, "transforms": [*transforms]},
                                 fields=["panoptic"])
            assert answer.name == "attached", answer
            message = peer.receive()
            if message.name == "bad_sample":
                return message.fields["text"]
            return peer.ring.read(message.fields["runs"])["panoptic"][0].copy()

    numpy.testing.assert_array_equal(read([300, 70000, -1]), ids)
    words = read([70000, -1, -1])
    assert "pixel (15, 3) has the id 300" in words and "segment_id" in words, words
    crop = read([70000], [{"name": "CenterCrop", "size": [8, 8]}])
    numpy.testing.assert_array_equal(crop, ids[:, 4:12])


def test_a_mosaic_of_panoptic_masks_is_refused(daemon, tmp_path):
    PIL.Image.new("RGB", SIZE).save(tmp_path / "i.png")
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps({"path": "i.png", "panoptic": "i.png"}) + "\n")
    with daemon.connect() as peer:
        answer = peer.attach(path, **{**STREAM, "transforms": [{"name": "Mosaic"}]})
        assert answer.name == "error" and "Mosaic cannot join 'panoptic'" in answer.fields["text"]
