# SPDX-License-Identifier: MIT
"""The order of an epoch, drawn by torch's own samplers: from the same generators and in the same
sequence as in torch's DataLoader with workers, so it is the same order. One thread.
"""
from __future__ import annotations

import base64
import contextlib
import inspect
from typing import (TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, NamedTuple, Optional,
                    Tuple, Union)

import torch
from torch.utils.data import (BatchSampler, RandomSampler, Sampler, SequentialSampler,
                              SubsetRandomSampler, WeightedRandomSampler)
from torch.utils.data._utils.fetch import _MapDatasetFetcher
from torch.utils.data.distributed import DistributedSampler

if TYPE_CHECKING:
    from torch.utils.data import DataLoader

# These draw nothing that a training changes meanwhile, so a whole epoch can be drawn at once.
_KNOWN = (BatchSampler, RandomSampler, SequentialSampler, SubsetRandomSampler,
          WeightedRandomSampler, DistributedSampler)
# So do those that other libraries make of them.
_LIBRARIES = ("accelerate", "lightning", "lightning_fabric", "pytorch_lightning")
# Iterators over what does not change any more.
_THERE: Tuple[type, ...] = (type(iter([])), type(iter(())), type(iter(range(0))),
                            type(iter(range(2 ** 64))))
_WITHIN = ("batch_sampler", "_batch_sampler", "_sampler", "sampler", "dataset")


class Draw(NamedTuple):
    """``batches``: indices of the dataset; an iterator, if they are to be drawn as they are needed.
    ``seed``: of what the samples draw. ``generators``: their states before, as texts."""

    batches: Union[List[List[int]], Iterator[Any]]
    seed: int
    generators: List[str]

    def listed(self) -> List[List[int]]:
        """Of what was drawn at once."""
        assert isinstance(self.batches, list)
        return self.batches


def as_it_goes(loader: DataLoader[Any]) -> Optional[str]:
    """Why an epoch of this loader cannot be drawn at once; None: it can be."""
    for sampler in _samplers(loader):
        if _is_own(sampler):
            what = "draws" if sampler is not loader.batch_sampler else "draws batches"
            return f"{_name(sampler)} may look at the training while it {what}"
    return None


def may_be_drawn(loader: DataLoader[Any]) -> bool:
    """Of a sampler that as_it_goes() names: may it have drawn the whole epoch when it is asked for
    its iterator? Only that iterator says so, in draw()."""
    own = _own(loader)
    return own is not None and not inspect.isgeneratorfunction(getattr(type(own), "__iter__", None))


def draw(loader: DataLoader[Any], seed: Optional[int] = None) -> Draw:
    """The next epoch. ``seed``: that of workers which are kept."""
    before = states(loader)
    single = loader.batch_sampler is None
    sampler: Any = loader.sampler if single else loader.batch_sampler
    batches: Iterator[Any] = iter(sampler)
    if seed is None:
        seed = int(torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item())
        if loader.num_workers > 0:  # as torch starts its workers: a sampler may draw at iter()
            batches = iter(sampler)
    batches, goes = _peeked(loader, batches)
    given = ([batch] if single else batch for batch in batches)
    if goes:
        return Draw(given, seed, before)
    listed = list(map(list, given))
    try:
        return Draw([[index.__index__() for index in batch] for batch in listed], seed, before)
    except (AttributeError, TypeError):  # keys of a dataset, or what else stands for a sample
        return Draw(iter(listed), seed, before)


def _own(loader: DataLoader[Any]) -> Any:
    """The sampler of the program's own whose iterator gives the epoch, if it is the loader's, or
    within torch's BatchSampler."""
    batches = loader.batch_sampler
    found = batches.sampler if type(batches) is BatchSampler else batches
    return found if found is not None and _is_own(found) else None


def _peeked(loader: DataLoader[Any], batches: Iterator[Any]) -> Tuple[Iterator[Any], bool]:
    """The batches, and whether they are to be drawn as they are needed. An iterator over what is
    there already is drawn at once, whoever made it: no training changes it any more."""
    if as_it_goes(loader) is None:
        return batches, False
    outer: Any = loader.batch_sampler
    own = _own(loader)
    if own is None or inspect.isgeneratorfunction(getattr(type(own), "__iter__", None)):
        return batches, True
    if own is outer:
        return batches, type(batches) not in _THERE
    order = iter(own)
    once: Any = _Once(order)
    return iter(BatchSampler(once, outer.batch_size, outer.drop_last)), \
        type(order) not in _THERE


