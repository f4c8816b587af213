# SPDX-License-Identifier: MIT
"""Parquet files, by pyarrow."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Union

from ..produce.source import Shards
from ._stored import Files, Path, Stored, library
from ._tables import TableRows, columns_of, files_of, names_of


class Parquet(Stored):
    """The rows of Parquet files, in the order of the files' names.

    Args:
        files: a file, a folder, a pattern ("data/train-*.parquet"), or a list of these.
        image: the column with the bytes of pictures' files, or structs with ``bytes`` as Hugging
            Face writes them; None: "image", or the only one that fits.
        label: the column of whole numbers, or of names of classes, which are numbered in their
            order; None: there is none, and each label is 0.
        columns: instead of a picture: columns of numbers, and of lists of as many numbers in each
            row. Samples are dicts of arrays then, by the columns' names.

    pyarrow reads no row without its row group, so order="shards" is the default, with row groups
    as shards and a window of as many rows as a producer keeps: of 128 MiB, beside two groups.

    Its fingerprint is of the files' footers (row counts, sizes, statistics) and sizes. Raises
    ImportError, FileNotFoundError, TypeError and ValueError, which names the columns there are.
    """

    def __init__(self, files: Union[Path, Sequence[Path]], image: Optional[str] = None,
                 label: Optional[str] = "label", columns: Optional[Sequence[str]] = None) -> None:
        library("pyarrow.parquet", "pyarrow")
        stamped = Files(files_of(files, (".parquet", ".pq")))
        of: List[Any] = []
        groups: List[List[int]] = []
        chosen: Any = None
        size = 0
        for path in stamped.paths:
            file = _opened(path)
            here = columns_of(file.schema_arrow, path, image, label, columns)
            chosen = chosen or here
            if here != chosen:
                raise ValueError(f"{path} has other columns than {stamped.paths[0]}: {here}, not "
                                 f"{chosen}: write all with the same columns")
            wanted = here.wanted(file.schema_arrow)
            groups.append([file.metadata.row_group(number).num_rows
                           for number in range(file.metadata.num_row_groups)])
            size += _size(file.metadata, wanted)
            of.append(_footer(path))
            file.close()
        if chosen.by_name:
            chosen = chosen._replace(names=names_of(
                _opened(path).read([chosen.label]) for path in stamped.paths))
        rows = _Rows(stamped, groups, chosen, wanted, size)
        super().__init__(rows, rows.samples, kind="parquet", of=[*of, *chosen[:3]],
                         shards=Shards(rows.sizes, rows.window, _cost(rows, size)),
                         gives="bytes" if chosen.image else "arrays", classes=chosen.names)


def _opened(path: str) -> Any:
    try:
        return library("pyarrow.parquet", "pyarrow").ParquetFile(path)
    except ValueError as error:  # of pyarrow, without the file's name
        raise ValueError(f"{path}: {error}") from error


def _size(metadata: Any, wanted: Sequence[str]) -> int:
    """Bytes of these columns, unpacked."""
    chunks = (metadata.row_group(group).column(column)
              for group in range(metadata.num_row_groups)
              for column in range(metadata.num_columns))
    return sum(chunk.total_uncompressed_size for chunk in chunks
               if any(f"{chunk.path_in_schema}.".startswith(f"{name}.") for name in wanted))


def _cost(rows: TableRows, size: int) -> str:
    """Of the order global, unless a process keeps all rows."""
    if rows.window >= rows.samples:
        return ""
    count = len(rows.sizes)
    return f"a sample takes one of {count} row groups, of {size / count / 2**20:.3g} MiB each, " \
           "as a whole, so that this is slow until the daemon keeps the pictures"


def _footer(path: str) -> bytes:
    """As it stands in the file."""
    with open(path, "rb") as file:
        end = file.seek(-8, 2)
        size = int.from_bytes(file.read(4), "little")
        file.seek(end - size)
        return file.read()


class _Rows(TableRows):
    def read(self, number: int, place: int) -> Any:
        with _opened(self.files.paths[number]) as file:
            return file.read_row_group(place, columns=self._wanted, use_threads=False)

    def __setstate__(self, state: Any) -> None:
        library("pyarrow.parquet", "pyarrow")  # once, before producers are forked
        super().__setstate__(state)
