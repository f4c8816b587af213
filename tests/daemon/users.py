# SPDX-License-Identifier: MIT
"""Three users by their real uids: a daemon's, and two who need not trust each other; Carol, who is
in a group with Alice. What each may have read, by a path or by a descriptor. Needs root."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

from harness import SOURCE, Daemon
from test_law import STREAM

sys.path.insert(0, str(SOURCE / "tests" / "demo"))
import photos as made  # noqa: E402 (it stands in the demo's folder)

SERVER, ALICE, BOB, CAROL = 61001, 61002, 61003, 61004
TEAM = 61010  # Alice's and Carol's group
PICTURES = 12

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


def let_in(path):
    """Other users may enter the folders of the tests."""
    for folder in pathlib.Path(path).parents:
        if folder.name.startswith(("pytest", "stoker-")):
            folder.chmod(0o755)


STRANGER = """
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
os.setuid(int(sys.argv[2]))
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
s.listen()
print("listens", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def stranger(path, uid):
    """A socket of that user, in a folder where all may make one; nobody there answers."""
    let_in(path)
    path.parent.chmod(0o777)
    with subprocess.Popen([sys.executable, "-c", STRANGER, str(path), str(uid)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"listens\n"
        yield
        process.stdin.close()


# -- fixtures, for the files that import them ---------------------------------------------------


@pytest.fixture(name="home")
def fixture_home():
    """A folder that all may pass."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-users-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(name="data")
def fixture_data(home):
    """Photographs that the daemon can read, in a folder that only some users shall have read."""
    made.make(home / "data", count=PICTURES, size=(60, 50))
    return home / "data"


@pytest.fixture(name="serve")
def fixture_serve():
    with servers() as serve:
        yield serve


# -- what a user is answered -------------------------------------------------------------------


def attach(daemon, uid, dataset, groups=(), **fields):
    """What the daemon answers to that user's ATTACH: "attached", or the error's name and words."""
    if not isinstance(dataset, dict):
        dataset = {"path": str(dataset)}
    with connect(daemon, uid, groups) as peer:
        answer = peer.attach("", **{**STREAM, "dataset": dataset, **fields})
        if answer.name == "attached":
            assert peer.request("detach").name == "ok"  # else the next finds it as it was
    if answer.name == "attached":
        return "attached"
    return answer.fields["name"], answer.fields["text"]


def refused(daemon, uid, dataset, **fields):
    """The words of the refusal."""
    name, text = attach(daemon, uid, dataset, **fields)
    assert name == "permission", (dataset, name, text)
    return text


@contextlib.contextmanager
def opened(uid, *paths, groups=(), flags=os.O_RDONLY):
    """Descriptors that this user opened."""
    with contextlib.ExitStack() as stack:
        with user(uid, groups):
            fds = [os.open(path, flags) for path in paths]
        for fd in fds:
            stack.callback(os.close, fd)
        yield fds


def give(daemon, uid, dataset, *paths, groups=(), flags=os.O_RDONLY, **fields):
    """As attach(), with descriptors of these paths."""
    with opened(uid, *paths, groups=groups, flags=flags) as fds, \
            connect(daemon, uid, groups) as peer:
        answer = peer.request("attach", fds, **{**STREAM, "dataset": dataset, "batch_size": 4,
                                                "accept_fd": True, "epochs": 1, **fields})
        if answer.name == "attached":
            peer.attached = answer.fields
            peer.follow(answer)
            return sorted(peer.digests().values())
    return answer.fields["name"], answer.fields["text"]


def give_to(path, uid, mode=0o700, gid=None):
    """Give all of it to this user: folders of this mode, files without the x."""
    for place in [path, *path.rglob("*")]:
        os.chown(place, uid, uid if gid is None else gid)
        place.chmod(mode if place.is_dir() else mode & 0o666)
