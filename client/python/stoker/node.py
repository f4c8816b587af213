# SPDX-License-Identifier: MIT
"""The node: the daemon of this machine, which makes loaders."""
from __future__ import annotations

import functools
import logging
import os
import weakref
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import (_address, _crops, _options, _ranks, _resize, _start, _tables, _wire,
               samplers as _samplers, transforms as _transforms)
from ._connection import Connection
from ._credentials import Credentials, urls_of
from ._formats import advised
from ._given import given_of
from ._in_memory import InMemory
from ._listed import described, is_list, is_url
from ._paths import absolute
from ._ring import PAGE_VERSION
from ._tables import BadSamples, LastBatch, Layout, Order, Pace, Resize, Start
from .errors import DatasetError, Error, PipelineError
from .loader import Loader
from .mix import Mix
from .produce.cluster import Cluster
from .produce.map import Map, maps_of
from .produce.processes import Producers
from .produce import stream as _stream
from .produce.source import Source, secret
from .sources.find import found as stored

Path = _address.Path
Dataset = Union[Path, Mapping[str, Any], Mix, Sequence[Any], Source]
Range = Tuple[int, Optional[int]]
_log = logging.getLogger("stoker")
_PRODUCERS = 8  # of a source, if nobody says
_WINDOW = 16384


@_options.named
def connect(socket: Optional[Path] = None, *, start: Optional[bool] = None) -> Node:
    """Find the daemon and check that it answers.

    Its socket is the argument, else $STOKER_SOCKET, else the first of
    $XDG_RUNTIME_DIR/stoker/stokerd.sock, /tmp/stoker-UID/stokerd.sock and /run/stoker/stokerd.sock
    that answers. The daemon must run as root, as you, or as the owner of the socket's directory.
    Raises DaemonUnavailable, which says what was tried and how to start a daemon.

    With ``start`` (None: if $STOKER_START is set, and not 0) a daemon of your own is started if
    none answers, at the first of these sockets: by one of the processes that ask, in a session of
    its own. Its log is beside the socket. It ends 300 s ($STOKER_EXIT_IDLE_TIME) after the last
    client has left, and loaders start it again should it die.
    """
    starts = _start.wanted(start)
    path, connection = (_start if starts else _address).find(socket)
    try:
        connection.request("ping", "ok")
    finally:
        connection.close()
    note = _address.other_version(connection.daemon)
    if note:
        _log.warning("stokerd at %s: %s", path, note)
    return Node(path, start=starts)


def _open(socket: str, start: bool) -> Connection:
    return _start.find(socket)[1] if start else _address.open_connection(socket)


