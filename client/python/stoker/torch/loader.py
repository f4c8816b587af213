# SPDX-License-Identifier: MIT
"""A loader of stoker's own datasets and transforms, as torch tensors."""
from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import torch
import torch.distributed as dist
from torch.utils.data import IterableDataset, get_worker_info

from .. import _ranks
from .. import loader as _loader
from .._device import Copier, DeviceIteration
from .._wire import Received
from ..errors import ForkError
from ..node import Dataset, Node, connect
from .tensors import Cuda, tensor_of

__all__ = ["Loader"]

_log = logging.getLogger("stoker")

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._options import Options

    class _Base(_loader.Loader, IterableDataset[Any]):
        def __init__(self) -> None:
            pass
else:
    _Base = IterableDataset


def _values(arrays: Dict[str, Any]) -> Tuple[Any, ...]:
    return tuple(arrays.values())


class Loader(_Base):
    """Batches as torch tensors (images, labels), with the shapes and types of stoker.Loader, and
    with all of its other methods and attributes (``batches()`` and ``batch()`` give NumPy arrays,
    also of further fields such as masks, which the logger names as they are left out here).

    Args:
        dataset, batch_size and all options of Node.loader(); ``rank`` and ``world_size`` default to
            those of torch.distributed, if it is initialised.
        node: where to attach; None: stoker.connect().
        copy: copy the tensors. Without it images are read where the daemon has written them; see
            stoker.Loader. Tensors may be written to and kept either way.
        device: "cuda", "cuda:1", ...: tensors there, copied ahead on a stream of their own; what is
            begun on the current stream waits for them. The ring is registered with CUDA where the
            device can do that with memory that is mapped read-only, else batches go through a stage
            of pinned memory; ``copies`` says which. Raises DeviceError.

    It is also an IterableDataset: DataLoader(loader, batch_size=None) works, also with pin_memory.
    With another batch_size it raises ValueError, since it would make batches of batches, and with
    num_workers > 0 ForkError: the daemon has the workers, and batches from another process would be
    copied.

    One thread at a time.
    """

    def __init__(self, dataset: Dataset, batch_size: int, *, node: Optional[Node] = None,
                 copy: bool = False, device: Any = None, **options: Unpack[Options]) -> None:
        super().__init__()
        self._said = False
        to = None if device is None or torch.device(device).type == "cpu" else Cuda(device)
        node = connect() if node is None else node
        found = dist.is_available() and dist.is_initialized() and \
            options.get("rank") is None and options.get("world_size") is None
        if found:
            options["rank"], options["world_size"] = dist.get_rank(), dist.get_world_size()
        self._loader = node.loader(dataset, batch_size=batch_size, **options)
        if found and not options.get("shuffle", True):
            _ranks.say_part(self._loader)
        _ranks.say_uneven(self._loader)
        self.copy = copy
        if to is not None:
            try:
                self._loader._copier = Copier(to)
            except BaseException:
                self._loader.close()
                raise

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(f"stoker.torch.Loader has no attribute {name!r}")
            return getattr(self._loader, name)

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *dir(self._loader)})

    @property
    def loader(self) -> _loader.Loader:
        """The stoker.Loader of numpy arrays below this one."""
        return self._loader

    @property
    def copies(self) -> Optional[str]:
        """How batches get to the device: "registered" (out of the ring) or "staged" (through pinned
        memory); "" before the first, None without a device."""
        copier = self._loader._copier
        return None if copier is None else copier.how

    def __len__(self) -> int:
        """Number of batches in a whole epoch for this rank."""
        return len(self._loader)

    def __iter__(self) -> _loader.Iteration[Any]:
        """The rest of an epoch, as with stoker.Loader."""
        if get_worker_info() is not None:
            raise ForkError("stoker.torch.Loader cannot run in worker processes, and the daemon "
                            "has workers: use it as it is, or with DataLoader(loader, "
                            "batch_size=None, num_workers=0)")
        # A DataLoader that makes batches calls this from where it has such a variable.
        if sys._getframe(1).f_locals.get("auto_collation"):
            raise ValueError("stoker.torch.Loader gives batches, and this DataLoader would make "
                             "batches of them: use DataLoader(loader, batch_size=None)")
        self._say_left_out()
        copier = self._loader._copier
        if copier is not None:
            return DeviceIteration(self._loader, copier, ("image", "label"), _values)
        return _loader.Iteration(self._loader, self._tensors)

    def __repr__(self) -> str:
        copies = f", {self.copies} copies" if self.copies else ""
        return f"<stoker.torch.Loader {self._loader._words()}{copies}>"

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        return self._loader.__reduce__()

    def _say_left_out(self) -> None:
        """Once, as pairs are asked for: the fields of the dataset that they do not have."""
        more = [name for name in self._loader.fields if name not in ("image", "label", "index")]
        if more and not self._said:
            _log.warning("(images, labels) of %s leave out %s: `for batch in loader.batches()` has "
                         "them, as batch[%r], in NumPy; torch.from_numpy() makes a tensor",
                         self._loader._name(), ", ".join(more), more[0])
        self._said = True

    def _tensors(self, message: Received) -> Any:
        tree = self._loader._tree
        if tree is not None:
            return self._loader._joined(message, self._of_array)
        arrays, lease = self._loader._take(message, ("image", "label"))
        out = tuple(self._tensor(name, array) for name, array in arrays.items())
        if self.copy and lease is not None:
            lease.release()
        return out

    def _of_array(self, array: Any) -> Any:
        """Types that this torch does not know stay NumPy's."""
        try:
            tensor = torch.from_numpy(array)
        except TypeError:
            return array
        return tensor.clone() if self.copy else tensor

    def _tensor(self, name: str, array: Any) -> Any:
        tensor = tensor_of(array, self._loader.fields[name].dtype)
        return tensor.clone() if self.copy else tensor
