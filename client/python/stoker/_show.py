# SPDX-License-Identifier: MIT
"""Loader.show(): batches as images to look at. matplotlib is imported when it is needed."""
from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple

import numpy as np

if TYPE_CHECKING:
    from .loader import Loader

Array = np.ndarray[Any, Any]

INCHES = 1.4  # side of an image


def show(loader: Loader, rows: int, cols: int, epoch: int) -> Any:
    if rows < 1 or cols < 1:
        raise ValueError(f"rows and cols must be at least 1, not {rows} x {cols}")
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("loader.show() needs matplotlib: install it, or use `stokerctl preview`"
                          ) from error
    images, labels = _samples(loader, rows * cols, epoch)
    transforms = loader._reader.request["transforms"]
    if loader._crops:
        transforms = transforms[0]["crops"][0]["transforms"]
    tiles = pictures(images, loader.layout, loader.dtype, transforms)
    figure, axes = pyplot.subplots(rows, cols, squeeze=False,
                                   figsize=(cols * INCHES, rows * (INCHES + 0.25)))
    names = loader.classes
    for axis, tile, label in itertools.zip_longest(axes.flat, tiles, labels):
        axis.axis("off")
        if tile is not None:
            axis.imshow(tile, cmap="gray", vmin=0, vmax=255)  # of one channel; else unused
            axis.set_title(_title(label, names), fontsize="small")
    figure.tight_layout()
    if "inline" in pyplot.get_backend():  # a notebook shows what is returned, and open figures too
        pyplot.close(figure)
    return figure


def _samples(loader: Loader, count: int, epoch: int) -> Tuple[Array, Array]:
    """The first samples of this rank in the epoch, as copies."""
    batches = min(math.ceil(count / loader.batch_size), len(loader))
    images: List[Array] = []
    labels: List[Array] = []
    for k in range(batches):
        batch = loader.batch(epoch, k)
        some, kinds = batch.images, batch.labels
        if isinstance(some, dict):  # of Crops the first
            some = next(iter(some.values()))
        if some.ndim == 5:  # several views of each sample
            kinds = np.repeat(kinds, some.shape[1], axis=0)
            some = some.reshape(-1, *some.shape[2:])
        images.append(some)
        labels.append(kinds)
    return np.concatenate(images)[:count], np.concatenate(labels)[:count]


def pictures(images: Array, layout: str, dtype: str,
             transforms: Sequence[Dict[str, Any]]) -> Array:
    """(n, H, W, C) uint8. Normalize is undone. If ImageDataGenerator gives numbers that are not in
    the range of pixels, each image is scaled from its least number to its greatest. Values that
    RandomErasing writes are clipped."""
    if layout == "NCHW":
        images = images.transpose(0, 2, 3, 1)
    if dtype == "uint8":
        return images
    if dtype == "bfloat16":
        images = (images.astype(np.uint32) << 16).view(np.float32)
    pixels: Array = images.astype(np.float32)
    for transform in transforms:
        if transform["name"] == "Normalize":
            pixels = pixels * np.float32(transform["std"]) + np.float32(transform["mean"])
    names = {transform["name"] for transform in transforms}
    least = pixels.min(axis=(1, 2, 3), keepdims=True)
    most = pixels.max(axis=(1, 2, 3), keepdims=True)
    if names & {"Normalize", "RandomErasing"} and "ImageDataGenerator" not in names:
        pass
    elif least.min() < -0.05 or most.max() > 255.5:
        pixels = (pixels - least) / np.maximum(most - least, 1e-6)
    elif most.max() > 1.05:
        pixels = pixels / 255
    shown: np.ndarray[Any, Any] = np.clip(np.round(pixels * 255), 0, 255).astype(np.uint8)
    return shown


def _title(label: Any, names: List[str]) -> str:
    if np.ndim(label) == 0 and np.issubdtype(np.asarray(label).dtype, np.integer) \
            and 0 <= label < len(names):
        return names[int(label)]
    if np.ndim(label) == 1 and len(label) == len(names) > 1:  # a share of each class
        shares = sorted(zip(label, names), key=lambda share: -share[0])[:2]
        return " ".join(name if number >= 0.995 else f"{name} {number:.2f}"
                        for number, name in shares if number >= 0.005)
    return " ".join(f"{number:g}" for number in np.ravel(label)[:4])