class _Once:
    """A sampler that was asked for its iterator."""

    def __init__(self, order: Iterator[Any]) -> None:
        self._order = order

    def __iter__(self) -> Iterator[Any]:
        return self._order


def fetched(loader: DataLoader[Any], batches: Iterable[Any]) -> Iterator[Any]:
    """The batches of these indices, made here, as torch does it without workers."""
    fetcher: Any = _MapDatasetFetcher(loader.dataset, True, loader.collate_fn, loader.drop_last)
    return map(fetcher.fetch, batches)


def draw_again(loader: DataLoader[Any], generators: List[str], seed: Optional[int]) -> Draw:
    """The epoch that was drawn with generators in these states. Raises ValueError."""
    with states_again(loader, generators):
        return draw(loader, seed)


def states(loader: DataLoader[Any]) -> List[str]:
    """Of all generators that an epoch's order is drawn from."""
    return [_text(generator) for generator in _generators(loader)]


@contextlib.contextmanager
def states_again(loader: DataLoader[Any], generators: List[str]) -> Iterator[None]:
    """They are as they were then. torch's default generator is put back: it belongs to the program.
    Raises ValueError."""
    ours = _generators(loader)
    if len(generators) != len(ours):
        raise ValueError(f"the state is of a loader with {len(generators)} generators, and this "
                         f"one has {len(ours)}: give the same sampler and generator")
    default = torch.default_generator.get_state()
    try:
        for generator, text in zip(ours, generators):
            generator.set_state(_state(text))
        yield
    finally:
        torch.default_generator.set_state(default)


def _samplers(loader: DataLoader[Any]) -> List[Any]:
    """The loader's, and those within them, the outermost first."""
    found: List[Any] = [loader.sampler if loader.batch_sampler is None else loader.batch_sampler]
    while True:
        held = (getattr(found[-1], name, None) for name in _WITHIN)
        within = found[-1].sampler if type(found[-1]) is BatchSampler else \
            next((one for one in held if _draws(one)), None)
        if within is None or any(within is one for one in found):
            return found
        found.append(within)


def _is_own(sampler: Any) -> bool:
    """Is it neither torch's nor of a library that is known?"""
    library = type(sampler).__module__.partition(".")[0] in _LIBRARIES
    return type(sampler) not in _KNOWN and not library


def _draws(thing: Any) -> bool:
    """Is it a sampler, or what a library put around one?"""
    return isinstance(thing, Sampler) or \
        type(thing).__module__.partition(".")[0] in _LIBRARIES


def _generators(loader: DataLoader[Any]) -> List[Any]:
    """The default one, that of the loader and those of its samplers, each once."""
    out = [torch.default_generator]
    for one in (loader, *_samplers(loader)):
        generator = getattr(one, "generator", None)
        if generator is not None and all(generator is not other for other in out):
            out.append(generator)
    return out


def _text(generator: Any) -> str:
    return base64.b64encode(generator.get_state().numpy().tobytes()).decode()


def _state(text: str) -> Any:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)


def _name(thing: object) -> str:
    return type(thing).__qualname__


def of_sampler(loader: DataLoader[Any]) -> Dict[str, int]:
    """What a DistributedSampler draws by, beside its seed."""
    return {"epoch": sampler.epoch for sampler in _distributed(loader)}


def ahead(loader: DataLoader[Any]) -> int:
    """How many batches torch draws before the first of them is asked for."""
    return int((loader.prefetch_factor or 2) * loader.num_workers)


def is_distributed(loader: DataLoader[Any]) -> bool:
    """Does each rank have its own part of the samples?"""
    return any(hasattr(sampler, "rank") and hasattr(sampler, "num_replicas")
               or hasattr(sampler, "process_index") for sampler in _samplers(loader))


def set_epoch(loader: DataLoader[Any], epoch: int) -> None:
    for sampler in _distributed(loader):
        sampler.set_epoch(epoch)


def _distributed(loader: DataLoader[Any]) -> List[Any]:
    return [one for one in _samplers(loader) if isinstance(one, DistributedSampler)]
