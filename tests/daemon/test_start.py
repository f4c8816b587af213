# SPDX-License-Identifier: MIT
"""Starting: one daemon a socket, sockets of the dead taken over, limits and memory that are said
before they are needed.
"""

import os
import pathlib
import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

import pytest

from harness import SLOW, STOKERD, WAIT_S, Daemon, Peer, wait_for
from test_law import STREAM, TRAIN


def refused(daemon):
    """Run a second one with the same options to its end."""
    return subprocess.run(daemon.command(), capture_output=True, text=True, timeout=20 * SLOW,
                          check=False)


def test_second_daemon(daemon):
    """FAULTS 33: it says who is there, with EX_TEMPFAIL, and the first does not notice."""
    second = refused(daemon)
    assert second.returncode == 75
    assert f"already running (pid {daemon.process.pid})" in second.stderr
    assert daemon.serves()


def test_twenty_at_once(tmp_path):
    """FAULTS 33: a race has one winner."""
    command = [str(STOKERD), "--socket", str(tmp_path / "s"), "--control-socket",
               str(tmp_path / "c"), "--workers", "1"]
    processes = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(20)]
    wait_for(lambda: sum(p.poll() is None for p in processes) == 1, "one is left")
    assert sorted(p.returncode for p in processes if p.poll() is not None) == [75] * 19
    winner, = [p for p in processes if p.poll() is None]
    with Peer(tmp_path / "s") as peer:
        assert peer.hello().fields["pid"] == winner.pid
    winner.terminate()
    assert winner.wait(10 * SLOW) == 0


def test_taking_over_from_the_dead(daemon, photos):
    """FAULTS 34: after kill -9 the path is a dead socket; segments by path are swept."""
    with daemon.connect() as peer:
        peer.attach(photos, transforms=TRAIN, accept_fd=False, accept_path=True)
        assert daemon.shared_names()
        daemon.kill()
    assert daemon.socket.exists() and daemon.shared_names()
    daemon.spawn()
    assert not daemon.shared_names()
    with daemon.connect() as peer:
        assert peer.attach(photos, **STREAM).name == "attached"


def test_a_living_socket_of_somebody_else(tmp_path):
    """FAULTS 34: who answers is never unlinked, lock or no lock."""
    path = tmp_path / "stokerd.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        done = subprocess.run([str(STOKERD), "--socket", str(path)], capture_output=True,
                              text=True, timeout=20 * SLOW, check=False)
        assert done.returncode == 75 and path.exists(), done


@pytest.mark.parametrize("kind", ["file", "folder", "link", "long"])
def test_a_path_that_is_no_socket(tmp_path, kind):
    """FAULTS 35: refused, and left as it is."""
    path = tmp_path / "stokerd.sock"
    if kind == "file":
        path.write_text("precious")
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        (tmp_path / "target").write_text("precious")
        path.symlink_to("target")
    else:
        path = tmp_path / ("x" * 120)
    done = subprocess.run([str(STOKERD), "--socket", str(path), "--control-socket",
                           str(tmp_path / "c")], capture_output=True, text=True,
                          timeout=20 * SLOW, check=False)
    assert done.returncode not in (0, 75) and path.name[-60:] in done.stderr, done
    if kind == "file":
        assert path.read_text() == "precious"
    elif kind == "folder":
        assert path.is_dir()
    elif kind == "link":
        assert path.is_symlink() and (tmp_path / "target").read_text() == "precious"
    else:
        assert "107" in done.stderr


def test_a_folder_that_is_not_there(tmp_path):
    done = subprocess.run([str(STOKERD), "--socket", str(tmp_path / "none" / "stokerd.sock")],
                          capture_output=True, text=True, timeout=20 * SLOW, check=False)
    assert done.returncode == 73 and "make its directory" in done.stderr, done


def test_a_cache_of_another_daemon(spawn, tmp_path):
    """One owner at a time, also after it was killed; one that cannot be had costs time only."""
    cache = tmp_path / "cache"
    daemon = spawn(cache_dir=cache)
    done = subprocess.run([str(STOKERD), "--socket", str(tmp_path / "s"), "--cache-dir",
                           str(cache)], capture_output=True, text=True,
                          timeout=20 * SLOW, check=False)
    assert done.returncode == 73 and "another stokerd uses" in done.stderr, done
    daemon.terminate(signal.SIGKILL, -9)
    assert spawn(cache_dir=cache).serves()
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    assert spawn(cache_dir=open_to_all).serves()


