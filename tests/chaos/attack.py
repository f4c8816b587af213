#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One user attacks a daemon in every way that docs/THREATS.md lists, all at once, while two
trainers of another user are at work; and what these get of it. By hand, as root: it takes three
real uids and a control group.

    attack.py [--seconds 30] [--memory 300] [--data FOLDER]

The daemon is a third user's, in a group with so many MB, with no limit set but those of seek
indexes and rings. The trainers take batches of 32 pictures of 224 x 224, as fast as they come.
Three times, each with a daemon of its own: with an honest neighbour of the other uid who wants as
much; attacked; and alone. The share is what the workers spent on the two trainers, of all that they
spent: their images times what an image costs beside the honest neighbour. Half of it is theirs.
Attackers run at nice 19, beside them trainers have less of the processors: images/s are reported
and have no bar.

Bytes: each sample is compared with what came of it alone. What each attack came to is printed; one
that did not reach what it is at fails the run.
"""

import argparse
import collections
import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "daemon"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "demo"))
import photos  # noqa: E402 (they stand in the tests' folders)
from attacks import NAMES, STREAM, prepare  # noqa: E402
from chaos import TRAINER, batches_of  # noqa: E402
from harness import BUILD, Daemon, installed, wait_for  # noqa: E402
from memory_group import MemoryGroup  # noqa: E402
from users import ALICE, BOB, SERVER, start  # noqa: E402

SEEN = ("connections", "readers", "rings", "ring_bytes", "ring_bytes_kept", "stuck_tasks",
        "descriptors_in_flight", "log_dropped_total")
ATTACKS = pathlib.Path(__file__).with_name("attacks.py")
CROP = "RandomResizedCrop(size=224) | RandomHorizontalFlip()"
TICK = os.sysconf("SC_CLK_TCK")
BAR = 0.9  # of the half
# What shows that an attack came to what it is at: of its tally, and of what the daemon says of
# itself meanwhile. They begin stage by stage: the later ones take all that their user may have, its
# openings last, and would keep the others from what they are at. Rings are first, as those of the
# others leave no room for them.
STAGES = (("rings",), ("poison", "statistics"), ("stand_still", "work", "code", "greed"),
          ("read", "like", "oddities", "in_flight", "arrays", "words"),
          ("openings",), ("dead_mount", "connections"))
assert sorted(sum(STAGES, ())) == sorted(NAMES)
STAGE_S = 40  # most come to it in some seconds
REACHED = {
    "read": lambda tally, seen: tally["permission"] >= 10,
    "like": lambda tally, seen: tally["as-of-none"] >= 10 and not tally["otherwise"],
    "oddities": lambda tally, seen: tally["hung-up"] + tally["protocol"] >= 10,
    "poison": lambda tally, seen: tally["batch"] >= 10,
    "statistics": lambda tally, seen: tally["report"] > 16,  # more than are kept
    "rings": lambda tally, seen: tally["attached"] and tally["limit"] + tally["memory"]
    and seen["ring_bytes_kept"],
    "connections": lambda tally, seen: tally["limit"],
    "in_flight": lambda tally, seen: tally["unread"] and seen["descriptors_in_flight"] >= 8,
    "openings": lambda tally, seen: tally["dataset"],
    "dead_mount": lambda tally, seen: tally["hanging"] and seen["stuck_tasks"],
    "arrays": lambda tally, seen: tally["attached"] + tally["dataset"],
    "stand_still": lambda tally, seen: tally["attached"],
    "work": lambda tally, seen: tally["pipeline"] and tally["attached"],
    "code": lambda tally, seen: tally["field"] >= 10,
    "greed": lambda tally, seen: tally["batch"],
    "words": lambda tally, seen: tally["permission"] and seen["log_dropped_total"],
}


def as_user(uid, *command, nice=0):
    ids = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    return subprocess.Popen(["nice", f"-n{nice}", *ids, *map(str, command)],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=None if uid == ALICE else subprocess.DEVNULL,
                            env={**os.environ, "HOME": "/"})


class Trainers:
    """Two, of one user, who share nothing."""

    def __init__(self, folder, uid, daemon, dataset):
        self.files = [folder / f"{uid}-{seed}-{time.monotonic_ns()}" for seed in (1, 2)]
        for path in self.files:
            path.touch()
            os.chown(path, uid, uid)
        self.processes = [
            as_user(uid, installed(TRAINER), path, 0, f"socket={daemon.socket}",
                    f"dataset={dataset}",
                    f"transforms={CROP}", "dtype=uint8", "batch_size=32", f"order_seed={seed}",
                    "augment_seed=1", "epochs=0")
            for seed, path in zip((1, 2), self.files)]

    def counts(self):
        return [sum(len(batch.digests) for batch in batches_of(path)) for path in self.files]

    def count(self):
        return sum(self.counts())

    def samples(self):
        """{(stream, epoch, position): digest}"""
        out = {}
        for number, path in enumerate(self.files):
            for batch in batches_of(path):
                for i, digest in enumerate(batch.digests.tolist()):
                    out[number, batch.epoch, batch.position + i] = digest
        return out

    def check(self):
        """None; raises if one has ended."""
        assert all(process.poll() is None for process in self.processes), "a trainer has ended"

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


class Siege:
    def __init__(self, folder, data, memory):
        self.folder, self.memory = folder, memory << 20
        folder.chmod(0o755)
        self.album, self.mine, secret = (folder / name for name in ("album", "mine", "secret"))
        if data:
            shutil.copytree(data, self.album)
        else:
            photos.make(self.album, count=400, size=(500, 375), plain=True)
        self.mine.mkdir()
        os.chown(self.mine, BOB, BOB)
        prepare(folder)
        shutil.copytree(next(self.album.glob("*/")), secret / "class")
        name = next((secret / "class").iterdir()).name
        (secret / "list.txt").write_text(f"class/{name} 1\n")
        os.chown(secret, SERVER, SERVER)
        secret.chmod(0o700)
        self.gate = folder / "gate"
        self.gate.touch()
        self.seen, self.due, self.idle = collections.Counter(), 0, []

    @contextlib.contextmanager
    def daemon(self, group):
        """Nobody reads its log, which is a pipe."""
        faults = {"LD_PRELOAD": str(installed(BUILD / "tests/libfaults.so")),
                  "STOKER_TEST_GATE": str(self.gate)}
        ids = ["setpriv", f"--reuid={SERVER}", f"--regid={SERVER}", "--clear-groups"]
        reads, writes = os.pipe()
        fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)  # a few lines, and it is full
        quiet = ["sh", "-c", f'exec "$@" >/proc/{os.getpid()}/fd/{writes} 2>&1', "sh"]
        daemon = Daemon(launcher=[*quiet, *group.launcher(), *ids,
                                  "env", *(f"{name}={value}" for name, value in faults.items())],
                        environment={"HOME": "/"}, socket_mode="0666", cache_memory=None,
                        dataset_root=f"{self.folder}/public",
                        config=self.config())
        try:
            start(daemon)
            (self.mine / "daemon").write_text(str(daemon.process.pid))
            yield daemon
            assert daemon.process.poll() is None, "the daemon has ended"
        finally:
            daemon.kill()
            daemon.remove()
            os.close(reads)
            os.close(writes)

    def config(self):
        path = self.folder / "stokerd.conf"
        # By default rings, datasets and pictures get a quarter of the memory each. Beside the two
        # trainers' rings that leaves less than one producer's tray takes, and "code" would come to
        # nothing; so rings get more here, and the others less: in sum they stay below the group's.
        path.write_text(f"[stokerd]\ndataset-root = {self.album}\nring-memory = 150M\n"
                        "dataset-memory = 40M\ncache-memory = 40M\n")
        return path

    def run(self, seconds, against=None, wanted=0):
        """(images, the neighbour's, seconds of the workers, seconds, most bytes of the daemon,
        samples: of each trainer at least so many as `wanted`)"""
        with MemoryGroup(self.memory) as group, self.daemon(group) as daemon:
            trainers = Trainers(self.folder, ALICE, daemon, self.album)
            others, neighbour = [], None
            try:
                wait_for(lambda: trainers.check() or trainers.count(), "the first batch", 60)
                if against == "neighbour":
                    neighbour = Trainers(self.folder, BOB, daemon, self.album)
                    wait_for(neighbour.count, "its first batch", 60)
                elif against == "attack":
                    self.attack(daemon, others)
                result = self.measure(daemon, group, trainers, neighbour, seconds)
                wait_for(lambda: trainers.check() or min(trainers.counts()) >= wanted,
                         "as many samples as were attacked", 600 + 3 * seconds)
                if against == "attack":
                    self.report(daemon, others)
                return (*result, trainers.samples())
            finally:
                for process in others:
                    process.kill()
                    process.wait()
                for one in (trainers, neighbour):
                    if one:
                        one.end()

    def attack(self, daemon, others):
        """All of them; who has come to nothing by the end of its stage may later, or is told."""
        for names in STAGES:
            others += [as_user(BOB, sys.executable, ATTACKS, name, daemon.socket, self.folder,
                               nice=19) for name in names]
            until = time.monotonic() + STAGE_S
            while time.monotonic() < until and not all(
                    REACHED[name](self.tallies().get(name, collections.Counter()), self.seen)
                    for name in names):
                self.look(daemon)
                time.sleep(0.2)

    def measure(self, daemon, group, trainers, neighbour, seconds):
        begun, before = time.monotonic(), trainers.count()
        others = neighbour.count() if neighbour else 0
        workers, most = worker_seconds(daemon), 0
        while time.monotonic() < begun + seconds:
            time.sleep(0.2)
            trainers.check()
            most = max(most, group.now())
            self.look(daemon)
        count = trainers.count() - before
        others = neighbour.count() - others if neighbour else 0
        assert group.kills() == 0, "the kernel has killed the daemon"
        return count, others, worker_seconds(daemon) - workers, time.monotonic() - begun, most

    def look(self, daemon):
        """Keep the most of what the daemon says of itself, asked once a second."""
        if time.monotonic() < self.due:
            return
        self.due = time.monotonic() + 1
        status = daemon.status()
        for name in SEEN:
            self.seen[name] = max(self.seen[name], status[name])

    def report(self, daemon, others):
        assert all(process.poll() is None for process in others), "an attacker has ended"
        self.due = 0
        self.look(daemon)
        for name in SEEN:
            print(f"  {name:24} {self.seen[name]} at most")
        for name, tally in self.tallies().items():
            good = REACHED[name](tally, self.seen)
            print(f"  {name:24} {dict(tally)}{'' if good else ': DID NOTHING'}")
            if not good:
                self.idle.append(name)

    def tallies(self):
        """{attack: {answer: how many}}, of those that have had any."""
        out = {}
        for path in sorted(self.mine.glob("tally-*")):
            words = path.read_text().split()
            if words:
                out[path.name.removeprefix("tally-")] = collections.Counter(
                    dict(zip(words[::2], map(int, words[1::2]))))
        return out

    def breaches(self):
        return [f"{path.name}: {path.read_text()}" for path in self.mine.glob("breach-*")]


def worker_seconds(daemon):
    """CPU time of the threads that decode and transform."""
    total = 0
    for folder in pathlib.Path(f"/proc/{daemon.process.pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # one that has ended
            name, _, rest = (folder / "stat").read_text().partition(") ")
            if "(work-" in name:
                total += sum(map(int, rest.split()[11:13]))
    return total / TICK


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--memory", type=int, default=300, help="MB of the daemon's control group")
    parser.add_argument("--data", help="pictures by class, else some are made")
    options = parser.parse_args()
    if os.geteuid():
        sys.exit("attack.py: needs root, to be several users")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-attack-", dir="/var/tmp"))
    try:
        siege = Siege(folder, options.data, options.memory)
        sys.exit(0 if judge(siege, options.seconds) else 1)
    finally:
        shutil.rmtree(folder)


def judge(siege, seconds):
    assert STREAM["batch_size"] == 32
    count, others, workers, lasted, most = siege.run(seconds, "neighbour")[:5]
    cost = workers / (count + others)
    print(f"beside an honest neighbour: {count / lasted:.0f} images/s, the neighbour "
          f"{others / lasted:.0f}; {cost * 1e3:.2f} ms of a worker each; {most >> 20} MB")
    count, _, workers, lasted, most, attacked = siege.run(seconds, "attack")
    share = count * cost / workers
    print(f"attacked: {count / lasted:.0f} images/s; {share:.2f} of the workers' time; "
          f"{most >> 20} of {siege.memory >> 20} MB at most")
    wanted = max(sum(number == one for one, _, _ in attacked) for number in (0, 1))
    calm_count, _, _, lasted, _, calm = siege.run(seconds, wanted=wanted)
    print(f"alone: {calm_count / lasted:.0f} images/s")
    wrong = [key for key in attacked if attacked[key] != calm[key]]
    breaches = siege.breaches()
    print(f"{len(attacked)} samples compared, {len(wrong)} are wrong")
    print(*breaches, sep="\n")
    good = (share >= BAR / 2 and not wrong and not breaches and not siege.idle
            and most < siege.memory)
    print(f"{share * 2:.2f} of its share (bar {BAR}): {'good' if good else 'NOT GOOD'}")
    return good


if __name__ == "__main__":
    main()
