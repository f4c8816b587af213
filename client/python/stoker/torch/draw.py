# SPDX-License-Identifier: MIT
"""The order of an epoch, drawn by torch's own samplers: from the same generators and in the same
sequence as in torch's DataLoader with workers, so it is the same order. One thread.
"""
from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Union

import torch
from torch.utils.data import (BatchSampler, RandomSampler, SequentialSampler, SubsetRandomSampler,
                              WeightedRandomSampler)
from torch.utils.data.distributed import DistributedSampler

if TYPE_CHECKING:
    from torch.utils.data import DataLoader

# These draw nothing that a training changes meanwhile, so a whole epoch can be drawn at once.
_KNOWN = (RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler,
          DistributedSampler)


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
    sampler = loader.sampler
    if loader.batch_sampler is not None:
        if type(loader.batch_sampler) is not BatchSampler:
            return f"{_name(loader.batch_sampler)} may look at the training while it draws batches"
        sampler = loader.batch_sampler.sampler
    if type(sampler) not in _KNOWN:
        return f"{_name(sampler)} may look at the training while it draws"
    return None


def draw(loader: DataLoader[Any], seed: Optional[int] = None) -> Draw:
    """The next epoch. ``seed``: that of workers which are kept."""
    generators = _generators(loader)
    before = [_text(generator) for generator in generators]
    single = loader.batch_sampler is None
    batches: Iterator[Any] = iter(loader.sampler if single else loader.batch_sampler)
    if seed is None:
        seed = int(torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item())
    if as_it_goes(loader) is not None:
        return Draw(([index] for index in batches) if single else batches, seed, before)
    return Draw([[int(batch)] if single else [int(index) for index in batch] for batch in batches],
                seed, before)


def draw_again(loader: DataLoader[Any], generators: List[str], seed: Optional[int]) -> Draw:
    """The epoch that was drawn with generators in these states. torch's default generator is left
    as it is: it belongs to the program. Raises ValueError."""
    ours = _generators(loader)
    if len(generators) != len(ours):
        raise ValueError(f"the state is of a loader with {len(generators)} generators, and this "
                         f"one has {len(ours)}: give the same sampler and generator")
    default = torch.default_generator.get_state()
    try:
        for generator, text in zip(ours, generators):
            generator.set_state(_state(text))
        return draw(loader, seed)
    finally:
        torch.default_generator.set_state(default)


def _sampler(loader: DataLoader[Any]) -> Any:
    return getattr(loader.batch_sampler, "sampler", loader.sampler)


def _generators(loader: DataLoader[Any]) -> List[Any]:
    """The default one, that of the loader and that of its sampler, each once."""
    out = [torch.default_generator]
    sampler = _sampler(loader)
    for generator in (loader.generator, getattr(sampler, "generator", None)):
        if generator is not None and all(generator is not one for one in out):
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
    sampler = _sampler(loader)
    return {"epoch": sampler.epoch} if isinstance(sampler, DistributedSampler) else {}


def ahead(loader: DataLoader[Any]) -> int:
    """How many batches torch draws before the first of them is asked for."""
    return int((loader.prefetch_factor or 2) * loader.num_workers)


def is_distributed(loader: DataLoader[Any]) -> bool:
    """Does each rank have its own part of the samples?"""
    sampler = _sampler(loader)
    return isinstance(sampler, DistributedSampler) or \
        (hasattr(sampler, "num_replicas") and hasattr(sampler, "rank"))


def set_epoch(loader: DataLoader[Any], epoch: int) -> None:
    sampler = _sampler(loader)
    if isinstance(sampler, DistributedSampler):
        sampler.set_epoch(epoch)
