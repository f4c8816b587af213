# SPDX-License-Identifier: MIT
"""Two Python clients in turn, in one run: CPU time an image, of daemon and trainer. By hand:

    tests/bench/clients.py OLD NEW --data FOLDER [--rounds 40] [--seconds 0.5] [--builds]

OLD and NEW are two checkouts; the daemons, one for each client, are the built one of NEW, or with
--builds each side's own. The trainer reads every byte of each batch, as images of uint8 and of
float32, with numpy and with torch. A round is a slice of each side, so that both see the same
machine. The ratio is NEW / OLD, round by round; its median and the middle half are printed.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import time

from machine import Stokerd, cpu_seconds, model

WORKERS = 1
TRAINER = """
import resource, sys, time
import stoker
framework, dtype, path, data, seconds = sys.argv[1:]
options = dict(dtype=dtype, seed=1, transforms=[
    stoker.RandomResizedCrop(224), stoker.RandomHorizontalFlip()])
if framework == "torch":
    import torch
    import stoker.torch
    torch.set_num_threads(1)
    loader = stoker.torch.Loader(data, 64, node=stoker.connect(path), **options)
else:
    loader = stoker.connect(path).loader(data, batch_size=64, **options)
def used_cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
for x, y in loader:
    x.sum()
del x, y
batches = iter(())
for _ in iter(sys.stdin.readline, ""):
    begun, cpu, images = time.monotonic(), used_cpu(), 0
    while time.monotonic() - begun < float(seconds):
        batch = next(batches, None)
        if batch is None:
            batches = iter(loader)
            continue
        batch[0].sum()
        images += len(batch[0])
    print(images, used_cpu() - cpu, flush=True)
"""


class Side:
    """A daemon and a trainer with the client of a checkout."""

    def __init__(self, options, tree, framework, dtype):
        home = tree if options.builds else options.new
        self.daemon = Stokerd(home / "build", WORKERS).__enter__()
        self.trainer = subprocess.Popen(
            [sys.executable, "-c", TRAINER, framework, dtype, str(self.daemon.socket),
             str(options.data), str(options.seconds)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={"PYTHONPATH": str(tree / "client" / "python"), "PATH": "/usr/bin:/bin"})
        self.measure()

    def measure(self):
        """CPU time an image in us: of both, and of the trainer."""
        before = cpu_seconds(self.daemon.pid)
        print(file=self.trainer.stdin, flush=True)
        images, own = self.trainer.stdout.readline().split()
        spent = self.settled() - before
        return (spent + float(own)) / int(images) * 1e6, float(own) / int(images) * 1e6

    def settled(self):
        """CPU time of the daemon, once it has filled the ring again."""
        last = cpu_seconds(self.daemon.pid)
        while True:
            time.sleep(0.03)
            now = cpu_seconds(self.daemon.pid)
            if now - last < 0.001:
                return now
            last = now

    def close(self):
        self.trainer.communicate()
        self.daemon.__exit__(None, None, None)


def compare(options, framework, dtype):
    sides = [Side(options, tree, framework, dtype) for tree in (options.old, options.new)]
    rounds = []
    for number in range(options.rounds):
        found = [side.measure() for side in sides[::1 if number % 2 else -1]]
        rounds.append(found if number % 2 else found[::-1])
    for side in sides:
        side.close()
    old, new = zip(*rounds)
    ratios = sorted(b[0] / a[0] for a, b in rounds)
    quarter = len(ratios) // 4
    medians = [statistics.median(value[part] for value in side)
               for side in (old, new) for part in (0, 1)]
    print(f"{framework} {dtype}: {medians[0]:.1f} ({medians[1]:.1f}) -> {medians[2]:.1f} "
          f"({medians[3]:.1f}), ratio {statistics.median(ratios):.3f} "
          f"({ratios[quarter]:.3f}-{ratios[-1 - quarter]:.3f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--builds", action="store_true")
    options = parser.parse_args()
    print(f"{model()}; {options.rounds} rounds; medians of CPU time an image (us), daemon and "
          "trainer (trainer alone); ratio: new / old (middle half)", flush=True)
    for framework in ("numpy", "torch"):
        for dtype in ("uint8", "float32"):
            compare(options, framework, dtype)


if __name__ == "__main__":
    main()
