# SPDX-License-Identifier: MIT
"""stoker: batches for vision training, prepared by a daemon and read in place.

    import stoker

    with stoker.connect() as node:
        loader = node.loader("/data/train", batch_size=64, transforms=[
            stoker.RandomResizedCrop(224), stoker.RandomHorizontalFlip(), stoker.ToTensor()])
        for epoch in range(loader.epoch, 3):
            for images, labels in loader:
                ...  # numpy views of shared memory
"""
from ._version import __version__
from .batch import Batch
from .errors import (ArgumentError, DaemonUnavailable, DatasetError, Disconnected, Error,
                     ForkError, LimitError, MemoryBudgetError, NotPermitted, PipelineError,
                     ProtocolError, RequestError, SampleError, Stopping, TokenError,
                     TooManyConnections, TransportError, VersionError)
from .loader import Loader
from .node import Node, connect
from .transforms import (CenterCrop, Normalize, Pad, RandomCrop, RandomHorizontalFlip,
                         RandomResizedCrop, RandomVerticalFlip, Resize, ToTensor, Transform)

__all__ = [
    "ArgumentError", "Batch", "CenterCrop", "DaemonUnavailable", "DatasetError", "Disconnected",
    "Error", "ForkError", "LimitError", "Loader", "MemoryBudgetError", "Node", "Normalize",
    "NotPermitted", "Pad", "PipelineError", "ProtocolError", "RandomCrop", "RandomHorizontalFlip",
    "RandomResizedCrop", "RandomVerticalFlip", "RequestError", "Resize", "SampleError", "Stopping",
    "ToTensor", "TokenError", "TooManyConnections", "Transform", "TransportError", "VersionError",
    "__version__", "connect",
]
