# SPDX-License-Identifier: MIT
"""The node: the daemon of this machine, and the way to a loader."""
from __future__ import annotations

import os
import weakref
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _address, _ranks, _tables, _wire, samplers as _samplers, transforms as _transforms
from .errors import Error
from .loader import Loader
from .mix import Mix

Path = _address.Path
Dataset = Union[Path, Mapping[str, Any], Mix]
Range = Tuple[int, Optional[int]]


def connect(socket: Optional[Path] = None) -> Node:
    """Find the daemon and check that it answers.

    Socket: the argument, else $STOKER_SOCKET, else the first that answers of
    $XDG_RUNTIME_DIR/stoker/stokerd.sock, /tmp/stoker-UID/stokerd.sock and
    /run/stoker/stokerd.sock. Raises DaemonUnavailable, which says what was tried and how to start
    a daemon. It must run as root, as you, or as the owner of the socket's directory.
    """
    path, connection = _address.find(socket)
    try:
        connection.request("ping", "ok")
    finally:
        connection.close()
    return Node(path)


class Node:
    """A daemon that answered at ``socket``. Any thread; each loader has its own connection."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self._loaders: weakref.WeakSet[Loader] = weakref.WeakSet()
        self._closed = False

    def loader(self, dataset: Dataset, *, batch_size: int, transforms: Any = (), seed: int = 0,
               order_seed: Optional[int] = None, augment_seed: Optional[int] = None,
               shuffle: bool = True, dtype: Any = "float32", layout: str = "NCHW",
               last_batch: str = "short", drop_last: bool = False, rank: Optional[int] = None,
               world_size: Optional[int] = None, job: Optional[str] = None,
               subset: Union[None, str, Range] = None,
               validation_split: Optional[float] = None, sampler: Any = None, echo: int = 1,
               echo_window: int = 32, views: int = 1, epochs: Optional[int] = None,
               inflight: int = 3, prefetch: int = 0, bad_samples: str = "error",
               exif_orientation: bool = False, draft: bool = False,
               fields: Optional[Sequence[str]] = None, one_hot: bool = False,
               transport: Optional[str] = None,
               timeout: Optional[float] = None, start: str = "position", pace: str = "auto",
               priority: int = 10, reconnect: Optional[float] = 60.0) -> Loader:
        """Attach to a stream of batches. Blocks while the daemon indexes a dataset new to it.

        Args:
            dataset: path of an image folder, a manifest, a NumPy array, or CIFAR-10, CIFAR-100 or
                MNIST as published, folder or archive (as the daemon sees it), or a dict with
                ``path`` and, as needed, ``kind``, ``root``, ``format``; for an array (.npy)
                ``labels``, the path of another; for arrays (.npz) ``images`` and ``labels``, their
                names; for a published set (or .npz) ``split``, train or test; for CIFAR-100
                ``labels``, fine or coarse; or several of these, a stoker.Mix.
            batch_size: samples for this rank.
            transforms: see stoker.transforms.
            seed: of the order and of the random transforms; ``order_seed`` and ``augment_seed``
                set one of them apart.
            dtype: uint8, float16, bfloat16 or float32, as text or as numpy's or torch's object.
            layout: NCHW or NHWC.
            last_batch: short, drop (``drop_last=True`` is the same) or pad.
            rank, world_size: default to what torchrun, Slurm or Open MPI say in the environment,
                else 0 of 1.
            job: name shared by the ranks of one training run, for people.
            subset: (start, stop) of the dataset's samples, stop None is the end; or with
                ``validation_split`` "training" or "validation", as Keras has it:
                short for stoker.samplers.Split.
            sampler: which samples an epoch is made of, see stoker.samplers.
            echo: each sample stands at so many positions of an epoch, spread over
                ``echo_window`` samples, with new draws at each, and is decoded once.
            views: so many variants of each sample, decoded once: images are
                (n, views, C, H, W), or (n, views, H, W, C).
            epochs: the run has epochs 0 to epochs-1, and the daemon prepares none beyond; None:
                endless.
            inflight: batches that may be out at a time, at least 2 for a ``for`` loop.
            prefetch: batches (of all ranks) that the ring holds; 0: the daemon chooses.
            bad_samples: error, or substitute (a neighbour, the same one each time).
            exif_orientation: turn images as their EXIF says.
            draft: JPEGs may be decoded at a half, quarter or eighth of their size where what is
                cropped is still as large as what it is resized to: other bytes, much sooner, for
                large photographs. As Pillow's ``Image.draft()``.
            fields: which of the dataset's fields beside image, label and index are wanted, by
                name; None: all of them.
            one_hot: labels as (n, classes) float32, with a 1 at the class.
            transport: fd or path; None: either, the daemon chooses.
            timeout: seconds to wait for the attach or a batch before TimeoutError; None: no limit.
            start: position (epoch 0, position 0, or what load_state_dict() says), or live: where
                the stream's newest readers are, most likely in the middle of an epoch.
            pace: what happens once another reader of the stream is far ahead or far behind: auto
                (it waits for a while, then both go their own ways), free (it never waits) or
                together (it waits).
            priority: 1 to 100, the weight among your streams where workers are short.
            reconnect: seconds to wait for a daemon that went away; 0 or None: raise at once.

        Raises: DatasetError, PipelineError, ArgumentError, MemoryBudgetError and the other
        RequestErrors, with the daemon's words; TypeError and ValueError; DaemonUnavailable.
        """
        if self._closed:
            raise Error("the node is closed: stoker.connect() gives another")
        if isinstance(inflight, int) and inflight < 1:
            raise ValueError(f"inflight is a number from 1 on, not {inflight}: with 0 no batch "
                             "would ever come")
        rank, world = _rank_and_world(rank, world_size)
        seed = _checked("seed", "order_seed", seed)
        if isinstance(dataset, Mix):
            sampler = dataset.sampler(sampler)
        request: Dict[str, Any] = {
            "dataset": _dataset(dataset), "transforms": _transforms.to_dicts(transforms),
            "dtype": _dtype(dtype), "layout": layout, "shuffle": shuffle,
            "order_seed": seed if order_seed is None else order_seed,
            "augment_seed": seed if augment_seed is None else augment_seed,
            "rank": rank, "world": world, "batch_size": batch_size,
            "last_batch": _last_batch(last_batch, drop_last), "inflight": inflight,
            "prefetch": prefetch, "bad_samples": bad_samples, "exif_orientation": exif_orientation,
            "priority": priority, "accept_moves": True, "draft": draft,
            **_transport(transport), **_part(subset, validation_split, sampler), "echo": echo,
            "echo_window": echo_window, "views": views,
        }
        if job is not None:
            request["job"] = job
        if fields is not None:
            if isinstance(fields, str):
                raise ValueError(f"fields is a list of names: [{fields!r}]")
            request["fields"] = list(fields)
        if one_hot:
            request["one_hot"] = True
        if pace != "auto":
            request["pace"] = pace
        if start not in ("position", "live"):
            raise ValueError(f"start is 'position' or 'live', not {start!r}")
        request = {key: _number(value) for key, value in request.items()}
        socket = self.socket
        loader = Loader(lambda: _address.open_connection(socket), request,
                        epochs=_epochs(epochs), timeout=_seconds("timeout", timeout),
                        reconnect=_seconds("reconnect", reconnect),
                        live=start == "live")
        self._loaders.add(loader)
        return loader

    def fit(self, dataset: Dataset, *, transforms: Any = (), name: str = "default",
            per_pixel: bool = False, zca: bool = False, zca_epsilon: float = 1e-6,
            rescale: Optional[float] = None, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Have the daemon work out statistics of a dataset, for ImageDataGenerator's
        ``statistics=name``: what Keras' ``fit()`` does, of the pictures times ``rescale``.

        Args:
            transforms: what makes the pictures: Resize, CenterCrop, Pad, Grayscale, Compose.
            name: what they are called; those of this name before go.
            per_pixel: a mean and deviation of each pixel, not only of each channel.
            zca: the matrix that whitens, for pictures of up to 32 x 32: a minute for these.
            timeout: seconds to wait before TimeoutError; None: no limit. That ends the work, but
                once eigenvectors are sought (``zca``) it goes on, and what it finds is kept.

        Returns ``name``, ``digest`` (which ``statistics=`` takes, too), ``mean`` and ``std`` of
        the channels, ``samples``, ``unread`` (files that are no picture), and more. Raises as
        ``loader()`` does.
        """
        if self._closed:
            raise Error("the node is closed: stoker.connect() gives another")
        connection = _address.open_connection(self.socket)
        try:
            reply = connection.request_within(
                timeout, "fit", "report", dataset=_dataset(dataset),
                transforms=_transforms.to_dicts(transforms), name=name, per_pixel=per_pixel,
                zca=zca, zca_epsilon=zca_epsilon, rescale=rescale)
        finally:
            connection.close()
        return dict(reply["values"])

    def ping(self) -> None:
        """Raise DaemonUnavailable unless the daemon answers."""
        connection = _address.open_connection(self.socket)
        try:
            connection.request("ping", "ok")
        finally:
            connection.close()

    def close(self) -> None:
        """Close every loader made here. May be called twice."""
        self._closed = True
        for loader in list(self._loaders):
            loader.close()

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a node has the loaders of this process and cannot be pickled: "
                        "stoker.connect() in the process that needs one")

    def __repr__(self) -> str:
        return f"<stoker.Node {self.socket}>"


