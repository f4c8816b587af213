# SPDX-License-Identifier: MIT
"""The clients of other languages beside the one in C, by hand:

    tests/bench/languages.py [--build BUILD] [--clients go,node] [--rounds 21] [--epochs 1000]
                             [--only throughput,batch,growth,seek] [--seeks 50]

    throughput  images a second, by the wall, of pixel arrays of 32 x 32 in batches of 128 and of
                224 x 224 in batches of 64 and 256, one byte of each cache line read. C and the
                other client in turn, each with a daemon of its own, and as much as a ring holds,
                once it is full and each of its batches is announced: `inflight` is all of them,
                else small batches are paced by the daemon's answers to RELEASE. Their sums of bytes
                must be equal. Each reads the bytes in its own language, but Python in C, as its
                libraries do: what is measured is not NumPy's sum. CPU time is shown beside it: on
                a machine with other work that is the one to look at.
    batch       what a batch costs the client, whatever is in it: its CPU time for batches of one
                sample of 8 x 8, beside C's. No bar: what counts is its part of a batch.
    growth      memory, mappings and descriptors of a client that reads a small set for many epochs,
                and one that seeks as often: after the first half nothing may grow.
    seek        from a place to a batch at another one, of 10^9 positions (a weighted sampler with
                num_samples), and the CPU time of client and daemon for it. No bar for that: it
                is what a busy machine does not change.

The programs are those of the conformance suite (docs/LANGUAGES.md), as a user builds and starts
them; a language that is not there is skipped, and said. Exits with 1 if a bar is missed.
"""

import argparse
import contextlib
import math
import os
import pathlib
import random
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "conformance"), str(HERE.parent / "daemon")]

import numpy  # noqa: E402
from machine import cpu_seconds, model  # noqa: E402
from table import Row, show  # noqa: E402

# Images, edge, batch, batches in a ring.
ARRAYS = {"small": (8192, 32, 128, 512), "large": (512, 224, 64, 40), "larger": (512, 224, 256, 10)}
DAEMON = {"workers": 1, "ring_memory": "2G"}  # the other core is the client's
IDLE, PAUSE_S = 5, 0.01
AT_LEAST = {"node": 0.9, "java": 0.9}
NO_BAR = {"node-copies"}  # said, not judged
UNMEASURED = {"go-race", "rust-asan"}
OTHERS = 0.95
WARM = 5  # rounds
COMPILED_LATE = {"java": 60}  # rounds: its compiler has seen all that is hot by then
POSITIONS = 10**9
SEEK_MS = 10
# In 500 epochs. What runtimes keep for themselves goes up and down: heaps are exact.
MORE = {"heap KB": 64, "anonymous KB": 4096, "mappings": 8, "descriptors": 1}
LOOKS = 10


def attach_of(path, batch, **fields):
    return {"dataset": {"path": str(path)}, "transforms": [], "dtype": "uint8", "layout": "NHWC",
            "order_seed": 1, "batch_size": batch, **fields}


def arrays(folder, name, count, edge):
    path = pathlib.Path(folder) / f"{name}.npy"
    if not path.exists():
        pixels = numpy.random.default_rng(1).integers(0, 256, (count, edge, edge, 3), numpy.uint8)
        numpy.save(path, pixels)
    return path


@contextlib.contextmanager
def stokerd():
    from harness import Daemon
    daemon = Daemon(**DAEMON).spawn()
    try:
        yield daemon
    finally:
        daemon.terminate()
        daemon.remove()


class Side:
    """A client that was told to attach; with a daemon of its own, unless one is given."""

    def __init__(self, options, name, attach, daemon=None):
        import program
        self.stack = contextlib.ExitStack()
        self.daemon = daemon or self.stack.enter_context(stokerd())
        self.run = program.Program(options.commands[name], self.daemon.socket, attach, measure=True)
        self.pid = self.run.process.pid
        self.run.wait_for("attached")
        self.asked = {}

    def tell(self, line, event):
        """Its answer."""
        self.asked[event] = self.asked.get(event, 0) + 1
        self.run.tell(line)
        answer = self.run.wait_for(event, self.asked[event])
        return {key: int(value) for key, value in answer.items()}

    def read(self, batches):
        return self.tell(f"read {batches}", "measured")

    def fill(self):
        """Wait until the ring is full, or nobody asks for more."""
        with self.daemon.connect(control=True) as peer:
            idle = 0
            while idle < IDLE:
                queued = peer.request("status").fields["values"]["queued"]
                idle = 0 if queued else idle + 1
                time.sleep(PAUSE_S)

    def close(self):
        self.run.finish()
        self.stack.close()


