# SPDX-License-Identifier: MIT
"""The conformance program of the Python client: docs/LANGUAGES.md has its command line and its
output. Arguments: SOCKET REQUEST."""

import ctypes
import functools
import gc
import hashlib
import json
import os
import sys
import threading
import time
from pathlib import Path

import numpy

import stoker
from stoker.produce import producer as producing
from stoker.produce.picture import pnm
from stoker.produce.producer import (
    Maker, Producer, RecordOfArrays, record_of_bytes, record_of_picture)
from stoker.produce.seeds import Seeds
from stoker.produce.tree import Tree

ROOT = Path(__file__).resolve().parents[2]


def text_of(value):
    """A text, or {"hex": "ff00"} for bytes that JSON cannot hold."""
    if isinstance(value, dict) and set(value) == {"hex"}:
        return bytes.fromhex(value["hex"]).decode("utf-8", "surrogateescape")
    if isinstance(value, dict) and set(value) == {"uint"}:
        return int(value["uint"])
    if isinstance(value, dict):
        return {key: text_of(item) for key, item in value.items()}
    return value


def say(event, **values):
    print(event, *(f"{key}={value}" for key, value in values.items()), flush=True)


def hex_of(text):
    return text.encode("utf-8", "surrogateescape").hex()


def name_of(error):
    if isinstance(error, stoker.RequestError):
        return error.name
    for kind, name in ((stoker.DaemonUnavailable, "unavailable"), (stoker.ProtocolError, "broken"),
                       (stoker.Disconnected, "disconnected"), (stoker.Stopping, "stopping"),
                       (TimeoutError, "timeout"), (ValueError, "option"), (TypeError, "option")):
        if isinstance(error, kind):
            return name
    return "other"


def digest_of(batch, fields):
    digest = hashlib.sha256()
    for i in range(batch.count):
        for name in fields:
            if fields[name].ragged:
                item = batch[name][i]
                item = item.encode() if isinstance(item, str) else item
                shape = getattr(item, "shape", (len(item),))
                digest.update(numpy.asarray(shape, numpy.uint64).tobytes())
                digest.update(item if isinstance(item, bytes) else item.tobytes())
                continue
            digest.update(batch[name][i].tobytes())
    return digest.hexdigest()


