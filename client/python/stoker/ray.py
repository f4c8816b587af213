# SPDX-License-Identifier: MIT
"""Own code on the nodes of a Ray cluster. Needs ray.

    ray.init(address="auto")
    loader = node.loader(source, batch_size=64, num_workers=stoker.ray.Producers(8, local=2))
"""
from __future__ import annotations

from typing import Any, Dict, Optional

import numpy as np

try:
    import ray
except ImportError as error:
    raise ImportError("stoker.ray needs ray: pip install ray") from error

from .produce.cluster import Apart, Cluster, Job, Made

__all__ = ["Producers"]


class Producers(Cluster):
    """``num_workers`` of a loader: its own code (a stoker.Source or stoker.Map) runs in ``n``
    actors of Ray, wherever the cluster has room for them, and in ``local`` processes of this
    machine.

    The bytes are those that processes of this machine make: nodes need the same Python, packages
    and modules, and stoker; one that has others is refused. An actor that dies, with its node or
    alone, is started anew elsewhere, and what it had is made by others. Samples travel as the code
    gives them: let it give uint8 where it can. Of a dataset without own code the daemon of each
    node makes pictures (docs/how-to/cluster.md).

    Args:
        n: actors.
        local: processes of this machine beside them.
        num_cpus, resources: what each actor takes, as of ray.remote(); ``resources={"feeder": 1}``
            has them where a node was started with ``--resources='{"feeder": 8}'``.

    Raises RuntimeError before ray.init().
    """

    engine = "Ray"

    def __init__(self, n: int, *, local: int = 0, num_cpus: float = 1,
                 resources: Optional[Dict[str, float]] = None) -> None:
        super().__init__(n, local)
        if not ray.is_initialized():
            raise RuntimeError("stoker.ray.Producers needs to know the cluster: call ray.init() "
                               "first")
        context = ray.get_runtime_context()
        self._cluster = {"address": context.gcs_address,
                         "_node_ip_address": ray.util.get_node_ip_address(),
                         "runtime_env": dict(context.runtime_env) or None}
        self._options = {"num_cpus": num_cpus, "resources": resources, "max_restarts": 0,
                         "scheduling_strategy": "SPREAD"}

    def join(self) -> None:
        ray.init(**self._cluster, logging_level="warning")
        self._packed: Any = None

    def start(self, packed: np.ndarray[Any, Any], job: Job) -> Any:
        if self._packed is None:  # once in the object store; two threads may do it at once
            self._packed = ray.put(packed)
        actor = ray.remote(Apart).options(**self._options).remote(self._packed, job)
        ray.get(actor.__ray_ready__.remote())
        return actor

    def call(self, actor: Any, *arguments: Any) -> Any:
        return actor.make.remote(*arguments)

    def result(self, call: Any) -> Made:
        made: Made = ray.get(call)
        return made

    def end(self, actor: Any) -> None:
        ray.kill(actor)
