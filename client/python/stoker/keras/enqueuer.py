# SPDX-License-Identifier: MIT
"""Keras' enqueuers: batches of a Sequence in their order, epoch after epoch, and those of a
generator. Own sequences run in producers."""
from __future__ import annotations

import logging
import queue
import random
import threading
from typing import Any, Iterator, Optional, Tuple, Union

import numpy as np

from .flow import Dataset, say_workers
from ..errors import SampleError
from ..loader import Loader
from ..node import Node, connect
from ..produce.source import Source

_log = logging.getLogger("stoker")
_LOOK_S = 0.1  # how often a thread looks whether it is to end


class OrderedEnqueuer:
    """Keras' class of this name: the batches of a sequence, in order, epoch after epoch.

        enqueuer = stoker.keras.OrderedEnqueuer(sequence, use_multiprocessing=True)
        enqueuer.start(workers=4, max_queue_size=10)
        batches = enqueuer.get()
        ...
        enqueuer.stop()

    A Sequence or PyDataset of your own (what has ``__getitem__`` and ``__len__``) runs in
    ``workers`` producers, see stoker.Source; without use_multiprocessing in one thread of this
    process. Batches are dicts, lists and tuples of arrays, as it gives them; one of None is left
    out. Its ``on_epoch_end()`` is called here, and the batches of the next epoch are made of what
    it is then. A batch that a producer cannot hand over (of another shape or type than the first
    one) is made in this process, which is said once; so an exception of the sequence is raised
    here as it is.

    Args:
        py_dataset: a sequence; or a Flow or Dataset of stoker.keras, whose batches the daemon makes
            without processes: then workers, use_multiprocessing, max_queue_size and shuffle change
            nothing.
        shuffle: the batches, in another order in each epoch, which follows random.seed().
        node: where to attach; None: stoker.connect().
    """

    def __init__(self, py_dataset: Any, workers: int = 1, use_multiprocessing: bool = False,
                 max_queue_size: int = 10, shuffle: bool = False, *,
                 node: Optional[Node] = None) -> None:
        self.py_dataset = self.sequence = py_dataset
        self.shuffle = shuffle
        self.running = False
        self._epochs: Union[_Own, _Flows] = _Flows(py_dataset)
        if not isinstance(py_dataset, Dataset):
            self._epochs = _Own(py_dataset, use_multiprocessing, shuffle, node)
        self._epochs.options(workers, max_queue_size, use_multiprocessing)

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """May be called twice."""
        self._epochs.options(workers, max_queue_size)
        if not self.running:
            self.running = True
            self._epochs.begin()

    def is_running(self) -> bool:
        return self.running

    def get(self) -> Iterator[Any]:
        """The batches, without end. Raises ValueError when it is not running."""
        while True:
            for batch in self._epochs.batches():
                if not self.running:
                    raise ValueError("the enqueuer does not run: call start()")
                yield batch
            self._epochs.end()

    def stop(self, timeout: Optional[float] = None) -> None:
        """May be called twice. The next start() begins the epoch again, or, at its end, the next
        one."""
        del timeout
        self.running = False
        self._epochs.stop()


