# SPDX-License-Identifier: MIT
"""torch's DataLoader, whose samples the daemon makes, or producers of it.

What is not built yet is left to torch's own DataLoader, and plan() says so.
"""
from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Union

import numpy as np
import torch
import torch.distributed as dist
import torch.utils.data
from torch.utils.data import IterableDataset, default_collate

from .. import _options, loader as _loader
from .. import samplers
from ..errors import PipelineError
from ..node import Node, connect
from ..produce.batches import Batches, Run
from ..produce.kept import KeptSource
from ..state import Place
from . import accelerated, draw as drawing
from .epochs import Epoch, WholeBatches
from .iterable import Streams, Turns, streams_of
from .lowering import Lowered, lowered, replaced
from .own_code import batches_of, source_of
from .subsets import from_the_end, indices_within, within
from .tensors import hander
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
      whole batches, of any tree; such a sampler draws no further ahead than with torch's. (The
      daemon follows one over a folder of pictures whose ``__iter__`` returns the iterator of a
      list, which is drawn already.) Before
      each sample (or batch) ``random``, NumPy's and torch's generators are seeded from the epoch's
      seed and its place, so what is drawn does not depend on ``num_workers``.
    - An IterableDataset has an iterator in each producer, as in torch's workers, with the same
      random numbers; a producer that died is made again, and skips what it had given.
    - What neither can do yet, torch's own DataLoader does: datasets that cannot be pickled,
      IterDataPipes, functions of torchvision that the program has replaced, and ``num_workers=0``,
      which runs your code here.

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
        self._connection: Optional[Node] = None  # without a node
        self._way: Optional[_Way] = None
        self._lists: List[Any] = []  # indices of Subsets, the outermost first
        self._seed: Optional[int] = None  # that persistent workers keep
        self._passes = 0  # with this seed
        self._resume: Optional[Mapping[str, Any]] = None
        self._now: Union[None, Epoch, WholeBatches, Turns, Theirs] = None
        self._stream: Optional[_loader.Loader] = None  # the last one: its dataset stays open
        self._warned = False
        self._whole: Optional[str] = None  # why producers make whole batches, if an epoch said so

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            if name == accelerated.MARK:  # it is about to make one of its own of this
                accelerated.keep(DataLoader, _Placed)
            raise AttributeError(f"a {type(self).__qualname__} has no attribute {name!r}")

    def __iter__(self) -> Any:
        self._whole = self._whole_next()
        way = self._decided()
        if way.by is None:
            self._now = self._torchs()
            return self._now
        if not isinstance(way.by, Streams):
            self._warn_of_ranks()
        drawn = self._draw()
        why = None if isinstance(way.by, (Batches, Streams)) else self._why_whole(way.by, drawn)
        if why is not None:
            self._whole = why
            way = self._decided()
        epoch = self._passes - 1 if self.persistent_workers else 0
        begun: Mapping[str, Any] = self._resume or {}
        done = int(begun.get("batches", 0))
        self._resume = stream = None
        if isinstance(way.by, (Lowered, KeptSource)) and done < len(drawn.listed()):
            try:
                stream = self._attach(way.by, drawn.listed(), drawn.seed, epoch, done)
            except PipelineError as error:
                if not isinstance(way.by, Lowered) or "one size" not in str(error):
                    raise
                self._whole = "its pictures have several sizes"
                way = self._decided()
        if way.by is None:
            self._now = Theirs(self, lambda: drawing.fetched(self, drawn.batches), {})
        elif isinstance(way.by, Streams):
            self._now = Turns(way.by, self._connected(), drawn, epoch, drawing.ahead(self),
                              self.num_workers, begun, hander(self))
        elif isinstance(way.by, Batches):
            run = Run(drawn.batches, drawn.seed, epoch, done, drawing.ahead(self))
            stream = None if run.at_end() else run.begin(
                way.by, self._connected(), self.num_workers, timeout=self.timeout or None)
            self._now = WholeBatches(self, stream, way.by, drawn, run)
        else:
            self._now = Epoch(self, stream, way.by, drawn, done, bool(begun.get("mixed")))
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
            whole = self._whole_next()
            return {"stoker": 1, **({"whole": whole} if whole else {})}
        return {"stoker": 1, "batches": now.batches_done, "seed": now.drawn.seed,
                "passes": self._passes, "generators": now.drawn.generators, **now.state(),
                **({"whole": self._whole} if self._whole else {}), **drawing.of_sampler(self)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next ``for`` goes on where the state was taken. Raises ValueError."""
        if state_dict.get("stoker") != 1:
            raise ValueError("this is no state of a stoker.torch.DataLoader of this version"
                             ": load what its state_dict() gave")
        self._resume = dict(state_dict) if "batches" in state_dict else None
        self._now, self._whole = None, state_dict.get("whole")

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

    def _whole_next(self) -> Optional[str]:
        """Why producers make whole batches from the next epoch on, if one said so."""
        mixed = isinstance(self._now, Epoch) and self._now.mixed
        return "its samples differ in form" if mixed else self._whole

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
        dataset, self._lists = within(self.dataset)
        changed = replaced(dataset)
        if changed is not None:
            return _left(changed)
        why = self._whole or drawing.as_it_goes(self)
        if why is not None and (self._whole is not None or self.num_workers == 0
                                or not drawing.may_be_drawn(self)):
            return self._decide_batches(why)
        if self.batch_sampler is None:
            return self._decide_batches("batch_size=None")
        if self.collate_fn is not default_collate:
            return self._decide_batches("collate_fn is your own")
        before = None if self._way is None else self._way.by
        found = lowered(dataset, before, self.num_workers)
        if isinstance(found, Lowered):
            return _Way(found, self._words(found, dataset))
        if why is None and getattr(dataset, "__getitems__", None):
            why = "it has __getitems__()"
        if why is not None:
            return self._decide_batches(why)
        if self.num_workers == 0:
            return _left(found if "num_workers=0" in found else
                         f"num_workers=0 runs your code here: {found}")
        source = before if isinstance(before, KeptSource) and \
            before.code.init is self.worker_init_fn and before.samples == len(dataset) else \
            source_of(dataset, self.worker_init_fn, self.num_workers)
        if isinstance(source, str):
            return self._decide_batches(source)
        return _Way(source, f"{self.num_workers} producers make the samples of "
                            f"{type(dataset).__qualname__}: {found}")

    def _decide_batches(self, why: str) -> _Way:
        """Producers make whole batches; or torch."""
        if self.num_workers == 0:
            return _left(f"num_workers=0 runs your code here: {why}")
        single, before = self.batch_sampler is None, None if self._way is None else self._way.by
        if isinstance(before, Batches) and before.code.make.makes(  # type: ignore[attr-defined]
                self.dataset, self.collate_fn, single, self.worker_init_fn):
            return _Way(before, self._way.words)  # type: ignore[union-attr]
        found = batches_of(self.dataset, self.collate_fn, single, self.worker_init_fn)
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
                         "DistributedSampler: give it one to divide them", dist.get_world_size())
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

    def _indices(self, batches: List[List[int]]) -> np.ndarray[Any, Any]:
        """Of the dataset below Subsets."""
        indices = [np.asarray(batch, np.int64) for batch in batches]
        return indices_within(self._lists, np.concatenate(indices) if indices else ())

    def _why_whole(self, by: Any, drawn: drawing.Draw) -> Optional[str]:
        """Why producers are to make the batches of what was drawn, one by one."""
        if not isinstance(drawn.batches, list):
            return drawing.as_it_goes(self) or "its sampler gives what is no number"
        sizes = [len(batch) for batch in drawn.batches]
        if sizes and (set(sizes[:-1]) - {sizes[0]} or not 0 < sizes[-1] <= sizes[0]):
            return "its sampler gives batches of several sizes"
        below = isinstance(by, KeptSource) and (self._indices(drawn.batches) < 0).any()
        return "its sampler counts from the end" if below else None

    def _attach(self, by: Union[Lowered, KeptSource], batches: List[List[int]], seed: int,
                epoch: int, done: int) -> _loader.Loader:
        place, indices = Place(epoch, done * len(batches[0])), self._indices(batches)
        if isinstance(by, Lowered):
            indices = from_the_end(indices, len(by.samples))
        options: Dict[str, Any] = dict(
            self._options(seed), epochs=place.epoch + 1, batch_size=len(batches[0]),
            sampler=samplers.Subset(indices))
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
        if self.node is not None:
            return self.node
        if self._connection is None:
            self._connection = connect()
        return self._connection

    def __getstate__(self) -> Dict[str, Any]:
        """A copy, also one in another process, begins anew, with a connection of its own."""
        return {**vars(self), "_connection": None, "_way": None, "_now": None, "_stream": None}

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


def _begun(stream: _loader.Loader, place: Place) -> _loader.Loader:
    stream._say(place)
    return stream


def _left(why: str) -> _Way:
    return _Way(None, f"torch's own DataLoader makes the batches: {why}")


def _signature() -> inspect.Signature:
    """The installed torch's, and ours behind it."""
    torchs = inspect.signature(torch.utils.data.DataLoader.__init__)
    ours = inspect.signature(DataLoader.__init__).parameters
    return torchs.replace(parameters=[*torchs.parameters.values(), ours["device"], ours["node"]])


DataLoader.__init__.__signature__ = _signature()  # type: ignore[attr-defined]
