# SPDX-License-Identifier: MIT
"""Descriptors that go with a request: of arrays in memory; and of a dataset, for a daemon of
another user: they show what this one may read, so that it needs no rule for us (PROTOCOL.md,
section 6). What cannot be opened here is left out: a rule may allow it."""
from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from ._in_memory import InMemory

if TYPE_CHECKING:
    from ._connection import Connection

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_MAX = 34  # that the daemon takes with a message


def given_of(request: Mapping[str, Any], connection: Connection,
             before: Optional[Given] = None) -> Optional[Given]:
    """What goes with a request on this connection; the same as ``before``, if that suits. Raises
    ValueError for an array in memory if the daemon takes no descriptors."""
    # The daemon of one's own has one's own rights.
    shows = connection.takes_fds and connection.uid != os.geteuid()
    dataset, sampler = request["dataset"], request.get("sampler") or {}
    memory = [value for part in (*dataset.get("parts", [dataset]), sampler)
              for value in part.values() if isinstance(value, InMemory)]
    if memory and not connection.takes_fds:
        raise ValueError(f"{os.path.basename(memory[0])} is too long for a request, and this "
                         "daemon takes no descriptors: numpy.save() it where the daemon can read "
                         "it, and give the path")
    if before is not None and before.shows == shows:
        return before
    return Given(request, shows) if memory or shows else None


class Given:
    """``fields``: of a request, its dataset and its sampler, where they have numbers of ``fds``."""

    def __init__(self, request: Mapping[str, Any], shows: bool) -> None:
        """``shows``: with descriptors of what it names, too."""
        self.fds: List[int] = []
        self.shows = shows
        dataset, sampler = request["dataset"], request.get("sampler")
        shown = {"sampler": sampler and self._sampler(sampler),
                 "dataset": {"parts": [self._dataset(part) for part in dataset["parts"]]}
                 if "parts" in dataset else self._dataset(dataset)}
        self.fields = {key: value for key, value in shown.items() if value != request.get(key)}

    def close(self) -> None:
        while self.fds:
            os.close(self.fds.pop())

    def __del__(self) -> None:
        self.close()

    def _dataset(self, dataset: Mapping[str, Any]) -> Dict[str, Any]:
        out = dict(dataset)
        path, labels = out["path"], out.get("labels")
        if isinstance(path, InMemory):
            self._hand(out, "path", "path_fd")
            if self.shows and "root" in out:
                self._give(out, "root_fd", out["root"])
        if not self.shows or isinstance(path, InMemory):
            return out
        if (folder := _pattern_folder(path)) is not None:  # of shards
            self._give(out, "path_fd", folder)
            self._give(out, "root_fd", folder)
            if "path_fd" in out and "root_fd" in out:
                out.setdefault("kind", "tfrecord" if ".tfrecord" in os.path.basename(path)
                               else "tar")
            return out
        kind = self._give(out, "path_fd", path)
        if kind == stat.S_IFREG:
            self._give(out, "root_fd", out.get("root") or os.path.dirname(path))
        if labels and os.path.isabs(labels):
            self._give(out, "labels_fd", labels)
        return out

    def _sampler(self, sampler: Mapping[str, Any]) -> Dict[str, Any]:
        out = dict(sampler)
        for key in ("indices", "weights"):
            value = out.get(key)
            if isinstance(value, InMemory):
                self._hand(out, key, "list_fd")
            elif isinstance(value, str) and self.shows:
                self._give(out, "list_fd", value)
        return out

    def _hand(self, out: Dict[str, Any], key: str, number: str) -> None:
        """Of what is in memory."""
        out[number] = len(self.fds)
        self.fds.append(os.dup(out[key].fd))
        out[key] = str(out[key])

    def _give(self, out: Dict[str, Any], key: str, path: str) -> int:
        """Open it and put its number into ``out``. Its type; 0: it was left out."""
        if len(self.fds) == _MAX or "://" in path:
            return 0
        try:
            fd = os.open(path, _FLAGS)
        except OSError:
            return 0
        kind = stat.S_IFMT(os.fstat(fd).st_mode)
        if kind not in (stat.S_IFREG, stat.S_IFDIR):
            os.close(fd)
            return 0
        out[key] = len(self.fds)
        self.fds.append(fd)
        return kind


def _pattern_folder(path: str) -> Optional[str]:
    """The folder that a pattern of shards begins at; None: the path is no pattern."""
    special = min((path.find(mark) for mark in "{*?[" if mark in path), default=-1)
    if special < 0 or "://" in path or os.path.lexists(path):
        return None
    return os.path.dirname(path[:special] + "x") or "/"
