# SPDX-License-Identifier: MIT
"""Any object as bytes of one size, for a slot of the ring: a pickle whose arrays and tensors lie
beside it, so that who opens it has them in place.

Layout: the size of the table, 8 bytes, little endian; the table, a pickle of (offset, size) of each
part; the parts, at multiples of 64, of which the first is the pickle. Any thread.
"""
from __future__ import annotations

import functools
import io
import pickle
import sys
from typing import Any, List, Optional, Tuple

import numpy as np

_ALIGN = 64
_NUMBER = 8


class TooLarge(ValueError):
    """``needed``: so many bytes would do."""

    def __init__(self, needed: int, most: int) -> None:
        super().__init__(f"a batch has {needed} bytes, and a slot {most}")
        self.needed = needed


class _Pickler(pickle.Pickler):
    """Tensors on the processor go as NumPy's arrays, which can lie beside the pickle. A class of
    the program's own script is one of its main module, which a producer's is not."""

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, type) and thing.__module__ == "__main__" and \
                "<" not in thing.__qualname__:  # within a function
            return _of_main, (thing.__qualname__,)
        torch = sys.modules.get("torch")
        if torch is None or type(thing) is not torch.Tensor or thing.device.type != "cpu" or \
                thing.layout != torch.strided or thing.requires_grad:
            return NotImplemented
        if thing.dtype == torch.bfloat16:
            return _of_bits, (thing.contiguous().view(torch.int16).numpy(),)
        try:
            return torch.from_numpy, (thing.contiguous().numpy(),)
        except (TypeError, RuntimeError):  # NumPy has no such type
            return NotImplemented


def _of_main(name: str) -> Any:
    return functools.reduce(getattr, name.split("."), sys.modules["__main__"])


def _of_bits(array: np.ndarray[Any, Any]) -> Any:
    import torch
    return torch.from_numpy(array).view(torch.bfloat16)


def _parts(thing: object) -> Tuple[List[memoryview], bytes, int]:
    """The parts, the table of their places, and how many bytes all of it has."""
    buffers: List[pickle.PickleBuffer] = []
    head = io.BytesIO()
    _Pickler(head, 5, buffer_callback=buffers.append).dump(thing)
    parts = [head.getbuffer(), *(buffer.raw() for buffer in buffers)]
    # The table's size hangs on the places in it, and these on its size: room for the largest.
    at = -(-(_NUMBER + 64 + 24 * len(parts)) // _ALIGN) * _ALIGN
    places = []
    for part in parts:
        places.append((at, part.nbytes))
        at = -(-(at + part.nbytes) // _ALIGN) * _ALIGN
    return parts, pickle.dumps(places), at


def size_of(thing: object) -> int:
    return _parts(thing)[2]


def seal(thing: object, size: int, room: Optional[np.ndarray[Any, Any]] = None
         ) -> np.ndarray[Any, Any]:
    """``size`` bytes, in ``room`` if that is given. Raises TooLarge, and what pickling raises."""
    parts, table, needed = _parts(thing)
    if needed > size:
        raise TooLarge(needed, size)
    out = np.empty(size, np.uint8) if room is None else room
    view = out.data
    view[:_NUMBER] = len(table).to_bytes(_NUMBER, "little")
    view[_NUMBER:_NUMBER + len(table)] = table
    for part, (at, length) in zip(parts, pickle.loads(table)):
        view[at:at + length] = part
    return out


def unseal(sealed: np.ndarray[Any, Any]) -> Any:
    """The object; its arrays and tensors are where ``sealed`` lies, and keep it."""
    view = sealed.data
    size = int.from_bytes(view[:_NUMBER], "little")
    head, *buffers = [view[at:at + length] for at, length in
                      pickle.loads(view[_NUMBER:_NUMBER + size])]
    return pickle.loads(head, buffers=buffers)
