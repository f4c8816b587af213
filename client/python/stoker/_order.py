# SPDX-License-Identifier: MIT
"""The daemon's order of an epoch, computed here: docs/order.md. A pure function."""
from __future__ import annotations

from typing import Any, List, Tuple

import numpy as np

_WORD = 0xFFFFFFFF


def order(seed: int, epoch: int, n: int) -> Any:
    """(n,) int64: which of ``n`` stands at each position of a shuffled epoch."""
    half = 1
    while 1 << 2 * half < n:
        half += 1
    mask = np.uint64((1 << half) - 1)
    shift = np.uint64(half)
    keys = np.array([key for number in range(0, 8, 2) for key in _keys(seed, number, epoch)],
                    np.uint64)
    out = np.arange(n, dtype=np.uint64)
    walking = np.arange(n)  # those that are not yet below n
    while len(walking):
        at = out[walking]
        left, right = at >> shift, at & mask
        for key in keys:
            left, right = right, left ^ (_mix(right ^ key) & mask)
        out[walking] = left << shift | right
        walking = walking[out[walking] >= n]
    return out.astype(np.int64)


def _mix(z: Any) -> Any:
    """The finaliser of splitmix64."""
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


def _keys(seed: int, number: int, epoch: int) -> Tuple[int, int]:
    """Of two rounds, by Philox4x32-10."""
    words: List[int] = [number, epoch, 0, _WORD]
    low, high = seed & _WORD, seed >> 32
    for _ in range(10):
        a, b = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [(b >> 32) ^ words[1] ^ low, b & _WORD, (a >> 32) ^ words[3] ^ high, a & _WORD]
        low, high = (low + 0x9E3779B9) & _WORD, (high + 0xBB67AE85) & _WORD
    return words[1] << 32 | words[0], words[3] << 32 | words[2]
