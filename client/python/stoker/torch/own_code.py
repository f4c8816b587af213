# SPDX-License-Identifier: MIT
"""A dataset of the program's own, for producers: samples are taken as arrays, and batches of them
are what torch's default_collate makes of them; or a batch is what the program's collate_fn makes.

Runs in the program, but for InWorker and Collated, which run in producers.
"""
from __future__ import annotations

import contextlib
import logging
import os
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Optional, Union

import numpy as np
import torch
from torch.utils.data import default_collate
from torch.utils.data._utils import worker as _worker

from ..produce import shipping
from ..produce.batches import Batches
from ..produce.kept import KeptSource
from ..produce.producer import place_of_producer
from ..produce.seeds import Seeds, as_they_were
from ..produce.tree import Tree
from .settings import put, settings
from .subsets import indices_within


_log = logging.getLogger("stoker")


class InWorker:
    """The dataset as a worker of torch's DataLoader sees it: worker_init_fn has run once in the
    process, and get_worker_info() is known."""

    def __init__(self, dataset: Any, init: Optional[Callable[[int], object]]) -> None:
        self.dataset, self.init = dataset, init
        self.settings = settings()

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        self.enter()
        return self.dataset[index]

    def enter(self) -> None:
        """Before a sample is made: in a producer, at its first one."""
        place = place_of_producer()
        if place is None or _worker._worker_info is not None:
            return
        put(self.settings)
        say_worker(*place, torch.initial_seed(), self.dataset)
        if self.init is not None:
            self.init(place[0])


class Collated:
    """Batches as torch's workers make them. ``single``: a sample each, with no batch around it."""

    def __init__(self, samples: InWorker, collate: Callable[[Any], Any], single: bool) -> None:
        self.samples, self.collate, self.single = samples, collate, single

    def __call__(self, indices: List[Any]) -> Any:
        if self.single:
            return self.collate(self.samples[indices[0]])
        several = getattr(self.samples.dataset, "__getitems__", None)
        self.samples.enter()
        return self.collate(several(indices) if several else
                            [self.samples.dataset[index] for index in indices])

    def here(self, count: int) -> ContextManager[object]:
        return as_a_worker(self.samples.dataset, count)


    def makes(self, dataset: Any, collate: Callable[[Any], Any], single: bool,
              init: Optional[Callable[[int], object]]) -> bool:
        """Are these what it makes batches of, and by?"""
        return self.samples.dataset is dataset and self.samples.init is init and \
            self.collate is collate and self.single == single


class Here:
    """Batches of a source's samples, made in the program: each sample as a producer makes it,
    whatever its form. ``lists``: of the Subsets around the dataset."""

    def __init__(self, source: KeptSource, count: int, lists: List[Any]) -> None:
        self._source, self._count, self._lists = source, count, lists
        self._copy: Optional[InWorker] = None

    def batch(self, indices: List[int], seed: int, epoch: int, position: int) -> Any:
        """What torch makes of them, or raises. ``position``: of the first in the stream."""
        if self._copy is None:
            _log.warning("batches of %s are made in this process until this epoch ends, since "
                         "their samples differ in form", self._source.name)
            self._copy = shipping.copied(self._source.code)
        seeds, samples = Seeds(self._copy), []
        with as_a_worker(self._copy.dataset, self._count):
            for place, index in enumerate(indices_within(self._lists, indices).tolist()):
                seeds.set(seed, epoch, position + place)
                samples.append(self._copy[index])
            return default_collate(samples)


def say_worker(number: int, count: int, seed: int, dataset: Any) -> None:
    """What get_worker_info() gives from now on."""
    _worker._worker_info = _worker.WorkerInfo(id=number, num_workers=count, seed=seed,
                                              dataset=dataset)


@contextlib.contextmanager
def as_a_worker(dataset: Any, count: int) -> Iterator[None]:
    """Within it the program makes samples as the first of ``count`` workers does, and draws nothing
    from its own generators."""
    before = _worker._worker_info
    with as_they_were():
        say_worker(0, count, torch.initial_seed(), dataset)
        try:
            yield
        finally:
            _worker._worker_info = before


def source_of(dataset: Any, init: Optional[Callable[[int], object]], count: int
              ) -> Union[KeptSource, str]:
    """Or why ``count`` producers cannot make its samples. Makes sample 0, to see what samples are.
    ``init``: a worker_init_fn."""
    try:
        samples = len(dataset)
    except TypeError:
        return "it has no len()"
    if samples == 0:
        return "it has no samples"
    try:
        os.close(shipping.pack(dataset, init))
        copy = shipping.copied(dataset)
    except (shipping.CannotShip, ImportError) as error:
        return str(error)
    try:
        with as_a_worker(copy, count):
            first = copy[0]
        source = KeptSource(InWorker(dataset, init), first, type(dataset).__qualname__)
        if source.tree is not None and 0 in (source.tree.sizes or ()):
            return "an array of it has no elements"
    except Exception as error:  # of the program's code, or of what it gives
        return f"{type(error).__name__}: {error}"
    assert source.tree is not None
    why = differs(first, source.tree)
    return source if why is None else why


def batches_of(dataset: Any, collate: Callable[[Any], Any], single: bool,
               init: Optional[Callable[[int], object]]) -> Union[Batches, str]:
    """Or why producers cannot make them. ``single``: as of Collated. ``init``: a
    worker_init_fn."""
    batches = Batches(Collated(InWorker(dataset, init), collate, single),
                      type(dataset).__qualname__)
    try:
        os.close(shipping.pack(dataset, init))
        os.close(shipping.pack(batches.code))
    except (shipping.CannotShip, ImportError) as error:
        return str(error)
    return batches


def differs(first: Any, tree: Tree) -> Optional[str]:
    """What torch's batch of two such samples has otherwise."""
    try:
        theirs = default_collate([first, first])
    except (TypeError, ValueError, RuntimeError) as error:
        return f"torch makes no batch of it: {error}"
    ours = collated(tree.join([torch.from_numpy(np.stack([array, array]))
                               for array in tree.split(first)]))
    return None if _kinds(theirs) == _kinds(ours) else \
        "torch makes batches of another form of it"


def _kinds(thing: Any) -> Any:
    if isinstance(thing, dict):
        return type(thing), {key: _kinds(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return type(thing), [_kinds(value) for value in thing]
    return (thing.dtype, thing.shape) if isinstance(thing, torch.Tensor) else type(thing)


def collated(batch: Any) -> Any:
    """A batch's tree with the containers that torch's default_collate gives: a list for a tuple."""
    if isinstance(batch, dict):
        values: Dict[Any, Any] = {key: collated(value) for key, value in batch.items()}
        return values if type(batch) is dict else type(batch)(values)
    if isinstance(batch, (list, tuple)):
        items = [collated(item) for item in batch]
        return type(batch)(*items) if hasattr(batch, "_fields") else items
    return batch
