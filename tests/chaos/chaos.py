#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Chaos: readers, whole jobs and the daemon itself are killed and stopped at random while workers
come and go; nobody may notice in the bytes (FAULTS 59: by hand, for days).

    chaos.py [--seconds 600] [--readers 64] [--seed N]

What is looked at: every sample of every reader has the digest that a calm daemon gives at its
position; each reader's positions are without a gap and without a repetition, over all its deaths;
nobody waits long for another's death (the longest silence is printed: from asking for a batch to
getting it, without the time that a rank of its job was stopped, or killed and not dead yet, or at
its own work, or the daemon down); and at the end nothing is left: no lease, ring, descriptor,
thread or segment. The seed is printed: the same seed does the same to the same readers, at about
the same times.
"""

import argparse
import collections
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "daemon"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "demo"))
import photos  # noqa: E402
from harness import BUILD, SLOW, Daemon, wait_for  # noqa: E402
from memory_group import MemoryGroup  # noqa: E402

TRAINER = BUILD / "tests" / "chaos" / "trainer"
FILES, LINES = 60, 1500  # pictures, and samples that name them
HEAD = numpy.dtype([(name, "<u8") for name in
                    ("asked_ns", "got_ns", "epoch", "position", "count", "next_epoch",
                     "next_position")])
CROP = "RandomResizedCrop(size=32) | RandomHorizontalFlip()"
# The last two decode each image once for both; the first two have nothing in common.
STREAMS = ({"transforms": CROP, "dtype": "uint8", "order_seed": 1, "augment_seed": 1},
           {"transforms": "Resize(size=40) | CenterCrop(size=32)", "order_seed": 2},
           {"transforms": CROP, "dtype": "uint8", "order_seed": 3, "augment_seed": 1},
           {"transforms": CROP, "dtype": "uint8", "order_seed": 3, "augment_seed": 2})

AWAY_S = 0.1  # a trainer that works on a batch for longer holds its mates up

Batch = collections.namedtuple("Batch", "asked got epoch position digests next")


def batches_of(path):
    """The records of a trainer's file; a killed trainer's last one may be cut short."""
    data, at, out = path.read_bytes() if path.exists() else b"", 0, []
    while len(data) - at >= HEAD.itemsize:
        asked_ns, got_ns, epoch, position, count, *place = map(
            int, numpy.frombuffer(data, HEAD, 1, at)[0])
        end = at + HEAD.itemsize + 8 * count
        if end > len(data):
            break
        out.append(Batch(asked_ns / 1e9, got_ns / 1e9, epoch, position,
                         numpy.frombuffer(data, "<u8", count, at + HEAD.itemsize), tuple(place)))
        at = end
    return out


def own_work(batches):
    """(begin, end) of the times when a trainer itself was long in asking for its next batch: its
    disk or its processor was busy."""
    return [(one.got, other.asked) for one, other in zip(batches, batches[1:])
            if other.asked - one.got > AWAY_S]


def uncovered(begin, end, times):
    """Seconds from begin to end that are in none of these (begin, end), which are in order."""
    left = end - begin
    for since, until in times:
        if until > begin and since < end:
            left -= min(until, end) - max(since, begin)
            begin = max(begin, min(until, end))
    return left


class Reader:
    """One rank of a job, through all its lives. Each life has a file of its own."""

    def __init__(self, job, rank):
        self.job, self.rank = job, rank
        self.world, self.batch_size = job.world, job.batch_size
        self.process, self.files, self.starts = None, [], []
        self.stopped = []  # (begin, end) on the monotonic clock; also of dying

    def __str__(self):
        return f"{self.job.name}/{self.rank}"

    def place(self):
        """Where the next life goes on: behind the last whole record, or where the first began."""
        for path in reversed(self.files):
            batches = batches_of(path)
            if batches:
                return batches[-1].next
        return self.starts[0]

    def start(self, place):
        job = self.job
        path = job.folder / f"{job.name}-{job.lives}-{self.rank}-{len(self.files)}"
        self.files.append(path)
        self.starts.append(place)
        options = {**STREAMS[job.stream], "dataset": job.dataset, "dataset_root": "/",
                   "socket": job.socket, "batch_size": self.batch_size, "rank": self.rank,
                   "world": self.world, "job": job.name, "reconnect_ms": 60000,
                   "epoch": place[0], "position": place[1]}
        self.process = subprocess.Popen(
            [str(TRAINER), str(path), str(job.delay_us)]
            + [f"{name}={value}" for name, value in options.items()], stdin=subprocess.DEVNULL)

    def kill(self):
        begin = time.monotonic()
        self.process.kill()
        self.process.wait()
        self.stopped.append((begin, time.monotonic()))

    def pause(self):
        self.stopped_at = time.monotonic()
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.stopped.append((self.stopped_at, time.monotonic()))

    def follows(self, place):
        """(epoch, position) of this rank's batch at a place between global batches."""
        epoch, position = place
        own = position + self.rank * self.batch_size
        return (epoch, own) if own < LINES else (epoch + 1, self.rank * self.batch_size)


