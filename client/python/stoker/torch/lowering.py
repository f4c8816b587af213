# SPDX-License-Identifier: MIT
"""Datasets of torchvision that the daemon can read by itself: their files are decoded and
transformed there, and no code of the program runs.

Only what is known to give the same is taken: the exact classes, not changed, and of the transforms
the first ones that are torchvision's own and known here. Those behind them run as a Map, in the
program's processes. Any thread.
"""
from __future__ import annotations

import sys
from typing import Any, Dict, List, NamedTuple, Optional, Set, Union

from .. import _listed, samplers
from .. import transforms as _transforms
from .._tables import Resize
from .._timm import as_torchvision
from ..produce import shipping
from ..produce.kept import Kept
from ..produce.map import Map
from ..produce.seeds import as_they_were
from ..produce.tree import Tree
from .own_code import differs
from .settings import unusual
from .subsets import indices_within, within

_FOLDERS = ("ImageFolder", "DatasetFolder")
_LOADERS = ("default_loader", "pil_loader")
_OF_TENSORS = ("Normalize", "RandomErasing", "ConvertImageDtype")
_MAKE_TENSORS = {"ToTensor": "float32", "PILToTensor": "uint8"}
# With these it is no picture any more.
_NO_PICTURES = {*_OF_TENSORS, *_MAKE_TENSORS, "ToImage", "ToPureTensor", "ToDtype", "FiveCrop",
                "TenCrop", "ImageClassification"}


class Replaced(str):
    """Why the daemon cannot read it: the program has changed what its library does. A process that
    imports that library anew does not know of it."""


class Lowered(NamedTuple):
    """What Node.loader() takes, for the same samples. ``samples``: what ``dataset`` lists. ``own``:
    the transforms that a Map behind the others runs, in the program's processes, ``kept``."""

    dataset: Dict[str, Any]
    transforms: List[Any]
    dtype: str
    resize: Resize
    samples: List[Any]
    own: List[Any]
    kept: Optional[Kept]

    @property
    def tree(self) -> Optional[Tree]:
        """Of what the Map gives."""
        return self.transforms[-1].code.tree if self.own else None


def lowered(dataset: Any, before: Any = None, workers: int = 0) -> Union[Lowered, str]:
    """As the dataset is now; or why the daemon cannot read it. ``before``: what came of it the last
    time, to list again only what has changed. ``workers``: of the program's own transforms."""
    why = not_a_folder(dataset)
    if why is None:
        why = unusual() if dataset.transform is not None else "it has no transform"
    if why is not None:
        return why
    steps = _steps(dataset.transform)
    known = _known(steps)
    own = steps[known:]
    if own and workers == 0:
        return f"num_workers=0 runs your code here: {_why_any(own)}"
    same = before if isinstance(before, Lowered) else None
    transforms, kept = _transforms.to_dicts(steps[:known]), None
    if own:
        if same is not None and same.own == own:
            mapped, kept = same.transforms[-1], same.kept
        else:
            mapped = _map_of(own, dataset)
            if isinstance(mapped, str):
                return mapped
            kept = Kept(mapped.code)
        transforms.append(mapped)
    try:
        listed = same.dataset if same is not None and same.samples == dataset.samples else \
            _listed.described(dataset.samples)
    except ValueError as error:
        return str(error)
    return Lowered(listed, transforms, _dtype(steps) or "uint8", _resize(), list(dataset.samples),
                   own, kept)


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
        found = lowered(base, workers=1)
        if isinstance(found, str):
            raise TypeError(f"{found}: stoker.torch.DataLoader takes the dataset as it is")
        options["transforms"] = found.transforms
        options.setdefault("dtype", found.dtype)
        options.setdefault("resize", found.resize)
    if lists:
        options["sampler"] = samplers.Subset(indices_within(lists))
    return _listed.described(base.samples)


