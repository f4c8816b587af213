# SPDX-License-Identifier: MIT
"""Map: the user's own function amid the transforms of the daemon."""
from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass, field
from typing import Any, Collection, Dict, Iterator, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from .. import _options
from ..transforms import Transform
from .picture import pnm
from .producer import Record, RecordOfArrays
from .seeds import Seeds, as_they_were
from .source import Source
from .tree import Tree

__all__ = ["Map"]

_SIZE = (224, 224)  # of the picture that a function is tried with, if nothing says another
_FIXED = ("CenterCrop", "RandomCrop", "RandomResizedCrop", "Resize", "AspectResize")


@dataclass(frozen=True, eq=False)
class Map(Transform):
    """Your own function at its place in a list of transforms: it gets what those before it make,
    and those behind it go on with what it gives. It runs in processes of yours beside the daemon
    (``num_workers`` of the loader), which shares what they make between trainers.

    Before each call ``random``, ``numpy.random``, torch and the generators that the function holds
    are seeded, so that what it draws depends on the loader's seed, the epoch and the position, and
    not on the number of processes.

    Args:
        function: of a picture: an array of uint8, H x W x 3, which is yours until it returns. A
            transform of albumentations is called with ``image=``; one of torchvision gets a PIL
            image.
        gives: "picture": an array of uint8, H x W x 3 or of one channel, or a PIL image, of any
            size. "arrays": what is finished, and nothing may stand behind it: nested dicts, lists
            and tuples of arrays, tensors, numbers, texts and bytes, each array of one dtype and
            shape in all samples. Batches are then (the same tree, labels).
        takes: "array" or "pil"; None: by the function, see above.
        like: with gives="arrays" a result, to see what results are; None: the function makes one of
            a black picture, here.
        version: names what the function does: two functions of one version are taken as the same;
            None: a digest of its code and state.
        ragged, recycle, deadline, check: as of a Source.
    """

    function: Any
    gives: str = "picture"
    takes: Optional[str] = None
    like: Any = None
    version: Optional[str] = None
    recycle: Optional[int] = None
    deadline: Optional[float] = None
    check: float = 0
    ragged: Union[bool, Collection[str]] = ()
    code: MapCode = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.gives not in ("picture", "arrays"):
            raise ValueError(f"gives must be 'picture' or 'arrays', not {self.gives!r}")
        if self.takes not in (None, "array", "pil"):
            raise ValueError(f"takes must be 'array' or 'pil', not {self.takes!r}")
        if isinstance(self.ragged, str) or (self.gives != "arrays" and self.ragged):
            raise ValueError("ragged is a list of names of arrays, or True, with gives='arrays'")
        if not callable(self.function):
            raise TypeError(f"Map takes a function of a picture; {type(self.function).__name__} is "
                            "none")
        object.__setattr__(self, "code", MapCode(self))

    def to_dict(self) -> Dict[str, Any]:
        return {"name": "Map", **self.code.description()}


_options.name_all(Map)


class MapCode(Source):
    """What producers of a Map run, as they take it."""

    def __init__(self, of: Map) -> None:
        super().__init__(_Caller(of.function, of.takes), 1, version=of.version,
                         recycle=of.recycle, deadline=of.deadline, check=of.check)
        self.name = getattr(of.function, "__qualname__", None) or type(of.function).__qualname__
        self._like, self._arrays = of.like, of.gives == "arrays"
        self._ragged_names = of.ragged

    def look(self, before: Sequence[Mapping[str, Any]]) -> None:
        """See what results are, where ``before`` makes the pictures."""
        if not self._arrays or self.tree is not None:
            return
        like = self._like
        if like is None:
            call = copy.copy(self.code)
            with as_they_were():
                Seeds(call).set(0, 0, 0)
                like = call(np.zeros((*_size_behind(before), 3), np.uint8))
        self.tree = Tree(like, self._ragged_names)

    def identity(self) -> str:
        """As of a source: of what it does with what it gets, and of the shapes that come of it:
        they hang on the pictures, too."""
        self.look(())
        arrays = self._arrays if self.tree is None else self.tree.described(rooms=False)
        told = f"{super().identity()} {self.code.takes} {arrays}"
        return "map " + hashlib.blake2b(told.encode(), digest_size=16).hexdigest()

    def description(self) -> Dict[str, str]:
        """What the list of transforms has of it."""
        self.look(())
        out = {"code": self.identity()}
        if self.tree is not None:
            out["arrays"] = self.tree.described()
        return out

    def record(self) -> Record:
        return pnm if self.tree is None else RecordOfArrays(self.tree)


class _Caller:
    """Calls a function of a picture as it wants to be called."""

    def __init__(self, function: Any, takes: Optional[str]) -> None:
        self.function = function
        package = type(function).__module__.partition(".")[0]
        self.takes = takes or {"albumentations": "image=", "torchvision": "pil"}.get(
            package, "array")

    def __call__(self, picture: np.ndarray[Any, Any]) -> Any:
        if self.takes == "pil":
            from PIL import Image
            return self.function(Image.fromarray(picture))
        if self.takes == "image=":
            return self.function(image=picture)["image"]
        return self.function(picture)


def maps_of(transforms: Any) -> Iterator[Tuple[Map, int]]:
    """The Maps of a list of transforms, or of a Compose of torchvision."""
    if isinstance(transforms, Map):
        yield transforms, 0
        return
    held = getattr(transforms, "transforms", None)
    if held is not None and type(transforms).__module__.startswith("torchvision"):
        transforms = held
    if isinstance(transforms, (list, tuple)):
        for place, transform in enumerate(transforms):
            for found, _ in maps_of(transform):
                yield found, place


def _size_behind(before: Sequence[Mapping[str, Any]]) -> Tuple[int, int]:
    """In which pictures come out, as far as that is seen without them."""
    for transform in reversed(before):
        size = transform.get("size")
        if transform.get("name") not in _FIXED or size is None:
            continue
        if isinstance(size, int):
            if transform["name"] in ("Resize", "AspectResize"):  # of the shorter side only
                continue
            return size, size
        if len(size) == 2:
            return int(size[0]), int(size[1])
        return int(size[0]), int(size[0])
    return _SIZE