class Job:
    """Some readers that share the epochs of a stream; when all are killed they come back as others:
    another world size, other batches, from the last place that none of them was beyond."""

    def __init__(self, chaos, number):
        self.name, self.stream = f"job{number}", number % len(STREAMS)
        self.folder, self.dataset, self.socket = chaos.folder, chaos.dataset, chaos.daemon.socket
        self.random, self.delay_us = chaos.random, chaos.random.choice((0, 500, 3000, 20000))
        self.lives, self.place, self.readers, self.past = 0, (0, 0), [], []

    def start(self, world):
        self.lives += 1
        self.world, self.batch_size = world, self.random.choice((4, 8, 16))
        self.past += self.readers
        self.readers = [Reader(self, rank) for rank in range(world)]
        for reader in self.readers:
            reader.start(self.place)

    def kill(self):
        for reader in self.readers:
            reader.kill()
        self.place = min(reader.place() for reader in self.readers)


class Chaos:
    """The run: a daemon, its supervisor, the jobs, and who does things to them."""

    def __init__(self, options):
        self.options, self.random = options, random.Random(options.seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-chaos-"))
        self.counts, self.down, self.due = collections.Counter(), [], []
        self.fresh = None  # what a daemon uses that never had a reader
        self.happened = []  # (begin, end, what), of events and of our own oversleeping
        self.dataset = self.folder / "samples.tsv"
        made = [str(path) for path in sorted(self.make_photos().rglob("*")) if path.is_file()]
        self.dataset.write_text("".join(f"{made[i % FILES][1:]}\t{i % 10}\n"
                                        for i in range(LINES)))
        kept = {"cache_memory": options.cache_memory} if options.cache_memory else {}
        if options.cache_decoded_size:
            kept |= {"cache_dir": self.folder / "cache",
                     "cache_decoded_size": options.cache_decoded_size}
        self.daemon = Daemon(launcher=options.launcher, workers=2, **kept)

    def make_photos(self):
        photos.make(str(self.folder / "photos"), count=FILES, size=(80, 60))
        return self.folder / "photos"

    # What may happen

    def kill_reader(self):
        reader = self.any_reader()
        reader.kill()
        self.later(0.5, reader, lambda: reader.start(reader.place()))
        return reader

    def stop_reader(self):
        reader = self.any_reader()
        reader.pause()
        self.later(3, reader, reader.resume)
        return reader

    def kill_job(self):
        job = self.random.choice(self.jobs)
        if any(reader in self.busy for reader in job.readers):
            return None
        job.kill()
        job.start(self.random.choice((1, 2, 4)))
        return job.name

    def kill_daemon(self):
        begun = time.monotonic()
        self.daemon.kill()
        self.daemon.spawn()
        self.down.append((begun, time.monotonic()))

    def set_workers(self):
        self.daemon.set("workers", self.random.randint(1, 6))

    EVENTS = ((kill_reader, 10), (stop_reader, 8), (kill_job, 4), (kill_daemon, 1),
              (set_workers, 3))

    # How

    def any_reader(self):
        free = [reader for job in self.jobs for reader in job.readers if reader not in self.busy]
        return self.random.choice(free)

    @property
    def busy(self):
        """Readers that something is about to be undone to: the dead and the stopped."""
        return {reader for _, reader, _ in self.due}

    def later(self, seconds, reader, undo):
        self.due.append((time.monotonic() + self.random.uniform(0, seconds), reader, undo))

    def undo(self, everything=False):
        now = time.monotonic()
        for entry in list(self.due):
            if everything or entry[0] <= now:
                self.due.remove(entry)
                entry[2]()

    def check_alive(self):
        for job in self.jobs:
            for reader in job.readers:
                code = reader.process.poll()
                assert code is None or reader in self.busy, \
                    f"{job.name} rank {reader.rank} ended by itself: {code}"

    def note(self, what, do, least=0):
        begin = time.monotonic()
        who = do()
        if time.monotonic() - begin >= least:
            self.happened.append((begin, time.monotonic(), f"{what} {who}" if who else what))

    def storm(self):
        events, weights = zip(*self.EVENTS)
        end = time.monotonic() + self.options.seconds
        while time.monotonic() < end:
            event = self.random.choices(events, weights)[0]
            self.counts[event.__name__] += 1
            self.note(event.__name__, lambda: event(self))  # noqa: B023
            pause = time.monotonic() + self.random.uniform(0.02, 0.4)
            while time.monotonic() < pause:
                self.note("a sleep of 0.01 s", lambda: time.sleep(0.01), least=0.1)
                self.undo()
            self.check_alive()
        self.undo(everything=True)

    def run(self):
        self.daemon.spawn()
        self.fresh = self.daemon.usage()
        self.jobs, left = [], self.options.readers
        while left > 0:
            job = Job(self, len(self.jobs))
            self.jobs.append(job)
            job.start(min(left, self.random.choice((1, 1, 2, 4))))
            left -= job.world
        try:
            self.storm()
            self.calm_down()
        finally:
            for job in self.jobs:
                for reader in job.readers:
                    reader.process.kill()
                    reader.process.wait()
        self.nothing_left()
        return self.judge()

    def calm_down(self):
        """A while without events: everybody comes on."""
        count = {reader: len(batches_of(reader.files[-1]))
                 for job in self.jobs for reader in job.readers}
        for reader, had in count.items():
            wait_for(lambda: len(batches_of(reader.files[-1])) > had,  # noqa: B023
                     f"{reader.job.name} rank {reader.rank} gets batches", 60 * SLOW)
        self.check_alive()

    def nothing_left(self):
        """The daemon without readers is as one that never had any."""
        self.daemon.settle(seconds=30 * SLOW)
        wait_for(lambda: not self.daemon.status()["ring_bytes_kept"], "no ring is held any more")
        used = []

        def given_back():
            """A task that frees or writes something has a descriptor while it runs."""
            used[:] = [self.daemon.usage()]
            return used[0].fds <= self.fresh.fds

        wait_for(given_back, lambda: f"descriptors are given back: {used}, fresh: {self.fresh}")
        self.daemon.terminate()
        assert not self.daemon.shared_names(), "shared memory was left"

    # What came of it

    def judge(self):
        lives = [reader for job in self.jobs for reader in job.past + job.readers]
        got = {reader: [batches_of(path) for path in reader.files] for reader in lives}
        last = collections.Counter()
        for reader, files in got.items():
            for batches in files:
                for batch in batches[-1:]:
                    last[reader.job.stream] = max(last[reader.job.stream], batch.epoch)
        calm = {stream: self.calm(stream, last[stream] + 1) for stream in last}
        for reader, files in got.items():
            self.check(reader, files, calm.get(reader.job.stream))
        away = {job: self.away(job, got) for job in self.jobs}
        silence, begin, end, reader = max(
            ((*self.longest_silence(batches, away[reader.job]), reader)
             for reader, files in got.items() for batches in files), key=lambda one: one[0])
        self.describe(reader, begin, end, got)
        return {"samples": sum(len(batch.digests) for files in got.values()
                               for batches in files for batch in batches),
                "silence_s": silence, **self.counts}

    def describe(self, silent, begin, end, got):
        """The longest silence: of whom, who else got nothing, and what was done meanwhile."""
        middle = (begin + (end - begin) / 4, end - (end - begin) / 4)
        lives = [batches for files in got.values() for batches in files
                 if batches and batches[0].got < begin and batches[-1].got > end]
        fed = sum(any(middle[0] < batch.got < middle[1] for batch in batches)
                  for batches in lives)
        print(f"longest silence: {end - begin:.2f} s of {silent} (stream {silent.job.stream}, "
              f"world {silent.world}, batches of {silent.batch_size}); in the middle half of it "
              f"{fed} of {len(lives)} readers got batches; meanwhile:")
        for since, until, what in self.happened:
            if until > begin - 0.5 and since < end:
                print(f"  {since - begin:6.2f} to {until - begin:.2f} s  {what}")

    def check(self, reader, files, calm):
        """Over all lives of a rank: nothing left out, nothing twice, and the right bytes."""
        place = reader.starts[0]
        for path, batches in zip(reader.files, files):
            for batch in batches:
                assert (batch.epoch, batch.position) == reader.follows(place), \
                    f"{path.name}: {batch.epoch}, {batch.position} follows {place}"
                want = calm[batch.epoch][batch.position:][:len(batch.digests)]
                assert (want == batch.digests).all(), \
                    f"{path.name}: other bytes at {batch.epoch}, {batch.position}"
                place = batch.next

    def away(self, job, got):
        """[(begin, end)] in order: when the daemon was down (who connects again waits up to a
        second more), or a rank of the job was stopped, or had been killed and lived on (on a
        machine short of memory that takes seconds), or at its own work. Ranks keep together."""
        times = [(begin, end + 1) for begin, end in self.down]
        for mate in job.past + job.readers:
            times += mate.stopped
            times += [busy for batches in got[mate] for busy in own_work(batches)]
        return sorted(times)

    def longest_silence(self, batches, away):
        """Seconds that a batch was waited for, without those times; and when that was."""
        longest = (0, 0, 0)
        for batch in batches:
            if batch.got - batch.asked > longest[0]:
                waited = uncovered(batch.asked, batch.got, away)
                longest = max(longest, (waited, batch.asked, batch.got))
        return longest

    def calm(self, stream, epochs):
        """[epoch][position] -> digest, of a daemon with one worker and one reader."""
        daemon = Daemon(workers=1).spawn()
        path = self.folder / f"calm-{stream}"
        options = {**STREAMS[stream], "dataset": self.dataset, "dataset_root": "/",
                   "socket": daemon.socket, "batch_size": 50, "epochs": epochs}
        try:
            subprocess.run([str(TRAINER), str(path), "0"]
                           + [f"{name}={value}" for name, value in options.items()], check=True)
            daemon.terminate()
        finally:
            daemon.remove()
        batches = batches_of(path)
        digests = numpy.concatenate([batch.digests for batch in batches])
        return digests.reshape(epochs, LINES)

    def remove(self):
        if self.daemon.process and self.daemon.process.poll() is None:
            self.daemon.kill()
        self.daemon.remove()
        shutil.rmtree(self.folder, ignore_errors=True)


def run(seconds, readers, seed, launcher=(), **kept):
    """One storm; what was counted. Raises AssertionError for whatever went wrong."""
    print(f"chaos: {readers} readers, {seconds:g} s, seed {seed}", flush=True)
    kept = {"cache_memory": None, "cache_decoded_size": None, **kept}
    chaos = Chaos(argparse.Namespace(seconds=seconds, readers=readers, seed=seed,
                                     launcher=launcher, **kept))
    try:
        return chaos.run()
    finally:
        chaos.remove()


def run_in_group(limit, *storm, **kept):
    """The same with the daemon in a control group of this memory, where nobody may be killed."""
    with MemoryGroup(limit) as group:
        seen = run(*storm, launcher=group.launcher(), **kept)
        assert group.kills() == 0, "the daemon was killed for lack of memory"
        seen["peak_mb"] = group.peak() >> 20
        return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--readers", type=int, default=64)
    parser.add_argument("--cache-memory", help="of the daemon; all pictures take about 30M")
    parser.add_argument("--cache-decoded-size", help="of the daemon, on the disk")
    parser.add_argument("--cgroup", metavar="SIZE", help="memory of the daemon's control group: 2G")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    options = parser.parse_args()
    storm = options.seconds, options.readers, options.seed
    kept = {"cache_memory": options.cache_memory, "cache_decoded_size": options.cache_decoded_size}
    seen = run_in_group(options.cgroup, *storm, **kept) if options.cgroup else run(*storm, **kept)
    print("all bytes right, nothing left: "
          + ", ".join(f"{name} {value:.3g}" if name == "silence_s" else f"{name} {value}"
                      for name, value in seen.items()))


if __name__ == "__main__":
    main()