def replaced(dataset: Any) -> Optional[Replaced]:
    """What the program has changed of torchvision, for a folder of pictures."""
    folders = sys.modules.get("torchvision.datasets.folder")
    if folders is None or not isinstance(dataset, folders.DatasetFolder):
        return None
    whys = [_why_own(step) for step in _steps(getattr(dataset, "transform", None))]
    if type(dataset) in (getattr(folders, name) for name in _FOLDERS):
        whys.append(_changed(dataset, folders))
    return next((why for why in whys if isinstance(why, Replaced)), None)


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
    if any(getattr(each, "__module__", None) != folders.__name__ for each in loaders):
        return Replaced("torchvision's loader of pictures was replaced")
    if dataset.target_transform is not None:
        return "it has a target_transform"
    if "__getitem__" in vars(dataset) or \
            type(dataset).__getitem__.__module__ != folders.__name__:
        return Replaced("its __getitem__ was replaced")
    return None


def _are_pictures(samples: Any) -> bool:
    """Is it a list of (path, number)?"""
    return isinstance(samples, list) and len(samples) > 0 and all(
        isinstance(sample, tuple) and len(sample) == 2 and isinstance(sample[0], str)
        and type(sample[1]) is int for sample in samples)


def _steps(transform: Any) -> List[Any]:
    """The transforms of a Compose, also of those within it."""
    transform = as_torchvision(transform)
    if not _is_exact(transform, "Compose"):
        return [transform]
    return [step for one in transform.transforms for step in _steps(one)]


def _known(steps: List[Any]) -> int:
    """How many of the first ones the daemon runs: all, or those of pictures before one that it
    cannot."""
    if _dtype(steps) is not None and not any(map(_why_own, steps)):
        return len(steps)
    known = 0
    while known < len(steps) and not _names(steps[known]) & _NO_PICTURES \
            and not _why_own(steps[known]):
        known += 1
    return known


def _names(step: Any) -> Set[str]:
    """Of it, and of what it holds."""
    held = getattr(step, "transforms", None)
    inner = held if isinstance(held, (list, tuple)) else ()
    return {type(step).__name__}.union(*map(_names, inner))


def _why_own(transform: Any) -> Optional[str]:
    """Why the daemon does not run it; None: it does."""
    name = getattr(transform, "__qualname__", type(transform).__qualname__)
    if not type(transform).__module__.startswith("torchvision.transforms"):
        return f"{name} is a transform of your own"
    if not _is_exact(transform, type(transform).__name__):
        return Replaced(f"{name} was changed")
    try:
        _transforms.to_dicts([transform])
    except (TypeError, ValueError):
        return f"{name} is none that the daemon has" if name != "Lambda" else \
            "Lambda is code of your own"
    return None


def _why_any(own: List[Any]) -> str:
    return next(filter(None, map(_why_own, own)), "its transforms go on with tensors")


def _map_of(own: List[Any], dataset: Any) -> Union[Map, str]:
    """What runs these of torchvision's pictures; or why it cannot."""
    function = own[0] if len(own) == 1 else type(dataset.transform)(own)
    try:
        copy = shipping.copied(dataset)
        with as_they_were():
            first = copy[0][0]
        mapped = Map(function, gives="arrays", takes="pil", like=first)
        mapped.code.look(())
    except Exception as error:  # of the program's code
        return f"{_why_any(own)}, and producers cannot run it: {error}"
    assert mapped.code.tree is not None
    return differs(first, mapped.code.tree) or mapped


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
            if str(transform.dtype) != "torch.float32" or ".v2" in type(transform).__module__:
                return None  # that of v2 multiplies, by what is rounded
            dtype = "float32"
        elif dtype != "float32":
            return None
    return dtype


def _resize() -> Resize:
    """Whose bytes a resize makes: those of the Pillow that torchvision would use here."""
    import PIL
    major = PIL.__version__.partition(".")[0]
    return "pillow-13" if not major.isdigit() or int(major) >= 13 else "pillow-12"