def _dataset(dataset: Dataset) -> Dict[str, Any]:
    if isinstance(dataset, Mix):
        return {"parts": [_dataset(part) for part in dataset.datasets]}
    out: Dict[str, Any] = dict(dataset) if isinstance(dataset, Mapping) else {"path": dataset}
    if "path" not in out:
        raise ValueError("a dataset needs a path: {'path': '/data/train', ...}")
    for key in ("path", "root", "labels"):
        if out.get(key) is not None or key == "path":
            out[key] = _text(key, out[key])
            if not out[key] and key != "labels":  # which would be the current folder
                raise ValueError(f"the dataset's {key} is empty")
            if "://" in out[key]:
                raise ValueError(f"the dataset's {key} is the address {out[key]!r}, and the daemon "
                                 "reads files of its machine alone: mount it, or fetch it")
            if key != "labels" or out[key].endswith(".npy"):  # else the name of some
                out[key] = os.path.abspath(os.path.expanduser(out[key]))
    return out


def _text(key: str, value: Any) -> str:
    try:
        return os.fsdecode(value)
    except TypeError:
        raise TypeError(f"a dataset's {key} is a path, not of type {type(value).__name__}: of one "
                        "of torchvision's give the folder, numpy.save() an array, and make one of "
                        "several datasets by stoker.Mix") from None


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, np.integer) else value


