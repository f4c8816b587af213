# SPDX-License-Identifier: MIT
"""What cache-dir is to show, each part alone, in less than three minutes. By hand, with a folder of
pictures:

    tests/bench/staged.py --data FOLDER [--only speed,one,two,faults] [--build BUILD]
                          [--samples 5000] [--count 500] [--kills 200] [--rounds 5] [--seconds 2]
                          [--workers 2] [--latency 0.02]

speed   tar shards on a local disk and over HTTP, all of them kept, in turn: images a second of one
        trainer, as a ratio to the local ones
one     of --count samples over HTTP, with room for 10, 25 and 50 % of their bytes: how many reads
        of one stream come from the disk, in epochs after the first
two     the same of two streams of orders of their own, with room for 25 and 10 %, after two epochs
faults  the tests of a second daemon, kill -9 (--kills times), a full disk and damaged files
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import types

import containers
from machine import Stokerd
from trainers import attached, rates_of

sys.path.insert(0, str(containers.SOURCE / "tests" / "daemon"))
from object_server import Objects  # noqa: E402

sys.path.insert(0, str(containers.SOURCE / "client" / "python"))
import stoker  # noqa: E402

END_S = 150  # of an epoch
SHARD = 50  # samples: the server reads a whole shard for each answer


def rate(options, data, folder, fetchers):
    """Once nothing is fetched any more."""
    trainer = types.SimpleNamespace(**{**vars(options), "data": data})
    with Stokerd(options.build, options.workers, fetchers=fetchers, cache_dir=folder / "cache",
                 cache_free=0, index_dir=folder / "index") as daemon, \
            attached("stoker", 1, trainer, options.workers, daemon.socket) as readers:
        while True:
            before = daemon.counters()["stage_fetched_bytes_total"]
            rates_of(readers, options.seconds)
            if daemon.counters()["stage_fetched_bytes_total"] == before:
                return rates_of(readers, options.seconds)[0]


def url_of(server, folder):
    last = max(int(path.stem) for path in folder.iterdir())
    return f"{server.url}/{{000000..{last:06}}}.tar" if last else f"{server.url}/000000.tar"


def speed(options, folder, pictures):
    rates = {"local": [], "staged": []}
    local = containers.make_tars(folder / "tar", pictures, options.samples, SHARD)
    with Objects(folder / "tar", latency=options.latency) as server:
        url = url_of(server, folder / "tar")
        rate(options, url, folder, 64)
        for _ in range(options.rounds):
            rates["local"].append(rate(options, local, folder, 2))
            rates["staged"].append(rate(options, url, folder, 2))
    ratios = [staged / base for staged, base in zip(rates["staged"], rates["local"])]
    for side, values in rates.items():
        print(f"{side:10}{statistics.median(values):8.0f} images/s")
    print(f"ratio {statistics.median(ratios):.3f} ({min(ratios):.3f}-{max(ratios):.3f})   bar 0.95")


def read(loader, barrier, epochs):
    """The streams begin each epoch together, so that neither reads what the other does not want
    yet."""
    for _ in range(epochs):
        for _ in loader:
            pass
        barrier.wait(END_S)


def reads_of(daemon):
    """Of all streams, those that came from the disk, and all."""
    done = subprocess.run([daemon.stokerctl, "--socket", daemon.control, "streams", "--json"],
                          stdout=subprocess.PIPE, check=True)
    rows = json.loads(done.stdout)["streams"]
    found = sum(row["stage_hits"] for row in rows)
    return found, found + sum(row["stage_misses"] for row in rows)


def hits(options, url, cache, size, streams, warm, measured):
    """Of the reads in the last epochs, the share that came from the disk."""
    with Stokerd(options.build, options.workers, fetchers=16, cache_dir=cache, cache_free=0,
                 cache_size=size) as daemon:
        barrier = threading.Barrier(streams + 1)
        loaders = [stoker.connect(str(daemon.socket)).loader(
            url, batch_size=10, seed=seed, transforms=[stoker.CenterCrop(8)])
            for seed in range(streams)]
        threads = [threading.Thread(target=read, args=(loader, barrier, warm + measured),
                                    daemon=True) for loader in loaders]
        for thread in threads:
            thread.start()
        before = None
        for epoch in range(warm + measured):
            barrier.wait(END_S)
            if epoch == warm - 1:
                before = reads_of(daemon)
        after = reads_of(daemon)
        for thread in threads:
            thread.join()
    return (after[0] - before[0]) / (after[1] - before[1])


def share_of_hits(options, folder, pictures, streams, bars):
    """`bars`: what is to be reached, for each share of the data that there is room for."""
    containers.make_tars(folder / "tar", pictures, options.count, SHARD)
    total = sum(-(-(pictures[i % len(pictures)].stat().st_size + 96) // 4096) * 4096
                for i in range(options.count))
    with Objects(folder / "tar") as server:
        url = url_of(server, folder / "tar")
        for share, bar in bars.items():
            found = hits(options, url, folder / f"cache-{share}", int(total * share), streams,
                         streams, 3)
            print(f"{streams} streams, room for {share:4.0%}: {found:.3f} of the reads   "
                  f"bar {bar:.2f}")


def one(options, folder, pictures):
    share_of_hits(options, folder, pictures, 1, {0.1: 0.09, 0.25: 0.24, 0.5: 0.49})


def two(options, folder, pictures):
    share_of_hits(options, folder, pictures, 2, {0.25: 0.42, 0.1: 0.26})


def faults(options, _folder, _pictures):
    tests = containers.SOURCE / "tests" / "daemon"
    environment = {**os.environ, "STOKER_BUILD": str(options.build.resolve()),
                   "STOKER_SOURCE": str(containers.SOURCE), "STOKER_KILLS": str(options.kills),
                   "PYTHONPATH": str(containers.SOURCE / "client" / "python")}
    chosen = "test_kill or disk or damaged or cache_of_another or pins"
    subprocess.run([sys.executable, "-m", "pytest", "-q", "--no-header", "-k", chosen,
                    tests / "test_staging.py", tests / "test_start.py"],
                   env=environment, check=True)


PARTS = {"speed": speed, "one": one, "two": two, "faults": faults}


def main():
    parser = containers.parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--latency", type=float, default=0.02)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--only", default=",".join(PARTS))
    options = parser.parse_args()
    pictures = containers.pictures_in(options.data)
    for name in options.only.split(","):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
            PARTS[name](options, pathlib.Path(folder), pictures)


if __name__ == "__main__":
    main()
