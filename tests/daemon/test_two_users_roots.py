# SPDX-License-Identifier: MIT
"""What a user may have a daemon of somebody else's read by a path: what a rule (`dataset-root`)
allows; and what one is told of the rest. Three real uids, so this needs root.

FAULTS 30, 69, 81.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile

import numpy
import pytest

from harness import SOURCE
from test_law import STREAM
from users import (ALICE, BOB, CAROL, PICTURES, SERVER, TEAM, attach, connect,  # noqa: F401
                   fixture_data, fixture_home, fixture_serve, needs_root, refused)

sys.path.insert(0, str(SOURCE / "tests" / "unit" / "dataset"))
import published  # noqa: E402 (it stands in that folder)

pytestmark = needs_root


def test_nothing_without_a_rule(serve, data):
    """FAULTS 81: by default other users have nothing read, and are told the same of what exists,
    of what does not, and of what the daemon itself may not read."""
    daemon = serve()
    (data.parent / "secret").mkdir(0o700)
    (data.parent / "list.txt").write_text("x/1.jpg 1\n")
    paths = [data, data.parent / "none", data.parent / "secret", data.parent / "secret" / "x",
             data.parent / "list.txt", "/proc/self/environ", "/"]
    for uid in ALICE, BOB:
        texts = {refused(daemon, uid, path).replace(f"have {path} read", "have PATH read")
                 for path in paths}
        assert len(texts) == 1, texts
        (text,) = texts
        assert f"user {uid} may not" in text and "dataset-root = FOLDER" in text
    assert f"user {BOB} may not have {data} read: no dataset-root allows it" in daemon.log()
    assert daemon.list("datasets") == []
    daemon.settle()


def test_ones_own_daemon_needs_no_rule(serve, home, data):
    """Its own user and root have everything read that it can, over links and by any path."""
    daemon = serve()
    (home / "link").symlink_to(data)
    os.symlink(data.parent / "data", data / "again")
    for uid in SERVER, 0:
        assert attach(daemon, uid, data) == "attached"
        assert attach(daemon, uid, home / "link") == "attached"
        assert attach(daemon, uid, home / "none")[0] == "dataset"
    assert attach(daemon, ALICE, data)[0] == "permission"


def test_a_rule_for_all_for_a_group_for_a_user(serve, home, data):
    """FAULTS 81: three users, three datasets, by rule and without."""
    team, own = home / "team", home / "own"
    shutil.copytree(data, team)
    shutil.copytree(data, own)
    config = home / "stokerd.conf"
    config.write_text(f"[stokerd]\ndataset-root = {data}\ndataset-root = {team}:{TEAM}\n"
                      f"dataset-root = {own}:@{BOB}\n")
    daemon = serve(config=config)
    allowed = {(uid, path.name) for uid in (ALICE, BOB, CAROL) for path in (data, team, own)
               if attach(daemon, uid, path, [TEAM] if uid != BOB else []) == "attached"}
    assert allowed == {(ALICE, "data"), (BOB, "data"), (CAROL, "data"), (ALICE, "team"),
                       (CAROL, "team"), (BOB, "own")}
    assert attach(daemon, ALICE, team)[0] == "permission"  # who is not in the group any more
    # Whoever is allowed is told what is missing; a neighbour with a longer name is none.
    name, text = attach(daemon, ALICE, data / "none")
    assert name == "dataset" and "No such file" in text
    shutil.copytree(data, home / "data2")
    refused(daemon, ALICE, home / "data2")
    refused(daemon, ALICE, f"{data}/../own")


@pytest.mark.parametrize("way", ["link", "absolute", "parts", "magic"])
def test_no_path_leads_out_of_a_root(serve, home, data, way):
    """FAULTS 69, 81: neither over links nor "..", and what lies there shows in no word."""
    inside, secret = home / "root", home / "secret"
    inside.mkdir()
    shutil.copytree(data, secret)
    if way == "link":
        (inside / "out").symlink_to("../secret")
    elif way == "absolute":
        (inside / "out").symlink_to(secret)
    elif way == "magic":
        (inside / "out").symlink_to("/proc/self/cwd")
    path = inside / "out" if way != "parts" else f"{inside}/../secret"
    daemon = serve(dataset_root=inside)
    words = refused(daemon, BOB, path)
    assert refused(daemon, BOB, f"{path}/none").replace("/none", "") == words
    if way != "magic":
        shutil.rmtree(secret)
        assert refused(daemon, BOB, path) == words


def test_no_link_in_a_dataset_leads_out(serve, home, data):
    """FAULTS 69, 81: of a class or a picture that leads elsewhere nothing is told, least whether
    it exists."""
    secret = home / "secret"
    shutil.copytree(data, secret)
    mine = home / "root" / "mine"
    shutil.copytree(data, mine)
    one = next(mine.glob("*/*.*"))
    daemon = serve(dataset_root=mine.parent)
    assert attach(daemon, BOB, mine) == "attached"
    daemon.settle()  # whoever has it open has it as it was
    for name in "class", f"{one.parent.name}/picture.jpg", f"{one.parent.name}/notes":
        told = set()
        for target in secret, next(secret.glob("*/*.*")), secret / "none", "../../root/mine":
            (mine / name).symlink_to(target)
            told.add(attach(daemon, BOB, mine))
            (mine / name).unlink()
        assert len(told) == 1, told
        (error, text), = told
        assert error == "dataset" and f"{name} is a symbolic link that leads out" in text
    listed = mine / "list.txt"
    (mine / "out.jpg").symlink_to(next(secret.glob("*/*.*")))
    (mine / "lost.jpg").symlink_to(secret / "none.jpg")
    texts = set()
    for name in "out", "lost":
        listed.write_text(f"{name}.jpg 1\n")
        with connect(daemon, BOB) as peer:
            assert peer.attach(listed, **STREAM, batch_size=1).name == "attached"
            bad = peer.expect("bad_sample").fields
        assert bad["name"] == "sample_read"
        texts.add(bad["text"].replace("lost", "out"))
    assert len(texts) == 1 and "leads out of the dataset's folder" in texts.pop()


def every_path(home, data):
    """{what: (dataset, further fields)}: each of them names a path in home/secret, which matters,
    beside others in home/root."""
    root, secret = home / "root", home / "secret"
    shutil.copytree(data, root / "photos")
    shutil.copytree(data, secret / "photos")
    pictures = published.pictures(20, (32, 32, 3), 2)
    for folder in root, secret:
        numpy.save(folder / "x.npy", pictures)
        numpy.save(folder / "y.npy", numpy.arange(20))
        numpy.savez(folder / "x.npz", x=pictures)
        (folder / "list.txt").write_text("\n".join(
            f"photos/{path.relative_to(data)} 1" for path in sorted(data.glob("*/*.*"))))
        published.put(folder / "cifar.tar.gz",
                      published.cifar10(pictures, numpy.arange(20) % 10, 2))
        with tarfile.open(folder / "shard-0.tar", "w") as shard:
            for i, path in enumerate(sorted(data.glob("*/*.jpg"))):
                shard.add(path, f"{i}.jpg")
        published.put(folder / "cifar", published.cifar10(pictures, numpy.arange(20) % 10, 2))
    small = {"transforms": [{"name": "Resize", "size": [8, 8]}]}
    subset = {"name": "subset", "indices": str(secret / "y.npy")}
    weights = {"name": "weighted", "weights": str(secret / "y.npy")}
    return {
        "folder": ({"path": str(secret / "photos")}, {}),
        "flat": ({"path": str(secret / "photos"), "kind": "flat"}, {}),
        "manifest": ({"path": str(secret / "list.txt")}, {}),
        "manifest's root": ({"path": str(root / "list.txt"), "root": str(secret)}, {}),
        "root's manifest": ({"path": str(secret / "list.txt"), "root": str(root)}, {}),
        "npy": ({"path": str(secret / "x.npy")}, small),
        "labels": ({"path": str(root / "x.npy"), "labels": str(secret / "y.npy")}, small),
        "npz": ({"path": str(secret / "x.npz")}, small),
        "archive": ({"path": str(secret / "cifar.tar.gz")}, small),
        "bundle": ({"path": str(secret / "cifar"), "kind": "cifar10"}, small),
        "shards": ({"path": str(secret / "shard-{0..0}.tar")}, {}),
        "shard": ({"path": str(secret / "shard-0.tar")}, {}),
        "pattern": ({"path": f"{root}/../{{secret,root}}/shard-0.tar"}, {}),
        "parts": ({"parts": [{"path": str(folder / "photos")} for folder in (root, secret)]}, {}),
        "subset": ({"path": str(root / "x.npy")}, {**small, "sampler": subset}),
        "weights": ({"path": str(root / "x.npy")}, {**small, "sampler": weights}),
    }


def test_every_path_of_a_request(serve, home, data):
    """Of whatever kind a dataset is, each path in it is asked for: also of arrays, roots, parts and
    samplers."""
    paths = every_path(home, data)
    daemon = serve(dataset_root=home / "root")
    for what, (dataset, fields) in paths.items():
        assert f"{home}/" in refused(daemon, BOB, dataset, **fields), what
        if what != "weights":  # which have to be float
            assert attach(daemon, SERVER, dataset, **fields) == "attached", what


def test_fit_and_index(serve, data):
    """FIT on the data socket; FIT and INDEX on the control socket, if that is open to others."""
    daemon = serve(control_socket_mode="0666")
    wish = {"dataset": {"path": str(data)},
            "transforms": [{"name": "Resize", "size": [8, 8]}]}
    for message, control in ("fit", False), ("fit", True), ("index", True):
        fields = wish if message == "fit" else {"dataset": wish["dataset"]}
        with connect(daemon, BOB, control=control) as peer:
            answer = peer.request(message, **fields)
            assert answer.fields.get("name") == "permission", (message, answer)
        with connect(daemon, SERVER, control=control) as peer:
            assert peer.request(message, **fields).name == "report", message


def test_what_another_user_has_open(serve, data):
    """A dataset that Alice's trainer has open is no nearer for Bob; what he lists is his own."""
    daemon = serve(dataset_root=f"{data}:@{ALICE}")
    with connect(daemon, ALICE) as alice, connect(daemon, BOB) as bob:
        assert alice.attach(data, **STREAM).name == "attached"
        assert bob.attach(data, **STREAM).fields["name"] == "permission"
        assert len(alice.request("list", what="paths", after=0).fields["items"]) == PICTURES
        bob.send("list", seq=9, what="paths", after=0)
        assert bob.expect_error("wrong_state", hang_up=True)


