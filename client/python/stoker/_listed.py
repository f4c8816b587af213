# SPDX-License-Identifier: MIT
"""Lists of paths as a dataset: a manifest in memory, for the daemon. Any thread."""
from __future__ import annotations

import json
import os
from collections.abc import Mapping, Set
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from ._in_memory import InMemory
from ._paths import absolute
from ._pictures import is_picture
from .errors import short

_text = json.encoder.encode_basestring_ascii


def is_list(dataset: Any) -> bool:
    """Is it a list of paths, of pairs (path, label), or a column of texts (numpy, pandas)?"""
    if isinstance(dataset, (list, tuple, zip)):
        return True
    ndim = getattr(dataset, "ndim", None)  # a Delayed of dask has any attribute
    return type(ndim) is int and ndim == 1 and hasattr(dataset, "tolist")


def is_url(path: str) -> bool:
    """Is it the URL of data that a daemon reads? Raises ValueError if it is another URL."""
    scheme, mark, _ = path.partition("://")
    if not mark or "/" in scheme:
        return False
    if scheme.lower() not in ("s3", "http", "https"):
        raise ValueError("the daemon reads from s3://, http:// and https://, not from "
                         f"{scheme}://: mount or download it")
    return True


MASKS = ('a manifest: a file .jsonl with a line {"path": "a.jpg", "mask": "a.png"} for each '
         "picture, and its folder as root")


def described(dataset: Any, labels: Any = None) -> Dict[str, Any]:
    """A list, for the daemon. Raises TypeError and ValueError, which name the entry; OSError."""
    paths, labels = _columns(list(dataset), labels)
    parents: Dict[str, str] = {}
    whole = [_whole(number, path, parents) for number, path in enumerate(paths)]
    if os.path.isdir(whole[0]):
        raise TypeError(f"entry 0 of the list is a folder, {whole[0]}: a list is of pictures; for "
                        "several datasets give a stoker.Mix, and for pictures with masks " + MASKS)
    root = _root(whole)
    rows = _rows(whole, labels, 1 if root == "/" else len(root) + 1)
    file = InMemory.known("list.jsonl", lambda file: file.writelines(row.encode() for row in rows))
    return {"path": file, "kind": "manifest", "root": root}


def _columns(entries: List[Any], labels: Any) -> Tuple[List[Any], Optional[List[Any]]]:
    """The paths, and the labels as Python's numbers, texts and lists of numbers."""
    if not entries:
        raise ValueError("the list of paths is empty: give at least one")
    if isinstance(entries[0], (tuple, list)):
        if labels is not None:
            raise ValueError("the list has pairs (path, label): leave out labels=")
        for number, entry in enumerate(entries):
            if not isinstance(entry, (tuple, list)) or len(entry) != 2:
                raise ValueError(f"entry {number} of the list is {short(entry)}, and the first "
                                 "is a pair (path, label): give pairs alone")
        labels = [entry[1] for entry in entries]
        entries = [entry[0] for entry in entries]
    if labels is None:
        return entries, None
    if isinstance(labels, (str, bytes, Mapping, Set)) or \
            (getattr(labels, "ndim", 1) > 1 and not hasattr(labels, "tolist")):
        raise TypeError(f"labels= is {short(labels)}: it must be a sequence of labels in the order "
                        "of the paths; a mapping gives [labels[path] for path in paths], a table "
                        "one column")
    labels = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if len(labels) != len(entries):
        raise ValueError(f"there are {len(labels)} labels for {len(entries)} paths")
    return entries, labels


def _whole(number: int, path: Any, parents: Dict[str, str]) -> str:
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise TypeError(f"entry {number} of the list must be a path, not "
                        f"{type(path).__name__}") from None
    if not text:
        raise ValueError(f"entry {number} of the list is an empty path: leave it out")
    if "://" in text:
        raise ValueError(f"entry {number} of the list is a URL ({text!r}): URLs of single pictures "
                         "are not read; write a manifest beside them, with relative paths")
    if text[0] != "/" or "//" in text or "/." in text:
        text = absolute(os.path.expanduser(text), parents)
    return text


def _root(paths: Sequence[str]) -> str:
    """The folder that all lie in: what the least and the greatest have in common, all have."""
    return os.path.dirname(os.path.commonprefix([min(paths), max(paths)]))


def _rows(paths: Sequence[str], labels: Optional[Sequence[Any]], start: int) -> Iterator[str]:
    for number, path in enumerate(paths):
        try:
            path.encode()
        except UnicodeEncodeError:
            raise ValueError(f"entry {number} of the list, {path!r}, is not UTF-8: write a "
                             "manifest in the format csv, whose paths are bytes") from None
        if labels is None:
            yield f'{{"path": {_text(path[start:])}}}\n'
        else:
            label = _label(number, labels[number])
            yield f'{{"path": {_text(path[start:])}, "label": {label}}}\n'


def _label(number: int, label: Any) -> str:
    """As JSON."""
    if type(label) is int:
        return str(label)
    if isinstance(label, (np.generic, np.ndarray)):
        label = label.tolist()
    if isinstance(label, (str, os.PathLike)) and is_picture(os.fspath(label)):
        raise ValueError(f"the label of entry {number} is a picture, {short(label)}: were masks "
                         f"meant? Give {MASKS}")
    if isinstance(label, str):
        return _text(label)
    try:
        return json.dumps([_number(one) for one in label] if isinstance(label, (list, tuple))
                          else _number(label), allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError(f"the label of entry {number} is {short(label)}: it must be a number, a "
                         "list of numbers, or the name of a class") from None


def _number(value: Any) -> Any:
    """An int or float; tensors and numbers of NumPy are turned into these."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    return value
