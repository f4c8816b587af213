# SPDX-License-Identifier: MIT
"""`stokerctl upgrade` under three trainers: how long is one without a batch, and is anything lost?

    tests/bench/upgrade.py [BUILD] [--data DIR] [--times 20] [--pause 1] [--compute 0]

Three processes train, each on a stream of its own, while the daemon is upgraded so many times; the
last one computes for so many seconds on each batch, while it holds it. Of each batch they note what
it is (epoch, position, a hash of indexes and pixels) and how long they waited. Bars: the longest
silence is 2 s; no position is lost or comes twice; and the same positions of a daemon that nobody
upgraded have the same bytes. The exit code is 1 where a bar is missed.
"""

import argparse
import hashlib
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "daemon"), str(HERE.parent / "demo"),
                str(HERE.parents[1] / "client" / "python")]

TRAINERS, BATCH, SILENCE_S = 3, 32, 2.0


def train(socket, data, seed, batches, compute):
    """In a process of its own: so many batches, or until its input ends; prints what they were."""
    import stoker
    logging.getLogger("stoker").setLevel(logging.ERROR)
    got, longest = [], 0.0
    with stoker.connect(socket) as node:
        loader = node.loader(data, batch_size=BATCH, seed=seed,
                             transforms=[stoker.RandomResizedCrop(224), stoker.ToTensor()])
        begun = None
        while True:
            for batch in loader.batches():
                if begun:
                    longest = max(longest, time.monotonic() - begun)
                digest = hashlib.blake2b(batch.index.tobytes(), digest_size=8)
                digest.update(batch.images[:, :, ::16, ::16].tobytes())
                got.append((batch.epoch, batch.position, digest.hexdigest()))
                time.sleep(compute)
                batch.release()
                begun = time.monotonic()
                if len(got) == batches or os.path.exists(f"{socket}.end"):
                    print(json.dumps({"got": got, "longest": longest,
                                      "reconnects": loader.reconnects}))
                    return


def start(daemon, data, seed, batches, compute=0.0):
    return subprocess.Popen([sys.executable, __file__, "--train", str(daemon.socket), str(data),
                             str(seed), str(batches), str(compute)],
                            stdout=subprocess.PIPE, text=True)


def results(trainers):
    return [json.loads(trainer.communicate(timeout=600)[0]) for trainer in trainers]


def upgraded(data, times, pause, compute):
    """What the trainers had, and how long stokerctl said that each upgrade took."""
    from harness import Daemon
    daemon, took = Daemon(cache_memory=None).spawn(), []
    trainers = [start(daemon, data, seed, 0, compute if seed == TRAINERS - 1 else 0)
                for seed in range(TRAINERS)]
    try:
        while len(daemon.list("readers")) < TRAINERS:
            time.sleep(0.1)
        for _ in range(times):
            time.sleep(pause)
            answer = json.loads(daemon.ctl("--json", "upgrade").stdout)
            assert answer["back"] == TRAINERS, answer
            took.append(answer["seconds"])
        time.sleep(pause)
        pathlib.Path(f"{daemon.socket}.end").touch()
        return results(trainers), took
    finally:
        for trainer in trainers:
            trainer.kill()
        daemon.terminate()
        daemon.remove()


def undisturbed(data, counts):
    from harness import Daemon
    daemon = Daemon(cache_memory=None).spawn()
    try:
        return results([start(daemon, data, seed, count) for seed, count in enumerate(counts)])
    finally:
        daemon.terminate()
        daemon.remove()


def compare(data, times, pause, compute):
    """True if all bars are met."""
    got, took = upgraded(data, times, pause, compute)
    expected = undisturbed(data, [len(one["got"]) for one in got])
    good = True
    for seed, (one, other) in enumerate(zip(got, expected)):
        same = one["got"] == other["got"]
        well = same and one["longest"] <= SILENCE_S
        good &= well
        print(f"trainer {seed}: {len(one['got'])} batches, {one['reconnects']} reconnects, each "
              f"position once and its bytes those of a run without: {'yes' if same else 'NO'}; "
              f"longest silence {one['longest']:.2f} s (bar {SILENCE_S:.0f}): "
              f"{'passes' if well else 'MISSES'}")
    took.sort()
    print(f"{times} upgrades, {took[len(took) // 2]:.2f} s (median), {took[-1]:.2f} s (longest) "
          "until all readers had batches again")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", nargs="?", default=str(HERE.parents[1] / "build"))
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--pause", type=float, default=1)
    parser.add_argument("--compute", type=float, default=0)
    parser.add_argument("--train", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        socket, data, seed, batches, seconds = options.train
        train(socket, data, int(seed), int(batches), float(seconds))
        return
    os.environ["STOKER_BUILD"] = str(pathlib.Path(options.build).resolve())
    import photos
    with tempfile.TemporaryDirectory() as folder:
        data = options.data or pathlib.Path(folder)
        if not options.data:
            photos.make(data, count=200)
        sys.exit(0 if compare(data, options.times, options.pause, options.compute) else 1)


if __name__ == "__main__":
    main()
