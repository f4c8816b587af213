# SPDX-License-Identifier: MIT
"""The keywords of Node.loader(), for who passes them on: their types, for type checkers and
editors, and what to write instead of those that only other loaders have. Knows no values."""
from __future__ import annotations

import difflib
import functools
import inspect
from typing import (Any, Callable, Iterable, Mapping, Optional, Sequence, Tuple, TypedDict,
                    TypeVar, Union, get_type_hints)

from ._tables import BadSamples, LastBatch, Layout, Order, Pace, Resize, Start
from .produce.cluster import Cluster


class Unshuffled(TypedDict, total=False):
    """All keywords of Node.loader() but ``batch_size`` and ``shuffle``, with its types."""

    transforms: Any
    seed: int
    order_seed: Optional[int]
    augment_seed: Optional[int]
    dtype: Any
    layout: Layout
    last_batch: LastBatch
    drop_last: bool
    rank: Optional[int]
    world_size: Optional[int]
    job: Optional[str]
    subset: Union[None, str, Tuple[int, Optional[int]]]
    validation_split: Optional[float]
    sampler: Any
    echo: int
    echo_window: int
    order: Optional[Order]
    window: Optional[int]
    views: int
    crops: Optional[Mapping[str, Tuple[int, Any]]]
    epochs: Optional[int]
    inflight: int
    prefetch: int
    bad_samples: BadSamples
    exif_orientation: bool
    draft: bool
    resize: Optional[Resize]
    fields: Optional[Sequence[str]]
    one_hot: bool
    transport: Optional[str]
    labels: Optional[Sequence[Any]]
    timeout: Optional[float]
    start: Start
    pace: Pace
    priority: int
    reconnect: Optional[float]
    credentials: Any
    num_workers: Union[None, int, Cluster]


class Options(Unshuffled, total=False):
    """... and ``shuffle``."""

    shuffle: bool


_Function = TypeVar("_Function", bound=Callable[..., Any])
START = "stoker.connect(start=True) starts a daemon, and so does $STOKER_START=1 where nobody " \
        "calls connect()"
_WORKERS = "the daemon has the workers: `stokerctl set workers 8`"
_OTHERS = {
    "num_workers": _WORKERS, "persistent_workers": _WORKERS, "multiprocessing_context": _WORKERS,
    "workers": _WORKERS, "n_processes": _WORKERS, "use_multiprocessing": _WORKERS,
    "worker_init_fn": "give a seed", "generator": "give a seed",
    "prefetch_factor": "use prefetch, the batches that the ring holds",
    "max_queue_size": "use prefetch, the batches that the ring holds",
    "collate_fn": "apply it to the batches", "batch_sampler": "give batch_size and sampler",
    "pin_memory": "with torch, wrap it: DataLoader(loader, batch_size=None, pin_memory=True)",
    "device": "stoker.torch.Loader and stoker.jax have it",
    "transform": "it is called transforms here", "target_transform": "apply it to the labels",
}


def refuse(unknown: Iterable[str], known: Sequence[str] = ()) -> None:
    """Raise TypeError if there is such a keyword, and say what to write instead. ``known``: those
    of who asks; else those of Node.loader()."""
    names = [*known] or ["batch_size", *get_type_hints(Options)]
    for name in unknown:
        if name in _OTHERS and name not in known:
            raise TypeError(f"{name} is not supported: {_OTHERS[name]}")
        if name == "start":
            raise TypeError(f"there is no option 'start' here: {START}")
        close = difflib.get_close_matches(name, names, 1, 0.5)
        raise TypeError(f"there is no option {name!r}" + (
            f": did you mean {close[0]!r}?" if close else f", but {', '.join(sorted(names))}"))


def named(function: _Function) -> _Function:
    """A function whose keywords are all known by their names: a wrong one is refused with the
    nearest."""
    known = [name for name in inspect.signature(function).parameters if name != "self"]

    @functools.wraps(function)
    def call(*given: Any, **options: Any) -> Any:
        refuse((name for name in options if name not in known), known)
        return function(*given, **options)
    return call  # type: ignore[return-value]


def name_all(*kinds: type) -> None:
    """Have these dataclasses made as named() says."""
    for kind in kinds:
        setattr(kind, "__init__", named(getattr(kind, "__init__")))
