# SPDX-License-Identifier: MIT
"""COCO's panoptic files: masks of ids agree with boxes and categories, through transforms; what
does not fit together is refused in words.
"""
import json
import math
import os

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")

import stoker
from stoker import convert
from real_daemon import binary

needs_daemon = pytest.mark.skipif(binary() is None, reason="no stokerd was built")


@pytest.fixture(name="panoptic")
def fixture_panoptic(tmp_path):
    """Two pictures of 40 x 20 with segments that cover rectangles, and their file, made anew."""
    rects = {"a": {70001: (0, 0, 40, 8), 300: (4, 8, 10, 12), 9: (14, 8, 26, 12)},
             "b": {1 << 23: (5, 5, 20, 10)}}
    entries = []
    for folder in ("pictures", "masks"):
        (tmp_path / folder).mkdir()
    for image, (name, segments) in zip((9, 4), rects.items()):
        Image.new("RGB", (40, 20)).save(tmp_path / "pictures" / f"{name}.jpg")
        ids = np.zeros((20, 40), np.int32)
        for number, (x, y, width, height) in segments.items():
            ids[y:y + height, x:x + width] = number
        Image.fromarray(np.stack([ids, ids >> 8, ids >> 16], 2).astype(np.uint8)).save(
            tmp_path / "masks" / f"{name}.png")
        entries.append({"image_id": image, "file_name": f"{name}.png", "segments_info": [
            {"id": number, "category_id": 17 + (number == 300), "bbox": [*rect], "iscrowd": 0,
             "area": rect[2] * rect[3]} for number, rect in segments.items()]})
    data = {"images": [{"id": 9, "file_name": "a.jpg"}, {"id": 4, "file_name": "b.jpg"}],
            "categories": [{"id": 18, "name": "dog"}, {"id": 17, "name": "cat"}],
            "annotations": entries}

    def made(change=lambda data: None):
        change(data)
        (tmp_path / "panoptic.json").write_text(json.dumps(data))
        return convert.coco_panoptic(*(str(tmp_path / name) for name in (
            "panoptic.json", "pictures", "masks", "out.jsonl")))
    return made


@needs_daemon
@pytest.mark.parametrize("transforms", [
    [], [stoker.RandomHorizontalFlip(1.0)], [stoker.CenterCrop((12, 30)), stoker.Resize((24, 60))]],
    ids=["as it is", "flip", "crop and resize"])
def test_panoptic_masks_agree_with_boxes(near, tmp_path, panoptic, transforms):
    """The pixels with the id of a box fill it, and all others are of no segment."""
    assert panoptic() == ["cat", "dog"]
    with near.loader(str(tmp_path / "out.jsonl"), batch_size=2, shuffle=False,
                     transforms=transforms) as loader:
        batch = next(loader.batches())
        ids, boxes = batch["panoptic"].copy(), np.nan_to_num(batch["boxes"]).round().astype(int)
        segments, category = batch["segment_id"].tolist(), batch["category"].tolist()
    assert segments == [[70001, 300, 9], [1 << 23, -1, -1]] and ids.dtype == np.int32
    assert category == [[0, 1, 0], [0, -1, -1]]
    for mask, row, numbers in zip(ids, boxes, segments):
        drawn = np.zeros_like(mask)
        for (left, top, right, low), number in zip(row, numbers):
            if number != -1:
                drawn[top:low, left:right] = number
        assert drawn.any()
        np.testing.assert_array_equal(mask, drawn)


@needs_daemon
def test_a_panoptic_mask_with_another_id(near, tmp_path, panoptic):
    panoptic(lambda data: data["annotations"][0]["segments_info"].pop())
    with near.loader(str(tmp_path / "out.jsonl"), batch_size=2, shuffle=False) as loader:
        with pytest.raises(stoker.SampleError, match="has the id 9, which is not in the row's seg"):
            next(loader.batches())


@pytest.mark.parametrize("where, value, words", [
    (["id"], 0, "segments_info.0.: the id 0 is not from 1 to 16777215"),
    (["id"], 1 << 24, "the id 16777216 is not from 1"),
    (["id"], "x", "'id' is 'x'"),
    (["id"], 300, "segments_info.1.: a segment before it has the id 300, too"),
    (["category_id"], 5, "there is no category 5: remove the segment"),
    (["bbox"], [1, 2, math.nan, 4], "a box is .*nan.*: correct the annotation"),
    (["bbox"], [1, 2, -3, 4], "a box ends before it begins"),
    (["iscrowd"], 2, "'iscrowd' is 2, not 0 or 1"),
    (None, {"file_name": "gone.png"}, "annotations.0.: there is no .*masks/gone.png: copy"),
    (None, {"image_id": 5}, "annotations.0.: there is no image 5"),
    (None, {"image_id": 4}, "annotations.1.: an annotation before it is of image 4, too"),
    (None, {"segments_info": 3}, "'segments_info' is 3"),
])
def test_panoptic_names_the_entry(panoptic, where, value, words):
    def change(data):
        entry = data["annotations"][0]
        if where:
            entry["segments_info"][0][where[0]] = value
        else:
            entry.update(value)
    with pytest.raises(ValueError, match=f"panoptic.json: .*{words}"):
        panoptic(change)


def test_a_picture_without_a_panoptic_mask(panoptic):
    with pytest.raises(ValueError, match="panoptic.json: image 4 has no annotation, and so no mas"):
        panoptic(lambda data: data["annotations"].pop())


@pytest.mark.parametrize("outside", ["pictures", "masks"])
def test_folders_beside_a_panoptic_manifest(tmp_path, panoptic, outside):
    panoptic()
    os.rename(tmp_path / outside, tmp_path / f"..{outside}")  # two dots in a name are none alone
    folders = [tmp_path / (f"..{name}" if name == outside else name)
               for name in ("pictures", "masks")]
    made = [str(path) for path in (tmp_path / "panoptic.json", *folders, tmp_path / "out.jsonl")]
    convert.coco_panoptic(*made)
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match="pictures is not below .*other, where the manifest is to"):
        convert.coco_panoptic(*made[:3], str(tmp_path / "other" / "out.jsonl"))
