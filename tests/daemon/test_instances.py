# SPDX-License-Identifier: MIT
"""Masks of instances: each is what a mask file of it gives, through the same transforms, and box
and mask of a number stay together. What is wrong is said, of the row or of the sample."""

import json

import numpy
import PIL.Image
import pytest

COUNT, MOST = 6, 19  # pictures; instances of the one that has most, more than are drawn at once
STREAM = {"order_seed": 7, "augment_seed": 9, "epochs": 1, "dtype": "uint8", "layout": "NHWC",
          "batch_size": 1}


def runs_of(mask):
    """The lengths of runs of zeros and ones in turn, down the columns."""
    pixels = mask.T.reshape(-1)
    ends = [*(numpy.flatnonzero(pixels[1:] != pixels[:-1]) + 1), len(pixels)]
    counts = numpy.diff([0, *ends]).tolist()
    return counts if pixels[0] == 0 else [0, *counts]


def packed(counts):
    """As pycocotools packs them."""
    out = ""
    for i, count in enumerate(counts):
        left = count - counts[i - 2] if i > 2 else count
        more = True
        while more:
            bits, left = left & 31, left >> 5
            more = left != (-1 if bits & 16 else 0)
            out += chr(48 + (bits | (32 if more else 0)))
    return out


@pytest.fixture(name="listed", scope="module")
def fixture_listed(tmp_path_factory):
    """A manifest with instances; each of their masks is a file, too."""
    folder, random, rows = tmp_path_factory.mktemp("instances"), numpy.random.default_rng(5), []
    for number in range(COUNT):
        height, width = (int(edge) for edge in random.integers(40, 80, 2))
        PIL.Image.fromarray(random.integers(0, 256, (height, width, 3), numpy.uint8)
                            ).save(folder / f"{number}.png")
        count = MOST if number == 3 else number
        boxes, instances = [], []
        for k in range(MOST):
            mask = numpy.zeros((height, width), numpy.uint8)
            left, top = int(random.integers(0, width - 9)), int(random.integers(0, height - 9))
            right = int(random.integers(left + 5, width))
            low = int(random.integers(top + 5, height))
            if k < count:
                mask[top:low, left:right] = 1
                boxes.append([left, top, right, low])
                if k % 3 == 0:  # of two parts, the second within the first
                    instances.append([[left, top, right, top, right, low, left, low],
                                      [left, top, left + 4, top, left + 4, top + 4]])
                else:
                    mask &= random.integers(0, 2, mask.shape, numpy.uint8)
                    counts = runs_of(mask)
                    instances.append({"size": [height, width],
                                      "counts": counts if k % 3 == 1 else packed(counts)})
            PIL.Image.fromarray(mask).save(folder / f"{number}-{k}.png")
        rows.append({"path": f"{number}.png", "label": number, "boxes": boxes,
                     "instances": instances})
    for k in range(MOST):
        lines = [{**row, "mask": row["path"].replace(".png", f"-{k}.png")} for row in rows]
        for line in lines:
            del line["instances"]
        (folder / f"mask{k}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    path = folder / "list.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def samples(daemon, path, **fields):
    """By index."""
    with daemon.connect() as peer:
        answer = peer.attach(path, **{**STREAM, **fields})
        assert answer.name == "attached", answer
        return {int(arrays["index"]): arrays for _, _, arrays in peer.samples(())}


def attached(daemon, path, **fields):
    with daemon.connect() as peer:
        answer = peer.attach(path, **{**STREAM, "transforms": [], **fields})
        assert answer.name == "error", answer
        return answer.fields["text"]


MOVED = {
    "crop": [{"name": "RandomResizedCrop", "size": 32}, {"name": "RandomHorizontalFlip"}],
    "chosen": [{"name": "RandomIoUCrop"}, {"name": "Resize", "size": [24, 40]}],
    "padded": [{"name": "RandomRotation", "degrees": 40}, {"name": "Pad", "to": [90, 100]}],
}


@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize("name", MOVED)
def test_each_is_what_its_file_gives(daemon, listed, name, views):
    wish = {"transforms": MOVED[name], "views": views}
    whole = samples(daemon, listed, **wish)
    assert len(whole) == COUNT
    seen = 0
    for k in (0, 1, 2, 7, 8, 15, 16, 18):
        for index, arrays in samples(daemon, listed.parent / f"mask{k}.jsonl", **wish).items():
            masks = whole[index]["instances"]
            assert masks.dtype == numpy.uint8
            assert masks.shape[-3:] == (MOST, *arrays["mask"].shape[-2:])
            assert numpy.array_equal(masks[..., k, :, :], arrays["mask"])
            assert numpy.array_equal(whole[index]["boxes"], arrays["boxes"], equal_nan=True)
            seen += int(arrays["mask"].any())
    assert seen > COUNT


def test_a_line_may_be_long(daemon, listed):
    """Longer than a line of other manifests; a limit there is."""
    row = {"path": "0.png", "instances": [[[float(i % 9) for i in range(60000)]]]}
    path = listed.parent / "long.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps({**row, "instances": []}) + "\n")
    wish = {"transforms": [{"name": "Resize", "size": [8, 8]}]}
    assert sorted(samples(daemon, path, **wish)) == [0, 1]
    path.write_text(json.dumps({**row, "instances": ["x" * (2 << 20)]}) + "\n")
    assert "long.jsonl:1: the line is longer than 2097152 bytes" in attached(daemon, path, **wish)


def test_crops_have_none(daemon, listed):
    crops = [{"name": "Crops", "crops": [
        {"name": "image", "count": 1, "transforms": [{"name": "Resize", "size": [8, 8]}]}]}]
    assert "Crops cannot transform" in attached(daemon, listed, transforms=crops)


WRONG = {
    "a list of at most 4096": 5,
    "instance 0 must be a list of polygons": [3],
    "instance 1: a polygon is a list of x and y": [[], [[1, 2, 3, 4]]],
    "this one has 7 numbers": [[[1, 2, 3, 4, 5, 6, 7]]],
    "instance 0: entry 2 is no coordinate": [[[1, 2, "x", 4, 5, 6]]],
    "instance 0: run lengths are": [{"size": [4], "counts": []}],
    "entry 1 is no length of a run": [{"size": [4, 4], "counts": [3, -1]}],
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_rows_are_refused(daemon, listed, words):
    path = listed.parent / "wrong.jsonl"
    path.write_text(json.dumps({"path": "0.png", "instances": WRONG[words]}) + "\n")
    assert words in attached(daemon, path, transforms=[{"name": "Resize", "size": [8, 8]}])


BAD = {
    "instance 1: point 0 of the polygon is 1e+09": [[], [[1e9, 2, 3, 4, 5, 6]]],
    "instance 0: its run lengths are of a picture of 3 x 2": [{"size": [2, 3], "counts": [6]}],
    "instance 0: run 1 of a mask goes beyond": [{"size": None, "counts": [6, 4000000000]}],
    "instance 0: the packed run lengths end": [{"size": None, "counts": "o"}],
}


@pytest.mark.parametrize("words", BAD)
def test_masks_that_lie_make_bad_samples(daemon, listed, words):
    size = PIL.Image.open(listed.parent / "0.png").size[::-1]
    instances = [{**one, "size": one["size"] or size} if isinstance(one, dict) else one
                 for one in BAD[words]]
    path = listed.parent / "bad.jsonl"
    path.write_text(json.dumps({"path": "0.png", "instances": instances}) + "\n")
    with daemon.connect() as peer:
        answer = peer.attach(path, **STREAM, transforms=[{"name": "Resize", "size": [8, 8]}])
        assert answer.name == "attached", answer
        message = peer.receive()
        assert message.name == "bad_sample" and words in message.fields["text"], message


def test_plain_tables_have_none(daemon, listed):
    path = listed.parent / "table.csv"
    path.write_text("path,instances\n0.png,1 2 3\n")
    assert "write the manifest as jsonl" in attached(daemon, path)
