# SPDX-License-Identifier: MIT
"""Two users who do not trust each other, at a daemon of a third: what is learnt of one's files
(statistics, seek indexes, decoded pictures, the snapshot) is nothing that the other can spoil. All
three are real uids, so this needs root; test_two_users_*.py are the other files of this.
"""

import contextlib
import os
import shutil
import tarfile

import pytest

from harness import wait_for
from test_law import STREAM
from users import (ALICE, BOB, CAROL, PICTURES, SERVER, connect, fixture_data,  # noqa: F401
                   fixture_home, fixture_serve, needs_root, opened)

pytestmark = needs_root


def grey(folder, value):
    """Pictures of one value; all such folders have one fingerprint: that is of names and sizes."""
    (folder / "class").mkdir(parents=True)
    for i in range(4):
        (folder / "class" / f"{i}.ppm").write_bytes(b"P6\n8 8\n255\n" + bytes([value] * 192))
    return folder


def fit(daemon, uid, path, name):
    """The digest of its statistics."""
    with connect(daemon, uid) as peer:
        answer = peer.request("fit", dataset={"path": str(path)}, name=name,
                              transforms=[{"name": "Resize", "size": [8, 8]}])
    assert answer.name == "report", answer
    return answer.fields["values"]["digest"]


def centred(daemon, uid, path, name):
    """The value of its pictures minus the mean of these statistics, for that user; or the error."""
    transforms = [{"name": "Resize", "size": [8, 8]},
                  {"name": "ImageDataGenerator", "featurewise_center": True, "statistics": name}]
    with connect(daemon, uid) as peer:
        answer = peer.attach(path, transforms=transforms)
        if answer.name == "error":
            return answer.fields["text"].split(":")[2]
        (value,) = {float(arrays["image"].mean()) for _, _, arrays in peer.samples()}
        return value


def test_statistics_are_their_users_own(serve, home):
    """Names that Bob gives to a folder that looks like Alice's take nothing from her, in memory or
    on the disk, and give her nothing; those of the daemon's own user are there for all, behind
    one's own."""
    index = home / "index"
    index.mkdir()
    os.chown(index, SERVER, SERVER)
    daemon = serve(dataset_root=home, index_dir=index)
    hers, his = grey(home / "hers", 200), grey(home / "his", 10)
    digest = fit(daemon, ALICE, hers, "mean")
    public = fit(daemon, SERVER, his, "all")
    fit(daemon, SERVER, his, "mean")
    poison = [fit(daemon, BOB, his, name) for name in ["mean", "all", *map(str, range(70))]]
    assert poison[0] == public  # the same numbers

    def check():
        assert centred(daemon, ALICE, hers, "mean") == 0  # as she made them
        assert centred(daemon, ALICE, hers, digest) == 0
        assert centred(daemon, ALICE, hers, "69") == " this dataset has no statistics '69'"
        assert centred(daemon, BOB, his, "69") == 0
        assert digest in centred(daemon, BOB, his, digest)
        assert centred(daemon, ALICE, hers, "all") == centred(daemon, ALICE, hers, public) == 190
        assert centred(daemon, CAROL, hers, "mean") == 190

    check()
    daemon.terminate()
    daemon.spawn()
    check()


# -- what users share --------------------------------------------------------------------------


def test_new_files_are_seen_beside_another_users_reader(serve, home, data):
    """Bob's reader has its snapshot as long as it likes; Alice, who adds a picture, sees it."""
    daemon = serve(dataset_root=home)
    with connect(daemon, BOB) as bob:
        assert bob.attach(data, **STREAM, epochs=0).name == "attached"
        assert bob.attached["samples"] == PICTURES
        one = next(data.glob("*/*.jpg"))
        shutil.copy(one, one.with_name("new.jpg"))
        with connect(daemon, ALICE) as alice:
            assert alice.attach(data, **STREAM).name == "attached"
            assert alice.attached["samples"] == PICTURES + 1
            assert len(alice.digests()) == PICTURES + 1


def test_a_changed_dataset_is_given_to_nobody_new(serve, home, data):
    """One's own paused reader saw a file change: the next one gets the dataset as it is now."""
    daemon = serve(dataset_root=home)
    with connect(daemon, ALICE) as first, connect(daemon, ALICE) as second:
        wish = {**STREAM, "epochs": 0, "bad_samples": "substitute", "prefetch": 1}
        assert first.attach(data, **wish).name == "attached"
        samples = first.samples()
        for _ in range(PICTURES):
            next(samples)
        for path in data.glob("*/*.jpg"):
            bytes_ = path.read_bytes()
            path.unlink()
            path.write_bytes(bytes_ + b"\0")
        wait_for(lambda: next(samples) and daemon.status()["files_changed_total"], "it sees that")
        assert second.attach(data, **STREAM).name == "attached"
        assert len(second.digests()) == PICTURES


def test_indexes_and_pictures_are_shared(serve, home, data):
    """What was learnt of the same files for Alice is there for Bob, who reads them for himself;
    the bytes are the same."""
    daemon = serve(dataset_root=home, cache_memory="64M")
    with connect(daemon, ALICE) as alice:
        assert alice.attach(data, **STREAM, epochs=3).name == "attached"
        hers = alice.digests()
        before = daemon.status()
        assert before["index_built_total"] > 0
        with connect(daemon, BOB) as bob:
            assert bob.attach(data, **STREAM, epochs=3).name == "attached"
            assert bob.attached["stream"] != alice.attached["stream"]
            assert bob.digests() == hers
        after = daemon.status()
    assert after["index_built_total"] == before["index_built_total"]
    assert after["cache_fills_total"] == before["cache_fills_total"]
    assert after["cache_hits_total"] > before["cache_hits_total"]
    daemon.settle()


