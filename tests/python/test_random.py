# SPDX-License-Identifier: MIT
"""loader.batch() at any time, and loader.stats()."""
import json
import os
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import stoker
from fake_daemon import frame
from real_daemon import RealDaemon, binary
from stoker._connection import Connection
from stoker._tables import BYTES
from test_loader import expected, values


@pytest.mark.parametrize("rank,world", [(0, 1), (1, 2)])
def test_any_batch(daemon, node, rank, world):
    loader = node.loader("/data/22", batch_size=4, rank=rank, world_size=world, job="a", timeout=5)
    it = iter(loader)
    next(it), next(it)
    loop = [list(batch.index) for batch in loader.batches()]
    for epoch in (1, 5):
        for k in range(-len(loader), len(loader)):
            batch = loader.batch(epoch, k)
            first = k % len(loader) * 4 * world + rank * 4
            assert (batch.epoch, batch.position) == (epoch, first)
            assert values(batch.images, epoch) == expected(epoch, range(first, min(first + 4, 22)),
                                                           22)
            if epoch == 1:
                assert list(batch.index) == loop[k]
        for k in (len(loader), -len(loader) - 1, 100):
            with pytest.raises(IndexError, match=f"no batch {k}"):
                loader.batch(epoch, k)
    assert "job" not in daemon.last("attach") and daemon.last("attach")["epochs"] == 1
    with pytest.raises(ValueError):
        loader.batch(-1, 0)


def test_it_holds_nothing(daemon, node):
    loader = node.loader("/data/20", batch_size=4, timeout=5)
    batch = loader.batch(3, 2)
    daemon.settle(lambda: len(daemon.peers) == 1)
    with batch:
        images = batch.images
        assert images.flags.writeable and not batch.released and len(batch.labels) == 4
    assert batch.released and values(images, 3) == expected(3, range(8, 12))
    with pytest.raises(ValueError, match="released"):
        batch.images
    batch.release()
    assert [v for images, _ in loader for v in values(images, 0)] == expected(0, range(20))


def test_a_moved_or_a_bad_one(daemon, node):
    loader = node.loader("/data/20", batch_size=4, timeout=5)
    daemon.bad = {(2, 8)}
    with pytest.raises(stoker.SampleError, match="cut short"):
        loader.batch(2, 2)

    def move(peer, fields):
        before = peer.ring
        peer.move(200)
        peer.ring.arrays["image"][:4] = before.arrays["image"][:4]

    daemon.hooks["say_batch"] = move
    assert values(loader.batch(2, 1).images, 2) == expected(2, range(4, 8))
    for wrong in ({"position": 4}, {"epoch": 1}, {"runs": [[100, 4]]}):
        daemon.hooks["say_batch"] = lambda peer, fields: fields.update(wrong)
        with pytest.raises(stoker.ProtocolError):
            loader.batch(2, 0)
    daemon.settle(lambda: len(daemon.peers) <= 1)


