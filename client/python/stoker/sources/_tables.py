# SPDX-License-Identifier: MIT
"""Rows of Arrow's tables: which columns are the picture and the label, and their values. Imports
pyarrow when it is used. Any thread."""
from __future__ import annotations

import bisect
import collections
import glob
import itertools
import json
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._stored import Files, Path, Rows, library, named, whole

_KEPT = 128 << 20  # bytes of rows that a process keeps, beside two groups
_ADVICE = "; label=None is for rows without one"


def files_of(given: Union[Path, Sequence[Path]], endings: Tuple[str, ...]) -> List[str]:
    """A file, a folder of them (with its own folders), a pattern, or a list of these. Raises
    FileNotFoundError."""
    listed = [given] if isinstance(given, (str, os.PathLike)) else given
    out: List[str] = []
    for one in [os.path.expanduser(os.fspath(path)) for path in listed]:
        if os.path.isdir(one):
            found = [path for ending in endings
                     for path in glob.glob(f"{glob.escape(one)}/**/*{ending}", recursive=True)]
        else:
            found = [one] if os.path.exists(one) else glob.glob(one, recursive=True)
        if not found:
            raise FileNotFoundError(f"no file fits {one!r} (endings: {', '.join(endings)}): "
                                    "check the path")
        out += sorted(found)
    return out


class Columns(NamedTuple):
    """``image``, ``label``: of a picture; ``arrays``: of finished samples, and then no picture."""

    image: Optional[str]
    label: Optional[str]
    arrays: Tuple[str, ...]
    names: Tuple[str, ...]  # of the classes; () if labels are numbers without names
    by_name: bool  # the label's column has these names

    def wanted(self, schema: Any) -> List[str]:
        """What is read of a row; of a struct with the path of a picture only its bytes."""
        if self.image is None:
            return list(self.arrays)
        is_struct = library("pyarrow", "pyarrow").types.is_struct(schema.field(self.image).type)
        label = [] if self.label is None else [self.label]
        return [f"{self.image}.bytes" if is_struct else self.image, *label]


def columns_of(schema: Any, where: str, image: Optional[str], label: Optional[str],
               arrays: Optional[Sequence[str]]) -> Columns:
    """Raises ValueError or TypeError, which name the columns that there are."""
    twice = [name for name in schema.names if schema.names.count(name) > 1]
    if twice:
        raise ValueError(f"{where} has two columns {twice[0]!r}: rename one")
    if arrays is not None:
        found = tuple(named(name, schema.names, where) for name in arrays)
        for name in found:
            _numbers(schema.field(name).type, f"{where}: the column {name!r}")
        return Columns(None, None, found, (), False)
    image = _image(schema, where, image)
    if label is None:
        return Columns(image, None, (), (), False)
    label = named(label, schema.names, where, _ADVICE)
    types = library("pyarrow", "pyarrow").types
    kind = schema.field(label).type
    if types.is_dictionary(kind):
        kind = kind.value_type
    by_name = types.is_string(kind) or types.is_large_string(kind)
    if not by_name and not (types.is_integer(kind) or types.is_boolean(kind)
                            or types.is_floating(kind)):
        raise TypeError(f"{where}: the label {label!r} is {kind}: it must be whole numbers, or the "
                        "names of classes")
    return Columns(image, label, (), tuple(_features(schema).get(label, {}).get("names") or ()),
                   by_name)


def _image(schema: Any, where: str, image: Optional[str]) -> str:
    fitting = [field.name for field in schema if _is_picture(field.type)]
    if image is None:
        if "image" in fitting or len(fitting) != 1:
            image = "image"
        else:
            image = fitting[0]
    image = named(image, schema.names, where, f"; bytes are in: {', '.join(fitting) or 'none'}")
    if image not in fitting:
        raise TypeError(f"{where}: the column {image!r} is {schema.field(image).type}, not bytes "
                        "of files; columns=[...] is for rows of numbers, without a picture")
    return image


def _is_picture(kind: Any) -> bool:
    types = library("pyarrow", "pyarrow").types
    if types.is_struct(kind):
        index = kind.get_field_index("bytes")
        return index >= 0 and _is_picture(kind.field(index).type)
    return bool(types.is_binary(kind) or types.is_large_binary(kind))


def _features(schema: Any) -> Dict[str, Any]:
    """What Hugging Face writes of columns."""
    try:
        told = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        found: Dict[str, Any] = told["info"]["features"]
        return {name: one for name, one in found.items() if isinstance(one, dict)}
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}


