# SPDX-License-Identifier: MIT
"""torch's DataLoader, whose samples the daemon makes, or producers of it.

What is not built yet is left to torch's own DataLoader, and plan() says so.
"""
from __future__ import annotations

import inspect
import logging
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Union

import numpy as np
import torch
import torch.distributed as dist
import torch.utils.data
from torch.utils.data import IterableDataset, default_collate
from torch.utils.data._utils.pin_memory import pin_memory

from .. import loader as _loader
from .. import samplers
from .._device import Copier, DeviceIteration
from ..errors import Error, SampleError
from ..node import Node, connect
from ..produce.kept import KeptSource
from ..produce.sealed import unseal
from ..state import Place
from . import draw as drawing
from .batches import Batches, batches_of
from .lowering import Lowered, lowered
from .own_code import collated, source_of
from .subsets import indices_within, within
from .tensors import Cuda, tensor_of

__all__ = ["DataLoader"]

_log = logging.getLogger("stoker")


_By = Union[Lowered, KeptSource, Batches]


class _Way(NamedTuple):
    """How samples are made: by the daemon (a Lowered), by producers (a KeptSource; whole batches:
    Batches), or by torch's own DataLoader (None). ``words``: for plan()."""

    by: Optional[_By]
    words: str


class DataLoader(torch.utils.data.DataLoader):
    """torch.utils.data.DataLoader, with its parameters, defaults and meaning: the same order from
    the same seeds, the same batches of the same values. Only who makes them differs.

    - A folder of pictures (torchvision's ImageFolder or DatasetFolder, also within Subset or
      random_split) is read and decoded by the daemon, which also runs its transforms up to the
      first that it does not have; those behind it run in producers (see stoker.Map).
    - Any other dataset runs in ``num_workers`` producers: processes that make samples straight into
      the daemon's memory, and that are kept over epochs. With a ``collate_fn`` of your own, and
      where samples have texts or shapes of their own, they make whole batches, of any tree. Before
      each sample (or batch) ``random``, NumPy's and torch's generators are seeded from the epoch's
      seed and its place, so what is drawn does not depend on ``num_workers``.
    - What neither can do yet, torch's own DataLoader does: IterableDatasets, own samplers,
      datasets that cannot be pickled, and ``num_workers=0``, which runs your code here.

    plan() says which of these it is, and why; the logger "stoker" says it once at INFO.

    Args:
        device: "cuda", ...: tensors come there.
        node: where to attach; None: stoker.connect().

    Raises, beside what torch's does, DaemonUnavailable and the other errors of stoker.Loader, and
    SampleError for a sample that cannot be made; ``next()`` then gives the batch after it.
    """

    def __init__(self, *args: Any, device: Any = None, node: Optional[Node] = None,
                 **options: Any) -> None:
        super().__init__(*args, **options)
        self.device = device
        self.node = node
        self._way: Optional[_Way] = None
        self._lists: List[Any] = []  # indices of Subsets, the outermost first
        self._seed: Optional[int] = None  # that persistent workers keep
        self._passes = 0  # with this seed
        self._resume: Optional[Mapping[str, Any]] = None
        self._now: Optional[_Epoch] = None
        self._stream: Optional[_loader.Loader] = None  # the last one: its dataset stays open
        self._warned = False

    def __iter__(self) -> Any:
        way = self._decided()
        if way.by is None:
            return self._torch_iter()
        self._warn_of_ranks()
        drawn = self._draw()
        epoch = self._passes - 1 if self.persistent_workers else 0
        done = 0 if self._resume is None else int(self._resume["batches"])
        self._resume = None
        stream = None
        if done < len(drawn.batches):
            stream = self._attach(way.by, drawn, epoch)
            each = 1 if isinstance(way.by, Batches) else len(drawn.batches[0])
            stream._say(Place(epoch, done * each))
        self._stream = stream
        self._now = _Epoch(self, stream, way.by, drawn, done)
        return self._now

    def plan(self) -> str:
        """In words: what makes the samples, and why."""
        return self._decided().words

    def state_dict(self) -> Dict[str, Any]:
        """Where to resume: what JSON can hold. It counts the batches that the program has got.

        Exact where the daemon or producers make the samples, for any ``num_workers``. Raises Error
        where torch's own DataLoader does.
        """
        if self._resume is not None:
            return dict(self._resume)
        if self._decided().by is None:
            raise Error("torch's own DataLoader makes these batches, and cannot say where it is: "
                        f"{self.plan()}")
        now = self._now
        if now is None or now.batches_done == now.batches:  # the next epoch is not drawn yet
            return {"stoker": 1}
        return {"stoker": 1, "batches": now.batches_done, "seed": now.drawn.seed,
                "passes": self._passes, "generators": now.drawn.generators,
                **drawing.of_sampler(self)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next ``for`` goes on where the state was taken. Raises ValueError."""
        if state_dict.get("stoker") != 1:
            raise ValueError("this is no state of a stoker.torch.DataLoader of this version")
        self._resume = dict(state_dict) if "batches" in state_dict else None
        self._now = None

    def close(self) -> None:
        """End the stream and the producers. May be called twice; the next ``for`` begins anew."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        by = None if self._way is None else self._way.by
        kept = by.kept if isinstance(by, Lowered) else by
        if kept is not None:
            kept.close()

    # How samples are made

    def _decided(self) -> _Way:
        """The dataset may have changed since the last epoch."""
        way = self._decide()
        if self._way is None or way.words != self._way.words:
            missing = way.by is None and "pip install" in way.words
            _log.log(logging.WARNING if missing else logging.INFO, "DataLoader: %s", way.words)
        self._way = way
        return way

    def _decide(self) -> _Way:
        if isinstance(self.dataset, IterableDataset):
            return _left("an IterableDataset says itself what comes next")
        why = drawing.refusal(self)
        if why is not None:
            return _left(why)
        if self.batch_sampler is None:
            return self._decide_batches("batch_size=None")
        if self.collate_fn is not default_collate:
            return self._decide_batches("collate_fn is your own")
        dataset, lists = within(self.dataset)
        self._lists = lists
        before = None if self._way is None else self._way.by
        found = lowered(dataset, before, self.num_workers)
        if isinstance(found, Lowered):
            return _Way(found, self._words(found, dataset))
        if self.num_workers == 0:
            return _left(found if "num_workers=0" in found else
                         f"num_workers=0 runs your code here: {found}")
        if isinstance(before, Batches):
            return self._decide_batches("")
        source = before if isinstance(before, KeptSource) else \
            source_of(dataset, self.worker_init_fn, self.num_workers)
        if isinstance(source, str):
            return self._decide_batches(source)
        return _Way(source, f"{self.num_workers} producers make the samples of "
                            f"{type(dataset).__qualname__}: {found}")

    def _decide_batches(self, why: str) -> _Way:
        """Producers make whole batches; or torch."""
        if self.num_workers == 0:
            return _left(f"num_workers=0 runs your code here: {why}")
        if self._way is not None and isinstance(self._way.by, Batches):
            return self._way
        found = batches_of(self.dataset, self.collate_fn, self.batch_sampler is None,
                           self.worker_init_fn)
        if isinstance(found, str):
            return _left(found)
        return _Way(found, f"{self.num_workers} producers make the batches of {found.name}: {why}")

    def _words(self, found: Lowered, dataset: Any) -> str:
        what = f"the {len(dataset.samples)} pictures of {type(dataset).__name__}"
        if not found.own:
            return f"the daemon reads, decodes and transforms {what}"
        names = [getattr(one, "__qualname__", type(one).__qualname__) for one in found.own]
        known = [one["name"] for one in found.transforms[:-1]]
        return (f"the daemon reads and decodes {what}{' and runs ' if known else ''}"
                f"{', '.join(known)}; {self.num_workers} producers run {', '.join(names)}")

    def _torch_iter(self) -> Iterator[Any]:
        batches: Iterator[Any] = super().__iter__()
        if self.device is None:
            return batches
        return (_moved(batch, self.device) for batch in batches)

    def _warn_of_ranks(self) -> None:
        up = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
        if up and not self._warned and not drawing.is_distributed(self):
            _log.warning("each of the %d ranks gets all samples, since this DataLoader has no "
                         "DistributedSampler", dist.get_world_size())
        self._warned = True

    # An epoch

    def _draw(self) -> drawing.Draw:
        state = self._resume
        if state is not None:
            if "epoch" in state:
                drawing.set_epoch(self, int(state["epoch"]))
            self._passes = int(state["passes"])
            kept = int(state["seed"]) if self._passes > 1 else None
            drawn = drawing.draw_again(self, list(state["generators"]), kept)
        else:
            drawn = drawing.draw(self, self._seed)
            self._passes = self._passes + 1 if self._seed is not None else 1
        self._seed = drawn.seed if self.persistent_workers else None
        return drawn

    def _attach(self, by: _By, drawn: drawing.Draw, epoch: int
                ) -> _loader.Loader:
        if self.node is None:
            self.node = connect()
        options: Dict[str, Any] = dict(
            shuffle=False, augment_seed=drawn.seed, rank=0, world_size=1, epochs=epoch + 1,
            timeout=self.timeout or None)
        if isinstance(by, Batches):
            return self.node.loader(by.begin(self.node.socket, self.num_workers, drawn.batches),
                                    batch_size=1, **options)
        indices = np.concatenate([np.asarray(batch, np.int64) for batch in drawn.batches])
        indices = indices_within(self._lists, indices)
        options.update(batch_size=len(drawn.batches[0]), sampler=samplers.Subset(indices))
        if isinstance(by, Lowered):
            if by.kept is not None:
                by.kept.begin(self.node.socket, self.num_workers)
                options["num_workers"] = self.num_workers
            return self.node.loader(by.dataset, transforms=by.transforms, dtype=by.dtype,
                                    resize=by.resize, **options)
        by.begin(self.node.socket, self.num_workers)
        return self.node.loader(by, **options)


class _Epoch:
    """The batches of one ``for``. Holds its stream."""

    def __init__(self, owner: DataLoader, stream: Optional[_loader.Loader],
                 by: _By, drawn: drawing.Draw, done: int) -> None:
        self.drawn = drawn
        self.batches, self.batches_done = len(drawn.batches), done
        self._pin = owner.pin_memory and torch.cuda.is_available()
        self._device = owner.device
        self._by = by
        self._stream = stream
        self._iteration: Iterator[Any] = iter(()) if stream is None else \
            self._begin(stream, owner.device)

    def __iter__(self) -> _Epoch:
        return self

    def __len__(self) -> int:
        return self.batches

    def __next__(self) -> Any:
        try:
            batch = next(self._iteration)
        except SampleError as error:
            self.batches_done += 1
            if not isinstance(self._by, Batches):
                raise
            batch = self._by.here(error)
        else:
            self.batches_done += 1
        if isinstance(self._by, Batches) and self._device is not None:
            return _moved(batch, self._device)
        return pin_memory(batch) if self._pin else batch

    def _begin(self, stream: _loader.Loader, device: Any) -> Iterator[Any]:
        if isinstance(self._by, Batches):
            return _loader.Iteration(stream, _opener(stream))
        tree = self._by.tree
        names = ["image", "label"] if tree is None else [
            name for name in stream.fields if name != "index"]
        if tree is not None and isinstance(self._by, Lowered):
            names.remove("label")
            names = [*names[:len(tree.leaves)], "label"]
        if device is not None and torch.device(device).type != "cpu":
            stream._reader.copier = Copier(Cuda(device))
            return DeviceIteration(stream, stream._reader.copier, names, _joiner(self._by))
        return _loader.Iteration(stream, _maker(stream, names, _joiner(self._by)))


# Functions that do not hold the epoch: in a circle with it, tensors of a device would be freed
# whenever Python looks for circles, also in a process that was forked.


def _maker(stream: _loader.Loader, names: List[str], join: Callable[[Any], Any]
           ) -> Callable[[Any], Any]:
    def made(message: Any) -> Any:
        arrays, _ = stream._take(message, names)
        return join({name: tensor_of(array, stream.fields[name].dtype)
                     for name, array in arrays.items()})
    return made


def _opener(stream: _loader.Loader) -> Callable[[Any], Any]:
    """A batch as its producer had it."""
    name = next(name for name in stream.fields if name != "index")

    def opened(message: Any) -> Any:
        arrays, _ = stream._take(message, [name])
        return unseal(arrays[name][0])
    return opened


def _joiner(by: _By) -> Callable[[Mapping[str, Any]], Any]:
    """A batch, as torch collates it, of the tensors of its fields."""
    tree = by.tree

    def joined(tensors: Mapping[str, Any]) -> Any:
        items = list(tensors.values())
        if tree is None:
            return items
        made = collated(tree.join(items))
        return [made, *items[len(tree.leaves):]] if isinstance(by, Lowered) else made
    return joined


def _left(why: str) -> _Way:
    return _Way(None, f"torch's own DataLoader makes the batches: {why}")


def _moved(batch: Any, device: Any) -> Any:
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, Mapping):
        return {key: _moved(value, device) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        items = [_moved(item, device) for item in batch]
        return type(batch)(*items) if hasattr(batch, "_fields") else items
    return batch


def _signature() -> inspect.Signature:
    """The installed torch's, and ours behind it."""
    torchs = inspect.signature(torch.utils.data.DataLoader.__init__)
    ours = inspect.signature(DataLoader.__init__).parameters
    return torchs.replace(parameters=[*torchs.parameters.values(), ours["device"], ours["node"]])


DataLoader.__init__.__signature__ = _signature()  # type: ignore[attr-defined]