def test_words_that_nobody_gets():
    """A full disk does not look like success."""
    with open("/dev/full", "wb") as full:
        assert subprocess.run([str(STOKERD), "--help"], stdout=full, check=False).returncode == 74


def test_a_limit_of_file_sizes(daemon, photos):
    """`ulimit -f` holds for rings, too: who wants one is told, and the daemon lives."""
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))
    with daemon.connect() as peer:
        answer = peer.attach(photos, **STREAM)
        assert (answer.name, answer.fields["name"]) == ("error", "memory"), answer
    assert daemon.serves()


def test_modes(spawn):
    daemon = spawn(socket_mode="0640")
    assert stat.S_IMODE(daemon.socket.stat().st_mode) == 0o640
    assert stat.S_IMODE(daemon.control.stat().st_mode) == 0o600


def test_a_thousand_connections(spawn, photos):
    """FAULTS 49: all are served, one more is told; status answers; and then all are gone."""
    daemon = spawn(max_connections=1000)
    with daemon.connect() as first:
        first.attach(photos, **STREAM)
    daemon.settle()
    before = daemon.usage()
    peers = [daemon.connect() for _ in range(1000)]
    with Peer(daemon.socket) as late:
        error = late.expect_error("too_many_connections", hang_up=True)
        assert "1000" in error["text"]
    with daemon.connect(control=True) as control:
        values = control.request("status").fields["values"]
        assert values["connections"] == 1001 and values["connections_refused_total"] == 1
    for peer in peers[::7]:
        assert peer.request("ping").name == "ok"
    assert peers[500].attach(photos, **STREAM).name == "attached"
    for peer in peers:
        peer.close()
    daemon.settle(before)


def test_a_thousand_readers(spawn, photos):
    """All on one ring, all listed."""
    daemon = spawn()
    peers = [daemon.connect() for _ in range(300)]
    for peer in peers:
        assert peer.attach(photos, **STREAM, inflight=0).name == "attached"
    readers = daemon.list("readers")
    assert len(readers) == 300 and len({r["reader"] for r in readers}) == 300
    assert {r["state"] for r in readers} == {"paused"}
    assert daemon.status()["rings"] == 1
    for peer in peers:
        peer.close()
    daemon.settle()


def ticks(pid):
    """Hundredths of a second of CPU so far."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return sum(map(int, stat.rsplit(")", 1)[1].split()[11:13]))


def test_few_descriptors(spawn, photos):
    """FAULTS 50: new ones are refused in words, running epochs go on, the loop does not spin."""
    daemon = spawn(launcher=["prlimit", "--nofile=40:40"])
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=2)
        peers = []
        for _ in range(60):
            other = Peer(daemon.socket)
            peers.append(other)
        assert any(other.receive().name == "error" for other in peers[-3:])
        assert len(list(peer.samples(keep=()))) == 120
        start = ticks(daemon.process.pid)
        time.sleep(1)
        assert ticks(daemon.process.pid) - start < 20, \
            "hundredths of a second of CPU in an idle second"
        for other in peers:
            other.close()
    daemon.settle()


def test_no_descriptor_at_all(daemon):
    """FAULTS 50: not even one to refuse with: who connects waits, the loop does not spin."""
    pid = daemon.process.pid
    low, high = 6, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (low, high))
    with Peer(daemon.socket) as peer:
        time.sleep(0.2)
        before = ticks(pid)
        time.sleep(1)
        assert ticks(pid) - before < 20, "hundredths of a second of CPU in an idle second"
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (high, high))
        assert peer.hello().name == "welcome"


def test_ring_beyond_the_budget(spawn, photos):
    """FAULTS 52: refused with the numbers; what fits is served, and the budget comes back."""
    daemon = spawn(ring_memory="1M")
    big = {"transforms": [{"name": "RandomResizedCrop", "size": 224}]}
    with daemon.connect() as peer:
        error = peer.attach(photos, **big, batch_size=16).fields
        assert error["name"] == "memory" and "1048576" in error["text"], error
        assert peer.attach(photos, **STREAM).name == "attached"
        with daemon.connect() as other:
            error = other.attach(photos, **{**STREAM, "order_seed": 99}, batch_size=40).fields
            assert error["name"] == "memory"
    daemon.settle()
    with daemon.connect() as peer:
        assert peer.attach(photos, **STREAM, batch_size=20).name == "attached"


def test_small_dev_shm(spawn, photos):
    """FAULTS 51: descriptors do not care; a path is refused with the size and a hint."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespace can be had here")
    daemon = spawn(launcher=["unshare", "-m", "sh", "-c",
                             'mount -t tmpfs -o size=1m none /dev/shm && exec "$@"', "sh"])
    big = {"transforms": [{"name": "RandomResizedCrop", "size": 64}], "batch_size": 32}
    with daemon.connect() as peer:
        error = peer.attach(photos, **big, accept_fd=False, accept_path=True).fields
        assert error["name"] == "memory", error
        assert "/dev/shm" in error["text"] and "--shm-size" in error["text"]
        assert peer.attach(photos, **big).name == "attached"
        assert len(list(peer.samples(keep=()))) == 60
    daemon.settle()


