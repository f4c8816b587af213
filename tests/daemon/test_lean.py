# SPDX-License-Identifier: MIT
"""Rings that begin small for a trainer that is alone (docs/ring.md): enough for one that holds a
batch while it waits for the next, also where that goes on at the ring's begin, and left for a
larger one when others come, when the trainer holds all of it, or when it comes in bursts.
"""

import itertools
import pathlib
import re
import time

import pytest

from harness import WAIT_S, digest_of
from readers import Reader
from test_law import N, digests

# 786 KB a sample, so a ring of five batches of 24 would have 94 MB: it begins with two and a half.
BIG = {"transforms": [{"name": "Resize", "size": [256, 256]}, {"name": "ToTensor"}],
       "dtype": "float32", "order_seed": 7, "augment_seed": 9}
WISH = {**BIG, "batch_size": 24, "prefetch": 0, "inflight": 3}
SLOTS = 60
STEP = 72  # one batch more than two
HELD_S = 2  # so long a trainer holds all of a ring before it gets a larger one
EPOCHS = 2


def wake_ups(daemon):
    """How often the daemon's loop has slept."""
    status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.MULTILINE).group(1))


@pytest.fixture(name="small")
def fixture_small(spawn):
    """A daemon where a small ring has no room to grow."""
    return spawn(ring_memory="64M")


@pytest.mark.parametrize("last_batch", ["short", "drop"])
def test_one_batch_is_held_all_the_time(small, photos, last_batch):
    """The next comes nevertheless, in the next epoch, too, where 12 positions were left out."""
    how = {**WISH, "last_batch": last_batch, "epochs": EPOCHS}
    reader = Reader(small, photos, **how)
    assert reader.peer.ring.slots == SLOTS
    while reader.take():
        if len(reader.held) > 1:
            reader.release()
    assert reader.rings == [reader.peer.attached["ring"]]
    reader.release(len(reader.held))
    reader.peer.close()
    small.settle()
    assert reader.got == digests(small, photos, **{**how, "prefetch": 2, "accept_moves": False})
    assert len(reader.got) == EPOCHS * (N if last_batch == "short" else 48)


def test_a_trainer_that_rests_keeps_a_small_ring(daemon, photos):
    """It does not hold what it has not received. Once it holds all and wants more, it gets more."""
    reader = Reader(daemon, photos, **{**WISH, "epochs": 0})
    assert reader.peer.ring.slots == SLOTS
    time.sleep(HELD_S + 1)  # it begins, and takes nothing
    reader.go(2)
    time.sleep(HELD_S + 1)  # it does something else
    assert daemon.status()["rings"] == 1
    reader.take()
    reader.take()
    assert reader.rings == [reader.peer.attached["ring"]]
    reader.take()
    assert len(reader.rings) == 2 and reader.peer.ring.slots > SLOTS
    reader.peer.close()
    daemon.settle()


def test_while_a_trainer_rests_the_daemon_sleeps(daemon, photos):
    """Its loop looked 20 times a second for a way on, which a trainer that has batches it did not
    receive yet has no need of."""
    reader = Reader(daemon, photos, **{**WISH, "epochs": 0})
    reader.go(2)  # and it rests with the next two, and credit for a third
    time.sleep(HELD_S)
    before = wake_ups(daemon)
    time.sleep(3)
    assert wake_ups(daemon) - before < 30
    reader.peer.close()
    daemon.settle()


class Glance(Reader):
    """It looks at every 32nd row only, so that samples cannot be made as fast as it takes them."""

    @staticmethod
    def digests(batch):
        ring, message = batch
        fields, rows = message.fields, ring.fields["image"]
        slots = [slot for first, count in fields["runs"] for slot in range(first, first + count)]
        return {(fields["epoch"], fields["position"] + i): digest_of({"image": rows[slot, :, ::32]})
                for i, slot in enumerate(slots)}


