#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A storm over producers: trainers whose own code raises, hangs, ends its process, crashes, takes
all memory, forks, prints megabytes and gives wrong shapes, while trainers, producers, their
templates and the daemon are killed and stopped at random, and producers come that tell the daemon
what is not so (FAULTS 92: by hand).

    own_code_storm.py [--seconds 600] [--trainers 4] [--producers 2] [--seed N]

What is looked at: each sample that a trainer got has the bytes that its index, epoch and position
mean; over all lives of a trainer no position is left out and none comes twice; trainers of one
stream have the same order; bad samples are those that are bad each time, and few that met a killed,
stopped or lying producer alone at their second attempt, too; nobody waits longer than
two deadlines, the start of a producer and a second (without the times in which the daemon or the
trainer was stopped or away); and at the end nothing is left: no process, descriptor or memory.
"""
import argparse
import collections
import contextlib
import ctypes
import hashlib
import json
import mmap
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy

HERE = pathlib.Path(__file__).resolve()
for folder in ("daemon", "../client/python"):
    sys.path.insert(0, str(HERE.parents[1] / folder))

import stoker  # noqa: E402
from stoker.produce.seeds import Seeds  # noqa: E402

SAMPLES, SEEDS = 400, (1, 2)  # streams: two trainers of each
DEADLINE_S, START_S = 2.0, 4.0
MARK = "STOKER_STORM"  # in the environment of all that the storm starts
RAISES, SHAPES, HOGS = (5, 105), (9, 209), (307,)  # samples that are bad each time
MEMORY = 256 << 20  # that a producer may take


class Wild:
    """A sample: its index, and random numbers. At each place it misbehaves once at most, so that a
    sample is good in the end."""

    def __init__(self, folder):
        self.folder = folder
        self.calls = 0

    def __getstate__(self):
        return {"folder": self.folder, "calls": 0}

    def __getitem__(self, index):
        if index in RAISES:
            raise ValueError("it is bad each time")
        if index in SHAPES:
            return index, numpy.zeros(7, numpy.float32)
        if index in HOGS:
            return self.hog()
        self.calls += 1
        if self.calls > 1 and MARK in os.environ:
            self.misbehave(stoker.sample())
        return good(index)

    def misbehave(self, at):
        chance = int.from_bytes(os.urandom(2), "little") / 65536
        ways = {0.001: self.hang, 0.002: self.leave, 0.003: self.crash, 0.005: self.fork,
                0.007: self.talk}
        for most, do in ways.items():
            if chance < most:
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(os.path.join(self.folder, f"{at.epoch}-{at.position}"),
                                     os.O_CREAT | os.O_EXCL))
                    do()
                return

    def hog(self):
        """As much as a limit allows, which only falls."""
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MEMORY
        with contextlib.suppress(ValueError):  # it has a lower one already
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        kept = []
        while True:
            kept.append(bytearray(1 << 24))

    def hang(self):
        time.sleep(3600)

    def leave(self):
        os._exit(3)

    def crash(self):
        ctypes.string_at(0)

    def fork(self):
        if not os.fork():
            os.setsid()
            time.sleep(3600)

    def talk(self):
        print("words " * 400000)


def good(index):
    return index, numpy.random.rand(50).astype(numpy.float32) + random.random()


def wanted(seed, index, epoch, position):
    """The digest of a sample's arrays."""
    Seeds(Wild("")).set(seed, epoch, position)
    return hashlib.sha256(good(index)[1].tobytes()).hexdigest()


# A trainer


def train(socket, folder, seed, producers, path):
    """Append a line of JSON for each sample: what it is, and the state behind it."""
    source = stoker.Source(Wild(folder), SAMPLES, gives="arrays", version="storm",
                           like=good(0))
    lines = lines_of(path)
    with connected(socket) as node, open(path, "a", encoding="ascii") as file:
        loader = node.loader(source, batch_size=1, seed=seed, num_workers=producers,
                             reconnect=120)
        if lines:
            loader.load_state_dict(lines[-1]["state"])
        while True:
            rows = loader.batches()
            asked = time.monotonic()
            while True:
                line = {}
                try:
                    batch = next(rows)
                    line = {"index": int(batch["image"][0]),
                            "digest": hashlib.sha256(batch["label"].tobytes()).hexdigest(),
                            "epoch": batch.epoch, "position": batch.position}
                    batch.release()
                except stoker.SampleError as error:
                    line = {"index": error.sample, "bad": str(error), "epoch": error.epoch,
                            "position": error.position}
                except StopIteration:
                    break
                got = time.monotonic()
                line.update(asked=asked, got=got, state=loader.state_dict())
                file.write(json.dumps(line) + "\n")
                file.flush()
                asked = time.monotonic()


def connected(socket):
    """The daemon may be away just when a trainer begins."""
    until = time.monotonic() + 120
    while True:
        try:
            return stoker.connect(socket)
        except stoker.DaemonUnavailable:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def lines_of(path):
    """Whole lines: a killed trainer's last one may be cut short, and is taken away."""
    path = pathlib.Path(path)
    data = path.read_bytes() if path.exists() else b""
    end = data.rfind(b"\n") + 1
    if end < len(data):
        os.truncate(path, end)
    return [json.loads(line) for line in data[:end].splitlines()]


