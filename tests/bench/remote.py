# SPDX-License-Identifier: MIT
"""Tar shards in S3 behind 20 ms of latency, beside the same shards on the disk and beside curl: the
first batch without an index, and images a second of the first epoch, for each order. By hand, with
versitygw, curl and two processors: the server and the latency have one, daemon and trainer the
other, so that a ratio is of what the daemon does and not of what the server takes from it:

    tests/bench/remote.py --data FOLDER [--build BUILD] [--samples 5000] [--shard 50] [--latency 20]
                          [--rounds 3] [--fetchers default,64] [--orders global,shards]

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
    with running(near, program("versitygw"), "--port", f"127.0.0.1:{near}", "--access", KEY,
                 "--secret", SECRET, "posix", "--sidecar", sidecar, folder), \
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


def read_epoch(address, path, order):
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
    print(first - begin, (count - BATCH) / (time.monotonic() - first))


def measure(options, path, order, fetchers, url=None):
    more = {"fetchers": fetchers} if fetchers != "default" else {}
    environment = {"AWS_ENDPOINT_URL": url or "", "AWS_ACCESS_KEY_ID": KEY,
                   "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION}
    os.environ.update(environment)
    os.sched_setaffinity(0, {DAEMON})
    try:
        with Stokerd(options.build, 1, **more) as daemon:
            done = subprocess.run([sys.executable, __file__, "--read", daemon.socket, path, order],
                                  stdout=subprocess.PIPE, check=True, text=True)
    finally:
        os.sched_setaffinity(0, range(os.cpu_count()))
    return [float(word) for word in done.stdout.split()]


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


def rows(options, folder, url, places):
    """Names, and lists of measurements: first batch, rate."""
    out = {}
    pattern = f"{{000000..{(options.samples - 1) // options.shard:06}}}.tar"
    for _ in range(options.rounds):
        curl = measure_curl(url, places)
        out.setdefault("64 curls", []).append((0, curl))
        for order in options.orders:
            out.setdefault(f"local, {order}", []).append(
                measure(options, f"{folder}/bucket/{pattern}", order, "default"))
            for fetchers in options.fetchers:
                out.setdefault(f"S3, {order}, fetchers {fetchers}", []).append(
                    measure(options, f"s3://bucket/{pattern}", order, fetchers, url))
    return out


def main():
    parser = parser_of(__doc__, rounds=3)
    parser.add_argument("--shard", type=int, default=50)
    parser.add_argument("--latency", type=int, default=20)
    parser.add_argument("--fetchers", type=lambda text: text.split(","), default=["default", "64"])
    parser.add_argument("--orders", type=lambda text: text.split(","),
                        default=["global", "shards"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stoker-remote-") as name:
        folder = pathlib.Path(name, "data")
        folder.mkdir()
        make_tars(folder / "bucket", pictures_in(options.data), options.samples, options.shard)
        places = places_in(folder / "bucket")
        with far_server(options, folder) as url:
            measured = rows(options, folder, url, places)
    curl = [rate for _, rate in measured["64 curls"]]
    for name, values in measured.items():
        order = next((word for word in options.orders if word in name), options.orders[0])
        local = [rate for _, rate in measured[f"local, {order}"]]
        rates = [rate for _, rate in values]
        print(f"{name:32}first batch {statistics.median(first for first, _ in values):6.2f} s   "
              f"{statistics.median(rates):6.0f} images/s   of local "
              f"{statistics.median(a / b for a, b in zip(rates, local)):5.2f}   of 64 curls "
              f"{statistics.median(a / b for a, b in zip(rates, curl)):5.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read_epoch(*sys.argv[2:])
    else:
        main()
