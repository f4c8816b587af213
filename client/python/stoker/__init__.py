# SPDX-License-Identifier: MIT
"""stoker: batches for training on images, made by a daemon and read from shared memory.

    import stoker

    with stoker.connect() as node:
        loader = node.loader("/data/train", batch_size=64, transforms=[
            stoker.RandomResizedCrop(224), stoker.RandomHorizontalFlip(), stoker.ToTensor()])
        for epoch in range(loader.epoch, 3):
            for images, labels in loader:
                ...  # numpy views of shared memory

connect() finds the daemon. Node.loader() documents all options, Loader and Batch what they give.
stoker.torch, .keras, .tf, .jax, .dask and .chainer are adapters; import the one you need.
"""
from . import samplers, transforms
from ._version import __version__
from .batch import Batch
from .errors import (ArgumentError, CredentialsError, DaemonUnavailable, DatasetError, DeviceError,
                     Disconnected, Error, ForkError, LimitError, MemoryBudgetError, NotPermitted,
                     PipelineError, ProducerError, ProtocolError, RequestError, SampleError,
                     Stopping, TokenError, TooManyConnections, TransportError, VersionError)
from .loader import Loader
from .mix import Mix
from .node import Node, connect
from .produce.map import Map
from .produce.producer import Sample, sample
from .produce.source import Source
from .shards import write_shards
from .transforms import *  # noqa: F403

__all__ = [
    "ArgumentError", "Batch", "CredentialsError", "DaemonUnavailable", "DatasetError",
    "DeviceError", "Disconnected", "Error", "ForkError", "LimitError", "Loader",
    "Map", "MemoryBudgetError", "Mix", "Node", "NotPermitted", "PipelineError", "ProducerError",
    "ProtocolError", "RequestError", "Sample", "SampleError", "Source", "Stopping",
    "TokenError", "TooManyConnections", "TransportError", "VersionError", "__version__",
    "connect", "sample", "samplers", "write_shards",
]
__all__ += transforms.__all__