# Throughput


def throughput(options, folder):
    for shape, (count, edge, batch, batches) in ARRAYS.items():
        attach = attach_of(arrays(folder, f"{count}x{edge}", count, edge), batch, prefetch=batches,
                           inflight=batches)
        rows = [row for name in options.clients if name != "c"
                for row in beside_c(options, name, attach, batches)]
        show(f"{shape} images ({edge} x {edge}, batches of {batch}): client, C", rows)
        yield from rows


def beside_c(options, name, attach, batches):
    """Rows of images a second, and of a second of the client's CPU. Whose ring was made first reads
    it more slowly, by a sixth with C on both sides: so each is first once, and a round's figure is
    the geometric mean of both sittings'."""
    sittings = [sitting(options, name, attach, batches, c_first) for c_first in (False, True)]
    rates, work = ([[math.sqrt(first * second) for first, second in zip(*figures)]
                    for figures in zip(*(one[what] for one in sittings))] for what in (0, 1))
    bar = None if name in NO_BAR else AT_LEAST.get(name, OTHERS)
    yield Row(name, *rates, at_least=bar)
    yield Row(f"{name}, by its CPU time", *work)


def sitting(options, name, attach, batches, c_first):
    """Of each round images a second, and of a second of the client's CPU: the client's, then
    C's."""
    with contextlib.ExitStack() as stack:
        made = {side: stack.enter_context(contextlib.closing(Side(options, side, attach)))
                for side in (("c", name) if c_first else (name, "c"))}
        sides = made[name], made["c"]
        rates, work = ([], []), ([], [])
        for _ in range(COMPILED_LATE.get(name, 0)):
            sides[0].fill()
            sides[0].read(batches)
        for number in range(-WARM, options.rounds):
            sums = []
            for k in ((0, 1), (1, 0))[number % 2]:
                sides[k].fill()
                cpu = cpu_seconds(sides[k].pid)
                answer = sides[k].read(batches)
                if number >= 0:
                    work[k].append(answer["samples"] / (cpu_seconds(sides[k].pid) - cpu))
                    rates[k].append(answer["samples"] / answer["ns"] * 1e9)
                sums.append(answer["sum"])
            if sums[0] != sums[1]:
                raise SystemExit(f"{name} and C have read other bytes")
    return rates, work


# The cost of a batch


def batch_cost(options, folder):
    batches = 1000
    attach = attach_of(arrays(folder, "point", 8192, 8), 1, prefetch=batches)
    rows = []
    for name in options.clients:
        if name == "c":
            continue
        sides = Side(options, name, attach), Side(options, "c", attach)
        costs = [], []
        try:
            for number in range(-WARM, options.rounds):
                for k in ((0, 1), (1, 0))[number % 2]:
                    sides[k].fill()
                    cpu = cpu_seconds(sides[k].pid)
                    sides[k].read(batches)
                    if number >= 0:
                        costs[k].append((cpu_seconds(sides[k].pid) - cpu) / batches * 1e6)
        finally:
            for side in sides:
                side.close()
        rows.append(Row(name, *costs, unit="us of CPU a batch", digits=1))
    show("a batch of one sample of 8 x 8: client, C", rows)
    return rows


# Growth


def state_of(side):
    """What a process has: its heap (if the language says so) and anonymous memory in KB, mappings,
    descriptors."""
    heap = side.tell("collect", "collected")["heap"] // 1024
    proc = pathlib.Path("/proc", str(side.pid))
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    return {"heap KB": heap, "anonymous KB": int(status["RssAnon"].split()[0]),
            "mappings": len((proc / "maps").read_text().splitlines()),
            "descriptors": len(list((proc / "fd").iterdir()))}


