# SPDX-License-Identifier: MIT
"""Small pictures: 50,000 of 32 x 32 from a NumPy array through the daemon and the Python client,
one worker, every byte touched; and in turn with it a bare loop of the same kernels, which hands
nothing to anybody.

    STOKER_BUILD=build PYTHONPATH=client/python python3 tests/bench/small.py [--rounds N]
        [--peer PYTHON]

Twice: shifted by whole pixels and flipped; and turned, shifted, zoomed and flipped by
ImageDataGenerator. `--peer` names a Python with keras, whose own ImageDataGenerator takes turns as
well. Prints images a second (medians), the ratios of each round, and processor microseconds an
image of each thread.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "daemon"))

import stoker  # noqa: E402
from harness import BUILD, Daemon  # noqa: E402

COUNT = 50000
EPOCHS = 6  # of a round
MOVED = [stoker.RandomCrop(32, padding=4), stoker.RandomHorizontalFlip(), stoker.ToTensor()]
WARPED = {"rotation_range": 15, "width_shift_range": 0.1, "height_shift_range": 0.1,
          "zoom_range": 0.1, "horizontal_flip": True, "rescale": 1 / 255}
SHIFTED = {"width_shift_range": 4, "height_shift_range": 4, "horizontal_flip": True,
           "rescale": 1 / 255}
PEER = """
import json, sys, time, numpy as np
from keras.src.legacy.preprocessing.image import ImageDataGenerator
x = np.load(sys.argv[1])[:5000]
flow = ImageDataGenerator(**json.loads(sys.argv[2])).flow(x, batch_size=256)
next(flow)
start = time.monotonic()
for i in range(19):
    np.add.reduce(next(flow).reshape(-1).view(np.uint64))
print(19 * 256 / (time.monotonic() - start))
"""


def touch(images):
    """Reads every byte."""
    return int(np.add.reduce(images.reshape(-1).view(np.uint64)))


def threads_of(pid):
    """{name: processor seconds}."""
    out = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        name, _, rest = (task / "stat").read_text().partition("(")[2].rpartition(")")
        ticks = sum(map(int, rest.split()[11:13]))
        out[name] = out.get(name, 0) + ticks / os.sysconf("SC_CLK_TCK")
    return out


def epoch(loader):
    """(images, seconds, our processor seconds) of an epoch."""
    images, start, own = 0, time.monotonic(), time.process_time()
    for batch in loader.batches():
        touch(batch.images)
        images += batch.count
    return images, time.monotonic() - start, time.process_time() - own


class Small:
    """A daemon with one worker and one loader."""

    def __init__(self, path, transforms):
        self.daemon = Daemon(workers=1, fetchers=1).spawn()
        self.node = stoker.connect(str(self.daemon.socket))
        self.loader = self.node.loader(path, batch_size=256, transforms=transforms, prefetch=16,
                                       inflight=4)
        epoch(self.loader)
        self.images = self.own = 0
        self.before = threads_of(self.daemon.process.pid)

    def rate(self):
        total = 0
        for _ in range(EPOCHS):
            images, seconds, own = epoch(self.loader)
            self.images, self.own, total = self.images + images, self.own + own, total + seconds
        return EPOCHS * COUNT / total

    def costs(self):
        """{thread: microseconds an image}."""
        after = threads_of(self.daemon.process.pid)
        used = {name: after[name] - self.before.get(name, 0) for name in after}
        return {name: seconds / self.images * 1e6
                for name, seconds in {**used, "client": self.own}.items()}

    def close(self):
        self.node.close()
        self.daemon.terminate()
        self.daemon.remove()


def loop(path):
    """Images a second of the bare loop."""
    done = subprocess.run([BUILD / "tests" / "bench" / "loop_bench", path, "--seconds", "1"],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["images_per_second"]


def peer(python, path, arguments):
    return float(subprocess.run([python, "-c", PEER, path, json.dumps(arguments)], check=True,
                                capture_output=True, text=True).stdout)


def compare(name, path, transforms, rounds, others):
    """`others`: {name: function that gives images a second}."""
    small = Small(path, transforms)
    rates = {"daemon": [], **{other: [] for other in others}}
    try:
        for _ in range(rounds):
            rates["daemon"].append(small.rate())
            for other, measure in others.items():
                rates[other].append(measure())
        costs = small.costs()
    finally:
        small.close()
    print(f"{name}: {statistics.median(rates['daemon']):,.0f} images a second "
          f"({min(rates['daemon']):,.0f} to {max(rates['daemon']):,.0f})")
    for other in others:
        ratios = [one / its for one, its in zip(rates["daemon"], rates[other])]
        print(f"  {other}: {statistics.median(rates[other]):,.0f}; daemon / it "
              f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    print("  processor time an image: " + ", ".join(
        f"{thread} {cost:.2f} us" for thread, cost in costs.items() if cost > 0.01))


def main():
    options = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--peer")
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.npy")
        np.save(path, np.random.default_rng(1).integers(0, 256, (COUNT, 32, 32, 3), np.uint8))
        moved, warped = {"a bare loop": lambda: loop(path)}, {}
        if options.peer:
            moved["Keras"] = lambda: peer(options.peer, path, SHIFTED)
            warped["Keras"] = lambda: peer(options.peer, path, WARPED)
        compare("shift, flip", path, MOVED, options.rounds, moved)
        compare("rotation, shift, zoom, flip", path, [stoker.ImageDataGenerator(**WARPED)],
                options.rounds, warped)


if __name__ == "__main__":
    main()
