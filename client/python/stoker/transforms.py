# SPDX-License-Identifier: MIT
"""Transforms, by torchvision's names, parameters and defaults. Descriptions only: the daemon
checks them and does the work, with torchvision's bytes.

Wherever a transform is expected a dict {"name": ..., parameters...} does as well, and so does an
object of torchvision.transforms, or of its v2, by one of these names (a Compose, a preset of its
weights for classification, timm's create_transform()), or a text: "Resize(256) | ToTensor()". What
makes tensors there (ToImage, PILToTensor, ToDtype, ConvertImageDtype) is the loader's ``dtype``.

As there, unless a transform says otherwise: a size is (height, width), or a number for both;
padding a number, (left and right, top and bottom) or (left, top, right, bottom); padding_mode
constant, edge, reflect or symmetric; fill 0 to 255, one or for red, green and blue; degrees and
shear a number, which is -number to number, or a range; p a probability; interpolation nearest,
bilinear, bicubic, and of Resize and RandomResizedCrop box, hamming and lanczos, too.
"""
from __future__ import annotations

import ast
import difflib
import inspect
import re
import warnings
from dataclasses import dataclass, fields
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _options
from ._timm import as_torchvision
from .errors import PipelineError, short

__all__ = [
    "AspectResize", "AutoAugment", "Buckets", "CenterCrop", "ClampBoundingBoxes", "ColorJitter",
    "Compose",
    "ConvertBoundingBoxFormat", "CutMix", "FixedSizeCrop", "GaussianBlur", "FiveCrop", "Grayscale",
    "ImageDataGenerator", "MixUp", "Mosaic", "Normalize", "Pad", "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine", "RandomApply", "RandomAutocontrast", "RandomChoice", "RandomCrop",
    "RandomEqualize", "RandomErasing", "RandomGrayscale", "RandomHorizontalFlip", "RandomInvert",
    "RandomIoUCrop", "RandomOrder", "RandomPerspective", "RandomPhotometricDistort",
    "RandomPosterize", "RandomResizedCrop", "RandomRotation", "RandomShortestSize",
    "RandomSolarize", "RandomVerticalFlip", "RandomZoomOut", "ReadAs", "Resize",
    "SanitizeBoundingBoxes", "ScaleJitter", "TenCrop", "ToTensor", "Transform",
    "TrivialAugmentWide",
]

Size = Union[int, Sequence[int]]
Number = Union[int, float]


@dataclass(frozen=True)
class Transform:
    """Base of all transforms."""

    def to_dict(self) -> Dict[str, Any]:
        """What goes to the daemon: the name, and every parameter that is not None."""
        out: Dict[str, Any] = {"name": type(self).__name__}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "transforms":
                out[field.name] = [_held(transform) for transform in _listed(value)]
            elif value is not None and field.name not in _NOT_SENT:
                out[field.name] = _plain(value)
        return out


# Normalize(inplace=True) has no meaning where every result is a new array.
_NOT_SENT = frozenset({"inplace"})


@dataclass(frozen=True)
class Resize(Transform):
    """Shorter side to ``size``, or to (height, width); if that is None, longer side to
    ``max_size``."""

    size: Optional[Size]
    interpolation: str = "bilinear"
    max_size: Optional[int] = None
    antialias: Optional[bool] = True


@dataclass(frozen=True)
class AspectResize(Transform):
    """To (height, width), of the largest part in the middle that has this shape: what Keras'
    ``load_img(keep_aspect_ratio=True)`` does."""

    size: Size
    interpolation: str = "bilinear"


