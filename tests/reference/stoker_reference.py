# SPDX-License-Identifier: MIT
"""What stoker's bytes must be, worked out by Python, Pillow and torchvision alone.

    order_at(seed, epoch, n, position)      which sample of n stands at this position
    draw_uniform(key, draw)                 a number in [0, 1); key is (seed, epoch, position)
    draw_below(key, draw, bound)            a whole number in [0, bound)
    parameters(transforms, size, key)       what is drawn for a picture of size (width, height)
    expected(image, transforms, dtype="float32", layout="NCHW", augment_seed=0, epoch=0,
             position=0)                    one sample's array, as numpy; bfloat16 as uint16

A list of transforms is what ATTACH takes: maps of a name and torchvision's parameters. `image` is a
Pillow image in RGB. Nothing of stoker is used here, so that a mistake there is not repeated here;
exp and log are libm's, and the test of exact.c bounds how far those are apart.
"""

import math

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional

WORD = 0xFFFFFFFF
LONG = 0xFFFFFFFFFFFFFFFF


def philox(key, counter):
    """Philox4x32-10 of Salmon et al. (2011): a 64-bit key, four 32-bit words to four."""
    c = list(counter)
    k = [key & WORD, key >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & WORD, (a >> 32) ^ c[3] ^ k[1], a & WORD]
        k = [(k[0] + 0x9E3779B9) & WORD, (k[1] + 0xBB67AE85) & WORD]
    return c


def draw_bits(key, draw):
    seed, epoch, position = key
    word = philox(seed, [draw, epoch, position & WORD, position >> 32])
    return word[1] << 32 | word[0]


def draw_uniform(key, draw):
    return (draw_bits(key, draw) >> 11) * 2.0**-53


def draw_below(key, draw, bound):
    return draw_bits(key, draw) * bound >> 64


def _mix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & LONG
    z = (z ^ z >> 27) * 0x94D049BB133111EB & LONG
    return z ^ z >> 31


def order_at(seed, epoch, n, position):
    half = 1
    while half < 32 and 1 << 2 * half < n:
        half += 1
    mask = (1 << half) - 1
    keys = []
    for i in range(0, 8, 2):
        word = philox(seed, [i, epoch, 0, WORD])
        keys += [word[1] << 32 | word[0], word[3] << 32 | word[2]]
    at = position
    while True:
        left, right = at >> half, at & mask
        for key in keys:
            left, right = right, left ^ _mix(right ^ key) & mask
        at = left << half | right
        if at < n:
            return at


def pair(size):
    """(height, width) of a size parameter."""
    if isinstance(size, int):
        return [size, size]
    return [size[0], size[-1]]


def _mirrored(count, before, after, edge_twice):
    """Which pixel of `count` stands at each place of an axis padded by reflection."""
    there = list(range(count))
    back = there[::-1] if edge_twice else there[-2:0:-1]
    period = there + back
    return [period[i % len(period)] for i in range(-before, count + after)]


def pad(image, padding, fill, border):
    """functional.pad, but for a picture padded by more than its own size: numpy before 2.0, which
    torchvision calls, then reflects a part of what it has just reflected, and not in step."""
    left, top, right, bottom = (list(padding) * 4)[:4] if isinstance(padding, (list, tuple)) else [
        padding] * 4
    if border in ("constant", "edge") or max(left, right) < image.width and max(
            top, bottom) < image.height:
        return functional.pad(image, padding, fill, border)
    twice = border == "symmetric"
    rows = _mirrored(image.height, top, bottom, twice)
    columns = _mirrored(image.width, left, right, twice)
    return Image.fromarray(np.asarray(image)[np.ix_(rows, columns)])


