# SPDX-License-Identifier: MIT
"""What many nodes cost, up to 1,000 nodes and 10^9 samples: memory of a node, what it moves
from storage, and how soon it is in the middle of an epoch. The tables of docs/DISTRIBUTED.md.

    simulated   from the order's arithmetic (tests/reference), for samples in tar shards
    measured    by a daemon: the ring of a rank among so many, and the first batch at a place of an
                epoch of 10^9 positions (a weighted sampler over a small folder), in its own ring

    python3 tests/bench/nodes.py [BUILD] [--times 20]
"""
import argparse
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / each) for each in ("daemon", "demo", "reference")]
sys.path.insert(0, str(HERE.parents[1] / "client" / "python"))

SAMPLES = 10**9
NODES = (1, 10, 100, 1000)
RANKS, BATCH = 8, 64  # of a node, of a rank
MEMBER, SHARD, BLOCK = 110_000, 10_000, 4 << 20  # bytes, samples, bytes that a storage moves
WINDOW = 16384  # of order="shards", where nothing is said
PICTURE = 3 * 224 * 224
INDEX = 20  # bytes a sample of tar shards (docs/KNOWN_LIMITS.md)
WINDOWS = 4
SEED, EPOCH = 7, 3


def size(count):
    """Bytes as people read them."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.3g} {unit}" if count < 1000 else f"{count:.0f} {unit}"
        count /= 1000


def block_of(sample):
    shard, within = divmod(sample, SHARD)
    return shard, within * MEMBER // BLOCK


def blocks_global(nodes, chance):
    """Blocks that a node moves for a sample, if it keeps those of a window's samples."""
    from positions import order_at
    place, mine = RANKS * BATCH * nodes, RANKS * BATCH
    node, blocks, count = chance.randrange(nodes), set(), 0
    first = chance.randrange(SAMPLES // place - 100) * place
    while count < 2 * mine:
        for position in range(first + node * mine, first + (node + 1) * mine):
            blocks.add(block_of(order_at(SEED, EPOCH, SAMPLES, position)))
            count += 1
        first += place
    return len(blocks) / count


def blocks_shards(nodes, chance):
    """The same with order="shards". A window's places follow each other in the shards."""
    from positions import order_at
    from sampling import order_seed_for
    place, mine = RANKS * BATCH * nodes, RANKS * BATCH
    blocks = count = 0
    while count < 4 * mine:
        window, node = chance.randrange(SAMPLES // WINDOW), chance.randrange(nodes)
        own = order_seed_for(SEED, 3, EPOCH, window)
        touched = set()
        for x in range(WINDOW):
            if (window * WINDOW + x) % place // mine == node:
                touched.add(block_of(window * WINDOW + order_at(own, EPOCH, WINDOW, x)))
                count += 1
        blocks += len(touched)
    return blocks / count


def simulated():
    print(f"simulated: {SAMPLES:.0e} samples of {size(MEMBER)} in shards of {SHARD}, "
          f"{RANKS} ranks of {BATCH} a node, uint8 pictures of 224 x 224, {WINDOWS} windows")
    print("| nodes | ring of a node: memory | its addresses | index | read a node and epoch | "
          "in blocks of 4 MiB: global | shards | all nodes: shards |\n" + "|---" * 8 + "|")
    chance = random.Random(1)
    for nodes in NODES:
        batch = RANKS * BATCH * nodes
        own = SAMPLES // nodes
        moved = {"global": blocks_global(nodes, chance), "shards": blocks_shards(nodes, chance)}
        blocks = {name: own * part * BLOCK for name, part in moved.items()}
        print(f"| {nodes} | {size(WINDOWS * RANKS * BATCH * PICTURE)} | "
              f"{size(WINDOWS * batch * PICTURE)} | {size(SAMPLES * INDEX)} | "
              f"{size(own * MEMBER)} | {size(blocks['global'])} | {size(blocks['shards'])} | "
              f"{blocks['shards'] * nodes / SAMPLES / MEMBER:.1f} times the dataset |", flush=True)


ATTACH = {"transforms": [{"name": "RandomResizedCrop", "size": 8}], "dtype": "uint8",
          "layout": "NHWC", "augment_seed": 9, "batch_size": BATCH, "epochs": 0,
          "sampler": {"name": "weighted", "weights_by_class": [1, 2, 3, 1, 2, 3],
                      "num_samples": SAMPLES}}


def rings(daemon, data):
    print("\nmeasured: the ring of the first rank, samples of 8 x 8\n"
          "| ranks | slots | addresses | memory | first batch |\n|---|---|---|---|---|")
    for ranks in (RANKS * nodes for nodes in NODES):
        middle = SAMPLES // 2 // (ranks * BATCH) * ranks * BATCH  # a global batch begins there
        begin = time.monotonic()
        with daemon.connect() as peer:
            answer = peer.attach(data, **ATTACH, world=ranks, position=middle)
            assert answer.name == "attached", answer
            peer.expect("batch", seconds=60)
            taken = (time.monotonic() - begin) * 1e3
            print(f"| {ranks} | {peer.ring.slots} | {size(peer.ring.size)} | "
                  f"{size(daemon.status()['ring_bytes'])} | {taken:.0f} ms |", flush=True)
        daemon.settle()


def by_peer(daemon, data, position, seed):
    """Milliseconds from connect() to the first batch."""
    begin = time.monotonic()
    with daemon.connect() as peer:
        answer = peer.attach(data, **ATTACH, order_seed=seed, position=position)
        assert answer.name == "attached", answer
        peer.expect("batch", seconds=60)
        return (time.monotonic() - begin) * 1e3


def by_loader(node, data, position, seed):
    """Milliseconds from load_state_dict() to the first batch of the Python client."""
    import stoker
    with node.loader(data, batch_size=BATCH, order_seed=seed, dtype="uint8", layout="NHWC", rank=0,
                     world_size=1, transforms=[stoker.RandomResizedCrop(8)],
                     sampler=stoker.samplers.Weighted(weights_by_class=[1, 2, 3, 1, 2, 3],
                                                      num_samples=SAMPLES)) as loader:
        token = {**loader.state_dict(), "position": position}
        begin = time.monotonic()
        loader.load_state_dict(token)
        next(iter(loader))
        return (time.monotonic() - begin) * 1e3


def seeks(daemon, data, times):
    import stoker
    print(f"\nmeasured: the first batch at a place of {SAMPLES:.0e} positions\n"
          "| position | from connect() | Python, from load_state_dict() |\n|---|---|---|")
    places = (0, SAMPLES // 2, SAMPLES - 10 * BATCH)
    taken = {place: ([], []) for place in places}
    with stoker.connect(daemon.socket) as node, daemon.connect() as keeper:
        keeper.attach(data, **ATTACH, order_seed=1)  # so that the dataset stays indexed
        for turn in range(times):  # in turn: what else the machine does is the same for all
            for place, (peer, loader) in taken.items():
                peer.append(by_peer(daemon, data, place, 100 + turn))
                loader.append(by_loader(node, data, place, 1000 + turn))
    for place, columns in taken.items():
        cells = (f"median {statistics.median(column):.1f} ms (least {min(column):.1f}) "
                 for column in columns)
        print(f"| {place} | {' | '.join(cells)} |")
    print("bar: median below 10 ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("build", nargs="?", default=str(HERE.parents[1] / "build"))
    parser.add_argument("--times", type=int, default=20)
    options = parser.parse_args()
    os.environ["STOKER_BUILD"] = str(pathlib.Path(options.build).resolve())
    import photos
    from harness import Daemon
    simulated()
    with tempfile.TemporaryDirectory() as folder:
        photos.make(pathlib.Path(folder), count=60, size=(32, 32))
        daemon = Daemon(workers=2, cache_memory="64M", ring_memory="4G").spawn()
        try:
            rings(daemon, folder)
            seeks(daemon, folder, options.times)
        finally:
            daemon.terminate()
            daemon.remove()


if __name__ == "__main__":
    main()