def _checked(name: str, key: str, value: Any) -> Any:
    """The value of the request's ``key``; what is wrong with it is said of ``name``."""
    value = _number(value)
    _wire.check(name, _tables.BY_NAME["attach"].fields[key], value)
    return value


def _rank_and_world(rank: Optional[int], world_size: Optional[int]) -> Tuple[int, int]:
    rank, world = _ranks.rank_and_world(rank, world_size)
    rank, world = _checked("rank", "rank", rank), _checked("world_size", "world", world)
    if rank >= world:
        raise ValueError(f"rank is {rank} and world_size {world}: ranks count from 0 to "
                         f"{world - 1}")
    return rank, world


def _dtype(dtype: Any) -> str:
    """The name of numpy's, torch's or TensorFlow's object, too."""
    name = getattr(dtype, "__name__", None) or getattr(dtype, "name", None) or str(dtype)
    return str(name).rpartition(".")[2]


def _last_batch(last_batch: str, drop_last: bool) -> str:
    if drop_last and last_batch not in ("short", "drop"):
        raise ValueError(f"drop_last=True and last_batch={last_batch!r} contradict each other")
    return "drop" if drop_last else last_batch


def _transport(transport: Optional[str]) -> Dict[str, Any]:
    if transport not in (None, "fd", "path"):
        raise ValueError(f"transport is 'fd', 'path' or None, not {transport!r}")
    return {"accept_fd": transport != "path", "accept_path": transport != "fd"}


def _part(subset: Union[None, str, Range], validation_split: Optional[float],
          sampler: Any) -> Dict[str, Any]:
    """The part of the dataset that an epoch is made of."""
    if isinstance(subset, str) or validation_split is not None:
        if not isinstance(subset, str) or validation_split is None:
            raise ValueError("validation_split=0.2 goes with subset='training' or "
                             "subset='validation', and a subset of numbers is (start, stop)")
        if sampler is not None:
            raise ValueError("validation_split is a sampler, and sampler= another: choose one")
        sampler, subset = _samplers.Split(validation_split, subset), None
    out: Dict[str, Any] = {} if sampler is None else {"sampler": _samplers.to_dict(sampler)}
    if subset is not None:
        if not isinstance(subset, (tuple, list)) or len(subset) != 2:
            raise ValueError(f"subset is (start, stop), not {subset!r}: for some samples take "
                             "sampler=stoker.samplers.Subset(indices)")
        start, stop = subset
        out["subset_start"] = start
        if stop is not None:
            out["subset_stop"] = stop
    return out


def _seconds(name: str, value: Optional[float]) -> Optional[float]:
    if value is not None and not (isinstance(value, (int, float)) and value >= 0):
        raise ValueError(f"{name} is seconds from 0 on, or None, not {value!r}")
    return value


def _epochs(epochs: Optional[int]) -> Optional[int]:
    epochs = _number(epochs)
    if epochs is not None and (type(epochs) is not int or epochs < 1):
        raise ValueError(f"epochs is a number from 1 on, or None, not {epochs!r}")
    return epochs
