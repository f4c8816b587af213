# SPDX-License-Identifier: MIT
"""What torchvision makes of a Pillow image by the transforms that warp it, and by the families that
draw from many operations, with stoker's draws (the heads of daemon/transform/transforms/*.c say
which is what).

    KNOWN       their names
    apply(image, transform, uniform, below)     the picture, and what was drawn
"""

import numpy as np
import torch
from torchvision.transforms import InterpolationMode, autoaugment, functional

KNOWN = ("RandomAffine", "RandomRotation", "RandomPerspective", "AutoAugment", "RandAugment",
         "TrivialAugmentWide")


def _within(part, interval):
    return interval[0] + part * (interval[1] - interval[0])


def _spread(value):
    return [-value, value] if isinstance(value, (int, float)) else list(value)


def _look(transform, standard):
    return {"interpolation": InterpolationMode(transform.get("interpolation", standard)),
            "fill": transform.get("fill") or 0}


def _rotation(image, transform, uniform, below):
    angle = _within(uniform(0), _spread(transform["degrees"]))
    return functional.rotate(image, angle, expand=transform.get("expand", False),
                             center=transform.get("center"), **_look(transform, "nearest")), angle


def _affine(image, transform, uniform, below):
    angle = _within(uniform(0), _spread(transform["degrees"]))
    translate, scale, shear = [0, 0], 1.0, [0.0, 0.0]
    for i, part in enumerate(transform.get("translate") or ()):
        most = part * image.size[i]
        translate[i] = round(_within(uniform(1 + i), (-most, most)))
    if transform.get("scale") is not None:
        scale = _within(uniform(3), transform["scale"])
    if transform.get("shear") is not None:
        ranges = _spread(transform["shear"])
        for i in range(len(ranges) // 2):
            shear[i] = _within(uniform(4 + i), ranges[2 * i:])
    image = functional.affine(image, angle, translate, scale, shear,
                              center=transform.get("center"), **_look(transform, "nearest"))
    return image, (angle, translate, scale, shear)


def perspective_corners(size, scale, below):
    """Where the corners go, clockwise from the top left."""
    reach = [int(scale * (side // 2)) for side in size]
    corners = []
    for n, ends in enumerate(((0, 0), (1, 0), (1, 1), (0, 1))):
        corners.append([(size[i] - reach[i] - 1 if ends[i] else 0) + below(1 + 2 * n + i,
                                                                         reach[i] + 1)
                        for i in range(2)])
    return corners


def _coefficients(start, end):
    """What later versions of torchvision solve for; Debian's does it in float32."""
    rows, wanted = [], []
    for (u, v), (x, y) in zip(start, end):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        wanted += [u, v]
    return np.linalg.solve(np.array(rows, float), np.array(wanted, float)).astype("f4").tolist()


functional._get_perspective_coeffs = _coefficients


def _perspective(image, transform, uniform, below):
    if not uniform(0) < transform.get("p", 0.5):
        return image, None
    width, height = image.size
    corners = perspective_corners(image.size, transform.get("distortion_scale", 0.5), below)
    if width == 1 or height == 1:  # torchvision's solver finds nothing then
        return image, corners
    start = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
    return functional.perspective(image, start, corners, **_look(transform, "bilinear")), corners


def _strength(magnitudes, at):
    """torch.linspace, but for its last bit, which depends on the machine."""
    if magnitudes.dtype != torch.float32:
        return float(magnitudes[at])
    bins = len(magnitudes)
    first, last = (float(magnitudes[i]) for i in (0, -1))
    step = float(np.float32(last - first) / np.float32(bins - 1))
    number = float(np.float32(first + step * at if at < (bins + 1) // 2
                              else last - step * (bins - 1 - at)))
    assert abs(number - float(magnitudes[at])) < 1e-6 * max(first, last)
    return number


def _operate(image, transform, space, name, at, negative):
    magnitudes, signed = space[name]
    magnitude = _strength(magnitudes, at) if magnitudes.ndim and at is not None else 0.0
    if signed and negative:
        magnitude = -magnitude
    look = _look(transform, "nearest")
    image = autoaugment._apply_op(image, name, magnitude, look["interpolation"], look["fill"])
    return image, (name, magnitude)


def _auto_augment(image, transform, uniform, below):
    augment = autoaugment.AutoAugment(
        autoaugment.AutoAugmentPolicy(transform.get("policy", "imagenet")))
    space = augment._augmentation_space(10, (image.height, image.width))
    drawn = []
    for i, (name, p, at) in enumerate(augment.policies[below(0, len(augment.policies))]):
        if uniform(1 + i) <= p:
            image, did = _operate(image, transform, space, name, at, below(3 + i, 2) == 0)
            drawn.append(did)
    return image, drawn


def _rand_augment(image, transform, uniform, below):
    space = autoaugment.RandAugment()._augmentation_space(
        transform.get("num_magnitude_bins", 31), (image.height, image.width))
    drawn = []
    for i in range(transform.get("num_ops", 2)):
        name = list(space)[below(2 * i, len(space))]
        image, did = _operate(image, transform, space, name, transform.get("magnitude", 9),
                              below(2 * i + 1, 2) == 1)
        drawn.append(did)
    return image, drawn


def _trivial_augment(image, transform, uniform, below):
    bins = transform.get("num_magnitude_bins", 31)
    space = autoaugment.TrivialAugmentWide()._augmentation_space(bins)
    return _operate(image, transform, space, list(space)[below(0, len(space))], below(1, bins),
                    below(2, 2) == 1)


_FUNCTIONS = dict(zip(KNOWN, (_affine, _rotation, _perspective, _auto_augment, _rand_augment,
                              _trivial_augment)))


def apply(image, transform, uniform, below):
    return _FUNCTIONS[transform["name"]](image, transform, uniform, below)
