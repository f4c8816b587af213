# SPDX-License-Identifier: MIT
"""What readers at paces of their own cost each other. Two figures:

    fast      a reader limited to 40 % of what the workers can do, beside one that takes four times
              as long a batch: its rate, of that which it has alone
    jobs      ten jobs of five epochs, each begun somewhere within the first one's first epoch:
              images decoded of samples delivered; with rings that merge, with none that do, and
              with jobs that begin where the stream is (start=live)

    python3 tests/bench/pace.py [BUILD] [--seconds 8] [--samples 1000]

Every sample that is delivered is compared with what others were given at its position.
"""

import argparse
import os
import pathlib
import random
import sys
import tempfile
import threading
import time
import zlib

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "daemon"), str(HERE.parent / "demo")]

TRAIN = {"transforms": [{"name": "RandomResizedCrop", "size": 64},
                        {"name": "RandomHorizontalFlip"}],
         "dtype": "uint8", "layout": "NHWC", "order_seed": 7, "augment_seed": 9}
JOBS, EPOCHS = 10, 5


class Trainer(threading.Thread):
    """Attaches and takes batches, at most one each `step_s` seconds, until END or told to stop."""

    def __init__(self, daemon, data, seen, step_s=0, **fields):
        super().__init__(daemon=True)
        self.peer, self.seen, self.step_s = daemon.connect(), seen, step_s
        answer = self.peer.attach(data, **{**TRAIN, "accept_moves": True, **fields})
        assert answer.name == "attached", answer
        self.delivered, self.rings, self.stopped, self.at = 0, 0, False, (0, 0)

    def run(self):
        due = time.monotonic()
        while not self.stopped and (message := self.peer.receive(600)).name != "end":
            if message.name == "ring":
                self.peer.follow(message)
                self.rings += 1
            if message.name != "batch":
                continue
            self.check(message.fields)
            due = max(due + self.step_s, time.monotonic() - self.step_s)
            time.sleep(max(0, due - time.monotonic()))
            self.peer.release(message)
        if self.stopped:
            self.peer.close()

    def check(self, batch):
        """The same bytes for all at this position?"""
        position, image = batch["position"], self.peer.ring.fields["image"]
        for first, count in batch["runs"]:
            for slot in range(first, first + count):
                key = batch["epoch"], position
                if self.seen.setdefault(key, crc := zlib.crc32(image[slot])) != crc:
                    raise SystemExit(f"another sample at {key}")
                position += 1
        self.delivered += batch["count"]
        self.at = batch["epoch"], position

    def rate(self, seconds):
        """Samples a second from now on."""
        begin, before = time.monotonic(), self.delivered
        time.sleep(seconds)
        return (self.delivered - before) / (time.monotonic() - begin)

    def end(self):
        self.stopped = True
        self.join()


def fast_beside_slow(spawn, data, seconds):
    daemon, seen = spawn(), {}

    def alone(step_s):
        trainer = Trainer(daemon, data, seen, step_s, batch_size=16, epochs=0)
        trainer.start()
        time.sleep(1)
        rate = trainer.rate(seconds)
        trainer.end()
        daemon.settle()
        return rate

    full = alone(0)
    step_s = 16 / (0.4 * full)
    solo = alone(step_s)
    slow = Trainer(daemon, data, seen, 4 * step_s, batch_size=16, epochs=0)
    fast = Trainer(daemon, data, seen, step_s, batch_size=16, epochs=0)
    slow.start()
    fast.start()
    time.sleep(1)
    beside, its = fast.rate(seconds), slow.delivered
    values = daemon.status()
    moves = f"{values['forks_total']} forks, {values['merges_total']} merges"
    fast.end()
    slow.end()
    print(f"fast: all {full:.0f}/s, alone {solo:.0f}/s, beside one of a quarter {beside:.0f}/s: "
          f"{beside / solo:.3f} (bar 0.95); {moves}, the slow one had {its}, all alike")


def ten_jobs(spawn, data, samples, **fields):
    daemon, seen = spawn(), {}
    chance = random.Random(3)
    starts = sorted([0] + [chance.randrange(samples) for _ in range(JOBS - 1)])
    jobs = []
    for start in starts:  # by the first one's place, so that a busy machine changes nothing
        while jobs and jobs[0].at < (0, start):
            time.sleep(0.001)
        wish = {"batch_size": 8, "epochs": EPOCHS, **fields}
        if not jobs:
            wish["start"] = "position"
        jobs.append(Trainer(daemon, data, seen, **wish))
        jobs[-1].start()
    for job in jobs:
        job.join()
        job.peer.close()
    values = daemon.status()
    delivered = sum(job.delivered for job in jobs)
    assert delivered == values["samples_delivered_total"]
    return values["samples_decoded_total"] / delivered, values


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", nargs="?", default=str(HERE.parents[1] / "build"))
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--samples", type=int, default=1000)
    options = parser.parse_args()
    os.environ["STOKER_BUILD"] = str(pathlib.Path(options.build).resolve())
    import photos
    from harness import Daemon
    with tempfile.TemporaryDirectory() as folder:
        photos.make(pathlib.Path(folder) / "photos", count=60, size=(320, 240))
        files = sorted((pathlib.Path(folder) / "photos").glob("*/*"))
        manifest = pathlib.Path(folder) / "many.txt"
        lines = [f"{file.relative_to(folder)} 1\n" for file in files]
        manifest.write_text("".join(lines[i % len(lines)] for i in range(options.samples)))
        daemons = []

        def spawn():
            daemons.append(Daemon(workers=2).spawn())
            return daemons[-1]

        try:
            fast_beside_slow(spawn, manifest, options.seconds)
            for name, bar, fields in (("merging", 0.35, {}), ("live", 0.15, {"start": "live"}),
                                      ("staying", 1, {"accept_moves": False})):
                ratio, values = ten_jobs(spawn, manifest, options.samples, **fields)
                print(f"jobs, {name}: {ratio:.3f} decoded of delivered (bar {bar}); "
                      f"{values['forks_total']} forks, {values['merges_total']} merges",
                      flush=True)
        finally:
            for daemon in daemons:
                daemon.terminate()
                daemon.remove()


if __name__ == "__main__":
    main()