@dataclass(frozen=True)
class Buckets(Transform):
    """Images of several sizes, of which each batch has one. A picture goes into the bucket whose
    shape is nearest to its own, is resized to cover that, and cropped.

    ``sizes``: a list of (height, width). Or ``area``: all sizes whose edges are multiples of
    ``step`` (64), with as many pixels as fit into it, and up to ``ratio`` (2) between the edges.
    ``crop``: center or random. ``run``: positions of one size in a row, a multiple of the batch of
    all ranks, which it is unless it is given; a state has it, and goes on with any number of
    ranks and batch size whose product divides it.

    A batch has the fields ``crop_box``, x0, y0, x1, y1 of what was cropped in the picture as it was
    resized, before later transforms such as flips, and ``original_size``, (height, width) of the
    picture as it was decoded. ``loader.shapes`` lists what comes."""

    sizes: Optional[Sequence[Sequence[int]]] = None
    area: Optional[int] = None
    step: Optional[int] = None
    ratio: Optional[float] = None
    crop: str = "center"
    interpolation: str = "bilinear"
    antialias: Optional[bool] = True
    run: Optional[int] = None


@dataclass(frozen=True)
class ReadAs(Transform):
    """Stands first: pictures are read as numbers of 16 bits or floats, not as RGB of 8 bits.

    ``dtype``: uint16 (PNG, PNM, TIFF and arrays of 16 bits) or float32 (those, and TIFF and arrays
    of floats, TIFF of integers of 32 bits, with the numbers of the file). ``channels``: of all of
    them; None: of the first. Each channel is resized as Pillow resizes a picture of mode I;16, or
    F.

    With the loader's dtype uint16, ReadAs("uint16") is understood. As float32, float16 or bfloat16
    pictures read as uint16 are divided by 65535, those read as float32 are not."""

    dtype: str
    channels: Optional[int] = None


@dataclass(frozen=True)
class CenterCrop(Transform):
    size: Size


@dataclass(frozen=True)
class RandomCrop(Transform):
    size: Size
    padding: Optional[Size] = None
    pad_if_needed: bool = False
    fill: Union[Number, Sequence[Number]] = 0
    padding_mode: str = "constant"


@dataclass(frozen=True)
class RandomResizedCrop(Transform):
    size: Size
    scale: Sequence[float] = (0.08, 1.0)
    ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0)
    interpolation: str = "bilinear"
    antialias: Optional[bool] = True


@dataclass(frozen=True)
class RandomHorizontalFlip(Transform):
    p: float = 0.5


@dataclass(frozen=True)
class RandomVerticalFlip(Transform):
    p: float = 0.5


@dataclass(frozen=True)
class Pad(Transform):
    """By ``padding``; or to a size: at the right and at the bottom, or with ``center`` all around.
    Then the batch has a field ``real_box``: x0, y0, x1, y1 of the part of the image that is
    picture."""

    padding: Optional[Size] = None
    fill: Union[Number, Sequence[Number]] = 0
    padding_mode: str = "constant"
    to: Optional[Size] = None
    center: bool = False


@dataclass(frozen=True)
class Normalize(Transform):
    """(value - mean) / std for each channel."""

    mean: Sequence[float]
    std: Sequence[float]
    inplace: bool = False

    def __post_init__(self) -> None:
        if any(abs(value) > 2 for value in np.ravel(self.mean)):
            warnings.warn(f"Normalize(mean={self.mean!r}): values are from 0 to 1 here, so mean "
                          "and std of bytes are to be divided by 255", stacklevel=3)


@dataclass(frozen=True)
class ToTensor(Transform):
    """0..255 to 0..1."""


@dataclass(frozen=True)
class Grayscale(Transform):
    """Gray: with 1 channel, as by Pillow's convert("L"), or with 3 that are equal."""

    num_output_channels: int = 1


@dataclass(frozen=True)
class RandomInvert(Transform):
    p: float = 0.5


@dataclass(frozen=True)
class MixUp(Transform):
    """Last in the list: each sample with its pair's other one, and labels as (n, classes) float32,
    mixed likewise."""

    alpha: float = 0.2


@dataclass(frozen=True)
class CutMix(Transform):
    """Last in the list: a box of each sample is its pair's other one's, and labels are mixed by the
    box's share, as (n, classes) float32."""

    alpha: float = 1.0


