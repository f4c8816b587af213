# SPDX-License-Identifier: MIT
"""Which source reads a path, a URL or an object that the daemon does not read. Any thread."""
from __future__ import annotations

import importlib
import json
import os
from typing import Any, Dict, Mapping, Optional

from ..produce.source import Source
from ._stored import library

_BY_ENDING = {".parquet": "Parquet", ".pq": "Parquet", ".arrow": "Arrow", ".feather": "Arrow",
              ".h5": "HDF5", ".hdf5": "HDF5", ".hdf": "HDF5", ".zarr": "Zarr", ".lance": "Lance",
              ".dcm": "DICOM"}
_MODULES = {"Parquet": "parquet", "Arrow": "arrow", "HDF5": "hdf5", "Zarr": "zarr",
            "Lance": "lance", "DICOM": "dicom", "MDS": "mds", "LitData": "litdata"}
_HF = "hf://"
_LOOKED_AT = 64  # entries of a folder, until one tells what it is


def found(dataset: Any) -> Optional[Source]:
    """A source of it; None: the daemon reads it, or says why it does not.

    ``dataset``: a path; a mapping of ``path`` and the source's arguments; ``hf://NAME``, with
    ``split`` (train) and ``name`` in a mapping; or a Dataset of Hugging Face's. Raises what the
    source raises."""
    if type(dataset).__module__.startswith("datasets.") and hasattr(dataset, "features"):
        return _class("HuggingFace")(dataset)  # type: ignore[no-any-return]
    more: Dict[str, Any] = {}
    if isinstance(dataset, Mapping):
        more = dict(dataset)
        dataset = more.pop("path", None)
    if not isinstance(dataset, (str, bytes, os.PathLike)) or more.get("kind"):
        return None
    path = os.fsdecode(dataset)
    if path.startswith(_HF):
        return _hugging_face(path, **more)
    path = os.path.expanduser(path)
    name = _name(path)
    if name is None:
        return None
    if name == "HuggingFace":
        return _saved(path, **more)
    return _class(name)(path, **more)  # type: ignore[no-any-return]


def _class(name: str) -> Any:
    module = importlib.import_module(f".{_MODULES.get(name, name.lower())}", __package__)
    return getattr(module, name)


def _name(path: str) -> Optional[str]:
    ending = os.path.splitext(path.rstrip("/"))[1].lower()
    if not os.path.isdir(path):
        known = os.path.exists(path) or any(mark in path for mark in "*?[")
        return _BY_ENDING.get(ending) if known else None
    if ending in (".zarr", ".lance"):
        return _BY_ENDING[ending]
    if os.path.exists(os.path.join(path, "state.json")) and \
            os.path.exists(os.path.join(path, "dataset_info.json")):
        return "HuggingFace"
    index = _index(os.path.join(path, "index.json"))
    if "shards" in index:
        return "MDS"
    if "chunks" in index and "config" in index:
        return "LitData"
    return _within(path)


def _index(path: str) -> Mapping[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _within(folder: str) -> Optional[str]:
    """Of a folder of files, by its first entries. One with folders in it may have classes: that is
    the daemon's, and so is one that this user may not look into."""
    names = set()
    try:
        with os.scandir(folder) as entries:
            for _, entry in zip(range(_LOOKED_AT), entries):
                if entry.is_dir() and not entry.name.startswith("."):
                    return None
                names.add(_BY_ENDING.get(os.path.splitext(entry.name)[1].lower()))
    except OSError:
        return None
    return next((name for name in ("Parquet", "Arrow", "DICOM") if name in names), None)


def _hugging_face(url: str, split: str = "train", name: Optional[str] = None,
                  **more: Any) -> Source:
    """``datasets`` has it in its cache, or on this disk: nothing is fetched."""
    datasets = library("datasets", "datasets")
    where = url[len(_HF):].strip("/")
    where = where[len("datasets/"):] if where.startswith("datasets/") else where
    if not where:
        raise ValueError(f"{url} names no dataset: hf://owner/name")
    offline = datasets.config.HF_HUB_OFFLINE
    datasets.config.HF_HUB_OFFLINE = True
    try:
        dataset = datasets.load_dataset(where, name, split=split)
    except (FileNotFoundError, ConnectionError, datasets.exceptions.DatasetsError) as error:
        raise FileNotFoundError(f"{url} is not on this machine: datasets.load_dataset({where!r}) "
                                f"fetches it once ({error})") from error
    finally:
        datasets.config.HF_HUB_OFFLINE = offline
    return _class("HuggingFace")(dataset, **more)  # type: ignore[no-any-return]


def _saved(path: str, **more: Any) -> Source:
    """What save_to_disk() wrote."""
    dataset = library("datasets", "datasets").load_from_disk(path)
    return _class("HuggingFace")(dataset, **more)  # type: ignore[no-any-return]