def _numbers(kind: Any, where: str) -> Any:
    """The dtype of a column of numbers, or of lists of them."""
    types = library("pyarrow", "pyarrow").types
    inner = kind
    while types.is_list(inner) or types.is_large_list(inner) or types.is_fixed_size_list(inner):
        inner = inner.value_type
    if not (types.is_integer(inner) or types.is_floating(inner) or types.is_boolean(inner)):
        raise TypeError(f"{where} is {kind}: an array's column has numbers, or lists of them")
    return np.dtype(inner.to_pandas_dtype())


class TableRows(Rows):
    """Rows that come in groups, each of which is read as a whole: a process keeps the groups that
    it read last. These are all that a window of the order shards has samples of.

    ``groups``: how many rows each group of each file has; ``size``: bytes of all rows."""

    def __init__(self, files: Files, groups: Sequence[Sequence[int]], columns: Columns,
                 wanted: List[str], size: int) -> None:
        super().__init__(files)
        self.sizes = [*itertools.chain(*groups)]
        rows = sum(self.sizes)
        self.window = max(1, rows if size <= _KEPT else _KEPT * rows // size)
        self._kept = self.window + 2 * max(self.sizes, default=0)
        self._groups = [(number, place) for number, rows in enumerate(groups)
                        for place in range(len(rows))]
        self.firsts = [0, *itertools.accumulate(self.sizes)]
        self._columns, self._wanted = columns, wanted

    @property
    def samples(self) -> int:
        return self.firsts[-1]

    def read(self, number: int, place: int) -> Any:
        """A table of the columns of one group of a file."""
        raise NotImplementedError

    def _open(self) -> Any:
        return _Kept(self._kept)

    def __getitem__(self, index: int) -> Any:
        place = bisect.bisect_right(self.firsts, index) - 1
        number, group = self._groups[place]
        self.files.check(number)
        kept = self.open()
        table = kept.get(place)
        if table is None:
            table = self.read(number, group)
            self.files.check(number)  # nobody wrote to it meanwhile
            kept.put(place, table)
        row = index - self.firsts[place]
        try:
            return sample(table, row, self._columns)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.files.paths[number]}: row {index - self._first_of(number)}: "
                              f"{error}") from None

    def _first_of(self, number: int) -> int:
        """The first row of a file."""
        return self.firsts[bisect.bisect_left(self._groups, (number, 0))]


class _Kept:
    """Tables that were used last, of so many rows."""

    def __init__(self, most: int) -> None:
        self._tables: collections.OrderedDict[int, Any] = collections.OrderedDict()
        self._most, self._rows = most, 0

    def get(self, place: int) -> Any:
        if place in self._tables:
            self._tables.move_to_end(place)
        return self._tables.get(place)

    def put(self, place: int, table: Any) -> None:
        self._rows += table.num_rows
        self._tables[place] = table
        while self._rows > self._most and len(self._tables) > 1:
            self._rows -= self._tables.popitem(last=False)[1].num_rows


def sample(table: Any, row: int, columns: Columns) -> Any:
    """Of a row: (bytes, label), or arrays by the names of their columns."""
    if columns.image is None:
        return {name: _array(table.column(name), row, name) for name in columns.arrays}
    data = _bytes(table.column(columns.image)[row].as_py(), columns.image)
    if columns.label is None:
        return data, 0
    label = table.column(columns.label)[row].as_py()
    if not columns.by_name:
        return data, whole(label, columns.label)
    if label is None:
        raise ValueError(f"the label {columns.label!r} is null: correct it, or give label=None")
    return data, bisect.bisect_left(columns.names, label)


def _bytes(value: Any, name: str) -> bytes:
    if isinstance(value, Mapping):
        value = value.get("bytes")
    if not isinstance(value, bytes):
        raise ValueError(f"there are no bytes in {name!r}: if it names files, give their folder")
    return value


def _array(column: Any, row: int, name: str) -> Any:
    scalar = column[row]
    if not scalar.is_valid:
        raise ValueError(f"the column {name!r} is null: fill it, or leave the row out")
    dtype = _numbers(column.type, name)
    flat = getattr(scalar, "values", None)
    if flat is None or hasattr(flat.type, "value_type"):  # a number, or lists within a list
        return np.asarray(scalar.as_py(), dtype)
    if flat.null_count:
        raise ValueError(f"the column {name!r} has a null in its list"
                         ": fill it, or leave the row out")
    return flat.to_numpy(zero_copy_only=False)


def names_of(tables: Any) -> Tuple[str, ...]:
    """The names of classes in columns of texts, sorted."""
    found = set()
    for table in tables:
        found.update(table.column(0).unique().to_pylist())
    return tuple(sorted(found - {None}))
