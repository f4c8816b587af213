# SPDX-License-Identifier: MIT
"""Tar shards: the same samples as a folder of the same members, byte for byte, whatever workers,
the ranks and the place where an epoch goes on; members that are bad, shards that change, and what
is kept of them."""

import io
import json
import os
import sys
import tarfile

import pytest

from harness import ERRORS, SOURCE
from test_law import STREAM, digests, in_turn
from test_replay import xxh3
from test_storage import epoch, files, run

sys.path.insert(0, str(SOURCE / "tests" / "reference"))
import sampling  # noqa: E402 (it stands in the folder of references)

COUNT = 17  # pictures in a shard


def write_shard(path, members):
    """(name, bytes) in their order; by rename, as who writes shards does."""
    with tarfile.open(f"{path}.new", "w") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    os.rename(f"{path}.new", path)


def shard_of(photos, paths):
    """The members of one shard: each picture with the name of its class and a text."""
    members = []
    for path in paths:
        key = os.path.splitext(path.relative_to(photos))[0]
        members += [(f"{key}{path.suffix}", path.read_bytes()),
                    (f"{key}.cls", path.parent.name.encode()),
                    (f"{key}.txt", f"this is {key}".encode())]
    return members


@pytest.fixture(name="shards")
def fixture_shards(photos, tmp_path):
    """The pattern of shards with the photographs, in the order that the folder has."""
    paths = files(photos)
    for number, at in enumerate(range(0, len(paths), COUNT)):
        write_shard(tmp_path / f"train-{number:03}.tar", shard_of(photos, paths[at:at + COUNT]))
    return tmp_path / "train-{000..003}.tar"


def listed(daemon, dataset, what):
    with daemon.connect() as peer:
        peer.attach(dataset, batch_size=1, epochs=0, inflight=0)
        return peer.request("list", what=what, after=0).fields["items"]


def test_the_same_as_the_folder(spawn, photos, shards):
    """The law, and with it everything that reads samples: workers, indexes, kept pictures."""
    reference = digests(spawn(workers=2), photos)
    for options in {"workers": 1}, {"workers": 4}, {"index_memory": "0"}, {"cache_memory": "64M"}:
        daemon = spawn(**options)
        assert digests(daemon, shards) == reference
        assert digests(daemon, str(shards).replace("{000..003}", "*")) == reference
        daemon.settle()
    assert listed(daemon, shards, "classes") == listed(daemon, photos, "classes")
    paths = listed(daemon, shards, "paths")
    assert [path.split("/", 1)[1] for path in paths] == listed(daemon, photos, "paths")
    assert paths[0].startswith("train-000.tar/") and paths[-1].startswith("train-003.tar/")


@pytest.mark.parametrize("spoil", [
    lambda path: (os.remove(path), os.symlink("/none", path)),
    lambda path: path.write_bytes(b"no tar" * 200)], ids=["gone", "damaged"])
def test_a_shard_is_named_with_its_dataset(daemon, shards, spoil):
    spoil(shards.parent / "train-002.tar")
    with daemon.connect() as peer:
        text = peer.attach(shards, **STREAM).fields["text"]
    assert "train-002.tar" in text and str(shards.parent)[-40:] in text, text


def test_ranks_and_resuming(daemon, photos, shards):
    """Two ranks, and a reader that goes on in the middle of an epoch, meet the folder's samples."""
    reference = digests(daemon, photos)
    peers = [daemon.connect() for _ in range(2)]
    for rank, peer in enumerate(peers):
        answer = peer.attach(shards, **STREAM, epochs=2, rank=rank, world=2, job="a run")
        assert answer.name == "attached", answer
    halves = in_turn(peers)
    for peer in peers:
        peer.close()
    assert {**halves[0], **halves[1]} == reference and not set(halves[0]) & set(halves[1])
    rest = digests(daemon, shards, epoch=0, position=24)
    assert rest == {at: digest for at, digest in reference.items() if at >= (0, 24)}


def test_indexes_are_used(spawn, shards, tmp_path):
    """What is learnt of a member is used at its next visit, and outlives the daemon; so does the
    index of the shards."""
    folder = tmp_path / "folder"
    reference = digests(spawn(index_memory="0"), shards)
    daemon = spawn(index_dir=folder)
    assert digests(daemon, shards) == reference
    assert daemon.status()["index_used_total"] > 0
    daemon.terminate()
    assert sorted(path.suffix for path in folder.iterdir()) == [".index", ".shards"]
    again = spawn(index_dir=folder)
    assert digests(again, shards) == reference
    assert again.status()["index_built_total"] == 0


