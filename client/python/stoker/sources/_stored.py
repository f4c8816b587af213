# SPDX-License-Identifier: MIT
"""What all sources of files share: the source, whose identity is a fingerprint of its files; its
rows, which each process opens for itself; and the files' stamps. Knows no format. Any thread."""
from __future__ import annotations

import hashlib
import importlib
import os
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from ..produce.source import Shards, Source

Path = Union[str, "os.PathLike[str]"]

_SPREAD = 16  # blocks of a file whose bytes are part of its fingerprint
_BLOCK = 4096
_INTEGERS = "biu"  # kinds of NumPy's dtypes


def library(module: str, package: str) -> Any:
    """Import what reads a format. Raises ImportError, which says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"to read this takes {module}: pip install {package} ({error})"
                          ) from error


def fingerprint(kind: str, parts: Iterable[Any]) -> str:
    """An identity of at most 64 characters. ``parts``: bytes, texts, numbers and None, each of what
    decides which samples there are; no paths and no times."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode("utf-8", "surrogatepass")
        state.update(b"%d:" % len(data))
        state.update(data)
    return f"{kind} {state.hexdigest()}"


def spread(path: str) -> bytes:
    """A digest of a file's size, its first and last block and some between: of formats whose own
    index stays the same when values change."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        state = hashlib.blake2b(str(size).encode(), digest_size=16)
        for number in range(_SPREAD):
            file.seek(max(0, size - _BLOCK) * number // (_SPREAD - 1))
            state.update(file.read(_BLOCK))
    return state.digest()


def named(given: str, names: Sequence[str], where: str, hint: str = "") -> str:
    """The column of this name, or of its plural. Raises ValueError, which says those there are."""
    for name in (given, f"{given}s"):
        if name in names:
            return name
    raise ValueError(f"{where} has no column {given!r}, only {', '.join(map(repr, names))}{hint}")


def whole(value: Any, name: str) -> int:
    """A label. Raises ValueError if it is no whole number."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if isinstance(value, int) or (kind and kind in _INTEGERS and value.ndim == 0):
        return int(value)
    if value is None or value != value:  # NaN
        raise ValueError(f"the label {name!r} is {'null' if value is None else value}"
                         ": store a number or a text")
    if (isinstance(value, float) or kind == "f") and float(value).is_integer():
        return int(value)
    raise ValueError(f"the label {name!r} is {value!r}, and a picture's label is a whole "
                     "number: correct it, or give label=None")


class Files:
    """Files as they were when this was made, by their stamps: size, time of the last change and
    inode."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.paths = [os.path.abspath(os.fspath(path)) for path in paths]
        self._stamps = [_stamp(path) for path in self.paths]

    def __len__(self) -> int:
        return len(self.paths)

    def check(self, number: int) -> None:
        """Raises ValueError if this file is another one now."""
        path = self.paths[number]
        if _stamp(path) != self._stamps[number]:
            raise ValueError(f"{path} was replaced or written to since the source was made of it, "
                             "so its rows may be others: make the source and its loader anew")

    def check_all(self) -> None:
        for number in range(len(self.paths)):
            self.check(number)


def _stamp(path: str) -> Tuple[int, int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ino


class Rows:
    """Makes samples of rows. What it has opened stays in this process; another one opens it anew,
    at its first row."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._opened: Any = None

    def open(self) -> Any:
        """What the format's library gives, opened once in each process."""
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def _open(self) -> Any:
        raise NotImplementedError

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __copy__(self) -> Rows:
        made: Rows = type(self).__new__(type(self))
        made.__setstate__(self.__getstate__())
        return made

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)


class Stored(Source):
    """A source of files. Its identity is their fingerprint, wherever they lie.

    ``class_names``: of the labels, where the files have them; the labels are classes then."""

    def __init__(self, rows: Rows, samples: int, *, kind: str, gives: str, of: Iterable[Any],
                 classes: Optional[Sequence[str]] = None, shards: Optional[Shards] = None
                 ) -> None:
        name = os.path.basename(rows.files.paths[0])[:80] if rows.files.paths else ""
        if samples < 1:
            raise ValueError(f"{name or 'the dataset'} has no rows: fill it")
        finished = gives == "arrays"
        super().__init__(rows, samples, gives=gives, pure=None if finished else True,
                         classes=len(classes) if classes and not finished else None)
        self.name = f"{kind} {name}".strip()
        self.shards = shards
        self.class_names: List[str] = list(classes or ())
        self._fingerprint = fingerprint(kind, [gives, *of, self.class_names])

    def identity(self) -> str:
        return self._fingerprint