class Node:
    """A daemon that answered at ``socket``. Any thread; each loader has its own connection."""

    def __init__(self, socket: str, *, start: bool = False) -> None:
        self.socket = socket
        self._open = functools.partial(_open, socket, start)
        self._loaders: weakref.WeakSet[Loader] = weakref.WeakSet()
        self._closed = False

    @_options.named
    def loader(self, dataset: Dataset, *, batch_size: int, transforms: Any = (), seed: int = 0,
               order_seed: Optional[int] = None, augment_seed: Optional[int] = None,
               shuffle: bool = True, dtype: Any = "float32", layout: Layout = "NCHW",
               last_batch: LastBatch = "short", drop_last: bool = False, rank: Optional[int] = None,
               world_size: Optional[int] = None, job: Optional[str] = None,
               subset: Union[None, str, Range] = None,
               validation_split: Optional[float] = None, sampler: Any = None, echo: int = 1,
               echo_window: int = 32, order: Optional[Order] = None,
               window: Optional[int] = None, views: int = 1,
               crops: Optional[_crops.Crops] = None, epochs: Optional[int] = None,
               inflight: int = 3, prefetch: int = 0, bad_samples: BadSamples = "error",
               exif_orientation: bool = False, draft: bool = False,
               resize: Optional[Resize] = None,
               fields: Optional[Sequence[str]] = None, one_hot: bool = False,
               transport: Optional[str] = None, labels: Optional[Sequence[Any]] = None,
               timeout: Optional[float] = None, start: Start = "position", pace: Pace = "auto",
               priority: int = 10, reconnect: Optional[float] = 60.0, credentials: Any = None,
               num_workers: Union[None, int, Cluster] = None) -> Loader:
        """Attach to a stream of batches. Blocks while the daemon indexes a dataset for the first
        time.

        Args:
            dataset: path (for the daemon) of an image folder, a manifest, a NumPy array, tar shards
                (train-{000..146}.tar, train-*.tar), or of CIFAR-10, CIFAR-100 or MNIST as
                published, folder or archive. Or a dict with ``path`` and, if needed, ``kind``; for
                a manifest ``root``, ``format`` and ``columns``, {"path": ..., "label": ...}: what
                these columns are called there; for an array (.npy) ``labels``, the path of another
                array; for arrays (.npz) ``images`` and ``labels``, their names; for a published
                dataset (or .npz) ``split``, train or test; for CIFAR-100 ``labels``, fine or
                coarse; for shards which component is the ``image`` ("jpg;png") and the ``label``
                ("cls", "json:a.b"), ``classes``, how many there are if labels are numbers, the
                ``components`` that become fields ("txt"), ``missing_component`` (error, skip). Or a
                list of the paths of pictures, with ``labels``, or of pairs (path, label), such as
                ``ImageFolder(...).samples``. Or several of these: a stoker.Mix. Or code of your
                own that gives the bytes of pictures: a stoker.Source.
            batch_size: samples in a batch of this rank.
            transforms: see stoker.transforms.
            seed: of the order and of the random transforms; ``order_seed`` and ``augment_seed``
                set one of them separately.
            dtype: uint8, uint16, float16, bfloat16 or float32, as text or as an object of numpy or
                torch.
            layout: NCHW or NHWC.
            last_batch: short, drop (same as ``drop_last=True``), pad (filled up with the start of
                the epoch) or wrap (filled up from the next epoch, which goes on behind that: so
                epochs differ in their number of batches).
            rank, world_size: default: from the environment that torchrun, Slurm or Open MPI set,
                else 0 and 1.
            job: name shared by the ranks of one training run.
            subset: (start, stop) of the samples of the dataset, stop None: the end; or "training"
                or "validation" with ``validation_split``, as in Keras: short for
                stoker.samplers.Split.
            sampler: which samples an epoch is made of, see stoker.samplers.
            echo: how often each sample comes in an epoch (data echoing): decoded once, with new
                random transforms each time; runs of ``echo_window`` samples are repeated together.
            order: global (all samples are shuffled as one), or, for what lies in shards and is
                read badly otherwise (tar shards where storage seeks badly, Parquet), shards: these
                are shuffled, then each run of ``window`` samples. None: shards for sources.Parquet
                unless a sampler or Buckets need the other, else global.
            window: of the order shards; None: that of the source, else 16384.
            views: number of images made of each sample, decoded once, each with its own random
                transforms: images are (n, views, C, H, W) or (n, views, H, W, C).
            crops: in place of transforms, several lists of them, each with a field of its own:
                {"global": (2, [...]), "local": (6, [...])} makes 2 images of a sample by the first
                list and 6 by the second, of one decode; their draws are those of views 0 to 7.
                ``batch["local"]`` is (n, 6, ...), and ``images`` a dict of both.
            epochs: the run has epochs 0 to epochs-1, and the daemon makes no later ones; None:
                endless.
            inflight: most batches announced and not released; the last ``inflight`` - 1 are no
                copies.
            prefetch: batches (of all ranks) that the ring holds; 0: the daemon chooses.
            bad_samples: error, or substitute (by a neighbour, the same one each time).
            exif_orientation: rotate images as their EXIF tag says.
            draft: a JPEG may be decoded at 1/2, 1/4 or 1/8 of its size, if the crop is then still
                as large as the size that it is resized to. Much faster for large images, but gives
                other bytes. Like ``Image.draft()`` of Pillow.
            resize: whose bytes a resize makes: pillow-13 (that of Pillow 13.0 and later, which make
                the rows first where the height shrinks by more than twice what the width shrinks)
                or pillow-12 (12.3 and all before it). None: pillow-13, or what a state says that is
                loaded; a state of an older client says nothing, which is pillow-12.
            fields: names of the further fields of the dataset to deliver, beside image, label and
                index; None: all.
            one_hot: labels as (n, classes) float32, with a 1 at the class.
            transport: fd or path; None: the daemon chooses.
            labels: of a list of paths: numbers, lists of as many numbers each, or names of classes,
                which are numbered in their order; None: each label is 0.
            timeout: seconds to wait for the attach or a batch before TimeoutError; None: no limit.
            start: position (epoch 0 and position 0, or those of load_state_dict()), or live: where
                the foremost reader of the stream is, most likely in the middle of an epoch.
            pace: what to do when another reader of the stream is much slower: auto (wait for a
                moment, then continue in a ring of its own), free (never wait) or together (wait).
            priority: 1 to 100, weight among your streams when there are too few workers.
            reconnect: seconds to wait for a daemon that went away; 0 or None: raise at once.
            credentials: your own for a dataset in S3, for a daemon that runs as somebody else: a
                mapping as STS gives it (AccessKeyId, SecretAccessKey, SessionToken, Expiration) or
                boto3 takes it (aws_access_key_id, ...), or a function that returns one, which is
                called when the loader connects and before they expire.
            num_workers: processes that run the code of a stoker.Source or stoker.Map, ended with
                the loader; 0: a thread of this process does; None: as many as there are processors,
                eight at most; stoker.ray.Producers or stoker.dask.Producers: actors on the nodes of
                a cluster. Of other datasets these alone are taken: the daemons of their nodes make
                pictures of the stream. Else the daemon of this node has workers.

        Raises DatasetError, PipelineError, ArgumentError, MemoryBudgetError and the other
        RequestErrors, with the text of the daemon; TypeError and ValueError; DaemonUnavailable.
        """
        if crops is not None and transforms != ():
            raise ValueError("crops and transforms do not go together: put what all of the crops "
                             "have into each of their lists")
        maps = _maps(transforms)
        dataset = stored(dataset) or dataset
        own = isinstance(dataset, Source) or bool(maps)  # code
        if num_workers is not None and not own and not isinstance(num_workers, Cluster):
            _options.refuse(["num_workers"])
        if self._closed:
            raise Error("the node is closed: make another with stoker.connect()")
        if isinstance(inflight, int) and inflight < 1:
            raise ValueError(f"inflight must be at least 1, not {inflight}: with 0 no batch would "
                             "ever come")
        found = rank is None
        rank, world = _rank_and_world(rank, world_size)
        seed = _checked("seed", "order_seed", seed)
        if isinstance(dataset, Mix):
            sampler = dataset.sampler(sampler)
        request: Dict[str, Any] = {
            "transforms": _transforms.to_dicts(transforms) if crops is None
            else _crops.to_dicts(crops),
            "dtype": _dtype(dtype), "layout": layout, "shuffle": shuffle,
            "order_seed": seed if order_seed is None else order_seed,
            "augment_seed": seed if augment_seed is None else augment_seed,
            "rank": rank, "world": world, "batch_size": batch_size,
            "last_batch": _last_batch(last_batch, drop_last), "inflight": inflight,
            "prefetch": prefetch, "bad_samples": bad_samples, "exif_orientation": exif_orientation,
            "priority": priority, "accept_moves": True, "accept_names": True,
            "accept_sizes": True, "draft": draft, "page": PAGE_VERSION,
            **_transport(transport), **_part(subset, validation_split, sampler), "echo": echo,
            "echo_window": echo_window, "views": views,
        }
        request.update(_order_of(dataset, order, window, request))
        if job is not None:
            request["job"] = job
        if fields is not None:
            if isinstance(fields, str):
                raise ValueError(f"fields must be a list of names: [{fields!r}]")
            request["fields"] = list(fields)
        if one_hot:
            request["one_hot"] = True
        if resize is not None:
            request["resize"] = _checked("resize", "resize", resize)
        if pace != "auto":
            request["pace"] = pace
        if start not in ("position", "live"):
            raise ValueError(f"start must be 'position' or 'live', not {start!r}" + (
                f": {_options.START}" if isinstance(start, bool) else ""))
        request = {key: _number(value) for key, value in request.items()}
        request["dataset"] = _dataset(dataset, labels)
        if isinstance(num_workers, Cluster) and not own:
            if credentials is not None:
                _stream.refuse("credentials (the daemons of other nodes have theirs)")
            dataset, request["transforms"] = _stream.split(self._open, request, timeout)
            request["dataset"] = dataset.description()
        if isinstance(dataset, Source) or maps:
            request["secret"] = secret()
        theirs = None if credentials is None else \
            Credentials(credentials, urls_of(request["dataset"]))
        try:
            loader = Loader(self._open, request, epochs=_epochs(epochs),
                            timeout=_seconds("timeout", timeout),
                            reconnect=_seconds("reconnect", reconnect),
                            live=start == "live", credentials=theirs)
        except DatasetError as error:
            raise advised(error, request["dataset"]) from None
        except PipelineError as error:
            raise _transforms.advised(error) from None
        self._loaders.add(loader)
        if isinstance(dataset, Source):
            loader._reader.tree = dataset.tree
            if not dataset.external:
                loader._reader.producers = dataset.kept or Producers(
                    dataset, request["dataset"]["code"], _workers(num_workers), self.socket,
                    request["secret"])
        for mapped in maps:
            loader._take_map(mapped.code, _workers(num_workers), self.socket, request["secret"])
        if found and not shuffle:
            _ranks.say_part(loader)
        return loader

    @_options.named
    def fit(self, dataset: Dataset, *, transforms: Any = (), name: str = "default",
            per_pixel: bool = False, zca: bool = False, zca_epsilon: float = 1e-6,
            rescale: Optional[float] = None, resize: Optional[str] = None,
            timeout: Optional[float] = None) -> Dict[str, Any]:
        """The daemon computes statistics of a dataset, for ``statistics=name`` of
        ImageDataGenerator: what ``fit()`` of Keras does, on the images multiplied by ``rescale``.

        Args:
            transforms: make the images: Resize, CenterCrop, Pad, Grayscale, Compose.
            name: of the statistics; replaces earlier ones of this name.
            per_pixel: also mean and standard deviation of each pixel, not only of each channel.
            zca: also the matrix for ZCA whitening, for images of up to 32 x 32, which take about a
                minute.
            resize: as of ``loader()``.
            timeout: seconds to wait before TimeoutError; None: no limit. A time-out ends the work,
                unless the eigenvectors are already being computed (``zca``): they are kept.

        Returns ``name``, ``digest`` (which ``statistics=`` also takes), ``mean`` and ``std`` of the
        channels, ``samples``, ``unread`` (files that are not images), and more. Raises what
        ``loader()`` raises.
        """
        if self._closed:
            raise Error("the node is closed: make another with stoker.connect()")
        connection = self._open()
        try:
            request: Dict[str, Any] = {"dataset": _dataset(dataset)}
            given = given_of(request, connection)
            request.update(given.fields if given else {})
            reply = connection.request_within(
                timeout, "fit", "report", fds=given.fds if given else (), **request,
                transforms=_transforms.to_dicts(transforms), name=name, per_pixel=per_pixel,
                zca=zca, zca_epsilon=zca_epsilon, rescale=rescale,
                **_resize.field(_resize.settled(resize, connection.resizes)))
        finally:
            connection.close()
        return dict(reply["values"])

    def ping(self) -> None:
        """Raise DaemonUnavailable unless the daemon answers."""
        connection = self._open()
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
        raise TypeError("a node has the loaders of this process and cannot be pickled: call "
                        "stoker.connect() in the process that needs one")

    def __repr__(self) -> str:
        return f"<stoker.Node {self.socket}>"


