# SPDX-License-Identifier: MIT
"""Pictures with alpha, which ImageDataGenerator takes with color_mode "rgba": Pillow's
convert("RGBA") and resize, bit for bit, of files of every kind, kept as decoded or not, and beside
streams without alpha."""

import io
import struct
import threading

import numpy
import pytest
from PIL import Image

from test_pixels import kinds

FILTERS = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC,
           "box": Image.BOX, "hamming": Image.HAMMING, "lanczos": Image.LANCZOS}
WIDTH, HEIGHT = 33, 41  # what is asked for
GENERATOR = {"name": "ImageDataGenerator", "color_mode": "rgba"}


def bitmap(picture):
    """A BMP with a mask for alpha, which Pillow does not write."""
    pixels = numpy.asarray(picture)[::-1, :, [2, 1, 0, 3]].tobytes()
    masks = struct.pack("<IIII", 0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    head = struct.pack("<IiiHHIIiiII", 108, picture.width, picture.height, 1, 32, 3, len(pixels),
                       0, 0, 0, 0) + masks + bytes(52)
    return struct.pack("<2sIHHI", b"BM", 14 + 108 + len(pixels), 0, 0, 14 + 108) + head + pixels


@pytest.fixture(scope="module", name="folder")
def fixture_folder(tmp_path_factory):
    """Soft and hard alpha, a key, a palette; one picture has the size that is asked for, one its
    shape, one as much of it as AspectResize takes; and what has no alpha."""
    folder = tmp_path_factory.mktemp("alpha")
    (folder / "all").mkdir()
    random = numpy.random.default_rng(8)
    noise = {"noise": (57, 48), "same": (WIDTH, HEIGHT), "twice": (2 * WIDTH, 2 * HEIGHT),
             "wider": (WIDTH + 20, HEIGHT)}
    out = kinds()
    for name, (width, height) in noise.items():
        picture = Image.fromarray(random.integers(0, 256, (height, width, 4), numpy.uint8), "RGBA")
        hard = picture.getchannel("A").point(lambda value: 255 * (value > 99))
        for kind, image in (("soft", picture), ("hard", picture.copy())):
            if kind == "hard":
                image.putalpha(hard)
            for ending, options in (("png", {}), ("webp", {"lossless": True, "exact": True})):
                file = io.BytesIO()
                image.save(file, ending.upper(), **options)
                out[f"{name}-{kind}.{ending}"] = file.getvalue()
        out[f"{name}.bmp"] = bitmap(picture)
    file = io.BytesIO()
    picture.save(file, "WEBP", quality=60)
    out["lossy-alpha.webp"] = file.getvalue()
    for name, data in out.items():
        (folder / "all" / name).write_bytes(data)
    return folder


def aspect(image, name):
    """As Keras' load_img(keep_aspect_ratio=True)."""
    width, height = image.size
    wide = min(width, height * WIDTH // HEIGHT)
    high = min(height, width * HEIGHT // WIDTH)
    left, top = (width - wide) // 2, (height - high) // 2
    return image.resize((WIDTH, HEIGHT), FILTERS[name], (left, top, left + wide, top + high))


def expected(path, how, name):
    image = Image.open(path).convert("RGBA")
    if image.size != (WIDTH, HEIGHT):
        image = aspect(image, name) if how == "AspectResize" else \
            image.resize((WIDTH, HEIGHT), FILTERS[name])
    return numpy.asarray(image).astype(numpy.float32)


def transforms_of(how, name, **generator):
    return [{"name": how, "size": [HEIGHT, WIDTH], "interpolation": name},
            {**GENERATOR, **generator}]


def compare(daemon, folder, how, name, epochs=1, layout="NHWC"):
    names = sorted(path.name for path in (folder / "all").iterdir())
    seen = 0
    with daemon.connect() as peer:
        answer = peer.attach(folder, transforms=transforms_of(how, name), dtype="float32",
                             layout=layout, shuffle=False, epochs=epochs)
        assert answer.name == "attached", answer
        for _, position, arrays in peer.samples():
            wanted = expected(folder / "all" / names[position], how, name)
            got = arrays["image"] if layout == "NHWC" else arrays["image"].transpose(1, 2, 0)
            assert got.dtype == numpy.float32
            numpy.testing.assert_array_equal(got, wanted, err_msg=names[position])
            seen += 1
    assert seen == epochs * len(names)


@pytest.mark.parametrize("how", ["Resize", "AspectResize"])
@pytest.mark.parametrize("name", FILTERS)
def test_pixels(daemon, folder, how, name):
    compare(daemon, folder, how, name, layout="NCHW" if name == "box" else "NHWC")


def test_kept_pictures_have_no_alpha(spawn, folder):
    """So files that have one are read again; those that have none are not."""
    daemon = spawn(workers=2, cache_memory="64M")
    plain = [{"name": "Resize", "size": [HEIGHT, WIDTH]}]
    with daemon.connect() as peer:
        peer.attach(folder, transforms=plain, shuffle=False, epochs=3, dtype="uint8")
        peer.digests()
        kept = daemon.status()
        assert kept["cache_pictures"] == len(list((folder / "all").iterdir()))
        compare(daemon, folder, "Resize", "bicubic", epochs=2)
        after = daemon.status()
    opaque = sum(Image.open(path).convert("RGBA").getextrema()[3] == (255, 255)
                 for path in (folder / "all").iterdir())
    hits = after["cache_hits_total"] - kept["cache_hits_total"]
    assert opaque > 10 and hits == 2 * opaque
    assert after["cache_fills_total"] == kept["cache_fills_total"]


def test_beside_streams_without_alpha(spawn, folder):
    """Which share each decode with it, or use what it keeps."""
    daemon, done = spawn(workers=2, cache_memory="64M"), []

    def take():
        for name in ("bilinear", "nearest"):
            compare(daemon, folder, "Resize", name, epochs=3)
        done.append(True)

    plain = {"transforms": transforms_of("Resize", "bilinear", color_mode="rgb"),
             "shuffle": False, "epochs": 6, "dtype": "float32", "layout": "NHWC"}
    threads = [threading.Thread(target=take) for _ in range(2)]
    with daemon.connect() as peer:
        assert peer.attach(folder, **plain).name == "attached"
        for thread in threads:
            thread.start()
        digests = peer.digests()
        for thread in threads:
            thread.join()
    assert len(done) == 2
    with spawn(workers=1).connect() as peer:
        peer.attach(folder, **plain)
        assert peer.digests() == digests


def test_mode_and_numbers_are_part_of_the_pipeline(daemon, folder):
    with daemon.connect() as rgb, daemon.connect() as rgba, daemon.connect() as again:
        answers = [peer.attach(folder, transforms=transforms_of("Resize", "nearest", **more),
                               dtype="float32")
                   for peer, more in ((rgb, {"color_mode": "rgb"}), (rgba, {}),
                                      (again, {"color_mode": "rgba", "rotation_range": 0}))]
    hashes = [answer.fields["pipeline_hash"] for answer in answers]
    assert hashes[0] != hashes[1] == hashes[2]


@pytest.mark.parametrize("transforms, words", [
    ([{"name": "CenterCrop", "size": 8}, GENERATOR], "CenterCrop stands before ImageDataGenerator"),
    ([{"name": "Grayscale", "num_output_channels": 3}, *transforms_of("Resize", "box")],
     "Grayscale stands before"),
    ([{"name": "Resize", "size": [9, 9]}, *transforms_of("Resize", "box")], "one Resize"),
    ([*transforms_of("Resize", "box"), {"name": "RandomErasing"}], "RandomErasing stands after"),
    (transforms_of("Resize", "box", color_mode="cmyk"), "color_mode"),
    (transforms_of("Resize", "box", featurewise_center=True, featurewise_mean=[1, 2, 3]),
     "of 3 channels, and the samples have 4"),
    (transforms_of("Resize", "box", featurewise_center=True, statistics="keras"), "statistics"),
])
def test_what_is_refused(daemon, folder, transforms, words):
    with daemon.connect() as peer:
        answer = peer.attach(folder, transforms=transforms, dtype="float32")
    assert answer.name == "error" and words in answer.fields["text"], answer


def test_arrays_of_pictures_are_opaque_and_numbers_refused(daemon, tmp_path):
    random = numpy.random.default_rng(2)
    pictures = random.integers(0, 256, (5, HEIGHT, WIDTH, 3), numpy.uint8)
    numpy.save(tmp_path / "bytes.npy", pictures)
    numpy.save(tmp_path / "numbers.npy", pictures.astype(numpy.float32))
    with daemon.connect() as peer:
        peer.attach(tmp_path / "bytes.npy", transforms=[GENERATOR], shuffle=False, epochs=1,
                    layout="NHWC")
        for _, position, arrays in peer.samples():
            assert numpy.array_equal(arrays["image"][:, :, :3], pictures[position])
            assert (arrays["image"][:, :, 3] == 255).all()
    with daemon.connect() as peer:
        answer = peer.attach(tmp_path / "numbers.npy", transforms=[GENERATOR])
    assert answer.name == "error" and "leave it out" in answer.fields["text"]
