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
from .._crops import pictures
from .._device import Copier, DeviceIteration
from .._wire import Received
from ..errors import ForkError
from ..node import Dataset, Node, connect
from .lowering import given
from .tensors import Cuda, tensor_of

__all__ = ["Loader"]

_log = logging.getLogger("stoker")
_UNSEEDED = 67280421310721  # what torch.initial_seed() is before anybody seeds

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._options import Options

    class _Base(_loader.Loader, IterableDataset[Any]):
        def __init__(self) -> None:
            pass
else:
    _Base = IterableDataset


def _say_seed(options: Any) -> None:
    """Once torch was seeded, one may think that this is, too."""
    if torch.initial_seed() != _UNSEEDED and \
            not {"seed", "order_seed", "augment_seed"} & options.keys():
        _log.info("the order and what is drawn at random are those of seed=0, whatever "
                  "torch.manual_seed() said: give seed=torch.initial_seed() to follow it")


def _check_shapes(loader: _loader.Loader) -> None:
    """Can its batches be copied to a device?"""
    tree = loader._reader.tree
    for leaf in tree.leaves if tree is not None else ():
        if leaf.ragged:
            raise ValueError(f"device: {leaf.name!r} has a shape of its own in each sample, or is "
                             "text, and only arrays of one shape are copied ahead: leave device "
                             "out, and copy what your model takes with .to(device)")


class _Samples:
    """The dataset of a loader."""

    def __init__(self, loader: _loader.Loader) -> None:
        self._loader = loader

    def __len__(self) -> int:
        return self._loader.samples

    def __getattr__(self, name: str) -> Any:
        if name in ("classes", "class_to_idx"):
            return getattr(self._loader, name)
        raise AttributeError(f"the dataset of a stoker.torch.Loader has len(), classes and "
                             f"class_to_idx, and no {name!r}: the daemon reads its samples. Take "
                             "it from a dataset of your own")


class _Sampler:
    """The order of a loader."""

    def __init__(self, loader: _loader.Loader) -> None:
        self.set_epoch = loader.set_epoch


class Loader(_Base):
    """Batches as torch tensors (images, labels, and what ``fields`` names, in that order), with the
    shapes and types of stoker.Loader, and with all of its other methods and attributes
    (``batches()`` and ``batch()`` give NumPy arrays of all fields).

    Batches are shuffled, unless ``shuffle=False`` says otherwise, and ``seed`` says how, not
    torch.manual_seed(). For a DataLoader's own meaning of its parameters take
    stoker.torch.DataLoader.

    Args:
        dataset, batch_size and all options of Node.loader(); ``rank`` and ``world_size`` default to
            those of torch.distributed, if it is initialised. A dataset may also be torchvision's
            ImageFolder, or a Subset of one (random_split); then ``transforms`` default to its own.
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
        self._told = False
        to = None if device is None or torch.device(device).type == "cpu" else Cuda(device)
        node = connect() if node is None else node
        dataset = given(dataset, options)  # type: ignore[arg-type]
        self._crops = tuple(options.get("crops") or ())
        self._tensor_names = (*(self._crops or ("image",)), "label",
                              *(options.get("fields") or ()))
        _say_seed(options)
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
                _check_shapes(self._loader)
                self._loader._reader.copier = Copier(to)
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
    def dataset(self) -> _Samples:
        """Its ``len()`` is the number of samples, as that of a DataLoader's dataset."""
        return _Samples(self._loader)

    @property
    def sampler(self) -> _Sampler:
        """Its ``set_epoch()`` is the loader's, as scripts and Lightning call it."""
        return _Sampler(self._loader)

    @property
    def drop_last(self) -> bool:
        return bool(self._loader._reader.request["last_batch"] == "drop")

    @property
    def num_workers(self) -> int:
        """Of this process: the daemon has the workers."""
        return 0

    def __getitem__(self, _: object) -> Any:
        raise TypeError("a loader gives batches in their order: batch(epoch, number) gives one")

    @property
    def copies(self) -> Optional[str]:
        """How batches get to the device: "registered" (out of the ring) or "staged" (through pinned
        memory); "" before the first, None without a device."""
        copier = self._loader._reader.copier
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
        copier = self._loader._reader.copier
        if copier is not None and self._loader._reader.tree is not None:
            return DeviceIteration(self._loader, copier, self._loader._names_of_tree(),
                                   self._loader._in_tree)
        if copier is not None:
            return DeviceIteration(self._loader, copier, self._tensor_names, self._values)
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
        more = [name for name in self._loader.fields if name not in (*self._tensor_names, "index")]
        if more and not self._told:
            _log.warning("(images, labels) of %s leave out %s: fields=%r gives (images, labels, "
                         "%s)", self._loader._name(), ", ".join(more), more, ", ".join(more))
        self._told = True

    def _tensors(self, message: Received) -> Any:
        tree = self._loader._reader.tree
        if tree is not None:
            return self._loader._joined(message, self._of_array)
        arrays, lease = self._loader._take(message, self._tensor_names)
        out = self._values({name: self._tensor(name, array) for name, array in arrays.items()})
        if self.copy and lease is not None:
            lease.release()
        return out

    def _values(self, arrays: Dict[str, Any]) -> Tuple[Any, ...]:
        """A batch of arrays in the order of their names: images (of Crops a dict of them), labels,
        and others."""
        names = self._tensor_names[len(self._crops) or 1:]
        return (pictures(arrays, self._crops), *(arrays[name] for name in names))

    def _of_array(self, array: Any) -> Any:
        """Types that this torch does not know stay NumPy's. Of a ragged field it is a list."""
        if isinstance(array, list):
            return [item if isinstance(item, (str, bytes)) else self._of_array(item)
                    for item in array]
        try:
            tensor = torch.from_numpy(array)
        except TypeError:
            return array
        return tensor.clone() if self.copy else tensor

    def _tensor(self, name: str, array: Any) -> Any:
        try:
            tensor = tensor_of(array, self._loader.fields[name].dtype)
        except TypeError:  # torch lacks it
            return array
        return tensor.clone() if self.copy else tensor
