# SPDX-License-Identifier: MIT
"""Accelerate, and with it HF's Trainer, makes a DataLoader of torch's own of each that it is given.
Of stoker's it is to make stoker's: what does so there is followed by own(). One thread.
"""
from __future__ import annotations

import functools
import logging
import sys
from typing import Any, Callable, Type

import torch.utils.data

_MAKERS = ("prepare_data_loader", "skip_first_batches")
# A mark of Accelerate, which looks for it before it makes anything of a DataLoader.
MARK = "_is_accelerate_prepared"
_log = logging.getLogger("stoker")


def keep(kind: Type[Any], placed: Type[Any]) -> None:
    """From now on Accelerate, if it is imported, makes a ``placed`` of each ``kind``."""
    module = sys.modules.get("accelerate.data_loader")
    for name in _MAKERS:
        make = getattr(module, name, None)
        if make is None or hasattr(make, "stokers"):
            continue
        kept = _kept(make, kind, placed)
        for other in list(sys.modules.values()):  # some have imported it by its name
            if getattr(other, "__dict__", {}).get(name) is make:
                setattr(other, name, kept)


def _kept(make: Callable[..., Any], kind: Type[Any], placed: Type[Any]
          ) -> Callable[..., Any]:
    @functools.wraps(make)
    def made(dataloader: Any, *args: Any, **options: Any) -> Any:
        out = make(dataloader, *args, **options)
        given = _below(dataloader)
        if isinstance(given, kind):
            _own(_below(out), given, placed)
        return out
    made.stokers = True  # type: ignore[attr-defined]
    return made


def _below(loader: Any) -> Any:
    """What makes the batches: newer versions hold it, in older ones it is the loader itself."""
    return getattr(loader, "__dict__", {}).get("base_dataloader", loader)


def _own(made: Any, given: Any, placed: Type[Any]) -> None:
    """Let ``made`` be a ``placed`` like ``given``: both are DataLoaders of the same attributes."""
    if isinstance(made, placed):
        return
    theirs = type(made)
    if not isinstance(made, torch.utils.data.DataLoader) or _makes_batches(theirs):
        _log.warning("Accelerate has made a %s of a stoker.torch.DataLoader: torch's own DataLoader"
                     " makes the batches (use_stateful_dataloader=False leaves them to stoker)",
                     theirs.__qualname__)
        return
    made.__class__ = placed if theirs is torch.utils.data.DataLoader else \
        type(theirs.__name__, (theirs, placed), {"__module__": theirs.__module__})
    placed.begin(made, getattr(made, "device", given.device), given.node)


def _makes_batches(kind: Type[Any]) -> bool:
    """Does it do so by itself, as torchdata's StatefulDataLoader?"""
    own = kind.__mro__[:kind.__mro__.index(torch.utils.data.DataLoader)]
    return any("_get_iterator" in vars(base) for base in own)