def growth(options, folder):
    count, batch = 64, 16
    attach = attach_of(arrays(folder, "tiny", count, 32), batch)
    step = options.epochs // LOOKS
    for name in options.clients:
        for what in ("epochs", "seeks"):
            side, states = Side(options, name, attach), []
            try:
                for number in range(LOOKS):
                    if what == "epochs":
                        side.read(step * count // batch)
                    else:
                        for k in range(step):
                            side.tell(f"seek {number * step + k} 0", "sought")
                    states.append(state_of(side))
            finally:
                side.close()
            yield from grown(name, f"{options.epochs} {what}", states)


def grown(name, what, states):
    """The least of the last looks above the most of those in the middle."""
    words = []
    for key, limit in MORE.items():
        seen = [state[key] for state in states]
        words.append(f"{key} {' '.join(map(str, seen))}")
        more = max(0, min(seen[-3:]) - max(seen[LOOKS // 2 - 2:LOOKS // 2 + 1]))
        yield Row(f"{name}, {what}: more {key}", [more], of_ours=True, at_most=limit)
    print(f"{name}, {what}: " + "; ".join(words), flush=True)


# Seeks


def seek(options, folder):
    """All clients at the same places; what is there must be the same in all."""
    count = 1000
    sampler = {"name": "weighted", "weights": [1 + i % 7 for i in range(count)],
               "num_samples": POSITIONS}
    attach = attach_of(arrays(folder, "seek", count, 32), 16, sampler=sampler)
    draw = random.Random(3)
    places = [(draw.randrange(100), draw.randrange(POSITIONS // 16) * 16)
              for _ in range(options.seeks)]
    rows, found = [], {}
    with stokerd() as daemon:
        for name in options.clients:
            side = Side(options, name, attach, daemon)
            try:
                taken, work = [], []
                for epoch, position in places[:5] + places:
                    cpu = cpu_seconds(side.pid) + cpu_seconds(daemon.process.pid)
                    answer = side.tell(f"seek {epoch} {position}", "sought")
                    work.append((cpu_seconds(side.pid) + cpu_seconds(daemon.process.pid) - cpu)
                                * 1e3)
                    taken.append(answer["ns"] / 1e6)
                    if found.setdefault((epoch, position), answer["sum"]) != answer["sum"] or \
                            answer["position"] != position:
                        raise SystemExit(f"{name} is elsewhere at {epoch}, {position}")
            finally:
                side.close()
            rows.append(Row(name, taken[5:], unit="ms", of_ours=True, at_most=SEEK_MS, digits=2))
            rows.append(Row(f"{name}, CPU", work[5:], unit="ms", of_ours=True, digits=2))
    show(f"seek, {POSITIONS:.0e} positions", rows)
    return rows


SECTIONS = {"throughput": throughput, "batch": batch_cost, "growth": growth, "seek": seek}


def find(names):
    """The commands of the clients that are there."""
    import clients
    out = {}
    for name in names:
        try:
            clients.MADE.mkdir(parents=True, exist_ok=True)
            out[name] = clients.MEASURED.get(name, clients.CLIENTS[name][0])()
        except clients.Missing as error:
            print(f"{name} is skipped: {error}")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--clients")
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--seeks", type=int, default=50)
    options = parser.parse_args()
    options.build = options.build.resolve()
    os.environ["STOKER_BUILD"] = str(options.build)
    import clients
    chosen = options.clients.split(",") if options.clients else [
        name for name in clients.CLIENTS if name not in UNMEASURED]
    options.commands = find(dict.fromkeys(["c", *chosen]))
    options.clients = [name for name in chosen if name in options.commands]
    print(f"{model()}, {len(os.sched_getaffinity(0))} cores; {options.rounds} rounds\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="stoker-languages-") as folder:
        rows = [row for name in options.only.split(",")
                for row in SECTIONS[name](options, folder)]
    judged = [row for row in rows if row.met is not None]
    missed = [row.what for row in judged if not row.met]
    print(f"{len(judged) - len(missed)} of {len(judged)} bars met"
          + "".join(f"\nmissed: {what}" for what in missed))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
