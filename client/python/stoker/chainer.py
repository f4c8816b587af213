# SPDX-License-Identifier: MIT
"""A loader with the interface of chainer.iterators.MultiprocessIterator. Does not need chainer.

    iterator = stoker.chainer.Iterator("/data/train", batch_size=64, transforms=[...])
    updater = chainer.training.updaters.StandardUpdater(iterator, optimizer)
"""
from __future__ import annotations

from typing import Any, List, Optional, Tuple

import numpy as np

from .errors import TokenError
from .node import Dataset, Node, connect

__all__ = ["Iterator"]

_TEXT = 32  # bytes of a hash; all texts of a state are padded to this

Example = Tuple[np.ndarray[Any, Any], Any]


class Iterator:
    """Batches as lists of examples (image, label), as MultiprocessIterator gives them.

    Args:
        dataset, batch_size and all options of Node.loader() except ``inflight`` and ``timeout``,
            which are n_prefetch and dataset_timeout here.
        repeat: False: StopIteration at the end of the first epoch.
        n_prefetch: number of batches ready beside the one in use, at least 1.
        dataset_timeout: seconds until next() raises TimeoutError; next() can then be called again.
        node: where to attach; None: stoker.connect().

    Arguments of MultiprocessIterator that are not needed: n_processes and shared_mem (the daemon
    has workers and memory: ``stokerctl set workers``), order_sampler (use ``sampler``, see
    stoker.samplers, or ``order_seed``).

    One difference: the last batch of an epoch may be short, where chainer fills it up from the next
    epoch. So each epoch has each sample once. ``last_batch`` "drop" and "pad" work as well.

    The images are read-only views of shared memory. Any of them keeps its whole batch;
    chainer.dataset.concat_examples() copies them.

    Attributes: epoch, is_new_epoch, epoch_detail, previous_epoch_detail (None at first),
    batch_size, repeat, loader.
    """

    def __init__(self, dataset: Dataset, batch_size: int, repeat: bool = True,
                 shuffle: bool = True, *, n_prefetch: int = 2,
                 dataset_timeout: Optional[float] = None, node: Optional[Node] = None,
                 **options: Any) -> None:
        node = connect() if node is None else node
        self.loader = node.loader(dataset, batch_size=batch_size, shuffle=shuffle,
                                  inflight=max(n_prefetch, 1) + 1,
                                  timeout=dataset_timeout, **options)
        self.batch_size = batch_size
        self.repeat = repeat
        self.reset()

    def reset(self) -> None:
        """Begin again with the first epoch, also at the end of an iterator that does not repeat."""
        self.loader.set_epoch(0)
        self._batches: Any = None
        self.is_new_epoch = False
        self.previous_epoch_detail: Optional[float] = None

    @property
    def epoch(self) -> int:
        """Number of complete epochs."""
        return int(self.loader.epoch)

    @property
    def epoch_detail(self) -> float:
        """Number of epochs, with the fraction of the current one."""
        return float(self.loader.epoch + self.loader.position / self.loader.samples)

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> List[Example]:
        if not self.repeat and self.epoch > 0:
            raise StopIteration
        begun, detail = self.epoch, self.epoch_detail
        images, labels = self._next()
        self.previous_epoch_detail = detail
        self.is_new_epoch = self.epoch > begun
        return list(zip(images, labels))

    next = __next__

    def _next(self) -> Any:
        if self._batches is not None:
            try:
                return next(self._batches)
            except StopIteration:
                pass
        self._batches = iter(self.loader)
        return next(self._batches)

    def finalize(self) -> None:
        """Close the loader."""
        self.loader.close()

    def serialize(self, serializer: Any) -> None:
        """Write the place with a chainer serializer, or resume at one that was read. TokenError if
        it is for another dataset, pipeline or order."""
        ours = self.loader.state_dict()
        read = {key: _decode(serializer(key, _encode(value)), value)
                for key, value in ours.items()}
        self.is_new_epoch = bool(serializer("is_new_epoch", self.is_new_epoch))
        detail = self.previous_epoch_detail
        detail = serializer("previous_epoch_detail", -1.0 if detail is None else detail)
        self.previous_epoch_detail = None if detail < 0 else float(detail)
        if read != ours:
            self.loader.load_state_dict(read)
            self._batches = None

    def __enter__(self) -> Iterator:
        return self

    def __exit__(self, *_: object) -> None:
        self.finalize()


def _encode(value: Any) -> Any:
    """In types that all serializers of chainer know: a text as bytes, a range (or None) as two
    numbers."""
    if isinstance(value, str):
        return np.frombuffer(value.encode().ljust(_TEXT), np.uint8).copy()
    if value is None or isinstance(value, list):
        return np.array([-1 if number is None else number for number in value or (None, None)])
    return value


def _decode(value: Any, ours: Any) -> Any:
    if ours is None or isinstance(ours, list):
        start, stop = (None if number < 0 else int(number) for number in value)
        return None if start is None else [start, stop]
    if not isinstance(ours, str):
        return type(ours)(value)
    try:
        return bytes(np.asarray(value, np.uint8)).decode("ascii").rstrip()
    except UnicodeDecodeError:
        raise TokenError.local("the state was not made by stoker") from None