@dataclass(frozen=True)
class Mosaic(Transform):
    """Last in the list: four samples, each in a corner, which meet in a point that ``offset`` says
    in parts of the picture. Boxes, points, masks of instances and numbers of a sample are those of
    the four, one behind the other: upper left, upper right, lower left, lower right."""

    n: int = 4
    offset: Tuple[float, float] = (0.25, 0.75)


@dataclass(frozen=True)
class RandomPosterize(Transform):
    bits: int
    p: float = 0.5


@dataclass(frozen=True)
class RandomSolarize(Transform):
    threshold: float
    p: float = 0.5


@dataclass(frozen=True)
class RandomAdjustSharpness(Transform):
    sharpness_factor: float
    p: float = 0.5


@dataclass(frozen=True)
class RandomAutocontrast(Transform):
    p: float = 0.5


@dataclass(frozen=True)
class RandomEqualize(Transform):
    p: float = 0.5


@dataclass(frozen=True)
class RandomGrayscale(Transform):
    p: float = 0.1


@dataclass(frozen=True)
class ColorJitter(Transform):
    """Each a number, which is how far from no change, or (lowest, highest)."""

    brightness: Union[Number, Sequence[Number]] = 0
    contrast: Union[Number, Sequence[Number]] = 0
    saturation: Union[Number, Sequence[Number]] = 0
    hue: Union[Number, Sequence[Number]] = 0


@dataclass(frozen=True)
class GaussianBlur(Transform):
    """``kernel_size`` is odd, or (width, height); ``sigma`` a number or (lowest, highest)."""

    kernel_size: Size
    sigma: Union[Number, Sequence[Number]] = (0.1, 2.0)


@dataclass(frozen=True)
class FiveCrop(Transform):
    """The four corners and the middle, as five views of a sample: images are (batch, 5, ...)."""

    size: Size


@dataclass(frozen=True)
class TenCrop(Transform):
    """FiveCrop, and that of the mirrored picture, as ten views: images are (batch, 10, ...)."""

    size: Size
    vertical_flip: bool = False


@dataclass(frozen=True)
class _Combined(Transform):
    transforms: Sequence[Any]


@dataclass(frozen=True)
class Compose(_Combined):
    """All of them, one after the other: several as one in a list of choices."""


@dataclass(frozen=True)
class RandomApply(_Combined):
    """All of them, or none."""

    p: float = 0.5


@dataclass(frozen=True)
class RandomChoice(_Combined):
    """One of them, each as likely as the others, or as its number in ``p`` says. Of MixUp and
    CutMix, last in the list, it is drawn for each pair."""

    p: Optional[Sequence[float]] = None


@dataclass(frozen=True)
class RandomOrder(_Combined):
    """All of them, in any order."""


@dataclass(frozen=True)
class RandomErasing(Transform):
    """At the end of a list, on the numbers: ``value`` is one, three, or "random" for normals."""

    p: float = 0.5
    scale: Sequence[float] = (0.02, 0.33)
    ratio: Sequence[float] = (0.3, 3.3)
    value: Union[Number, Sequence[Number], str] = 0
    inplace: bool = False


@dataclass(frozen=True)
class ImageDataGenerator(Transform):
    """What Keras' class of this name does to a picture, by its names, in its numbers: 0 to 255,
    which only ``rescale`` divides. The last of a list but for RandomErasing.

    ``featurewise_mean`` and ``featurewise_std`` are what Keras' fit() finds: a number or three; or
    ``statistics`` is the name, or the digest, of what ``node.fit()`` has found. ``color_mode``
    "rgba" takes pictures with their alpha and gives four channels; before it stands a Resize or an
    AspectResize, or nothing.
    """

    featurewise_center: bool = False
    samplewise_center: bool = False
    featurewise_std_normalization: bool = False
    samplewise_std_normalization: bool = False
    zca_whitening: bool = False
    zca_epsilon: float = 1e-6
    rotation_range: Number = 0
    width_shift_range: Union[Number, Sequence[Number]] = 0.0
    height_shift_range: Union[Number, Sequence[Number]] = 0.0
    brightness_range: Optional[Sequence[float]] = None
    shear_range: Number = 0.0
    zoom_range: Union[Number, Sequence[Number]] = 0.0
    channel_shift_range: Number = 0.0
    fill_mode: str = "nearest"
    cval: float = 0.0
    horizontal_flip: bool = False
    vertical_flip: bool = False
    rescale: Optional[float] = None
    featurewise_mean: Optional[Union[Number, Sequence[Number]]] = None
    featurewise_std: Optional[Union[Number, Sequence[Number]]] = None
    statistics: Optional[str] = None
    color_mode: str = "rgb"


