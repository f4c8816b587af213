# SPDX-License-Identifier: MIT
"""A loader of torch tensors, usable in place of a torch.utils.data.DataLoader. Needs torch.

    loader = stoker.torch.Loader("/data/train", batch_size=64, transforms=[...])
    for images, labels in loader: ...
"""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

try:
    import torch
    import torch.distributed as dist
    from torch.utils.data import IterableDataset, get_worker_info
except ImportError as error:
    raise ImportError("stoker.torch needs torch: pip install torch") from error

from . import loader as _loader
from ._wire import Received
from .batch import Lease
from .errors import ForkError
from .node import Dataset, Node, connect

__all__ = ["Loader"]

# numpy has only the bits; as signed integers, which every version of torch knows.
_BITS = {"bfloat16": torch.bfloat16}

# Arguments that only a DataLoader has, and what to do instead.
_WORKERS = "the daemon has the workers: `stokerctl set workers 8`"
_DATALOADERS = {
    "num_workers": _WORKERS, "persistent_workers": _WORKERS, "worker_init_fn": "give a seed",
    "generator": "give a seed", "prefetch_factor": "use prefetch, the batches that the ring holds",
    "collate_fn": "apply it to the batches", "batch_sampler": "give batch_size and sampler",
    "pin_memory": "wrap it: DataLoader(loader, batch_size=None, pin_memory=True)",
}


class Loader(IterableDataset[Any]):
    """Batches as torch tensors (images, labels), with the shapes and types of stoker.Loader.
    Further fields of a dataset, statistics and images to look at: see the attribute ``loader``.

    Args:
        dataset, batch_size and all options of Node.loader(); ``rank`` and ``world_size`` default to
            those of torch.distributed, if it is initialised.
        node: where to attach; None: stoker.connect().
        copy: copy the tensors. Without it they share the memory of the ring: **do not write to
            them**. The memory is mapped read-only, writing kills the process, and torch has no
            read-only tensors. They stay valid, and keep their slots, as long as they or views of
            them are held.

    It is also an IterableDataset: DataLoader(loader, batch_size=None) works, also with pin_memory.
    With num_workers > 0 it raises ForkError: the daemon has the workers, and batches from another
    process would be copied.

    state_dict() and load_state_dict() are those of stoker.Loader. One thread at a time.
    """

    def __init__(self, dataset: Dataset, batch_size: int, *, node: Optional[Node] = None,
                 copy: bool = False, **options: Any) -> None:
        super().__init__()
        for name in _DATALOADERS.keys() & options.keys():
            raise TypeError(f"{name} is not supported: {_DATALOADERS[name]}")
        node = connect() if node is None else node
        if dist.is_available() and dist.is_initialized() and \
                options.get("rank") is None and options.get("world_size") is None:
            options.update(rank=dist.get_rank(), world_size=dist.get_world_size())
        self._loader = node.loader(dataset, batch_size=batch_size, **options)
        self.copy = copy

    @property
    def batch_size(self) -> int:
        return self._loader.batch_size

    @property
    def loader(self) -> _loader.Loader:
        """The stoker.Loader of numpy arrays below this one: samples, epoch, hashes, ..."""
        return self._loader

    @property
    def classes(self) -> List[str]:
        return self._loader.classes

    @property
    def epoch(self) -> int:
        return self._loader.epoch

    def __len__(self) -> int:
        """Number of batches in a whole epoch for this rank."""
        return len(self._loader)

    def __iter__(self) -> _loader.Iteration[Any]:
        """The rest of an epoch, as with stoker.Loader."""
        if get_worker_info() is not None:
            raise ForkError("stoker.torch.Loader cannot run in worker processes, and the daemon "
                            "has workers: use it as it is, or with DataLoader(..., num_workers=0)")
        return _loader.Iteration(self._loader, self._tensors)

    def __repr__(self) -> str:
        return f"<stoker.torch.Loader {self._loader._words()}>"

    def set_epoch(self, epoch: int) -> None:
        self._loader.set_epoch(epoch)

    def state_dict(self) -> Dict[str, Any]:
        return self._loader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self._loader.load_state_dict(state_dict)

    def close(self) -> None:
        self._loader.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _tensors(self, message: Received) -> Any:
        lease = self._loader._lease(message.fields, False)
        out = tuple(self._tensor(field, message, lease) for field in ("image", "label"))
        if self.copy:
            lease.release()
        return out

    def _tensor(self, field: str, message: Received, lease: Lease) -> Any:
        ring = self._loader._ring
        # torch warns if an array is not writable. The tensor keeps the array, that the lease.
        array = ring.gather(field, message.fields["runs"], lease, writable=True)
        bits = _BITS.get(ring.fields[field].dtype)
        tensor = torch.from_numpy(array if bits is None else array.view("<i2"))
        tensor = tensor if bits is None else tensor.view(bits)
        return tensor.clone() if self.copy else tensor
