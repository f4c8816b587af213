# SPDX-License-Identifier: MIT
"""A daemon that is stopped (SIGSTOP, a frozen cgroup) answers nothing and ends nothing: who waits
for it says so after five seconds, once, and goes on when it does. One that lives, and has nothing
to give, is not said to be stopped."""

import contextlib
import json
import signal
import subprocess
import threading
import time

import pytest

from harness import BUILD, STOKERCTL, WAIT_S, wait_for
from test_law import STREAM
from test_storage import faulty, fixture_folder, on_disk  # pylint: disable=unused-import

SILENT_S = 12.5  # more than the five seconds until STALLED, and five behind it
WORDS = "has not answered for 5 s: is it stopped"


@contextlib.contextmanager
def stopped(daemon):
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.process.send_signal(signal.SIGCONT)


class Listener(threading.Thread):
    """Hears what a process writes to stderr: `lines`, and `errors` once it has ended."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream, self.lines = stream, []
        self.start()

    def run(self):
        for line in self.stream:
            self.lines.append(line)

    def has_words(self):
        return any(WORDS in line for line in self.lines)

    def errors(self):
        self.join(WAIT_S)
        return "".join(self.lines)


@contextlib.contextmanager
def started(*command):
    """The process, whose outputs are texts and whose `listener` hears; it is ended."""
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        process.listener = Listener(process.stderr)
        try:
            yield process
        finally:
            process.kill()


def await_words(process):
    wait_for(process.listener.has_words, "it says that the daemon is silent", WAIT_S)


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
        await_words(process)
        daemon.process.send_signal(signal.SIGCONT)
        assert process.stdout.read()
        assert process.wait(WAIT_S) == 0
        assert_said(process.listener.errors(), daemon.control)


def test_a_client_says_it_at_its_first_words(daemon, photos):
    with stopped(daemon), reads(daemon, photos, epochs=1) as process:
        await_words(process)
        daemon.process.send_signal(signal.SIGCONT)
        process.stdout.read()
        assert process.wait(WAIT_S) == 0
        assert_said(process.listener.errors(), daemon.socket)


def test_a_client_says_it_while_it_waits_for_a_batch(daemon, photos):
    with reads(daemon, photos, epochs=0) as process:
        reader = Listener(process.stdout)  # its digests: a pipe that is full would stop it
        wait_for(lambda: reader.lines, "its first batch", WAIT_S)
        with stopped(daemon):
            await_words(process)
        count = len(reader.lines)
        wait_for(lambda: len(reader.lines) > count, "it goes on", WAIT_S)
        assert process.poll() is None
        process.terminate()
        assert_said(process.listener.errors(), daemon.socket)


def test_a_daemon_that_waits_itself_is_alive(spawn, folder, tmp_path):
    """For a disk: it answers, but has no batch."""
    gate = tmp_path / "gate"
    gate.touch()
    on_disk("dead", folder, 30)
    daemon = spawn(environment=faulty(STOKER_TEST_GATE=str(gate)))
    with reads(daemon, folder, shuffle=False, epochs=1) as process:
        time.sleep(SILENT_S)
        assert process.poll() is None
        gate.unlink()
        process.stdout.read()
        assert process.wait(WAIT_S) == 0 and WORDS not in process.listener.errors()
