# SPDX-License-Identifier: MIT
"""Arrow files (IPC, file or stream; Feather), by pyarrow."""
from __future__ import annotations

import os
from typing import Any, Optional, Sequence, Union

from ..produce.source import Shards
from ._stored import Files, Path, Stored, library, spread
from ._tables import TableRows, columns_of, files_of, names_of


class Arrow(Stored):
    """The rows of Arrow files, with the arguments of Parquet. Files that are not packed are read
    where they lie, by mapping; packed ones a whole file at a time.

    Its fingerprint is of the files' schemas, row counts, sizes and some blocks of bytes."""

    def __init__(self, files: Union[Path, Sequence[Path]], image: Optional[str] = None,
                 label: Optional[str] = "label", columns: Optional[Sequence[str]] = None) -> None:
        stamped = Files(files_of(files, (".arrow", ".feather", ".ipc")))
        tables = [_table(path) for path in stamped.paths]
        chosen = [columns_of(table.schema, path, image, label, columns)
                  for path, table in zip(stamped.paths, tables)]
        for path, here in zip(stamped.paths, chosen):
            if here != chosen[0]:
                raise ValueError(f"{path} has other columns than {stamped.paths[0]}: {here}, not "
                                 f"{chosen[0]}: write all with the same columns")
        used = chosen[0]
        if used.by_name:
            used = used._replace(names=names_of(table.select([used.label]) for table in tables))
        groups = [[table.num_rows] for table in tables]
        of = [part for path, table in zip(stamped.paths, tables)
              for part in (table.num_rows, table.schema.serialize().to_pybytes(), spread(path))]
        rows = _Rows(stamped, groups, used, [], sum(map(os.path.getsize, stamped.paths)))
        super().__init__(rows, rows.samples, kind="arrow", of=[*of, *used[:3]],
                         shards=Shards(rows.sizes),
                         gives="bytes" if used.image else "arrays", classes=used.names)


def _table(path: str) -> Any:
    pyarrow = library("pyarrow", "pyarrow")
    library("pyarrow.ipc", "pyarrow")
    source = pyarrow.memory_map(path)
    try:
        return pyarrow.ipc.open_file(source).read_all()
    except pyarrow.ArrowInvalid:
        source.seek(0)
    try:
        return pyarrow.ipc.open_stream(source).read_all()
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path}: {error}") from error


class _Rows(TableRows):
    def read(self, number: int, place: int) -> Any:
        return _table(self.files.paths[number])

    def __setstate__(self, state: Any) -> None:
        library("pyarrow.ipc", "pyarrow")  # once, before producers are forked
        super().__setstate__(state)
