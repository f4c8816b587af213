# SPDX-License-Identifier: MIT
"""Lance datasets, by lance (the package pylance)."""
from __future__ import annotations

import os
from typing import Any, List, Optional, Sequence

from ._stored import Files, Path, Rows, Stored, library
from ._tables import Columns, columns_of, names_of, sample


class Lance(Stored):
    """The rows of a Lance dataset, with the arguments of Parquet. A row is read alone, so any order
    is fast. It is the version that is the newest when this is made, or ``version``.

    Its fingerprint is of its schema and fragments: their rows and the names of their files, which
    Lance never writes twice."""

    def __init__(self, folder: Path, image: Optional[str] = None, label: Optional[str] = "label",
                 columns: Optional[Sequence[str]] = None, version: Optional[int] = None) -> None:
        folder = os.path.abspath(os.path.expanduser(os.fspath(folder)))
        dataset = library("lance", "pylance").dataset(folder, version=version)
        chosen = columns_of(dataset.schema, folder, image, label, columns)
        wanted = list(chosen.arrays) if chosen.image is None else \
            [name for name in (chosen.image, chosen.label) if name is not None]
        if chosen.by_name:
            chosen = chosen._replace(names=names_of([dataset.to_table(columns=[chosen.label])]))
        fragments = [str(fragment.metadata.to_json()) for fragment in dataset.get_fragments()]
        rows = _Rows(folder, dataset.version, chosen, wanted)
        super().__init__(rows, dataset.count_rows(), kind="lance",
                         gives="bytes" if chosen.image else "arrays", classes=chosen.names,
                         of=[dataset.schema.serialize().to_pybytes(), *fragments, *chosen[:3]])


class _Rows(Rows):
    """Imports nothing before its process is forked: lance has threads of its own."""

    def __init__(self, folder: str, version: int, columns: Columns, wanted: List[str]) -> None:
        super().__init__(Files([folder]))
        self._version, self._columns, self._wanted = version, columns, wanted

    def _open(self) -> Any:
        return library("lance", "pylance").dataset(self.files.paths[0], version=self._version)

    def __getitem__(self, index: int) -> Any:
        table = self.open().take([int(index)], columns=self._wanted)
        try:
            return sample(table, 0, self._columns)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.files.paths[0]}: row {index}: {error}") from None
