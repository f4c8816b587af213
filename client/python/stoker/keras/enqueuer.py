# SPDX-License-Identifier: MIT
"""Keras' enqueuers: batches of a Sequence in their order, epoch after epoch, and those of a
generator. Own sequences run in producers."""
from __future__ import annotations

import functools
import logging
import queue
import threading
from typing import Any, Iterator, Optional, Tuple, Union

from .. import _options
from ..node import Node
from .flow import Dataset, say_workers
from .own import ByProducers, ByThreads, count_of, drawn_order

_log = logging.getLogger("stoker")
_LOOK_S = 0.1  # how often a thread looks whether it is to end


class OrderedEnqueuer:
    """Keras' class of this name: the batches of a sequence, in order, epoch after epoch.

        enqueuer = stoker.keras.OrderedEnqueuer(sequence, use_multiprocessing=True)
        enqueuer.start(workers=4, max_queue_size=10)
        batches = enqueuer.get()
        ...
        enqueuer.stop()

    A Sequence or PyDataset of your own runs in ``workers`` producers, see stoker.Source; without
    use_multiprocessing in as many threads of this process. Batches are what it gives, of any tree,
    types and shapes; one of None is left out. Its ``on_epoch_end()`` is called here, and the
    batches of the next epoch are made of what it is then. A producer that dies is said and
    replaced, and its batch made again. An exception of the sequence is raised here as it is.

    Args:
        py_dataset: a sequence; or a Flow or Dataset of stoker.keras, whose batches come without
            this class' help: then workers, use_multiprocessing, max_queue_size and shuffle change
            nothing. Keras 2 calls it ``sequence``.
        workers: as of Keras 3. A bool is Keras 2's second argument, use_multiprocessing, and then
            the third is shuffle.
        max_queue_size: batches that are made ahead.
        shuffle: the batches, in another order in each epoch: that which Keras draws from random.
        node: where to attach; None: stoker.connect().
    """

    @_options.named
    def __init__(self, py_dataset: Any = None, workers: Union[int, bool] = 1,
                 use_multiprocessing: bool = False,
                 max_queue_size: int = 10, shuffle: bool = False, *, sequence: Any = None,
                 node: Optional[Node] = None) -> None:
        if isinstance(workers, bool):
            shuffle = shuffle or use_multiprocessing is True
            workers, use_multiprocessing = 1, bool(workers)
        self.py_dataset = self.sequence = sequence if py_dataset is None else py_dataset
        self.workers, self.max_queue_size = workers, max_queue_size
        self.use_multiprocessing, self.shuffle = use_multiprocessing, shuffle
        self.running = False
        self._node = node
        self._count: Optional[int] = None
        self._by: Union[None, ByProducers, ByThreads] = None
        if isinstance(self.sequence, Dataset):
            say_workers(workers, use_multiprocessing, max_queue_size)
        else:
            self._count = count_of(self.sequence)
            kind = functools.partial(ByProducers, node=node) if use_multiprocessing else ByThreads
            self._by = kind(self.sequence, max(1, workers), max_queue_size)

    def start(self, workers: Optional[int] = None, max_queue_size: Optional[int] = None) -> None:
        """May be called twice."""
        by = self._by
        if by is None:
            say_workers(workers or 1, False, 10 if max_queue_size is None else max_queue_size)
        else:
            by.workers = by.workers if workers is None else max(1, workers)
            by.queued = by.queued if max_queue_size is None else max_queue_size
        if not self.running:
            self.running = True
            self._begin()

    def is_running(self) -> bool:
        return self.running

    def get(self) -> Iterator[Any]:
        """The batches, without end. Raises ValueError when it is not running."""
        while True:
            for batch in self._batches():
                if not self.running:
                    raise ValueError("the enqueuer does not run: call start()")
                if batch is not None:
                    yield batch
            self._end()

    def stop(self, timeout: Optional[float] = None, drain_queue_and_join: bool = True) -> None:
        """May be called twice. The next start() begins an epoch. Its processes wait for that, 30 s
        at most."""
        del timeout, drain_queue_and_join
        self.running = False
        if self._by is not None:
            self._by.stop()

    def _begin(self) -> None:
        if self._by is None:
            self.sequence._batches.begin()
        else:
            self._count = count_of(self.sequence)
            self._by.begin(drawn_order(self._count, self.shuffle))

    def _batches(self) -> Iterator[Any]:
        if not self.running:
            raise ValueError("the enqueuer does not run: call start()")
        return self._by.batches() if self._by is not None else \
            (self.sequence[index] for index in range(len(self.sequence)))

    def _end(self) -> None:
        if self._by is None:
            self.sequence._batches.end()
            return
        on_epoch_end = getattr(self.sequence, "on_epoch_end", None)
        if on_epoch_end is not None:
            on_epoch_end()
        self._begin()


class GeneratorEnqueuer:
    """Keras' class of this name: the batches of a generator, made ahead in a thread of this
    process, since a generator cannot go to another one.

    Args:
        generator: what next() gives batches of. Keras 2.3 calls it ``sequence``.
        use_multiprocessing, wait_time, random_seed, seed: taken and without effect.
    """

    @_options.named
    def __init__(self, generator: Any = None, use_multiprocessing: bool = False,
                 wait_time: Optional[float] = None, random_seed: Optional[int] = None, *,
                 seed: Optional[int] = None, sequence: Any = None) -> None:
        del wait_time, random_seed, seed
        if use_multiprocessing:
            _log.warning("a generator runs in a thread: for processes make it a Sequence and take "
                         "OrderedEnqueuer")
        self._generator = sequence if generator is None else generator
        if not hasattr(self._generator, "__next__"):
            raise TypeError(f"a {type(self._generator).__name__} is no generator of batches; of a "
                            "Sequence take OrderedEnqueuer")
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