@dataclass(frozen=True)
class RandomAffine(Transform):
    degrees: Union[Number, Sequence[Number]]
    translate: Optional[Sequence[float]] = None
    scale: Optional[Sequence[float]] = None
    shear: Optional[Union[Number, Sequence[Number]]] = None
    interpolation: str = "nearest"
    fill: Union[Number, Sequence[Number]] = 0
    center: Optional[Sequence[float]] = None


@dataclass(frozen=True)
class RandomRotation(Transform):
    """With ``expand`` the picture grows with the angle: then something behind it must give all one
    size."""

    degrees: Union[Number, Sequence[Number]]
    interpolation: str = "nearest"
    expand: bool = False
    center: Optional[Sequence[float]] = None
    fill: Union[Number, Sequence[Number]] = 0


@dataclass(frozen=True)
class RandomPerspective(Transform):
    distortion_scale: float = 0.5
    p: float = 0.5
    interpolation: str = "bilinear"
    fill: Union[Number, Sequence[Number]] = 0


@dataclass(frozen=True)
class AutoAugment(Transform):
    """``policy``: imagenet, cifar10 or svhn."""

    policy: str = "imagenet"
    interpolation: str = "nearest"
    fill: Optional[Union[Number, Sequence[Number]]] = None


@dataclass(frozen=True)
class RandAugment(Transform):
    num_ops: int = 2
    magnitude: int = 9
    num_magnitude_bins: int = 31
    interpolation: str = "nearest"
    fill: Optional[Union[Number, Sequence[Number]]] = None


@dataclass(frozen=True)
class TrivialAugmentWide(Transform):
    num_magnitude_bins: int = 31
    interpolation: str = "nearest"
    fill: Optional[Union[Number, Sequence[Number]]] = None


@dataclass(frozen=True)
class RandomIoUCrop(Transform):
    """For samples with boxes: a crop with the middle of a box in it, which overlaps that by at
    least one of ``sampler_options`` (from 1 on: no crop). Boxes whose middle is outside become
    0, 0, 0, 0: SanitizeBoundingBoxes drops them."""

    min_scale: float = 0.3
    max_scale: float = 1.0
    min_aspect_ratio: float = 0.5
    max_aspect_ratio: float = 2.0
    sampler_options: Optional[Sequence[float]] = None
    trials: int = 40


@dataclass(frozen=True)
class RandomZoomOut(Transform):
    fill: Union[Number, Sequence[Number]] = 0
    side_range: Sequence[float] = (1.0, 4.0)
    p: float = 0.5


@dataclass(frozen=True)
class ScaleJitter(Transform):
    target_size: Size
    scale_range: Sequence[float] = (0.1, 2.0)
    interpolation: str = "bilinear"
    antialias: Optional[bool] = True


@dataclass(frozen=True)
class RandomShortestSize(Transform):
    """Shorter side to one of ``min_size``, longer one to ``max_size`` at most."""

    min_size: Size
    max_size: Optional[int] = None
    interpolation: str = "bilinear"
    antialias: Optional[bool] = True


@dataclass(frozen=True)
class FixedSizeCrop(Transform):
    """A crop where the picture is larger, padding at the right and the bottom where it is smaller.
    Boxes of which the crop leaves nothing are dropped: they become NaN in their places."""

    size: Size
    fill: Union[Number, Sequence[Number]] = 0
    padding_mode: str = "constant"


