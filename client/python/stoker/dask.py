# SPDX-License-Identifier: MIT
"""An epoch as lazy dask arrays, and what a function of your own makes. Needs dask.

    images, labels = stoker.dask.epoch("/data/train", batch_size=64, transforms=[...])
    images.mean(axis=(0, 2, 3)).compute()
    data = stoker.dask.from_function(load_part, ["part1", "part2", ...])
"""
from __future__ import annotations

import math
import os
import threading
import time
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional,
                    Sequence, Tuple, Type)

import numpy as np

try:
    import dask.array as da
    from dask.base import tokenize
    from dask.delayed import delayed
except ImportError as error:
    raise ImportError("stoker.dask needs dask: pip install 'dask[array]'") from error

from ._by_number import another
from ._wire import Received
from .errors import SampleError
from .loader import Iteration, Loader
from .node import connect
from .produce.source import Source
from .state import Place
from ._dask_code import (Asked, Calls, Found, asked_of, found_by, from_anywhere, number_of,
                         source_of)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._dask_producers import Producers as Producers
    from ._options import Options

__all__ = ["Producers", "epoch", "from_function"]

IDLE_S = 30.0  # a process keeps its reader so long after its last chunk
AHEAD = 16  # chunks that are read on the way to one that was asked for, and kept,
AHEAD_BYTES = 1 << 29  # if they are not larger than this; half as many more in a run backwards
# A larger chunk comes in parts: a ring of some is made soon, and stays in a cache.
PART_BYTES = 1 << 22
CLOSE_S = 10.0  # for a reader that is about to be closed to get what it waits for


def epoch(dataset: Any, batch_size: int, *, epoch: int = 0, socket: Optional[str] = None,
          **options: Unpack[Options]) -> Any:
    """(images, labels) of one whole epoch, in its order; each chunk is a batch. bfloat16 is given
    as uint16 bits.

    ``dataset``: as for Node.loader(). Of a stoker.Source that gives arrays it is the tree of its
    samples with a lazy array in the place of each; of a single array, with labels of 0. Or a dask
    array, or a Delayed of an array: its rows are the samples, and the chunks that hold them are
    computed by producers. A Delayed is computed once here, to see its shape.

    A chunk is made when it is computed: the process that computes it asks the daemon of its own
    machine, and gets the same bytes on each machine. A process attaches once, reads on from chunk
    to chunk, and detaches 30 s after its last one. ``options`` are those of Node.loader() except
    ``rank`` and ``world_size``; ``socket`` is as for stoker.connect(). Raises what Node.loader()
    raises; a SampleError is raised where its chunk is computed. With dask.distributed the options
    must be pickled: give ``transforms`` as objects of stoker or dicts, and ``credentials`` as a
    function, which each process calls for itself.
    """
    if isinstance(options.get("credentials"), Mapping):
        raise ValueError("an epoch in dask takes credentials as a function that each process calls "
                         "for itself: a mapping would lie in the graph, for the scheduler and all "
                         "workers to read")
    if "rank" in options or "world_size" in options:
        raise ValueError("an epoch in dask has no ranks: leave out rank and world_size, and slice "
                         "the arrays")
    if options.get("last_batch", "short") not in ("short", "drop", "pad"):
        raise ValueError("an epoch in dask has a chunk for each batch: last_batch must be short, "
                         f"drop or pad, not {options['last_batch']!r}")
    if options.get("crops"):
        raise ValueError("an array of dask is of one field of images: give transforms, not crops")
    epoch, batch_size = number_of("epoch", epoch), number_of("batch_size", batch_size)
    dataset = from_anywhere(source_of(dataset))
    for leaf in getattr(getattr(dataset, "tree", None), "leaves", ()):
        if leaf.ragged:
            raise ValueError(f"{leaf.name!r} has a shape of its own in each sample, or is text, "
                             "and a chunk of dask has one shape: pad it in your code, or read it "
                             "by node.loader()")
    asked, looked = _looked(asked_of(socket, dataset, batch_size, options))
    with looked as reader:
        samples, batches = reader.samples, reader.chunks
        fields = {name: reader.fields[name] for name in reader.names}
    padded = options.get("last_batch") in ("pad", "wrap")
    counts = [batch_size if padded else min(batch_size, samples - k * batch_size)
              for k in range(batches)]
    arrays = _lazy(_fetch, asked, epoch, [[(count, *field.shape) for field in fields.values()]
                                          for count in counts],
                   ["uint16" if field.dtype == "bfloat16" else field.dtype
                    for field in fields.values()])
    if getattr(dataset, "tree", None) is None:
        return tuple(arrays)
    if len(arrays) == 1 and not dataset.tree.nested:
        return arrays[0], da.zeros(sum(counts), dtype=np.int64,
                                   chunks=(tuple(counts),))
    return dataset.tree.join(arrays)


