# SPDX-License-Identifier: MIT
"""A daemon of another user that has no rule for this one: each client shows descriptors of what it
may read itself. By real uids, so this needs root."""

import os
import pathlib
import shutil
import tarfile
import tempfile

import numpy
import pytest

from users import ALICE, SERVER, needs_root, servers

pytestmark = needs_root

# Alice becomes a user of her own: no group, no capability.
AS_ALICE = ["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups"]
STREAM = {"transforms": [{"name": "RandomCrop", "size": 12}], "order_seed": 3, "augment_seed": 5,
          "batch_size": 7, "epochs": 2}


@pytest.fixture(name="foreign")
def fixture_foreign():
    """A daemon of the user SERVER, which reads nothing for others by path."""
    with servers() as serve:
        yield serve()


@pytest.fixture(name="home")
def fixture_home():
    """A folder of Alice's that nobody else may enter."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-alice-"))
    folder.chmod(0o700)
    yield folder
    shutil.rmtree(folder)


def give_to_alice(folder, group=ALICE):
    """All of it, with nothing for others."""
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, ALICE, group)
        path.chmod(0o750 if path.is_dir() else 0o640)


@pytest.fixture(name="arrays")
def fixture_arrays(home):
    """Pixels, labels and weights, in files that only she may read."""
    draw = numpy.random.default_rng(4)
    numpy.save(home / "x.npy", draw.integers(0, 256, (30, 16, 16, 3), numpy.uint8))
    numpy.save(home / "y.npy", draw.integers(0, 9, 30))
    numpy.save(home / "weights.npy", draw.random(30))
    give_to_alice(home)
    return {**STREAM, "dataset": {"path": str(home / "x.npy"), "labels": str(home / "y.npy")},
            "sampler": {"name": "weighted", "weights": str(home / "weights.npy")}}


@pytest.fixture(name="alice")
def fixture_alice(client):
    """The client, as her."""
    client.needs("descriptors")
    client.launcher = AS_ALICE
    return client


def test_arrays_that_only_the_user_may_read(alice, foreign, truth, arrays):
    assert alice.run(foreign.socket, arrays).batches == truth(arrays)[2]


def test_a_folder(alice, foreign, truth, photos, home):
    """Beneath a folder the daemon opens files itself, so it is of her and of the daemon's group."""
    shutil.copytree(photos, home / "photos")
    give_to_alice(home / "photos", SERVER)
    home.chmod(0o711)
    attach = {**STREAM, "dataset": {"path": str(home / "photos")},
              "transforms": [{"name": "RandomResizedCrop", "size": 16}]}
    assert alice.run(foreign.socket, attach).batches == truth(attach)[2]


def test_a_manifest_and_its_pictures(alice, foreign, truth, photos, home):
    """Two parts: lists that only she may read, of pictures in a folder that the daemon may."""
    shutil.copytree(photos, home / "photos")
    give_to_alice(home / "photos", SERVER)
    pictures = sorted(p.relative_to(home / "photos") for p in (home / "photos").rglob("*.jpg"))
    parts = []
    for k in range(2):
        rows = home / f"rows{k}.jsonl"
        rows.write_text("".join(f'{{"path": "{p}", "label": {k}}}\n' for p in pictures[k::2]))
        os.chown(rows, ALICE, ALICE)
        rows.chmod(0o600)
        parts.append({"path": str(rows), "root": str(home / "photos")})
    home.chmod(0o711)
    attach = {**STREAM, "dataset": {"parts": parts},
              "transforms": [{"name": "RandomResizedCrop", "size": 16}]}
    assert alice.run(foreign.socket, attach).batches == truth(attach)[2]


def test_shards_by_pattern(alice, foreign, truth, photos, home):
    shards = home / "shards"
    shards.mkdir()
    pictures = sorted(photos.rglob("*.jpg"))
    for k in range(2):
        with tarfile.open(shards / f"{k}.tar", "w") as tar:
            for i, picture in enumerate(pictures[k::2]):
                tar.add(picture, f"{i:03}.jpg")
    give_to_alice(shards, SERVER)
    home.chmod(0o711)
    attach = {**STREAM, "dataset": {"path": str(shards / "{0..1}.tar"), "image": "jpg"},
              "transforms": [{"name": "RandomResizedCrop", "size": 16}]}
    assert alice.run(foreign.socket, attach).batches == truth(attach)[2]


def test_a_daemon_that_is_killed(alice, foreign, truth, arrays, home):
    """The client keeps its descriptors: the next daemon is shown the same file, renamed."""
    del arrays["sampler"]
    batches = truth(arrays)[2]
    run = alice.start(foreign.socket, arrays, pause=3)
    run.wait_for("paused")
    foreign.kill()
    (home / "x.npy").rename(home / "elsewhere.npy")
    foreign.spawn()
    run.go_on()
    assert run.finish().batches == batches
    assert run.said("end")[0]["reconnects"] == "1"


def test_without_rights_of_ones_own(alice, foreign, arrays):
    """What the client cannot open itself it cannot show."""
    os.chown(arrays["dataset"]["path"], 0, 0)
    del arrays["sampler"]
    assert "may not have" in alice.start(foreign.socket, arrays).fails("permission")


@pytest.mark.parametrize("url, file", [("s3://b/x.npy", "s3:/b/x.npy"),
                                       ("http://b/{0..1}.tar", "http:/b/0.tar")])
def test_a_url_is_no_file(alice, foreign, arrays, home, url, file):
    """Nor is a folder of its name looked for where the client runs."""
    decoy = home / file
    decoy.parent.mkdir(parents=True)
    if file.endswith(".npy"):
        shutil.copy(arrays["dataset"]["path"], decoy)
    else:
        with tarfile.open(decoy, "w") as tar:
            tar.add(arrays["dataset"]["path"], "0.npy")
    give_to_alice(home)
    alice.launcher = ["env", "-C", str(home), *AS_ALICE]
    attach = {**STREAM, "dataset": {"path": url}}
    assert "may not have" in alice.start(foreign.socket, attach).fails("permission")
