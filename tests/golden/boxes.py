# SPDX-License-Identifier: MIT
"""Pictures and boxes as torchvision v2 (0.21, of PyPI, on Pillow images) makes them with stoker's
draws, kept in boxes.json, which tests/unit/transform/test_detection.py compares.

    pip install torch==2.6.0 torchvision==0.21.0 'pillow<13' numpy      in a venv: for the CPU
    VENV/bin/python tests/golden/boxes.py --write

A case is a list of transforms as ATTACH takes it, the size of a picture of noise and its seed, the
boxes, and the key of the draws; then a digest of the picture that comes out and the boxes in their
places, null where torchvision drops one. Each torch.rand() of a transform takes the next numbers of
its own (draws.h), in float64.
"""

import argparse
import contextlib
import hashlib
import json
import random
import sys
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).resolve().parent
FILE = HERE / "boxes.json"
sys.path.insert(0, str(HERE.parent / "reference"))

from positions import draw_below, draw_uniform  # noqa: E402


def picture(case):
    """Noise, coarse or fine, of the case's size."""
    make = np.random.default_rng(case["noise"])
    width, height = case["size"]
    return Image.fromarray(make.integers(0, 256, (height, width, 3), dtype=np.uint8))


def digest(pixels):
    return hashlib.sha256(np.ascontiguousarray(pixels, dtype=np.uint8).tobytes()).hexdigest()[:32]


class Draws:
    """The numbers of one transform, one after the other, in place of torch's."""

    def __init__(self, key, transform):
        self.key, self.next = key, transform << 16

    def _number(self):
        self.next += 1
        return self.next - 1

    def uniform(self):
        return draw_uniform(self.key, self._number())

    def below(self, bound):
        return draw_below(self.key, self._number(), bound)

    def permutation(self, count):
        order = list(range(count))
        for i in range(count - 1, 0, -1):
            j = self.below(i + 1)
            order[i], order[j] = order[j], order[i]
        return order


@contextlib.contextmanager
def torch_draws(draws):
    import torch
    from torchvision.transforms import v2

    def rand(*size, **_):
        size = size[0] if size and isinstance(size[0], (tuple, list)) else size
        count = int(np.prod(size)) if size else 1
        numbers = [draws.uniform() for _ in range(count)]
        return torch.tensor(numbers, dtype=torch.float64).reshape(size)

    def randint(*bounds, size=None, low=0, high=None, **_):
        bounds = list(bounds)
        if size is None:
            size = bounds.pop()
        high = bounds[-1] if high is None else high
        assert low == 0 and int(np.prod(size)) == 1
        return torch.tensor([draws.below(high)]).reshape(size)

    def between(left, right):
        return left + draws.uniform() * (right - left)

    kept = torch.rand, torch.randint, torch.randperm
    generate = v2.ColorJitter._generate_value
    torch.rand, torch.randint = rand, randint
    torch.randperm = lambda count: torch.tensor(draws.permutation(count))
    v2.ColorJitter._generate_value = staticmethod(between)
    try:
        yield
    finally:
        torch.rand, torch.randint, torch.randperm = kept
        v2.ColorJitter._generate_value = staticmethod(generate)


def fixed_size_crop(sample, size, fill=0, padding_mode="constant"):
    """FixedSizeCrop of torchvision.prototype, which no package has, by v2's functions."""
    import torch
    from torchvision.transforms.v2 import functional
    width, height = sample["image"].size
    kept, part = (min(height, size[0]), min(width, size[1])), torch.rand(1)
    top, left = (int(max(over, 0) * part) for over in (height - size[0], width - size[1]))
    padding = [0, 0, size[1] - kept[1], size[0] - kept[0]]
    if kept != (height, width):
        sample = {name: value if name == "labels" else functional.crop(value, top, left, *kept)
                  for name, value in sample.items()}
        edges = functional.convert_bounding_box_format(sample["boxes"], new_format="XYWH")
        valid = (edges[:, 2:] > 0).all(dim=-1).tolist()
        sample = {name: value if name == "image" else wrapped(value[valid], value)
                  for name, value in sample.items()}
    return {name: value if name == "labels" else functional.pad(
        value, padding, fill if name == "image" else 0,
        padding_mode if name == "image" else "constant") for name, value in sample.items()}


def wrapped(value, like):
    from torchvision import tv_tensors
    return tv_tensors.wrap(value, like=like) if isinstance(like, tv_tensors.TVTensor) else value


