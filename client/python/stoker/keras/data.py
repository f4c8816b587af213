# SPDX-License-Identifier: MIT
"""What a user of Keras' flows hands over, for the daemon: arrays in memory, and lists of files.

Follows Keras in which files and rows count and in which order, and takes WebP, too. Imports neither
Keras nor pandas.
"""
from __future__ import annotations

import os
import warnings
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .._in_memory import InMemory, array_file
from .._paths import absolute

_ENDINGS = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")  # Keras', with or without a dot


class Images:
    """The images of an array, in ``file``; ``size``: height and width. ``gray``: the daemon gives
    them three equal channels; ``colour``: they are bytes of three."""

    def __init__(self, x: Any, data_format: str) -> None:
        values = np.asarray(x)
        if values.ndim != 4:
            raise ValueError(f"an array of rank 4 is needed, not of shape {values.shape}")
        if data_format == "channels_first":
            values = values.transpose(0, 2, 3, 1)
        channels = values.shape[3]
        if channels not in (1, 3, 4):
            raise ValueError(f"images have 1, 3 or 4 channels, not {channels}: is data_format="
                             f"{data_format!r} right for an array of shape {np.shape(x)}?")
        values = _numbers(values, channels in (1, 3))
        self.gray = channels == 1 and values.dtype == np.uint8
        self.colour = channels == 3 and values.dtype == np.uint8
        self.size = values.shape[1:3]
        values = values[..., 0] if self.gray else values
        self.file = array_file("images", np.ascontiguousarray(values))


def _numbers(values: Any, may_be_bytes: bool) -> Any:
    """As bytes if that changes nothing: they need a quarter of the memory. Else as float32."""
    if values.dtype == np.uint8 and may_be_bytes:
        return values
    if may_be_bytes:
        with np.errstate(invalid="ignore"):
            whole = values.astype(np.uint8)
        if np.array_equal(whole, values):
            return whole
    return values.astype(np.float32)


class Files(NamedTuple):
    """``names`` as the user has them, ``paths`` absolute or as os.path.join() made them, and of
    each the number of its class (of several, a list), or what else ``labels`` are."""

    names: List[str]
    paths: List[str]
    labels: Any
    classes: Optional[List[str]]
    weights: Any = None

    def every_class(self) -> bool:
        """Has each class a file? For the daemon a folder of one without is a mistake, for Keras it
        is a class."""
        return len(np.unique(self.labels)) == len(self.classes or ())


def manifest(paths: Sequence[str]) -> Dict[str, Any]:
    """A list of files as a dataset; the label of each is its number."""
    if not paths:
        raise ValueError("no images were found: check the paths")
    whole = [absolute(path) for path in paths]
    root = os.path.commonpath([os.path.dirname(path) for path in whole])
    rows = [b"path\tlabel\n"]
    for number, path in enumerate(whole):
        path = os.path.relpath(path, root)
        if "\t" in path or "\n" in path:
            raise ValueError(f"{path!r}: a tab or a line break in the name of a file is not "
                             "supported")
        rows.append(os.fsencode(path) + b"\t%d\n" % number)
    file = InMemory.known("files.tsv", lambda file: file.writelines(rows))
    return {"path": file, "kind": "manifest", "root": root}


def split_range(count: int, split: Optional[Tuple[float, float]]) -> slice:
    return slice(None) if split is None else slice(int(split[0] * count), int(split[1] * count))


def files_of_directory(directory: Any, classes: Sequence[str], follow_links: bool,
                       split: Optional[Tuple[float, float]]) -> Files:
    """The files of these classes, in their order, each class's sorted by folder and then by
    name."""
    directory = os.fsdecode(directory)
    names: List[str] = []
    labels: List[int] = []
    for label, name in enumerate(classes):
        folder = os.path.join(directory, name)
        found = [os.path.join(name, os.path.relpath(os.path.join(place, file), folder))
                 for place, _, files in sorted(os.walk(folder, followlinks=follow_links))
                 for file in sorted(files) if file.lower().endswith(_ENDINGS)]
        found = found[split_range(len(found), split)]
        names += found
        labels += [label] * len(found)
    return Files(names, [os.path.join(directory, name) for name in names],
                 np.array(labels, np.int32), list(classes))


