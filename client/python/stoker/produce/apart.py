# SPDX-License-Identifier: MIT
"""The process of an actor of a cluster that runs the user's code: it does what a producer does, for
cluster.Apart, which holds the other end of its socket. It ends with that, or with its parent.
"""
from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import socket
import sys
from typing import Any, List, Sequence, Union

import numpy as np

from ..errors import DaemonUnavailable, Disconnected, Stopping, TooManyConnections
from . import identity, shipping
from .cluster import Job, Made
from .producer import Maker, code_of, say_place, words_of
from .seeds import Seeds, seed_later

_PR_SET_PDEATHSIG = 1
# A daemon that the code asks: a stream's, on this node.
_GONE = (DaemonUnavailable, Disconnected, Stopping, TooManyConnections)


class Remote:
    """Raises ValueError if the object does something else here than in the trainer."""

    def __init__(self, packed: np.ndarray[Any, Any], job: Job) -> None:
        sys.path += [entry for entry in job.path if entry not in sys.path]
        with contextlib.suppress(OSError):  # it need not be here
            os.chdir(job.folder)
        say_place(*job.place)
        thing, record = shipping.unpacked(packed.copy().data)  # it may write to it
        if job.same is not None and identity.identity_of(thing) != job.same:
            raise ValueError(
                f"the code on {os.uname().nodename} is not that of the trainer: its own modules, "
                "Python, or the version of a package differ. Install the same on all nodes")
        self._maker = Maker(code_of(thing), Seeds(thing), record)

    def make(self, seed: int, samples: Sequence[List[int]], pictures: Sequence[Any]) -> Made:
        """As of WORK; ``pictures``: for each sample what a Map gets, or None."""
        self._maker.ahead(list(samples))
        return [self._one(seed, *each) for each in zip(samples, pictures)]

    def _one(self, seed: int, sample: List[int], picture: Any) -> Union[np.ndarray[Any, Any], str]:
        try:
            given = None if picture is None else np.array(picture)  # it may write to it
            made = b"".join(self._maker.make(sample, seed, given))
        except _GONE:
            raise
        except Exception as error:
            return words_of(error)
        return np.frombuffer(made, np.uint8) if made else np.empty(0, np.uint8)


def _main() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the actor ends us
    seed_later()
    file = socket.socket(fileno=int(sys.argv[1])).makefile("rwb")
    with contextlib.suppress(EOFError, BrokenPipeError):
        try:
            answer: Any = None
            remote = Remote(*pickle.load(file))
        except Exception as error:
            answer = ValueError(words_of(error))
        while True:
            pickle.dump(answer, file, 5)
            file.flush()
            if isinstance(answer, Exception):
                return
            try:
                answer = remote.make(*pickle.load(file))
            except _GONE as error:  # no fault of the sample: another actor makes it
                answer = ChildProcessError(f"on {os.uname().nodename}: {error}")


if __name__ == "__main__":
    _main()
