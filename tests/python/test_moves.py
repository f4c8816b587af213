# SPDX-License-Identifier: MIT
"""A reader that is moved to another ring: the same samples, unnoticed by the program."""
import gc
import os

import pytest

import stoker
from fake_daemon import frame
from test_loader import expected, values


def mapped():
    """Which rings this process has mapped to read."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        return {line.split()[4] for line in maps if "memfd:ring" in line and " r--" in line}


def move_at(daemon, *positions, slots=24, **options):
    """Move the reader before these positions are announced."""
    def say(peer, fields):
        if fields["position"] in positions and not fields.get("moved"):
            before = peer.ring
            peer.move(slots, **options)
            at = [runs for first, count in fields["runs"] for runs in range(first, first + count)]
            for i, slot in enumerate(at):
                for name, array in peer.ring.arrays.items():
                    array[i] = before.arrays[name][slot]
            fields["runs"], peer.ordinal = [[0, fields["count"]]], fields["count"]
            peer.leases = {lease: 0 for lease in peer.leases}
    daemon.hooks["say_batch"] = say


@pytest.mark.parametrize("transport", ["fd", "path"])
def test_a_moved_reader_gets_every_sample(daemon, node, transport):
    loader = node.loader("/data/80", batch_size=4, transport=transport, timeout=60)
    assert daemon.last("attach")["accept_moves"] is True
    loader.set_epoch(1)
    move_at(daemon, 16, 40, 44)
    got = [value for images, _ in loader for value in values(images, 1)]
    assert got == expected(1, range(80), 80)
    assert daemon.count("attach") == 2 and daemon.bad_releases == 0


def test_what_is_kept_does_not_keep_the_ring_that_was_left(daemon, node):
    daemon.slots = 80
    others = mapped()  # of earlier tests, perhaps
    loader = node.loader("/data/80", batch_size=4, inflight=4, timeout=60)
    (first,) = mapped() - others
    move_at(daemon, 24, 28, 32, slots=200)
    it = iter(loader)
    kept, _ = next(it)
    rest = [values(images, 0) for images, _ in zip((images for images, _ in it), range(6))]
    assert rest == [expected(0, range(4 * k, 4 * k + 4), 80) for k in range(1, 7)]
    list(map(lambda pair: None, it))
    gc.collect()
    assert values(kept, 0) == expected(0, range(4), 80)
    assert first not in mapped() and len(mapped() - others) == 1


def test_a_move_beside_a_request(daemon, node):
    """RING and batches come between a request and its reply: order and ring stay right."""
    loader = node.loader("/data/80", batch_size=4, inflight=4, timeout=60)
    move_at(daemon, 4, 8, 12, slots=200)
    it = iter(loader)
    daemon.settle(lambda: daemon.leased() == 4)
    assert len(loader.classes) == 4
    assert [values(next(it)[0], 0) for _ in range(10)] == \
        [expected(0, range(4 * k, 4 * k + 4), 80) for k in range(10)]


WRONG = {
    "bytes 2^63": {"bytes": 2**63}, "more bytes": {"bytes": 1 << 30},
    "fewer bytes": {"bytes": 4096}, "another ring": {"ring": 12345},
    "a transport of the future": {"transport": "telepathy"},
    "no path": {"transport": "path"}, "no ring": {"ring": None},
}


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_rings(daemon, node, wrong):
    """FAULTS 48: the reader raises, and neither mapping nor descriptor is leaked."""
    daemon.hooks["say_ring"] = lambda peer, fields: peer.raw(
        frame("ring", **{**fields, **WRONG[wrong]}), [peer.ring.fd]) or b""
    gc.collect()
    before = descriptors(), len(mapped())
    for _ in range(6):
        move_at(daemon, 8)
        with pytest.raises(stoker.ProtocolError):
            list(map(lambda pair: None, node.loader("/data/80", batch_size=4, timeout=60)))
    gc.collect()
    daemon.settle(lambda: descriptors() < before[0] + 6 and len(mapped()) < before[1] + 6,
                  "descriptors")


@pytest.mark.parametrize("how", [{"dtype": "uint8"}, {"seal": False},
                                 {"corrupt": lambda header: header[:40] + b"x" + header[41:]},
                                 {"corrupt": lambda header: header[:8] + b"\2" + header[9:]}])
def test_a_ring_of_other_samples(daemon, node, how):
    move_at(daemon, 8, **how)
    with pytest.raises(stoker.ProtocolError):
        list(map(lambda pair: None, node.loader("/data/80", batch_size=4, timeout=60)))


def test_no_descriptor_or_several(daemon, node):
    for fds in ((), (0, 1)):
        daemon.hooks["say_ring"] = lambda peer, fields: peer.raw(
            frame("ring", **fields), fds) or b""
        move_at(daemon, 8)
        with pytest.raises(stoker.ProtocolError):
            list(map(lambda pair: None, node.loader("/data/80", batch_size=4, timeout=60)))


def test_a_live_start(daemon, node):
    """ATTACHED says where it is; it resumes from there as from any other place."""
    daemon.live = 3, 8
    loader = node.loader("/data/20", batch_size=2, start="live", rank=1, world_size=2)
    assert daemon.last("attach")["start"] == "live"
    assert (loader.epoch, loader.position) == (3, 8)
    assert loader.state_dict()["position"] == 8
    assert [values(images, 3) for images, _ in loader] == \
        [expected(3, positions) for positions in ((10, 11), (14, 15), (18, 19))]
    assert loader.epoch == 4
    loader.set_epoch(0)
    next(iter(loader))
    assert "start" not in daemon.last("attach") and daemon.count("attach") == 2


def test_a_live_start_that_cannot_be(daemon, node):
    for wrong in ({"position": 20}, {"position": 2**64 - 1}, {"epoch": 2**32}):
        daemon.hooks["say_attached"] = lambda peer, fields: fields.update(wrong)
        with pytest.raises(stoker.ProtocolError):
            node.loader("/data/20", batch_size=2, start="live")


def test_pace_and_priority_are_said(daemon, node):
    node.loader("/data/20", batch_size=4)
    assert not {"pace", "start", "priority"} & set(daemon.last("attach"))
    node.loader("/data/20", batch_size=4, pace="free", priority=100)
    assert (daemon.last("attach")["pace"], daemon.last("attach")["priority"]) == ("free", 100)
    for wrong in ({"priority": 0}, {"priority": 101}, {"start": "here"}):
        with pytest.raises(ValueError):
            node.loader("/data/20", batch_size=4, **wrong)
