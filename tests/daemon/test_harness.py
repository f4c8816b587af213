# SPDX-License-Identifier: MIT
"""The harness itself: that it sees a daemon work, and that it notices when one leaves things."""

import signal

import pytest

from harness import IDLE


def test_an_idle_daemon(daemon):
    values = daemon.status()
    assert {name: values[name] for name in IDLE} == dict.fromkeys(IDLE, 0)
    assert values["workers"] == 2
    assert values["connections"] == 1  # the one that asks
    assert daemon.terminate().count("\n") <= 4, "quiet when healthy"


def test_an_epoch(daemon, photos):
    with daemon.connect() as peer:
        answer = peer.attach(photos, transforms=[{"name": "Resize", "size": [32, 40]}])
        assert answer.name == "attached", answer
        assert answer.fields["samples"] == 60
        seen = sorted(int(arrays["index"]) for _, _, arrays in peer.samples())
        assert seen == list(range(60))
        assert peer.ring.fields["image"].shape[1:] == (3, 32, 40)
    daemon.settle()


def test_the_same_bytes_from_another_daemon(spawn, photos):
    transforms = [{"name": "RandomResizedCrop", "size": 32}, {"name": "RandomHorizontalFlip"}]
    digests = []
    for workers in (1, 3):
        with spawn(workers=workers).connect() as peer:
            answer = peer.attach(photos, transforms=transforms, augment_seed=5)
            assert answer.name == "attached", answer
            digests.append(peer.digests())
    assert len(digests[0]) == 60
    assert digests[0] == digests[1]


def test_settle_notices_a_reader(daemon, photos):
    before = daemon.usage()
    with daemon.connect() as peer:
        assert peer.attach(photos, transforms=[{"name": "Resize", "size": [8, 8]}]).name == \
            "attached"
        with pytest.raises(AssertionError, match="readers"):
            daemon.settle(seconds=0.3)
        assert daemon.usage().fds > before.fds
    daemon.settle()


def test_terminate_notices_a_crash(spawn):
    daemon = spawn()
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait()
    with pytest.raises(AssertionError, match="ended with -9"):
        daemon.terminate(how=0)
    daemon.terminate(how=signal.SIGKILL)  # where it is expected, it is none


def test_names_in_shared_memory_are_seen(spawn, photos):
    daemon, other = spawn(), spawn()
    with daemon.connect() as peer:
        answer = peer.attach(photos, transforms=[{"name": "Resize", "size": [8, 8]}],
                             accept_fd=False, accept_path=True)
        assert answer.name == "attached", answer
        assert answer.fields["transport"] == "path"
        assert daemon.shared_names() == [answer.fields["path"].rpartition("/")[2]]
        assert other.shared_names() == []
    daemon.settle()
    assert daemon.shared_names() == []