# -- index-dir -----------------------------------------------------------------------------------


def kept(index):
    """{name: bytes in whole blocks} of what is kept on the disk."""
    return {path.name: -(-path.stat().st_size // 4096) * 4096 for path in index.iterdir()
            if not path.name.endswith(".new")}


def folder_like(data, copy, number):
    """The photographs under other names, which makes it another dataset."""
    shutil.copytree(data, copy)
    for path in list(copy.glob("*/*.*")):
        path.rename(path.with_name(f"{number}-{path.name}"))
    return copy


@pytest.fixture(name="index")
def fixture_index(home):
    folder = home / "index"
    folder.mkdir()
    os.chown(folder, SERVER, SERVER)
    return folder


def test_seek_indexes_on_the_disk_are_shared(serve, home, data, index):
    """Ever new datasets of Bob's displace his own files, not Alice's, and all stay within the
    limit; hers is there for the next daemon."""
    limit = 48 << 10
    daemon = serve(dataset_root=home, index_dir=index, index_memory=str(limit))

    def read(uid, path):
        with connect(daemon, uid) as peer:
            assert peer.attach(path, **STREAM).name == "attached"
            peer.digests()
        daemon.settle()

    read(ALICE, data)
    wait_for(lambda: kept(index), "hers is kept")
    (hers,) = kept(index)
    assert hers.endswith(f"@{ALICE}.index")
    his = set()
    for number in range(14):
        read(BOB, folder_like(data, home / f"his-{number}", number))
        wait_for(lambda: set(kept(index)) - his - {hers}, "his is kept")
        wait_for(lambda: sum(kept(index).values()) <= limit, "within the limit")
        his.update(set(kept(index)) - {hers})
        assert hers in kept(index)
    assert len(his) == 14 and len(kept(index)) == 12, "he tried to keep more than has room"
    # As large a folder of hers has room, too: what he has above one half is hers to take.
    for number in range(3):
        read(ALICE, folder_like(data, home / f"hers-{number}", f"a{number}"))
    wait_for(lambda: sum(name.endswith(f"@{ALICE}.index") for name in kept(index)) == 4, "all four")
    daemon.terminate()
    daemon.spawn()
    read(ALICE, data)
    assert daemon.status()["index_built_total"] == 0 < daemon.status()["index_used_total"]


def test_indexes_of_shards_on_the_disk_are_shared(serve, home, data, index):
    """A user who opens shards whose pictures have no seek index writes nothing but these."""
    limit = 32 << 10
    daemon = serve(dataset_root=home, index_dir=index, index_memory=str(limit))
    picture = next(data.glob("*/*.png"))

    def open_shard(uid, number):
        shard = home / f"{number}-{uid}.tar"
        with tarfile.open(shard, "w") as tar:
            tar.add(picture, f"{number}.png")
        with connect(daemon, uid) as peer:
            assert peer.attach(shard, **{**STREAM, "batch_size": 1}).name == "attached"

    open_shard(ALICE, 0)
    (hers,) = kept(index)
    assert hers.endswith(f"@{ALICE}.shards")
    for number in range(20):
        open_shard(BOB, number)
        assert sum(kept(index).values()) <= limit
    assert hers in kept(index) and len(kept(index)) == 8
    open_shard(SERVER, 0)  # its own user's have no mark, and are there for all
    assert any("@" not in name for name in kept(index))


def test_two_users_whose_descriptions_are_equal_but_files_are_not(serve, home, data):
    """Bob shows a folder of his own, with Alice's names and sizes, under her path: nothing that was
    learnt of hers is replaced or charged to her. A folder that is the same is shared."""
    forged = home / "forged"
    shutil.copytree(data, forged)
    for path in forged.glob("*/*.jpg"):
        text = bytearray(path.read_bytes())
        text[-4] ^= 1
        path.write_bytes(text)
    daemon = serve(dataset_root=data, cache_memory="64M")
    wish = {**STREAM, "dataset": {"path": str(data), "path_fd": 0}, "batch_size": 4,
            "accept_fd": True, "epochs": 1}
    with connect(daemon, ALICE) as alice, contextlib.ExitStack() as stack:
        assert alice.attach(data, **STREAM, epochs=2).name == "attached"
        alice.digests()
        for folder in forged, data:
            before = daemon.status()
            with opened(BOB, folder) as fds, connect(daemon, BOB) as bob:
                answer = bob.request("attach", fds, **wish)
                assert answer.name == "attached", answer
                bob.attached = answer.fields
                bob.follow(answer)
                bob.digests()
            after = daemon.status()
            built = after["index_built_total"] - before["index_built_total"]
            assert (built > 0) == (folder == forged), folder
        again = stack.enter_context(connect(daemon, ALICE))
        before = daemon.status()["index_built_total"]
        assert again.attach(data, **{**STREAM, "order_seed": 5}).name == "attached"
        again.digests()
        assert daemon.status()["index_built_total"] == before
