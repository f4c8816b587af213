# SPDX-License-Identifier: MIT
"""Nodes on one machine: each a network, mount, host name and process namespace with its own daemon,
/dev/shm and run-time folder, on one bridge; so a node can be switched off as a whole.

Needs root, and ip (iproute2). Where namespaces cannot be had a node is a group of processes with a
run-time folder of its own on the one network of the machine, and `kind` says so.
"""
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("STOKER_BUILD", ROOT / "build")).resolve()
STOKERD = BUILD / "daemon" / "stokerd"
_INSIDE = "NODES_ARE_SPACES"
_WAIT_S = 60

# What a node does first; $1 is its name, $2 its run-time folder, $3 the daemon. It ends with its
# command, and the daemon with it.
_BOOT = r"""
name=$1 XDG_RUNTIME_DIR=$2 stokerd=$3
shift 3
export XDG_RUNTIME_DIR
if [ -n "$NODES_ARE_SPACES" ]; then
    mount -t tmpfs tmpfs /dev/shm && hostname "$name" && ip link set lo up || exit 1
fi
mkdir -p -m 700 "$XDG_RUNTIME_DIR/stoker"
"$stokerd" --socket "$XDG_RUNTIME_DIR/stoker/stokerd.sock" --workers 1 --ring-memory 256M &
daemon=$!
tries=0
while [ ! -S "$XDG_RUNTIME_DIR/stoker/stokerd.sock" ]; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || exit 1
    sleep 0.1
done
"$@"
code=$?
kill $daemon
wait
exit $code
"""


def inside():
    """Enter a network and mount namespace, where it is allowed: this program begins again there.
    Returns what nodes are."""
    if os.environ.get(_INSIDE):
        return "network namespaces" if os.environ[_INSIDE] == "1" else ""
    test = ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--mount-proc"]
    if os.geteuid() == 0 and subprocess.run(
            [*test, "sh", "-c", "ip link add type veth"], capture_output=True).returncode == 0:
        os.environ[_INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--net", "--mount", sys.executable, *sys.argv])
    return "groups of processes on one network (namespaces need root and iproute2)"


class Node:
    """One machine; `name` is its host name."""

    def __init__(self, cluster, number):
        self.name = f"node{number}" if cluster.spaces else "localhost"
        self._cluster = cluster
        self._run = cluster.folder / f"run{number}"
        self._run.mkdir(mode=0o700)
        self._log = cluster.folder / f"log{number}"
        self._number = number
        self.process = None
        if cluster.spaces:
            _ip(f"netns add node{number}")
            _ip(f"link add veth{number} type veth peer name eth0 netns node{number}")
            _ip(f"link set veth{number} master nodes up")
            _ip(f"-n node{number} addr add 10.77.0.{10 + number}/24 dev eth0")
            _ip(f"-n node{number} link set eth0 up")

    def run(self, *command, **variables):
        """Start the daemon, then the command, which is the node's life."""
        boot = ["sh", "-c", _BOOT, "boot", self.name, str(self._run), str(STOKERD),
                *map(str, command)]
        if self._cluster.spaces:
            boot = ["ip", "netns", "exec", self.name, "unshare", "--mount", "--uts", "--pid",
                    "--fork", "--kill-child", "--mount-proc", *boot]
        else:
            variables["NODES_ARE_SPACES"] = ""
        with open(self._log, "ab") as log:
            self.process = subprocess.Popen(
                boot, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, **variables})
        return self

    def cut(self):
        """Its network is gone; nobody is told."""
        _ip(f"link set veth{self._number} down")

    def off(self):
        """As a machine without power: every process of it is gone at once."""
        if self.process and self.process.poll() is None:
            for pid in [*descendants(self.process.pid), self.process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()

    def log(self):
        return self._log.read_text(errors="replace") if self._log.exists() else ""


class Cluster:
    """Nodes and the host between them, whose name is `head`. Use as a context."""

    def __init__(self, count):
        self.spaces = os.environ.get(_INSIDE) == "1"
        self._temporary = tempfile.TemporaryDirectory(prefix="stoker-nodes-")
        self.folder = Path(self._temporary.name)
        self.head = "head" if self.spaces else "localhost"
        if self.spaces:
            self._network(count)
        self.nodes = [Node(self, number + 1) for number in range(count)]

    def _network(self, count):
        subprocess.run("mount -t tmpfs tmpfs /run && mkdir -p /run/netns", shell=True, check=True)
        hosts = self.folder / "hosts"
        hosts.write_text("127.0.0.1 localhost\n10.77.0.1 head\n" + "".join(
            f"10.77.0.{11 + number} node{number + 1}\n" for number in range(count)))
        subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
        _ip("link set lo up")
        _ip("link add nodes type bridge")
        _ip("addr add 10.77.0.1/24 dev nodes")
        _ip("link set nodes up")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.off()
        if self.spaces:
            for number in range(len(self.nodes)):
                _ip(f"netns del node{number + 1}")
            _ip("link del nodes")
            subprocess.run(["umount", "/etc/hosts"], check=True)
            subprocess.run(["umount", "-R", "/run"], check=True)
        self._temporary.cleanup()


def descendants(pid):
    """The processes below this one, deepest first."""
    below = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                below.append(int(stat.parent.name))
    return [each for child in below for each in (*descendants(child), child)]


def _ip(words):
    subprocess.run(["ip", *words.split()], check=True)


def wait_for(condition, what, seconds=_WAIT_S):
    """Poll until condition() is true; its value."""
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            what = what() if callable(what) else what
            raise AssertionError(f"after {seconds} s still not: {what}")
        time.sleep(0.02)
