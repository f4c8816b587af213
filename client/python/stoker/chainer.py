# SPDX-License-Identifier: MIT
"""A loader with the interface of chainer.iterators.MultiprocessIterator. Needs no chainer: an
iterator is what it does.

    iterator = stoker.chainer.Iterator("/data/train", batch_size=64, transforms=[...])
    updater = chainer.training.updaters.StandardUpdater(iterator, optimizer)
"""
from __future__ import annotations

from typing import Any, List, Optional, Tuple

import numpy as np

from .errors import TokenError
from .node import Dataset, Node, connect

__all__ = ["Iterator"]

_TEXT = 32  # bytes of a hash; all texts of a state have as many when they are kept

Example = Tuple[np.ndarray[Any, Any], Any]


class Iterator:
    """Batches as lists of examples (image, label), as MultiprocessIterator gives them.

    Args:
        dataset, batch_size and all of Node.loader()'s options but ``inflight`` and ``timeout``,
            which are what follows.
        repeat: False: StopIteration at the end of the first epoch.
        n_prefetch: batches that may be out beside the one in use, at least 1.
        dataset_timeout: seconds until next() raises TimeoutError, which loses nothing.
        node: where to attach; None: stoker.connect().

    What MultiprocessIterator has and this does not need: n_processes and shared_mem are the
    daemon's (``stokerctl set workers``), order_sampler is ``sampler`` (stoker.samplers), or
    ``order_seed`` for another order.

    One thing differs: an epoch's last batch is short where chainer would fill it up from the next
    epoch, so every epoch has each sample once; last_batch="drop" or "pad" as for any loader.

    The images are read-only views of shared memory that hold their batch, all together, for as long
    as one of them is held; chainer.dataset.concat_examples() copies them.

    Attributes: epoch, is_new_epoch, epoch_detail, previous_epoch_detail (None at first),
    batch_size, repeat; `loader` is what it reads.
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
        """Begin again with the first epoch, also behind the end of one that does not repeat."""
        self.loader.set_epoch(0)
        self._batches: Any = None
        self.is_new_epoch = False
        self.previous_epoch_detail: Optional[float] = None

    @property
    def epoch(self) -> int:
        """Epochs that are complete."""
        return int(self.loader.epoch)

    @property
    def epoch_detail(self) -> float:
        """The same with the part of the epoch that was given out."""
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
        """Leave the daemon."""
        self.loader.close()

    def serialize(self, serializer: Any) -> None:
        """Write the place with a chainer serializer, or go on where one was written: TokenError if
        that was another dataset, pipeline or order."""
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
    """As all of chainer's serializers keep it: texts as bytes, a range (or none) as two numbers."""
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
        raise TokenError.local("the state is none of stoker's") from None