def test_fields(daemon, photos, shards):
    """Components as fields of the ring, chosen like others."""
    dataset = {"path": str(shards), "components": "txt"}
    with daemon.connect() as peer:
        answer = peer.attach("", dataset=dataset, **{**STREAM, "shuffle": False, "epochs": 1})
        assert answer.name == "attached", answer
        fields = ("txt", "txt_length", "index")
        for _, _, arrays in peer.samples(fields):
            key = os.path.splitext(files(photos)[int(arrays["index"])].relative_to(photos))[0]
            text = arrays["txt"].tobytes()[:int(arrays["txt_length"])]
            assert text.decode() == f"this is {key}"
            assert not any(arrays["txt"][int(arrays["txt_length"]):])
    with daemon.connect() as peer:
        peer.attach("", dataset=dataset, fields=[], **{**STREAM, "epochs": 1})
        assert set(peer.ring.read(peer.expect("batch").fields["runs"])) == {"image", "label",
                                                                            "index"}


def test_one_hot(daemon, photos, tmp_path):
    """Of labels that are numbers: with the number of classes, which is what refusing it says."""
    write_shard(tmp_path / "a.tar", [member for at, path in enumerate(files(photos)[:4])
                                     for member in ((f"{at}{path.suffix}", path.read_bytes()),
                                                    (f"{at}.cls", b"%d" % at))])
    dataset = {"path": str(tmp_path / "a.tar")}
    with daemon.connect() as peer:
        answer = peer.attach("", dataset=dataset, **STREAM, one_hot=True)
        assert "classes = 1000" in answer.fields["text"], answer
    with daemon.connect() as peer:
        peer.attach("", dataset={**dataset, "classes": "6"}, **{**STREAM, "shuffle": False},
                    one_hot=True)
        labels = peer.ring.read(peer.expect("batch").fields["runs"])["label"]
    assert labels.tolist() == [[float(at == row) for at in range(6)] for row in range(4)]


def test_replay(daemon, shards):
    """stokerctl asks for a position of the stream again, with the description's keys."""
    dataset = {"path": str(shards), "label": "cls", "components": "txt", "image": "jpg;png;webp"}
    with daemon.connect() as peer:
        answer = peer.attach("", dataset=dataset, **{**STREAM, "batch_size": 1})
        assert answer.name == "attached", answer
        said = json.loads(daemon.ctl("--json", "replay", answer.fields["stream"], "--epoch", 0,
                                     "--position", 0).stdout)
        there = peer.ring.read(peer.expect("batch").fields["runs"])
    assert said["index"] == there["index"][0]
    assert said["digest"] == xxh3(there["image"].tobytes())


def test_bad_members(daemon, photos, tmp_path):
    """A member that is no picture, and an empty one: named as paths() names them; others come."""
    members = shard_of(photos, files(photos)[:6])
    members[0] = (members[0][0], b"this is no picture")
    members[3] = (members[3][0], b"")
    write_shard(tmp_path / "a.tar", members)
    images, bad = run(daemon, tmp_path / "a.tar", batch_size=1)
    assert sorted(images) == [2, 3, 4, 5]
    assert [error["path"] for error in bad] == [f"a.tar/{members[at][0]}" for at in (0, 3)]
    images, bad = run(daemon, tmp_path / "a.tar", batch_size=1, bad_samples="substitute")
    assert sorted(images) == list(range(6))


def test_a_shard_that_changes(daemon, photos, shards, tmp_path):
    """A shard that is another one now is an error for all of its members, never other bytes; who
    attaches later sees the new one."""
    reference, _ = run(daemon, shards, batch_size=1)
    with daemon.connect() as peer:
        peer.attach(shards, **{**STREAM, "shuffle": False, "epochs": 1, "batch_size": 1},
                    inflight=1, prefetch=2)
        first = peer.expect("batch")
        write_shard(tmp_path / "train-001.tar", shard_of(photos, files(photos)[:COUNT]))
        peer.release(first)
        images, bad = epoch(peer)
    # What was made before the shard changed is right; the rest of its members are errors.
    assert len(images) + len(bad) == len(files(photos)) - 1 and len(bad) > COUNT // 2
    assert all(images[at] == reference[at] for at in images)
    assert {error["sample"] for error in bad} <= set(range(COUNT, 2 * COUNT))
    assert {error["code"] for error in bad} == {ERRORS["sample_changed"]}
    assert all("train-001.tar" in error["text"] for error in bad)
    daemon.settle()
    assert len(run(daemon, shards)[0]) == len(files(photos))