def _maps(transforms: Any) -> List[Map]:
    """Its Maps; what their functions give is looked at."""
    found = list(maps_of(transforms))
    for mapped, place in found:
        mapped.code.look(_transforms.to_dicts(list(transforms)[:place]) if place else ())
    return [mapped for mapped, _ in found]


def _order_of(dataset: Dataset, order: Optional[str], window: Optional[int],
              request: Mapping[str, Any]) -> Dict[str, Any]:
    """The order that is asked for, or the source's default if sampler and transforms go with it.
    Warns if the source reads badly in it."""
    source = dataset if isinstance(dataset, Source) else None
    shards = source and source.shards
    own = shards.window if shards else 0
    if order is None:
        fits = own and request.get("sampler", {"name": "split"})["name"] == "split" and \
            all(transform.get("name") != "Buckets" for transform in request["transforms"])
        order = "shards" if fits else "global"
    if order != "global":
        return {"order": order, "window": (own or _WINDOW) if window is None else window}
    if source and shards and shards.cost and request["shuffle"]:
        _log.warning("order='global' of %s: %s; order='shards' reads each once", source.name,
                     shards.cost)
    return {}


def _workers(count: Union[None, int, Cluster]) -> Union[int, Cluster]:
    return count if isinstance(count, Cluster) else _producers(count)