# A liar


def lies(work, tray, chance):
    """What a producer with this work may say that is wrong, each a message or bytes; the last says
    nothing. That a sample failed is believed, and so are its bytes: those are no lies."""
    group, begin, room = (work[name] for name in ("group", "offset", "bytes"))

    def made(*samples, of=group):
        return {"name": "made", "group": of, "samples": list(samples)}
    for at in range(begin, begin + room, 4096):
        tray[at] = chance.randrange(256)
    return [made([0, begin + room, 64]), made([0, begin, room + 1]), made([0, (1 << 64) - 8, 64]),
            made([len(work["samples"]), begin, 8]), made([0, begin, 8], of=group + 1), made(),
            {"name": "failed", "group": group, "sample": 1 << 32, "text": "none"},
            {"name": "attach", "seq": 9}, b"\xff" * 64, b"\0\0\0\1\xc1", b""]


def lie(socket, code, secret, chance, counts):
    """Be a producer of the code until one lie is told, or a while without work."""
    from harness import Peer
    with contextlib.suppress(OSError, AssertionError, ValueError), Peer(socket) as peer:
        peer.hello()
        told = peer.request("produce", code=code, secret=secret, name="liar")
        with mmap.mmap(peer.fds[0], told.fields["bytes"]) as tray:
            work = peer.receive(DEADLINE_S)
            if work and work.name == "work":
                said = chance.choice(lies(work.fields, tray, chance))
                if isinstance(said, bytes):
                    peer.send_bytes(said)
                else:
                    peer.send(said.pop("name"), **said)
                counts["lies told"] += 1
                while peer.receive(DEADLINE_S):
                    pass


class Trainer:
    def __init__(self, storm, number):
        self.storm, self.seed = storm, SEEDS[number % len(SEEDS)]
        self.path = storm.folder / f"trainer-{number}"
        self.process, self.away = None, []

    def start(self):
        options = self.storm.options
        with open(f"{self.path}.log", "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(HERE), "--train", str(self.storm.daemon.socket),
                 str(self.storm.marks), str(self.seed), str(options.producers), str(self.path)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, MARK: str(self.storm.folder),
                     "XDG_RUNTIME_DIR": str(self.storm.home)})

    def kill(self):
        begin = time.monotonic()
        self.process.kill()
        self.process.wait()
        self.start()
        self.away.append((begin, time.monotonic() + START_S))


