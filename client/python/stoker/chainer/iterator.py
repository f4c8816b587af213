# SPDX-License-Identifier: MIT
"""The iterator: examples of pictures that the daemon reads, or of any dataset of the program's."""
from __future__ import annotations

import inspect
import logging
import os
import warnings
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, NamedTuple,
                    Optional, Sequence, Tuple, get_type_hints)

import numpy as np

from .. import _options, transforms as _transforms
from .._paths import absolute
from ..errors import TokenError
from ..loader import Arrays, Iteration, Loader
from ..mix import Mix
from ..node import Node, connect
from ..produce.map import Map
from ..produce.source import Source
from ..produce.sealing import program_seed
from .applied import Applied, examples_of, map_of
from .columns import rows
from .examples import Examples
from .snapshot import serialized, serialized_order
from .streams import Way

try:
    from chainer import datasets as _datasets
    from chainer.dataset import Iterator as _Base
    from chainer.iterators import MultiprocessIterator as _Chainers
    _Timeout = _Chainers.TimeoutWarning
except ImportError:
    _datasets, _Base, _Timeout = None, object, RuntimeWarning

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._options import Unshuffled

__all__ = ["Iterator"]

# Arguments of MultiprocessIterator without an effect, and why.
_NO_EFFECT = {
    "n_processes": "the daemon has the workers: `stokerctl set workers 8`",
    "shared_mem": "the daemon has the memory: its option ring-memory",
    "maxtasksperchild": "processes that end are started again",
}
# Transforms after which an image is no longer bytes.
_NUMBERS = {"ToTensor", "Normalize", "ImageDataGenerator", "MixUp", "CutMix"}
_ORDER = "order_sampler is not supported, because the daemon makes the order of pictures: give " \
         "sampler=, one of stoker.samplers (Subset, Weighted, Balanced, Split), or shuffle=False"
_log = logging.getLogger("stoker")


class _Source(NamedTuple):
    """A dataset as Node.loader() takes it, or as Chainer's list of files, and what that says."""

    files: Any = None
    root: str = ""
    pairs: Sequence[Any] = ()  # of path and label, if `files` is None
    dtype: Any = np.float32
    label_dtype: Any = None  # None: int32 for int64
    table: Any = None  # the labels, where they are no whole numbers: the daemon's are places in it
    labelled: bool = True
    own: bool = False  # or else run by producers, which give whole examples
    applied: Tuple[Callable[[Any], Any], ...] = ()  # to each example, one after the other