def test_joined(daemon, photos, shards):
    """Shards as a part of a joined dataset: names begin with the folder of the shards."""
    parts = [{"path": str(shards)}, {"path": str(shards.parent / "*.tar")}]
    with daemon.connect() as peer:
        answer = peer.attach("", dataset={"parts": parts}, batch_size=1, epochs=0, inflight=0)
        assert answer.name == "attached", answer
        paths = peer.request("list", what="paths", after=0).fields["items"]
    assert len(paths) == 2 * len(files(photos))
    assert all(os.path.isfile(path.split(".tar/")[0] + ".tar") for path in paths)


def indices(daemon, shards, **fields):
    """[sample] of one epoch, by position."""
    with daemon.connect() as peer:
        answer = peer.attach(shards, **{**STREAM, "epochs": 1, "order": "shards", **fields})
        assert answer.name == "attached", answer
        return [int(arrays["index"]) for _, _, arrays in peer.samples(("index",))]


def test_the_order_shards(daemon, photos, shards):
    """As docs/order.md has it: shards are shuffled, then windows; with subsets, samplers that go
    through samples in their order, and echo."""
    sizes = [COUNT, COUNT, COUNT, 60 - 3 * COUNT]
    for epoch, window in ((0, 1), (1, 20), (2, 16384)):
        assert indices(daemon, shards, epoch=epoch, window=window) == \
            sampling.shards_order(sizes, window, STREAM["order_seed"], epoch)
    assert indices(daemon, shards, shuffle=False) == list(range(60))
    part = indices(daemon, shards, window=8, subset_start=10, subset_stop=40)
    assert part == [10 + at for at in sampling.shards_order(
        [COUNT - 10, COUNT, 40 - 2 * COUNT, 0], 8, STREAM["order_seed"], 0)]
    every = list(range(1, 60, 3))
    counts = [sum(shard * COUNT <= at < (shard + 1) * COUNT for at in every) for shard in range(4)]
    assert indices(daemon, shards, window=5,
                   sampler={"name": "subset", "indices": every}) == \
        [every[at] for at in sampling.shards_order(counts, 5, STREAM["order_seed"], 0)]
    twice = indices(daemon, shards, window=8, echo=2, echo_window=4)
    assert sorted(twice) == sorted([*range(60)] * 2)


def test_the_order_shards_is_exact(daemon, photos, shards):
    """Ranks share an epoch, a reader goes on anywhere, and a token of another order is refused;
    bytes are those that the sample has at that position whatever the workers."""
    fields = {"order": "shards", "window": 20}
    reference = digests(daemon, shards, **fields)
    assert reference != digests(daemon, shards)
    peers = [daemon.connect() for _ in range(3)]
    for rank, peer in enumerate(peers):
        answer = peer.attach(shards, **STREAM, **fields, epochs=2, rank=rank, world=3, job="a run")
        assert answer.name == "attached", answer
    parts = in_turn(peers)
    for peer in peers:
        peer.close()
    assert {at: digest for part in parts for at, digest in part.items()} == reference
    for at in (1, 33, 59):
        rest = digests(daemon, shards, epoch=1, epochs=1, position=at, **fields)
        assert rest == {key: digest for key, digest in reference.items() if key >= (1, at)}
    tokens = []
    for more in fields, {**fields, "window": 21}, {}:
        with daemon.connect() as peer:
            tokens.append(peer.attach(shards, **STREAM, **more).fields.get("sampling_hash", ""))
    assert len(set(tokens)) == 3 and tokens[2] == ""
    with daemon.connect() as peer:
        answer = peer.attach(shards, **STREAM, expect_sampling=tokens[0])
        assert answer.fields["name"] == "token", answer
    for wrong, words in (({"order": "shard"}, "none of global, shards"),
                         ({**fields, "sampler": {"name": "balanced"}}, "balanced")):
        with daemon.connect() as peer:
            assert words in peer.attach(shards, **STREAM, **wrong).fields["text"]
    with daemon.connect() as peer:
        assert "this one does not" in peer.attach(photos, **STREAM, **fields).fields["text"]


def test_refused(daemon, photos, tmp_path):
    """Words for what cannot be opened, as DATASET errors."""
    (tmp_path / "rows.tar").write_text("a/1.jpg 1\n" * 100)
    for path, words in ((tmp_path / "rows.tar", "there is no tar header"),
                        (tmp_path / "no-{0..3}.tar", "no-0.tar"),
                        (tmp_path / "no-*.tar", "no file fits")):
        with daemon.connect() as peer:
            answer = peer.attach(path)
            assert answer.name == "error" and words in answer.fields["text"], answer
    daemon.settle()
