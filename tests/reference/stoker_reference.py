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

import bisect
import itertools
import math

import detection
import keras_reference
import numpy as np
import pillow
import torch
import warps
from PIL import Image
from positions import WORD, draw_below, draw_bits, draw_uniform, order_at, philox
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional


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


# For tests: values of the parameters that some transforms require.
NEEDED = {"size": 24, "padding": 3, "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4],
          "degrees": 30, "kernel_size": 5, "target_size": [40, 40], "min_size": [20, 31],
          "format": "XYWH", "dtype": "float32",
          "transforms": [{"name": "RandomHorizontalFlip"}, {"name": "RandomInvert", "p": 0.75}]}

def posterize(image, bits):
    """Of no bit black is left; newer Pillows refuse it."""
    return functional.posterize(image, bits) if bits else image.point(lambda value: 0)


# Transforms with a probability: what each does by its parameters, and random ones for tests.
COLOURS = {
    "RandomInvert": (functional.invert, lambda rng: {}),
    "RandomPosterize": (posterize, lambda rng: {"bits": rng.randint(0, 8)}),
    "RandomSolarize": (functional.solarize, lambda rng: {
        "threshold": rng.choice([128, rng.uniform(0, 256)])}),
    "RandomAdjustSharpness": (functional.adjust_sharpness, lambda rng: {
        "sharpness_factor": rng.uniform(0, 4)}),
    "RandomAutocontrast": (functional.autocontrast, lambda rng: {}),
    "RandomEqualize": (functional.equalize, lambda rng: {}),
    "RandomGrayscale": (lambda image: functional.rgb_to_grayscale(image, 3), lambda rng: {}),
}
JITTERS = {"brightness": functional.adjust_brightness, "contrast": functional.adjust_contrast,
           "saturation": functional.adjust_saturation, "hue": functional.adjust_hue}


def _range(value, same):
    """(lowest, highest) of one of ColorJitter's."""
    if isinstance(value, (list, tuple)):
        return value
    return (max(same - value, 0) if same else -value), same + value


def _jitter(image, transform, uniform, below):
    """ColorJitter, and what was drawn: (name, factor) in the order in which they are applied."""
    order = list(range(4))
    for i in 3, 2, 1:
        j = below(i, i + 1)
        order[i], order[j] = order[j], order[i]
    drawn = []
    for i in order:
        name, adjust = list(JITTERS.items())[i]
        same = 0 if name == "hue" else 1
        low, high = _range(transform.get(name, 0), same)
        if low == high == same:
            continue
        drawn.append((name, low + uniform(4 + i) * (high - low)))
        image = adjust(image, drawn[-1][1])
    return image, drawn


def _colours(image, transform, uniform, below):
    """One transform that changes colours, as _apply(); None if it is none."""
    name = transform["name"]
    if name in COLOURS:
        applied = uniform(0) < transform.get("p", 0.1 if name == "RandomGrayscale" else 0.5)
        given = {key: value for key, value in transform.items() if key not in ("name", "p")}
        return (COLOURS[name][0](image, **given) if applied else image), applied
    if name == "Grayscale":
        return functional.rgb_to_grayscale(image, 3), None
    if name == "ColorJitter":
        return _jitter(image, transform, uniform, below)
    if name == "GaussianBlur":
        sigma = transform.get("sigma", (0.1, 2.0))
        low, high = sigma if isinstance(sigma, (list, tuple)) else (sigma, sigma)
        sigma = low + uniform(0) * (high - low)
        return functional.gaussian_blur(image, pair(transform["kernel_size"]), sigma), sigma
    return None


