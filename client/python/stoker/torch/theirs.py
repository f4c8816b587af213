# SPDX-License-Identifier: MIT
"""The batches that torch's own DataLoader makes, counted, so that a state says how far it is. One
that goes on there makes those before again, and leaves them out. One thread."""
from __future__ import annotations

import itertools
from typing import Any, Callable, Dict, Iterator, Mapping

from . import draw as drawing
from .tensors import hander


class Theirs:
    """The batches of one ``for``. ``begin``: gives torch's iterator. ``begun``: a state, or
    nothing. ``hand``: what a batch passes through at last, if the loader has a device."""

    def __init__(self, loader: Any, begin: Callable[[], Iterator[Any]], begun: Mapping[str, Any]
                 ) -> None:
        self.batches_done = int(begun.get("batches", 0))
        self._ended = False
        self._torchs: Any
        self._hand = None if loader.device is None else hander(loader)
        if not begun:
            self.drawn = drawing.Draw([], 0, drawing.states(loader))
            self._torchs = self._batches = begin()
            return
        self.drawn = drawing.Draw([], 0, list(begun["generators"]))
        with drawing.states_again(loader, self.drawn.generators):
            batches = self._torchs = begin()
            left_out = sum(1 for _ in itertools.islice(batches, self.batches_done))
            more = left_out == self.batches_done  # an order is drawn with the first batch
            first = list(itertools.islice(batches, 1)) if more else []
        self._batches = itertools.chain(first, batches)

    def __iter__(self) -> Theirs:
        return self

    def __len__(self) -> int:
        return len(self._torchs)

    def __next__(self) -> Any:
        try:
            batch = next(self._batches)
        except StopIteration:
            self._ended = True
            raise
        self.batches_done += 1
        return batch if self._hand is None else self._hand(batch)

    def at_end(self) -> bool:
        return self._ended

    def state(self) -> Dict[str, Any]:
        return {}