def from_function(function: Callable[[Any], Any], over: Sequence[Any], *,
                  socket: Optional[str] = None, num_workers: Optional[int] = None) -> Any:
    """A lazy array whose chunk i is ``function(over[i])``, which producers compute, ahead of who
    asks for chunks in order: as ``da.concatenate([da.from_delayed(delayed(function)(x), shape,
    dtype) for x in over])``. All have the shape and type of the first one, which is computed here
    to see these. What gives several arrays, a dict or a tuple, makes as many lazy ones.

    ``function`` is to give the same for the same value as long as the array is used: a chunk that
    was made for somebody else, or ahead, is not made again. Where the files have changed that it
    reads, make another array. A Delayed in ``over`` is computed by a producer.

    Random numbers are seeded for each call. Raises what Node.loader() raises; an exception of the
    function is a SampleError where its chunk is computed.
    """
    over = list(over)
    if not over:
        raise ValueError("there is nothing to call the function with: give one thing at least")
    calls = Calls(function, over)
    source = Source(calls, gives="arrays")
    source.name = calls.name
    asked = asked_of(socket, source, 1, {"shuffle": False, "num_workers": num_workers})
    assert source.tree is not None
    leaves = source.tree.leaves
    for leaf in leaves:
        if not leaf.shape or leaf.ragged:
            raise ValueError(f"{source.name} gives {'a text' if leaf.ragged else 'a number'}, and "
                             "a chunk is an array: return arrays of one dimension at least")
        if 0 in leaf.shape:
            raise ValueError(f"{source.name} gives an array of shape {leaf.shape}, which has no "
                             "elements: leave out the values that it does so for")
    shapes = [[leaf.shape for leaf in leaves]] * len(over)
    return source.tree.join(_lazy(_fetch_call, asked, 0, shapes, [leaf.dtype for leaf in leaves]))


def __getattr__(name: str) -> Any:
    """``Producers`` needs distributed, which an epoch does not."""
    if name != "Producers":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ._dask_producers import Producers
    return Producers


def _lazy(fetch: Callable[..., Any], asked: Asked, epoch: int,
          shapes: Sequence[Sequence[Tuple[int, ...]]], dtypes: Sequence[str]) -> List[Any]:
    """An array for each of ``dtypes``, whose chunk k has the shape that ``shapes[k]`` says."""
    # Once in the graph, however many chunks there are.
    once = delayed(asked, traverse=False, name=f"stoker-{asked.key}")
    fetched = delayed(fetch, nout=len(dtypes))
    chunks = [[da.from_delayed(part, shape, dtype) for part, shape, dtype in
               zip(fetched(once, epoch, k), of_chunk, dtypes)]
              for k, of_chunk in enumerate(shapes)]
    return [da.concatenate(each) for each in zip(*chunks)]


def _fetch(asked: Asked, epoch: int, k: int) -> Tuple[Any, ...]:
    with _reader(asked) as reader:
        return reader.take(epoch, k)


def _fetch_call(asked: Asked, epoch: int, k: int) -> Tuple[Any, ...]:
    """Of a batch of one."""
    return tuple(array[0] for array in _fetch(asked, epoch, k))


class _Pool:
    """Memory for chunks that is used again once no array shows it: the system takes ten times as
    long to give new memory as it takes to copy a chunk. Any thread."""

    def __init__(self) -> None:
        self._free: Dict[int, List[np.ndarray[Any, Any]]] = {}

    def array(self, shape: Tuple[int, ...], typestr: str) -> np.ndarray[Any, Any]:
        size = math.prod(shape) * np.dtype(typestr).itemsize
        free = self._free.setdefault(size, [])
        try:
            memory = free.pop()
        except IndexError:
            memory = np.empty(size, np.uint8)
        return np.asarray(_Memory(memory, shape, typestr, free))


class _Memory:
    """What the array of a chunk, and all views of it, refer to."""

    def __init__(self, memory: np.ndarray[Any, Any], shape: Tuple[int, ...], typestr: str,
                 free: List[np.ndarray[Any, Any]]) -> None:
        self._memory = memory
        self._free = free
        self.__array_interface__ = {"version": 3, "data": (memory.ctypes.data, False),
                                    "typestr": typestr, "shape": shape}

    def __del__(self) -> None:
        if len(self._free) < AHEAD:
            self._free.append(self._memory)