def _apply(image, transform, uniform, below):
    """One transform; also returns what was drawn for it."""
    name = transform["name"]
    coloured = _colours(image, transform, uniform, below)
    if coloured:
        return coloured
    filter_ = InterpolationMode(transform.get("interpolation", "bilinear"))
    fill = transform.get("fill") or 0
    border = transform.get("padding_mode", "constant")
    if name == "Resize":
        size = transform.get("size")
        if size is None:  # of torchvision 0.21: the longer edge
            size = [max(1, int(transform["max_size"] * edge / max(image.size)))
                    for edge in image.size[::-1]]
            return functional.resize(image, size, filter_), None
        size = size if isinstance(size, int) else list(size)
        return functional.resize(image, size, filter_, transform.get("max_size")), None
    if name == "AspectResize":  # Keras' load_img(keep_aspect_ratio=True)
        height, width = pair(transform["size"])
        if image.size == (width, height):
            return image, None
        high = min(image.height, image.width * height // width)
        wide = min(image.width, image.height * width // height)
        top, left = (image.height - high) // 2, (image.width - wide) // 2
        return image.resize((width, height), Image.Resampling[filter_.name],
                            (left, top, left + wide, top + high)), None
    if name == "Buckets":  # of the one size that this picture is given
        height, width = transform["sizes"][0]
        wide = image.width * height > width * image.height
        scale = height / image.height if wide else width / image.width
        image = image.resize((int(image.width * scale + 0.5), int(image.height * scale + 0.5)),
                             Image.Resampling[filter_.name])
        if transform.get("crop", "center") == "center":
            return functional.center_crop(image, (height, width)), None
        top, left = below(0, image.height - height + 1), below(1, image.width - width + 1)
        return functional.crop(image, top, left, height, width), (top, left, height, width)
    if name == "CenterCrop":
        return functional.center_crop(image, pair(transform["size"])), None
    if name == "Pad":
        padding = transform.get("padding")
        if padding is None:
            more = [to - edge for to, edge in zip(pair(transform["to"])[::-1], image.size)]
            first = [edge // 2 if transform.get("center") else 0 for edge in more]
            padding = [*first, more[0] - first[0], more[1] - first[1]]
        return pad(image, padding, fill, border), None
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
    if name == "ReadAs":  # wide.py has what it makes of files of 16 bits and floats
        return image, None
    if name in detection.KNOWN:
        return detection.apply(image, transform, uniform, below)
    if name in warps.KNOWN:
        return warps.apply(image, transform, uniform, below)
    raise ValueError(name)


def _count(transform):
    """How many numbers of transforms this one takes: its own and those of what it holds."""
    return 1 + sum(_count(held) for held in transform.get("transforms", []))


def _chosen(transform, uniform, below):
    """What a transform that holds others does: which of them, in which order."""
    count = len(transform["transforms"])
    if transform["name"] == "Compose":
        return list(range(count))
    if transform["name"] == "RandomApply":
        return [] if transform.get("p", 0.5) < uniform(0) else list(range(count))
    if transform["name"] == "RandomChoice":
        sums = list(itertools.accumulate(transform.get("p") or [1] * count))
        return [bisect.bisect_right(sums, uniform(0) * sums[-1], 0, count - 1)]
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = below(i, i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def _run(image, transform, number, key):
    """One transform, number `number`, with what it holds; also returns what was drawn."""
    def uniform(i):
        return draw_uniform(key, (number << 16) + i)

    def below(i, bound):
        return draw_below(key, (number << 16) + i, bound)

    if "transforms" not in transform:
        return _apply(image, transform, uniform, below)
    held = transform["transforms"]
    numbers = list(itertools.accumulate(map(_count, held), initial=number + 1))
    chosen = _chosen(transform, uniform, below)
    for i in chosen:
        image, _ = _run(image, held[i], numbers[i], key)
    return image, chosen


# How many views each makes of a picture.
CROPS = {"FiveCrop": 5, "TenCrop": 10}


def _crops(image, transform):
    size = pair(transform["size"])
    if transform["name"] == "FiveCrop":
        return functional.five_crop(image, size)
    return functional.ten_crop(image, size, transform.get("vertical_flip", False))


def _steps(image, transforms, key):
    """The picture and the draw after each transform that works on pictures. Views that are crops
    have what stands before them drawn once: as for view 0 of the first so many, 1 of the next."""
    seed, epoch, position = key
    view, number = position >> 56, 0
    crops = [CROPS[transform["name"]] for transform in transforms if transform["name"] in CROPS]
    if crops:
        before = seed, epoch, position % (1 << 56) | view // crops[0] << 56
    for transform in transforms:
        if transform["name"] in ("ToTensor", "Normalize", *TENSOR_OPS):
            continue
        if transform["name"] in CROPS:
            image, drawn, crops = _crops(image, transform)[view % crops[0]], None, []
        else:
            image, drawn = _run(image, transform, number, before if crops else key)
        number += _count(transform)
        yield image, drawn


def parameters(transforms, size, key):
    """What is drawn for each transform but ToTensor and Normalize; None where nothing is."""
    return [drawn for _, drawn in _steps(Image.new("RGB", size), transforms, key)]


TENSOR_OPS = ("ImageDataGenerator", "RandomErasing")


def _normals(key, first):
    def normals(count):
        out = np.empty(count + 1, np.float32)
        for i in range((count + 1) // 2):
            seed, epoch, position = key
            word = philox(seed, [first + i, epoch, position & WORD, position >> 32])
            u = (((word[1] << 32 | word[0]) >> 11) + 1) * 2.0**-53
            angle = 2 * math.pi * ((word[3] << 32 | word[2]) >> 11) * 2.0**-53
            length = math.sqrt(-2 * math.log(u))
            out[2 * i:2 * i + 2] = length * math.cos(angle), length * math.sin(angle)
        return out[:count]
    return normals


def _tensor_ops(image, transforms, key):
    """Those that work on arrays, at the end of the list, with their draws."""
    number = 0
    for transform in transforms:
        if transform["name"] in TENSOR_OPS:
            first = number << 16
            yield (transform, lambda i, first=first: draw_uniform(key, first + i),
                   lambda i, bound, first=first: draw_below(key, first + i, bound),
                   _normals(key, 1 << 31 | number << 24))
        if transform["name"] not in ("ToTensor", "Normalize"):
            number += _count(transform)


def _channels(numbers):
    return list(numbers) if isinstance(numbers, (list, tuple)) else [numbers]


def expected(image, transforms, dtype="float32", layout="NCHW", augment_seed=0, epoch=0,
             position=0, resize="pillow-12"):
    """`resize`: as of ATTACH, whose absence means pillow-12. Any Pillow makes both."""
    key = augment_seed, epoch, position
    with pillow.resizing_as(resize):
        for image, _ in _steps(image, transforms, key):
            pass
    tensor_ops = list(_tensor_ops(image, transforms, key))
    if tensor_ops and tensor_ops[0][0]["name"] == "ImageDataGenerator":
        transform, uniform, below, _ = tensor_ops.pop(0)
        drawn = keras_reference.draw(transform, image.size, uniform, below)
        array = keras_reference.apply(image, transform, drawn).transpose(2, 0, 1)
    elif dtype == "uint8":
        array = np.asarray(image).transpose(2, 0, 1)
    else:
        tensor = functional.to_tensor(image)
        for transform in transforms:
            if transform["name"] == "Normalize":
                tensor = functional.normalize(tensor, _channels(transform["mean"]),
                                              _channels(transform["std"]))
        array = tensor.numpy()
    for transform, uniform, below, normals in tensor_ops:
        array = keras_reference.erase(array, transform, uniform, below, normals)
    if layout == "NHWC":
        array = array.transpose(1, 2, 0)
    array = np.ascontiguousarray(array)
    if dtype == "float16":
        array = array.astype(np.float16)
    elif dtype == "bfloat16":
        array = torch.from_numpy(array).bfloat16().view(torch.int16).numpy().view(np.uint16)
    return array
