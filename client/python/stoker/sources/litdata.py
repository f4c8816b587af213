# SPDX-License-Identifier: MIT
"""LitData's optimized datasets, by litdata."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Union

from ..produce.source import Shards
from ._stored import Files, Path, Rows, Stored, library, named, whole

_ADVICE = "; label=None is for rows without one"
_FILES = ("jpeg", "image")  # formats whose bytes are those of a file, and which are decoded else


class LitData(Stored):
    """The rows of a folder that ``litdata.optimize()`` wrote, with its index.json.

    Args:
        folder: on this machine, its chunks not packed.
        image: the key of the picture in a sample that is a dict, or its place in one that is a
            tuple or list; None: "image", or 0.
        label: likewise of a whole number; None: there is none.

    Samples are the bytes of JPEG files, or what was given as bytes. Other samples: ``stoker.Source(
    dataset, gives="arrays")``. Its fingerprint is of the chunks and the format in index.json, not
    of its time.
    """

    def __init__(self, folder: Path, image: Union[None, str, int] = None,
                 label: Union[None, str, int] = "label") -> None:
        folder = os.path.abspath(os.path.expanduser(os.fspath(folder)))
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
            index: Dict[str, Any] = json.load(file)
        chunks, config = index["chunks"], index["config"]
        if config.get("compression") or config.get("encryption"):
            raise ValueError(f"{folder} is packed or encrypted, which LitData unpacks into a cache "
                             "of its own: give stoker.Source(dataset) of a StreamingDataset")
        files = Files(os.path.join(folder, chunk["filename"]) for chunk in chunks)
        rows = _Rows(files, folder, image, label)
        sizes = [chunk["chunk_size"] for chunk in chunks]
        super().__init__(rows, sum(sizes), kind="litdata", gives="bytes", shards=Shards(sizes),
                         of=[json.dumps([chunks, config], sort_keys=True), rows.image, rows.label])


class _Rows(Rows):
    def __init__(self, files: Files, folder: str, image: Union[None, str, int],
                 label: Union[None, str, int]) -> None:
        super().__init__(files)
        self._folder = folder
        first = self._open()[0]
        if isinstance(first, dict):
            self.image: Any = named(str(image or "image"), list(first), folder)
            self.label: Any = None if label is None else named(str(label), list(first), folder,
                                                               _ADVICE)
        elif isinstance(first, (tuple, list)):
            self.image = image or 0
            self.label = 1 if label == "label" else label
        else:
            self.image = self.label = None
        self._bytes(first, 0)

    def _open(self) -> Any:
        litdata = library("litdata", "litdata")
        plain = library("litdata.streaming.serializers", "litdata").BytesSerializer
        return litdata.StreamingDataset(self._folder, serializers={
            name: plain() for name in _FILES})

    def _bytes(self, row: Any, index: int) -> bytes:
        found = row if self.image is None else row[self.image]
        if not isinstance(found, bytes):
            raise TypeError(f"{self._folder}: row {index} has {type(found).__name__}, not bytes of "
                            "a file, as picture: stoker.Source(dataset, gives='arrays') takes any "
                            "rows")
        return found

    def __getitem__(self, index: int) -> Any:
        self.files.check_all()
        row = self.open()[int(index)]
        label = 0 if self.label is None else whole(row[self.label], str(self.label))
        return self._bytes(row, index), label
