# SPDX-License-Identifier: MIT
"""Readers of one stream at paces of their own: the fast one goes on in another ring, those who
catch up share one again, and nobody gets another byte than it would have alone.
"""

import contextlib
import random
import threading
import time

import pytest

from harness import SLOW, wait_for
from readers import (EPOCHS, WISH, Reader, counter, finish_together,  # noqa: F401 (fixtures)
                     fixture_reader, fixture_reference, forked)
from test_law import N, digests

# -- fork -------------------------------------------------------------------------------------


@pytest.mark.parametrize("pace", ["auto", "free"])
@pytest.mark.parametrize("how", [
    {}, {"accept_fd": False, "accept_path": True}, {"batch_size": 5}, {"batch_size": 7},
    {"last_batch": "pad", "batch_size": 8}, {"last_batch": "drop", "batch_size": 8},
    {"position": 13}], ids=str)
def test_the_fast_one_goes_on(daemon, reader, photos, pace, how):
    """FAULTS 12, 13: beside one that stands still with slots in its hands."""
    alone = digests(daemon, photos, **{**WISH, "epochs": EPOCHS, **how, "accept_moves": False})
    slow = reader(**how)
    slow.take(), slow.take()
    fast = reader(pace=pace, **how)
    assert fast.peer.attached["ring"] == slow.peer.attached["ring"]
    assert fast.finish() == alone
    assert len(fast.rings) == 2 and len(slow.rings) == 1
    assert counter(daemon, "forks_total") == 1
    assert slow.finish() == alone


def test_other_batches(daemon, reader, reference):
    """Batches of another size straddle the old window's end."""
    slow = reader()
    slow.take()
    fast = [reader(batch_size=size, prefetch=0) for size in (4, 5, 11)]
    finish_together(fast)
    assert all(one.got == reference for one in fast)
    assert slow.finish() == reference


def test_nothing_is_made_twice(daemon, reader, reference):
    """What the old window holds is given from there."""
    slow = reader(epochs=1)
    slow.take()
    fast = reader(epochs=1)
    assert fast.finish() == {key: value for key, value in reference.items() if key[0] == 0}
    assert counter(daemon, "samples_decoded_total") == N
    slow.release()


def test_many_fast_ones_share(daemon, reader, reference):
    """One slow reader costs one ring, however many it would have held."""
    slow = reader()
    slow.take()
    fast = [reader() for _ in range(4)]
    for _ in range(5):
        for one in fast:
            one.go(1)
    forked(daemon)
    for _ in range(3):
        for one in fast:
            one.go(1)
    assert len({one.rings[-1] for one in fast}) == 1
    assert counter(daemon, "rings") == 2
    finish_together(fast)
    assert all(one.got == reference for one in fast)
    assert slow.finish() == reference


def test_three_paces(daemon, reader, reference):
    """A fork of a fork: each of three stands still where it is, in a ring of its own."""
    first = reader()
    first.take()
    second = reader()
    second.go(12)
    second.take()
    third = reader(position=0)
    third_ring = third.peer.attached["ring"]
    assert third_ring == first.peer.attached["ring"]
    assert third.finish() == reference
    assert counter(daemon, "forks_total") >= 2
    assert second.finish() == reference
    assert first.finish() == reference


@pytest.mark.parametrize("who", ["fast", "slow"])
def test_together(daemon, reader, reference, who):
    """pace=together holds the others back, and is held."""
    slow = reader(**({"pace": "together"} if who == "slow" else {}))
    slow.take()
    fast = reader(**({"pace": "together"} if who == "fast" else {}))
    fast.go(6)
    fast.stand_still()
    assert len(fast.got) == 36
    state, = [row for row in daemon.list("readers")
              if row["reader"] == fast.peer.attached["reader"]]
    assert state["state"] == "waiting"
    assert state["waits_for"] == slow.peer.attached["reader"]
    slow.release()
    fast.go(1)
    slow.peer.close()
    assert fast.finish() == reference
    assert counter(daemon, "forks_total") == 0


def test_a_reader_that_cannot_move_waits(daemon, reader, reference):
    slow = reader()
    slow.take()
    fast = reader(accept_moves=False)
    fast.stand_still()
    assert len(fast.got) == 36
    slow.peer.close()
    assert fast.finish() == reference
    assert fast.rings == [fast.peer.attached["ring"]]