def listeners_in(folder):
    """Two sockets, as systemd makes them."""
    out = []
    for name in ("data", "control"):
        out.append(socket.socket(socket.AF_UNIX))
        out[-1].bind(str(folder / name))
        out[-1].listen(4096)
    return out


def activate(listeners, names="data:control"):
    """A daemon that gets them passed by name."""
    code = ("import os,sys\n"
            "fds=[int(x) for x in sys.argv[1].split(',')]\n"
            "import fcntl\n"
            "spare=[fcntl.fcntl(f, fcntl.F_DUPFD, 10) for f in fds]\n"
            "[os.dup2(f, 3+i) for i, f in enumerate(spare)]\n"
            "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)),"
            f" LISTEN_FDNAMES='{names}')\n"
            "os.execv(sys.argv[2], sys.argv[2:])\n")
    fds = ",".join(str(listener.fileno()) for listener in listeners)
    return subprocess.Popen([sys.executable, "-c", code, fds, str(STOKERD), "--workers", "1"],
                            pass_fds=[x.fileno() for x in listeners],
                            stderr=subprocess.PIPE, text=True)


def test_a_restart_refuses_nobody(photos, tmp_path):
    """FAULTS 36: 100 clients connect while nobody is there; all are served by the next daemon."""
    listeners = listeners_in(tmp_path)
    process = activate(listeners)
    try:
        with Peer(tmp_path / "data") as peer:
            peer.hello()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20 * SLOW)
        assert process.returncode == 0
        peers = [Peer(tmp_path / "data") for _ in range(100)]
        for peer in peers:
            peer.send("hello", seq=1, version_min=1, version_max=1)
        process = activate(listeners)
        for peer in peers:
            assert peer.expect("welcome").fields["seq"] == 1
            peer.seq = 1
        for peer in peers:
            assert peer.attach(photos, **STREAM).name == "attached"
            assert peer.expect("batch").fields["position"] == 0
            peer.close()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20 * SLOW)
        for listener in listeners:
            listener.close()
    assert process.returncode == 0


def test_metrics_of_passed_sockets(tmp_path):
    """A Unix socket and a port, both called metrics; the daemon opens neither itself."""
    with socket.socket(socket.AF_UNIX) as metrics, socket.socket() as port:
        metrics.bind(str(tmp_path / "metrics"))
        port.bind(("127.0.0.1", 0))
        for listener in (metrics, port):
            listener.listen()
        process = activate([*listeners_in(tmp_path), metrics, port],
                           "data:control:metrics:metrics")
        try:
            for peer, address in ((socket.socket(socket.AF_UNIX), str(tmp_path / "metrics")),
                                  (socket.socket(), port.getsockname())):
                with peer:
                    peer.settimeout(WAIT_S)
                    peer.connect(address)
                    peer.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    assert peer.recv(15) == b"HTTP/1.1 200 OK"
        finally:
            process.send_signal(signal.SIGTERM)
            _, log = process.communicate(timeout=20 * SLOW)
        assert process.returncode == 0
        assert f"http://127.0.0.1:{port.getsockname()[1]}/" in log
        assert (tmp_path / "metrics").exists(), "it is systemd's to unlink"