@dataclass(frozen=True)
class RandomPhotometricDistort(Transform):
    brightness: Sequence[float] = (0.875, 1.125)
    contrast: Sequence[float] = (0.5, 1.5)
    saturation: Sequence[float] = (0.5, 1.5)
    hue: Sequence[float] = (-0.05, 0.05)
    p: float = 0.5


@dataclass(frozen=True)
class SanitizeBoundingBoxes(Transform):
    """Drops boxes that are too small or reach out of the picture. They become NaN and keep their
    places, so that labels of boxes stay as they are: ``labels_getter`` has nothing to do."""

    min_size: float = 1.0
    min_area: float = 1.0
    labels_getter: Optional[str] = "default"

    def __post_init__(self) -> None:
        if callable(self.labels_getter):
            raise TypeError("SanitizeBoundingBoxes: labels_getter is code of yours, and none is "
                            "needed here: a dropped box becomes NaN and keeps its place, so leave "
                            "it out and take the labels where the box is not NaN")


@dataclass(frozen=True)
class ClampBoundingBoxes(Transform):
    """Clips boxes to the picture."""


@dataclass(frozen=True)
class ConvertBoundingBoxFormat(Transform):
    """Boxes come in this format: XYXY, as they are else, XYWH or CXCYWH."""

    format: str


_options.name_all(*Transform.__subclasses__())


_KNOWN = {name: globals()[name] for name in __all__ if name != "Transform"}

_OWN = "stoker.Map(function) runs a function of yours in its place, in processes of yours"

# torchvision's conversions of a picture to a tensor, and of a tensor to another type.
_CASTS = frozenset({"ToImage", "PILToTensor", "ToPureTensor", "ConvertImageDtype", "ToDtype"})


def to_dicts(transforms: Any) -> List[Dict[str, Any]]:
    """A transform, a list of them, or a text, as the daemon takes it. Raises TypeError on anything
    else, and ValueError for a text that is wrong."""
    if isinstance(transforms, str):
        transforms = _from_text(transforms)
    if isinstance(transforms, (Transform, dict)) or _is_torchvision(transforms):
        transforms = [transforms]
    out: List[Dict[str, Any]] = []
    for transform in _listed(transforms):
        if isinstance(transform, Transform):
            out.append(transform.to_dict())
        elif isinstance(transform, dict):
            out.append(_plain(transform))
        else:
            out += _from_torchvision(as_torchvision(transform))
    return out


def _from_text(text: str) -> List[Transform]:
    """The transforms of a text such as "Resize(256) | CenterCrop(size=224)"."""
    try:
        return [_called(step) for step in _steps(ast.parse(text.strip(), mode="eval").body)]
    except (SyntaxError, TypeError, ValueError) as error:
        words = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ValueError(f"transforms {short(text)}: {words.replace('.__init__()', '')}") from error


def _steps(node: ast.expr) -> List[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _steps(node.left) + _steps(node.right)
    return [node]


def _called(node: ast.expr) -> Transform:
    call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
    name = call.func.id if isinstance(call.func, ast.Name) else ast.unparse(call.func)
    if name not in _KNOWN:
        close = difflib.get_close_matches(name, _KNOWN, 1)
        raise ValueError(f"there is no transform {name!r}" + (
            f": did you mean {close[0]!r}?" if close else f"; {_OWN}"))
    made: Transform = _KNOWN[name](*map(_valued, call.args), **{
        keyword.arg or "**": _valued(keyword.value) for keyword in call.keywords})
    return made


def _valued(node: ast.expr) -> Any:
    """A parameter: as in Python, but a word needs no quotes, and it may hold transforms."""
    if isinstance(node, ast.Name) and node.id not in _KNOWN:
        return node.id
    if isinstance(node, (ast.Call, ast.Name)):
        return _called(node)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_valued(item) for item in node.elts]
    return ast.literal_eval(node)