def children(pid):
    with contextlib.suppress(OSError):
        return [int(child) for child in
                pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def marked(folder):
    """Processes that the storm started, but for itself and the daemon."""
    out, mark = [], f"{MARK}={folder}".encode()
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (path / "environ").read_bytes().split(b"\0") and \
                    (path / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                out.append(int(path.name))
    return out


class Storm:
    def __init__(self, options):
        from harness import Daemon
        self.options, self.random = options, random.Random(options.seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-storm-"))
        self.marks, self.home = self.folder / "marks", self.folder / "home"
        self.marks.mkdir()
        self.home.mkdir(0o700)
        self.daemon = Daemon(producer_deadline=f"{DEADLINE_S:g}s")
        self.trainers = [Trainer(self, number) for number in range(options.trainers)]
        self.counts, self.down, self.due = collections.Counter(), [], []

    def templates(self):
        """By trainer."""
        return [(trainer, pid) for trainer in self.trainers
                for pid in children(trainer.process.pid)]

    def producers(self):
        return [pid for _, template in self.templates() for pid in children(template)]

    def pause(self, pid, seconds, trainer=None):
        begin = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
        self.due.append((begin + seconds, pid, begin, trainer))

    def go_on(self, everything=False):
        now = time.monotonic()
        for entry in [one for one in self.due if everything or one[0] <= now]:
            self.due.remove(entry)
            with contextlib.suppress(ProcessLookupError):
                os.kill(entry[1], signal.SIGCONT)
            away = (entry[2], time.monotonic() + 1)
            for one in [entry[3]] if entry[3] else []:
                one.away.append(away)
            if entry[1] == self.daemon.process.pid:
                self.down.append(away)

    def kill_producer(self):
        for pid in self.some(self.producers()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop_producer(self):
        for pid in self.some(self.producers()):
            self.pause(pid, self.random.uniform(0, 2 * DEADLINE_S))

    def kill_trainer(self):
        self.random.choice(self.trainers).kill()

    def stop_trainer(self):
        trainer = self.random.choice(self.trainers)
        self.pause(trainer.process.pid, self.random.uniform(0, 1), trainer)

    def stop_template(self):
        """It cannot start producers meanwhile: that is its trainer's time."""
        for trainer, pid in self.some(self.templates()):
            self.pause(pid, self.random.uniform(0, 1), trainer)

    def kill_daemon(self):
        begin = time.monotonic()
        self.daemon.kill()
        self.daemon.spawn()
        self.down.append((begin, time.monotonic() + START_S))

    def stop_daemon(self):
        self.pause(self.daemon.process.pid, self.random.uniform(0, 1))

    def send_liar(self):
        """It has the secret, as whatever the user runs."""
        path = self.home / "stoker-producers.secret"
        if path.exists():
            code = stoker.Source(Wild(""), SAMPLES, gives="arrays", version="storm", like=good(0))
            threading.Thread(target=lie, daemon=True, args=(
                self.daemon.socket, code.identity(), path.read_bytes(), self.random,
                self.counts)).start()

    def some(self, things):
        return [self.random.choice(things)] if things else []

    EVENTS = {kill_producer: 20, stop_producer: 8, kill_trainer: 2, stop_trainer: 3,
              stop_template: 2, kill_daemon: 1, stop_daemon: 2, send_liar: 4}

    def blow(self):
        end = time.monotonic() + self.options.seconds
        while time.monotonic() < end:
            event = self.random.choices(list(self.EVENTS), list(self.EVENTS.values()))[0]
            if event is not Storm.kill_daemon or not self.due:
                self.counts[event.__name__] += 1
                event(self)
            time.sleep(self.random.uniform(0.1, 1.0))
            self.go_on()
            for trainer in self.trainers:
                assert trainer.process.poll() is None, \
                    pathlib.Path(f"{trainer.path}.log").read_text()[-2000:]
        self.go_on(everything=True)

    def run(self):
        from harness import wait_for
        self.daemon.spawn()
        for trainer in self.trainers:
            trainer.start()
        try:
            self.blow()
            for trainer in self.trainers:
                had = len(lines_of_running(trainer.path))
                wait_for(lambda: len(lines_of_running(trainer.path)) > had,  # noqa: B023
                         f"{trainer.path.name} gets samples", 60)
        finally:
            for trainer in self.trainers:
                trainer.process.kill()
                trainer.process.wait()
        wait_for(lambda: not marked(self.folder),
                 lambda: f"no process is left: {marked(self.folder)}", 30)
        self.daemon.settle(seconds=30)
        self.daemon.terminate()
        return self.judge()

    def judge(self):
        order, silences, count, twice = {}, [], 0, 0
        for trainer in self.trainers:
            place = (0, 0)
            for line in lines_of(trainer.path):
                at = (line["epoch"], line["position"])
                assert at == place, f"{trainer.path.name}: {at} follows {place}"
                place = (at[0], at[1] + 1) if at[1] + 1 < SAMPLES else (at[0] + 1, 0)
                assert order.setdefault((trainer.seed, *at), line["index"]) == line["index"], \
                    f"another order at {at}"
                if line["index"] in (*RAISES, *SHAPES, *HOGS):
                    assert "bad" in line, f"{line['index']} was not bad"
                elif "bad" in line:
                    assert "twice" in line["bad"], line
                    twice += 1
                else:
                    assert line["digest"] == wanted(trainer.seed, line["index"], *at), \
                        f"other bytes at {at}"
                waited = self.waited(trainer, line)
                silences.append((waited, trainer.path.name, at))
                count += 1
        for seed in SEEDS:
            epochs = {epoch for one, epoch, _ in order if one == seed}
            for epoch in epochs - {max(epochs, default=0)}:
                seen = sorted(index for (one, at, _), index in order.items()
                              if (one, at) == (seed, epoch))
                assert seen == list(range(SAMPLES)), f"epoch {epoch} is not all samples"
        longest = max(silences)
        assert longest[0] <= 2 * DEADLINE_S + START_S + 1, f"a silence of {longest}"
        assert 100 * twice < count, f"{twice} good samples were bad"
        return {"samples": count, "bad twice": twice, "silence_s": round(longest[0], 2),
                **self.counts}

    def waited(self, trainer, line):
        left, begin = line["got"] - line["asked"], line["asked"]
        for since, until in sorted(trainer.away + self.down):
            if until > begin and since < line["got"]:
                left -= min(until, line["got"]) - max(since, begin)
                begin = max(begin, min(until, line["got"]))
        return left

    def remove(self):
        for pid in marked(self.folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.daemon.process and self.daemon.process.poll() is None:
            self.daemon.kill()
        self.daemon.remove()
        shutil.rmtree(self.folder, ignore_errors=True)


def lines_of_running(path):
    return path.read_bytes().splitlines() if path.exists() else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--trainers", type=int, default=4)
    parser.add_argument("--producers", type=int, default=2, help="of each trainer")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    options = parser.parse_args()
    print(f"own_code_storm: {options.trainers} trainers, {options.producers} producers each, "
          f"{options.seconds:g} s, seed {options.seed}", flush=True)
    storm = Storm(options)
    try:
        print(storm.run())
    finally:
        storm.remove()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        import own_code_storm as importable  # producers find its code by this name
        importable.train(*sys.argv[2:4], int(sys.argv[4]), int(sys.argv[5]), sys.argv[6])
    else:
        main()