def test_in_many_threads(node):
    loader = node.loader("/data/40", batch_size=2, timeout=20)
    out = {}

    def look(first):
        for k in range(first, 20, 4):
            out[k] = values(loader.batch(1, k).images, 1)

    threads = [threading.Thread(target=look, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    got = [value for images, _ in loader for value in values(images, 0)]
    for thread in threads:
        thread.join()
    assert got == expected(0, range(40), 40)
    assert [v for k in range(20) for v in out[k]] == expected(1, range(40), 40)


def test_stats(daemon, node):
    """Asked between batches: none is lost."""
    daemon.reader = {"limited_by": "decode", "share_decode": 0.75}
    loader = node.loader("/data/20", batch_size=4, timeout=5)
    got = []
    for k, (images, _) in enumerate(loader):
        stats = loader.stats()
        assert (stats["limited_by"], stats["share_decode"]) == ("decode", 0.75)
        assert (stats["batches"], stats["samples"]) == (k + 1, 4 * k + 4)
        assert stats["wait_seconds"] >= 0 and stats["reconnects"] == 0
        got += values(images, 0)
    assert got == expected(0, range(20))
    daemon.die()
    daemon.again()
    assert loader.stats()["reconnects"] == 1


def test_stats_of_an_older_daemon_or_a_wrong_one(daemon, node):
    loader = node.loader("/data/20", batch_size=4, timeout=5)
    daemon.hooks["list"] = lambda peer, fields: peer.fail(
        fields["seq"], 22, "argument", "classes, nothing else") or True
    with pytest.raises(stoker.Error, match="older"):
        loader.stats()
    del daemon.hooks["list"]
    assert values(next(iter(loader))[0], 0) == expected(0, range(4))
    for wrong in (None, [], [1], {}, [{}, {}]):
        daemon.hooks["say_listing"] = lambda peer, fields: frame(
            "listing", **{**fields, "items": wrong})
        with pytest.raises(stoker.ProtocolError):
            node.loader("/data/20", batch_size=4, timeout=5).stats()


def deep_array(folder, images, size):
    """The path of so many bytes of a .npy file. Made in steps: no call takes a longer one."""
    before = os.open(".", os.O_RDONLY)
    path = str(folder)
    os.chdir(folder)
    try:
        while len(path) < size - 200:
            os.mkdir("d" * 190)
            os.chdir("d" * 190)
            path += "/" + "d" * 190
        name = "x" * (size - len(path) - 5) + ".npy"
        np.save(name, images)
    finally:
        os.fchdir(before)
        os.close(before)
    return f"{path}/{name}"


IMAGES = np.arange(24 * 8 * 8 * 3, dtype=np.uint8).reshape(24, 8, 8, 3)
PLAIN = {"batch_size": 4, "dtype": "uint8", "transforms": [stoker.RandomCrop(6)]}
BY_NUMBER = {
    "long paths": {},
    "a long list": {"sampler": stoker.samplers.Subset([5, 7, 1, 30] * 1000)},
    "a list in memory": {"sampler": stoker.samplers.Subset([5, 7, 1, 30] * 10000)},
    "views": {"views": 3},
    "shares of the ranks": {"rank": 1, "world_size": 2, "job": "a", "last_batch": "pad"},
    "what is the stream's alone": {"bad_samples": "substitute", "fields": []},
}


@pytest.fixture(name="asked")
def fixture_asked(monkeypatch):
    """The fields of each request."""
    asked, whole = [], Connection.request_within

    def request_within(self, timeout, name, *more, **fields):
        asked.append((name, {key: value for key, value in fields.items() if key != "fds"}))
        return whole(self, timeout, name, *more, **fields)
    monkeypatch.setattr(Connection, "request_within", request_within)
    return asked


@pytest.mark.parametrize("name", BY_NUMBER)
def test_by_the_number_of_the_stream(near, tmp_path, asked, name):
    """What the daemon holds is not said again: joined arrays with paths of 4,000 bytes."""
    path = deep_array(tmp_path, IMAGES, 4000)
    with near.loader(stoker.Mix([path] * 3), **{**PLAIN, **BY_NUMBER[name]}) as loader:
        for k, batch in zip(range(3), loader.batches()):
            again = loader.batch(0, k)
            assert np.array_equal(again.images, batch.images)
            assert np.array_equal(again.labels, batch.labels)
            assert list(again.index) == list(batch.index)
            what, fields = asked[-1]
            assert what == "attach" and fields["like"]
            assert not {"dataset", "job"} & set(fields)
            held = set(BYTES) - ({"sampler"} if name == "a list in memory" else set())
            assert not held & set(fields)


def test_mixed_by_the_number_of_the_stream(near, folder, asked):
    with near.loader(folder, batch_size=4, seed=3, transforms=[
            stoker.RandomResizedCrop(8), stoker.MixUp(alpha=0.4)]) as loader:
        for k, batch in enumerate(loader.batches()):
            again = loader.batch(0, k)
            assert np.array_equal(again.images, batch.images)
            assert np.array_equal(again.labels, batch.labels) and again.labels.shape[1] == 3
            assert asked[-1][1]["like"] and "transforms" not in asked[-1][1]


@pytest.mark.skipif(binary() is None, reason="no stokerd was built")
def test_by_a_number_that_is_another_stream(tmp_path, asked):
    """A daemon that was started again has other streams: then the dataset is said."""
    np.save(tmp_path / "x.npy", IMAGES)
    daemon = RealDaemon(tmp_path)
    with stoker.connect(daemon.path) as node:
        first = node.loader(tmp_path / "x.npy", seed=1, **PLAIN)
        before = first.batch(1, 2).images
        assert asked[-1][1]["like"] == first._reader._number
        assert daemon.stop() == 0
        daemon.start()
        with stoker.connect(daemon.path) as other:
            second = other.loader(tmp_path / "x.npy", seed=2, **PLAIN)
            # Connections have numbers, too, so that it may be another one by now.
            first._reader._number = second._reader._number
            assert np.array_equal(first.batch(1, 2).images, before)
            assert "dataset" in asked[-1][1]
            assert not np.array_equal(second.batch(1, 2).images, before)
    assert daemon.stop() == 0


def invert(image):
    return 255 - image


class Files:
    """Code that reads its samples."""

    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return Path(self.paths[index]).read_bytes(), index


SIZE = [stoker.Resize((8, 8))]
HANDED = {  # by descriptors, or made by code that the daemon does not have
    "a list of paths": lambda node, paths, folder, more: node.loader(paths, **more),
    "joined lists": lambda node, paths, folder, more: node.loader(
        stoker.Mix([paths[:9], paths[9:]]), **more),
    "a list of samples": lambda node, paths, folder, more: node.loader(
        folder, sampler=stoker.samplers.Subset([5, 7, 1, 20] * 10000), **more),
    "a Source": lambda node, paths, folder, more: node.loader(
        stoker.Source(Files(paths), gives="bytes"), num_workers=1, **more),
    "a Map": lambda node, paths, folder, more: node.loader(
        folder, num_workers=1, **{**more, "transforms": [*SIZE, stoker.Map(invert)]}),
}


@pytest.mark.parametrize("name", HANDED)
def test_stokerctl_shows_what_was_handed_in(near, real, folder, tmp_path, name):
    """A process that has no descriptor, nor the code, by the number of the stream."""
    Image = pytest.importorskip("PIL.Image")

    def ctl(*arguments):
        done = subprocess.run([binary().parents[1] / "client" / "ctl" / "stokerctl", "--socket",
                               real.control, "--json", *map(str, arguments)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    paths = sorted(map(str, Path(folder).glob("*/*")))
    out = tmp_path / "a.png"
    more = {"batch_size": 4, "dtype": "uint8", "layout": "NHWC", "seed": 6, "transforms": SIZE}
    with HANDED[name](near, paths, folder, more) as loader:
        number = loader.stats()["stream"]
        batch = loader.batch(2, 1)
        for i in range(batch.count):
            values = ctl("replay", number, "--epoch", 2, "--position", 4 + i, "-o", out)
            assert (values["index"], values["label"]) == (batch.index[i], batch.labels[i])
            with Image.open(out) as picture:
                assert np.array_equal(np.asarray(picture), batch.images[i])
        values = ctl("preview", "--stream", number, "--epoch", 2, "-o", out, "--rows", 2,
                     "--cols", 4)
        assert [sample["index"] for sample in values["samples"]][4:] == list(batch.index)
        samples = {row["stream"]: row["samples"] for row in ctl("streams")["streams"]}
        assert samples[number] == loader.samples
