# SPDX-License-Identifier: MIT
"""torch's DataLoader, whose samples the daemon makes, or producers of it.

What is not built yet is left to torch's own DataLoader, and plan() says so.
"""
from __future__ import annotations

import inspect
import logging
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, NamedTuple,
                    Optional, Union)

import numpy as np
import torch
import torch.distributed as dist
import torch.utils.data
from torch.utils.data import IterableDataset, default_collate
from torch.utils.data._utils.pin_memory import pin_memory

from .. import _options, loader as _loader
from .. import samplers
from .._device import Copier, DeviceIteration
from ..errors import SampleError
from ..node import Node, connect
from ..produce.batches import Batches, Run
from ..produce.kept import KeptSource
from ..state import Place
from . import accelerated, draw as drawing
from .iterable import Streams, Turns, streams_of
from .lowering import Lowered, lowered
from .own_code import batches_of, collated, source_of
from .subsets import indices_within, within
from .tensors import Cuda, hander, tensor_of
from .theirs import Theirs

__all__ = ["DataLoader"]

_log = logging.getLogger("stoker")


_By = Union[Lowered, KeptSource, Batches, Streams]


class _Way(NamedTuple):
    """How samples are made: by the daemon (a Lowered), by producers (a KeptSource; whole batches:
    Batches; an IterableDataset's: Streams), or by torch's own DataLoader (None). ``words``: for
    plan()."""

    by: Optional[_By]
    words: str


