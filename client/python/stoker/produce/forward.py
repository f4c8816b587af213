# SPDX-License-Identifier: MIT
"""The forwarder: a process of a template that has each group of samples which the daemon lends made
by an actor of a cluster, and writes what comes back into a tray.

Each actor has a connection to the daemon, as a producer here has one, and ends with it: so one that
dies loses its groups, and the daemon lends them to others. Both groups that an actor may have are
with the engine, which hides the way there and back.
"""
from __future__ import annotations

import mmap
import pickle
import queue
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Dict, Optional, Tuple

import numpy as np

from ..errors import DaemonUnavailable, Disconnected
from ._board import Line
from .cluster import Cluster, Job
from .producer import Attached, Group

_PAUSE_S, _PAUSE_MOST_S = 0.1, 10.0  # before an actor is started again; doubled each time
_DEATHS = 5  # in a row, without a group made
_PATIENCE = 10  # deadlines; the daemon, which has had the samples made by others, is less patient


class Hopeless(Exception):
    """Actors do not live."""


class _Forwarder(Attached):
    """Has what the daemon asks for made by an actor. One thread takes groups, another one writes
    what was made of them: so both groups of an actor are with the engine. (A connection lets a
    second thread send.)"""

    def __init__(self, cluster: Cluster, actor: Any, line: Line, job: Dict[str, Any]) -> None:
        super().__init__(job["socket"], job["code"], job["secret"], job["name"],
                         recycle=job["recycle"], deadline_ms=job["deadline_ms"],
                         check=job["check"])
        self._cluster, self._actor, self._line = cluster, actor, line
        self.made = 0  # groups
        self.error: Optional[BaseException] = None  # of the actor, which ended the connection
        self._begun: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="stoker tray", daemon=True)
        self._writer.start()

    def forward(self) -> None:
        """Until the connection or the actor ends, or the actor has made its number of samples.
        Raises what ended the actor."""
        try:
            self.run()
        except (Disconnected, OSError):  # the writer closed it
            if self.error is None:
                raise
        finally:
            self._begun.put(None)
        if self.error is not None:
            raise self.error

    def _work(self, work: Any) -> None:
        group = Group(self._connection, self._tray, work)
        samples = work["samples"]
        limit_s = _PATIENCE * len(samples) * self._deadline_s
        self._begun.put((group, self._cluster.call(
            self._actor, limit_s, work["seed"], [sample[:3] for sample in samples],
            [self._picture(sample) for sample in samples])))

    def _settle(self) -> None:
        self._begun.put(None)
        self._writer.join()

    def _write(self) -> None:
        try:
            for group, call in iter(self._begun.get, None):
                for place, made in enumerate(self._cluster.result(call)):
                    if isinstance(made, str):
                        group.fail(place, made)
                    else:
                        group.put(place, [made])
                    self._line.end()
                group.tell()
                self.made += 1
        except Exception as error:
            self.error = error
            self.close()


def forward(job: Dict[str, Any], packed: int, line: Line) -> None:
    """In the forwarder, which a template forked: until it is killed. ``packed``: the object, as
    shipping.pack() made it. Raises Hopeless, and what the engine does if there is no cluster."""
    cluster: Cluster = pickle.loads(job["cluster"])
    cluster.join()
    memory = np.frombuffer(mmap.mmap(packed, 0, prot=mmap.PROT_READ), np.uint8)
    pool = ThreadPoolExecutor(cluster.n)
    slots = [pool.submit(_keep, cluster, number, memory, job, line) for number in range(cluster.n)]
    next(as_completed(slots)).result()


def _keep(cluster: Cluster, number: int, memory: np.ndarray[Any, Any], job: Dict[str, Any],
          line: Line) -> None:
    """An actor, and another one in its place each time that it ends. Raises Hopeless."""
    told = Job((cluster.local + number, cluster.local + cluster.n), job["path"], job["folder"],
               job["same"])
    deaths, pause, said = 0, _PAUSE_S, ""
    while deaths < _DEATHS:
        made, error = _live(cluster, memory, told, job, line)
        if made:
            deaths, pause = 0, _PAUSE_S
        if isinstance(error, (DaemonUnavailable, Disconnected)):
            error = None
        elif error is not None:
            deaths += 1
            if str(error) != said:
                said = str(error)
                print(f"stoker: an actor of {job['name']} ended: {said}", file=sys.stderr,
                      flush=True)
        if error is not None or not made:
            time.sleep(pause)
            pause = min(2 * pause, _PAUSE_MOST_S)
    raise Hopeless(f"{_DEATHS} actors of {cluster.engine} in a row ended before they had made a "
                   f"sample: {cluster.engine}'s log says why")


def _live(cluster: Cluster, memory: np.ndarray[Any, Any], told: Job, job: Dict[str, Any],
          line: Line) -> Tuple[int, Optional[Exception]]:
    """An actor's life: the groups that it made, and what ended it."""
    forwarder: Optional[_Forwarder] = None
    try:
        actor = cluster.start(memory, told)
        try:
            forwarder = _Forwarder(cluster, actor, line, job)
            forwarder.forward()
        finally:
            cluster.end(actor)
    except Exception as error:
        return forwarder.made if forwarder else 0, error
    return forwarder.made, None
