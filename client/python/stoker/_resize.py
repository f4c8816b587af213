# SPDX-License-Identifier: MIT
"""Whose bytes a resize makes: those of Pillow up to 12, or of Pillow from 13 on. Knows no place."""
from __future__ import annotations

import logging
from typing import Any, Dict, Optional

from .errors import Error

PILLOW_12, PILLOW_13 = "pillow-12", "pillow-13"
STANDARD = PILLOW_13  # if neither the program nor a state says it

_OLD = "this stokerd is older than the client and makes the resizes of Pillow 12 alone"
OLD_STATE = "the state is of a client that knew the resizes of Pillow 12 alone: the loader goes " \
            "on with these"
_log = logging.getLogger("stoker")


def settled(asked: Optional[str], known: bool) -> str:
    """What to ask a daemon for, which ``known`` says to know the word."""
    whose = STANDARD if asked is None else asked
    if whose != PILLOW_13 or known:
        return whose
    if asked is not None:
        raise Error(f"{_OLD}: update it, or ask for resize={PILLOW_12!r}")
    _log.warning(_OLD)
    return PILLOW_12


def field(whose: str) -> Dict[str, Any]:
    """Of a request: absence means Pillow 12, to any daemon."""
    return {} if whose == PILLOW_12 else {"resize": whose}
