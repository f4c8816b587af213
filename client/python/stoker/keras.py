# SPDX-License-Identifier: MIT
"""A loader as a keras.utils.PyDataset (Keras 3). Needs keras.

    model.fit(stoker.keras.Dataset(train), validation_data=stoker.keras.Dataset(val), epochs=90)
"""
from __future__ import annotations

from typing import Any, Tuple

try:
    import keras
except ImportError as error:
    raise ImportError("stoker.keras needs keras 3: pip install keras") from error

from .loader import Loader

__all__ = ["Dataset"]


class Dataset(keras.utils.PyDataset):  # type: ignore[misc]
    """An epoch of a loader at a time: (images, labels), as NumPy arrays of its own.

    Images are channels last in most Keras models: take layout="NHWC" for the loader.

    The daemon has shuffled already, and its order is what a resumed run repeats: whatever index
    Keras asks for, what comes is the epoch's next batch. So give fit() steps_per_epoch only if
    epochs are to be cut short, and leave workers at 1: the daemon's are those that work.

    state_dict() and load_state_dict() of the loader say and set where to go on.
    """

    def __init__(self, loader: Loader) -> None:
        super().__init__(workers=1, use_multiprocessing=False)
        self.loader = loader
        self._batches: Any = None

    def __len__(self) -> int:
        return len(self.loader)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        if self._batches is None:
            self._batches = iter(self.loader)
        try:
            images, labels = next(self._batches)
        except StopIteration:  # the epoch was entered in its middle: it has fewer batches
            self._batches = iter(self.loader)
            images, labels = next(self._batches)
        return images.copy(), labels.copy()

    def on_epoch_end(self) -> None:
        """The next batch is the first of the loader's next epoch."""
        self._batches = None
