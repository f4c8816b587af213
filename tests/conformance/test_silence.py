# SPDX-License-Identifier: MIT
"""A daemon that is stopped (SIGSTOP, a frozen cgroup): who waits for it says so after five seconds,
once, and goes on when it does. One that works, and has no batch yet, answers PING and is not named.
One that greets nobody within ten seconds is passed over.

All clients wait at the same time, and are then looked at one by one."""

import contextlib
import signal
import socket
import threading
import time

import clients
import conftest
import pytest
from fake_daemon import fake_daemon
from test_hostile import ATTACH

STOP_S = 7
GREET_S = 6.5  # that a made daemon takes for it
WORDS = "has not answered for 5 s: is it stopped, or is the machine busy? Waiting on"


@pytest.fixture(scope="module", name="those")
def fixture_those():
    """Those that can be built here, by name."""
    found = {name: clients.command(name)[0] for name in clients.chosen()}
    made = {name: conftest.Client(name, command) for name, command in found.items() if command}
    yield made
    for client in made.values():
        client.stop()


@pytest.fixture(scope="module", name="sleeper")
def fixture_sleeper():
    daemon = conftest.Daemon().spawn()
    yield daemon
    daemon.terminate()
    daemon.remove()


@contextlib.contextmanager
def stopped(daemon):
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.process.send_signal(signal.SIGCONT)


def lines(run):
    return [line for line in run.warnings().splitlines() if "has not answered" in line]


@pytest.fixture(scope="module", name="at_a_batch")
def fixture_at_a_batch(those, sleeper, stream):
    """It is stopped where all wait for a batch."""
    runs = {name: client.start(sleeper.socket, stream(), pause=1) for name, client in those.items()}
    for run in runs.values():
        run.wait_for("paused")
    with stopped(sleeper):
        for run in runs.values():
            run.go_on()
        time.sleep(STOP_S)
    return runs


def greet_late(peer, _, known=set()):  # pylint: disable=dangerous-default-value
    """... each process once: Python's says HELLO twice."""
    process = peer.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    if process not in known:
        known.add(process)
        time.sleep(GREET_S)


@pytest.fixture(scope="module", name="at_first")
def fixture_at_first(those, tmp_path_factory):
    """Two made daemons, of which one greets late and one never: runs and socket of each."""
    with fake_daemon(str(tmp_path_factory.mktemp("late"))) as late, \
            fake_daemon(str(tmp_path_factory.mktemp("never"))) as never:
        late.hooks["hello"] = greet_late
        never.hooks["hello"] = lambda peer, fields: True
        runs = [{name: client.start(daemon.path, ATTACH) for name, client in those.items()}
                for daemon in (late, never)]
        for run in [*runs[0].values(), *runs[1].values()]:
            run.process.wait(conftest.program.END_S)
        yield (runs[0], late.path), (runs[1], never.path)


@pytest.fixture(scope="module", name="busy")
def fixture_busy(those, tmp_path_factory):
    """A made daemon has its second batch late, and answers meanwhile: runs, and what it heard."""
    def release_late(peer, fields):
        if hasattr(peer, "late"):
            if threading.current_thread() is not peer.late:
                peer.late.join()  # two threads would announce batches in each other's place
            return False
        peer.late = threading.Timer(STOP_S, lambda: peer.handle("release", fields))
        peer.late.start()
        return True

    with fake_daemon(str(tmp_path_factory.mktemp("busy"))) as daemon:
        daemon.hooks["release"] = release_late
        runs = {name: client.start(daemon.path, {**ATTACH, "inflight": 1})
                for name, client in those.items()}
        for run in runs.values():
            run.process.wait(conftest.program.END_S)
        yield runs, daemon.seen


def finished(client, runs):
    """Its run, and what it said of a silent daemon."""
    if client.name not in runs:
        pytest.skip("it is not built here")
    run = runs[client.name].finish()
    return run, lines(run)


def test_where_a_batch_is_due(client, sleeper, stream, truth, at_a_batch):
    run, said = finished(client, at_a_batch)
    assert len(said) == 1 and f"stokerd at {sleeper.socket} {WORDS}" in said[0]
    assert run.batches == truth(stream())[2]
    assert run.said("end")[0]["reconnects"] == "0"


def test_late_greeting(client, at_first):
    runs, path = at_first[0]
    run, said = finished(client, runs)
    assert len(said) == 1 and f"stokerd at {path} {WORDS}" in said[0]
    assert len(run.batches) == 5


def test_no_greeting(client, at_first):
    """Another socket would be tried; there is none, and the error names this one."""
    runs, path = at_first[1]
    if client.name not in runs:
        pytest.skip("it is not built here")
    assert path in runs[client.name].fails("unavailable", "timeout")


def test_busy(client, busy):
    runs, heard = busy
    run, said = finished(client, runs)
    assert said == []
    assert len(run.batches) == 5
    assert [name for name, _ in heard].count("ping") >= len(runs)
