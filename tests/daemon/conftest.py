# SPDX-License-Identifier: MIT
"""What the daemon's tests share: made photographs, and daemons that must leave nothing behind."""

import sys

import pytest

from harness import SOURCE, Daemon

sys.path.insert(0, str(SOURCE / "tests" / "demo"))
import photos as made  # noqa: E402 (it stands in the demo's folder)


@pytest.fixture(scope="session", name="photos")
def fixture_photos(tmp_path_factory):
    """A folder of 60 small photographs of 6 classes: JPEGs in colour and gray, PNGs, WebPs."""
    folder = tmp_path_factory.mktemp("photos")
    made.make(folder, count=60, size=(120, 90))
    return folder


@pytest.fixture(name="spawn")
def fixture_spawn():
    """A function that starts a daemon: spawn(workers=4). At the test's end each one still running
    is told to stop and has to leave neither socket nor shared memory."""
    daemons = []

    def spawn(**options):
        daemons.append(Daemon(**options))
        return daemons[-1].spawn()

    yield spawn
    try:
        for daemon in daemons:
            if daemon.process:
                daemon.terminate()
        left = [name for daemon in daemons for name in daemon.shared_names()]
        assert not left, f"shared memory was left: {left}"
    finally:
        for daemon in daemons:
            if daemon.process and daemon.process.poll() is None:
                daemon.kill()
            daemon.remove()


@pytest.fixture(name="daemon")
def fixture_daemon(spawn):
    """A daemon with two workers."""
    return spawn()
