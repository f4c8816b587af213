# SPDX-License-Identifier: MIT
"""What torchvision v2's transforms for detection make of a picture without boxes, by torchvision's
functions for Pillow images and stoker's draws (the heads of daemon/transform/transforms/detection
say which is what). What they make of boxes: tests/golden/boxes.py, of torchvision v2 itself.

    KNOWN       their names
    apply(image, transform, uniform, below)     the picture, and what was drawn
"""

import itertools

from PIL import Image
from torchvision.transforms import InterpolationMode, functional

BOXES_ONLY = ("RandomIoUCrop", "SanitizeBoundingBoxes", "ClampBoundingBoxes",
              "ConvertBoundingBoxFormat")
KNOWN = (*BOXES_ONLY, "RandomZoomOut", "ScaleJitter", "RandomShortestSize", "FixedSizeCrop",
         "RandomPhotometricDistort")


def _within(part, interval):
    return interval[0] + part * (interval[1] - interval[0])


def _fill(transform):
    fill = transform.get("fill") or 0
    return int(fill) if isinstance(fill, (int, float)) else tuple(fill)


def _zoom_out(image, transform, uniform, below):
    if uniform(0) >= transform.get("p", 0.5):
        return image, False
    by = _within(uniform(1), transform.get("side_range", (1, 4)))
    more = [int(edge * by) - edge for edge in image.size]
    left, top = (int(more[i] * uniform(2 + i)) for i in range(2))
    padding = [left, top, more[0] - left, more[1] - top]
    return functional.pad(image, padding, _fill(transform)), padding


def _resized(image, by, transform):
    size = [int(image.height * by), int(image.width * by)]
    filter_ = InterpolationMode(transform.get("interpolation", "bilinear"))
    return functional.resize(image, size, filter_), size


def _jittered(image, transform, uniform, below):
    target = transform["target_size"]
    target = [target] * 2 if isinstance(target, int) else target
    scale = _within(uniform(0), transform.get("scale_range", (0.1, 2.0)))
    return _resized(image, min(target[1] / image.height, target[0] / image.width) * scale,
                    transform)


def _shortest(image, transform, uniform, below):
    edges = transform["min_size"]
    edges = [edges] if isinstance(edges, int) else edges
    by = edges[below(0, len(edges))] / min(image.size)
    if transform.get("max_size") is not None:
        by = min(by, transform["max_size"] / max(image.size))
    return _resized(image, by, transform)


def _fixed(image, transform, uniform, below):
    size = transform["size"]
    height, width = [size] * 2 if isinstance(size, int) else size
    kept = min(image.height, height), min(image.width, width)
    top, left = (int(max(over, 0) * uniform(0))
                 for over in (image.height - height, image.width - width))
    image = functional.crop(image, top, left, *kept)
    padding = [0, 0, width - kept[1], height - kept[0]]
    return functional.pad(image, padding, _fill(transform),
                          transform.get("padding_mode", "constant")), (top, left)


CHANGES = {"brightness": (functional.adjust_brightness, (0.875, 1.125)),
           "contrast": (functional.adjust_contrast, (0.5, 1.5)),
           "saturation": (functional.adjust_saturation, (0.5, 1.5)),
           "hue": (functional.adjust_hue, (-0.05, 0.05))}


def _distorted(image, transform, uniform, below):
    number, p = itertools.count(), transform.get("p", 0.5)
    factors = {name: _within(uniform(next(number)), transform.get(name, standard))
               for name, (_, standard) in CHANGES.items() if uniform(next(number)) < p}
    early = uniform(next(number)) < 0.5
    order = ["brightness", "contrast", "saturation", "hue"] if early else [
        "brightness", "saturation", "hue", "contrast"]
    for name in order:
        if name in factors:
            image = CHANGES[name][0](image, factors[name])
    channels = [0, 1, 2]
    if uniform(next(number)) < p:
        for i in 2, 1:
            j = below(next(number), i + 1)
            channels[i], channels[j] = channels[j], channels[i]
    bands = image.split()
    return Image.merge("RGB", [bands[channel] for channel in channels]), (factors, early, channels)


_MADE = {"RandomZoomOut": _zoom_out, "ScaleJitter": _jittered, "RandomShortestSize": _shortest,
         "FixedSizeCrop": _fixed, "RandomPhotometricDistort": _distorted}


def apply(image, transform, uniform, below):
    made = _MADE.get(transform["name"])
    return made(image, transform, uniform, below) if made else (image, None)
