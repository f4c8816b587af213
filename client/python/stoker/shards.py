# SPDX-License-Identifier: MIT
"""Tar shards, as WebDataset's, written: by an image folder, a list or what a loop gives. Needs no
daemon. stoker.convert has manifests of annotations."""
from __future__ import annotations

import io
import json
import os
import tarfile
from typing import (Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple,
                    Union)

import numpy as np

from . import _pictures
from ._parquet import from_parquet
from .errors import short

__all__ = ["from_folder", "from_parquet", "write_shards"]


def write_shards(samples: Any, pattern: str, *, samples_per_shard: int = 1000,
                 bytes_per_shard: int = 1 << 30) -> List[str]:
    """Write samples as tar shards; the paths of the shards.

    Args:
        samples: path of an image folder; or a list of pairs (path of a picture, label); or mappings
            as webdataset's writer takes them: ``__key__``, and for each component its content, such
            as {"__key__": "a/7", "jpg": data, "cls": 3, "json": {...}, "txt": "..."}: bytes as they
            are, texts, numbers, and lists or mappings as JSON. Only one is in memory at a time.
        pattern: of the names, with the number of the shard: "out/train-%06d.tar".
        samples_per_shard, bytes_per_shard: a shard has at most so many samples, and no further one
            once it has so many bytes.

    A shard has its name once it is whole. The same samples give the same bytes.
    """
    if samples_per_shard < 1 or bytes_per_shard < 1:
        raise ValueError("samples_per_shard and bytes_per_shard must be at least 1")
    try:
        numbered = pattern % 0 != pattern % 1
    except (TypeError, ValueError):
        numbered = False
    if not numbered:
        raise ValueError(f"the pattern {pattern!r} has no number in it: 'train-%06d.tar'"
                         ": name it like that")
    paths: List[str] = []
    keys: Set[str] = set()
    writer: Optional[_Shard] = None
    try:
        for number, sample in enumerate(_samples(samples)):
            if writer and writer.is_full(samples_per_shard, bytes_per_shard):
                writer.close()
                writer = None
            if writer is None:
                writer = _Shard(pattern % len(paths))
                paths.append(writer.path)
                keys.clear()
            key = _key(sample, number)
            if key in keys:
                raise ValueError(f"the key {key!r} comes twice in {writer.path}: give each its "
                                 "own")
            keys.add(key)
            writer.add(key, sample)
        if writer is not None:
            writer.close()
            writer = None
    finally:
        if writer is not None:
            writer.give_up()
    if not paths:
        raise ValueError("there are no samples to write")
    return paths


def from_folder(folder: Union[str, os.PathLike[str]]) -> Iterator[Dict[str, Any]]:
    """The samples of an image folder in ImageFolder's order: picture, ``cls`` (the number of the
    class) and ``json``, {"class": its name}: with ``label="json:class"`` names are classes again.
    What is hidden within class folders (such as ._x.jpg) is left out.
    """
    root = os.fspath(folder)
    names = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    if not names:
        raise ValueError(f"{root} has no class folders: give pairs of path and label")
    for label, name in enumerate(names):
        for place, file in _pictures.files(os.path.join(root, name), _pictures.IMAGES):
            within = os.path.relpath(place, root)
            with open(os.path.join(place, file), "rb") as picture:
                data = picture.read()
            # Dots end a key; two files of one stem keep apart by their endings.
            key = file.replace(".", "_")
            ending = os.path.splitext(file)[1].lower()
            yield {"__key__": f"{within}/{key}", ending[1:]: data, "cls": label,
                   "json": {"class": name}}


def _samples(samples: Any) -> Iterable[Any]:
    if isinstance(samples, (str, os.PathLike)):
        return from_folder(samples)
    return _mappings(samples)


def _mappings(samples: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    for number, sample in enumerate(samples):
        if isinstance(sample, Mapping):
            yield sample
        elif isinstance(sample, (tuple, list)) and len(sample) == 2:
            yield _pair(number, sample[0], sample[1])
        else:
            raise TypeError(f"sample {number} is {short(sample)}: it must be a mapping, or a pair "
                            "(path, label)")


def _pair(number: int, path: Any, label: Any) -> Dict[str, Any]:
    ending = os.path.splitext(os.fsdecode(path))[1].lower()
    if not ending:
        raise ValueError(f"the path of sample {number} has no ending: {path!r}"
                         ": name it with one, as x.jpg")
    with open(path, "rb") as file:
        return {"__key__": f"{number:09}", ending[1:]: file.read(), "cls": label}


def _key(sample: Mapping[str, Any], number: int) -> str:
    key = str(sample.get("__key__", f"{number:09}"))
    if not key or "." in key.rsplit("/", 1)[-1] or key.endswith("/") or key.startswith("__"):
        raise ValueError(f"the key {key!r} of sample {number} cannot be one: its last part must "
                         "have no dot, and it must not begin with __")
    return key


def _content(name: str, value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (dict, list)):
        return json.dumps(value, default=_json_default).encode()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(value).encode()
    raise TypeError(f"the component {name!r} is {short(value)}: it must be bytes, a text, a "
                    "number, a list or a dict; encode pictures first")


def _json_default(value: Any) -> Any:
    """Of what json does not write: NumPy's numbers and arrays."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{short(value)} cannot be JSON: give numbers, texts, lists or dicts")


class _Shard:
    """One shard while it is written, under another name."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._samples = 0
        self._tar = tarfile.open(f"{path}.new", "w", format=tarfile.PAX_FORMAT)

    def is_full(self, samples: int, size: int) -> bool:
        return self._samples >= samples or self._tar.offset >= size

    def add(self, key: str, sample: Mapping[str, Any]) -> None:
        try:
            parts: List[Tuple[str, bytes]] = [(name, _content(name, value))
                                              for name, value in sample.items()
                                              if not name.startswith("__")]
        except (TypeError, ValueError) as error:
            raise type(error)(f"the sample {key!r}: {error}") from None
        if not parts:
            raise ValueError(f"the sample {key!r} has no components: give it one at least")
        for name, data in parts:
            info = tarfile.TarInfo(f"{key}.{name}")
            info.size, info.mode = len(data), 0o444
            self._tar.addfile(info, io.BytesIO(data))
        self._samples += 1

    def close(self) -> None:
        """It is whole."""
        self._tar.close()
        os.replace(f"{self.path}.new", self.path)

    def give_up(self) -> None:
        self._tar.close()
        os.unlink(f"{self.path}.new")
