# SPDX-License-Identifier: MIT
"""What is around the daemon: the machine sleeps, memory is short, folders come in another order,
nothing of the file system is where one would look for it."""

import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import numpy
import pytest

from harness import SLOW, STOKERD, Daemon, wait_for
from test_allocations import pytestmark as a_plain_build
from test_law import N, STREAM, digests
from test_storage import epoch, faulty, files, run

ATTACH, DETACH, WAIT_FOR_THREADS = 16, 17, 0x40000000
CGROUPS = pathlib.Path("/sys/fs/cgroup/memory")


class Stopped:
    """One thread of a process of ours stands still while the others go on, as in a debugger."""

    def __init__(self, thread):
        self.thread, self.libc = thread, ctypes.CDLL(None, use_errno=True)

    def ptrace(self, request):
        if self.libc.ptrace(request, self.thread, None, None) < 0:
            pytest.skip(f"ptrace is not allowed here: {os.strerror(ctypes.get_errno())}")

    def __enter__(self):
        self.ptrace(ATTACH)
        os.waitpid(self.thread, WAIT_FOR_THREADS)
        return self

    def __exit__(self, *_):
        self.ptrace(DETACH)


def heard(listener):
    """What has been said since the last look."""
    said = []
    while True:
        try:
            said.append(listener.recv(1000, socket.MSG_DONTWAIT))
        except BlockingIOError:
            return said


def test_a_loop_that_hangs(spawn, tmp_path):
    """FAULTS 25: the signs of life for systemd are the loop's own. While it stands still there are
    none, whatever the other threads do."""
    alive = b"WATCHDOG=1"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        daemon = spawn(environment={"NOTIFY_SOCKET": str(tmp_path / "notify"),
                                    "WATCHDOG_USEC": "200000"})
        wait_for(lambda: alive in heard(listener), "a sign of life")
        with Stopped(daemon.process.pid):
            heard(listener)
            time.sleep(1)  # five times as long as systemd would wait
            assert alive not in heard(listener)
        wait_for(lambda: alive in heard(listener), "a sign of life")


def test_folders_listed_in_another_order(spawn, photos):
    """FAULTS 71: the order in which a file system lists its entries is nothing: bytes sort them."""
    reference = digests(spawn(), photos)
    backwards = spawn(environment=faulty(STOKER_TEST_BACKWARDS="1"))
    with spawn().connect() as one, backwards.connect() as other:
        assert one.attach(photos, **STREAM).fields["dataset_fingerprint"] == \
            other.attach(photos, **STREAM).fields["dataset_fingerprint"]
    assert digests(backwards, photos) == reference


def test_a_folder_that_grows_while_it_is_listed(daemon, photos, tmp_path):
    """FAULTS 66: a dataset is what was there at one time, and stays that; a token of another one is
    refused."""
    folder = tmp_path / "growing"
    shutil.copytree(photos, folder)
    first, last = files(folder)[0], None

    def grow(times):
        for number in range(50):
            shutil.copy(first, tmp_path / "whole")  # no sample before it has its bytes
            (tmp_path / "whole").rename(
                first.with_name(f"{first.stem}-{times}-{number}{first.suffix}"))
            time.sleep(0.001)

    for times in range(10):
        thread = threading.Thread(target=grow, args=(times,))
        thread.start()
        try:
            with daemon.connect() as peer:
                attached = peer.attach(folder, **STREAM, epochs=1).fields
                assert attached["samples"] >= (last or {"samples": N})["samples"]
                assert {position for _, position, _ in peer.samples(keep=())} == \
                    set(range(attached["samples"]))
                last = last or attached
        finally:
            thread.join()
    with daemon.connect() as peer:
        error = peer.attach(folder, **STREAM, expect_dataset=last["dataset_fingerprint"]).fields
        assert error["name"] == "token", error


@a_plain_build  # a sanitizer looks at the clock by itself
def test_the_machine_sleeps(spawn, photos, tmp_path):
    """FAULTS 80: an hour is gone at once. Who trains goes on, on the same connection."""
    reference = digests(spawn(), photos)
    asleep = tmp_path / "asleep"
    daemon = spawn(environment=faulty(STOKER_TEST_SUSPENDED=str(asleep)))
    with daemon.connect() as peer, daemon.connect() as idle:
        assert peer.attach(photos, **STREAM, epochs=2).name == "attached"
        held = peer.expect("batch")
        asleep.touch()
        assert idle.request("ping").name == "ok"
        peer.release(held)
        assert held.fields["count"] + sum(1 for _ in peer.samples(keep=())) == 2 * N
    assert digests(daemon, photos) == reference
    status = daemon.status()
    assert status["uptime_s"] >= 3600 and status["timeouts_total"] == 0


def test_large_pages(spawn, photos):
    """FAULTS 87: where a page has 64 KiB, as on many ARM servers, each field begins with one, and
    what is charged is what such pages take. The samples are the same."""
    reference = digests(spawn(), photos)
    daemon = spawn(environment=faulty(STOKER_TEST_PAGES="65536"))
    with daemon.connect() as peer:
        attached = peer.attach(photos, **STREAM, epochs=1)
        ring = peer.ring
        begin = numpy.frombuffer(ring.map, "uint8").ctypes.data
        assert attached.fields["bytes"] % 65536 == 0
        assert all((field.ctypes.data - begin) % 65536 == 0 for field in ring.fields.values())
    assert digests(daemon, photos) == reference