def made(case):
    """What torchvision makes of it: the size and the digest of the picture, and the boxes."""
    import pillow
    import torch
    from torchvision import tv_tensors
    from torchvision.transforms import InterpolationMode, v2

    width, height = case["size"]
    boxes = torch.tensor(case["boxes"], dtype=torch.float32).reshape(-1, 4)
    # A mask for each box, of one value, tells which are left; fills are below 256.
    masks = torch.arange(1000, 1000 + len(boxes), dtype=torch.float32)
    sample = {"image": picture(case), "labels": torch.arange(len(boxes)),
              "boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(height, width)),
              "masks": tv_tensors.Mask(masks[:, None, None].repeat(1, height, width))}
    for number, transform in enumerate(case["transforms"]):
        given = {name: value for name, value in transform.items() if name != "name"}
        if "interpolation" in given:
            given["interpolation"] = InterpolationMode(given["interpolation"])
        if transform["name"] == "RandomZoomOut":  # masks are filled with one number only
            given["fill"] = {Image.Image: given.get("fill", 0), "others": 0}
        with torch_draws(Draws(case["key"], number)), pillow.resizing_as("pillow-12"):
            if transform["name"] == "FixedSizeCrop":
                sample = fixed_size_crop(sample, **given)
            else:
                sample = getattr(v2, transform["name"])(**given)(sample)
    left = [int(mask.max()) - 1000 for mask in sample["masks"]]
    out = [None] * len(boxes)
    for box, place in zip(sample["boxes"].tolist(), left):
        out[place] = [round(number, 5) for number in box]
    return {"made": list(sample["image"].size), "digest": digest(np.asarray(sample["image"])),
            "moved": out}


def random_boxes(rng, width, height):
    boxes = []
    for _ in range(rng.choice([1, 2, 3, 6])):
        x, y = sorted(rng.uniform(0, width) for _ in "xx"), sorted(
            rng.uniform(0, height) for _ in "yy")
        boxes.append([round(number, 2) for number in (x[0], y[0], x[1], y[1])])
    return boxes


def random_list(rng):
    optional = [
        lambda: {"name": "RandomPhotometricDistort", "p": rng.choice([0.5, 1.0])},
        lambda: {"name": "RandomZoomOut", "fill": rng.choice([0, 7, [1, 128, 255]]),
                 "p": rng.choice([0.5, 1.0])},
        lambda: {"name": "RandomZoomOut", "side_range": [1.0, 2.5]},
        lambda: {"name": "RandomIoUCrop", **rng.choice([{}, {"sampler_options": [0.0, 0.5, 1.0]},
                                                        {"min_scale": 0.1, "trials": 5}])},
        lambda: {"name": "RandomHorizontalFlip"},
        lambda: {"name": "ClampBoundingBoxes"},
        lambda: {"name": "SanitizeBoundingBoxes"},
        lambda: {"name": "ConvertBoundingBoxFormat",
                 "format": rng.choice(["XYXY", "XYWH", "CXCYWH"])},
        lambda: {"name": "ScaleJitter", "target_size": [rng.randint(20, 70), rng.randint(20, 70)],
                 "interpolation": rng.choice(["bilinear", "bicubic", "nearest"])},
        lambda: {"name": "RandomShortestSize", "min_size": rng.choice([31, [24, 40, 57]]),
                 **rng.choice([{}, {"max_size": 60}])},
    ]
    last = [
        lambda: {"name": "FixedSizeCrop", "size": [rng.randint(16, 60), rng.randint(16, 60)],
                 "fill": rng.choice([0, 9, [255, 0, 3]])},
        lambda: {"name": "FixedSizeCrop", "size": [40, 40],
                 "padding_mode": rng.choice(["edge", "reflect", "symmetric"])},
        lambda: {"name": "Resize", "size": [rng.randint(16, 60), rng.randint(16, 60)]},
    ]
    transforms = [rng.choice(optional)() for _ in range(rng.randint(1, 4))]
    transforms.append(rng.choice(last)())
    if rng.random() < 0.4:
        transforms.append({"name": "SanitizeBoundingBoxes",
                           **rng.choice([{}, {"min_size": 4.0, "min_area": 30.0}])})
    if rng.random() < 0.3:
        transforms.append({"name": "ConvertBoundingBoxFormat",
                           "format": rng.choice(["XYWH", "CXCYWH"])})
    return transforms


def cases(count=160):
    rng = random.Random(21)
    while count:
        size = [rng.randint(24, 90), rng.randint(24, 90)]
        case = {"transforms": random_list(rng), "size": size, "noise": count,
                "boxes": random_boxes(rng, *size),
                "key": [rng.getrandbits(64), rng.getrandbits(32), rng.getrandbits(48)]}
        try:
            yield {**case, **made(case)}
        except (ValueError, ZeroDivisionError) as error:  # of an edge of 0
            print(error, file=sys.stderr)
            continue
        count -= 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write boxes.json anew")
    lines = ",\n".join(json.dumps(case) for case in cases())
    text = f"[\n{lines}\n]\n"
    if parser.parse_args().write:
        FILE.write_text(text)
    elif FILE.read_text() != text:
        sys.exit("boxes.json is not what torchvision makes: --write")


if __name__ == "__main__":
    main()