class _Flows:
    """The batches of a flow or dataset of stoker.keras."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def options(self, workers: int, queued: int, processes: bool = False) -> None:
        say_workers(workers, processes, queued, stacklevel=4)

    def begin(self) -> None:
        self._dataset._batches.begin()

    def batches(self) -> Iterator[Any]:
        return (self._dataset[index] for index in range(len(self._dataset)))

    def end(self) -> None:
        self._dataset._batches.end()

    def stop(self) -> None:
        pass


class _Own:
    """The batches of a sequence of the program's own."""

    def __init__(self, sequence: Any, processes: bool, shuffle: bool, node: Optional[Node]) -> None:
        has = hasattr(sequence, "__getitem__") and hasattr(sequence, "__len__")
        if not has or isinstance(sequence, (str, bytes)):
            raise TypeError(f"a {type(sequence).__name__} is no sequence of batches, with "
                            "__getitem__ and __len__; of a generator take GeneratorEnqueuer")
        self._sequence, self._processes, self._shuffle = sequence, processes, shuffle
        self._node = node
        self._workers, self._queued = 1, 10
        self._loader: Optional[Loader] = None
        self._said = False

    def options(self, workers: int, queued: int, processes: bool = False) -> None:
        if workers != 1:
            self._workers = workers
        if queued != 10:
            self._queued = queued

    def begin(self) -> None:
        node = self._node = connect() if self._node is None else self._node
        self._loader = node.loader(
            Source(self._sequence, gives="arrays"), batch_size=1, shuffle=self._shuffle,
            seed=random.getrandbits(63), rank=0, world_size=1, prefetch=max(1, self._queued),
            num_workers=max(1, self._workers) if self._processes else 0)

    def batches(self) -> Iterator[Any]:
        assert self._loader is not None
        batches = iter(self._loader)
        while True:
            try:
                batch = _first(next(batches))
            except StopIteration:
                return
            except SampleError as error:
                batch = self._make(error)
            if batch is not None:
                yield batch

    def end(self) -> None:
        on_epoch_end = getattr(self._sequence, "on_epoch_end", None)
        if on_epoch_end is not None:
            on_epoch_end()

    def stop(self) -> None:
        if self._loader is not None:
            self._loader.close()
            self._loader = None

    def _make(self, error: SampleError) -> Any:
        """The batch that a producer did not give: its exception is raised here."""
        batch = self._sequence[error.sample]
        if batch is not None and not self._said:
            self._said = True
            _log.warning("batches of %s are made in this process where a producer cannot hand them "
                         "over: %s", type(self._sequence).__name__, error)
        return batch


def _first(batch: Any) -> Any:
    """The only sample of a batch, which is itself a batch."""
    if isinstance(batch, np.ndarray):
        return batch[0]
    if isinstance(batch, dict):
        return {key: _first(value) for key, value in batch.items()}
    items = [_first(item) for item in batch]
    return type(batch)(*items) if hasattr(batch, "_fields") else type(batch)(items)


class GeneratorEnqueuer:
    """Keras' class of this name: the batches of a generator, made ahead in a thread of this
    process, since a generator cannot go to another one.

    Args:
        generator: what next() gives batches of.
        use_multiprocessing, random_seed: taken and without effect.
    """

    def __init__(self, generator: Any, use_multiprocessing: bool = False,
                 random_seed: Optional[int] = None) -> None:
        if use_multiprocessing:
            _log.warning("a generator runs in a thread: for processes make it a Sequence and take "
                         "OrderedEnqueuer")
        self._generator = generator
        self._ended = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self.queue: queue.Queue[Any] = queue.Queue()

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """May be called twice. One thread, whatever ``workers`` says: a generator has one."""
        if self._thread is None:
            self._ended.clear()
            self.queue = queue.Queue(max(1, max_queue_size))
            self._thread = threading.Thread(target=self._run, name="stoker generator", daemon=True)
            self._thread.start()

    def is_running(self) -> bool:
        return self._thread is not None

    def get(self) -> Iterator[Any]:
        """The batches, until the generator ends. Raises what it raises."""
        while self._thread is not None:
            try:
                batch, error = self.queue.get(timeout=_LOOK_S)
            except queue.Empty:
                continue
            if error is not None:
                self.stop()
                if isinstance(error, StopIteration):
                    return
                raise error
            if batch is not None:
                yield batch

    def stop(self, timeout: Optional[float] = None) -> None:
        """Wait for the batch that is being made, ``timeout`` seconds at most. May be called
        twice."""
        thread, self._thread = self._thread, None
        self._ended.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)

    def _run(self) -> None:
        while not self._ended.is_set():
            item: Tuple[Any, Optional[Exception]]
            try:
                item = next(self._generator), None
            except Exception as error:
                item = None, error
            while not self._ended.is_set():
                try:
                    self.queue.put(item, timeout=_LOOK_S)
                    break
                except queue.Full:
                    pass
            if item[1] is not None:
                return