class DataLoader(torch.utils.data.DataLoader):
    """torch.utils.data.DataLoader, with its parameters, defaults and meaning: the same order from
    the same seeds, the same batches of the same values. Only who makes them differs.

    - A folder of pictures (torchvision's ImageFolder or DatasetFolder, also within Subset or
      random_split) is read and decoded by the daemon, which also runs its transforms up to the
      first that it does not have; those behind it run in producers (see stoker.Map).
    - Any other dataset runs in ``num_workers`` producers: processes that make samples straight into
      the daemon's memory, and that are kept over epochs. With a ``collate_fn``, ``sampler`` or
      ``batch_sampler`` of your own, and where samples have texts or shapes of their own, they make
      whole batches, of any tree; such a sampler draws no further ahead than with torch's. Before
      each sample (or batch) ``random``, NumPy's and torch's generators are seeded from the epoch's
      seed and its place, so what is drawn does not depend on ``num_workers``.
    - An IterableDataset has an iterator in each producer, as in torch's workers, with the same
      random numbers; a producer that died is made again, and skips what it had given.
    - What neither can do yet, torch's own DataLoader does: datasets that cannot be pickled,
      IterDataPipes, and ``num_workers=0``, which runs your code here.

    plan() says which of these it is, and why; the logger "stoker" says it once at INFO.

    Args:
        device: "cuda", ...: tensors come there.
        node: where to attach; None: stoker.connect().

    Raises, beside what torch's does, DaemonUnavailable and the other errors of stoker.Loader, and
    SampleError for a sample that cannot be made; ``next()`` then gives the batch after it.
    """

    def __init__(self, *args: Any, device: Any = None, node: Optional[Node] = None,
                 **options: Any) -> None:
        known = [*inspect.signature(DataLoader.__init__).parameters][1:]
        _options.refuse((name for name in options if name not in known), known)
        super().__init__(*args, **options)
        self.begin(device, node)
        accelerated.keep(DataLoader, _Placed)

    def begin(self, device: Any, node: Optional[Node]) -> None:
        """What it has beside torch's own."""
        self.device = device
        self.node = node
        self._way: Optional[_Way] = None
        self._lists: List[Any] = []  # indices of Subsets, the outermost first
        self._seed: Optional[int] = None  # that persistent workers keep
        self._passes = 0  # with this seed
        self._resume: Optional[Mapping[str, Any]] = None
        self._now: Union[None, _Epoch, _Run, Turns, Theirs] = None
        self._stream: Optional[_loader.Loader] = None  # the last one: its dataset stays open
        self._warned = False

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            if name == accelerated.MARK:  # it is about to make one of its own of this
                accelerated.keep(DataLoader, _Placed)
            raise AttributeError(f"a {type(self).__qualname__} has no attribute {name!r}")

    def __iter__(self) -> Any:
        way = self._decided()
        if way.by is None:
            self._now = self._torchs()
            return self._now
        if not isinstance(way.by, Streams):
            self._warn_of_ranks()
        drawn = self._draw()
        epoch = self._passes - 1 if self.persistent_workers else 0
        begun: Mapping[str, Any] = self._resume or {}
        done = int(begun.get("batches", 0))
        self._resume = stream = None
        if isinstance(way.by, Streams):
            self._now = Turns(way.by, self._connected(), drawn, epoch, drawing.ahead(self),
                              self.num_workers, begun, hander(self))
        elif isinstance(way.by, Batches):
            run = Run(drawn.batches, drawn.seed, epoch, done, drawing.ahead(self))
            stream = None if run.at_end() else run.begin(
                way.by, self._connected(), self.num_workers, timeout=self.timeout or None)
            self._now = _Run(self, stream, way.by, drawn, run)
        else:
            batches = drawn.listed()
            stream = None if done >= len(batches) else \
                self._attach(way.by, batches, drawn.seed, Place(epoch, done * len(batches[0])))
            self._now = _Epoch(self, stream, way.by, drawn, done)
        self._stream = stream
        return self._now

    def plan(self) -> str:
        """In words: what makes the samples, and why."""
        return self._decided().words

    def state_dict(self) -> Dict[str, Any]:
        """Where to resume: what JSON can hold. It counts the batches that the program has got.

        Exact where the daemon or producers make the samples, for any ``num_workers``. Where torch's
        own DataLoader does, the order goes on; what samples draw there follows the program's own
        generators, and batches that had come are made again and left out.
        """
        if self._resume is not None:
            return dict(self._resume)
        now = self._now
        if now is None or now.at_end():  # the next epoch is not drawn yet
            return {"stoker": 1}
        return {"stoker": 1, "batches": now.batches_done, "seed": now.drawn.seed,
                "passes": self._passes, "generators": now.drawn.generators, **now.state(),
                **drawing.of_sampler(self)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next ``for`` goes on where the state was taken. Raises ValueError."""
        if state_dict.get("stoker") != 1:
            raise ValueError("this is no state of a stoker.torch.DataLoader of this version"
                             ": load what its state_dict() gave")
        self._resume = dict(state_dict) if "batches" in state_dict else None
        self._now = None

    def close(self) -> None:
        """End the stream and the producers. May be called twice; the next ``for`` begins again."""
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
            return self._decide_streams()
        why = drawing.as_it_goes(self)
        if why is not None:
            return self._decide_batches(why)
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

    def _decide_streams(self) -> _Way:
        if self.num_workers == 0:
            return _left("num_workers=0 runs your code here: an IterableDataset")
        before = None if self._way is None else self._way.by
        found = before if isinstance(before, Streams) else streams_of(
            self.dataset, self.collate_fn, self.batch_size, self.drop_last, self.worker_init_fn)
        if isinstance(found, str):
            return _left(found)
        return _Way(found, f"{self.num_workers} producers run {found.name}, an IterableDataset, "
                           "each with an iterator of its own; no other program shares its batches")

    def _words(self, found: Lowered, dataset: Any) -> str:
        what = f"the {len(dataset.samples)} pictures of {type(dataset).__name__}"
        if not found.own:
            return f"the daemon reads, decodes and transforms {what}"
        names = [getattr(one, "__qualname__", type(one).__qualname__) for one in found.own]
        known = [one["name"] for one in found.transforms[:-1]]
        return (f"the daemon reads and decodes {what}{' and runs ' if known else ''}"
                f"{', '.join(known)}; {self.num_workers} producers run {', '.join(names)}")

    def _torchs(self) -> Theirs:
        begun, self._resume = self._resume or {}, None
        if "epoch" in begun:
            drawing.set_epoch(self, int(begun["epoch"]))
        self._passes = 1
        return Theirs(self, super().__iter__, begun)

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

    def _attach(self, by: Union[Lowered, KeptSource], batches: List[List[int]], seed: int,
                place: Place) -> _loader.Loader:
        indices = np.concatenate([np.asarray(batch, np.int64) for batch in batches])
        options: Dict[str, Any] = dict(
            self._options(seed), epochs=place.epoch + 1, batch_size=len(batches[0]),
            sampler=samplers.Subset(indices_within(self._lists, indices)))
        node = self._connected()
        if isinstance(by, KeptSource):
            by.begin(node.socket, self.num_workers)
            return _begun(node.loader(by, **options), place)
        if by.kept is not None:
            by.kept.begin(node.socket, self.num_workers)
            options["num_workers"] = self.num_workers
        return _begun(node.loader(by.dataset, transforms=by.transforms, dtype=by.dtype,
                                  resize=by.resize, **options), place)

    def _connected(self) -> Node:
        if self.node is None:
            self.node = connect()
        return self.node

    def _options(self, seed: int) -> Dict[str, Any]:
        return {"shuffle": False, "augment_seed": seed, "rank": 0, "world_size": 1,
                "timeout": self.timeout or None}


class _Placed(DataLoader):
    """In the place of torch's own in a loader of Accelerate, which counts by itself how far it is,
    and takes a state for torchdata's."""

    @property
    def state_dict(self) -> Any:
        raise AttributeError("Accelerate keeps the place: skip_first_batches() goes on there")

    load_state_dict = state_dict


class _Epoch:
    """The batches of one ``for``. Holds its stream."""

    def __init__(self, owner: DataLoader, stream: Optional[_loader.Loader],
                 by: Union[Lowered, KeptSource], drawn: drawing.Draw, done: int) -> None:
        self.drawn = drawn
        self.batches, self.batches_done = len(drawn.listed()), done
        self._kept = by.kept if isinstance(by, Lowered) else by
        self._pin = owner.pin_memory and torch.cuda.is_available()
        self._iteration: Iterator[Any] = iter(()) if stream is None else \
            _tensors(stream, by, owner.device)

    def __iter__(self) -> _Epoch:
        return self

    def __len__(self) -> int:
        return self.batches

    def at_end(self) -> bool:
        return self.batches_done == self.batches

    def state(self) -> Dict[str, Any]:
        return {}

    def __next__(self) -> Any:
        try:
            batch = next(self._iteration)
        except SampleError:
            self.batches_done += 1
            raise
        except StopIteration:
            if self._kept is not None:
                self._kept.rest()
            raise
        self.batches_done += 1
        return pin_memory(batch) if self._pin else batch


class _Run:
    """The whole batches of one ``for``. Holds its stream."""

    def __init__(self, owner: DataLoader, stream: Optional[_loader.Loader], by: Batches,
                 drawn: drawing.Draw, run: Run) -> None:
        self.drawn = drawn
        self._hand, self._by, self._stream, self._run = hander(owner), by, stream, run
        self._length = run.count if run.at_once else _length(owner)

    def __iter__(self) -> _Run:
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


def _begun(stream: _loader.Loader, place: Place) -> _loader.Loader:
    stream._say(place)
    return stream


def _length(owner: DataLoader) -> Optional[int]:
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


def _left(why: str) -> _Way:
    return _Way(None, f"torch's own DataLoader makes the batches: {why}")


def _signature() -> inspect.Signature:
    """The installed torch's, and ours behind it."""
    torchs = inspect.signature(torch.utils.data.DataLoader.__init__)
    ours = inspect.signature(DataLoader.__init__).parameters
    return torchs.replace(parameters=[*torchs.parameters.values(), ours["device"], ours["node"]])


DataLoader.__init__.__signature__ = _signature()  # type: ignore[attr-defined]
