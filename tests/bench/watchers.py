# SPDX-License-Identifier: MIT
"""What it costs to be watched, with 64 readers that train.

    scrape    Prometheus scrapes each `--interval` seconds: the loop thread's time a sample, with
              and without it, in turn; and what one scrape takes of the loop, by 20 a second in turn
              with none, as a part of what the loop has anyhow in an interval (bar: 1 %)
    page      the page is open in a browser without a window: memory of the daemon and of the page,
              in quarters of the time (bar: the last quarter has at most 2 % and 2 MB more than the
              second)

    python3 tests/bench/watchers.py [BUILD] [--data DIR] [--only scrape,page] [--readers 64]
        [--rounds 5] [--seconds 15] [--interval 15] [--open 600]

Needs prometheus and chromium. The loop's time is that of the daemon's main thread in /proc.
"""

import argparse
import contextlib
import os
import pathlib
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "daemon"), str(HERE.parent / "demo")]

TRAIN = {"transforms": [{"name": "RandomResizedCrop", "size": 64}], "dtype": "uint8",
         "layout": "NHWC", "batch_size": 8, "epochs": 0}
SCRAPE_BAR = 0.01
GROWTH, SLACK = 0.02, 2 << 20
PROMETHEUS = """
scrape_configs:
  - job_name: stoker
    scrape_interval: {interval}s
    scrape_timeout: {interval}s
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""


class Readers(threading.Thread):
    """So many, each on a stream of its own or, in fours, of one; they take all they get."""

    def __init__(self, daemon, data, count):
        super().__init__(daemon=True)
        self.taken, self.ended = 0, False
        self.peers = [daemon.connect() for _ in range(count)]
        self.selector = selectors.DefaultSelector()
        for i, peer in enumerate(self.peers):
            answer = peer.attach(data, order_seed=i // 4, augment_seed=i // 4, **TRAIN)
            assert answer.name == "attached", answer
            self.selector.register(peer.socket, selectors.EVENT_READ, peer)

    def run(self):
        while not self.ended:
            for key, _ in self.selector.select(0.5):
                message = key.data.receive(60)
                while message.name == "batch":
                    self.taken += message.fields["count"]
                    key.data.release(message)
                    if len(key.data.data) < 4:
                        break
                    message = key.data.receive(60)
        for peer in self.peers:
            peer.close()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def trained(options):
    from harness import Daemon
    port = free_port()
    daemon = Daemon(workers=os.cpu_count(), metrics_port=port).spawn()
    readers = Readers(daemon, options.data, options.readers)
    readers.start()
    try:
        time.sleep(5)
        yield daemon, readers, port
    finally:
        readers.ended = True
        readers.join()
        daemon.terminate()
        daemon.remove()


@contextlib.contextmanager
def prometheus(folder, port, interval):
    """A process that scrapes."""
    config = folder / "prometheus.yml"
    config.write_text(PROMETHEUS.format(port=port, interval=interval))
    command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}",
               f"--web.listen-address=127.0.0.1:{free_port()}"]
    with open(folder / "log", "wb") as log, \
            subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            time.sleep(interval + 3)
            assert process.poll() is None, (folder / "log").read_text()
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()


def loop_ns(daemon):
    """Of processor time: what its first thread had."""
    pid = daemon.process.pid
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0])


def slice_of(daemon, readers, seconds):
    """Microseconds of the loop a sample."""
    begun, taken = loop_ns(daemon), readers.taken
    time.sleep(seconds)
    return (loop_ns(daemon) - begun) / 1e3 / (readers.taken - taken)


def one_scrape(daemon, readers, port, options):
    """(microseconds of the loop that a scrape takes, those of a second without any)"""
    from test_watch import ask
    costs, plain = [], []
    for _ in range(options.rounds):
        begun, taken = loop_ns(daemon), readers.taken
        time.sleep(options.seconds)
        spent, made = loop_ns(daemon) - begun, readers.taken - taken
        plain.append(spent / 1e3 / options.seconds)
        begun, taken, count = loop_ns(daemon), readers.taken, 0
        until = time.monotonic() + options.seconds
        while time.monotonic() < until:
            assert ask(port)[0] == 200
            count += 1
            time.sleep(0.05)
        more = loop_ns(daemon) - begun - spent / made * (readers.taken - taken)
        costs.append(more / 1e3 / count)
    return statistics.median(costs), statistics.median(plain)


def scrape(options):
    """Prometheus is stopped for every other slice."""
    with_it, without = [], []
    with tempfile.TemporaryDirectory() as folder, trained(options) as (daemon, readers, port), \
            prometheus(pathlib.Path(folder), port, options.interval) as process:
        answered = daemon.status()
        for _ in range(options.rounds):
            process.send_signal(signal.SIGSTOP)
            without.append(slice_of(daemon, readers, options.seconds))
            process.send_signal(signal.SIGCONT)
            with_it.append(slice_of(daemon, readers, options.seconds))
        assert answered["readers"] == options.readers
        process.send_signal(signal.SIGSTOP)
        cost, second = one_scrape(daemon, readers, port, options)
    more = statistics.median(a / b for a, b in zip(with_it, without)) - 1
    spread = (max(without) - min(without)) / statistics.median(without)
    share = cost / options.interval / second
    good = share <= SCRAPE_BAR
    print(f"scrape: {statistics.median(with_it):.2f} us of the loop a sample with Prometheus each "
          f"{options.interval} s, {statistics.median(without):.2f} without: {100 * more:+.1f} % "
          f"(without differs by {100 * spread:.1f} % among itself)")
    print(f"scrape: one takes {cost:.0f} us of the loop, {100 * share:.2f} % of what it has in "
          f"{options.interval} s (bar {100 * SCRAPE_BAR:.0f}): {'passes' if good else 'MISSES'}",
          flush=True)
    return good


def resident(daemon):
    status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) << 10


def page(options):
    from browser import Browser
    own, heap = [], []
    with tempfile.TemporaryDirectory() as folder, trained(options) as (daemon, _, port), \
            Browser(folder) as browser:
        browser.open(f"http://127.0.0.1:{port}/")
        browser.shows([f"{options.readers} readers"])
        until = time.monotonic() + options.open
        while time.monotonic() < until:
            time.sleep(options.open / 40)
            own.append(resident(daemon))
            browser.collect()
            heap.append(browser.value("performance.memory.usedJSHeapSize"))
        complaints = browser.console
    good = not complaints
    for name, sizes in (("daemon", own), ("page's heap", heap)):
        quarter = len(sizes) // 4
        second, last = (statistics.median(sizes[quarter * i:quarter * (i + 1)]) for i in (1, 3))
        well = last <= second * (1 + GROWTH) + SLACK
        good &= well
        print(f"page: {name}: {second / 2**20:.1f} MiB in the second quarter of "
              f"{options.open:.0f} s, {last / 2**20:.1f} in the last: "
              f"{'passes' if well else 'MISSES'}", flush=True)
    print(f"page: {len(complaints)} complaints on its console")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", nargs="?", default=str(HERE.parents[1] / "build"))
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--only", default="scrape,page")
    parser.add_argument("--readers", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--interval", type=int, default=15)
    parser.add_argument("--open", type=float, default=600)
    options = parser.parse_args()
    os.environ["STOKER_BUILD"] = str(pathlib.Path(options.build).resolve())
    import photos
    with tempfile.TemporaryDirectory() as folder:
        if not options.data:
            options.data = pathlib.Path(folder)
            photos.make(options.data, count=200)
        parts = {"scrape": scrape, "page": page}
        sys.exit(0 if all([parts[name](options) for name in options.only.split(",")]) else 1)


if __name__ == "__main__":
    main()