def test_no_room_in_the_budget(spawn, photos, reference):
    """Then it waits as one that cannot move, and the log says why, once."""
    daemon = spawn(ring_memory="1M")  # of two rings of 60 samples of 32x32x3 floats one fits
    slow, fast = Reader(daemon, photos, prefetch=10), Reader(daemon, photos, prefetch=10)
    slow.take()
    fast.go(10)
    wait_for(lambda: counter(daemon, "forks_refused_total") >= 2, "refused and tried again")
    fast.stand_still(0.1)
    assert len(fast.got) == 60
    assert daemon.log().count("no memory for another ring") == 1
    slow.peer.close()
    assert fast.finish() == reference
    fast.peer.close()
    daemon.settle()


@pytest.mark.parametrize("pace", ["auto", "free"])
def test_a_stop_while_one_is_held(spawn, photos, pace):
    """FAULTS 27: who cannot go on elsewhere is not looked at for ever; others are answered."""
    daemon = spawn(ring_memory="1M", drain_timeout="600ms")
    slow, fast = Reader(daemon, photos, prefetch=10), Reader(daemon, photos, prefetch=10, pace=pace)
    slow.take()
    fast.go(10)
    wait_for(lambda: counter(daemon, "forks_refused_total") >= 1, "it is held")
    daemon.process.terminate()
    fast.peer.expect("goaway")
    time.sleep(0.3)  # longer than until the next look
    assert slow.peer.request("ping").name == "ok"
    assert daemon.process.wait(20 * SLOW) == 0
    slow.peer.close(), fast.peer.close()


# -- groups -----------------------------------------------------------------------------------


def test_ranks_keep_together(daemon, reader, reference):
    """Ranks of a job hold each other, and leave another's ring as one."""
    slow = reader()
    slow.take()
    ranks = [reader(job="run", rank=rank, world=2, batch_size=3) for rank in range(2)]
    ranks[0].stand_still()
    assert counter(daemon, "forks_total") == 0, "its mate holds it"
    ranks[1].go(6)  # both have had the window
    forked(daemon)
    for _ in range(4):
        for rank in ranks:
            rank.go(1)
    assert ranks[0].rings == ranks[1].rings and len(ranks[0].rings) == 2
    ranks[0].stand_still()  # its mate holds it there as well
    assert len(ranks[0].rings) == 2
    assert counter(daemon, "forks_total") == 1
    done = threading.Thread(target=ranks[0].finish)
    done.start()
    ranks[1].finish()
    done.join()
    assert {**ranks[0].got, **ranks[1].got} == reference
    assert slow.finish() == reference


def test_a_rank_behind_follows(daemon, reader, reference):
    """The one that is ahead forks; its mate has the rest of the old window first."""
    slow = reader()
    slow.take()
    ranks = [reader(job="run", rank=rank, world=2, batch_size=3) for rank in range(2)]
    ranks[1].go(2)
    ranks[0].go(6)
    slow_ring = slow.peer.attached["ring"]
    forked(daemon)
    ranks[0].go(1)
    assert ranks[0].rings[-1] != slow_ring and ranks[1].rings[-1] == slow_ring
    assert counter(daemon, "rings") == 2
    done = threading.Thread(target=ranks[0].finish)
    done.start()
    ranks[1].finish()
    done.join()
    assert ranks[1].rings == ranks[0].rings
    assert {**ranks[0].got, **ranks[1].got} == reference
    assert slow.finish() == reference


# -- merge ------------------------------------------------------------------------------------


def test_a_reader_that_catches_up_shares_the_ring_again(daemon, reader, reference):
    slow = reader()
    slow.take()
    fast = reader()
    fast.go(9)
    fast.take()
    assert counter(daemon, "rings") == 2
    for _ in range(12):  # as far as the other got, and beyond
        slow.release()
        slow.take()
    wait_for(lambda: counter(daemon, "rings") == 1, "one ring is left")
    assert counter(daemon, "merges_total") == 1
    assert slow.rings[-1] == fast.rings[-1]
    slow.release(len(slow.held))
    done = threading.Thread(target=fast.finish)
    done.start()
    assert slow.finish() == reference
    done.join()
    assert fast.got == reference