def files_of_dataframe(dataframe: Any, directory: Optional[str], x_col: str, y_col: Any,
                       weight_col: Optional[str], classes: Optional[Sequence[str]],
                       class_mode: Optional[str], validate: bool,
                       split: Optional[Tuple[float, float]]) -> Files:
    """The rows of a pandas.DataFrame, or of a dict of columns."""
    names = list(dataframe[x_col])
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"All values in column x_col={x_col} must be strings.")
    paths = [os.path.join(directory or "", name) for name in names]
    rows = _valid_rows(paths, x_col) if validate else list(range(len(names)))
    found: Any = None
    known: Optional[List[str]] = None
    if class_mode in ("categorical", "binary", "sparse"):
        column = list(dataframe[y_col])
        rows, found, known = _classed(column, rows, y_col, class_mode, classes)
    elif classes:
        warnings.warn(f'`classes` will be ignored given the class_mode="{class_mode}"',
                      stacklevel=4)
    part = split_range(len(rows), split)
    rows = rows[part]
    if known is not None:
        labels: Any = found[part]
    elif class_mode == "multi_output":
        if not isinstance(y_col, list):
            raise TypeError(f'If class_mode="{class_mode}", y_col must be a list. Received '
                            f"{type(y_col).__name__}.")
        labels = [np.array([list(dataframe[name])[row] for row in rows]) for name in y_col]
    elif class_mode == "raw":
        labels = _raw(dataframe, y_col)[rows]
    else:
        labels = None
    weights = np.asarray(dataframe[weight_col])[rows] if weight_col else None
    if weights is not None and not np.issubdtype(weights.dtype, np.number):
        raise TypeError(f"Column weight_col={weight_col} must be numeric.")
    return Files([names[row] for row in rows], [paths[row] for row in rows], labels, known, weights)


def _raw(dataframe: Any, y_col: Any) -> Any:
    if isinstance(y_col, (list, tuple)):
        return np.stack([np.asarray(dataframe[name]) for name in y_col], axis=1)
    return np.asarray(dataframe[y_col])


def _valid_rows(paths: List[str], x_col: str) -> List[int]:
    rows = [row for row, path in enumerate(paths)
            if path.lower().endswith(_ENDINGS) and os.path.isfile(path)]
    if len(rows) < len(paths):
        warnings.warn(f'Found {len(paths) - len(rows)} invalid image filename(s) in x_col='
                      f'"{x_col}". These filename(s) will be ignored.', stacklevel=5)
    return rows


def _classed(column: List[Any], rows: List[int], y_col: Any, class_mode: str,
             classes: Optional[Sequence[str]]) -> Tuple[List[int], List[Any], List[str]]:
    """The rows that have a class, the numbers of their classes, and the names."""
    kinds = (str, list, tuple) if class_mode == "categorical" else (str,)
    if not all(isinstance(value, kinds) for value in column):
        raise TypeError(f'If class_mode="{class_mode}", y_col="{y_col}" column values must be '
                        + ("type string, list or tuple." if len(kinds) > 1 else "strings."))
    names = list(dict.fromkeys(classes)) if classes else \
        sorted({name for row in rows for name in _several(column[row])})
    two = len(set(classes or column)) if class_mode == "binary" else 2
    if two != 2:
        raise ValueError('If class_mode="binary" there must be 2 classes. '
                         + (f"{two} class/es were given." if classes else f"Found {two} classes."))
    number = {name: label for label, name in enumerate(names)}
    kept: List[int] = []
    labels: List[Any] = []
    for row in rows:
        found = [number[name] for name in _several(column[row]) if name in number]
        if found:
            kept.append(row)
            labels.append(found[0] if isinstance(column[row], str) else found)
    return kept, labels, names


def _several(value: Any) -> Iterable[str]:
    return (value,) if isinstance(value, str) else value


def files_of_folder(directory: str, names: List[str], classes: List[str],
                    split: Optional[Tuple[float, float]]) -> Tuple[Files, Any]:
    """The files of a folder that the daemon has listed, those of each class together, and the
    number of each among them all."""
    number = {name: label for label, name in enumerate(classes)}
    labels = np.array([number[name.partition("/")[0]] for name in names], np.int32)
    rows = np.arange(len(names))
    if split is not None:
        rows = np.concatenate([part[split_range(len(part), split)] for part in
                               (rows[labels == label] for label in range(len(classes)))])
    kept = [names[row] for row in rows]
    return Files(kept, [os.path.join(directory, name) for name in kept], labels[rows],
                 classes), rows
