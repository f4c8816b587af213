# SPDX-License-Identifier: MIT
"""Parquet files as samples for tar shards. Needs pyarrow. Any thread."""
from __future__ import annotations

import datetime
import decimal
import glob
import os
import uuid
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from .errors import short

Files = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]

_SIGNATURES = ((b"\xff\xd8", "jpg"), (b"\x89PNG", "png"), (b"RIFF", "webp"), (b"BM", "bmp"),
               (b"GIF8", "gif"), (b"II*\0", "tif"), (b"MM\0*", "tif"))
# What str() gives of these says all of them.
_TEXTS = (datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, uuid.UUID)


def from_parquet(files: Files, image: str = "image",
                 label: Optional[str] = "label") -> Iterator[Dict[str, Any]]:
    """The rows of parquet files, such as Hugging Face's: the column ``image`` holds files' bytes,
    or structs with ``bytes``; ``label`` becomes ``cls`` (None: there is none). Other columns of
    bytes or of such structs become components of their names, all others ``json``, in which dates,
    times and decimals are texts as str() gives them.

    ``files``: a path, a pattern such as "data/train-*.parquet", or a list of them. Needs pyarrow.
    Raises ValueError, which names file, row (from 0) and column.
    """
    from pyarrow import parquet  # pylint: disable=import-error,import-outside-toplevel

    number = 0
    for path in _paths(files):
        file = parquet.ParquetFile(path)
        _check_columns(path, file.schema_arrow.names, image, label)
        row_number = 0
        for batch in file.iter_batches(batch_size=64):
            for row in batch.to_pylist():
                try:
                    sample = _sample(row, image, label)
                except ValueError as error:
                    raise ValueError(f"{path}: row {row_number}: {error}") from None
                yield {"__key__": f"{number:09}", **sample}
                number += 1
                row_number += 1


def _paths(files: Files) -> List[str]:
    listed = [files] if isinstance(files, (str, os.PathLike)) else files
    out: List[str] = []
    for one in [os.fspath(path) for path in listed]:
        found = [one] if os.path.exists(one) else sorted(glob.glob(one, recursive=True))
        if not found:
            raise FileNotFoundError(f"no file fits {one!r}: check the path")
        out += found
    return out


def _check_columns(path: str, names: List[str], image: str, label: Optional[str]) -> None:
    for name in (image, label):
        if name is not None and name not in names:
            more = "; label=None is for rows without one" if name == label else ""
            raise ValueError(f"{path} has no column {name!r}, only {', '.join(names)}{more}")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"{path} has two columns {twice[0]!r}: rename one")


def _sample(row: Dict[str, Any], image: str, label: Optional[str]) -> Dict[str, Any]:
    data = _bytes_of(row.pop(image))
    if data is None:
        raise ValueError(f"there are no bytes in {image!r}")
    sample: Dict[str, Any] = {}
    ending = _ending(data)
    if ending is None:
        raise ValueError(f"{image!r} is not a picture that shards can have (JPEG, PNG, WebP, BMP, "
                         f"GIF, TIFF): it begins with {data[:8]!r}")
    sample[ending] = data
    if label is not None:
        sample["cls"] = _label(label, row.pop(label))
    rest = {}
    for name, value in row.items():
        data = _bytes_of(value)
        if data is None:
            rest[name] = _plain(name, value)
        else:
            _check_component(name, sample)
            sample[name] = data
    if rest:
        sample["json"] = rest
    return sample


def _label(name: str, value: Any) -> Any:
    if value is None or value != value:  # NaN
        raise ValueError(f"the label {name!r} is {'null' if value is None else value}"
                         ": write a number or a text")
    return int(value) if isinstance(value, bool) else value


def _bytes_of(value: Any) -> Optional[bytes]:
    """The bytes of a file: themselves, or those of Hugging Face's struct."""
    if isinstance(value, Mapping) and set(value) <= {"bytes", "path"}:
        value = value.get("bytes")
    return value if isinstance(value, bytes) else None


def _ending(data: bytes) -> Optional[str]:
    if data[4:12] in (b"ftypavif", b"ftypavis"):
        return "avif"
    return next((ending for signature, ending in _SIGNATURES if data.startswith(signature)), None)


def _check_component(name: str, sample: Mapping[str, Any]) -> None:
    if name in sample or name == "json" or "/" in name or name.startswith("__"):
        raise ValueError(f"the column {name!r} has bytes, and a further component cannot have that "
                         "name: rename the column")


def _plain(name: str, value: Any) -> Any:
    """As JSON can have it."""
    if isinstance(value, _TEXTS):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _plain(name, one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(name, one) for one in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"the column {name!r} has {short(value)}, which JSON cannot have: write the "
                     "file without it")
