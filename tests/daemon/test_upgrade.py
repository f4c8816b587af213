# SPDX-License-Identifier: MIT
"""`stokerctl upgrade`: the daemon goes on as the program that lies now at its path, in the same
process and with the same sockets. What trainers see of it: tests/bench/upgrade.py."""

import json
import os
import shutil
import signal
import socket
import subprocess

import pytest

import harness
from harness import SLOW, STOKERCTL, WAIT_S, Peer
from test_law import STREAM
from test_start import activate, listeners_in

UNAVAILABLE, CONFIG = 69, 78


@pytest.fixture(name="program")
def fixture_program(tmp_path, monkeypatch):
    """A copy of stokerd, which daemons are started from."""
    program = tmp_path / "stokerd"
    shutil.copy(harness.STOKERD, program)
    monkeypatch.setattr(harness, "STOKERD", program)
    return program


def replace(program):
    """As package managers do: by another file of the name."""
    other = program.with_name("other")
    shutil.copy(program, other)
    other.rename(program)


def program_of(daemon):
    return os.readlink(f"/proc/{daemon.process.pid}/exe")


def upgrading(daemon):
    return subprocess.Popen([str(STOKERCTL), "--json", "--socket", str(daemon.control), "upgrade"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def upgrade_under(peer, daemon, photos):
    """Begin while it reads; it has been told."""
    assert peer.attach(photos, **{**STREAM, "inflight": 1}).name == "attached"
    peer.expect("batch")
    process = upgrading(daemon)
    peer.expect("goaway")
    return process


def test_the_same_process_and_sockets(program, spawn, photos):
    """Who connects while the old one drains waits, and is served by the new one."""
    daemon = spawn(workers=1)
    inodes = [path.stat().st_ino for path in (daemon.socket, daemon.control)]
    daemon.ctl("upgrade")
    usage = daemon.usage()
    replace(program)
    assert program_of(daemon) == f"{program} (deleted)"
    with daemon.connect() as old, upgrade_under(old, daemon, photos) as process:
        with Peer(daemon.socket) as new:
            new.send("hello", seq=1, version_min=1, version_max=1)
            assert process.poll() is None
            old.close()
            new.expect("welcome")
            new.seq = 1
            assert new.attach(photos, **STREAM).name == "attached"
            new.expect("batch")
            out, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    answer = json.loads(out)
    assert answer["before"] == answer["after"] and answer["after"].startswith("stokerd ")
    assert (answer["readers"], answer["back"], answer["unit"]) == (1, 1, "")
    assert answer["pid"] == daemon.process.pid and program_of(daemon) == str(program)
    assert inodes == [path.stat().st_ino for path in (daemon.socket, daemon.control)]
    daemon.settle(usage)


def test_what_it_was_started_with_counts(program, spawn, tmp_path):
    """Another mode of the socket, in the configuration, is in force afterwards."""
    path = tmp_path / "stokerd.conf"
    path.write_text("[stokerd]\nsocket-mode = 0600\n")
    daemon = spawn(config=path)
    assert daemon.socket.stat().st_mode & 0o777 == 0o600
    path.write_text("[stokerd]\nsocket-mode = 0660\nfetchers = 3\n")
    daemon.ctl("upgrade")
    assert daemon.socket.stat().st_mode & 0o777 == 0o660
    assert daemon.status()["fetchers"] == 3
    with daemon.connect():
        pass
    assert program_of(daemon) == str(program)


def test_a_socket_that_is_not_wanted_any_more(program, spawn, tmp_path):
    """It is closed, and served again once it is wanted again."""
    path, metrics = tmp_path / "stokerd.conf", tmp_path / "metrics.sock"
    wanted = f"[stokerd]\nmetrics-socket = {metrics}\n"
    path.write_text(wanted)
    daemon = spawn(config=path)
    path.write_text("[stokerd]\n")
    daemon.ctl("upgrade")
    with pytest.raises(ConnectionRefusedError), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(metrics))
    path.write_text(wanted)
    daemon.ctl("upgrade")
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(metrics))
    assert program_of(daemon) == str(program)


def test_what_would_not_start_is_refused(program, spawn, tmp_path):
    """The daemon is left as it is."""
    path = tmp_path / "stokerd.conf"
    path.write_text("[stokerd]\n")
    daemon = spawn(config=path)
    path.write_text("[stokerd]\nworkers = many\n")
    done = daemon.ctl("upgrade", check=False)
    assert done.returncode == CONFIG and f"{path}:2" in done.stderr, done
    assert f"{program} does not start with the arguments" in done.stderr
    path.write_text("[stokerd]\n")
    program.unlink()
    done = daemon.ctl("upgrade", check=False)
    assert done.returncode == CONFIG and "does not start with the arguments" in done.stderr, done
    with daemon.connect(control=True) as peer:
        answer = peer.request("stop", upgrade=True)
        assert answer.name == "error" and "stop this daemon" in answer.fields["text"]
    assert daemon.status()["state"] == "running"


def test_an_environment_that_cannot_be_tried(program, spawn):
    """Longer than is read."""
    assert program
    daemon = spawn(environment={f"LONG{i}": "x" * 100_000 for i in range(3)})
    done = daemon.ctl("upgrade", check=False)
    assert done.returncode == CONFIG and "too long" in done.stderr, done
    assert daemon.status()["state"] == "running"


def test_sockets_of_systemd_are_not_passed_on(tmp_path):
    listeners = listeners_in(tmp_path)
    process = activate(listeners)
    try:
        with Peer(tmp_path / "control") as peer:
            peer.hello()
            answer = peer.request("stop", upgrade=True)
            assert answer.name == "error" and "restart its unit" in answer.fields["text"]
            assert peer.request("status").fields["values"]["state"] == "running"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20 * SLOW)
        for listener in listeners:
            listener.close()
    assert process.returncode == 0


def test_a_signal_ends_it_all_the_same(spawn, photos):
    daemon = spawn(drain_timeout="60s")
    with daemon.connect() as peer, upgrade_under(peer, daemon, photos) as process:
        daemon.terminate(code=1)
        _, words = process.communicate(timeout=20 * SLOW)
    assert process.returncode == UNAVAILABLE and "its log says why" in words