def test_a_held_batch_outlives_its_ring(daemon, reader, reference):
    """A lease in a ring that nobody reads any more keeps its bytes; then the memory is free."""
    slow = reader(inflight=3)
    slow.take()
    fast = reader()
    fast.go(6)
    fast.take()
    slow.release()
    slow.go(3)
    slow.take()
    for _ in range(5):
        slow.take()
        batch = slow.held.pop(1)
        slow.peer.release(batch[1])
    assert counter(daemon, "merges_total") == 1 and counter(daemon, "rings") == 2
    slow.release(len(slow.held))
    wait_for(lambda: counter(daemon, "rings") == 1, "the old ring is gone")
    done = threading.Thread(target=fast.finish)
    done.start()
    assert slow.finish() == reference
    done.join()
    assert fast.got == reference


def test_a_reader_that_has_ended_holds_nothing(daemon, reader, reference):
    """It may stay attached: its ring's memory is free, and nobody waits for it."""
    ended = reader(epochs=1)
    assert len(ended.finish()) == N
    wait_for(lambda: counter(daemon, "rings") == 0, "its ring is gone")
    row, = daemon.list("readers")
    assert row["state"] == "ended" and row["ring"] == 0
    assert reader().finish() == reference
    assert ended.peer.request("list", what="classes").name == "listing"
    assert ended.peer.request("detach").name == "ok"


@pytest.mark.parametrize("field", ["start", "pace"])
def test_words_that_are_none(daemon, photos, field):
    with daemon.connect() as peer:
        answer = peer.attach(photos, **WISH, **{field: "slow"})
        assert answer.name == "error" and answer.fields["name"] == "argument"
        assert field in answer.fields["text"]


# -- death, and what comes at a bad time ------------------------------------------------------


def test_the_slow_one_dies(daemon, reader, reference):
    """FAULTS 10, 12: its ring goes with it; who went on does not notice."""
    slow = reader()
    slow.take()
    fast = reader()
    fast.go(9)
    slow.peer.close()
    wait_for(lambda: counter(daemon, "rings") == 1, "its ring is gone", 1)
    assert fast.finish() == reference


def test_never_released(daemon, reader, photos, reference):
    """FAULTS 14: only the ring of who never releases is full; memory stays as it is."""
    hoarder = reader()
    hoarder.take(), hoarder.take()
    for _ in range(3):
        assert digests(daemon, photos, **{**WISH, "epochs": EPOCHS, "accept_moves": False,
                                          "order_seed": 8})
    fast = reader()
    fast.go(9)
    bytes_before = counter(daemon, "ring_bytes")
    assert fast.finish() == reference
    assert counter(daemon, "ring_bytes") <= bytes_before
    assert hoarder.finish() == reference


def test_leases_of_rings_left(daemon, reader):
    """FAULTS 16: leases are the connection's: no other's can be given back, none twice."""
    slow = reader()
    slow.take()
    fast = reader(inflight=3)
    fast.go(3)
    fast.take()
    kept = fast.held.pop()
    for _ in range(6):
        fast.take()
        fast.release(len(fast.held))
    assert len(fast.rings) == 2
    for lease in (10 ** 6, slow.held[0][1].fields["lease"] + 10 ** 9):
        fast.peer.send("release", lease=lease)
        while (message := fast.peer.receive()).name == "batch":
            fast.held.append((fast.peer.ring, message))
        assert message.name == "error" and message.fields["name"] == "lease"
    for key, digest in fast.digests(kept).items():
        assert fast.got[key] == digest
    fast.peer.release(kept[1])
    fast.peer.release(kept[1])
    while (message := fast.peer.receive()).name == "batch":
        fast.held.append((fast.peer.ring, message))
    assert message.fields["name"] == "lease"
    assert slow.got and slow.digests(slow.held[0]) == slow.got


def test_a_client_that_does_not_read(daemon, reader, reference):
    """FAULTS 15: a reader that is moved again and again without reading a byte."""
    slow = reader()
    slow.take()
    blind = reader()
    for lease in range(1, 40):  # it guesses the leases that it would have read
        blind.peer.send("release", lease=lease)
    fast = reader()
    assert fast.finish() == reference
    blind.peer.close()
    assert slow.finish() == reference


