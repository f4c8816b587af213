# SPDX-License-Identifier: MIT
"""What echo=4 makes of a dataset whose decoding is the slow part: images a second of it and of
echo=1, in turn, from the second epoch on, with two workers and a client that touches every byte.

    python3 tests/bench/echo.py --data FOLDER [--build BUILD] [--turns 5] [--size 64]

Prints each turn and the median of the ratios (bar 2).
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "python"), str(HERE.parents[1] / "client" / "python")]

import numpy  # noqa: E402

import stoker  # noqa: E402

ECHO, BAR = 4, 2


def rate(node, options, echo):
    """Images a second in epoch 1; epoch 0 fills caches and indexes."""
    with node.loader(options.data, batch_size=32, dtype="uint8", layout="NHWC", seed=1, echo=echo,
                     transforms=[stoker.RandomResizedCrop(options.size),
                                 stoker.RandomHorizontalFlip()]) as loader:
        for images, _ in loader:
            numpy.bitwise_xor.reduce(images, axis=None)
        count, begin = 0, time.monotonic()
        for images, _ in loader:
            numpy.bitwise_xor.reduce(images, axis=None)
            count += len(images)
        return count / (time.monotonic() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--build", default=str(HERE.parents[1] / "build"))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--size", type=int, default=64)
    options = parser.parse_args()
    os.environ["STOKER_BUILD"] = str(pathlib.Path(options.build).resolve())
    from real_daemon import RealDaemon
    with tempfile.TemporaryDirectory() as folder:
        daemon = RealDaemon(folder, "--workers", "2")
        try:
            with stoker.connect(daemon.path) as node:
                ratios = []
                for _ in range(options.turns):
                    plain, echoed = rate(node, options, 1), rate(node, options, ECHO)
                    ratios.append(echoed / plain)
                    print(f"echo=1 {plain:.0f}/s, echo={ECHO} {echoed:.0f}/s: {ratios[-1]:.2f}",
                          flush=True)
        finally:
            daemon.stop()
    print(f"echo: {statistics.median(ratios):.2f} (bar {BAR})")


if __name__ == "__main__":
    main()
