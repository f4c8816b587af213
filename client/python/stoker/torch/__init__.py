# SPDX-License-Identifier: MIT
"""torch: a DataLoader in the place of torch's own, and a loader of stoker's batches as tensors.

    from stoker.torch import DataLoader    # in place of torch.utils.data's
    loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=8)
    print(loader.plan())                   # what runs in the daemon, and what in your processes

    loader = stoker.torch.Loader("/data/train", batch_size=64, transforms=[...])
    for images, labels in loader: ...

Needs torch.
"""
try:
    import torch as _torch  # noqa: F401 (its error is the one to read)
except ImportError as error:
    raise ImportError("stoker.torch needs torch: pip install torch") from error

from .data_loader import DataLoader
from .loader import Loader

__all__ = ["DataLoader", "Loader"]