class Iterator(_Base):  # type: ignore[misc]
    """Batches as lists of examples (image, label), as MultiprocessIterator gives them.

    Args:
        dataset: as for Node.loader(); or chainer.datasets.LabeledImageDataset or ImageDataset (then
            an example is an image): all images are decoded as RGB, and must have one size after
            ``transforms``; if the first is not of RGB and there are no options of Node.loader(),
            they run in producers as any other dataset, and stay as they are. Or a TransformDataset
            of one of these, with options of Node.loader(): its function then runs in
            ``n_processes`` producers, after ``transforms``, and may give examples of any size and
            type. Where it is called in this process, the logger "stoker" says why: of a path, of
            numbers (see below), or if it cannot go to another process. Any other dataset
            (DatasetMixin, TupleDataset, DictDataset, SubDataset, TransformDataset, a zip, a list,
            ...) runs in ``n_processes`` producers, see stoker.Source; its examples are what it
            gives, of any size and type.
        repeat: False: StopIteration after the first epoch, whose last batch may be short. True: the
            last batch of an epoch is filled up from the next epoch.
        shuffle: None is True. The order is drawn from numpy.random as Chainer draws it, where
            producers make the examples; of pictures it follows numpy's seed, or ``order_seed``, and
            of a path ``order_seed`` alone, which is the same in each run.
        n_processes: producers, if the dataset runs in them; None: as many as there are processors.
        shared_mem, maxtasksperchild, and n_processes of other datasets: without effect, the logger
            "stoker" says why.
        n_prefetch: number of batches ready beside the one in use, at least 1.
        order_sampler: as Chainer's, where producers make the examples; of pictures only Chainer's
            ShuffleOrderSampler: for others see ``sampler`` and stoker.samplers.
        dataset_timeout: seconds until next() warns (MultiprocessIterator.TimeoutWarning, or
            RuntimeWarning without chainer), and then waits on. None: never.
        node: where to attach; None: stoker.connect().
        options: all others of Node.loader() but ``inflight`` and ``timeout``; where producers make
            the examples, those that are not of pictures. With them the daemon has the order of
            these, too, and they must be arrays of one shape and type each.

    Images are (C, H, W) of ``dtype`` (float32), 0 to 255 as LabeledImageDataset's, unless ToTensor,
    Normalize, ImageDataGenerator, MixUp or CutMix is among the transforms, which say otherwise.
    Labels are int32 where stoker has int64. Examples may be changed and kept; one that is kept
    keeps its batch.

    Attributes, as Chainer's, and with its values after each next(): dataset, batch_size, repeat,
    epoch, current_position, epoch_detail, previous_epoch_detail, is_new_epoch. Of several ranks
    each counts what all have taken. And loader, the stoker.Loader of pictures, which is one of
    uint8 where these are 0 to 255.

    serialize() is for Chainer's snapshots; reset() begins again with epoch 0; copy.copy() gives an
    iterator at the same place. One thread at a time. Raises TypeError for a dataset that cannot be
    translated, and what Node.loader() and iterating over a loader raise.
    """

    TimeoutWarning = _Timeout

    def __init__(self, dataset: Any, batch_size: int, repeat: bool = True,
                 shuffle: Optional[bool] = None, n_processes: Optional[int] = None,
                 n_prefetch: int = 1, shared_mem: Optional[int] = None, order_sampler: Any = None,
                 dataset_timeout: Optional[float] = 30.0, maxtasksperchild: Optional[int] = None, *,
                 node: Optional[Node] = None, **options: Unpack[Unshuffled]) -> None:
        known = [*inspect.signature(Iterator.__init__).parameters][1:-1]
        known += get_type_hints(_options.Unshuffled)
        _options.refuse((name for name in options if name not in known), known)
        self._source = _translate(dataset, bool(options))
        self._processes = n_processes
        by_producers = self._source.own or bool(self._source.applied)
        for name, given in (("n_processes", n_processes), ("shared_mem", shared_mem),
                            ("maxtasksperchild", maxtasksperchild)):
            if given is not None and not (name == "n_processes" and by_producers):
                _log.info("%s=%r has no effect: %s", name, given, _NO_EFFECT[name])
        self.dataset = dataset
        self.batch_size = batch_size
        self.repeat = repeat
        self.shuffle = _shuffle(shuffle, order_sampler)
        self.order_sampler = order_sampler
        self._examples: Optional[Examples] = None
        self.n_prefetch = max(n_prefetch, 1)
        self.dataset_timeout = dataset_timeout
        self._node = connect() if node is None else node
        self._options: Dict[str, Any] = dict(options)
        self.loader: Any = None
        self._mapped: Optional[Map] = None
        self._drawn = self._source.files is None and not self._source.own and \
            not {"seed", "order_seed", "augment_seed"} & set(options)
        if self._drawn:  # as Chainer's order follows numpy.random.seed()
            self._options["seed"] = program_seed()
        if self._source.own and not options:
            self._examples = Examples(
                dataset, Way(self._node, n_processes, batch_size, self.n_prefetch, dataset_timeout),
                repeat, (order_sampler or _shuffled) if self.shuffle else None, self.TimeoutWarning)
        elif order_sampler is not None and not _is_shuffling(order_sampler):
            raise ValueError(_ORDER)
        else:
            self.loader = self._attach(dict(self._options))
            self.loader.timeout = dataset_timeout  # not of the first attach, which indexes
        self.reset()

    def _attach(self, options: Dict[str, Any]) -> Loader:
        whole = not self.repeat or options.get("drop_last")
        options.setdefault("last_batch", "short" if whole else "wrap")
        options.setdefault("epochs", None if self.repeat else 1)
        options.update(batch_size=self.batch_size, shuffle=self.shuffle,
                       inflight=self.n_prefetch + 1)
        if self._source.own:
            return self._node.loader(Source(self.dataset, gives="arrays"),
                                     num_workers=self._processes, **options)
        return self._attach_to_pictures(options)

    def _attach_to_pictures(self, options: Dict[str, Any]) -> Loader:
        dtype = options.pop("dtype", self._source.dtype)
        options["transforms"] = _transforms.to_dicts(options.get("transforms", ()))
        # 0 to 255 are the daemon's bytes: they need a quarter of the ring and are converted here.
        bytes_ = dtype != "bfloat16" and not _NUMBERS & set(_names(options["transforms"]))
        self._dtype = np.dtype(dtype) if bytes_ else None
        self._mapped = self._map(options["transforms"])
        if self._mapped is not None:
            options["transforms"] = [*options["transforms"], self._mapped]
            options["num_workers"] = self._processes
        return self._node.loader(self._files(), dtype="uint8" if bytes_ else dtype, **options)

    def _map(self, before: Sequence[Mapping[str, Any]]) -> Optional[Map]:
        """What runs the functions of TransformDatasets in producers; None: this process does."""
        source = self._source
        if not source.applied:
            return None
        if source.files is not None:
            found: Any = "a producer does not know the labels of a path"
        elif self._dtype is None or "Map" in _names(before):
            found = "they get what the transforms make of pictures, and that are none any more"
        else:
            labels = [np.array(label, source.label_dtype) for _, label in source.pairs]
            found = map_of(Applied(source.applied, labels if source.labelled else None,
                                   self._dtype), before)
        if isinstance(found, str):
            _log.info("functions of a TransformDataset run in this process: %s", found)
            return None
        return found  # type: ignore[no-any-return]

    def _files(self) -> Any:
        """The dataset as Node.loader() takes it."""
        if self._source.files is not None:
            return self._source.files
        own = self._source.table is not None
        return [(absolute(os.path.join(self._source.root, path)), place if own else int(label))
                for place, (path, label) in enumerate(self._source.pairs)]

    def reset(self) -> None:
        """Begin again with the first epoch, also at the end of an iterator that does not repeat."""
        if self._examples is not None:
            self._examples.reset()
        else:
            self.loader.set_epoch(0)
        self._batches: Optional[Iteration[Arrays]] = None
        self.is_new_epoch = False
        self.previous_epoch_detail: Optional[float] = None

    @property
    def epoch(self) -> int:
        """Number of complete epochs."""
        return self.loader.epoch if self._examples is None else self._examples.state.epoch

    @property
    def current_position(self) -> int:
        """Number of examples that were given of the current epoch."""
        return self.loader.position if self._examples is None else self._examples.state.position

    @property
    def epoch_detail(self) -> float:
        """Number of epochs, with the fraction of the current one."""
        size = self.loader.samples if self._examples is None else self._examples.size
        return self.epoch + self.current_position / size

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> List[Any]:
        if self._examples is not None:
            return self._next_examples(self._examples)
        epoch, detail = self.epoch, self.epoch_detail
        ended = not self.repeat and epoch > 0
        arrays = None if ended else self._next()
        self.previous_epoch_detail = detail
        if arrays is None:
            raise StopIteration
        self.is_new_epoch = self.epoch > epoch
        if self._mapped is not None:
            return examples_of(arrays[0])
        return self._pictures(*arrays) if not self._source.own else rows(arrays)

    next = __next__

    def _next_examples(self, examples: Examples) -> List[Any]:
        detail = self.epoch_detail
        batch = examples.take()
        self.previous_epoch_detail = detail
        if batch is None:
            raise StopIteration
        self.is_new_epoch = examples.state.is_new_epoch
        return batch

    def _next(self) -> Any:
        """The next batch of this epoch or else of the next one; None if there is to be none."""
        while True:
            try:
                if self._batches is None:
                    self._batches = iter(self.loader)
                arrays = next(self._batches, None)
            except TimeoutError as error:
                warnings.warn(f"{error}; waiting on", self.TimeoutWarning, stacklevel=3)
                continue
            if arrays is not None or not self.repeat:
                return arrays
            self._batches = None

    def _pictures(self, images: np.ndarray[Any, Any],
                  labels: np.ndarray[Any, Any]) -> List[Any]:
        source = self._source
        if self._dtype is not None:
            images = images.astype(self._dtype)
        examples: List[Any] = list(images)
        if source.labelled:
            labels = _int32(labels) if source.label_dtype is None else \
                labels.astype(source.label_dtype) if source.table is None else source.table[labels]
            # LabeledImageDataset's labels are arrays of no dimension, others' are numbers.
            examples = list(zip(images, labels if source.files is not None else
                                (labels[i, ...] for i in range(len(labels)))))
        for transform in source.applied:
            examples = list(map(transform, examples))
        return examples

    def finalize(self) -> None:
        """Close the loader, and end the producers. May be called twice."""
        for each in (getattr(self, "_examples", None), getattr(self, "loader", None)):
            if each is not None:
                each.close()

    def serialize(self, serializer: Any) -> None:
        """Write the place with a serializer of Chainer, or resume at one that was read. TokenError
        if it is for another dataset, pipeline or order. Of any dataset the snapshots are those of
        Chainer's own iterators, which can read them, and whose can be read."""
        if self._examples is not None:
            detail = serialized_order(serializer, self._examples, self.previous_epoch_detail)
            self.is_new_epoch = self._examples.state.is_new_epoch
            self.previous_epoch_detail = detail
            return
        ours = self.loader.state_dict()
        detail = self.previous_epoch_detail
        try:
            read = serialized(serializer, ours)
            self.is_new_epoch = bool(serializer("is_new_epoch", self.is_new_epoch))
            detail = serializer("previous_epoch_detail", -1.0 if detail is None else detail)
        except KeyError as error:
            raise TokenError.local(f"{error.args[0]}: the snapshot is of another iterator, such as "
                                   "Chainer's, whose order stoker cannot continue") from None
        self.previous_epoch_detail = None if detail < 0 else float(detail)
        if read != ours:
            if self._drawn:
                self._draw_again(read.get("description", read))
            self.loader.load_state_dict(read)
            self._batches = None

    def _draw_again(self, theirs: Mapping[str, Any]) -> None:
        """Go over to the seeds of a state."""
        seeds = {name: int(theirs[name]) for name in ("order_seed", "augment_seed")
                 if name in theirs}
        if any(self.loader._reader.request[name] != seed for name, seed in seeds.items()):
            self._options.update(seeds)
            self.loader.close()
            self.loader = self._attach(dict(self._options))
            self.loader.timeout = self.dataset_timeout

    def __copy__(self) -> Iterator:
        other = type(self)(self.dataset, self.batch_size, self.repeat,
                           self.shuffle if self.order_sampler is None else None,
                           self._processes if self._source.own or self._mapped else None,
                           self.n_prefetch,
                           order_sampler=self.order_sampler, dataset_timeout=self.dataset_timeout,
                           node=self._node, **self._options)
        if self._examples is not None and other._examples is not None:
            other._examples.seed = self._examples.seed
            other._examples.move(self._examples.state)
        else:
            other.loader.load_state_dict(self.loader.state_dict())
        other.is_new_epoch = self.is_new_epoch
        other.previous_epoch_detail = self.previous_epoch_detail
        return other

    def __enter__(self) -> Iterator:
        return self

    def __exit__(self, *_: object) -> None:
        self.finalize()