def produce(socket, request):
    """The samples that docs/LANGUAGES.md has formulas of, until the daemon goes."""
    wish, attach = request["produce"], request["attach"]
    mapped = [step for step in attach["transforms"] if step["name"] == "Map"]
    code = (mapped or [attach["dataset"]])[0]["code"]

    def make(given):
        index = producing.sample().index
        if wish.get("fails") == index:
            raise RuntimeError(f"no luck with {index}")
        if wish["gives"] == "negative":
            return 255 - given
        if wish["gives"] == "sums":
            return sums(given, wish)
        if wish["gives"] == "arrays":
            return arrays(index, wish)
        channels = 1 if wish["gives"] == "file" else 3
        pixels = (31 * index + numpy.arange(48 * channels)).astype(numpy.uint8)
        made = pixels.reshape(6, 8, channels)
        if wish["gives"] == "file":
            made = b"P5\n8 6\n255\n" + made.tobytes()
        return made, index % 7

    record = {"arrays": lambda: RecordOfArrays(Tree(arrays(1, {}), ["2"])),
              "sums": lambda: RecordOfArrays(Tree((0, numpy.zeros(1, numpy.uint64)), ["1"])),
              "negative": lambda: pnm, "picture": lambda: record_of_picture,
              "file": lambda: record_of_bytes}[wish["gives"]]()
    connect = [str(socket), code, attach["secret"].encode(), "conformance"]
    producers = [Producer(*connect, Maker(make, Seeds(None), record))
                 for _ in range(wish.get("count", 1))]
    threads = [threading.Thread(target=producer.run) for producer in producers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def place_of(sample):
    return sample.seed + 1000 * sample.epoch + sample.position


def sums(picture, wish):
    sample = producing.sample()
    place = numpy.zeros((3, 3), int) if wish.get("wrong") == sample.index else place_of(sample)
    return place, picture.sum(axis=(1, 2), dtype=numpy.uint64)


def arrays(index, wish):
    sample = producing.sample() if wish else producing.Sample(index, 0, 0)
    shape = (3, 3) if wish.get("wrong") == index else (2, 3)
    grid = (index + numpy.arange(shape[0] * 3) / 2).astype(numpy.float32)
    boxes = (index + numpy.arange(2 * (index % 3))).astype(numpy.uint16)
    return grid.reshape(shape), place_of(sample), boxes.reshape(-1, 2), f"sample {index}"


class Run:
    """Owns the loader and the batches that it holds."""

    def __init__(self, socket, request):
        self.request, self.held, self.taken = request, [], 0
        self.node = stoker.connect(socket or None)
        options = text_of(request["attach"])
        self.dataset = options.pop("dataset")
        if "parts" in self.dataset:
            self.dataset = stoker.Mix(self.dataset["parts"])
        self.first = options.pop("epoch", request.get("token", {}).get("epoch", 0))
        self.position = options.pop("position", 0)
        self.last = None
        if options.get("epochs"):
            self.last = options["epochs"] = self.first + options["epochs"]
        else:
            options.pop("epochs", None)
        options["world_size"] = options.pop("world", 1)
        options["rank"] = options.get("rank", 0)
        if "subset_start" in options or "subset_stop" in options:
            options["subset"] = (options.pop("subset_start", 0), options.pop("subset_stop", None))
        if "reconnect_ms" in request:
            options["reconnect"] = max(0, request["reconnect_ms"] / 1000)
        if "timeout_ms" in request or "attach_timeout_ms" in request:  # one for both
            options["timeout"] = request.get("timeout_ms", request.get("attach_timeout_ms")) / 1000
        if "transport" in request:
            options["transport"] = request["transport"]
        self.loader = self.node.loader(self.dataset, **options)
        if "token" in request:
            self.loader.load_state_dict(request["token"])
        elif self.first or self.position:
            self.loader.load_state_dict({**self.loader.state_dict(), "epoch": self.first,
                                         "position": self.position})

    def attached(self):
        fields = ",".join(f"{name}:{field.dtype}:{'x'.join(map(str, field.shape))}"
                          for name, field in self.loader.fields.items())
        say("attached", samples=self.loader.samples, batches=len(self.loader),
            dataset=self.loader.dataset_fingerprint, pipeline=self.loader.pipeline_hash,
            sampling=self.loader.sampling_hash, fields=fields)
        if self.request.get("classes"):
            say("classes", names=",".join(map(hex_of, self.loader.classes)))
        if "paths" in self.request:
            say("paths", names=",".join(map(hex_of, self.loader.paths(self.request["paths"]))))

    def let_go(self, at=0):
        batch, digest = self.held.pop(at)
        if digest_of(batch, self.loader.fields) != digest:
            say("changed", position=batch.position)
        batch.release()

    def have(self, batch):
        digest = digest_of(batch, self.loader.fields)
        state = self.loader.state_dict()
        say("batch", epoch=batch.epoch, position=batch.position, count=batch.count,
            padded=batch.padded, wrapped=batch.wrapped, substituted=batch.substituted,
            next_epoch=state["epoch"], next_position=state["position"], digest=digest)
        self.held.append((batch, digest))
        self.taken += 1
        keep = self.request.get("keep", 0)
        while len(self.held) > keep + self.request.get("hold", 0):
            self.let_go(keep)
        if self.taken == 1 and self.request.get("stats"):
            self.stats()
        if self.taken == self.request.get("pause"):
            say("paused")
            sys.stdin.readline()

    def stats(self):
        stats = self.loader.stats()
        names = ("epoch", "delivered", "leased", "state", "limited_by", "age_s")
        shares = (f"share_{of}" for of in ("trainer", "storage", "decode", "slot"))
        say("stats", **{name: stats[name] for name in names},
            shares=",".join(str(stats[name]) for name in shares))

    def enough(self):
        return self.taken == self.request.get("take", -1)

    def epoch(self):
        """The rest of one epoch, or as much of it as is to be taken."""
        batches = self.loader.batches()
        while not self.enough():
            try:
                batch = next(batches, None)
            except stoker.SampleError as error:
                say("bad", name=error.name, position=error.position, sample=error.sample)
                continue
            if batch is None:
                return
            self.have(batch)

    def read(self):
        while not self.enough() and (self.last is None or self.loader.epoch < self.last):
            self.epoch()
        print("token", json.dumps(self.loader.state_dict()), flush=True)
        while self.held:
            self.let_go()
        say("left" if self.enough() else "end", reconnects=self.loader.reconnects)


    # Measuring

    def measure(self):
        """What the lines of the standard input say."""
        self.batches = self.endless()
        for line in sys.stdin:
            word, *numbers = line.split()
            if word == "read":
                self.measure_read(int(numbers[0]))
            elif word == "seek":
                self.measure_seek(*map(int, numbers))
            else:
                gc.collect()
                say("collected", heap=0)

    def endless(self):
        while True:
            yield from self.loader.batches()

    def measure_read(self, batches):
        begun, samples, total = time.perf_counter_ns(), 0, 0
        for _ in range(batches):
            batch = next(self.batches)
            samples += batch.count
            total += touch(batch)
            batch.release()
        say("measured", ns=time.perf_counter_ns() - begun, samples=samples, sum=total)

    def measure_seek(self, epoch, position):
        begun = time.perf_counter_ns()
        try:
            self.loader.load_state_dict({**self.loader.state_dict(), "epoch": epoch,
                                         "position": position})
        except (stoker.Error, ValueError) as error:
            say("refused", name=name_of(error))
            return
        self.batches = self.endless()
        batch = next(self.batches)
        taken = time.perf_counter_ns() - begun
        say("sought", ns=taken, position=batch.position, sum=touch(batch))
        batch.release()


def touch(batch):
    """Read a batch: one byte of each cache line of its images, as C does it (touch.c)."""
    images = batch["image"]
    # images.ctypes.data would cost as much as the batch.
    return touch_bytes()(ctypes.addressof(ctypes.c_char.from_buffer(images)), images.nbytes)


@functools.lru_cache(maxsize=None)
def touch_bytes():
    build = Path(os.environ.get("STOKER_BUILD", ROOT / "build"))
    function = ctypes.CDLL(str(build.resolve() / "tests" / "conformance" / "touch.so")).touch
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_size_t), ctypes.c_uint64
    return function


def main():
    socket, request = sys.argv[1], json.loads(sys.argv[2])
    try:
        if "produce" in request:
            produce(socket, request)
            return 0
        run = Run(socket, request)
        run.attached()
        if request.get("measure"):
            run.measure()
        else:
            run.read()
        if request.get("again"):
            run.loader.load_state_dict(run.loader.state_dict())
            request.pop("take", None)
            run.attached()
            run.read()
        run.loader.close()
    except (stoker.Error, TimeoutError, ValueError, TypeError) as error:
        say("error", name=name_of(error), text=hex_of(str(error)))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
