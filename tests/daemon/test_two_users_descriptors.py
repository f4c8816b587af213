# SPDX-License-Identifier: MIT
"""What a user may have a daemon of somebody else's read by a descriptor, without a rule: what it
could read itself, and no more. Three real uids, so this needs root."""

import contextlib
import os
import shutil
import socket
import struct
import sys

import numpy
import pytest

from harness import SOURCE
from test_law import STREAM
from users import (ALICE, BOB, PICTURES, SERVER, TEAM, connect, fixture_data,  # noqa: F401
                   fixture_home, fixture_serve, give, made, needs_root, opened, give_to, refused)

sys.path.insert(0, str(SOURCE / "tests" / "unit" / "dataset"))
import published  # noqa: E402 (it stands in that folder)

pytestmark = needs_root


def test_a_descriptor_of_a_folder(serve, data):
    """No rule: who can open the folder has it read, wherever it says that it is; and only so."""
    daemon = serve()
    dataset = {"path": str(data), "path_fd": 0}
    want = give(daemon, SERVER, {"path": str(data)})
    assert len(want) == PICTURES
    assert give(daemon, ALICE, dataset, data) == want
    assert give(daemon, ALICE, {**dataset, "path": "/not/here"}, data) == want
    assert give(daemon, ALICE, {**dataset, "path_fd": 1}, "/", data) == want
    assert give(daemon, SERVER, dataset, data) == want
    assert refused(daemon, ALICE, data)
    for what, flags in (({**dataset, "path_fd": 3}, os.O_RDONLY), (dataset, os.O_PATH)):
        name, text = give(daemon, ALICE, what, data, flags=flags)
        assert name == "argument" and "descriptor" in text, text
    name, text = give(daemon, ALICE, {"path": str(data), "path_fd": 2 ** 40}, data)
    assert name == "dataset" and "path_fd" in text
    daemon.settle()


def test_what_lies_beneath_a_descriptor(serve, home, data):
    """Anyone can open /home: each folder and file beneath is asked for by the sender's rights, of
    owner, group and mode; an ACL counts as no."""
    daemon = serve()
    folder, one = home / "home", next(data.glob("*/*.*")).parent.name
    shutil.copytree(data, folder)
    dataset, want = {"path": str(folder), "path_fd": 0}, give(daemon, SERVER, {"path": str(data)})
    private, groups = folder / one, [SERVER]
    for uid, gid, mode, groups, good in (
            (BOB, BOB, 0o755, [], True), (SERVER, SERVER, 0o700, [], False),
            (SERVER, TEAM, 0o750, [], False), (SERVER, TEAM, 0o750, [TEAM], True),
            (SERVER, TEAM, 0o705, [TEAM], False), (SERVER, TEAM, 0o704, [], False),
            (SERVER, TEAM, 0o701, [], False), (SERVER, SERVER, 0o705, [], True)):
        give_to(private, uid, mode, gid)
        for path in private.iterdir():
            path.chmod(0o644)
        told = give(daemon, BOB, dataset, folder, groups=groups)
        assert (told == want) == good, (oct(mode), told)
        assert good or (told[0] == "dataset" and "Permission denied" in told[1])
    give_to(private, SERVER, 0o755)
    secret = next(private.iterdir())
    secret.chmod(0o640)
    with opened(BOB, folder) as fds, connect(daemon, BOB) as peer:
        answer = peer.request("attach", fds, **STREAM, dataset=dataset, batch_size=PICTURES,
                              epochs=1, accept_fd=True)
        assert answer.name == "attached", answer
        peer.fds.clear()
        bad = peer.expect("bad_sample").fields
    assert bad["path"].endswith(secret.name) and "Permission denied" in bad["text"]
    daemon.settle()


def test_an_acl_counts_as_no(serve, home, data):
    """Where there is one, the mode's bits for others are not all that there is to know."""
    daemon = serve()
    folder = home / "home"
    shutil.copytree(data, folder)
    one = next(folder.glob("*/"))
    entries = [(1, 7, -1), (2, 0, BOB), (4, 5, -1), (16, 5, -1), (32, 5, -1)]  # user:BOB:---
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    dataset = {"path": str(folder), "path_fd": 0}
    assert len(give(daemon, BOB, dataset, folder)) == PICTURES
    try:
        os.setxattr(one, "system.posix_acl_access", acl)
    except OSError:
        pytest.skip("this file system has no ACLs")
    daemon.settle()
    for uid in BOB, ALICE:
        assert "Permission denied" in give(daemon, uid, dataset, folder)[1]
    os.chown(one, ALICE, ALICE)
    assert len(give(daemon, ALICE, dataset, folder)) == PICTURES