def _producers(count: Optional[int]) -> int:
    if count is None:
        return min(_PRODUCERS, len(os.sched_getaffinity(0)))
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ValueError(f"num_workers must be a number from 0 on, not {count!r}")
    return count


def _dataset(dataset: Dataset, labels: Any = None) -> Dict[str, Any]:
    if is_list(dataset):
        return described(dataset, labels)
    if labels is not None:
        raise ValueError("labels= goes with a list of paths; other datasets have their own: "
                         "{'path': 'x.npy', 'labels': 'y.npy'}")
    if isinstance(dataset, Source):
        return dataset.description()
    if isinstance(dataset, Mix):
        return {"parts": [_dataset(part) for part in dataset.datasets]}
    out: Dict[str, Any] = dict(dataset) if isinstance(dataset, Mapping) else {"path": dataset}
    if "path" not in out:
        raise ValueError("a dataset needs a path: {'path': '/data/train', ...}")
    if isinstance(out.get("classes"), int):
        out["classes"] = str(out["classes"])
    out.update(_column_keys(out.pop("columns", None) or {}))
    for key in ("path", "root", "labels"):
        if out.get(key) is not None or key == "path":
            out[key] = _text(key, out[key])
            if not out[key] and key != "labels":  # "" would be the working directory
                raise ValueError(f"the {key} of the dataset is empty: leave it out, or fill it")
            if isinstance(out[key], InMemory) or is_url(out[key]):
                continue
            if key != "labels" or out[key].endswith(".npy"):  # else it is a name
                out[key] = absolute(os.path.expanduser(out[key]))
    return out


