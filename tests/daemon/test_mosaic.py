# SPDX-License-Identifier: MIT
"""Mosaic: what KerasCV's does with the samples of a group of four as they are without it: beside
each other, two and two, and cut around the point in which they meet. Everything that a sample has
moves with its picture.
"""

import json
import sys

import numpy
import PIL.Image
import pytest

from harness import SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "reference"))
from stoker_reference import draw_uniform  # noqa: E402 (it stands in a folder beside)

COUNT, HEIGHT, WIDTH, MOST = 11, 36, 44, 3
STREAM = {"order_seed": 7, "augment_seed": 9, "epochs": 2, "layout": "NHWC", "dtype": "uint8",
          "batch_size": 3}
MOVES = [{"name": "RandomHorizontalFlip"}, {"name": "Resize", "size": [HEIGHT, WIDTH]}]


@pytest.fixture(name="listed", scope="module")
def fixture_listed(tmp_path_factory):
    """A manifest whose samples have all that a sample may have."""
    folder, random, rows = tmp_path_factory.mktemp("mosaic"), numpy.random.default_rng(4), []
    for number in range(COUNT):
        height, width = (int(edge) for edge in random.integers(40, 80, 2))
        pixels = random.integers(0, 256, (height, width, 3), numpy.uint8)
        PIL.Image.fromarray(pixels).save(folder / f"{number}.png")
        PIL.Image.fromarray(pixels[:, :, 0] // 16).save(folder / f"m{number}.png")
        boxes = []
        for _ in range(number % (MOST + 1)):
            x, y = int(random.integers(0, width - 6)), int(random.integers(0, height - 6))
            boxes.append([x, y, int(random.integers(x + 3, width)),
                          int(random.integers(y + 3, height))])
        rows.append({
            "path": f"{number}.png", "label": "abc"[number % 3], "mask": f"m{number}.png",
            "boxes": boxes, "points": [box[:2] for box in boxes],
            "instances": [[[x, y, right, y, right, low, x, low]] for x, y, right, low in boxes],
            "targets": {"kinds": [number * 10 + k if k < len(boxes) else -1 for k in range(MOST)],
                        "image_id": number}})
    path = folder / "list.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def samples(daemon, path, transforms, **fields):
    with daemon.connect() as peer:
        answer = peer.attach(path, transforms=transforms, **{**STREAM, **fields})
        assert answer.name == "attached", answer
        return {(epoch, position): {name: array.copy() for name, array in arrays.items()}
                for epoch, position, arrays in peer.samples(())}


def meeting(epoch, position, number=1, offset=(0.25, 0.75)):
    """x and y; `number` is that of Mosaic among the transforms."""
    place = (STREAM["augment_seed"], epoch, position)
    return [int(edge * (offset[0] + draw_uniform(place, (number << 16) + axis)
                        * (offset[1] - offset[0]))) for axis, edge in enumerate((WIDTH, HEIGHT))]


def joined(planes, x, y):
    """Four (height, width, ...) as one."""
    whole = numpy.concatenate([numpy.concatenate(planes[:2], 1), numpy.concatenate(planes[2:], 1)])
    return whole[HEIGHT - y:2 * HEIGHT - y, WIDTH - x:2 * WIDTH - x]


def tiles(x, y):
    """Of each corner how far it is moved, and what is seen of it in the mosaic."""
    for corner in range(4):
        right, low = corner % 2, corner // 2
        yield ((x - WIDTH * (1 - right), y - HEIGHT * (1 - low)),
               (x * right, y * low, WIDTH if right else x, HEIGHT if low else y))


def boxes_of(parts, x, y):
    out = []
    for part, ((dx, dy), (left, top, right, low)) in zip(parts, tiles(x, y)):
        moved = numpy.clip(part["boxes"] + numpy.float32([dx, dy, dx, dy]),
                           [left, top] * 2, [right, low] * 2)
        moved[~((moved[:, 0] < moved[:, 2]) & (moved[:, 1] < moved[:, 3]))] = numpy.nan
        out.append(moved)
    return numpy.concatenate(out)


def masks_of(parts, x, y):
    out = []
    for corner, part in enumerate(parts):
        for mask in part["instances"]:
            planes = [numpy.zeros_like(mask)] * 4
            planes[corner] = mask
            out.append(joined(planes, x, y))
    return numpy.stack(out)


def group(plain, epoch, position):
    """What the epoch lacks at its end is the sample itself."""
    return [plain[epoch, position ^ c if position ^ c < COUNT else position] for c in range(4)]


def test_all_fields_of_a_sample_agree(daemon, listed):
    plain = samples(daemon, listed, MOVES)
    made = samples(daemon, listed, [*MOVES, {"name": "Mosaic"}])
    assert set(made) == set(plain) and len(made) == 2 * COUNT
    gone = 0
    for (epoch, position), sample in made.items():
        parts = group(plain, epoch, position)
        # MOVES are numbered 0 and 1, and so Mosaic 2.
        x, y = meeting(epoch, position, 2)
        for name in ("image", "mask"):
            assert (sample[name] == joined([part[name] for part in parts], x, y)).all(), name
        expected = boxes_of(parts, x, y)
        assert numpy.allclose(sample["boxes"], expected, atol=1e-4, equal_nan=True)
        gone += int(numpy.isnan(expected).any(1).sum())
        points = numpy.concatenate([part["points"] + numpy.float32(shift)
                                    for part, (shift, _) in zip(parts, tiles(x, y))])
        assert numpy.allclose(sample["points"], points, atol=1e-4, equal_nan=True)
        assert (sample["instances"] == masks_of(parts, x, y)).all()
        assert (sample["kinds"] == numpy.concatenate([part["kinds"] for part in parts])).all()
        for name in ("label", "image_id"):
            assert (sample[name] == numpy.stack([part[name] for part in parts])).all(), name
        assert sample["index"] == parts[0]["index"]
        assert sample["boxes"].shape == (4 * MOST, 4)
        assert sample["instances"].shape == (4 * MOST, HEIGHT, WIDTH)
    assert gone > 0


def test_each_comes_once_into_each_corner(daemon, listed):
    """Of the groups that are whole: positions 0 to 7."""
    made = samples(daemon, listed, [*MOVES, {"name": "Mosaic"}], fields=["image_id"])
    for epoch in range(2):
        for first in (0, 4):
            corners = numpy.stack([made[epoch, first + i]["image_id"] for i in range(4)])
            own = sorted(int(made[epoch, first + i]["index"]) for i in range(4))
            assert all(sorted(column) == own for column in corners.T.tolist())
            assert all(sorted(row) == own for row in corners.tolist())


def test_arrays_of_each_form(daemon, listed):
    for dtype, layout, gray in [("uint8", "NCHW", True), ("float32", "NCHW", False),
                                ("float16", "NHWC", False), ("float32", "NHWC", True)]:
        check_form(daemon, listed, dtype, layout, gray)


def check_form(daemon, listed, dtype, layout, gray):
    moves = [*MOVES, *[{"name": "Grayscale"}] * gray]
    fields = {"dtype": dtype, "layout": layout, "fields": []}
    plain = samples(daemon, listed, moves, **fields)
    made = samples(daemon, listed, [*moves, {"name": "Mosaic", "offset": [0.0, 1.0]}], **fields)
    for (epoch, position), sample in made.items():
        x, y = meeting(epoch, position, len(moves), (0.0, 1.0))
        planes = [part["image"] for part in group(plain, epoch, position)]
        if layout == "NCHW":
            planes = [plane.transpose(1, 2, 0) for plane in planes]
            sample["image"] = sample["image"].transpose(1, 2, 0)
        assert sample["image"].dtype == dtype
        assert (sample["image"] == joined(planes, x, y)).all()


def test_classes_count_by_their_share(daemon, listed):
    plain = samples(daemon, listed, MOVES, fields=[], one_hot=True)
    made = samples(daemon, listed, [*MOVES, {"name": "Mosaic"}], fields=[], one_hot=True)
    for (epoch, position), sample in made.items():
        x, y = meeting(epoch, position, 2)
        areas = [(right - left) * (low - top) for _, (left, top, right, low) in tiles(x, y)]
        expected = sum(numpy.float32(area / (WIDTH * HEIGHT)) * part["label"]
                       for area, part in zip(areas, group(plain, epoch, position)))
        assert sample["label"].shape == (3,)
        assert numpy.allclose(sample["label"], expected, atol=1e-6)


def test_boxes_of_another_format(daemon, listed):
    """Behind crops that choose by boxes, too."""
    moves = [{"name": "RandomIoUCrop"}, *MOVES]
    plain = samples(daemon, listed, moves, fields=["boxes"])
    made = samples(daemon, listed, [*moves,
                                    {"name": "ConvertBoundingBoxFormat", "format": "CXCYWH"},
                                    {"name": "Mosaic"}], fields=["boxes"])
    for (epoch, position), sample in made.items():
        expected = boxes_of(group(plain, epoch, position), *meeting(epoch, position, 4))
        size = expected[:, 2:] - expected[:, :2]
        expected = numpy.concatenate([expected[:, :2] + size / 2, size], 1)
        assert numpy.allclose(sample["boxes"], expected, atol=1e-4, equal_nan=True)


def test_what_was_padded(daemon, listed):
    """The real part of each of the four, in the mosaic."""
    moves = [{"name": "Resize", "size": 20}, {"name": "Pad", "to": [HEIGHT, WIDTH]}]
    plain = samples(daemon, listed, moves, fields=["real_box"])
    made = samples(daemon, listed, [*moves, {"name": "Mosaic"}], fields=["real_box"])
    for (epoch, position), sample in made.items():
        parts = [{"boxes": part["real_box"][None]} for part in group(plain, epoch, position)]
        expected = boxes_of(parts, *meeting(epoch, position, 2))
        assert sample["real_box"].shape == (4, 4)
        assert numpy.allclose(sample["real_box"], expected, atol=1e-4, equal_nan=True)


def test_beside_other_streams(daemon, listed):
    """Streams that share reads with it, one mixed in pairs and one alone, are what they were."""
    some = {"fields": ["mask", "boxes"]}
    wishes = [([*MOVES, {"name": "Mosaic"}], some), (MOVES, some),
              ([*MOVES, {"name": "MixUp"}], {"fields": [], "dtype": "float32"}),
              ([MOVES[1], {"name": "Mosaic"}], {"fields": []})]
    alone = [samples(daemon, listed, transforms, **wish) for transforms, wish in wishes]
    peers = [daemon.connect() for _ in wishes]
    for peer, (transforms, wish) in zip(peers, wishes):
        answer = peer.attach(listed, transforms=transforms, **{**STREAM, **wish})
        assert answer.name == "attached", answer
    streams = [peer.samples(()) for peer in peers]
    for _ in alone[0]:
        for stream, expected in zip(streams, alone):
            epoch, position, arrays = next(stream)
            for name, array in expected[epoch, position].items():
                assert numpy.array_equal(arrays[name], array, equal_nan=name == "boxes"), name
    for peer in peers:
        peer.close()


def test_a_bad_sample_of_the_group(daemon, listed):
    """It is named, and a substitute stands in all fields for it."""
    rows = [json.loads(line) for line in listed.read_text().splitlines()]
    (listed.parent / "bad.png").write_bytes(b"no picture")
    rows[5]["path"] = "bad.png"
    path = listed.parent / "bad.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    wish = {"shuffle": False, "epochs": 1, "fields": ["mask", "image_id"]}
    lists = MOVES, [*MOVES, {"name": "Mosaic"}]
    with daemon.connect() as peer:
        assert peer.attach(path, transforms=lists[1], **{**STREAM, **wish}).name == "attached"
        words = [peer.receive() for _ in range(3)]
        text = [message.fields["text"] for message in words if message.name == "bad_sample"]
        assert any("sample 5, which it is mixed with" in one for one in text), words
    plain, made = (samples(daemon, path, transforms, bad_samples="substitute", **wish)
                   for transforms in lists)
    assert made[0, 4]["image_id"].tolist() == [4, 6, 6, 7]
    for (epoch, position), sample in made.items():
        parts = group(plain, epoch, position)
        for name in ("image", "mask"):
            assert (sample[name] == joined([part[name] for part in parts],
                                           *meeting(epoch, position, 2))).all()


REFUSED = [
    ([*MOVES, {"name": "Mosaic", "n": 9}], {}, "Mosaic: 'n' must be"),
    ([*MOVES, {"name": "Mosaic", "offset": [0.5, 1.5]}], {}, "Mosaic: 'offset' must be"),
    ([{"name": "Mosaic"}, *MOVES], {}, "Mosaic"),
    ([*MOVES, {"name": "Mosaic"}, {"name": "MixUp"}], {"dtype": "float32"},
     "MixUp stands after Mosaic, which must be the last"),
    ([*MOVES, {"name": "RandomApply", "transforms": [{"name": "Mosaic"}]}], {}, "put it behind"),
    ([*MOVES, {"name": "Mosaic"}], {"views": 2}, "cannot be combined"),
    ([{"name": "TenCrop", "size": 20}, {"name": "Mosaic"}], {}, "cannot be combined"),
]


def test_what_is_refused(daemon, listed):
    for transforms, wish, words in REFUSED:
        with daemon.connect() as peer:
            answer = peer.attach(listed, transforms=transforms, **{**STREAM, **wish})
            assert answer.name == "error" and words in answer.fields["text"], answer