def test_socket_activation(photos, tmp_path):
    """Two sockets passed by name; the daemon unlinks none of them."""
    listeners = listeners_in(tmp_path)
    process = activate(listeners)
    try:
        with Peer(tmp_path / "data") as peer:
            peer.hello()
            assert peer.attach(photos, **STREAM).name == "attached"
            assert len(list(peer.samples(keep=()))) == 60
        with Peer(tmp_path / "control") as peer:
            peer.hello()
            assert peer.request("status").fields["values"]["samples_delivered_total"] == 60
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10 * SLOW)
    assert process.returncode == 0
    assert (tmp_path / "data").exists() and (tmp_path / "control").exists()
    for listener in listeners:
        listener.close()


def test_two_sockets_for_one(tmp_path):
    """Refused in words: connections to one of them would wait for ever."""
    listeners = listeners_in(tmp_path)
    process = activate(listeners, names="data:more")
    said = process.communicate(timeout=10 * SLOW)[1]
    assert process.returncode and "FileDescriptorName" in said
    for listener in listeners:
        listener.close()


def test_notify_socket(spawn, tmp_path):
    """Type=notify and the watchdog: READY once it serves, signs of life, STOPPING."""
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(path))
        notify.settimeout(10 * SLOW)
        said = []
        stop = threading.Event()

        def listen():
            while not stop.is_set():
                try:
                    said.append(notify.recv(1000).decode())
                except TimeoutError:
                    return
        thread = threading.Thread(target=listen)
        thread.start()
        environment = {"NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "3000000"}
        daemon = spawn(environment=environment)
        wait_for(lambda: any("READY=1" in words for words in said), "READY=1")
        wait_for(lambda: any("WATCHDOG=1" in words for words in said), "WATCHDOG=1")
        daemon.terminate()
        wait_for(lambda: any("STOPPING=1" in words for words in said), "STOPPING=1")
        stop.set()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as waker:
            waker.sendto(b"", str(path))
        thread.join()


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM])
def test_a_signal_without_a_meaning(daemon, photos, number):
    """It goes on, and ends as usual."""
    with daemon.connect() as peer:
        assert peer.attach(photos, **STREAM).name == "attached"
        daemon.process.send_signal(number)
        assert len(list(peer.samples(keep=()))) == 60
    daemon.process.send_signal(number)
    assert daemon.serves()
    daemon.terminate()


GROUPS = {
    "v2": ("0::/job/step\n", {"job/memory.max": "400M", "job/step/memory.max": "max"}),
    "v1": ("5:cpu:/job\n4:memory:/job/step\n0::/\n",
           {"memory/job/memory.limit_in_bytes": "400M",
            "memory/job/step/memory.limit_in_bytes": str(2**63 - 4096)}),
    # The path is the host's; of the file system only the container's own part is there.
    "v1 in a container": ("4:memory:/docker/0123456789\n",
                          {"memory/memory.limit_in_bytes": "400M"}),
    "none": ("4:memory\n\n0:", {}),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lay out other control groups")
@pytest.mark.parametrize("kind", GROUPS)
def test_the_limit_of_a_control_group(tmp_path, kind):
    """A quarter of it is the default of ring-memory, whichever version has the limit."""
    own, limits = GROUPS[kind]
    (tmp_path / "own").write_text(own)
    script = f"mount -t tmpfs none /sys/fs/cgroup && mount --bind {tmp_path}/own /proc/$$/cgroup"
    for path, limit in limits.items():
        size = int(limit[:-1]) << 20 if limit.endswith("M") else limit
        script += f" && mkdir -p /sys/fs/cgroup/{pathlib.Path(path).parent}"
        script += f" && echo {size} > /sys/fs/cgroup/{path}"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh", str(STOKERD), "--config",
         "/dev/null", "--print-config"], capture_output=True, text=True, timeout=20 * SLOW,
        check=True)
    assert ("ring-memory = 100M  # default\n" in done.stdout) == bool(limits), done


def test_ctl_of_nobody(tmp_path):
    daemon = Daemon()
    try:
        done = daemon.ctl("status", check=False)
        assert done.returncode == 69 and "stokerd" in done.stderr, done
    finally:
        daemon.remove()
