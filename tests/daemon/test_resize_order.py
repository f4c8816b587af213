# SPDX-License-Identifier: MIT
"""Whose bytes a resize makes, Pillow 12's or 13's, of pictures with masks and boxes and of what FIT
works out; masks and boxes are the same for both. What is expected is Pillow's."""

import json
import pathlib
import sys

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "reference"))
import pillow  # noqa: E402

COUNT, SIZE, TO = 4, (60, 300), (40, 40)  # so high that Pillow 13 makes the rows first
RESIZE = [{"name": "Resize", "size": list(TO), "interpolation": "bicubic"}]
STREAM = {"transforms": RESIZE, "dtype": "uint8", "layout": "NHWC", "shuffle": False, "epochs": 1,
          "batch_size": COUNT}
WHOSE = ["pillow-12", "pillow-13"]


@pytest.fixture(name="listed")
def fixture_listed(tmp_path):
    """A list of noise, with masks of noise and a box each."""
    draw, rows = np.random.default_rng(3), []
    for i in range(COUNT):
        Image.fromarray(draw.integers(0, 256, (*SIZE[::-1], 3), dtype=np.uint8)).save(
            tmp_path / f"{i}.png")
        Image.fromarray(draw.integers(0, 256, SIZE[::-1], dtype=np.uint8)).save(
            tmp_path / f"mask{i}.png")
        rows.append({"path": f"{i}.png", "mask": f"mask{i}.png", "boxes": [[3, 15, 30, 150]]})
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "list.jsonl"


def resized(folder, whose):
    with pillow.resizing_as(whose):
        return np.asarray([np.asarray(Image.open(folder / f"{i}.png").resize(TO, Image.BICUBIC))
                           for i in range(COUNT)])


@pytest.mark.parametrize("whose", WHOSE)
def test_pictures_with_masks_and_boxes(daemon, listed, whose):
    with daemon.connect() as peer:
        answer = peer.attach(listed, resize=whose, **STREAM)
        assert answer.name == "attached", answer
        message = peer.receive()
        arrays = peer.ring.read(message.fields["runs"])
    np.testing.assert_array_equal(arrays["image"], resized(listed.parent, whose))
    for i, mask in enumerate(arrays["mask"]):
        with Image.open(listed.parent / f"mask{i}.png") as given:
            np.testing.assert_array_equal(mask, np.asarray(given.resize(TO, Image.NEAREST)))
    np.testing.assert_allclose(arrays["boxes"][:, 0], [[2, 2, 20, 20]] * COUNT)


@pytest.mark.parametrize("whose", WHOSE)
def test_fit(daemon, listed, whose):
    with daemon.connect() as peer:
        peer.send("fit", seq=1, dataset={"path": str(listed)}, transforms=RESIZE, resize=whose)
        message = peer.receive(60)
        while message.name == "progress":
            message = peer.receive(60)
    assert message.name == "report", message
    pixels, other = (resized(listed.parent, word).astype(np.float64)
                     for word in (whose, next(word for word in WHOSE if word != whose)))
    got = message.fields["values"]
    np.testing.assert_allclose(got["mean"], pixels.mean((0, 1, 2)), rtol=1e-12)
    np.testing.assert_allclose(got["std"], pixels.std((0, 1, 2)), rtol=1e-12)
    assert not np.allclose(pixels.std((0, 1, 2)), other.std((0, 1, 2)), rtol=1e-9)
