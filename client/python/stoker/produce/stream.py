# SPDX-License-Identifier: MIT
"""A stream of the daemon's own work, made on the nodes of a cluster: as a Source whose samples are
those of the same stream at the daemon of the node that makes them. The law makes them equal.

What makes pictures is done there, and they travel as uint8; what makes numbers of them, and draws
nothing, is left to the trainer's node.
"""
from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import _crops, _start
from .._connection import Connection
from .._in_memory import InMemory
from ..batch import Batch
from ..errors import Error, TokenError
from ..loader import Loader
from ..state import Place
from .producer import sample
from .source import Source

__all__ = ["refuse", "split"]

_TAIL = ("ToTensor", "Normalize")  # draw nothing: on the trainer's node
# On numbers, or of two samples: they have draws of their own, and no picture comes of them.
_OF_NUMBERS = (*_TAIL, "RandomErasing", "ImageDataGenerator", "MixUp", "CutMix")
_RECONNECT_S = 60.0


def split(connect: Callable[[], Connection], request: Mapping[str, Any],
          timeout: Optional[float]) -> Tuple[Source, List[Dict[str, Any]]]:
    """What actors make of a request, as a source, and the transforms that are left. Raises
    ValueError for a stream that cannot be parted so, and what Node.loader() raises."""
    _check(request)
    steps = list(request["transforms"])
    cut = len(steps)
    while cut and steps[cut - 1]["name"] in _TAIL:
        cut -= 1
    for step in steps[:cut]:
        if step["name"] in _OF_NUMBERS:
            refuse(f"{step['name']} before {steps[cut - 1]['name']}" if step["name"] in _TAIL else
                   step["name"])
    asked = {**request, "transforms": steps[:cut], "dtype": "uint8", "layout": "NHWC", "rank": 0,
             "world": 1, "batch_size": 1, "last_batch": "short", "inflight": 1, "prefetch": 1,
             "pace": "free", "accept_names": False}  # a resume must know the files' sizes
    for key in ("job", "one_hot"):
        asked.pop(key, None)
    with Loader(connect, asked, epochs=None, timeout=timeout) as loader:
        _check_fields(loader)
        size = list(loader.fields["image"].shape[:2])  # which a Source's pictures might not have
        state = loader.state_dict()
        stream = Stream(loader._reader.request, state)
        classes = len(loader.classes) or None
        samples = loader.samples
    part = [key for key in asked if key == "sampler" or key.startswith("subset_")]
    if part or asked["echo"] != 1:
        whole = {key: value for key, value in asked.items() if key not in part}
        with Loader(connect, {**whole, "echo": 1}, epochs=None, timeout=timeout) as loader:
            samples = loader.samples
    known = json.dumps([state[key] for key in ("digest", "description", "fingerprints")],
                       sort_keys=True)
    source = Source(stream, samples, gives="picture", classes=classes, version=known)
    source.name = os.path.basename(str(request["dataset"]["path"]).rstrip("/"))
    return source, [{"name": "CenterCrop", "size": size}, *steps[cut:]]


def refuse(what: str) -> None:
    """Raise ValueError: actors cannot make that."""
    raise ValueError(f"actors of a cluster make no stream with {what}: leave it out, or leave out "
                     "num_workers, and the daemon of this node makes all")


def _check(request: Mapping[str, Any]) -> None:
    dataset = request["dataset"]
    if "parts" in dataset:
        refuse("several datasets (stoker.Mix)")
    for given in (dataset, request.get("sampler") or {}):
        if any(isinstance(value, InMemory) for value in given.values()):
            refuse("a list that lies in the memory of this node (write a file that all nodes "
                   "have)")
    if _crops.names(request["transforms"]):
        refuse("crops")
    if request["bad_samples"] != "error":
        refuse(f"bad_samples={request['bad_samples']!r}")
    if request.get("order", "global") != "global":
        refuse(f"order={request['order']!r}")
    if request["views"] != 1:
        refuse("views")
    if request["dtype"] == "uint16":
        refuse("dtype='uint16'")


def _check_fields(loader: Loader) -> None:
    fields = loader.fields
    more = sorted(set(fields) - {"image", "label", "index"})
    if more:
        refuse(f"further fields ({', '.join(more)}; fields=[] asks for none)")
    image, label = fields["image"], fields["label"]
    if image.sized or len(image.shape) != 3 or image.shape[2] != 3:
        refuse(f"pictures of the shape {list(image.shape)} or of several shapes")
    if label.dtype != "int64" or label.shape != ():
        refuse("labels that are no single whole number")


class Stream:
    """Samples by index, as a daemon makes them in a stream: (picture, label). In a producer.

    ``request``, ``state``: of a loader of that stream, in the trainer."""

    def __init__(self, request: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        self.request, self.state = dict(request), dict(state)
        self._loader: Optional[Loader] = None
        self._made: Dict[Tuple[int, int], Tuple[int, Any, int]] = {}

    def __getstate__(self) -> Any:
        return {"request": self.request, "state": self.state}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__init__(state["request"], state["state"])  # type: ignore[misc]

    def stoker_ahead(self, samples: Sequence[Sequence[int]]) -> None:
        """Have these made together. ``samples``: (index, epoch, position), as in WORK."""
        self._made = {}
        runs: List[List[int]] = []  # epoch, position, count
        for _, epoch, position in samples:
            if runs and runs[-1][:2] == [epoch, position - runs[-1][2]]:
                runs[-1][2] += 1
            else:
                runs.append([epoch, position, 1])
        for epoch, position, count in runs:
            try:
                self._take(Place(epoch, position), count)
            except Error:  # each of them is asked for alone, and says what it has
                return

    def __getitem__(self, index: int) -> Tuple[Any, int]:
        asked = sample()
        place = Place(asked.epoch, asked.position)
        if place not in self._made:
            self._take(place, 1)
        found, picture, label = self._made.pop(place)
        if found != index:
            raise RuntimeError(f"position {place.position} of epoch {place.epoch} is sample "
                               f"{found} on {os.uname().nodename} and {index} in the trainer: "
                               "install the same stoker on all nodes")
        return picture, label

    def _take(self, place: Place, count: int) -> None:
        if self._loader is None:
            self._loader = self._open()
        batch: Batch = self._loader._reader.only_batch(place, count)
        for number in range(batch.count):
            self._made[place.epoch, place.position + number] = (
                int(batch.index[number]), batch.images[number], int(batch.labels[number]))

    def _open(self) -> Loader:
        """A reader that keeps the dataset open, and gets nothing."""
        loader = Loader(lambda: _start.find(None)[1], {**self.request, "inflight": 0},
                        epochs=None, timeout=None, reconnect=_RECONNECT_S)
        try:
            loader.load_state_dict(self.state)
        except TokenError as error:
            loader.close()
            raise ValueError(f"what {os.uname().nodename} has is not what the trainer has: {error}"
                             ) from None
        return loader
