# SPDX-License-Identifier: MIT
"""Batches for Keras by number: a loader as a PyDataset, and the flows of ImageDataGenerator. Knows
nothing of files and arrays."""
from __future__ import annotations

import math
import os
import sys
import threading
import warnings
import weakref
from typing import Any, Callable, Iterator, List, Optional, Tuple, Union

import keras
import numpy as np

from .. import _options
from .._by_number import ByNumber
from .._order import order
from ..loader import Loader
from ..node import Node
from .own import OwnByNumber


class Dataset(keras.utils.PyDataset):  # type: ignore[misc]
    """The epochs of a loader: (images, labels), or (images, labels, weights) if the dataset has the
    field "weight", as copied NumPy arrays. Or the batches of a Sequence or PyDataset of your own,
    made by processes beside the daemon.

        model.fit(stoker.keras.Dataset(own), epochs=90)

    Own batches are what the sequence gives, of any tree, types and shapes; one of None is left out.
    fit() gets them in the order that Keras would draw; each epoch is made of what the sequence is
    then, behind its ``on_epoch_end()``. ``workers`` processes: None: its own ``workers``, if they
    are more than 1, else as many as there are processors, eight at most.
    ``use_multiprocessing=False``: threads of this process. ``node``: where to attach; None:
    stoker.connect().

    Of a loader:

    Most Keras models have channels last: give the loader layout="NHWC". Raises ValueError for a
    loader of bfloat16, which NumPy does not have.

    ``dataset[i]`` is batch i of the current epoch, whatever was asked before. Keras ends an epoch
    by on_epoch_end(). The daemon has already shuffled the samples, and a resumed run must repeat
    its order: fit(shuffle=True), the default, does not shuffle the batches once more. Any thread.

    workers, use_multiprocessing and max_queue_size are taken and change nothing: the daemon has the
    workers.

    To resume, use state_dict() and load_state_dict() of the loader, whose position is that of
    Keras. Keras counts whole epochs: an epoch that starts in the middle is filled up with the first
    batches of the next one, and the rest of that one is skipped. To skip nothing, first run
    fit(epochs=1, steps_per_epoch=n) for the n batches that are left.
    """

    _FIELDS: Tuple[str, ...] = ("image", "label", "weight")  # that it needs, if they are there

    @_options.named
    def __init__(self, loader: Any, workers: Optional[int] = None,
                 use_multiprocessing: Optional[bool] = None, max_queue_size: int = 10, *,
                 node: Optional[Node] = None) -> None:
        super().__init__(workers=1, use_multiprocessing=False)
        self._shuffling: Callable[[], Any] = lambda: None  # the adapter that would shuffle
        self._batches: Union[ByNumber, OwnByNumber]
        if not isinstance(loader, Loader):
            self.sequence = loader
            self._batches = OwnByNumber(loader, workers, use_multiprocessing is not False,
                                        max_queue_size, node)
            return
        if loader.dtype == "bfloat16":
            raise ValueError("keras cannot take bfloat16 from NumPy: use dtype float16 or float32")
        if "image" not in loader.fields:
            raise ValueError("a sequence of Keras gives one field of images, and the loader has "
                             "crops: iterate over the loader itself")
        self.loader = loader
        self._batches = ByNumber(loader, [name for name in self._FIELDS if name in loader.fields])
        say_workers(workers or 1, bool(use_multiprocessing), max_queue_size)

    @property
    def workers(self) -> int:
        """1: Keras needs no threads of its own."""
        return 1

    @workers.setter
    def workers(self, workers: int) -> None:
        say_workers(workers)

    @property
    def use_multiprocessing(self) -> bool:
        """False: a loader belongs to this process."""
        return False

    @use_multiprocessing.setter
    def use_multiprocessing(self, value: bool) -> None:
        say_workers(use_multiprocessing=value)

    @property
    def num_batches(self) -> Optional[int]:
        """Batches of an epoch; None: it has no end."""
        return self._batches.count

    def __len__(self) -> int:
        count = self.num_batches
        if count is None:
            raise TypeError("the sequence has no end: it says num_batches=None")
        return count

    def __getitem__(self, index: int) -> Any:
        batch = self._batches.take(index)
        if isinstance(self._batches, OwnByNumber):
            return batch
        return tuple(batch[name] for name in self._FIELDS if name in self.loader.fields)

    def on_epoch_begin(self) -> None:
        """Keras is about to ask for the batches, and shuffles them just after this unless its
        adapter, which calls, is told not to."""
        adapter = sys._getframe(1).f_locals.get("self")
        if getattr(adapter, "shuffle", False) is True and \
                getattr(adapter, "py_dataset", None) is self:
            adapter.shuffle = False  # type: ignore[union-attr]
            self._shuffling = weakref.ref(adapter)
        if isinstance(self._batches, OwnByNumber):
            self._batches.shuffle = adapter is not None and self._shuffling() is adapter
        self._batches.begin()

    def on_epoch_end(self) -> None:
        """The next epoch begins with the next batch that is asked for again."""
        if _is_look(sys._getframe(1)):
            self._batches.forget()
        else:
            self._batches.end()


