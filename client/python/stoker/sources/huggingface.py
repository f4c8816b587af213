# SPDX-License-Identifier: MIT
"""Hugging Face's map-style datasets, by `datasets`."""
from __future__ import annotations

import hashlib
from typing import Any, List, Optional, Tuple

from ._stored import Files, Rows, Stored, library, named, spread, whole

_ADVICE = "; label=None is for rows without one"


class HuggingFace(Stored):
    """The rows of a ``datasets.Dataset``: the bytes of the pictures' files, as they are in it.

    Args:
        dataset: a Dataset, as of ``load_dataset(..., split="train")`` or ``load_from_disk()``.
        image: the column of pictures (``Image``) or of bytes; None: "image", or the only one of the
            feature Image.
        label: the column of whole numbers or ``ClassLabel``; None: there is none.

    Its fingerprint is of the dataset's features, its files' sizes and some blocks of their bytes,
    and of which rows it has of them, never of its ``_fingerprint``, which is a random one behind
    some operations. A format (``with_format``) is of no effect; a dataset with ``set_transform()``
    is for ``stoker.Source(dataset, gives="arrays")``.
    """

    def __init__(self, dataset: Any, image: Optional[str] = None,
                 label: Optional[str] = "label") -> None:
        datasets = library("datasets", "datasets")
        if not isinstance(dataset, datasets.Dataset):
            raise TypeError(f"a datasets.Dataset was expected, not {type(dataset).__name__}: of "
                            "several splits choose one, of an iterable dataset there is no order")
        if dataset.format["type"] == "custom":
            raise ValueError("the dataset has a transform of your own (set_transform): give "
                             "stoker.Source(dataset, gives='arrays'), or take it off "
                             "(reset_format()) and give transforms= to the loader")
        image = _image(dataset, image)
        names: Tuple[str, ...] = ()
        if label is not None:
            label = named(label, dataset.column_names, "the dataset", _ADVICE)
            names = tuple(getattr(dataset.features[label], "names", None) or ())
        of = [*_content(dataset), image, label]
        wanted = dataset.with_format(None).select_columns(
            [image] if label is None else [image, label])
        if isinstance(wanted.features[image], datasets.Image):
            wanted = wanted.cast_column(image, datasets.Image(decode=False))
        files = Files(one["filename"] for one in dataset.cache_files)
        super().__init__(_Rows(files, wanted, image, label), len(dataset), kind="huggingface",
                         gives="bytes", of=of, classes=names)


def _image(dataset: Any, image: Optional[str]) -> str:
    features = dataset.features
    fitting = [name for name, feature in features.items()
               if type(feature).__name__ == "Image" or getattr(feature, "dtype", "") == "binary"]
    if image is None:
        image = fitting[0] if len(fitting) == 1 else "image"
    image = named(image, dataset.column_names, "the dataset",
                  f"; pictures are in: {', '.join(fitting) or 'none'}")
    if image not in fitting:
        raise TypeError(f"the column {image!r} is {features[image]}, not an Image: "
                        "stoker.Source(dataset, gives='arrays') takes any rows")
    return image


def _content(dataset: Any) -> List[Any]:
    """Of which rows and of which files it is."""
    of: List[Any] = [len(dataset), repr(dataset.features)]
    if dataset.cache_files:
        of += [spread(one["filename"]) for one in dataset.cache_files]
    else:
        of.append(_digest(dataset.data))
    if dataset._indices is not None:
        of.append(_digest(dataset._indices))
    return of


def _digest(table: Any) -> bytes:
    """Of all that is in it; it is in memory."""
    state = hashlib.blake2b(digest_size=16)
    pyarrow = library("pyarrow", "pyarrow")

    class _Sink:
        closed = False

        def write(self, data: Any) -> int:
            state.update(data)
            return len(data)

        def flush(self) -> None:
            pass

        def close(self) -> None:
            pass
    table = getattr(table, "table", table)
    with pyarrow.ipc.new_stream(pyarrow.PythonFile(_Sink(), "w"), table.schema) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=1024)
    return state.digest()


class _Rows(Rows):
    def __init__(self, files: Files, dataset: Any, image: str, label: Optional[str]) -> None:
        super().__init__(files)
        self._dataset, self._image, self._label = dataset, image, label

    def _open(self) -> Any:
        return self._dataset

    def __getitem__(self, index: int) -> Any:
        self.files.check_all()
        row = self._dataset[int(index)]
        data = row[self._image]
        if isinstance(data, dict):
            data = data["bytes"] if data["bytes"] is not None else _file(data["path"])
        if not isinstance(data, bytes):
            raise ValueError(f"row {index} has no bytes in {self._image!r}"
                             ": load it with the pictures embedded")
        return data, 0 if self._label is None else whole(row[self._label], self._label)


def _file(path: Optional[str]) -> Optional[bytes]:
    """Of a dataset that has paths (imagefolder)."""
    if path is None:
        return None
    with open(path, "rb") as file:
        return file.read()
