# SPDX-License-Identifier: MIT
"""Three users by their real uids: a daemon's, and two who need not trust each other. Needs root."""

import contextlib
import os
import pathlib
import tempfile

import pytest

from harness import Daemon

SERVER, ALICE, BOB = 61001, 61002, 61003

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be several users")


@contextlib.contextmanager
def user(uid, groups=()):
    """Connections made in here are that user's."""
    before = os.getgroups()
    os.setgroups(list(groups))
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)


def connect(daemon, uid, groups=(), **options):
    with user(uid, groups):
        return daemon.connect(**options)


def start(daemon):
    """In a folder of SERVER's that all may pass; clients trust nobody's socket beneath one that
    all can write to, such as /tmp."""
    daemon.remove()
    daemon.folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-", dir="/run"))
    daemon.socket, daemon.control = daemon.folder / "s.sock", daemon.folder / "control.sock"
    daemon.log_path = daemon.folder / "log"
    os.chown(daemon.folder, SERVER, SERVER)
    daemon.folder.chmod(0o755)
    return daemon.spawn()


@contextlib.contextmanager
def servers(**defaults):
    """A function that starts a daemon of the user SERVER, open to all: serve(workers=4). A
    launcher runs as that user, what is `before` as root."""
    daemons = []

    def serve(environment=None, launcher=(), before=(), **options):
        ids = [f"--reuid={SERVER}", f"--regid={SERVER}", "--clear-groups"]
        daemons.append(Daemon(launcher=[*before, "setpriv", *ids, *launcher],
                              environment={"HOME": "/", **(environment or {})},
                              **{"socket_mode": "0666", **defaults, **options}))
        return start(daemons[-1])

    try:
        yield serve
        for daemon in daemons:
            if daemon.process:
                daemon.terminate()
    finally:
        for daemon in daemons:
            if daemon.process and daemon.process.poll() is None:
                daemon.kill()
            daemon.remove()
