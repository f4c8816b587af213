# SPDX-License-Identifier: MIT
"""Resizes with the rows first are those of Pillow 13: its bytes are written in, as digests, because
most machines have an older one. Beside them what Pillow 12 and all before it make.

With Pillow 13, test_rows_first.py --write writes tests/golden/rows_first.json again.
"""

import hashlib
import itertools
import json
import sys

import numpy as np
import pytest
from PIL import Image
from test_pipeline_pillow import RESIZES, SOURCE, Tool, reference

FILE = SOURCE / "tests" / "golden" / "rows_first.json"
# Width and height of pictures, the last four on both sides of the rule's edges.
SIZES = [(120, 390), (390, 120), (230, 300), (300, 400), (50, 45), (64, 47), (47, 64), (40, 999),
         (3, 300), (300, 3), (44, 48), (44, 49), (30, 40), (30, 41)]
TARGET = [40, 40]
LISTS = {
    **{f"Resize, {name}": [{"name": "Resize", "size": TARGET, "interpolation": name}]
       for name in ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")},
    "AspectResize": [{"name": "AspectResize", "size": [33, 20], "interpolation": "bicubic"}],
    "a crop of it": [{"name": "Resize", "size": TARGET, "interpolation": "bicubic"},
                     {"name": "CenterCrop", "size": [9, 30]}],
    "turned, with borders": [{"name": "Resize", "size": TARGET},
                             {"name": "RandomVerticalFlip", "p": 1},
                             {"name": "RandomHorizontalFlip", "p": 1},
                             {"name": "Pad", "padding": [3, 5], "padding_mode": "edge"}],
    "RandomResizedCrop": [{"name": "RandomResizedCrop", "size": TARGET, "ratio": [0.2, 1.2],
                           "interpolation": "bicubic"}],
}
CASES = [*itertools.product(LISTS, SIZES)]
KEY = (1, 2, 3)


def make_noise(width, height):
    """Noise that no version of a library makes otherwise."""
    count = np.arange(3 * width * height, dtype=np.uint64) + np.uint64(1)
    bits = (count * np.uint64(0x9E3779B97F4A7C15)) ^ (count << np.uint64(17))
    bytes_ = (bits >> np.uint64(40)).astype(np.uint8)
    return Image.fromarray(bytes_.reshape(height, width, 3))


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def name_of(case):
    return f"{case[0]} of {case[1][0]}x{case[1][1]}"


def written():
    return json.loads(FILE.read_text())


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_bytes_are_those_of_each_pillow(case):
    name, size = case
    for resize in RESIZES:
        got = Tool(LISTS[name], "uint8", "NHWC", resize).make(make_noise(*size), KEY)
        assert digest(got) == written()[name_of(case)][resize], resize


def test_some_differ_and_some_do_not():
    differ = [case for case, both in written().items() if len(set(both.values())) == 2]
    assert 30 < len(differ) < len(written())
    assert not any(case.startswith("Resize, nearest") for case in differ)
    assert any(case.startswith("RandomResizedCrop") for case in differ)
    edges = {f"Resize, bicubic of {size}" for size in ("44x48", "44x49", "30x40", "30x41")}
    assert edges & set(differ) == {"Resize, bicubic of 44x49", "Resize, bicubic of 30x41"}


def test_any_pillow_follows_both():
    """What the other tests compare with, where this process' Pillow is another."""
    for case in CASES:
        name, size = case
        for resize in RESIZES:
            want = reference.expected(make_noise(*size), LISTS[name], "uint8", "NHWC", *KEY,
                                      resize=resize)
            assert digest(want) == written()[name_of(case)][resize], (case, resize)


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    assert reference.pillow.OWN == "pillow-13", "this is for Pillow 13"
    rows = (f'{json.dumps(name_of(case))}: ' + json.dumps({
        resize: digest(reference.expected(make_noise(*case[1]), LISTS[case[0]], "uint8", "NHWC",
                                          *KEY, resize=resize)) for resize in RESIZES})
            for case in CASES)
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")
