# SPDX-License-Identifier: MIT
"""Own code on the workers of a Dask cluster. Needs distributed."""
from __future__ import annotations

import secrets
import threading
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

try:
    from distributed import Client, default_client
except ImportError as error:
    raise ImportError("stoker.dask.Producers needs distributed: pip install distributed") from error

from .produce.cluster import Apart, Cluster, Job, Made

__all__ = ["Producers"]

_KEPT = 16  # idle processes, in each worker


class Producers(Cluster):
    """``num_workers`` of a loader: its own code (a stoker.Source or stoker.Map) runs in tasks on
    the workers of a Dask cluster, up to ``2 * n`` at a time, and in ``local`` processes of this
    machine. Say as many as the workers have threads.

    The bytes are those that processes of this machine make: workers need the same Python, packages
    and modules, and stoker; one that has others is refused. The code runs in processes beside the
    worker. What a worker had that dies, Dask has made by another one. Samples travel as the code
    gives them: let it give uint8 where it can. Of a dataset without own code the daemon of each
    node makes pictures (docs/how-to/cluster.md).

    Args:
        n: see above.
        local: processes of this machine beside them.
        client: a distributed.Client; None: the last one that was made.
        resources: what each task takes, as of Client.submit().
    """

    engine = "Dask"

    def __init__(self, n: int, *, local: int = 0, client: Any = None,
                 resources: Optional[Dict[str, float]] = None) -> None:
        super().__init__(n, local)
        client = client or default_client()
        self._address, self._security = client.scheduler.address, client.security
        self._resources = resources

    def join(self) -> None:
        self._client = Client(self._address, security=self._security, set_as_default=False,
                              direct_to_workers=True)
        self._alone = threading.Lock()
        self._packed: Any = None
        self._key = secrets.token_hex(8)

    def start(self, packed: np.ndarray[Any, Any], job: Job) -> Any:
        self._client.wait_for_workers(1)
        with self._alone:
            if self._packed is None or self._packed.status != "finished":  # who held it are gone
                self._packed = self._client.scatter(packed, broadcast=True)
        return job

    def call(self, actor: Any, *arguments: Any) -> Any:
        return self._client.submit(_make, self._key, self._packed, actor, *arguments, pure=False,
                                   resources=self._resources)

    def result(self, call: Any) -> Made:
        made: Made = call.result()
        return made

    def end(self, actor: Any) -> None:
        """A task ends by itself."""


_idle: List[Tuple[str, Apart]] = []  # of this worker; the last one was used last
_alone = threading.Lock()


def _make(key: str, packed: np.ndarray[Any, Any], job: Job, *arguments: Any) -> Made:
    with _alone:
        found = next((each for each in _idle if each[0] == key), None)
        if found is not None:
            _idle.remove(found)
    apart = found[1] if found is not None else Apart(packed, job)
    try:
        made = apart.make(*arguments)
    except BaseException:
        apart.end()
        raise
    with _alone:
        _idle.append((key, apart))
        late = [_idle.pop(0) for _ in range(len(_idle) - _KEPT)]
    for _, each in late:
        each.end()
    return made