class Flow(Dataset):
    """The result of ImageDataGenerator.flow(), flow_from_directory() and flow_from_dataframe(): for
    fit(), evaluate() and predict(). ``flow[i]`` is batch i of the epoch, ``next(flow)`` the next
    one, through the epochs.

    Attributes, as of Keras' iterators: n and samples (of an epoch), batch_size, batch_index (of
    next()), total_batches_seen, index_array (the samples of the epoch in its order, None before the
    first batch), shuffle, seed, image_shape, dtype, data_format, save_to_dir, save_prefix,
    save_format; of arrays also x, y, x_misc and sample_weight; of files also target_size,
    color_mode, class_mode, directory, filenames, filepaths, classes and labels (of each sample),
    class_indices (name -> label) and num_classes.
    """

    _FIELDS = ("image", "index")

    def __init__(self, loader: Loader, answers: Callable[[Any, Any], Any], *,
                 prepare: Optional[Callable[[Any], Any]] = None, gray: bool = False,
                 rows: Any = None, whiten: Any = None, **attributes: Any) -> None:
        """``answers``: from images and the place of each among the flow's samples to a batch.
        ``rows``: the number of each sample in the dataset; None: its place. ``prepare`` is called
        for each image; ``whiten`` is the matrix that each, as a row, is multiplied by."""
        super().__init__(loader)
        self.batch_size = loader.batch_size
        self.samples = self.n = loader.samples
        self.batch_index = self.total_batches_seen = 0
        self.lock = threading.Lock()
        self._answers = answers
        self._prepare = prepare
        self._whiten = whiten
        self._rows = rows
        if rows is not None:
            self._places = np.zeros(rows.max() + 1, np.int64)
            self._places[rows] = np.arange(len(rows))
        self._passed = False  # has next() come to an end of the epoch?
        self._channel: Tuple[Any, ...] = (Ellipsis,)
        if gray:
            last = loader.layout == "NHWC"
            self._channel = (Ellipsis, slice(1)) if last else (slice(None), slice(1))
        shape = (1,) + tuple(loader.fields["image"].shape)
        self.image_shape = np.empty(shape, bool)[self._channel].shape[1:]
        if whiten is not None and len(whiten) != math.prod(self.image_shape):
            raise ValueError(f"zca_whitening: fit() was given images of {len(whiten)} numbers, "
                             f"these have {math.prod(self.image_shape)}"
                             ": fit it with images of that size")
        self.save_to_dir: Any = None
        self.shuffle = True
        for name, value in attributes.items():
            setattr(self, name, value)

    def __getitem__(self, index: int) -> Any:
        batch = self._batches.take(index)
        images, places = np.ascontiguousarray(batch.images[self._channel]), batch.index
        if self._rows is not None:
            places = self._places[places]
        self.total_batches_seen += 1
        if self._prepare is not None:
            for number, image in enumerate(images):
                images[number] = self._prepare(image)
        if self._whiten is not None:
            white = images.reshape(len(images), -1) @ self._whiten
            images = white.reshape(images.shape).astype(images.dtype)
        if self.save_to_dir:
            self._save(images, places)
        return self._answers(images, places)

    @property
    def index_array(self) -> Any:
        epoch = self._batches.epoch
        if epoch is None:
            return None
        seed = self.loader._reader.request["order_seed"]
        return order(seed, epoch, self.n) if self.shuffle else \
            np.arange(self.n)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """The next batch; after the last one of an epoch the first of the next, as in Keras."""
        with self.lock:
            index = self.batch_index
            self.batch_index = (index + 1) % len(self)
            if index == 0 and self._passed:
                self._batches.end()
            self._passed = self.batch_index == 0
        return self[index]

    def next(self) -> Any:
        """The same as next(flow)."""
        return next(self)

    def reset(self) -> None:
        """next() begins the epoch again."""
        self.batch_index = 0
        self._passed = False
        self._batches.begin()

    def _save(self, images: Any, places: Any) -> None:
        for image, place in zip(images, places):
            picture = keras.utils.array_to_img(image, self.data_format, scale=True)
            name = f"{self.save_prefix}_{place}_{np.random.randint(10**7)}.{self.save_format}"
            picture.save(os.path.join(self.save_to_dir, name))


def say_workers(workers: int = 1, use_multiprocessing: bool = False,
                max_queue_size: int = 10, stacklevel: int = 3) -> None:
    given = [f"{name}={value}" for name, value, usual in (
        ("workers", workers, 1), ("use_multiprocessing", use_multiprocessing, False),
        ("max_queue_size", max_queue_size, 10)) if value != usual]
    if given:
        warnings.warn(f"{', '.join(given)}: the daemon has the workers and the queue: `stokerctl "
                      "set workers 8`, and prefetch= of a loader, in batches",
                      stacklevel=stacklevel)


def _is_look(frame: Any) -> bool:
    """Before it trains, Keras takes a batch or two to learn the shapes, and then resets its own
    iterator: no epoch has ended. (The adapter calls on_epoch_end() for that reset, too.)"""
    callers: List[str] = []
    while frame is not None and len(callers) < 2:
        callers.append(frame.f_code.co_name)
        frame = frame.f_back
    return callers == ["on_epoch_end", "reset"]
