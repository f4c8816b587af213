#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A trainer's own code, and streams of files, on the other node of a cluster of Ray or Dask: two
nodes as namespaces, each with its daemon. Samples must be those of one node, also when the other
one is switched off in mid-epoch; and two nodes, each on one processor, must be as much faster for
own code as LEAST says.

    tests/nodes/feeders.py [--only ray,dask] [--runs 3]

By hand, as root, in a Python that has ray and distributed: some minutes, on a machine that has
nothing else to do. What is not there is skipped, and says so.
"""
import argparse
import contextlib
import hashlib
import importlib.util
import itertools
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cluster
import own_code
from torchrun import made as pictures

ENGINES = {"ray": "ray", "dask": "distributed"}  # and the package that each needs
ADDRESSES = {"node1": "10.77.0.11", "node2": "10.77.0.12"}
LEAST = {"Draws": 1.5, "Waits": 2.5}  # times as fast as one node
COUNT, BATCH = 120, 4  # samples of an epoch that is compared
_JOIN_S = 120
_SPEED_S = 8  # that a speed is measured for


def command(engine, part, node):
    """A process of an engine: of Ray a `head` or a `worker`, of Dask a `scheduler` or a `worker`.
    A worker has the resource that is called as its node."""
    program = {"ray": "ray.scripts.scripts", "dask": f"distributed.cli.dask_{part}"}[engine]
    if engine == "ray":
        more = ["start", "--block", "--node-ip-address", ADDRESSES[node], "--num-cpus", "4",
                "--resources", f'{{"{node}": 8}}', "--object-store-memory", "100000000",
                "--disable-usage-stats",
                *(["--head", "--port", "6379", "--include-dashboard", "false"] if part == "head"
                  else ["--address", f"{ADDRESSES['node1']}:6379"])]
    else:
        more = ["--host", ADDRESSES[node], "--no-dashboard",
                *(["--port", "8786"] if part == "scheduler" else
                  [f"tcp://{ADDRESSES['node1']}:8786", "--nthreads", "4", "--no-nanny",
                   "--resources", f"{node}=8"])]
    return [sys.executable, "-m", program, *more]


class Trainer:
    """The program of node1."""

    def __init__(self, engine, runs):
        import stoker
        self.stoker, self.engine, self.runs = stoker, engine, runs
        self.made = Path(os.environ["FEEDERS_MADE"])

    def run(self):
        parts = ["head"] if self.engine == "ray" else ["scheduler", "worker"]
        with contextlib.ExitStack() as stack:
            for part in parts:
                process = subprocess.Popen(command(self.engine, part, "node1"),
                                           stdout=subprocess.DEVNULL)
                stack.callback(process.wait)
                stack.callback(process.terminate)
            stack.callback(self.join())
            self.node = stack.enter_context(self.stoker.connect())
            self.equal()
            self.fast()
            self.lose()

    def join(self):
        """Once both nodes are there. Returns what leaves the engine again."""
        if self.engine == "ray":
            import ray
            cluster.wait_for(lambda: subprocess.run(
                [sys.executable, "-m", "ray.scripts.scripts", "status"], capture_output=True,
                check=False).returncode == 0, "a head of Ray", _JOIN_S)
            ray.init(address=f"{ADDRESSES['node1']}:6379", log_to_driver=False)
            cluster.wait_for(lambda: len(ray.nodes()) == 2, "two nodes of Ray", _JOIN_S)
            return ray.shutdown
        import distributed
        client = distributed.Client(f"tcp://{ADDRESSES['node1']}:8786", timeout=_JOIN_S)
        client.wait_for_workers(2, timeout=_JOIN_S)
        return client.close

    def workers(self, count, local=0, node="node2"):
        """On one node, or wherever there is room."""
        import importlib
        return importlib.import_module(f"stoker.{self.engine}").Producers(
            count, local=local, resources=node and {node: 1})

    def load(self, code, num_workers):
        source = self.stoker.Source(code, gives="arrays")  # which makes a sample to look at
        for each in self.made.iterdir():
            each.unlink()
        return self.node.loader(source, batch_size=BATCH, seed=3, num_workers=num_workers,
                                timeout=300)

    def nodes(self):
        """Which ones have made samples of the loader that was made last."""
        return sorted(each.name for each in self.made.glob("node*"))

    def stream(self, num_workers):
        """Of files, without own code."""
        s = self.stoker
        return self.node.loader(
            self.made.parent / "pictures", batch_size=BATCH, seed=3, subset=(0, COUNT),
            num_workers=num_workers, timeout=300, transforms=[
                s.RandomResizedCrop(32), s.RandomHorizontalFlip(), s.ToTensor(),
                s.Normalize((0.5, 0.5, 0.5), (0.2, 0.2, 0.2))])

    def opened(self):
        """Has the daemon of node2 opened the files?"""
        return "pictures: 300 samples" in (self.made.parent / "log2").read_text(errors="replace")

    def equal(self):
        self.wanted = {}
        for kind in (own_code.Draws, own_code.Waits):
            self.wanted[kind] = wanted = digests(self.load(kind(COUNT), 1))
            assert self.nodes() == ["node1"], self.nodes()
            self.compare(digests(self.load(kind(COUNT), self.workers(2))), wanted)
            assert self.nodes() == ["node2"], self.nodes()
            print(f"{self.engine}: {kind.__name__}: {COUNT} samples of node2 are those of node1",
                  flush=True)
        self.pictures = digests(self.stream(None))
        assert not self.opened()
        self.compare(digests(self.stream(self.workers(2))), self.pictures)
        assert self.opened()
        print(f"{self.engine}: {COUNT} pictures of node2's daemon are those of node1's", flush=True)

    def compare(self, made, wanted):
        assert len(wanted) == COUNT // BATCH and made == wanted, \
            f"other bytes than one node's: {made} instead of {wanted}"

    def lose(self):
        """The other node, of two that make samples of own code and pictures."""
        def between(number):
            if number == COUNT // BATCH // 4:
                cluster.wait_for(lambda: self.nodes() == ["node1", "node2"], self.nodes)
                self.ask("off")
        kind = own_code.Waits
        made = digests(self.load(kind(COUNT), self.workers(2, node=None)),
                       self.stream(self.workers(2, node=None)), between=between)
        self.compare([own for own, _ in made], self.wanted[kind])
        self.compare([picture for _, picture in made], self.pictures)
        print(f"{self.engine}: node2 switched off in mid-epoch: {COUNT} samples and {COUNT} "
              "pictures exactly once, bytes as on one node", flush=True)

    def ask(self, what):
        """Of run()."""
        (self.made / what).touch()
        cluster.wait_for(lambda: not (self.made / what).exists(), what)

    def fast(self):
        self.ask("pin")
        for kind, count in ((own_code.Draws, 1), (own_code.Waits, 2)):
            name, least = kind.__name__, LEAST[kind.__name__]
            both = [(self.speed(kind, 1), self.speed(kind, self.workers(count, local=1)))
                    for _ in range(self.runs)]
            ratios = sorted(two / one for one, two in both)
            found = statistics.median(ratios)
            print(f"{self.engine}: {name}: 1 worker {statistics.median(one for one, _ in both):.1f}"
                  f" samples/s, 1 + {count} on two nodes {found:.2f} times that "
                  f"({ratios[0]:.2f} to {ratios[-1]:.2f}; bar {least}: "
                  f"{'met' if found >= least else 'MISSED'})", flush=True)

    def speed(self, kind, num_workers):
        """Samples a second, once all workers make some."""
        all_nodes = ["node1"] if num_workers == 1 else ["node1", "node2"]
        with self.load(kind(100000), num_workers) as loader:
            batches = iter(loader)
            while self.nodes() != all_nodes:
                next(batches)
            for _ in range(40):
                next(batches)
            begun = time.monotonic()
            for number in itertools.count(1):
                next(batches)
                if time.monotonic() - begun > _SPEED_S:
                    return number * BATCH / (time.monotonic() - begun)


def digests(*loaders, between=lambda number: None):
    """A digest of each batch of an epoch; of several loaders, in step, a tuple of digests.
    `between` is called behind each."""
    out = []
    with contextlib.ExitStack() as stack:
        for number, batches in enumerate(zip(*map(stack.enter_context, loaders), strict=True)):
            found = tuple(digest(batch) for batch in batches)
            out.append(found if len(loaders) > 1 else found[0])
            between(number)
    return out


def digest(batch):
    arrays = batch.values() if isinstance(batch, dict) else batch
    return hashlib.blake2b(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]


def pin(node, number):
    """All that runs in a node now, and what it starts later, is on one processor."""
    for pid in cluster.descendants(node.process.pid):
        for thread in Path(f"/proc/{pid}/task").glob("*"):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread.name), {sorted(os.sched_getaffinity(0))[number]})


def run(engine, runs):
    """Raises AssertionError."""
    with cluster.Cluster(2) as machines:
        made = machines.folder / "made"
        made.mkdir()
        pictures(machines.folder / "pictures")
        path = [str(cluster.ROOT / "client" / "python"), str(cluster.ROOT / "tests" / "nodes")]
        variables = {"FEEDERS_MADE": str(made), "PYTHONPATH": os.pathsep.join(path),
                     "RAY_USAGE_STATS_ENABLED": "0", "STOKER_SOCKET": ""}
        # What Ray writes below the folder for temporary files is the node's own.
        own = ["sh", "-c", 'mkdir -p "$1" && mount -t tmpfs tmpfs "$1" && shift && exec "$@"', "sh",
               os.path.join(tempfile.gettempdir(), "ray")]
        trainer, other = machines.nodes
        trainer.run(*own, sys.executable, __file__, "--trainer", engine, "--runs", runs,
                    **variables)
        again = ["sh", "-c", 'until "$@"; do sleep 1; done', "sh"]  # until the head is there
        other.run(*own, *again, *command(engine, "worker", "node2"), **variables)
        # What the trainer asks for, and what is done then.
        asks = {"pin": lambda: [pin(trainer, 0), pin(other, 1)], "off": other.off}
        said = 0
        while trainer.process.poll() is None:
            said += show(trainer.log()[said:], engine)
            for name in [name for name in asks if (made / name).exists()]:
                asks[name]()
                (made / name).unlink()
            time.sleep(0.1)
        show(trainer.log()[said:], engine)
        assert trainer.process.returncode == 0, f"{trainer.log()}\n---- node2\n{other.log()}"


def show(text, engine):
    """Whole lines that the trainer has printed. Returns how many characters it has looked at."""
    whole = text.rpartition("\n")[0]
    for line in whole.split("\n"):
        if line.startswith(f"{engine}: "):
            print(line, flush=True)
    return len(whole) + 1 if whole else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default=",".join(ENGINES))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--trainer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.trainer:
        Trainer(options.trainer, options.runs).run()
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    kind = cluster.inside()
    if not kind.startswith("network") or len(os.sched_getaffinity(0)) < 2:
        print(f"skipped: two processors and network namespaces are needed; nodes would be {kind}")
        return 0
    passed = failed = skipped = 0
    for engine in options.only.split(","):
        if not importlib.util.find_spec(ENGINES[engine]):
            print(f"{engine}: skipped: {ENGINES[engine]} is not installed", flush=True)
            skipped += 1
            continue
        try:
            run(engine, options.runs)
            passed += 1
        except AssertionError as error:
            print(f"{engine}: FAILED: {error}", flush=True)
            failed += 1
    print(f"skipped: {skipped}\n{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
