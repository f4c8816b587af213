#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torchrun on four nodes, of which one is switched off at a random moment of the epoch; the three
go on from the token. The steps that count are the epoch exactly once, bytes as on one node.

    tests/nodes/torchrun.py [--moments 10] [--seed 1] [--cut] [--data DIR]

The example is examples/ddp_train.py as it stands, with the torch of the Python
that runs this. --cut: the network of the node goes instead of its power, so nobody is told.
"""
import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import cluster
import union

EXAMPLE = cluster.ROOT / "examples" / "ddp_train.py"
NODES = 4
# The meeting point of the nodes: a store that outlives each of them.
STORE = """
import sys, time, torch.distributed as d
from datetime import timedelta
store = d.TCPStore("0.0.0.0", int(sys.argv[1]), None, True, timedelta(seconds=60), False)
print("ready", flush=True)
time.sleep(3600)
"""
# Seconds that the agents wait for one more node, and until one that is silent counts as gone.
MEETING = "is_host=0,last_call_timeout=2,timeout=120,read_timeout=60"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--moments", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cut", action="store_true")
    parser.add_argument("--data", help="a folder of pictures; else some are made")
    return parser.parse_args()


def made(folder):
    """300 pictures of noise in three classes: the last batch of two or four ranks does not reach
    the last of them."""
    import numpy as np
    from PIL import Image
    numbers = np.random.default_rng(1)
    for i in range(300):
        home = Path(folder) / f"class{i % 3}"
        home.mkdir(parents=True, exist_ok=True)
        Image.fromarray(numbers.integers(0, 256, (48, 48, 3), np.uint8)).save(home / f"{i:03}.png")
    return folder


@contextlib.contextmanager
def store(port):
    process = subprocess.Popen([sys.executable, "-c", STORE, str(port)], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def start(nodes, head, port, number, program, variables):
    for node in nodes:
        device = "eth0" if node.name != "localhost" else "lo"
        node.run(sys.executable, "-m", "torch.distributed.run", "--nnodes", f"1:{NODES}",
                 "--nproc_per_node", 1, "--max_restarts", 9, "--monitor_interval", 0.2,
                 "--redirects", 1, "--tee", 1,  # the defaults fail in torch 1.13 with Python 3.11
                 "--rdzv_backend", "c10d", "--rdzv_endpoint", f"{head}:{port}", "--rdzv_id", number,
                 "--rdzv_conf", MEETING, *program, OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME=device,
                 TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1",  # docs/DISTRIBUTED.md says why
                 **variables)


def reached(nodes, records, moment):
    """Whether so many batches were given; raises if a node has ended before."""
    assert all(node.process.poll() is None for node in nodes), "a node ended before its time"
    return rows(records) >= moment


def rows(records):
    """How many batches all processes were given so far."""
    return sum(path.read_bytes().count(b"samples") for path in records.iterdir())


def run(number, chance, wanted, options):
    """One run with one node lost; what union.check() says of it."""
    # About as many batches as the four get until the epoch's end.
    moment, victim = chance.randrange(1, len(wanted) // 4 - 8), chance.randrange(NODES)
    with cluster.Cluster(NODES) as machines:
        records = machines.folder / "records"
        records.mkdir()
        port = 29400 + number
        begun = time.monotonic()
        with store(port):
            start(machines.nodes, machines.head, port, number,
                  [EXAMPLE, options.data, machines.folder / "checkpoint.pt"],
                  union.environment(records, cluster.ROOT))
            survivors = [node for i, node in enumerate(machines.nodes) if i != victim]
            try:
                cluster.wait_for(lambda: reached(machines.nodes, records, moment),
                                 f"{moment} batches", 120)
                lost = machines.nodes[victim]
                if options.cut:
                    lost.cut()
                else:
                    lost.off()
                at = rows(records)
                for node in survivors:
                    node.process.wait(300)
                assert all(node.process.returncode == 0 for node in survivors), \
                    [node.process.returncode for node in survivors]
                said = union.check(records, wanted)
            except BaseException:
                for node in machines.nodes:
                    print(f"---- {node.name}\n{node.log()}", file=sys.stderr)
                raise
    parts = "; ".join(f"world {world} from {place[1]}: {kept} counted, {back} rolled back"
                      for place, world, kept, back in said)
    print(f"moment {number}: node{victim + 1} lost after {at} batches; {parts} "
          f"({time.monotonic() - begun:.1f} s)", flush=True)
    return said


def one_node(options):
    """What a reader of the whole gets from one daemon."""
    sys.path[:0] = [str(cluster.ROOT / "client" / "python")]
    import stoker
    os.environ.pop("STOKER_SOCKET", None)
    with cluster.Cluster(1) as machine:
        socket = machine.folder / "run1" / "stoker" / "stokerd.sock"
        machine.nodes[0].run("sleep", "600")
        cluster.wait_for(socket.exists, "a socket")
        with stoker.connect(socket) as node:
            return union.reference(node, options.data, seed=1, transforms=[
                stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(), stoker.ToTensor()])


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    options = arguments()
    union.self_test()
    kind = cluster.inside()
    import tempfile

    import torch
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        options.data = os.path.abspath(options.data) if options.data else made(folder)
        wanted = one_node(options)
        print(f"torch {torch.__version__}, {NODES} nodes: {kind}; {len(wanted)} positions",
              flush=True)
        shrunk = 0
        for number in range(options.moments):
            said = run(number, chance, wanted, options)
            shrunk += [world for _, world, *_ in said] == [4, 3]
    print(f"{options.moments} of {options.moments} runs: each position exactly once, bytes as on "
          f"one node; {shrunk} went on from 4 to 3 ranks in mid-epoch")


if __name__ == "__main__":
    main()
