# SPDX-License-Identifier: MIT
"""MosaicML's MDS shards, by streaming (the package mosaicml-streaming)."""
from __future__ import annotations

import bisect
import itertools
import json
import os
from typing import Any, Dict, List, Optional, Sequence

from ..produce.source import Shards
from ._stored import Files, Path, Rows, Stored, library, named, whole

_ADVICE = "; label=None is for rows without one"
_FILES = ("jpeg", "png", "bytes")  # encodings whose bytes are those of a file
_NUMBERS = ("int", "ndarray", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32",
            "int64", "float16", "float32", "float64")


class MDS(Stored):
    """The rows of a folder of MDS shards, unpacked, with its index.json.

    Args:
        folder: that of one split.
        image: the column of jpeg, png or bytes; None: "image", or the only one.
        label: the column of whole numbers; None: there is none.
        columns: instead of a picture, columns of numbers and arrays; samples are dicts then.

    Its fingerprint is of index.json. Only the columns that are used are decoded, so no pickle is.
    """

    def __init__(self, folder: Path, image: Optional[str] = None, label: Optional[str] = "label",
                 columns: Optional[Sequence[str]] = None) -> None:
        folder = os.path.abspath(os.path.expanduser(os.fspath(folder)))
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
            shards: List[Dict[str, Any]] = json.load(file)["shards"]
        if not shards or any(shard["format"] != "mds" for shard in shards):
            raise ValueError(f"{folder}/index.json names no shards of the format mds"
                             ": write it with MDSWriter")
        encodings = dict(zip(shards[0]["column_names"], shards[0]["column_encodings"]))
        if columns is None:
            used = _picture(folder, encodings, image, label)
        else:
            used = [named(name, list(encodings), folder) for name in columns]
            for name in used:
                if encodings[name].partition(":")[0] not in _NUMBERS:
                    raise TypeError(f"{folder}: the column {name!r} is {encodings[name]}: an "
                                    "array's column is of numbers or arrays")
        rows = _Rows(folder, shards, used, columns is None)
        super().__init__(rows, rows.firsts[-1], kind="mds",
                         shards=Shards([shard["samples"] for shard in shards]),
                         gives="bytes" if columns is None else "arrays",
                         of=[json.dumps(shards, sort_keys=True), *used])


def _picture(folder: str, encodings: Dict[str, str], image: Optional[str],
             label: Optional[str]) -> List[str]:
    fitting = [name for name, encoding in encodings.items() if encoding in _FILES]
    if image is None:
        image = fitting[0] if len(fitting) == 1 else "image"
    image = named(image, list(encodings), folder,
                  f"; files are in: {', '.join(fitting) or 'none'}")
    if image not in fitting:
        raise TypeError(f"{folder}: the column {image!r} is {encodings[image]}, not jpeg, png or "
                        "bytes")
    return [image] if label is None else [image, named(label, list(encodings), folder, _ADVICE)]


class _Rows(Rows):
    def __init__(self, folder: str, shards: List[Dict[str, Any]], used: List[str],
                 is_picture: bool) -> None:
        super().__init__(Files(os.path.join(folder, shard["raw_data"]["basename"])
                               for shard in shards))
        self.firsts = [0, *itertools.accumulate(shard["samples"] for shard in shards)]
        self._folder, self._shards = folder, shards
        self._used, self._is_picture = used, is_picture

    def _open(self) -> Any:
        """Readers of all shards, which open a shard's file for each sample."""
        make = library("streaming.base.format", "mosaicml-streaming").reader_from_json
        readers = [make(self._folder, None, shard) for shard in self._shards]
        raw = self._used[:1] if self._is_picture else []
        for reader in readers:
            reader.column_encodings = [
                encoding if name in self._used and name not in raw else "bytes"
                for name, encoding in zip(reader.column_names, reader.column_encodings)]
        return readers

    def __getitem__(self, index: int) -> Any:
        shard = bisect.bisect_right(self.firsts, index) - 1
        self.files.check(shard)
        row = self.open()[shard][index - self.firsts[shard]]
        self.files.check(shard)
        if not self._is_picture:
            return {name: row[name] for name in self._used}
        image, *label = self._used
        return bytes(row[image]), whole(row[label[0]], label[0]) if label else 0
