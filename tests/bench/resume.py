# SPDX-License-Identifier: MIT
"""kill -9 of the daemon at random positions: does the reader's joined stream equal the reference?

    tests/bench/resume.py [--build DIR] [--kills 200] [--workers 1,2,8] [--seed N]

A manifest names a few small pictures over and over; a reader takes epoch after epoch of it while
the daemon is killed, at random positions and at random moments behind them, and started again. Each
batch is compared with that of a run without deaths and with one worker: index, label, all pixels.
Prints how long the pauses were. The exit code is 1 if a byte differs.
"""

import argparse
import hashlib
import logging
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "client" / "python"))

import stoker  # noqa: E402

PICTURES, SAMPLES, BATCH = 32, 6000, 24
TRANSFORMS = [stoker.RandomResizedCrop(16), stoker.RandomHorizontalFlip(), stoker.ToTensor(),
              stoker.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))]


def make(folder):
    """A manifest over small JPEGs; its path."""
    rng = numpy.random.default_rng(1)
    for i in range(PICTURES):
        Image.fromarray(rng.integers(0, 256, (24, 32, 3), numpy.uint8)).save(folder / f"{i}.jpg")
    manifest = folder / "list.tsv"
    manifest.write_text("".join(f"{i % PICTURES}.jpg\t{i % 7}\n" for i in range(SAMPLES)))
    return manifest


class Supervisor:
    """Keeps a daemon running at one socket."""

    def __init__(self, build, folder, workers):
        self.socket = folder / "stokerd.sock"
        self.command = [str(build / "daemon" / "stokerd"), "--socket", str(self.socket),
                        "--control-socket", str(folder / "control.sock"), "--workers",
                        str(workers)]
        self.thread = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def kill_after(self, seconds):
        """In a thread: the reader goes on meanwhile."""
        def run():
            time.sleep(seconds)
            self.kill()
            self.start()

        self.join()
        self.thread = threading.Thread(target=run)
        self.thread.start()

    def join(self):
        if self.thread:
            self.thread.join()

    def connect(self):
        for _ in range(500):
            try:
                return stoker.connect(self.socket)
            except stoker.DaemonUnavailable:
                time.sleep(0.02)
        raise SystemExit("stokerd does not start")


def digests(loader, epochs, at=lambda epoch, k: None):
    """[digest of a batch] over epochs, and how long each took to come."""
    out, waits = [], []
    for epoch in range(epochs):
        begun = time.perf_counter()
        for k, batch in enumerate(loader.batches()):
            waits.append(time.perf_counter() - begun)
            digest = hashlib.blake2b(digest_size=16)
            for array in (batch.index, batch.labels, batch.images):
                digest.update(numpy.ascontiguousarray(array))
            out.append((batch.epoch, batch.position, digest.digest()))
            batch.release()
            kill_at(epoch, k)
            begun = time.perf_counter()
    return out, waits


def measure(build, folder, manifest, workers, kills, rng):
    """One reader, so many kills; True if the stream is the reference's."""
    options = {"batch_size": BATCH, "transforms": TRANSFORMS, "seed": 5}
    per_epoch = -(-SAMPLES // BATCH)
    epochs = max(1, kills // 50)
    places = set(rng.sample(range(epochs * per_epoch - 1), kills))
    first = Supervisor(build, folder, 1)
    with first.connect() as node:
        reference, _ = digests(node.loader(manifest, **options), epochs)
    first.kill()

    supervisor = Supervisor(build, folder, workers)

    def kill_at(epoch, k):
        if epoch * per_epoch + k in places:
            supervisor.kill_after(rng.random() * 0.004)

    with supervisor.connect() as node:
        loader = node.loader(manifest, **options)
        got, waits = digests(loader, epochs, kill_at)
        reconnects = loader.reconnects
    supervisor.join()
    supervisor.kill()
    pauses = sorted(wait for wait in waits if wait > 0.02)
    same = got == reference
    print(f"workers {workers}: {kills} kills, {reconnects} reconnects, {len(got)} batches of "
          f"{epochs} epochs {'equal' if same else 'DIFFER FROM'} the reference; a pause is "
          f"{statistics.median(pauses or [0]) * 1e3:.0f} ms (median), "
          f"{(pauses or [0])[-1] * 1e3:.0f} ms (longest)", flush=True)
    return same


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("STOKER_BUILD", ROOT / "build")))
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--workers", default="1,2,8")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    arguments = parser.parse_args()
    logging.getLogger("stoker").setLevel(logging.ERROR)
    print(f"seed {arguments.seed}")
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="stoker-") as name:
        folder = pathlib.Path(name)
        manifest = make(folder)
        same = [measure(arguments.build, folder, manifest, int(workers), arguments.kills, rng)
                for workers in arguments.workers.split(",")]
    sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
