# SPDX-License-Identifier: MIT
"""loader.batch() at any time, and loader.stats()."""
import threading

import pytest

import stoker
from fake_daemon import frame
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
