# SPDX-License-Identifier: MIT
"""The resume token: a plain dict that JSON can hold, and the check that it fits the loader."""
from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from ._resize import PILLOW_12
from ._tables import U32, U64
from .errors import TokenError, short

VERSION = 1


# What a field of the state stands for, if its name does not say it.
_MEANS = {"dataset": " (its files and labels)",
          "pipeline": " (transforms, dtype, layout, draft, resize)",
          "sampling": " (order, sampler, echo, views)"}


class Place(NamedTuple):
    """A point in the sequence of epochs: everything before it was used. ``position`` is global."""

    epoch: int
    position: int


class Identity(NamedTuple):
    """What must be equal so that a place means the same samples with the same bytes."""

    dataset: str
    pipeline: str
    order_seed: int
    augment_seed: int
    shuffle: bool
    subset: Optional[Tuple[int, Optional[int]]]
    exif_orientation: bool = False
    sampling: str = ""  # the daemon's hash of order, sampler, echo and views
    resize: str = PILLOW_12


def make(identity: Identity, place: Place, batch_size: int, world_size: int) -> Dict[str, Any]:
    """The token. Batch size and world size are for people; they are not checked."""
    out: Dict[str, Any] = {"version": VERSION, **identity._asdict(), **place._asdict(),
                           "batch_size": batch_size, "world_size": world_size}
    out["subset"] = None if identity.subset is None else list(identity.subset)
    return out


def check(state: Any, identity: Identity, samples: int) -> Place:
    """The place in a token. Raises TokenError, which names the first field that is wrong."""
    if not isinstance(state, Mapping):
        raise TokenError.local(f"a state must be a dict, not a {type(state).__name__}")
    if state.get("version") != VERSION:
        raise TokenError.local(f"version: the state has {short(state.get('version'))}, "
                               f"this client knows {VERSION}")
    for field, ours in identity._asdict().items():
        theirs = state.get(field, Identity._field_defaults.get(field))
        if field == "subset" and isinstance(theirs, (list, tuple)):
            theirs = tuple(_whole(one) for one in theirs)
        elif type(ours) is int:
            theirs = _whole(theirs)
        if type(theirs) is not type(ours) or theirs != ours:
            raise TokenError.local(f"{field}{_MEANS.get(field, '')}: the state is for "
                                   f"{short(theirs)}, this loader has {short(ours)}")
    epoch, position = (_number(state, field, most)
                       for field, most in (("epoch", U32), ("position", U64)))
    if position > samples:
        raise TokenError.local(f"position: the state has {position}, an epoch has {samples}")
    return Place(epoch, position) if position < samples else Place(epoch + 1, 0)


def _whole(value: Any) -> Any:
    """JavaScript's JSON.stringify() writes a number beyond 2^53 as a text."""
    text = isinstance(value, str) and value.isascii() and value.isdigit()
    return int(value) if text else value


def _number(state: Mapping[str, Any], field: str, most: int) -> int:
    value = state.get(field)
    if type(value) is not int or not 0 <= value <= most:
        raise TokenError.local(f"{field}: {short(value)} is not a number from 0 to {most}")
    return value
