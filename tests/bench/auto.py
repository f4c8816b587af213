# SPDX-License-Identifier: MIT
"""`workers = auto` and `fetchers = auto` beside fixed numbers. Four loads:

    decode    a trainer that takes all it gets
    storage   the same, of files that take half a second to read
    trainer   one that computes for longer than its batches take to be made
    taken     decode, after hogs on all processors have come and gone

    python3 tests/bench/auto.py [BUILD] [--settle 30] [--seconds 10] [--only decode,storage]

Of each load: images a second with each fixed number, and with auto from `settle` seconds on; auto's
rate of the best one's (bar 0.9, or the spread of the fixed number's rounds), what it came to, and
its changes while it was measured (bar: one in 10 s). `taskset -c 0` before it takes cores away.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "daemon"), str(HERE.parent / "demo")]

TRAIN = {"transforms": [{"name": "RandomResizedCrop", "size": 224}], "dtype": "uint8",
         "batch_size": 16, "epochs": 0, "order_seed": 1, "augment_seed": 1}
BAR, CHANGES_BAR = 0.9, 0.1
ROUNDS = 2


class Trainer(threading.Thread):
    """Takes batches until it is told to stop; computes `step_s` of processor time for each."""

    def __init__(self, daemon, data, step_s):
        super().__init__(daemon=True)
        self.peer, self.step_s, self.taken, self.stopped = daemon.connect(), step_s, 0, False
        answer = self.peer.attach(data, **TRAIN)
        assert answer.name == "attached", answer

    def run(self):
        while not self.stopped:
            message = self.peer.receive(600)
            if message.name != "batch":
                continue
            until = time.thread_time() + self.step_s
            while time.thread_time() < until:
                pass
            self.taken += message.fields["count"]
            self.peer.release(message)
        self.peer.close()

    def rate(self, seconds):
        begin, before = time.monotonic(), self.taken
        time.sleep(seconds)
        return (self.taken - before) / (time.monotonic() - begin)


@contextlib.contextmanager
def hogs():
    made = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(2 * os.cpu_count())]
    try:
        yield
    finally:
        for hog in made:
            hog.kill()
            hog.wait()


class Load:
    def __init__(self, data, step_s=0, environment=None, taken=False, fixed=()):
        self.data, self.step_s, self.environment = data, step_s, environment
        self.taken, self.fixed = taken, fixed

    def measure(self, settle, seconds, **options):
        """(images a second, threads and changes in words, changes while it was measured)."""
        from harness import Daemon
        daemon = Daemon(environment=self.environment, cache_memory=0, **options).spawn()
        try:
            trainer = Trainer(daemon, self.data, self.step_s)
            trainer.start()
            if self.taken:
                with hogs():
                    time.sleep(settle)
            time.sleep(settle)
            before = daemon.log().count("auto: ")
            rate = trainer.rate(seconds)
            changes = daemon.log().count("auto: ") - before
            status = daemon.status()
            trainer.stopped = True
            trainer.join()
            words = f"{status['workers']} workers, {status['fetchers']} fetchers"
            return rate, words, changes
        finally:
            daemon.terminate()
            daemon.remove()


def compare(name, load, options):
    fixed = {}
    autos = []
    for _ in range(ROUNDS):
        for workers, fetchers in load.fixed:
            fixed.setdefault((workers, fetchers), []).append(load.measure(
                3, options.seconds, workers=workers, fetchers=fetchers)[0])
        autos.append(load.measure(options.settle, options.seconds, workers="auto",
                                  fetchers="auto"))
    best = max(fixed, key=lambda key: statistics.median(fixed[key]))
    rate = statistics.median(fixed[best])
    spread = (max(fixed[best]) - min(fixed[best])) / rate
    for (workers, fetchers), rates in fixed.items():
        print(f"{name}: {workers} workers, {fetchers} fetchers: {statistics.median(rates):.0f}/s")
    for auto, words, changes in autos:
        well = auto / rate >= min(BAR, 1 - spread) and changes <= 1 + CHANGES_BAR * options.seconds
        print(f"{name}: auto ({words}): {auto:.0f}/s, {auto / rate:.2f} of the best "
              f"(bar {min(BAR, 1 - spread):.2f}), {changes} changes: "
              f"{'passes' if well else 'MISSES'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", nargs="?", default=str(HERE.parents[1] / "build"))
    parser.add_argument("--settle", type=float, default=30)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--only", default="decode,storage,trainer,taken")
    options = parser.parse_args()
    os.environ["STOKER_BUILD"] = str(pathlib.Path(options.build).resolve())
    import photos
    from harness import BUILD
    workers = [(number, 2) for number in range(1, len(os.sched_getaffinity(0)) + 2)]
    fetchers = [(1, number) for number in (2, 8, 32, 64)]
    with tempfile.TemporaryDirectory() as folder:
        quick, slow = pathlib.Path(folder) / "quick", pathlib.Path(folder) / "slow"
        photos.make(quick, count=200)
        shutil.copytree(quick, slow)
        for path in list(slow.glob("*/*")):
            path.rename(path.with_name(f"{path.stem}-slow-disk{path.suffix}"))
        faults = {"LD_PRELOAD": str(BUILD / "tests" / "libfaults.so")}
        loads = {"decode": Load(quick, fixed=workers),
                 "storage": Load(slow, environment=faults, fixed=fetchers),
                 "trainer": Load(quick, step_s=0.05, fixed=workers),
                 "taken": Load(quick, taken=True, fixed=workers)}
        for name in options.only.split(","):
            compare(name, loads[name], options)


if __name__ == "__main__":
    main()