@pytest.mark.parametrize("batches", [1, 2, 3])
def test_a_reader_that_holds_more_gets_a_larger_ring(daemon, photos, batches):
    """One that keeps one batch while it waits for the next stays; of two, or three, the lean ring
    has no third, or fourth, so it grows. No byte, order or number of samples differs."""
    reader = Reader(daemon, photos, **{**WISH, "epochs": EPOCHS, "inflight": batches + 1})
    begun = daemon.status()["ring_bytes"]
    assert reader.peer.ring.slots == SLOTS
    while reader.take():
        if len(reader.held) > batches:
            reader.release()
    grown = daemon.status()["ring_bytes"]  # while it holds some, so its ring is there
    assert len(reader.rings) == (1 if batches == 1 else 2)
    assert (reader.peer.ring.slots > SLOTS) == (batches > 1)
    assert grown == begun if batches == 1 else grown > begun
    reader.release(len(reader.held))
    reader.peer.close()
    daemon.settle()
    assert reader.got == digests(daemon, photos, **{**WISH, "epochs": EPOCHS, "prefetch": 2})
    assert len(reader.got) == EPOCHS * N


def test_bursts_get_a_larger_ring(daemon, photos):
    """A trainer that takes some batches at once and then computes waits, though workers had slept
    because all slots were full. The first step is one batch; all samples are as they were."""
    reader = Glance(daemon, photos, **{**WISH, "epochs": 0})
    begun = daemon.status()["ring_bytes"]
    deadline = time.monotonic() + 3 * WAIT_S
    while len(reader.rings) == 1 and time.monotonic() < deadline:
        since = time.monotonic()
        reader.go(4)
        time.sleep(min(max(2 * (time.monotonic() - since), 0.05), 0.5))
    assert reader.peer.ring.slots == STEP
    while daemon.status()["rings"] > 1 and time.monotonic() < deadline:
        reader.go(1)  # what was made in the first ring is given back, which goes
    assert daemon.status()["rings"] == 1
    assert daemon.status()["ring_bytes"] > begun
    epochs = 1 + max(epoch for epoch, _ in reader.got)
    assert list(reader.got) == list(itertools.product(range(epochs), range(N)))[:len(reader.got)]
    reader.peer.close()
    daemon.settle()
    other = Glance(daemon, photos, **{**WISH, "prefetch": 2, "epochs": 0})
    while len(other.got) < len(reader.got):
        other.go(1)
    assert other.got == reader.got
    other.peer.close()
    daemon.settle()


def bytes_read(daemon):
    """How much the daemon has read of files, those of /proc included."""
    text = pathlib.Path(f"/proc/{daemon.process.pid}/io").read_text()
    return int(re.search(r"^rchar:\s*(\d+)", text, re.MULTILINE).group(1))


def much_memory_is_free():
    text = pathlib.Path("/proc/meminfo").read_text()
    total, free = (int(re.search(rf"^{name}:\s*(\d+)", text, re.MULTILINE).group(1))
                   for name in ("MemTotal", "MemAvailable"))
    return free > total / 4


@pytest.mark.skipif(not much_memory_is_free(), reason="where little is free, that is looked at")
def test_kept_pictures_at_rest(spawn, photos):
    """How much memory is free is looked at each second while something is read, else seldom."""
    daemon = spawn(cache_memory="64M")
    reader = Reader(daemon, photos, **{**WISH, "epochs": 0})
    reader.go(9)
    assert daemon.status()["cache_pictures"] > 0
    time.sleep(2)
    least = min(read_within(daemon, 3) for _ in range(2))
    assert least < 1000, "files are read all the time"
    reader.go(9)
    reader.peer.close()
    daemon.settle()


def read_within(daemon, seconds):
    before = bytes_read(daemon)
    time.sleep(seconds)
    return bytes_read(daemon) - before


@pytest.mark.parametrize("first", ["drop", "short"])
def test_others_share_it_whatever_they_leave_out(daemon, photos, first):
    """The ring of a lone reader that drops its last samples has no room for them: who wants them
    comes, and both go on in one ring."""
    second = "short" if first == "drop" else "drop"
    one = Reader(daemon, photos, **{**WISH, "last_batch": first, "epochs": 0})
    assert one.peer.ring.slots == SLOTS
    other = Reader(daemon, photos, **{**WISH, "last_batch": second, "epochs": 0})
    place = {one: (0, 0), other: (0, 0)}
    deadline = time.monotonic() + WAIT_S
    while one.rings[-1] != other.rings[-1] and time.monotonic() < deadline:
        behind = min(place, key=place.get)
        fields = behind.take().fields
        place[behind] = (fields["next_epoch"], fields["next_position"])
        behind.release()
    assert one.rings[-1] == other.rings[-1]
    one.peer.close(), other.peer.close()
    daemon.settle()
