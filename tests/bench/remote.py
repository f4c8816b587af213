# SPDX-License-Identifier: MIT
"""Tar shards in S3 behind 20 ms of latency, beside the same shards on the disk and beside curl, and
what lies on the disk in other forms. By hand, with versitygw, curl and two processors: the server
and the latency have one, daemon and trainer the other, so that a ratio is of what the daemon does
and not of what the server takes from it:

    tests/bench/remote.py --data FOLDER [--build BUILD] [--only first,global,shards,warm,local]
                          [--samples 5000] [--shard 50] [--latency 20] [--rounds 2]
                          [--fetchers 64]

first: seconds to the first batch, without an index. global, shards: images a second of the first
epoch in that order, with an empty cache-dir and without one. warm: of an epoch that is kept in
cache-dir. local: as containers.py, tar shards, TFRecord and LMDB beside a folder. Each takes one or
two minutes on an idle machine.

An empty cache-dir gets a file for each sample. Before ext4 takes an inode of a group of blocks it
looks at each one there that was freed within the last minutes. The daemon spreads its files over
many groups, but what the last run of this program deleted lay in the same ones: wait for five
minutes, or set TMPDIR to a file system of its own.

The pictures of FOLDER are repeated up to that number of samples, --shard in each shard. curl is 64
processes, which read single pictures in a random order.
"""

import contextlib
import os
import pathlib
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "client" / "python"))

import containers  # noqa: E402
from containers import make_tars, parser_of, pictures_in  # noqa: E402
from machine import Stokerd  # noqa: E402

KEY, SECRET, REGION = "AKIDBENCH", "a-secret-of-the-bench-0123456789", "us-east-1"
SERVER, DAEMON = 1, 0  # processors
CURLS = 64
NO_BODY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
BATCH = 64


def program(name):
    found = shutil.which(name, path=os.pathsep.join(
        [os.environ["PATH"], "/usr/sbin", str(pathlib.Path.home() / "go/bin")]))
    return found or sys.exit(f"{name} is not installed")


def on(processor):
    """For Popen: a process of this processor."""
    return lambda: os.sched_setaffinity(0, {processor})


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(port, *command):
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, preexec_fn=on(SERVER))
    try:
        deadline = time.monotonic() + 10
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{command[0]} does not start")
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def far_server(options, folder):
    """The URL of an S3 server that has the buckets in `folder`, behind the latency."""
    near, far = free_port(), free_port()
    sidecar = folder.parent / "sidecar"
    sidecar.mkdir()
    # It would close each connection, and get 1 MiB of fresh memory for each answer, which is two
    # thirds of its time.
    with running(near, program("versitygw"), "--port", f"127.0.0.1:{near}", "--access", KEY,
                 "--secret", SECRET, "--keep-alive", "--quiet", "posix", "--io-buffer-size",
                 64 << 10, "--sidecar", sidecar, folder), \
            running(far, options.build / "tests" / "bench" / "delay_bench", far, near,
                    options.latency):
        yield f"http://127.0.0.1:{far}"


def places_in(folder):
    """Where each picture of the shards lies: (name, first byte, last byte)."""
    places = []
    for path in sorted(folder.iterdir()):
        with tarfile.open(path) as tar:
            places += [(path.name, member.offset_data, member.offset_data + member.size - 1)
                       for member in tar]
    return places


def read_epoch(address, path, order, batches):
    """As a program of its own: seconds to the first batch, and images a second after it."""
    import stoker
    begin = time.monotonic()
    loader = stoker.connect(address).loader(
        path, batch_size=BATCH, last_batch="drop", seed=1, epochs=1, order=order,
        transforms=(stoker.RandomResizedCrop(224), stoker.RandomHorizontalFlip()))
    count, first = 0, None
    for images, _ in loader:
        images.sum(dtype="int64")
        first = first or time.monotonic()
        count += len(images)
        if count == int(batches) * BATCH:
            break
    print(first - begin, (count - BATCH) / (time.monotonic() - first))