def _listed(transforms: Any) -> Iterable[Any]:
    if isinstance(transforms, (str, bytes, dict)) or not isinstance(transforms, Iterable):
        raise _unknown(transforms) if callable(transforms) else TypeError(
            f"{short(transforms)} is no list of transforms, such as [stoker.ToTensor()]")
    return transforms


def _is_torchvision(transform: object) -> bool:
    return type(transform).__module__.startswith("torchvision.transforms")


def _from_torchvision(transform: Any) -> List[Dict[str, Any]]:
    name = type(transform).__name__
    if _is_torchvision(transform) and name == "Compose":
        return to_dicts(transform.transforms)
    if _is_torchvision(transform) and name in _CASTS:
        return _cast(transform)
    if _is_torchvision(transform) and name == "ImageClassification":  # weights.transforms()
        return to_dicts([Resize(transform.resize_size, _plain(transform.interpolation)),
                         CenterCrop(transform.crop_size), ToTensor(),
                         Normalize(transform.mean, transform.std)])
    if not _is_torchvision(transform) or name not in _KNOWN:
        raise _unknown(transform)
    # On the images that stoker decodes torchvision always antialiases, whatever this says.
    values = {field.name: getattr(transform, field.name) for field in fields(_KNOWN[name])
              if field.name != "antialias" and hasattr(transform, field.name)
              and not inspect.ismethod(getattr(transform, field.name))}  # a Module has to()
    if name == "FixedSizeCrop":
        values["size"] = (transform.crop_height, transform.crop_width)
    if name == "RandomIoUCrop":
        values["sampler_options"] = transform.options
    return [_KNOWN[name](**values).to_dict()]


def _unknown(transform: Any) -> TypeError:
    named = transform if isinstance(transform, str) else getattr(transform, "__name__", "")
    name = named.partition("(")[0].strip()
    if name in _KNOWN:
        return TypeError(f"{short(transform)} is a {'text' if named is transform else 'class'} and "
                         f"not a transform: write stoker.{name}(...)")
    return TypeError(f"{short(transform)} is no transform of the daemon, and no code of yours runs "
                     "in it: give stoker.Map(it) in its place, which runs it in processes of yours")


def advised(error: PipelineError) -> PipelineError:
    """The same error, and what to do where the daemon has no such transform."""
    if "there is no transform" not in str(error):
        return error
    found = re.search("there is no transform '([^']*)'", str(error))
    close = difflib.get_close_matches(found[1] if found else "", _KNOWN, 1)
    return type(error)(error.code, error.name, f"{error}" + (
        f": did you mean {close[0]!r}?" if close else f"; {_OWN}"))


def _cast(transform: Any) -> List[Dict[str, Any]]:
    """To fractions is ToTensor; to bytes is nothing, for the loader's dtype says what comes."""
    dtype = getattr(transform, "dtype", None)
    if not getattr(dtype, "is_floating_point", False):
        return []
    if not getattr(transform, "scale", True):
        raise TypeError(f"{transform!r}: values are from 0 to 1 here: take scale=True, and divide "
                        "mean and std of a Normalize behind it by 255")
    return [ToTensor().to_dict()]


def _held(transform: Any) -> Dict[str, Any]:
    """One transform within another: what torchvision composes stays one."""
    if _is_torchvision(transform) and type(transform).__name__ == "Compose":
        transform = Compose(transform.transforms)
    found = to_dicts([transform])
    if not found:
        raise TypeError(f"{transform!r} stands in another transform, and changes nothing here: "
                        "leave it out")
    return found[0]


def _plain(value: Any) -> Any:
    """Tuples, numpy numbers and arrays, enums: as msgpack takes them."""
    if hasattr(value, "tolist"):  # numpy, torch
        value = value.tolist()
    if hasattr(value, "value"):  # torchvision's InterpolationMode
        value = value.value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Transform) or _is_torchvision(value):
        return _held(value)
    return value
