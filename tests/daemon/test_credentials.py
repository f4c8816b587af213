# SPDX-License-Identifier: MIT
"""Who a peer is, and what its descriptors are worth where the daemon sees other mounts. Needs
root, to be several users."""

import os
import shutil
import subprocess

import pytest

from test_law import STREAM
from users import (ALICE, BOB, PICTURES, SERVER, TEAM, attach, connect, fixture_data,  # noqa: F401
                   fixture_home, fixture_serve, needs_root, refused, user)

pytestmark = needs_root


def test_groups_are_those_of_the_connection(serve, data):
    """FAULTS 83: whoever leaves a group keeps what its connection was made with, and no other; who
    enters one connects again."""
    daemon = serve(dataset_root=f"{data}:{TEAM}")
    with connect(daemon, ALICE, [TEAM]) as member, connect(daemon, ALICE) as stranger:
        with user(ALICE):  # she is no member any more
            assert member.attach(data, **STREAM).name == "attached"
            assert stranger.attach(data, **STREAM).fields["name"] == "permission"
        with user(ALICE, [TEAM]):  # and is one again
            assert stranger.attach(data, **STREAM).fields["name"] == "permission"
        assert len(member.digests()) == PICTURES
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
        assert len(alice.digests()) == PICTURES
    daemon.settle()


def test_a_daemon_in_a_user_namespace(serve, home, data):
    """FAULTS 82: there every other user is nobody, and gets what is for everybody alone; a rule
    cannot name nobody, and nobody is not the daemon's own user, even where that is nobody, too."""
    for launcher in ["unshare", "--user"], ["unshare", "--user", f"--map-user={SERVER}"]:
        if subprocess.run([*launcher, "true"], check=False, capture_output=True).returncode:
            pytest.skip("no user namespace can be made here")
    shutil.copytree(data, home / "public")
    for launcher in ["unshare", "--user"], ["unshare", "--user", f"--map-user={SERVER}"]:
        config = home / "stokerd.conf"
        config.write_text(f"[stokerd]\ndataset-root = {data}:{TEAM}\n"
                          f"dataset-root = {data}:@{ALICE}\ndataset-root = {home}/public\n")
        daemon = serve(launcher=launcher, config=config)
        refused(daemon, ALICE, data, groups=[TEAM])
        assert attach(daemon, ALICE, home / "public") == "attached"
        own = attach(daemon, SERVER, data)
        assert (own == "attached") == (len(launcher) == 3), own
    config.write_text("[stokerd]\ndataset-root = /:@65534\n")
    done = daemon.ctl("reload", check=False)
    assert "a rule cannot tell them apart" in done.stderr