class _Reader:
    """A loader that several threads ask for chunks. dask computes chunks nearly in order, or in
    runs that go backwards. So a thread of its own reads: on to what is asked for, or in a run
    backwards some chunks before it, and then those before them; and keeps what others are about to
    ask for."""

    def __init__(self, asked: Asked) -> None:
        loader = connect(asked.socket).loader(asked.dataset, batch_size=asked.batch_size,
                                              **asked.options)
        self._chunk: int = asked.batch_size
        tree = getattr(asked.dataset, "tree", None)
        self.names = ["image", "label"] if tree is None else \
            [name for name in loader.fields if name != "index"][:len(tree.leaves)]
        self.samples, self.chunks, self.fields = loader.samples, len(loader), loader.fields
        self.found = found_by(loader, self.names)
        self.used = 0  # by how many threads at this moment
        self.until = 0.0  # to be closed at
        self._pool = _Pool()
        self._turn = threading.Condition()
        self._wanted: List[Tuple[int, int]] = []
        self._kept: Dict[Tuple[int, int], Any] = {}  # arrays, or a SampleError
        self._error: Optional[BaseException] = None  # what ended the thread
        self._closed = False
        self._at: Optional[Tuple[int, int]] = None  # epoch and chunk that it would read next
        self._asked = (0, 0)
        self._low: Optional[Tuple[int, int]] = None  # the first chunk of a run backwards
        size = self._chunk * sum(field.stride for field in self.fields.values())
        self._ahead = max(0, min(AHEAD, AHEAD_BYTES // size - 1))
        self._loader = loader if loader._reader.producers else _in_parts(loader, size)
        self._anchor = another(self._loader, inflight=0)
        self._batches: Iterator[Received] = iter(())
        self._thread = threading.Thread(target=self._run, name="stoker-dask-read", daemon=True)
        self._thread.start()

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        _release(self, kind is None or issubclass(kind, SampleError))

    def end(self) -> None:
        """Its thread ends, and closes the loader, once it waits for nothing."""
        with self._turn:
            self._closed = True
            self._turn.notify_all()

    def close(self) -> None:
        self.end()
        self._thread.join(CLOSE_S)

    def take(self, epoch: int, k: int) -> Tuple[Any, ...]:
        place = epoch, k
        with self._turn:
            self._wanted.append(place)
            self._turn.notify_all()
            try:
                self._turn.wait_for(lambda: place in self._kept or self._error)
            finally:
                self._wanted.remove(place)
            found = self._kept.pop(place, self._error)
            self._turn.notify_all()
        if isinstance(found, BaseException):
            raise found
        arrays: Tuple[Any, ...] = found
        return arrays

    def _run(self) -> None:
        try:
            self._serve()
        except BaseException as error:
            with self._turn:
                self._error = error
                self._turn.notify_all()
        finally:
            self._loader.close()
            self._anchor.close()

    def _serve(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._missing() or self._closed or self._foresees())
                missing = self._missing()
                if self._closed and not missing:
                    return
                epoch, first, last = self._plan(*missing) if missing else self._before()
            self._read(epoch, first, last)

    def _missing(self) -> Optional[Tuple[int, int]]:
        return next((place for place in self._wanted if place not in self._kept), None)

    def _plan(self, epoch: int, k: int) -> Tuple[int, int, int]:
        """The epoch, and the first and the last chunk to be read."""
        before, self._asked = self._asked, (epoch, k)
        self._low = None
        if self._at is not None and self._at[0] == epoch and 0 <= k - self._at[1] <= self._ahead:
            return epoch, self._at[1], k
        if before[0] != epoch or not 0 < before[1] - k <= self._ahead:
            return epoch, k, k
        self._low = epoch, max(0, k - self._ahead + 1)
        return (*self._low, k)

    def _foresees(self) -> bool:
        """Is half of what was read of a run backwards taken?"""
        return self._low is not None and self._low[1] > 0 and len(self._kept) <= self._ahead // 2

    def _before(self) -> Tuple[int, int, int]:
        """The part of the run before that which was read."""
        assert self._low is not None
        self._asked = epoch, end = self._low
        self._low = epoch, max(0, end - self._ahead)
        return (*self._low, end - 1)

    def _read(self, epoch: int, first: int, last: int) -> None:
        if self._at != (epoch, first):
            self._move(epoch, first)
        for number in range(first, last + 1):
            try:
                found: Any = self._chunk_of(epoch, number)
            except SampleError as error:
                found = error  # who asks for that chunk is told
            with self._turn:
                self._keep((epoch, number), found)

    def _chunk_of(self, epoch: int, k: int) -> Tuple[Any, ...]:
        if self._at != (epoch, k):  # behind a SampleError
            self._move(epoch, k)
        self._at = None  # unknown until the chunk is whole
        rows = self._rows(k)
        arrays = {name: self._pool.array((rows, *self.fields[name].shape),
                                         self.fields[name].typestr) for name in self.names}
        done = 0
        while done < rows:
            message = next(self._batches)
            part = slice(done, done + message.fields["count"])
            self._loader._copied(message, {name: array[part] for name, array in arrays.items()})
            done = part.stop
        self._at = epoch, k + 1
        return tuple(arrays.values())

    def _rows(self, k: int) -> int:
        """Of a chunk; the last one may be short."""
        padded = self._loader._reader.request["last_batch"] == "pad"
        return self._chunk if padded else min(self._chunk, self.samples - k * self._chunk)

    def _move(self, epoch: int, k: int) -> None:
        self._at = None
        place = Place(epoch, k * self._chunk)
        self._loader.load_state_dict({**self._loader.state_dict(), **place._asdict()})
        self._batches = Iteration(self._loader, lambda message: message)
        self._at = epoch, k

    def _keep(self, place: Tuple[int, int], chunk: Any) -> None:
        others = [each for each in self._kept if each not in self._wanted]
        for each in others[:max(0, len(others) - 2 * self._ahead)]:
            del self._kept[each]
        self._kept[place] = chunk
        self._turn.notify_all()


def _in_parts(loader: Loader, size: int) -> Loader:
    """One that gives its chunks of ``size`` bytes in parts as large as suits a cache; it is closed
    if that is another."""
    request, chunk = loader._reader.request, loader.batch_size
    parts = 1 if request["last_batch"] == "pad" else next(
        parts for parts in range(1, chunk + 1)
        if chunk % parts == 0 and (size <= parts * PART_BYTES or parts == chunk))
    if parts == 1:
        return loader
    with loader:
        return Loader(loader._reader.connect, {**request, "batch_size": chunk // parts,
                                        "prefetch": request["prefetch"] * parts},
                      epochs=loader.epochs, timeout=loader.timeout, reconnect=loader.reconnect,
                      credentials=loader._reader.credentials)


# The readers of this process, by what was asked for.
_used = threading.Condition()
_readers: Dict[str, _Reader] = {}
_closer: Optional[threading.Thread] = None


def _reader(asked: Asked) -> _Reader:
    """The process's reader, for a ``with``."""
    with _used:
        reader = _readers.get(asked.key)
        if reader is None:
            reader = _Reader(asked)
            if asked.found is not None:
                _check(asked.found, reader)
            _readers[asked.key] = reader
        reader.used += 1
        return reader


def _check(found: Found, reader: _Reader) -> None:
    try:
        found.check(reader.found)
    except BaseException:
        reader.end()
        raise


def _looked(asked: Asked) -> Tuple[Asked, _Reader]:
    """... and what it is asked for, with what the dataset is now: the process may have a reader of
    what it was."""
    with _used:
        if isinstance(asked.dataset, Source):  # is what its code says
            return asked, _reader(asked)
        reader = _Reader(asked)
        asked = asked._replace(found=reader.found, key=tokenize(asked.key, reader.found))
        if asked.key in _readers:
            reader.end()
            reader = _readers[asked.key]
        _readers[asked.key] = reader
        reader.used += 1
        return asked, reader


def _release(reader: _Reader, well: bool) -> None:
    """``well``: else the next one who asks gets a new reader."""
    global _closer
    with _used:
        reader.used -= 1
        if not well:
            reader.end()
        for key in [key for key, each in _readers.items() if each is reader and not well]:
            del _readers[key]
        reader.until = time.monotonic() + IDLE_S
        _used.notify()
        if _closer is None:
            _closer = threading.Thread(target=_close_idle, name="stoker-dask", daemon=True)
            _closer.start()


def _close_idle() -> None:
    """Closes readers that nobody has used for a while, and ends with the last one."""
    global _closer
    with _used:
        while True:
            now = time.monotonic()
            for key, reader in list(_readers.items()):
                if reader.used == 0 and reader.until <= now:
                    _readers.pop(key).close()
            if not _readers:
                _closer = None
                return
            _used.wait(min((reader.until - now for reader in _readers.values()
                            if reader.used == 0), default=None))


def _forget() -> None:
    """In a forked process: the readers belong to its parent."""
    global _closer, _used
    _used = threading.Condition()
    _readers.clear()
    _closer = None


os.register_at_fork(after_in_child=_forget)
