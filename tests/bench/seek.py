# SPDX-License-Identifier: MIT
"""How soon the first batch is there: from the first byte of the connection to the BATCH.

    joined    of a stream that lives: the ring is there, the reader begins where another one is
    resumed   at 0, 50 and 99 % of a long epoch, in a ring of its own

    python3 tests/bench/seek.py [BUILD] [--times 40] [--samples 10000000]
"""

import argparse
import itertools
import os
import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "daemon"), str(HERE.parent / "demo")]

TRAIN = {"transforms": [{"name": "RandomResizedCrop", "size": 64}], "dtype": "uint8",
         "layout": "NHWC", "augment_seed": 9, "batch_size": 16, "epochs": 0}


def first_batch(daemon, data, **fields):
    """Milliseconds from connect() to the first batch."""
    begin = time.monotonic()
    with daemon.connect() as peer:
        answer = peer.attach(data, **{**TRAIN, **fields})
        assert answer.name == "attached", answer
        peer.expect("batch", seconds=60)
        return (time.monotonic() - begin) * 1e3


def figures(times):
    times = sorted(times)
    return (f"median {statistics.median(times):.2f} ms, "
            f"nine of ten below {times[len(times) * 9 // 10]:.2f} ms")


def joined(daemon, data, times):
    with daemon.connect() as living:
        living.attach(data, **TRAIN)
        taken = []
        for _ in range(times):
            living.release(living.expect("batch"))  # it goes on between
            time.sleep(0.02)
            taken.append(first_batch(daemon, data, start="live"))
    print(f"joined: {figures(taken)} (bar: median below 5 ms)")


def resumed(daemon, data, samples, times):
    from harness import wait_for
    seeds = itertools.count(100)
    with daemon.connect() as keeper:  # so that the dataset stays indexed
        begin = time.monotonic()
        keeper.attach(data, **TRAIN, order_seed=1)
        keeper.expect("batch", seconds=600)
        print(f"{samples} samples indexed in {time.monotonic() - begin:.1f} s")
        keeper.send("credit", inflight=0)
        taken = {percent: [] for percent in (0, 50, 99)}
        for _ in range(times):  # in turn: what else the machine does is the same for all
            for percent, out in taken.items():
                out.append(first_batch(daemon, data, order_seed=next(seeds),
                                       position=samples * percent // 100))
                wait_for(lambda: daemon.status()["rings"] == 1, "the reader's ring is gone")
    for percent, out in taken.items():
        print(f"resumed at {percent} %: {figures(out)}")
    medians = [statistics.median(out) for out in taken.values()]
    print(f"flat: the slowest is {max(medians) / min(medians):.2f} of the fastest")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", nargs="?", default=str(HERE.parents[1] / "build"))
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--samples", type=int, default=10_000_000)
    options = parser.parse_args()
    os.environ["STOKER_BUILD"] = str(pathlib.Path(options.build).resolve())
    import photos
    from harness import Daemon
    with tempfile.TemporaryDirectory() as folder:
        photos.make(pathlib.Path(folder) / "photos", count=60, size=(160, 120))
        names = [f"{file.relative_to(folder)} 1\n"
                 for file in sorted((pathlib.Path(folder) / "photos").glob("*/*"))]
        manifest = pathlib.Path(folder) / "many.txt"
        with open(manifest, "w", encoding="utf-8") as out:
            whole, rest = divmod(options.samples, len(names))
            out.writelines("".join(names) for _ in range(whole))
            out.writelines(names[:rest])
        daemon = Daemon(workers=2).spawn()
        try:
            joined(daemon, pathlib.Path(folder) / "photos", options.times)
            resumed(daemon, manifest, options.samples, options.times)
        finally:
            daemon.terminate()
            daemon.remove()


if __name__ == "__main__":
    main()
