# SPDX-License-Identifier: MIT
"""Who a peer is, and what its descriptors are worth where the daemon sees other mounts. Needs
root, to be several users."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

from harness import SOURCE
from test_law import STREAM
from users import ALICE, BOB, SERVER, connect, needs_root, servers, user

sys.path.insert(0, str(SOURCE / "tests" / "demo"))
import photos as made  # noqa: E402 (it stands in the demo's folder)

pytestmark = needs_root

TEAM = 61010
N = 12


@pytest.fixture(name="data")
def fixture_data():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-users-", dir="/tmp"))
    folder.chmod(0o755)
    made.make(folder / "data", count=N, size=(60, 50))
    yield folder / "data"
    shutil.rmtree(folder)


@pytest.fixture(name="serve")
def fixture_serve():
    with servers() as serve:
        yield serve


def test_groups_are_those_of_the_connection(serve, data):
    """FAULTS 83: whoever leaves a group keeps what its connection was made with, and no other; who
    enters one connects anew."""
    daemon = serve(dataset_root=f"{data}:{TEAM}")
    with connect(daemon, ALICE, [TEAM]) as member, connect(daemon, ALICE) as stranger:
        with user(ALICE):  # she is no member any more
            assert member.attach(data, **STREAM).name == "attached"
            assert stranger.attach(data, **STREAM).fields["name"] == "permission"
        with user(ALICE, [TEAM]):  # and is one again
            assert stranger.attach(data, **STREAM).fields["name"] == "permission"
        assert len(member.digests()) == N
    with connect(daemon, ALICE) as later:
        assert later.attach(data, **STREAM).fields["name"] == "permission"
    with connect(daemon, BOB, [TEAM]) as other:
        assert other.attach(data, **STREAM).name == "attached"
    daemon.settle()


def test_a_daemon_with_another_tmp(serve, data):
    """As in the system's unit, or in a container: what a client shows is read wherever it lies; a
    path means what the daemon sees."""
    other = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /tmp && exec "$@"', "sh"]
    if subprocess.run([*other, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no mount namespace can be had here")
    daemon = serve(before=other)
    dataset = {"path": str(data), "path_fd": 0}
    with connect(daemon, SERVER) as own, connect(daemon, ALICE) as alice:
        assert own.attach(data, **STREAM).fields["name"] == "dataset"
        with user(ALICE):
            fd = os.open(data, os.O_RDONLY)
        try:
            answer = alice.request("attach", [fd], **{**STREAM, "dataset": dataset, "epochs": 1,
                                                      "batch_size": 4, "accept_fd": True})
        finally:
            os.close(fd)
        assert answer.name == "attached", answer
        alice.attached = answer.fields
        alice.follow(answer)
        assert len(alice.digests()) == N
    daemon.settle()
