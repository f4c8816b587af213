# SPDX-License-Identifier: MIT
"""`workers = auto` and `fetchers = auto` beside fixed numbers. Four loads:

    decode    a trainer that takes all it gets
    storage   the same, of files that take half a second to read
    trainer   one that computes for longer than its batches take to be made
    taken     decode, after hogs on all processors have come and gone

    tests/bench/auto.py [BUILD] [--settle 30] [--seconds 3] [--rounds 4] [--only decode]

Of each load a daemon for each fixed number, and one with auto, which has `settle` seconds to find
its number. Then their trainers run in turn, `seconds` each, `rounds` times, so that what else the
machine does meets all of them. Printed: images a second (medians), auto's rate of the best fixed
number's (the median of the rounds' ratios; bar 0.9, or less by what the best one's rounds differ
among themselves), what auto came to, and its changes from then on (bar: one in 10 s). `taskset -c
0` before it takes cores away.
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
WARM_S = 1  # of a slice, before it counts


class Trainer(threading.Thread):
    """Takes batches while it is to run; computes `step_s` of processor time for each."""

    def __init__(self, daemon, data, step_s):
        super().__init__(daemon=True)
        self.peer, self.step_s, self.taken = daemon.connect(), step_s, 0
        self.running, self.ended = threading.Event(), False
        answer = self.peer.attach(data, **TRAIN)
        assert answer.name == "attached", answer

    def run(self):
        while self.running.wait() and not self.ended:
            message = self.peer.receive(600)
            if message.name != "batch":
                continue
            until = time.thread_time() + self.step_s
            while time.thread_time() < until:
                pass
            self.taken += message.fields["count"]
            self.peer.release(message)
        self.peer.close()

    def end(self):
        self.ended = True
        self.running.set()
        self.join()

    def rate(self, seconds):
        """Images a second, of a slice of which the others have none."""
        self.running.set()
        time.sleep(WARM_S)
        begin, before = time.monotonic(), self.taken
        time.sleep(seconds)
        rate = (self.taken - before) / (time.monotonic() - begin)
        self.running.clear()
        return rate


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


class Side:
    """A daemon with these numbers of threads, and its trainer."""

    def __init__(self, load, workers, fetchers):
        from harness import Daemon
        self.daemon = Daemon(environment=load.environment, cache_memory=0, workers=workers,
                             fetchers=fetchers).spawn()
        self.trainer = Trainer(self.daemon, load.data, load.step_s)
        self.trainer.start()
        self.rates = []

    def changes(self):
        return self.daemon.log().count("auto: ")

    def words(self):
        status = self.daemon.status()
        return f"{status['workers']} workers, {status['fetchers']} fetchers"

    def end(self):
        self.trainer.end()
        self.daemon.terminate()
        self.daemon.remove()


class Load:
    def __init__(self, data, fixed, step_s=0, environment=None, taken=False):
        self.data, self.fixed, self.step_s = data, fixed, step_s
        self.environment, self.taken = environment, taken

    def settle(self, side, seconds):
        """With hogs that come and go, half of it each, where cores are taken away."""
        side.trainer.running.set()
        if self.taken:
            with hogs():
                time.sleep(seconds / 2)
        time.sleep(seconds)
        side.trainer.running.clear()


def measure(load, options):
    """({numbers: side}, that of auto, its changes while all were measured); all have ended."""
    with contextlib.ExitStack() as stack:
        def side(*numbers):
            made = Side(load, *numbers)
            stack.callback(made.end)
            return made

        auto = side("auto", "auto")
        load.settle(auto, options.settle)
        fixed = {numbers: side(*numbers) for numbers in load.fixed}
        before = auto.changes()
        for _ in range(options.rounds):
            for one in (auto, *fixed.values()):
                one.rates.append(one.trainer.rate(options.seconds))
        return fixed, auto, auto.changes() - before, auto.words()


def compare(name, load, options):
    fixed, auto, changes, words = measure(load, options)
    middle = {numbers: statistics.median(one.rates) for numbers, one in fixed.items()}
    best = max(middle, key=middle.get)
    rates = fixed[best].rates
    # Of those in the middle: one slice in which something else ran says nothing.
    low, _, high = statistics.quantiles(rates, n=4)
    bar = min(BAR, 1 - (high - low) / middle[best])
    ratio = statistics.median(a / b for a, b in zip(auto.rates, rates))
    for (workers, fetchers), rate in middle.items():
        print(f"{name}: {workers} workers, {fetchers} fetchers: {rate:.0f}/s")
    well = ratio >= bar and changes <= 1 + CHANGES_BAR * options.seconds * options.rounds
    print(f"{name}: auto ({words}): {statistics.median(auto.rates):.0f}/s, {ratio:.2f} of the best "
          f"(bar {bar:.2f}), {changes} changes: {'passes' if well else 'MISSES'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", nargs="?", default=str(HERE.parents[1] / "build"))
    parser.add_argument("--settle", type=float, default=30)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=4)
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
        loads = {"decode": Load(quick, workers),
                 "storage": Load(slow, fetchers, environment=faults),
                 "trainer": Load(quick, workers, step_s=0.05),
                 "taken": Load(quick, workers, taken=True)}
        for name in options.only.split(","):
            compare(name, loads[name], options)


if __name__ == "__main__":
    main()
