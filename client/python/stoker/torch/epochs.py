# SPDX-License-Identifier: MIT
"""The batches of one ``for`` over a stoker.torch.DataLoader, of the daemon or of producers. One
thread. Neither holds the loader."""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Union

import torch
from torch.utils.data._utils.pin_memory import pin_memory

from .. import loader as _loader
from .._device import Copier, DeviceIteration
from ..errors import SampleError
from ..produce.batches import Batches, Run
from ..produce.kept import KeptSource
from ..produce.tree import is_of_another_form
from . import draw as drawing
from .lowering import Lowered
from .own_code import Here, collated
from .tensors import Cuda, hander, tensor_of


class Epoch:
    """The batches of one ``for``. Holds its stream. ``mixed``: some of the samples are not as the
    first of the dataset: their batches are made in this process."""

    def __init__(self, owner: Any, stream: Optional[_loader.Loader],
                 by: Union[Lowered, KeptSource], drawn: drawing.Draw, done: int, mixed: bool
                 ) -> None:
        self.drawn, self.mixed = drawn, mixed
        self.batches, self.batches_done = len(drawn.listed()), done
        self._kept = by.kept if isinstance(by, Lowered) else by
        self._here = Here(by, owner.num_workers, owner._lists) if isinstance(by, KeptSource) \
            else None
        self._hand = hander(owner)
        self._pin = owner.pin_memory and torch.cuda.is_available()
        self._iteration: Iterator[Any] = iter(()) if stream is None else \
            _tensors(stream, by, owner.device)

    def __iter__(self) -> Epoch:
        return self

    def __len__(self) -> int:
        return self.batches

    def at_end(self) -> bool:
        return self.batches_done == self.batches

    def state(self) -> Dict[str, Any]:
        return {"mixed": True} if self.mixed else {}

    def __next__(self) -> Any:
        try:
            batch = next(self._iteration)
        except SampleError as error:
            self.batches_done += 1
            if self._here is None or not is_of_another_form(error.text):
                raise
            self.mixed = True
            batches, number = self.drawn.listed(), self.batches_done - 1
            return self._hand(self._here.batch(batches[number], self.drawn.seed, error.epoch,
                                               number * len(batches[0])))
        except StopIteration:
            if self._kept is not None:
                self._kept.rest()
            raise
        self.batches_done += 1
        return pin_memory(batch) if self._pin else batch


class WholeBatches:
    """The whole batches of one ``for``. Holds its stream."""

    def __init__(self, owner: Any, stream: Optional[_loader.Loader], by: Batches,
                 drawn: drawing.Draw, run: Run) -> None:
        self.drawn = drawn
        self._hand, self._by, self._stream, self._run = hander(owner), by, stream, run
        self._length = run.count if run.at_once else _length(owner)

    def __iter__(self) -> WholeBatches:
        return self

    def __len__(self) -> int:
        if self._length is None:
            raise TypeError("the sampler has no len(): give it __len__()")
        return self._length

    @property
    def batches_done(self) -> int:
        return self._run.came

    def at_end(self) -> bool:
        return self._run.at_end()

    def state(self) -> Dict[str, Any]:
        return {}

    def __next__(self) -> Any:
        return self._hand(self._run.next(self._stream, self._by))


def _length(owner: Any) -> Optional[int]:
    try:
        return len(owner)
    except TypeError:
        return None


def _tensors(stream: _loader.Loader, by: Union[Lowered, KeptSource], device: Any) -> Iterator[Any]:
    tree = by.tree
    names = ["image", "label"] if tree is None else [
        name for name in stream.fields if name != "index"]
    if tree is not None and isinstance(by, Lowered):
        names.remove("label")
        names = [*names[:len(tree.leaves)], "label"]
    if device is not None and torch.device(device).type != "cpu":
        stream._reader.copier = Copier(Cuda(device))
        return DeviceIteration(stream, stream._reader.copier, names, _joiner(by))
    return _loader.Iteration(stream, _maker(stream, names, _joiner(by)))


# Functions that do not hold the epoch: in a circle with it, tensors of a device would be freed
# whenever Python looks for circles, also in a process that was forked.


def _maker(stream: _loader.Loader, names: List[str], join: Callable[[Any], Any]
           ) -> Callable[[Any], Any]:
    def made(message: Any) -> Any:
        arrays, _ = stream._take(message, names)
        return join({name: tensor_of(array, stream.fields[name].dtype)
                     for name, array in arrays.items()})
    return made


def _joiner(by: Union[Lowered, KeptSource]) -> Callable[[Mapping[str, Any]], Any]:
    """A batch, as torch collates it, of the tensors of its fields."""
    tree = by.tree

    def joined(tensors: Mapping[str, Any]) -> Any:
        items = list(tensors.values())
        if tree is None:
            return items
        made = collated(tree.join(items))
        return [made, *items[len(tree.leaves):]] if isinstance(by, Lowered) else made
    return joined
