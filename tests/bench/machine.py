# SPDX-License-Identifier: MIT
"""What is asked of the machine: a stokerd to measure, memory and CPU time of processes."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import time


class Stokerd:
    """A daemon on a private socket, for as long as the `with` lasts; without `cache_memory` it
    keeps no pictures."""

    def __init__(self, build, workers, **flags):
        self.folder = tempfile.TemporaryDirectory(prefix="stoker-")
        path = pathlib.Path(self.folder.name)
        self.socket, self.control, self.log = path / "stokerd.sock", path / "control", path / "log"
        self.stokerctl = build / "client" / "ctl" / "stokerctl"
        self.command = [build / "daemon" / "stokerd", "--socket", self.socket, "--control-socket",
                        self.control, "--workers", str(workers)]
        for name, value in flags.items():
            self.command += ["--" + name.replace("_", "-"), str(value)]
        # An older build, to compare with, does not know the setting.
        self.environment = {**os.environ, "STOKER_CACHE_MEMORY": "0"}

    def __enter__(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log,
                                            env=self.environment)
        self.pid = self.process.pid
        deadline = time.monotonic() + 10
        while not self.socket.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise SystemExit("stokerd does not start: " + self.log.read_text())
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(15)
        finally:
            self.process.kill()
            self.folder.cleanup()

    def counters(self):
        done = subprocess.run([self.stokerctl, "--socket", self.control, "status", "--json"],
                              stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def wait_idle(self):
        deadline = time.monotonic() + 10
        while self.counters()["rings"] and time.monotonic() < deadline:
            time.sleep(0.05)


def tree(pids):
    """These processes and all below them."""
    below = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = pathlib.Path("/proc", entry, "stat").read_text()
            except OSError:
                continue  # it ended meanwhile
            below.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry))
    todo, out = list(pids), []
    while todo:
        pid = todo.pop()
        out.append(pid)
        todo += below.get(pid, [])
    return out


def memory_of(pids):
    """Bytes of these processes and their children; shared pages are shared out (PSS)."""
    total = 0
    for pid in tree(pids):
        try:
            text = pathlib.Path("/proc", str(pid), "smaps_rollup").read_text()
        except OSError:
            continue
        total += int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE).group(1)) << 10
    return total


def cpu_seconds(pid):
    """CPU time of a process, all its threads, in seconds; to the nanosecond where the kernel says
    it."""
    total = 0
    for task in pathlib.Path("/proc", str(pid), "task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def model():
    match = re.search(r"^model name\s*:\s*(.+)$", pathlib.Path("/proc/cpuinfo").read_text(),
                      re.MULTILINE)
    return match.group(1) if match else os.uname().machine