def test_links_beneath_a_descriptor(serve, home, data):
    """They are followed within the folder, and as far as the sender could get there."""
    daemon = serve()
    folder, hidden = home / "home", home / "home" / ".hidden"
    shutil.copytree(data, folder)
    want = give(daemon, SERVER, {"path": str(data)})
    moved = next(folder.glob("*/*.*"))
    hidden.mkdir()
    moved.rename(hidden / "x")
    moved.symlink_to("../.hidden/x")
    listed = folder / "list.txt"
    listed.write_text("\n".join(f"{path.relative_to(folder)} 1"
                                for path in sorted(folder.glob("*/*.*"))))
    dataset = {"path": str(listed), "path_fd": 0, "root_fd": 1}
    good = give(daemon, ALICE, dataset, listed, folder)
    assert len(good) == len(want)
    hidden.chmod(0o700)
    os.chown(hidden, SERVER, SERVER)
    told = give(daemon, ALICE, dataset, listed, folder, bad_samples="substitute")
    assert len(told) == PICTURES and told != good
    moved.unlink()
    moved.symlink_to(data / "x")
    assert give(daemon, ALICE, dataset, listed, folder, bad_samples="substitute") == told
    name, text = give(daemon, ALICE, {"path": str(listed), "path_fd": 0}, listed)
    assert name == "dataset", text  # nothing shows the folder


def test_descriptors_of_files(serve, home):
    """Arrays and lists that only their user can read, as programs write them beside the stream; a
    part has its own."""
    daemon = serve()
    mine = home / "mine"
    mine.mkdir()
    pictures = published.pictures(20, (32, 32, 3), 2)
    numpy.save(mine / "x.npy", pictures)
    numpy.save(mine / "y.npy", numpy.arange(20))
    numpy.savez(mine / "x.npz", x=pictures)
    published.put(mine / "cifar.tar.gz", published.cifar10(pictures, numpy.arange(20) % 10, 2))
    give_to(mine, ALICE)
    small = {"transforms": [{"name": "Resize", "size": [8, 8]}]}
    x, y, z, cifar = (mine / name for name in ("x.npy", "y.npy", "x.npz", "cifar.tar.gz"))
    whole = give(daemon, ALICE, {"path": str(x), "path_fd": 0}, x, **small)
    assert len(whole) == 20
    labelled = {"path": str(x), "labels": str(y), "path_fd": 1, "labels_fd": 0}
    assert give(daemon, ALICE, labelled, y, x, **small)
    assert len(give(daemon, ALICE, {"path": str(z), "path_fd": 0}, z, **small)) == 20
    assert len(give(daemon, ALICE, {"path": str(cifar), "path_fd": 0}, cifar, **small)) == 20
    subset = {"name": "subset", "indices": str(y), "list_fd": 1}
    assert give(daemon, ALICE, {"path": str(x), "path_fd": 0}, x, y, **small,
                sampler=subset) == whole
    parts = [{"path": str(x), "path_fd": 0}, {"path": str(x), "path_fd": 1}]
    assert len(give(daemon, ALICE, {"parts": parts}, x, x, **small)) == 40
    parts[1]["path_fd"] = 0  # one descriptor is one part's
    assert give(daemon, ALICE, {"parts": parts}, x, **small)[0] == "argument"
    del parts[1]["path_fd"]
    assert give(daemon, ALICE, {"parts": parts}, x, **small)[0] == "permission"
    daemon.settle()


def test_an_entry_is_found_by_what_a_descriptor_shows(serve, home, data):
    """Two readers that say the same path share what is open if it is the same folder."""
    other = home / "other"
    made.make(other, count=PICTURES + 8, size=(60, 50))
    daemon = serve()
    dataset = {"path": "/data", "path_fd": 0}
    wish = {**STREAM, "dataset": dataset, "batch_size": 4, "accept_fd": True, "epochs": 0}
    with opened(ALICE, data, data, other) as fds, contextlib.ExitStack() as stack:
        answers = []
        for fd in fds:
            peer = stack.enter_context(connect(daemon, ALICE))
            answers.append(peer.request("attach", [fd], **wish).fields)
        assert [answer["samples"] for answer in answers] == [PICTURES, PICTURES, PICTURES + 8]
        assert answers[0]["stream"] == answers[1]["stream"] != answers[2]["stream"]
        with opened(BOB, other) as theirs, connect(daemon, BOB) as bob:
            assert bob.request("attach", theirs, **wish).fields["samples"] == PICTURES + 8


def test_descriptors_do_not_stay(serve, data):
    """However many come, with whatever message: they are closed with it."""
    daemon = serve()
    before = daemon.usage()
    with opened(BOB, *[data] * 200) as fds, connect(daemon, BOB) as peer:
        for _ in range(20):
            assert peer.request("ping", fds).name == "ok"
        wish = {**STREAM, "dataset": {"path": str(data), "path_fd": 33}, "batch_size": 4}
        assert peer.request("attach", fds, **wish, accept_fd=True).name == "attached"
        assert peer.request("detach", fds).name == "ok"
        peer.send_bytes(b"\0")
        socket.send_fds(peer.socket, [b"\0"], fds)
        peer.send_bytes(b"\0")
    daemon.settle(before)
