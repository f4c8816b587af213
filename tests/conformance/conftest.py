# SPDX-License-Identifier: MIT
"""What the conformance suite shares: a daemon, data, and each client in turn."""

import json
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
for folder in (HERE, HERE.parent / "daemon", HERE.parent / "demo", HERE.parent / "python"):
    sys.path.insert(0, str(folder))

import clients  # noqa: E402
import photos as made  # noqa: E402 (it stands in the demo's folder)
import program  # noqa: E402
from fake_daemon import fake_daemon  # noqa: E402
from harness import Daemon, installed  # noqa: E402

# A pipeline that draws, on small pictures.
STREAM = {"transforms": [{"name": "RandomResizedCrop", "size": 16},
                         {"name": "RandomHorizontalFlip"}],
          "order_seed": 7, "augment_seed": 9, "batch_size": 7, "epochs": 1}


@pytest.fixture(scope="session", name="photos")
def fixture_photos(tmp_path_factory):
    """A folder of 60 small photographs of 6 classes: JPEGs in colour and gray, PNGs, WebPs."""
    folder = tmp_path_factory.mktemp("photos")
    made.make(folder, count=60, size=(60, 45))
    return folder


@pytest.fixture(scope="session", name="stream")
def fixture_stream(photos):
    """A function that gives an ATTACH: stream(batch_size=4)."""
    return lambda **changed: {"dataset": {"path": str(photos)}, **STREAM, **changed}


@pytest.fixture(name="spawn")
def fixture_spawn():
    """A function that starts a daemon of its own: spawn(workers=4)."""
    daemons = []

    def spawn(**options):
        daemons.append(Daemon(**options))
        return daemons[-1].spawn()

    yield spawn
    for daemon in daemons:
        if daemon.process and daemon.process.poll() is None:
            daemon.terminate()
        daemon.remove()


@pytest.fixture(scope="session", name="daemon")
def fixture_daemon():
    """One for all tests that leave it as it is."""
    daemon = Daemon().spawn()
    yield daemon
    daemon.terminate()
    daemon.remove()


@pytest.fixture(name="fake")
def fixture_fake(tmp_path):
    """A made one, that of tests/python."""
    with fake_daemon(str(tmp_path)) as daemon:
        yield daemon


@pytest.fixture(scope="session", name="truth")
def fixture_truth(daemon):
    """A function: what the daemon gives a raw peer for an ATTACH. The law: it is asked once."""
    known = {}

    def truth(attach):
        key = json.dumps(attach, sort_keys=True)
        if key not in known:
            known[key] = program.truth(daemon, attach)
        return known[key]

    return truth


def installed_paths(part):
    """A part of a command with the paths, of a class path each, where other users find them."""
    return ":".join(str(installed(path)) if os.path.isabs(path) else path
                    for path in part.split(":"))


class Client:
    """The programs of one client; `lacks`: what it does not have; `launcher`: what starts them."""

    launcher = ()

    def __init__(self, name, command):
        self.name, self.lacks, self._command = name, clients.CLIENTS[name][1], command
        self._programs = []

    def start(self, socket, attach, **request):
        command = self._command
        if self.launcher:  # as another user
            command = [*self.launcher, *map(installed_paths, command)]
        self._programs.append(program.Program(command, socket, attach, **request))
        return self._programs[-1]

    def run(self, socket, attach, **request):
        """... and wait for its end."""
        return self.start(socket, attach, **request).finish()

    def needs(self, what):
        if what in self.lacks:
            pytest.skip(f"the client of {self.name} has no {what}")

    def stop(self):
        for started in self._programs:
            started.stop()


def ask(name):
    """A Client; skips where its tools are not there, fails where they refuse it."""
    command, why = clients.command(name)
    if isinstance(why, clients.Missing):
        pytest.skip(f"{name}: {why}")
    if why:
        pytest.fail(f"{name}: {why}")
    return Client(name, command)


@pytest.fixture(params=clients.chosen(), name="client")
def fixture_client(request):
    client = ask(request.param)
    yield client
    client.stop()