def measure(options, path, order, url="", batches=0, **flags):
    """Seconds to the first batch, images a second after it, requests; of all batches or so many."""
    os.environ.update({"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": KEY,
                       "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION})
    os.sched_setaffinity(0, {DAEMON})
    try:
        with Stokerd(options.build, 1, **flags) as daemon:
            done = subprocess.run([sys.executable, __file__, "--read", daemon.socket, path, order,
                                   str(batches)], stdout=subprocess.PIPE, check=True, text=True)
            requests = daemon.counters()["remote_requests_total"]
    finally:
        os.sched_setaffinity(0, range(os.cpu_count()))
    return [*map(float, done.stdout.split()), requests]


def measure_curl(url, places):
    """Pictures a second of 64 processes, each with a connection that it keeps."""
    places = random.Random(1).sample(places, len(places))
    lines = [f'url="{url}/bucket/{name}"\nrange="{begin}-{end}"\noutput="/dev/null"\n'
             f'aws-sigv4="aws:amz:{REGION}:s3"\nuser="{KEY}:{SECRET}"\n'
             f'header="x-amz-content-sha256: {NO_BODY}"\n' for name, begin, end in places]
    begin = time.monotonic()
    curls = [subprocess.Popen([program("curl"), "-sSf", "-K", "-"], stdin=subprocess.PIPE,
                              preexec_fn=on(DAEMON)) for _ in range(CURLS)]
    for number, curl in enumerate(curls):
        curl.stdin.write("next\n".join(lines[number::CURLS]).encode())
        curl.stdin.close()
    if any([curl.wait() for curl in curls]):
        sys.exit("curl fails; its words are above")
    return len(places) / (time.monotonic() - begin)


def ratio(values, others):
    return statistics.median(a / b for a, b in zip(values, others))


def first_batch(options, _folder, s3, url):
    made = [measure(options, s3, "global", url, 1, fetchers=options.fetchers)
            for _ in range(options.rounds)]
    print(f"first batch without an index {statistics.median(row[0] for row in made):.2f} s, "
          f"{statistics.median(row[2] for row in made):.0f} requests   bar 3 s of 5000 samples")


def first_epoch(order):
    def section(options, folder, s3, url):
        """The bar is the lower one of two."""
        made, curl = {}, []
        places = places_in(folder / "bucket")
        local = f"{folder}/bucket/*.tar"
        for number in range(options.rounds):
            cold = {"cache_dir": folder.parent / f"{order}{number}", "cache_free": 0}
            curl.append(measure_curl(url, places))
            for name, path, flags in ("local", local, {}), ("S3", s3, {}), \
                    ("S3, empty cache", s3, cold):
                flags = {"fetchers": options.fetchers, **flags} if path == s3 else flags
                made.setdefault(name, []).append(measure(options, path, order, url, **flags))
        print(f"{order}: 64 curls{statistics.median(curl):39.0f} images/s")
        near = [row[1] for row in made["local"]]
        for name, rows in made.items():
            rates = [row[1] for row in rows]
            print(f"{order}: {name:17}first batch {statistics.median(row[0] for row in rows):6.2f} "
                  f"s {statistics.median(rates):6.0f} images/s {rows[-1][2]:6} requests   of local "
                  f"{ratio(rates, near):5.2f} (bar 0.80)   of curls {ratio(rates, curl):5.2f} "
                  "(bar 0.90)")
    return section


def warm_epoch(options, folder, s3, url):
    kept = {"cache_dir": folder.parent / "kept", "cache_free": 0,
            "index_dir": folder.parent / "index"}
    kept["index_dir"].mkdir(mode=0o700)
    measure(options, s3, "shards", url, fetchers=64, **kept)
    local, warm = [], []
    for _ in range(options.rounds):
        local.append(measure(options, f"{folder}/bucket/*.tar", "global")[1])
        warm.append(measure(options, s3, "global", url, **kept)[1])
    shutil.rmtree(kept["cache_dir"])
    print(f"warm: {statistics.median(warm):.0f} images/s   of local {ratio(warm, local):.3f}   "
          "bar 0.95")


SECTIONS = {"first": first_batch, "global": first_epoch("global"), "shards": first_epoch("shards"),
            "warm": warm_epoch}


def remote(options, only):
    with tempfile.TemporaryDirectory(prefix="stoker-remote-") as name:
        folder = pathlib.Path(name, "data")
        folder.mkdir()
        make_tars(folder / "bucket", pictures_in(options.data), options.samples, options.shard)
        s3 = f"s3://bucket/{{000000..{(options.samples - 1) // options.shard:06}}}.tar"
        with far_server(options, folder) as url:
            for section in only:
                SECTIONS[section](options, folder, s3, url)


def main():
    parser = parser_of(__doc__, rounds=2)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[*SECTIONS, "local"])
    parser.add_argument("--shard", type=int, default=50)
    parser.add_argument("--latency", type=int, default=20)
    parser.add_argument("--fetchers", type=int, default=64)
    options = parser.parse_args()
    only = [section for section in options.only if section != "local"]
    if any(section not in SECTIONS for section in only):
        parser.error(f"--only takes {', '.join(SECTIONS)} and local")
    if only:
        remote(options, only)
    if "local" in options.only:
        containers.compare(options)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read_epoch(*sys.argv[2:])
    else:
        main()