def _crop_of(transform, size, uniform, below):
    """RandomResizedCrop's get_params: (top, left, height, width)."""
    width, height = size
    low, high = transform.get("scale", (0.08, 1.0))
    ratio = transform.get("ratio", (3 / 4, 4 / 3))
    for k in range(10):
        area = width * height * (low + uniform(4 * k) * (high - low))
        first, last = math.log(ratio[0]), math.log(ratio[1])
        aspect = math.exp(first + uniform(4 * k + 1) * (last - first))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return below(4 * k + 2, height - h + 1), below(4 * k + 3, width - w + 1), h, w
    w, h = width, height
    if width / height < ratio[0]:
        h = round(width / ratio[0])
    elif width / height > ratio[1]:
        w = round(height * ratio[1])
    return (height - h) // 2, (width - w) // 2, h, w


def _apply(image, transform, uniform, below):
    """One transform; also returns what was drawn for it."""
    name = transform["name"]
    filter_ = InterpolationMode(transform.get("interpolation", "bilinear"))
    fill = transform.get("fill") or 0
    border = transform.get("padding_mode", "constant")
    if name == "Resize":
        size = transform["size"]
        size = size if isinstance(size, int) else list(size)
        return functional.resize(image, size, filter_, transform.get("max_size")), None
    if name == "CenterCrop":
        return functional.center_crop(image, pair(transform["size"])), None
    if name == "Pad":
        return pad(image, transform["padding"], fill, border), None
    if name in ("RandomHorizontalFlip", "RandomVerticalFlip"):
        flipped = uniform(0) < transform.get("p", 0.5)
        flip = functional.hflip if name == "RandomHorizontalFlip" else functional.vflip
        return (flip(image) if flipped else image), flipped
    if name == "RandomCrop":
        height, width = pair(transform["size"])
        if transform.get("padding") is not None:
            image = pad(image, transform["padding"], fill, border)
        if transform.get("pad_if_needed") and image.width < width:
            image = pad(image, [width - image.width, 0], fill, border)
        if transform.get("pad_if_needed") and image.height < height:
            image = pad(image, [0, height - image.height], fill, border)
        top, left = below(0, image.height - height + 1), below(1, image.width - width + 1)
        return functional.crop(image, top, left, height, width), (top, left, height, width)
    if name == "RandomResizedCrop":
        box = _crop_of(transform, image.size, uniform, below)
        return functional.resized_crop(image, *box, pair(transform["size"]), filter_), box
    raise ValueError(name)


def _steps(image, transforms, key):
    """The picture and the draw after each transform that works on pictures."""
    number = 0
    for transform in transforms:
        if transform["name"] in ("ToTensor", "Normalize"):
            continue
        first = number << 16
        number += 1
        image, drawn = _apply(image, transform, lambda i, first=first: draw_uniform(key, first + i),
                              lambda i, bound, first=first: draw_below(key, first + i, bound))
        yield image, drawn


def parameters(transforms, size, key):
    """What is drawn for each transform but ToTensor and Normalize; None where nothing is."""
    return [drawn for _, drawn in _steps(Image.new("RGB", size), transforms, key)]


def _channels(numbers):
    return list(numbers) if isinstance(numbers, (list, tuple)) else [numbers]


def expected(image, transforms, dtype="float32", layout="NCHW", augment_seed=0, epoch=0,
             position=0):
    for image, _ in _steps(image, transforms, (augment_seed, epoch, position)):
        pass
    if dtype == "uint8":
        array = np.asarray(image).transpose(2, 0, 1)
    else:
        tensor = functional.to_tensor(image)
        for transform in transforms:
            if transform["name"] == "Normalize":
                tensor = functional.normalize(tensor, _channels(transform["mean"]),
                                              _channels(transform["std"]))
        if dtype == "float16":
            array = tensor.half().numpy()
        elif dtype == "bfloat16":
            array = tensor.bfloat16().view(torch.int16).numpy().view(np.uint16)
        else:
            array = tensor.numpy()
    if layout == "NHWC":
        array = array.transpose(1, 2, 0)
    return np.ascontiguousarray(array)
