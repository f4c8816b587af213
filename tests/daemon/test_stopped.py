# SPDX-License-Identifier: MIT
"""A daemon that is stopped (SIGSTOP, a frozen cgroup) answers nothing and ends nothing: who waits
for it says so after five seconds, once, and goes on when it does. One that lives, and has nothing
to give, is not said to be stopped."""

import contextlib
import json
import signal
import subprocess
import time

import pytest

from harness import BUILD, STOKERCTL, WAIT_S
from test_law import STREAM
from test_storage import faulty, fixture_folder, on_disk  # pylint: disable=unused-import

STOP_S = 6.5
WORDS = "has not answered for 5 s: is it stopped"


@contextlib.contextmanager
def stopped(daemon):
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def started(*command):
    """The process, whose outputs are texts; it is ended."""
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def reads(daemon, folder, **fields):
    """A program with the C client that reads this."""
    request = {"attach": {"dataset": {"path": str(folder)}, "batch_size": 4, **STREAM, **fields}}
    return started(BUILD / "tests/conformance/conformance", daemon.socket, json.dumps(request))


def assert_said(errors, socket):
    assert [line for line in errors.splitlines() if WORDS in line] == [
        f"stoker: stokerd at {socket} {WORDS}, or is the machine busy? Waiting on"]


@pytest.mark.parametrize("command", ["ping", "status"])
def test_stokerctl_says_it(daemon, command):
    with stopped(daemon), started(STOKERCTL, "--socket", daemon.control, command) as process:
        time.sleep(STOP_S)
        daemon.process.send_signal(signal.SIGCONT)
        out, errors = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0 and out
    assert_said(errors, daemon.control)


def test_a_client_says_it_at_its_first_words(daemon, photos):
    with stopped(daemon), reads(daemon, photos, epochs=1) as process:
        time.sleep(STOP_S)
        daemon.process.send_signal(signal.SIGCONT)
        _, errors = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    assert_said(errors, daemon.socket)


def test_a_client_says_it_while_it_waits_for_a_batch(daemon, photos):
    with reads(daemon, photos, epochs=0) as process:
        assert process.stdout.readline()
        with stopped(daemon):
            time.sleep(STOP_S)
        time.sleep(1)
        assert process.poll() is None
        process.terminate()
        _, errors = process.communicate(timeout=WAIT_S)
    assert_said(errors, daemon.socket)


def test_a_daemon_that_waits_itself_is_alive(spawn, folder, tmp_path):
    """For a disk: it answers, but has no batch."""
    gate = tmp_path / "gate"
    gate.touch()
    on_disk("dead", folder, 30)
    daemon = spawn(environment=faulty(STOKER_TEST_GATE=str(gate)))
    with reads(daemon, folder, shuffle=False, epochs=1) as process:
        time.sleep(STOP_S + 6)  # five of them before STALLED
        assert process.poll() is None
        gate.unlink()
        _, errors = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0 and WORDS not in errors
