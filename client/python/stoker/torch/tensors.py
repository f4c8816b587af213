# SPDX-License-Identifier: MIT
"""Arrays of a ring as torch tensors, here and on a CUDA device. Any thread, but a Cuda, which is of
the thread of its loader."""
from __future__ import annotations

from typing import Any, Callable, ContextManager, Mapping, Tuple

import torch
from torch.utils.data._utils.pin_memory import pin_memory

from .._ring import Field
from ..errors import DeviceError

# numpy has only the bits; as signed integers, which every version of torch knows.
_BITS = {"bfloat16": torch.bfloat16}


def tensor_of(array: Any, dtype: str) -> Any:
    """A tensor of the same memory, which it keeps. ``dtype``: that of its field."""
    bits = _BITS.get(dtype)
    tensor = torch.from_numpy(array if bits is None else array.view("<i2"))
    return tensor if bits is None else tensor.view(bits)


class Cuda:
    """Tensors on a device, for a Copier. They are allocated for the stream of copies; the allocator
    is told of the stream where the program has them, so it waits for that before it reuses them."""

    def __init__(self, device: Any) -> None:
        wanted = torch.device(device)
        if wanted.type != "cuda" or not torch.cuda.is_available():
            raise DeviceError(f"no tensors can be put on {wanted}: " + (
                "torch finds no CUDA device; leave device= out, or look at nvidia-smi"
                if wanted.type == "cuda" else "give a cuda device, or use tensor.to()"))
        self.number: int = torch.cuda.current_device() if wanted.index is None else wanted.index
        self._device = torch.device("cuda", self.number)
        self._side = torch.cuda.Stream(self._device)
        self.stream: int = self._side.cuda_stream

    def here(self) -> ContextManager[object]:
        return torch.cuda.stream(self._side)  # type: ignore[no-any-return, unused-ignore]

    def empty(self, field: Field, count: int) -> Tuple[Any, int]:
        tensor = torch.empty((count, *field.shape), dtype=getattr(torch, field.dtype),
                             device=self._device)
        return tensor, tensor.data_ptr()

    def consumer(self) -> int:
        return int(torch.cuda.current_stream(self._device).cuda_stream)

    def hand(self, array: Any) -> None:
        array.record_stream(torch.cuda.current_stream(self._device))


def moved(batch: Any, device: Any) -> Any:
    """A batch with its tensors on the device."""
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, Mapping):
        return {key: moved(value, device) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        items = [moved(item, device) for item in batch]
        return type(batch)(*items) if hasattr(batch, "_fields") else items
    return batch


def hander(loader: Any) -> Callable[[Any], Any]:
    """What does with a batch what torch's DataLoader does with it at last. It does not hold the
    loader."""
    device, pin = loader.device, loader.pin_memory and torch.cuda.is_available()

    def hand(batch: Any) -> Any:
        if device is not None:
            return moved(batch, device)
        return pin_memory(batch) if pin else batch
    return hand
