# SPDX-License-Identifier: MIT
"""Datasets of torchvision that the daemon can read by itself: their files are decoded and
transformed there, and no code of the program runs.

Only what is known to give the same is taken: the exact classes, not changed, with transforms that
all are torchvision's own and known here, those of pictures before the one that makes a tensor. All
else is left to the program's own code. Any thread.
"""
from __future__ import annotations

import sys
from typing import Any, Dict, List, NamedTuple, Optional, Union

from .. import _listed, samplers
from .. import transforms as _transforms
from .._timm import as_torchvision
from .subsets import indices_within, within

_FOLDERS = ("ImageFolder", "DatasetFolder")
_LOADERS = ("default_loader", "pil_loader")
_OF_TENSORS = ("Normalize", "RandomErasing", "ConvertImageDtype")
_MAKE_TENSORS = {"ToTensor": "float32", "PILToTensor": "uint8"}


class Lowered(NamedTuple):
    """What Node.loader() takes, for the same samples."""

    dataset: Dict[str, Any]
    transforms: List[Any]
    dtype: str
    resize: str
    samples: List[Any]  # what ``dataset`` lists


def lowered(dataset: Any, before: Any = None) -> Union[Lowered, str]:
    """As the dataset is now; or why the daemon cannot read it. ``before``: what came of it the last
    time, to list again only what has changed."""
    why = not_a_folder(dataset)
    transforms = why or _steps(dataset.transform)
    if isinstance(transforms, str):
        return transforms
    dtype = _dtype(transforms)
    if dtype is None:
        return "its transforms do not make a tensor out of a picture and then only change that"
    try:
        steps = _transforms.to_dicts(transforms)
        same = isinstance(before, Lowered) and before.samples == dataset.samples
        listed = before.dataset if same else _listed.described(dataset.samples)
    except TypeError as error:  # it lists what there is
        return str(error).partition(" stoker knows")[0] + " the daemon has" \
            if " stoker knows" in str(error) else str(error)
    except ValueError as error:
        return str(error)
    return Lowered(listed, steps, dtype, _resize(), list(dataset.samples))


def given(dataset: Any, options: Dict[str, Any]) -> Any:
    """What a stoker.torch.Loader is given, as Node.loader() takes it: a folder of torchvision as
    the list of its samples, with its transforms and the part that a Subset has of it, which are put
    into ``options`` where these do not have them. Raises TypeError."""
    base, lists = within(dataset)
    folder = not_a_folder(base) is None
    if not folder and not lists:
        return dataset
    if not folder or (lists and "sampler" in options):
        raise TypeError(f"{type(dataset).__qualname__} of {type(base).__qualname__}: "
                        "stoker.torch.DataLoader takes it as it is")
    if "transforms" not in options:
        found = lowered(base)
        if isinstance(found, str):
            raise TypeError(f"{found}: stoker.torch.DataLoader takes the dataset as it is")
        options["transforms"] = found.transforms
        options.setdefault("dtype", found.dtype)
        options.setdefault("resize", found.resize)
    if lists:
        options["sampler"] = samplers.Subset(indices_within(lists))
    return _listed.described(base.samples)


def not_a_folder(dataset: Any) -> Optional[str]:
    """Why it is no folder of pictures, as torchvision has it; None: it is."""
    folders = sys.modules.get("torchvision.datasets.folder")
    if folders is None or type(dataset) not in (
            getattr(folders, name) for name in _FOLDERS):
        return f"{type(dataset).__qualname__} is not a folder of pictures as torchvision has it"
    why = _changed(dataset, folders)
    if why is None and not _are_pictures(dataset.samples):
        why = "it has other samples than pictures with the number of their class"
    return why


def _changed(dataset: Any, folders: Any) -> Optional[str]:
    """Whether it does something else than its class says."""
    loaders = [getattr(folders, name) for name in _LOADERS]
    if dataset.loader not in loaders:
        return "it has a loader= of its own"
    if dataset.target_transform is not None:
        return "it has a target_transform"
    if "__getitem__" in vars(dataset) or \
            type(dataset).__getitem__.__module__ != folders.__name__:
        return "its __getitem__ was replaced"
    return None


def _are_pictures(samples: Any) -> bool:
    """Is it a list of (path, number)?"""
    return isinstance(samples, list) and len(samples) > 0 and all(
        isinstance(sample, tuple) and len(sample) == 2 and isinstance(sample[0], str)
        and type(sample[1]) is int for sample in samples)


def _steps(transform: Any) -> Union[List[Any], str]:
    """The transforms of a Compose, also of those within it."""
    transform = as_torchvision(transform)
    if _is_exact(transform, "Compose"):
        out: List[Any] = []
        for one in transform.transforms:
            found = _steps(one)
            if isinstance(found, str):
                return found
            out += found
        return out
    if type(transform).__module__.startswith("torchvision.transforms"):
        if not _is_exact(transform, type(transform).__name__):
            return f"{type(transform).__qualname__} was changed"
        if type(transform).__name__ == "Lambda":
            return "Lambda is code of your own"
        return [transform]
    name = getattr(transform, "__qualname__", type(transform).__qualname__)
    return "it has no transform" if transform is None else f"{name} is a transform of your own"


def _is_exact(transform: Any, name: str) -> bool:
    """Is it of torchvision's class of this name, with that class' methods?"""
    kind = type(transform)
    module = sys.modules.get(kind.__module__)
    return kind.__module__.startswith("torchvision.transforms") and \
        getattr(module, name, None) is kind and \
        not {"forward", "__call__"} & vars(transform).keys() and \
        all(getattr(kind, method).__module__ in (kind.__module__, "torch.nn.modules.module")
            or getattr(kind, method).__module__.startswith("torchvision.transforms")
            for method in ("forward", "__call__") if hasattr(kind, method))


def _dtype(transforms: List[Any]) -> Optional[str]:
    """Of the tensors that come, if there is one transform that makes them, and those behind it
    give the same on the daemon's as on torch's."""
    names = [type(transform).__name__ for transform in transforms]
    makers = [place for place, name in enumerate(names) if name in _MAKE_TENSORS]
    if len(makers) != 1 or set(names[makers[0] + 1:]) - set(_OF_TENSORS) or \
            set(names[:makers[0]]) & set(_OF_TENSORS):
        return None
    dtype = _MAKE_TENSORS[names[makers[0]]]
    for transform in transforms[makers[0] + 1:]:
        if type(transform).__name__ == "ConvertImageDtype":
            if str(transform.dtype) != "torch.float32":
                return None
            dtype = "float32"
        elif dtype != "float32":
            return None
    return dtype


def _resize() -> str:
    """Whose bytes a resize makes: those of the Pillow that torchvision would use here."""
    import PIL
    major = PIL.__version__.partition(".")[0]
    return "pillow-13" if not major.isdigit() or int(major) >= 13 else "pillow-12"
