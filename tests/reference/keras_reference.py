# SPDX-License-Identifier: MIT
"""Keras' ImageDataGenerator in NumPy, SciPy and Pillow, with stoker's draws.

    draw(transform, size, uniform, below)       Keras' get_random_transform(), as a dict
    apply(array, transform, parameters)         apply_transform() and standardize()
    erase(array, transform, uniform, below, normals)
                                                torchvision's RandomErasing on (3, H, W)

The formulas are those of keras.src.legacy.preprocessing.image, for channels_last. The heads of
daemon/transform/keras/keras_draw.c and of daemon/transform/transforms/random_erasing.c say which
draw is what. Nothing of stoker is used here.
"""

import math

import numpy as np
from PIL import Image, ImageEnhance


def _shift(given, uniform, below, first, edge):
    if given is None or (np.ndim(given) == 0 and given == 0):
        return 0
    if np.ndim(given) == 1:
        shift = given[below(first, len(given))]
    elif isinstance(given, int):
        shift = below(first, given)
    else:
        shift = -given + 2 * given * uniform(first)
    if np.ndim(given) == 1 or isinstance(given, int):
        shift *= -1 if below(first + 1, 2) == 0 else 1
    return shift * edge if np.max(given) < 1 else shift


def _zoom(given):
    return (1 - given, 1 + given) if np.ndim(given) == 0 else tuple(given)


def draw(transform, size, uniform, below):
    width, height = size
    get = transform.get

    def around(number, name):
        most = get(name, 0)
        return -most + 2 * most * uniform(number) if most else 0

    low, high = _zoom(get("zoom_range", 0.0))
    same = low == 1 and high == 1
    bright = get("brightness_range")
    return {
        "theta": around(0, "rotation_range"),
        "tx": _shift(get("height_shift_range"), uniform, below, 1, height),
        "ty": _shift(get("width_shift_range"), uniform, below, 3, width),
        "shear": around(5, "shear_range"),
        "zx": 1 if same else low + (high - low) * uniform(6),
        "zy": 1 if same else low + (high - low) * uniform(7),
        "flip_horizontal": bool(get("horizontal_flip")) and uniform(8) < 0.5,
        "flip_vertical": bool(get("vertical_flip")) and uniform(9) < 0.5,
        "channel_shift_intensity": around(10, "channel_shift_range")
        if get("channel_shift_range") else None,
        "brightness": bright[0] + (bright[1] - bright[0]) * uniform(11) if bright else None,
    }


def _matrix(drawn, height, width):
    theta, shear = np.deg2rad(drawn["theta"]), np.deg2rad(drawn["shear"])
    steps = [
        [[np.cos(theta), -np.sin(theta), 0], [np.sin(theta), np.cos(theta), 0], [0, 0, 1]],
        [[1, 0, drawn["tx"]], [0, 1, drawn["ty"]], [0, 0, 1]],
        [[1, -np.sin(shear), 0], [0, np.cos(shear), 0], [0, 0, 1]],
        [[drawn["zx"], 0, 0], [0, drawn["zy"], 0], [0, 0, 1]],
    ]
    matrix = np.eye(3)
    for step in steps:
        matrix = matrix @ np.array(step, float)
    x, y = height / 2 - 0.5, width / 2 - 0.5
    matrix = np.array([[1, 0, x], [0, 1, y], [0, 0, 1]]) @ matrix
    matrix = matrix @ np.array([[1, 0, -x], [0, 1, -y], [0, 0, 1]])
    matrix[:, [0, 1]] = matrix[:, [1, 0]]
    matrix[[0, 1]] = matrix[[1, 0]]
    return matrix


def doubtful(drawn, height, width):
    """Whether rounding decides if some pixel comes from the picture or from beside it."""
    matrix = _matrix(drawn, height, width)
    if (matrix[:, :2] == np.eye(3)[:, :2]).all():
        return False  # whole numbers are exact
    at = np.tensordot(matrix, np.stack([*np.indices((height, width)), np.ones((height, width))]), 1)
    for axis, edge in enumerate((height - 1, width - 1)):
        apart = np.abs(at[axis] - edge * np.round(at[axis] / max(edge, 1)))
        if (apart < 1e-9).any():
            return True
    return False


def _warp(array, drawn, fill_mode, cval):
    from scipy import ndimage  # only what is warped needs it
    if all(drawn[name] == 0 for name in ("theta", "tx", "ty", "shear")) and (
            drawn["zx"] == drawn["zy"] == 1):
        return array
    matrix = _matrix(drawn, *array.shape[:2])
    return np.stack([ndimage.affine_transform(array[..., channel], matrix[:2, :2], matrix[:2, 2],
                                              order=1, mode=fill_mode, cval=cval)
                     for channel in range(3)], -1)


def _brighten(array, factor):
    low, high = np.min(array), np.max(array)
    local = low < 0 or high > 255
    if local:
        array = array - low
        array = (array / np.max(array) if np.max(array) != 0 else array) * 255
    image = Image.fromarray(array.astype("uint8"), "RGB")
    array = np.asarray(ImageEnhance.Brightness(image).enhance(factor)).astype(np.float32)
    return array / 255 * (high - low) + low if local else array


def _standardize(array, transform):
    get = transform.get
    array = array * (get("rescale") or 1)
    if get("samplewise_center") or get("samplewise_std_normalization"):
        array = array - np.mean(array)
    if get("samplewise_std_normalization"):
        array = array / (np.std(array) + 1e-6)
    if get("featurewise_center") or get("featurewise_std_normalization"):
        array = array - np.float32(get("featurewise_mean"))
    if get("featurewise_std_normalization"):
        array = array / (np.float32(get("featurewise_std")) + 1e-6)
    return array


def apply(array, transform, drawn):
    array = _warp(np.asarray(array).astype(np.float32), drawn,
                  transform.get("fill_mode", "nearest"), transform.get("cval", 0.0))
    if drawn["channel_shift_intensity"] is not None:
        array = np.clip(array + drawn["channel_shift_intensity"], np.min(array), np.max(array))
    if drawn["flip_horizontal"]:
        array = array[:, ::-1]
    if drawn["flip_vertical"]:
        array = array[::-1]
    if drawn["brightness"] is not None:
        array = _brighten(array, drawn["brightness"])
    return _standardize(array, transform).astype(np.float32)


def erase_box(transform, height, width, uniform, below):
    """(top, left, height, width), or None: torchvision's get_params."""
    if not uniform(0) < transform.get("p", 0.5):
        return None
    scale, ratio = transform.get("scale", (0.02, 0.33)), transform.get("ratio", (0.3, 3.3))
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for k in range(10):
        area = height * width * (scale[0] + uniform(4 * k + 1) * (scale[1] - scale[0]))
        aspect = math.exp(low + uniform(4 * k + 2) * (high - low))
        h, w = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if h < height and w < width:
            return below(4 * k + 3, height - h + 1), below(4 * k + 4, width - w + 1), h, w
    return None


def erase(array, transform, uniform, below, normals):
    """`array` is (3, H, W); normals(count) are that many standard normals."""
    box = erase_box(transform, *array.shape[1:], uniform, below)
    if box is None:
        return array
    top, left, h, w = box
    value = transform.get("value", 0)
    if value == "random":
        value = normals(3 * h * w).reshape(3, h, w)
    else:
        value = np.float32(value).reshape(-1, 1, 1)
    array = array.copy()
    array[:, top:top + h, left:left + w] = value
    return array
