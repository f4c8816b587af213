# SPDX-License-Identifier: MIT
"""Delivered arrays against Pillow and torchvision, bit for bit, through the whole daemon: every
transform, dtype and layout, and files of every kind that people have in their folders.
"""

import io
import sys

import numpy
import pytest
from PIL import Image, ImageOps

from harness import SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "reference"))
import stoker_reference  # noqa: E402 (it stands in a folder of its own)

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NORMALIZE = {"name": "Normalize", "mean": MEAN, "std": STD}
LISTS = {
    "train": [{"name": "RandomResizedCrop", "size": 64}, {"name": "RandomHorizontalFlip"},
              NORMALIZE],
    "val": [{"name": "Resize", "size": 72}, {"name": "CenterCrop", "size": 64}, NORMALIZE],
    "crop": [{"name": "RandomCrop", "size": 48, "padding": 6, "pad_if_needed": True,
              "padding_mode": "reflect"}, {"name": "RandomVerticalFlip", "p": 0.7}],
    "pad": [{"name": "Resize", "size": [40, 50], "interpolation": "bicubic"},
            {"name": "Pad", "padding": [1, 2, 3, 4], "fill": 9}],
    "lanczos": [{"name": "Resize", "size": [33, 77], "interpolation": "lanczos"}],
    "nearest": [{"name": "RandomResizedCrop", "size": [31, 17], "interpolation": "nearest"}],
    "jitter": [{"name": "RandomResizedCrop", "size": [40, 44]},
               {"name": "ColorJitter", "brightness": 0.4, "contrast": [0.3, 2], "saturation": 1.5,
                "hue": 0.4}, {"name": "RandomGrayscale", "p": 0.3}, NORMALIZE],
    "colours": [{"name": "RandomEqualize"}, {"name": "RandomAdjustSharpness",
                                             "sharpness_factor": 2.5},
                {"name": "RandomCrop", "size": [70, 60], "padding": 8},
                {"name": "RandomAutocontrast"}, {"name": "RandomPosterize", "bits": 3},
                {"name": "RandomHorizontalFlip"}, {"name": "RandomInvert"},
                {"name": "RandomSolarize", "threshold": 100.5}, {"name": "CenterCrop", "size": 50},
                {"name": "RandomApply", "p": 0.5,
                 "transforms": [{"name": "Grayscale", "num_output_channels": 3}]}],
    # A warp of a part: what is decoded around it is not seen.
    "warp": [{"name": "RandomCrop", "size": [41, 53]},
             {"name": "RandomRotation", "degrees": 40, "interpolation": "bilinear", "fill": 7}],
    "nearest warp": [{"name": "CenterCrop", "size": 60}, {"name": "RandomHorizontalFlip"},
                     {"name": "RandomAffine", "degrees": 20, "translate": [0.2, 0.1]}],
    "box": [{"name": "CenterCrop", "size": 150},
            {"name": "Resize", "size": [60, 60], "interpolation": "box"}],
}


def kinds():
    """{file name: bytes}: gray, palette, alpha, 16-bit, CMYK, progressive, rotated, WebP."""
    source = numpy.random.default_rng(3)
    smooth = Image.fromarray(source.integers(0, 256, (9, 12, 3), dtype=numpy.uint8)).resize(
        (130, 97), Image.BICUBIC)
    out = {}

    def save(name, image, kind, **options):
        file = io.BytesIO()
        image.save(file, kind, **options)
        out[name] = file.getvalue()

    save("rgb.jpg", smooth, "JPEG", quality=88)
    save("full.jpg", smooth, "JPEG", quality=95, subsampling=0)
    save("half.jpg", smooth, "JPEG", subsampling=1)
    save("gray.jpg", smooth.convert("L"), "JPEG")
    save("cmyk.jpg", smooth.convert("CMYK"), "JPEG")
    save("progressive.jpg", smooth, "JPEG", progressive=True)
    save("rgb.png", smooth, "PNG")
    save("gray.png", smooth.convert("L"), "PNG")
    save("alpha.png", Image.merge("RGBA", (*smooth.split(), smooth.split()[0])), "PNG")
    save("gray_alpha.png", Image.merge("LA", smooth.split()[:2]), "PNG")
    save("palette.png", smooth.quantize(50), "PNG")
    save("clear.png", smooth.quantize(50), "PNG", transparency=3)
    save("one_bit.png", smooth.convert("1"), "PNG")
    deep = source.integers(0, 65536, (97, 130), dtype=numpy.uint16)
    deep[:50] //= 200
    save("sixteen.png", Image.fromarray(deep), "PNG")
    save("lossy.webp", smooth, "WEBP", quality=80)
    save("lossless.webp", smooth, "WEBP", lossless=True)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        save(f"turned{orientation}.jpg", smooth, "JPEG", exif=exif.tobytes())
    # ImageNet has a PNG and CMYK files under such names.
    out["really_png.jpg"] = out["rgb.png"]
    return out


@pytest.fixture(scope="module", name="folder")
def fixture_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "all").mkdir()
    for name, data in kinds().items():
        (folder / "all" / name).write_bytes(data)
    return folder


def compare(daemon, folder, transforms, dtype, layout, exif=False):
    """Two shuffled epochs of the folder against what Python makes of the same files."""
    names = sorted(path.name for path in (folder / "all").iterdir())
    seen = []
    with daemon.connect() as peer:
        answer = peer.attach(folder, transforms=transforms, dtype=dtype, layout=layout,
                             order_seed=11, augment_seed=12, epochs=2, exif_orientation=exif)
        assert answer.name == "attached", answer
        for epoch, position, arrays in peer.samples():
            index = stoker_reference.order_at(11, epoch, len(names), position)
            assert arrays["index"] == index and arrays["label"] == 0
            image = Image.open(folder / "all" / names[index])
            image = (ImageOps.exif_transpose(image) if exif else image).convert("RGB")
            wanted = stoker_reference.expected(image, transforms, dtype=dtype, layout=layout,
                                               augment_seed=12, epoch=epoch, position=position)
            assert arrays["image"].shape == wanted.shape
            assert arrays["image"].tobytes() == wanted.tobytes(), (names[index], epoch, position)
            seen.append(index)
    assert sorted(seen) == sorted(2 * list(range(len(names))))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("name", LISTS)
def test_arrays(daemon, folder, name, layout, dtype):
    transforms = [t for t in LISTS[name] if t is not NORMALIZE or dtype != "uint8"]
    compare(daemon, folder, transforms, dtype, layout)


@pytest.mark.parametrize("name", ["train", "pad"])
def test_turned_as_exif_says(daemon, folder, name):
    compare(daemon, folder, LISTS[name], "float32", "NCHW", exif=True)


def test_photographs(daemon, photos):
    """Many sizes, three formats, and the labels of torchvision's ImageFolder."""
    from torchvision.datasets import ImageFolder
    known = ImageFolder(str(photos))
    with daemon.connect() as peer:
        peer.attach(photos, transforms=LISTS["train"], epochs=3, augment_seed=5, order_seed=6)
        count = 0
        for epoch, position, arrays in peer.samples():
            index = stoker_reference.order_at(6, epoch, len(known.samples), position)
            path, label = known.samples[index]
            assert (arrays["index"], arrays["label"]) == (index, label)
            wanted = stoker_reference.expected(
                Image.open(path).convert("RGB"), LISTS["train"], augment_seed=5, epoch=epoch,
                position=position)
            assert arrays["image"].tobytes() == wanted.tobytes(), path
            count += 1
        assert count == 3 * len(known.samples)
        classes = peer.request("list", what="classes").fields["items"]
        assert classes == known.classes
