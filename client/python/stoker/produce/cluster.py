# SPDX-License-Identifier: MIT
"""Samples made on other nodes, by actors of an engine (Ray, Dask): what engines have in common, and
what an actor does. The engine carries calls and results; there is no network code here. Who calls
is in forward.py.
"""
from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
from typing import Any, List, Optional, Tuple, Union

import numpy as np


class Cluster:
    """Where a loader's own code runs: ``n`` actors of an engine, and ``local`` processes of this
    machine. The base of stoker.ray.Producers and stoker.dask.Producers. It can be pickled."""

    engine = ""  # its name

    def __init__(self, n: int, local: int) -> None:
        for name, count, least in (("n", n, 1), ("local", local, 0)):
            if isinstance(count, bool) or not isinstance(count, int) or count < least:
                raise ValueError(f"{name} must be a number from {least} on, not {count!r}")
        self.n, self.local = n, local

    # In the forwarder; all but join() from several threads.

    def join(self) -> None:
        """Connect to the engine."""
        raise NotImplementedError

    def start(self, packed: np.ndarray[Any, Any], job: Job) -> Any:
        """An actor that has the object, once it is there."""
        raise NotImplementedError

    def call(self, actor: Any, *arguments: Any) -> Any:
        """Have make() of an Apart called; what result() takes."""
        raise NotImplementedError

    def result(self, call: Any) -> Made:
        """Raises what the engine does if the actor has died."""
        raise NotImplementedError

    def end(self, actor: Any) -> None:
        """Nobody waits for what it makes. It may be dead."""
        raise NotImplementedError


Made = List[Union[np.ndarray[Any, Any], str]]  # records, or why there is none


class Job:
    """What an actor needs beside the object. ``place``: its number, and how many there are.
    ``same``: the identity of the object, which it must have there, too; None: nobody can tell."""

    def __init__(self, place: Tuple[int, int], path: List[str], folder: str,
                 same: Optional[str]) -> None:
        self.place, self.path, self.folder, self.same = place, path, folder, same


class Apart:
    """In an actor: samples, made by a process that does nothing else. In that of the engine other
    threads draw random numbers, too, from the generators that are seeded for each sample.

    One thread at a time. Raises ValueError if the object does something else on this node than in
    the trainer, and what its own code raises. ``pid``: of the process."""

    def __init__(self, packed: np.ndarray[Any, Any], job: Job) -> None:
        self._control, theirs = socket.socketpair()
        here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "stoker.produce.apart", str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path})
        self.pid = self._process.pid
        self._file = self._control.makefile("rwb")
        try:
            self._ask((packed, job))
        except BaseException:
            self.end()
            raise

    def make(self, limit_s: float, *arguments: Any) -> Made:
        """As of Remote. Raises TimeoutError after so many seconds, and ChildProcessError if the
        code ended its process; then it is of no use any more."""
        self._control.settimeout(limit_s)
        made: Made = self._ask(arguments)
        return made

    def end(self) -> None:
        """Also from another thread."""
        self._process.kill()
        self._process.wait()

    def _ask(self, what: Any) -> Any:
        try:
            pickle.dump(what, self._file, 5)
            self._file.flush()
            answer = pickle.load(self._file)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise ChildProcessError(f"the code ended its process on {os.uname().nodename}: see "
                                    "what it wrote there, in the log of Ray or Dask") from None
        if isinstance(answer, Exception):
            raise answer
        return answer
