# SPDX-License-Identifier: MIT
"""Transforms that choose by boxes, of samples that have them: picture, mask, boxes and points
agree; the same for every number of workers, with views and beside other streams; and what is
refused.
"""

import itertools
import json
import shutil

import numpy
import PIL.Image
import pytest

from harness import digest_of

N = 12
STREAM = {"dtype": "uint8", "layout": "NHWC", "order_seed": 3, "augment_seed": 5, "epochs": 2,
          "batch_size": 4}
CROP = {"name": "RandomIoUCrop", "sampler_options": [0.0, 0.1], "min_scale": 0.5}
LIST = [CROP, {"name": "RandomZoomOut", "p": 0.5, "side_range": [1.0, 1.5]},
        {"name": "RandomHorizontalFlip"}, {"name": "FixedSizeCrop", "size": [64, 80]},
        {"name": "SanitizeBoundingBoxes"}]


@pytest.fixture(name="boxed", scope="module")
def fixture_boxed(tmp_path_factory):
    """Each picture is black but for a white box; its mask has 1 there. A second box is a corner."""
    folder, rows = tmp_path_factory.mktemp("boxed"), []
    rng = numpy.random.default_rng(35)
    for i in range(N):
        width, height = (int(edge) for edge in rng.integers(50, 90, 2))
        x, y = int(rng.integers(2, width - 30)), int(rng.integers(2, height - 30))
        right, low = x + int(rng.integers(8, 28)), y + int(rng.integers(8, 28))
        pixels = numpy.zeros((height, width), numpy.uint8)
        pixels[y:low, x:right] = 255
        PIL.Image.fromarray(pixels).convert("RGB").save(folder / f"{i}.png")
        PIL.Image.fromarray(pixels // 255).save(folder / f"m{i}.png")
        rows.append({"path": f"{i}.png", "label": i, "mask": f"m{i}.png",
                     "boxes": [[x, y, right, low], [0, 0, 20, 20]],
                     "points": [[x, y], [right, low]]})
    path = folder / "boxed.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


ALL = ["image", "label", "index", "mask", "boxes", "points"]


def samples(daemon, path, keep=tuple(ALL), **fields):
    """{(epoch, position): arrays} of a reader."""
    with daemon.connect() as peer:
        answer = peer.attach(path, **{**STREAM, **fields})
        assert answer.name == "attached", answer
        return {(epoch, position): {name: array.copy() for name, array in arrays.items()}
                for epoch, position, arrays in peer.samples(list(keep))}


def around(pixels):
    """x0, y0, x1, y1 of what is not 0; None: there is nothing."""
    rows, columns = numpy.nonzero(pixels)
    if not len(rows):
        return None
    return [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]


def test_everything_follows_the_crop(daemon, boxed):
    gone = 0
    for arrays in samples(daemon, boxed, transforms=LIST).values():
        box, corner = arrays["boxes"]
        seen = around(arrays["image"][:, :, 0])
        numpy.testing.assert_array_equal(arrays["mask"] * 255, arrays["image"][:, :, 0])
        if numpy.isnan(box).any():
            assert seen is None or numpy.isnan(box).all(), "its middle is outside"
        else:
            assert box.tolist() == seen
            x, y = sorted(arrays["points"][:, 0]), sorted(arrays["points"][:, 1])
            assert x[0] <= box[0] and y[0] <= box[1] and x[1] >= box[2] and y[1] >= box[3]
        gone += bool(numpy.isnan(corner).all())
    assert 0 < gone < 2 * N, "the second box keeps its place, and is there or not"


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("more", [[], [{"name": "RandomHorizontalFlip", "p": 1.0}]])
def test_padding_to_a_size(daemon, boxed, center, more):
    """Picture, mask and boxes are where the field says that the picture is; what it says follows
    whatever stands behind, and it is there in each view."""
    pad = {"name": "Pad", "to": [70, 64], "center": center, "fill": 9}
    wish = {"transforms": [{"name": "Resize", "max_size": 60}, pad, *more]}
    for arrays in samples(daemon, boxed, ["image", "mask", "boxes", "real_box"], **wish).values():
        left, top, right, low = map(int, arrays["real_box"])
        assert max(right - left, low - top) == 60
        inside = numpy.zeros((70, 64), bool)
        inside[top:low, left:right] = True
        assert (arrays["image"][~inside] == 9).all() and (arrays["mask"][~inside] == 0).all()
        first = [(64 - (right - left)) // 2, (70 - (low - top)) // 2] if center else [0, 0]
        first[0] = 64 - first[0] - (right - left) if more else first[0]
        assert [left, top] == first
        seen = around(arrays["image"][:, :, 0] > 128)
        assert numpy.abs(arrays["boxes"][0] - seen).max() <= 1
    for arrays in samples(daemon, boxed, ["real_box"], views=2, **wish).values():
        assert arrays["real_box"].shape == (2, 4)
    plain = samples(daemon, boxed, ["image", "index"], fields=[], **wish)
    assert len(plain) == 2 * N


@pytest.mark.parametrize("mix", ["MixUp", "CutMix"])
def test_padding_of_pairs(daemon, boxed, tmp_path, mix):
    """The field says it of the sample, and nothing of its partner."""
    for i in range(N):
        (tmp_path / "ab"[i % 2]).mkdir(exist_ok=True)
        shutil.copy(boxed.parent / f"{i}.png", tmp_path / "ab"[i % 2])
    wish = {"transforms": [{"name": "Pad", "to": [96, 96]}], "keep": ["image", "real_box"],
            "dtype": "float32"}
    alone = samples(daemon, tmp_path, **wish)
    wish["transforms"] = [*wish["transforms"], {"name": mix}]
    mixed = samples(daemon, tmp_path, **wish)
    assert len(mixed) == 2 * N and mixed.keys() == alone.keys()
    assert all((mixed[at]["real_box"] == alone[at]["real_box"]).all() for at in alone)
    assert any((mixed[at]["image"] != alone[at]["image"]).any() for at in alone)


def test_a_picture_that_is_larger_is_a_bad_sample(daemon, boxed):
    with daemon.connect() as peer:
        answer = peer.attach(boxed, **{**STREAM, "transforms": [{"name": "Pad", "to": 40}]})
        assert answer.name == "attached", answer
        message = peer.receive()
        assert message.name == "bad_sample"
        assert "Pad to 40 x 40 (width x height) is smaller than" in message.fields["text"]


def test_the_field_has_its_name_alone(daemon, boxed):
    row = json.loads(boxed.read_text().splitlines()[0])
    path = boxed.with_name("named.jsonl")
    path.write_text(json.dumps({**row, "targets": {"real_box": 1}}) + "\n")
    wish = {**STREAM, "transforms": [{"name": "Pad", "to": 99}]}
    with daemon.connect() as peer:
        answer = peer.attach(path, **wish)
        assert answer.name == "error" and "a field 'real_box', too" in answer.fields["text"]
        assert peer.attach(path, **wish, fields=["mask"]).name == "attached"


def test_the_law(spawn, boxed):
    reference = None
    for workers, batch in (1, 4), (3, 5):
        daemon = spawn(workers=workers)
        for fields in {}, {"fields": [], "keep": ALL[:3]}, {"views": 2}:
            made = {place: digest_of(arrays) for place, arrays in samples(
                daemon, boxed, transforms=LIST, batch_size=batch, **fields).items()}
            assert len(made) == 2 * N
            reference = reference or {}
            assert reference.setdefault(str(fields), made) == made


def test_no_field_of_boxes_is_needed(daemon, boxed):
    """The crop is drawn by the boxes, whether they are asked for or not."""
    whole = samples(daemon, boxed, transforms=LIST)
    some = samples(daemon, boxed, ["image", "mask"], transforms=LIST, fields=["mask"])
    for place, arrays in some.items():
        assert all((arrays[name] == whole[place][name]).all() for name in arrays)


def test_views_and_echoes(daemon, boxed):
    """Each view and each echo draws for itself, and its boxes are its own."""
    for arrays in samples(daemon, boxed, transforms=LIST, views=3).values():
        for image, mask, boxes in zip(arrays["image"], arrays["mask"], arrays["boxes"]):
            assert (mask * 255 == image[:, :, 0]).all()
            assert numpy.isnan(boxes[0]).all() or boxes[0].tolist() == around(mask)
    echoes = samples(daemon, boxed, transforms=LIST, echo=2)
    assert len(echoes) == 4 * N


def test_substitutes_have_their_own_boxes(daemon, boxed):
    rows = [json.loads(line) for line in boxed.read_text().splitlines()]
    for row in itertools.islice(rows, 0, None, 3):
        row["path"] = "missing.png"
    path = boxed.with_name("substitutes.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for arrays in samples(daemon, path, transforms=LIST, bad_samples="substitute").values():
        assert (arrays["mask"] * 255 == arrays["image"][:, :, 0]).all()
        if not numpy.isnan(arrays["boxes"][0]).any():
            assert arrays["boxes"][0].tolist() == around(arrays["mask"])


@pytest.mark.parametrize("transforms, words", [
    ([CROP, {"name": "FixedSizeCrop", "size": 9}], "RandomIoUCrop is about boxes"),
    ([{"name": "CenterCrop", "size": 9}, {"name": "SanitizeBoundingBoxes"}],
     "SanitizeBoundingBoxes is about boxes"),
    ([{"name": "RandomZoomOut"}], "add FixedSizeCrop(size) or Resize((height, width))"),
])
def test_what_is_refused(daemon, photos, transforms, words):
    with daemon.connect() as peer:
        answer = peer.attach(photos, **{**STREAM, "transforms": transforms})
        assert answer.name == "error" and words in answer.fields["text"], answer


@pytest.mark.parametrize("boxes", [
    "[[NaN, 1, 2, 3]]", "[[1, 2, Infinity, 3]]", "[[1, 2, 1e999, 3]]", "[[1, 2, 3]]",
    "[[[1, 2], 3, 4]]"])
def test_boxes_that_are_no_boxes(daemon, boxed, boxes):
    path = boxed.with_name("bad.jsonl")
    path.write_text(f'{{"path": "0.png", "label": 0, "boxes": {boxes}}}\n')
    with daemon.connect() as peer:
        answer = peer.attach(path, **{**STREAM, "transforms": LIST})
        assert answer.name == "error" and "boxes" in answer.fields["text"], answer
