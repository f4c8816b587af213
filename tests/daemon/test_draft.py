# SPDX-License-Identifier: MIT
"""draft: JPEGs decoded at a half, quarter or eighth where the resize behind the crop leaves no more
of them anyway, byte for byte what Pillow's Image.draft() gives; other formats as ever.
"""

import io
import sys

import numpy
import pytest
from PIL import Image, ImageOps

from harness import SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "reference"))
import stoker_reference  # noqa: E402 (it stands in a folder of its own)

TRAIN = [{"name": "RandomResizedCrop", "size": 24, "scale": [0.01, 1.0]}]
VAL = [{"name": "Resize", "size": 32}, {"name": "CenterCrop", "size": 24}]
CROP = [{"name": "CenterCrop", "size": [90, 150]}, {"name": "CenterCrop", "size": [88, 140]},
        {"name": "Resize", "size": [20, 40], "interpolation": "bicubic"}]
SEED = 5


def kinds():
    """{file name: bytes}: every sampling, several sizes, and what is no JPEG."""
    source = numpy.random.default_rng(9)
    out = {}

    def save(name, size, kind, mode="RGB", **options):
        image = Image.fromarray(source.integers(0, 256, (24, 32, 3), dtype=numpy.uint8))
        file = io.BytesIO()
        image.resize(size, Image.BICUBIC).convert(mode).save(file, kind, **options)
        out[name] = file.getvalue()

    for sampling in range(3):
        save(f"large{sampling}.jpg", (613, 467), "JPEG", quality=90, subsampling=sampling)
        save(f"small{sampling}.jpg", (157, 203), "JPEG", quality=90, subsampling=sampling)
    save("gray.jpg", (409, 311), "JPEG", "L")
    save("cmyk.jpg", (409, 311), "JPEG", "CMYK")
    save("progressive.jpg", (500, 301), "JPEG", progressive=True)
    for orientation in (2, 6, 7):
        exif = Image.Exif()
        exif[0x0112] = orientation
        save(f"turned{orientation}.jpg", (411, 299), "JPEG", exif=exif.tobytes())
    save("other.png", (400, 300), "PNG")
    save("other.webp", (400, 300), "WEBP", lossless=True)
    return out


@pytest.fixture(scope="module", name="folder")
def fixture_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("draft")
    (folder / "all").mkdir()
    for name, data in kinds().items():
        (folder / "all" / name).write_bytes(data)
    return folder


def crop_of(transforms, size, key):
    """What the first resize takes, as (left, top, width, height), and what it makes of it."""
    width, height = size
    if transforms is TRAIN:
        top, left, rows, columns = stoker_reference.parameters(transforms, size, key)[0]
        return (left, top, columns, rows), (24, 24)
    if transforms is VAL:
        short, long = 32, int(32 * max(size) / min(size))
        return (0, 0, *size), (short, long) if width <= height else (long, short)
    left, top = round((width - 150) / 2), round((height - 90) / 2)
    return (left + round(10 / 2), top + round(2 / 2), 140, 88), (40, 20)


def expected(path, transforms, key, exif):
    """In Pillow's terms, and how much smaller the picture was decoded."""
    image = Image.open(path)
    turned = image.getexif().get(0x0112, 1) >= 5 if exif else False
    size = image.size[::-1] if turned else image.size
    (x, y, w, h), (columns, rows) = crop_of(transforms, size, key)
    s = max(s for s in (1, 2, 4, 8) if s == 1 or s <= min(w // columns, h // rows))
    if image.format != "JPEG":
        s = 1
    if s > 1:
        wanted = (image.width // s, image.height // s)
        sizes = (-(-image.width // s), -(-image.height // s))
        image.draft("RGB", wanted)
        assert image.size == sizes
    image = (ImageOps.exif_transpose(image) if exif else image).convert("RGB")
    image = image.crop((x // s, y // s, -(-(x + w) // s), -(-(y + h) // s)))
    image = image.resize((columns, rows), Image.BICUBIC if transforms is CROP else Image.BILINEAR)
    if transforms is VAL:
        left, top = round((columns - 24) / 2), round((rows - 24) / 2)
        image = image.crop((left, top, left + 24, top + 24))
    return numpy.asarray(image), s


@pytest.mark.parametrize("exif", [False, True])
@pytest.mark.parametrize("transforms", [TRAIN, VAL, CROP], ids=["train", "val", "crop"])
def test_bytes_are_pillows(daemon, folder, transforms, exif):
    names = sorted(path.name for path in (folder / "all").iterdir())
    epochs, scales = 6 if transforms is TRAIN else 2, set()
    wanted_scales = {1, 2, 4, 8} if transforms is TRAIN else {1, 4} if transforms is VAL else {1, 2}
    with daemon.connect() as peer:
        answer = peer.attach(folder, transforms=transforms, dtype="uint8", layout="NHWC",
                             shuffle=False, augment_seed=SEED, epochs=epochs, draft=True,
                             exif_orientation=exif)
        assert answer.name == "attached", answer
        for epoch, position, arrays in peer.samples():
            name = names[position]
            wanted, scale = expected(folder / "all" / name, transforms, (SEED, epoch, position),
                                     exif)
            assert numpy.array_equal(arrays["image"], wanted), (name, epoch, scale)
            scales.add(scale)
    assert scales >= wanted_scales


def test_it_is_another_pipeline(daemon, folder):
    """Nobody is handed drafts who has not asked for them, and no token fits both."""
    with daemon.connect() as peer, daemon.connect() as other:
        plain = peer.attach(folder, transforms=VAL, epochs=1).fields
        draft = other.attach(folder, transforms=VAL, epochs=1, draft=True).fields
        assert plain["stream"] != draft["stream"]
        assert plain["pipeline_hash"] != draft["pipeline_hash"]
    with daemon.connect() as peer:
        answer = peer.attach(folder, transforms=VAL, epochs=1,
                             expect_pipeline=draft["pipeline_hash"])
        assert answer.name == "error" and answer.fields["name"] == "token", answer
        assert "draft" in answer.fields["text"]