@pytest.mark.parametrize("how", ["close", "detach", "stop"])
def test_gone_in_the_middle(spawn, photos, how):
    """FAULTS 7: while its new ring is being made, or just after: nothing is left of it."""
    daemon = spawn(drain_timeout="1s")
    chance = random.Random(4)
    for turn in range(1 if how == "stop" else 25):
        slow = Reader(daemon, photos, prefetch=200)  # some megabytes: they take their time
        slow.take()
        fast = Reader(daemon, photos, pace="free", prefetch=200, epochs=0)
        fast.peer.send("credit", inflight=1000)
        for _ in range(200):
            fast.take()
            fast.release()
        if chance.random() < 0.7:
            wait_for(lambda: counter(daemon, "rings") == 2, "it is being made")
        if how == "stop":
            daemon.process.terminate()
            break
        if how == "detach":
            assert fast.peer.request("detach").name == "ok"
            assert fast.peer.request("ping").name == "ok"
            (slow if turn % 2 else fast).peer.close()
        fast.peer.close()
        slow.peer.close()
    if how == "stop":
        wait_for(lambda: daemon.process.poll() is not None, "it is gone")
        daemon.terminate()
        fast.peer.close()
        slow.peer.close()
    else:
        daemon.settle()


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_everything(daemon, photos, reference, seed):
    """Readers of all kinds that come, dawdle, hold, run and die as a die says: what each was
    given is the reference's, and at the end nothing is left."""
    chance = random.Random(seed)
    readers = []
    for _ in range(400):
        if len(readers) < 2 or (len(readers) < 6 and chance.random() < 0.1):
            readers.append(Reader(daemon, photos, batch_size=chance.choice([3, 4, 6, 7]),
                                  prefetch=chance.choice([0, 4, 8]), inflight=3,
                                  pace=chance.choice(["auto", "free"]),
                                  position=chance.choice([0, 0, 12, 31])))
        one = chance.choice(readers)
        what = chance.random()
        if what < 0.04:
            one.peer.close()
            readers.remove(one)
            continue
        try:
            for _ in range(chance.choice([1, 1, 5, 20])):
                if len(one.held) == 3 or one.held and chance.random() < 0.7:
                    one.release()
                if one.take(0.2) is None:
                    one.peer.close()
                    readers.remove(one)
                    break
        except TimeoutError:
            pass  # it is held; others will be chosen
        assert one.got.items() <= reference.items()
    for one in readers:
        one.peer.close()
    daemon.settle()


# -- a ring that begins small -----------------------------------------------------------------

# 16 pictures of 1.2 MB in a batch: a ring that is large enough to begin with two batches.
LARGE = {"transforms": [{"name": "Resize", "size": [320, 320]}], "dtype": "float32",
         "batch_size": 16, "prefetch": 0, "inflight": 3, "epochs": 2}
SMALL = 2 * 16 + 8  # a half more, for the time of a hand-over


@pytest.fixture(name="daemon_of_four")
def fixture_daemon_of_four(spawn):
    """So few threads that one batch keeps them all busy: how large a ring is depends on them."""
    return spawn(workers=2, fetchers=2)


@pytest.fixture(name="large")
def fixture_large(daemon_of_four, photos):
    return digests(daemon_of_four, photos, **{**WISH, **LARGE, "accept_moves": False})


@pytest.fixture(name="large_reader")
def fixture_large_reader(daemon_of_four, photos):
    with contextlib.ExitStack() as stack:
        def reader(**fields):
            made = Reader(daemon_of_four, photos, **{**LARGE, **fields})
            stack.callback(made.peer.close)
            return made
        yield reader
    daemon_of_four.settle()


def test_a_trainer_alone_has_a_small_ring(large, large_reader):
    one = large_reader()
    assert one.peer.ring.slots == SMALL
    assert one.finish() == large


def test_a_trainer_that_holds_more_gets_a_larger_ring(large, large_reader):
    """It may hold as many batches as are in flight, and waits for the third."""
    one = large_reader()
    for _ in range(3):
        one.take()
    assert len(one.rings) == 2 and one.peer.ring.slots > SMALL
    assert one.finish() == large


def test_readers_that_share_get_a_larger_ring(daemon_of_four, large, large_reader):
    """With one batch in flight neither holds more than there is, however long it takes."""
    one, other = large_reader(inflight=1), large_reader(inflight=1)
    assert one.rings == other.rings
    wait_for(lambda: counter(daemon_of_four, "rings") == 2, "a larger ring")
    finish_together([one, other])
    assert one.got == other.got == large
    assert one.peer.ring.slots > SMALL and other.peer.ring.slots > SMALL


def test_a_reader_that_cannot_move_has_a_large_ring_at_once(large, large_reader):
    for fields in ({"accept_moves": False}, {"pace": "together"}):
        one = large_reader(**fields)
        assert one.peer.ring.slots > SMALL
        assert one.finish() == large and len(one.rings) == 1
