# SPDX-License-Identifier: MIT
"""Transforms for detection: pictures and boxes beside torchvision v2's, which tests/golden/boxes.py
has made with the same draws, and what they do with boxes that are none.
"""

import ctypes
import json
import sys

import numpy as np
import pytest
from test_pipeline_pillow import LIB, SOURCE, Refused, Tool

sys.path.insert(0, str(SOURCE / "tests" / "golden"))

import boxes as golden  # noqa: E402

CASES = json.loads(golden.FILE.read_text())
FIXED = {"name": "FixedSizeCrop", "size": 32}


def floats(boxes):
    return np.array(boxes, np.float32).reshape(-1, 4)


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def run(transforms, image, boxes, key=(1, 2, 3)):
    """The picture and the boxes, as a worker makes them."""
    tool, given = Tool(transforms, "uint8", "NHWC"), floats(boxes)
    assert LIB.tool_give_boxes(tool.tool, pointer(given), ctypes.c_uint32(len(given))) == 0
    pixels = tool.make(image, key)
    LIB.tool_move(tool.tool, pointer(given), ctypes.c_uint32(len(given)), ctypes.c_bool(True))
    return pixels, given


@pytest.mark.parametrize("part", range(8))
def test_as_torchvision(part):
    for case in CASES[part::8]:
        pixels, boxes = run(case["transforms"], golden.picture(case), case["boxes"], case["key"])
        nothing = [[np.nan] * 4 if box is None else box for box in case["moved"]]
        np.testing.assert_allclose(boxes, floats(nothing), atol=1e-4, err_msg=f"{case}")
        assert golden.digest(pixels) == case["digest"], case


def test_every_transform_has_cases():
    names = {transform["name"] for case in CASES for transform in case["transforms"]}
    assert names >= {"RandomIoUCrop", "RandomZoomOut", "ScaleJitter", "RandomShortestSize",
                     "FixedSizeCrop", "RandomPhotometricDistort", "SanitizeBoundingBoxes",
                     "ClampBoundingBoxes", "ConvertBoundingBoxFormat"}
    assert sum(None in case["moved"] for case in CASES) > 20, "boxes are dropped"


@pytest.mark.parametrize("boxes", [
    [], [[np.nan] * 4], [[np.nan, 2, 3, 4]], [[np.inf, -np.inf, np.inf, np.inf]],
    [[5, 5, 5, 5]], [[-3e38, -3e38, 3e38, 3e38]]])
def test_boxes_that_are_none(boxes):
    """Where torchvision would try for ever the picture stays; nothing comes of them."""
    image = golden.picture({"noise": 1, "size": [40, 30]})
    crop = {"name": "RandomIoUCrop", "sampler_options": [0.9], "trials": 1000}
    pixels, moved = run([crop, FIXED, {"name": "SanitizeBoundingBoxes"}], image, boxes)
    plain, _ = run([{"name": "RandomInvert", "p": 0}, FIXED], image, [])
    assert (pixels == plain).all()
    if boxes == [[-3e38, -3e38, 3e38, 3e38]]:  # it has no area in float32, and is clipped
        assert moved.tolist() == [[0, 0, 32, 30]]
    else:
        assert np.isnan(moved).all()


def test_the_crop_is_drawn_by_boxes_as_they_are_now():
    """What stands before it moves them first."""
    image = golden.picture({"noise": 2, "size": [60, 60]})
    crop = {"name": "RandomIoUCrop", "sampler_options": [0.0], "max_scale": 0.4, "trials": 1000}
    flip = {"name": "RandomHorizontalFlip", "p": 1}
    end = [{"name": "ClampBoundingBoxes"}, FIXED]
    for position in range(20):
        _, boxes = run([flip, crop, *end], image, [[50, 50, 59, 59]], (1, 1, position))
        assert boxes[0, 2] > boxes[0, 0] and boxes[0, 3] > boxes[0, 1], boxes


@pytest.mark.parametrize("transforms, words", [
    ([{"name": "RandomIoUCrop"}], "RandomIoUCrop makes pictures of several sizes"),
    ([{"name": "CenterCrop", "size": 9}, {"name": "RandomZoomOut"}],
     "RandomZoomOut makes pictures of several sizes"),
    ([{"name": "ScaleJitter", "target_size": 9}], "ScaleJitter makes pictures of several sizes"),
    ([{"name": "RandomShortestSize", "min_size": [9, 8]}], "makes pictures of several sizes"),
    ([{"name": "RandomShortestSize", "min_size": []}], "a list of up to 16"),
    ([{"name": "RandomShortestSize", "min_size": [1] * 17}], "a list of up to 16"),
    ([{"name": "RandomShortestSize", "min_size": 8.5}], "a whole number"),
    ([{"name": "RandomIoUCrop", "min_scale": 0.9, "max_scale": 0.5}], "'min_scale' must not be"),
    ([{"name": "RandomIoUCrop", "min_aspect_ratio": 3}], "'min_aspect_ratio' must not be"),
    ([{"name": "RandomIoUCrop", "trials": 0}], "'trials' must be from 1"),
    ([{"name": "RandomZoomOut", "side_range": [0.5, 2]}], "'side_range' must be from 1"),
    ([{"name": "SanitizeBoundingBoxes", "min_size": 0}], "'min_size' must be from 1"),
    ([{"name": "ConvertBoundingBoxFormat", "format": "XYYX"}], "there is no format 'XYYX'"),
    ([{"name": "ConvertBoundingBoxFormat", "format": "XYWHR"}], "there is no format 'XYWHR'"),
    ([{"name": "ConvertBoundingBoxFormat", "format": "XYXYXYXY"}], "there is no format 'XYXYX"),
    ([{"name": "ToTensor"}, {"name": "RandomPhotometricDistort"}], "stands after ToTensor"),
])
def test_what_is_refused(transforms, words):
    with pytest.raises(Refused) as refused:
        Tool(transforms)
    assert words in str(refused.value)