def test_a_reload_changes_the_roots(serve, home, data):
    """FAULTS 30: files add up, an empty rule clears; whoever is attached goes on to the end when
    the rule, or the folder itself, is gone, and the next is refused."""
    config, drop_ins = home / "stokerd.conf", home / "stokerd.conf.d"
    drop_ins.mkdir()
    config.write_text(f"[stokerd]\ndataset-root = {home}/none\n")
    (drop_ins / "1.conf").write_text(f"[stokerd]\ndataset-root = {data}:@{ALICE}\n")
    daemon = serve(config=config)
    printed = subprocess.run([*daemon.command()[4:], "--print-config"], text=True, check=True,
                             capture_output=True).stdout
    assert re.findall(r"^dataset-root = (\S+) ", printed, re.MULTILINE) == \
        [f"{home}/none", f"{data}:@{ALICE}"]
    refused(daemon, BOB, data)
    with connect(daemon, ALICE) as alice:
        assert alice.attach(data, **STREAM, batch_size=2, prefetch=1).name == "attached"
        samples = alice.samples()
        next(samples)
        (drop_ins / "2.conf").write_text(
            f"[stokerd]\ndataset-root =\ndataset-root = {data}:@{BOB}\n")
        done = daemon.ctl("reload")
        assert f"dataset-root {home}/none {data}:@{ALICE} -> {data}:@{BOB}" in done.stdout, done
        refused(daemon, ALICE, data)
        assert attach(daemon, BOB, data) == "attached"
        assert len(list(samples)) == PICTURES - 1
    (drop_ins / "2.conf").write_text(f"[stokerd]\ndataset-root = {data}:@nosuchuser\n")
    done = daemon.ctl("reload", check=False)
    assert done.returncode and "dataset-root: there is no user 'nosuchuser'" in done.stderr
    assert attach(daemon, BOB, data) == "attached"  # as it was
    assert "is a list: write it into the configuration" in \
        daemon.set("dataset-root", "/").fields["text"]
    daemon.settle()  # whoever has it open has it as it was
    data.rename(home / "gone")
    assert attach(daemon, BOB, data)[0] == "dataset"
