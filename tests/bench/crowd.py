# SPDX-License-Identifier: MIT
"""The section "crowd": a thousand readers attached, fifty of them at work. What the fifty get
beside what they get alone, in turn; how fast `stokerctl status` answers; what the one over the cap
hears.

All are connections of this process, which only releases what it is told of: it measures the daemon.
Those who stand still hold all that they asked for, of the same stream, where the fifty began.
"""

import contextlib
import pathlib
import resource
import selectors
import subprocess
import sys
import time

from client import MEAN, STD
from machine import Stokerd, cpu_seconds
from table import Row

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "daemon"))
from harness import Peer  # noqa: E402 (it stands in the tests' folder)

READERS, ACTIVE, BATCH = 1000, 50, 16
STREAM = {"transforms": [{"name": "RandomResizedCrop", "size": 224},
                         {"name": "RandomHorizontalFlip"},
                         {"name": "Normalize", "mean": MEAN, "std": STD}],
          "batch_size": BATCH, "last_batch": "drop", "epochs": 0, "order_seed": 1,
          "accept_moves": True, "pace": "free"}


def attach(daemon, data, count):
    """So many new readers, as a context."""
    stack = contextlib.ExitStack()
    for _ in range(count):
        peer = stack.enter_context(Peer(daemon.socket))
        peer.hello()
        answer = peer.attach(data, **STREAM)
        if answer.name != "attached":
            raise SystemExit(f"a reader is refused: {answer.fields['text']}")
        stack.peers = getattr(stack, "peers", []) + [peer]
    return stack


def take(peer):
    """Release what has come; how many samples that was."""
    count = 0
    with contextlib.suppress(BlockingIOError, TimeoutError):
        while True:
            message = peer.receive(0)
            if message is None:
                raise SystemExit("the daemon hung up on a reader")
            if message.name == "batch":
                count += message.fields["count"]
                peer.release(message)
    return count


def rate(daemon, peers, seconds):
    """What these readers get, all together: samples a second, and microseconds of the daemon's CPU
    time for each."""
    with selectors.DefaultSelector() as selector:
        for peer in peers:
            selector.register(peer.socket, selectors.EVENT_READ, peer)
            take(peer)

        def run(until):
            count = 0
            while time.perf_counter() < until:
                for key, _ in selector.select(0.1):
                    count += take(key.data)
            return count

        run(time.perf_counter() + seconds / 3)  # what was made ahead is used up
        begun, before = time.perf_counter(), cpu_seconds(daemon.pid)
        count = run(begun + seconds)
        return (count / (time.perf_counter() - begun),
                (cpu_seconds(daemon.pid) - before) / count * 1e6)


def status_ms(daemon):
    begun = time.perf_counter()
    subprocess.run([daemon.stokerctl, "--socket", daemon.control, "status"], check=True,
                   stdout=subprocess.DEVNULL)
    return (time.perf_counter() - begun) * 1e3


def refusal(daemon):
    """What the one over the cap hears."""
    with Peer(daemon.socket) as peer:
        error = peer.receive()
        if not error or error.name != "error":
            raise SystemExit(f"one more than the cap is not refused: {error}")
        return f"{error.fields['name']}: {error.fields['text']}"


def rows(options):
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    beside, alone, answers = [], [], []
    with Stokerd(options.build, options.workers, max_connections=READERS) as daemon:
        with attach(daemon, options.data, 1) as first:  # each file is indexed once
            rate(daemon, first.peers, 3 * options.seconds)
        for _ in range(options.rounds):
            with attach(daemon, options.data, ACTIVE) as active:
                alone.append(rate(daemon, active.peers, options.seconds))
            daemon.wait_idle()
            with attach(daemon, options.data, READERS - ACTIVE), \
                    attach(daemon, options.data, ACTIVE) as active:
                beside.append(rate(daemon, active.peers, options.seconds))
                answers.append(status_ms(daemon))
                heard = refusal(daemon)
            daemon.wait_idle()
    print(f"one more than {READERS}: {heard}", file=sys.stderr)
    what = f"{ACTIVE} readers beside {READERS - ACTIVE} that stand still; alone"
    yield Row(what, [r for r, _ in beside], [r for r, _ in alone], "images/s", at_least=0.95)
    yield Row(what, [c for _, c in beside], [c for _, c in alone], "us CPU/image",
              digits=1)
    yield Row(f"stokerctl status, {READERS} readers attached", answers, unit="ms", at_most=100,
              of_ours=True, digits=1)