@pytest.fixture(name="group")
def fixture_group():
    """A control group of 300 MB (more for a sanitizer's own), if this machine lets us make one."""
    folder = CGROUPS / f"stoker-test-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / "memory.limit_in_bytes").write_text(str(int(SLOW * 300) << 20))
    except OSError as error:
        pytest.skip(f"no control group for memory can be made here: {error}")
    yield folder
    wait_for(lambda: not (folder / "cgroup.procs").read_text(), "the group is empty")
    folder.rmdir()


GLUTTON = """
import sys
sys.path.insert(0, sys.argv[1])
from harness import Peer
peer = Peer(sys.argv[2])
peer.hello()
peer.attach(sys.argv[3], order_seed=7, augment_seed=9, epochs=0, batch_size=4,
            transforms=[{"name": "RandomResizedCrop", "size": 32}])
peer.expect("batch")
open(sys.argv[4] + "/cgroup.procs", "w").write("0")
kept = []
while True:
    kept.append(bytearray(b"x") * (16 << 20))
"""


def test_a_trainer_without_memory(daemon, photos, group):
    """FAULTS 54: the kernel kills a trainer that holds a batch; nobody else notices."""
    reference = digests(daemon, photos)
    daemon.settle()
    done = subprocess.run([sys.executable, "-c", GLUTTON, os.path.dirname(__file__),
                           str(daemon.socket), str(photos), str(group)], check=False)
    assert done.returncode == -signal.SIGKILL
    daemon.settle()
    assert digests(daemon, photos) == reference


def test_a_daemon_without_memory(spawn, photos, group):
    """FAULTS 54: in a group of its own it takes its default budget from the group's limit, and a
    ring that does not fit is refused with numbers; it is never killed."""
    daemon = spawn(launcher=["sh", "-c", f'echo 0 >{group}/cgroup.procs && exec "$@"', "sh"])
    limits, limit = daemon.status(), int(SLOW * 300) << 20
    assert sum(limits[f"{what}_memory"] for what in ("ring", "dataset", "index")) <= 0.6 * limit
    assert limits["cache_memory"] <= limit / 4
    with daemon.connect() as peer:
        error = peer.attach(photos, **STREAM, batch_size=4000, prefetch=64).fields
        assert error["name"] == "memory", error
    assert len(digests(daemon, photos)) == 2 * N
    daemon.terminate()


@a_plain_build  # a sanitizer's has terabytes
def test_little_room_for_addresses(spawn, photos):
    """FAULTS 55: whatever the limit, it serves or says why it does not."""
    reference, seen = run(spawn(), photos)[0], set()
    for mebibytes in [*range(60, 180, 15), 2000]:
        daemon = Daemon(launcher=["prlimit", f"--as={mebibytes << 20}"])
        try:
            daemon.spawn()
        except AssertionError:
            assert daemon.process.wait() in (71, 73, 127), daemon.log()
            # 127: the dynamic linker's word for it is that it "failed to map" a library.
            assert "memory" in daemon.log() or "failed to map" in daemon.log(), daemon.log()
            seen.add("refused to start")
            daemon.remove()
            continue
        try:
            with daemon.connect() as peer:
                answer = peer.attach(photos, **STREAM, shuffle=False)
                assert answer.name == "attached" or "memory" in answer.fields["text"], answer
                if answer.name == "attached":
                    images, bad = epoch(peer)
                    assert images.items() <= reference.items()
                    assert all("memory" in sample["text"] for sample in bad), bad
                    seen.add("served in part" if bad else "served")
            daemon.settle()
            daemon.terminate()
        finally:
            if daemon.process:
                daemon.kill()
            daemon.remove()
    assert seen >= {"refused to start", "served"}


def test_signals_go_by_descriptor(daemon):
    """FAULTS 84: a number of a process may be another one's by now. The daemon watches peers
    by pidfd, and has nothing to signal a number with."""
    with daemon.connect():
        links = [os.readlink(fd) for fd in pathlib.Path(f"/proc/{daemon.process.pid}/fd").iterdir()]
    assert "anon_inode:[pidfd]" in links
    needs = subprocess.run(["nm", "-D", "--undefined-only", str(STOKERD)], check=True, text=True,
                           capture_output=True).stdout
    assert not {"kill", "waitpid", "pidfd_send_signal"} & {line.split("@")[0].split()[-1]
                                                           for line in needs.splitlines()}


BARE = """
set -e
mount --bind {sockets} {sockets}
mount -o remount,ro,bind /
exec "$@"
"""
NO_PROC = """
set -e
mount -t tmpfs none /proc
exec "$@"
"""


def launcher(script):
    """With mounts of its own, made by this script, and without an environment."""
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/proc"],
                      capture_output=True, check=False).returncode:
        pytest.skip("no mount namespace can be had here")
    return ["env", "-i", f"PATH={os.environ['PATH']}", "unshare", "-m", "sh", "-c", script, "sh"]


def test_a_bare_system(spawn, photos):
    """FAULTS 87: no environment, and nothing but the sockets' folder can be written."""
    reference = digests(spawn(), photos)
    daemon = spawn(launcher=launcher(BARE.format(sockets=tempfile.gettempdir())))
    assert digests(daemon, photos) == reference


@a_plain_build  # a sanitizer needs it
def test_no_proc(tmp_path):
    """FAULTS 87: it says what it needs."""
    done = subprocess.run([*launcher(NO_PROC), str(STOKERD), "--socket", str(tmp_path / "socket")],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 73 and done.stderr.endswith("mount /proc\n"), done
