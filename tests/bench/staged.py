# SPDX-License-Identifier: MIT
"""Tar shards on a local disk and over HTTP, all of them kept in cache-dir, in turn: images a second
of one trainer, as a ratio to the local ones. By hand, with a folder of pictures:

    tests/bench/staged.py --data FOLDER [--build BUILD] [--samples 5000] [--rounds 5] [--seconds 2]
                          [--workers 2] [--latency 0.02]
"""

import os
import pathlib
import statistics
import sys
import tempfile
import types

import containers
from machine import Stokerd
from trainers import attached, rates_of

sys.path.insert(0, str(containers.SOURCE / "tests" / "daemon"))
from object_server import Objects  # noqa: E402

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


def main():
    parser = containers.parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--latency", type=float, default=0.02)
    options = parser.parse_args()
    pictures = containers.pictures_in(options.data)
    rates = {"local": [], "staged": []}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = pathlib.Path(name)
        local = containers.make_tars(folder / "tar", pictures, options.samples, SHARD)
        last = max(int(path.stem) for path in (folder / "tar").iterdir())
        with Objects(folder / "tar", latency=options.latency) as server:
            url = f"{server.url}/{{000000..{last:06}}}.tar" if last else f"{server.url}/000000.tar"
            rate(options, url, folder, 64)
            for _ in range(options.rounds):
                rates["local"].append(rate(options, local, folder, 2))
                rates["staged"].append(rate(options, url, folder, 2))
    ratios = [staged / base for staged, base in zip(rates["staged"], rates["local"])]
    for side, values in rates.items():
        print(f"{side:10}{statistics.median(values):8.0f} images/s")
    print(f"ratio {statistics.median(ratios):.3f} ({min(ratios):.3f}-{max(ratios):.3f})   bar 0.95")


if __name__ == "__main__":
    main()
