# SPDX-License-Identifier: MIT
"""Words for files that the daemon does not read, and what does. Reads none of them. Any thread."""
from __future__ import annotations

import os
from typing import Any

from .errors import DatasetError

_SOURCE = "read it with its own library in a dataset of yours, and give stoker.Source(dataset), " \
          "or take stoker.torch.DataLoader"
_BY_ENDING = {
    ".json": "annotations of COCO become a manifest by stoker.convert.coco(annotations, manifest)",
    ".xml": "annotations of Pascal VOC become a manifest by stoker.convert.voc()",
    ".zip": f"unpack it; or {_SOURCE}",
    ".mds": "give the folder of its index.json: stoker.sources.MDS reads that",
    **dict.fromkeys((".beton", ".pkl", ".pickle", ".pt", ".pth", ".mat", ".rec", ".ffcv"), _SOURCE),
}


def advised(error: DatasetError, dataset: Any) -> DatasetError:
    """The same error, and what to do with a file of this kind."""
    path = str(dataset.get("path", ""))
    words = _BY_ENDING.get(os.path.splitext(path)[1].lower())
    if words is None or not os.path.exists(path):
        return error
    return type(error)(error.code, error.name, f"{error}; {words}")
