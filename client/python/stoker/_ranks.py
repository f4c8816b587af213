# SPDX-License-Identifier: MIT
"""Rank and world size of this process, as the launcher sets them in the environment, and what a
rank gets of an epoch."""
from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Mapping, Optional, Tuple

if TYPE_CHECKING:
    from .loader import Loader

_log = logging.getLogger("stoker")
_said: Optional[Tuple[int, int]] = None  # what was logged last

_LAUNCHERS = (
    ("RANK", "WORLD_SIZE"),  # torchrun
    # Before Slurm's: mpirun's daemons are tasks of srun, one a node, and its ranks inherit that.
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),  # of MPICH and Intel MPI
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),  # of srun's step, not of the whole allocation
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
# From here on Slurm numbers steps that are no srun's: batch script, interactive shell, external.
_SLURM_OWN_STEPS = 0xfffffff0


def rank_and_world(rank: Optional[int], world: Optional[int],
                   environment: Optional[Mapping[str, str]] = None) -> Tuple[int, int]:
    """The given ones; else those of the first launcher that has set both variables; else (0, 1).

    Raises ValueError if only one of the two is given, or if a variable is not a number.
    """
    if rank is not None and world is not None:
        return rank, world
    if rank is not None or world is not None:
        raise ValueError("give rank and world_size together, or neither")
    environment = os.environ if environment is None else environment
    for rank_name, world_name in _LAUNCHERS:
        if rank_name == "SLURM_PROCID" and not _srun_started_it(environment):
            continue
        if rank_name in environment and world_name in environment:
            found = _number(environment, rank_name), _number(environment, world_name)
            _say(found, rank_name, world_name)
            return found
    return 0, 1


def _srun_started_it(environment: Mapping[str, str]) -> bool:
    """False in a batch script: $SLURM_PROCID and $SLURM_NTASKS are set there too, and it is one
    process. One that a task of srun submitted has inherited that task's $SLURM_STEP_*, while
    $SLURM_GTIDS (the tasks on this node) is its own: of a step on one node it would list all."""
    step = environment.get("SLURM_STEP_ID", environment.get("SLURM_STEPID", ""))
    if not step.isdigit() or int(step) >= _SLURM_OWN_STEPS:
        return False
    here, tasks = environment.get("SLURM_GTIDS"), environment.get("SLURM_STEP_NUM_TASKS")
    return (here is None or environment.get("SLURM_STEP_NUM_NODES") != "1"
            or str(len(here.split(","))) == tasks)


def say_part(loader: Loader) -> None:
    """Warn that a loader in order, which reads like an evaluation, gives only this rank's part. For
    ranks that the program did not give."""
    if loader.world_size > 1:
        _log.warning("%s is read in order, and rank %d of %d gets %d of its %d samples: for an "
                     "evaluation on one rank give rank=0 and world_size=1, for one on all ranks "
                     "rank=%d and world_size=%d", loader._name(), loader.rank, loader.world_size,
                     _samples(loader, loader.rank), loader.samples, loader.rank, loader.world_size)


def say_uneven(loader: Loader) -> None:
    """Warn if an epoch has not as many batches for each rank."""
    first, last = (-(-_samples(loader, rank) // loader.batch_size)
                   for rank in (0, loader.world_size - 1))
    if first != last:
        _log.warning("%s has %d batches in an epoch for rank 0, and %d for rank %d: there "
                     "DistributedDataParallel waits for ever or fails. Give last_batch=\"pad\" (as "
                     "DistributedSampler does), \"wrap\" or \"drop\", or use model.join()",
                     loader._name(), first, last, loader.world_size - 1)


def _samples(loader: Loader, rank: int) -> int:
    """Of an epoch that begins at its start."""
    step = loader.batch_size * loader.world_size
    whole, rest = divmod(loader.samples, step)
    last = loader._reader.request["last_batch"]
    if last == "short":
        more = min(max(0, rest - rank * loader.batch_size), loader.batch_size)
    else:
        more = loader.batch_size if last == "pad" and rest else 0
    return whole * loader.batch_size + more


def _say(found: Tuple[int, int], rank_name: str, world_name: str) -> None:
    global _said
    if _said != found:
        _said = found
        _log.info("rank %d of %d from the environment: $%s and $%s; rank=0 and world_size=1 give "
                  "all samples to this process", *found, rank_name, world_name)


def _number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except ValueError:
        raise ValueError(f"${name} is {environment[name]!r}, not a number"
                         ": set it to one, or give rank and world_size") from None