def _shuffle(shuffle: Optional[bool], order_sampler: Any) -> bool:
    if order_sampler is None:
        return True if shuffle is None else shuffle
    if shuffle is not None:
        raise ValueError("shuffle and order_sampler exclude each other: give shuffle=None, or no "
                         "order_sampler")
    return True


def _is_shuffling(order_sampler: Any) -> bool:
    return type(order_sampler).__name__ == "ShuffleOrderSampler"


def _shuffled(order: np.ndarray[Any, Any], _: int) -> np.ndarray[Any, Any]:
    """As Chainer's ShuffleOrderSampler draws it."""
    return np.random.permutation(len(order))


def _translate(dataset: Any, given: bool) -> _Source:
    """TypeError says what cannot be read. ``given``: options of Node.loader() are: then the daemon
    makes the pictures of a TransformDataset, which need not be of one size else."""
    kind = type(dataset)  # not a class derived from it, which may give other examples
    if isinstance(dataset, (str, os.PathLike, Mapping, Mix)):
        return _Source(dataset)
    if _datasets is not None and kind is _datasets.TransformDataset:
        inner = _translate(dataset._dataset, given)
        if not inner.own and (given or inner.files is not None):
            return inner._replace(applied=(*inner.applied, dataset._transform))
    files = None
    if _datasets is not None and kind is _datasets.LabeledImageDataset:
        whole = all(np.ndim(label) == 0 and int(label) == label for _, label in dataset._pairs)
        table = None if whole else np.array([label for _, label in dataset._pairs],
                                            dataset._label_dtype)
        files = _Source(None, dataset._root, dataset._pairs, dataset._dtype, dataset._label_dtype,
                        table)
    if _datasets is not None and kind is _datasets.ImageDataset:
        files = _Source(None, dataset._root, [(path, 0) for path in dataset._paths],
                        dataset._dtype, labelled=False)
    if files is not None:
        mode = _mode(files)
        if mode == "RGB" or given:
            return files
        _log.info("producers read the pictures of the %s: the first is of the mode %s, and the "
                  "daemon would make RGB of it", kind.__name__, mode)
    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        raise TypeError(f"a {kind.__qualname__} is no dataset: give the path of a folder, "
                        "manifest, array or published dataset, or what has __getitem__ and "
                        "__len__")
    return _Source(own=True)


def _mode(source: _Source) -> str:
    """Of the first picture, as Pillow calls it; what cannot be read is for who reads it."""
    from PIL import Image
    for path, _ in source.pairs:
        try:
            with Image.open(os.path.join(source.root, path)) as picture:
                return str(picture.mode)
        except (OSError, ValueError):
            break
    return "RGB"


def _names(transforms: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    for transform in transforms:
        yield str(transform.get("name"))
        yield from _names(transform.get("transforms") or ())


def _int32(labels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if labels.dtype != np.int64:
        return labels
    if labels.size and not -2**31 <= labels.min() <= labels.max() < 2**31:
        raise OverflowError(f"a label of the batch does not fit into Chainer's int32: "
                            f"{labels.min()} to {labels.max()}: use smaller labels")
    return labels.astype(np.int32)