def _column_keys(columns: Any) -> Dict[str, Any]:
    if not isinstance(columns, Mapping) or not set(columns) <= {"path", "label"}:
        raise ValueError(f"columns must be {{'path': ..., 'label': ...}}, not {columns!r}: further "
                         "fields have fixed names (weight, mask, boxes, points, targets.NAME)")
    return {f"{key}_column": name for key, name in columns.items()}


def _text(key: str, value: Any) -> str:
    try:
        return os.fsdecode(value)
    except TypeError:
        if type(value).__module__.partition(".")[0] == "dask":
            raise TypeError(f"a {type(value).__name__} of dask is no dataset for a loader: "
                            "stoker.dask.epoch(it, batch_size) takes its rows as samples, and "
                            "stoker.dask.from_function(f, xs) makes an array of many calls"
                            ) from None
        raise TypeError(f"the {key} of a dataset must be a path, not {type(value).__name__}: for a "
                        "dataset of torchvision give its folder, for one of your own a "
                        "stoker.Source, or its paths and labels=; for an array a file of "
                        "numpy.save(), for several datasets a stoker.Mix") from None


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, np.integer) else value


def _checked(name: str, key: str, value: Any) -> Any:
    """Check the value of the request's ``key``; an error calls it ``name``."""
    value = _number(value)
    _wire.check(name, _tables.BY_NAME["attach"].fields[key], value)
    return value


def _rank_and_world(rank: Optional[int], world_size: Optional[int]) -> Tuple[int, int]:
    rank, world = _ranks.rank_and_world(rank, world_size)
    rank, world = _checked("rank", "rank", rank), _checked("world_size", "world", world)
    if rank >= world:
        raise ValueError(f"rank is {rank}, but world_size is {world}: ranks are 0 to {world - 1}")
    return rank, world


def _dtype(dtype: Any) -> str:
    """The name of a dtype: a text, or an object of numpy, torch or TensorFlow."""
    name = getattr(dtype, "__name__", None) or getattr(dtype, "name", None) or str(dtype)
    return str(name).rpartition(".")[2]


def _last_batch(last_batch: str, drop_last: bool) -> str:
    if drop_last and last_batch not in ("short", "drop"):
        raise ValueError(f"drop_last=True contradicts last_batch={last_batch!r}")
    return "drop" if drop_last else last_batch


def _transport(transport: Optional[str]) -> Dict[str, Any]:
    if transport not in (None, "fd", "path"):
        raise ValueError(f"transport must be 'fd', 'path' or None, not {transport!r}")
    return {"accept_fd": transport != "path", "accept_path": transport != "fd"}


def _part(subset: Union[None, str, Range], validation_split: Optional[float],
          sampler: Any) -> Dict[str, Any]:
    """The part of the dataset that an epoch is made of."""
    if isinstance(subset, str) or validation_split is not None:
        if not isinstance(subset, str) or validation_split is None:
            raise ValueError("validation_split needs subset='training' or subset='validation', and "
                             "these need validation_split; a subset by numbers is (start, stop)")
        if sampler is not None:
            raise ValueError("validation_split is a sampler: leave out sampler=")
        sampler, subset = _samplers.Split(validation_split, subset), None
    out: Dict[str, Any] = {} if sampler is None else {"sampler": _samplers.to_dict(sampler)}
    if subset is not None:
        if not isinstance(subset, (tuple, list)) or len(subset) != 2:
            raise ValueError(f"subset must be (start, stop), not {subset!r}: for a list of samples "
                             "use sampler=stoker.samplers.Subset(indices)")
        start, stop = subset
        out["subset_start"] = start
        if stop is not None:
            out["subset_stop"] = stop
    return out


def _seconds(name: str, value: Optional[float]) -> Optional[float]:
    if value is not None and not (isinstance(value, (int, float)) and value >= 0):
        raise ValueError(f"{name} must be a number of seconds, or None, not {value!r}")
    return value


def _epochs(epochs: Optional[int]) -> Optional[int]:
    epochs = _number(epochs)
    if epochs is not None and (type(epochs) is not int or epochs < 1):
        raise ValueError(f"epochs must be an int of at least 1, or None, not {epochs!r}")
    return epochs
