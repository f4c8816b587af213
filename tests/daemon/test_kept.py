# SPDX-License-Identifier: MIT
"""A reader whose client keeps a batch while it takes others: it goes on past that in another ring,
or is told which batch is in its way. What is kept stays as it was."""

import time

import pytest

from harness import Daemon, wait_for
from readers import (EPOCHS, Reader, counter, finish_together,  # noqa: F401 (fixtures)
                     fixture_reader, fixture_reference)
from test_law import N


def pass_by(one):
    """Take a batch and release it, whatever is held; None at the END."""
    message = one.take()
    if message:
        one.peer.release(one.held.pop()[1])
    return message


def keep_first(one):
    """... while all others pass by."""
    one.take()
    while pass_by(one):
        pass


def stalled(peer):
    fields = peer.expect("stalled").fields
    return fields["lease"], fields["why"]


def nothing_comes(peer, seconds=0.5):
    with pytest.raises(TimeoutError):
        peer.receive(seconds)


@pytest.mark.parametrize("how", [
    {}, {"prefetch": 0}, {"batch_size": 7}, {"batch_size": 6, "last_batch": "wrap"},
    {"accept_fd": False, "accept_path": True}, {"pace": "free"}, {"pace": "together"}], ids=str)
def test_it_goes_on(daemon, reader, reference, how):
    """FAULTS 14, of a part of them."""
    one = reader(**how)
    keep_first(one)
    assert one.got == reference
    assert len(one.rings) == 2  # no ring more than it takes
    assert one.peer.request("detach").name == "ok"
    wait_for(lambda: counter(daemon, "rings") == 1, "the one of the batch is kept")
    one.release()  # it is as it was
    wait_for(lambda: counter(daemon, "ring_bytes") == 0, "the ring goes with its batch")


def test_two_are_kept_in_two_rings(daemon, reader, reference):
    """Each takes its ring along."""
    one = reader(inflight=3)
    one.take()
    while len(one.rings) < 2:
        pass_by(one)
    keep_first(one)
    assert one.got == reference and len(one.rings) == 3
    wait_for(lambda: counter(daemon, "rings") == 2, "the third one has ended")
    one.release(2)


def test_a_small_ring_becomes_a_larger_one(reader, reference):
    """Where all of the ring may be in flight, what is held says nothing yet: it takes 2 s."""
    one = reader(prefetch=2)
    began, slots = time.monotonic(), one.peer.ring.slots
    keep_first(one)
    assert one.got == reference and time.monotonic() - began > 1.9
    assert (slots, one.peer.ring.slots) == (12, 18)
    one.release()


def test_more_in_flight_than_the_ring_has(reader, reference):
    """CREDIT has raised it since the ring was made."""
    one = reader(prefetch=0)
    slots = one.peer.ring.slots
    one.peer.send("credit", inflight=8)
    keep_first(one)
    assert one.got == reference and one.peer.ring.slots >= 9 * 6 > slots
    one.release()


def test_a_trainer_that_is_at_work_stays(daemon, reader, reference):
    """It has batches that it has not received, so it may well release the first one before it waits
    for another."""
    one = reader(inflight=4)
    for _ in range(4):
        one.take()
    for _ in range(3):
        one.peer.release(one.held.pop()[1])
    time.sleep(0.3)  # the last two of the window lie in the socket
    assert counter(daemon, "forks_total") == 0
    one.release()
    while pass_by(one):
        pass
    assert one.got == reference and len(one.rings) == 1


def test_a_reader_that_cannot_move_hears_it(daemon, reader, reference):
    """By the number of the batch; once for each that is in the way."""
    one = reader(accept_moves=False, inflight=3)
    first, second = one.take(), one.take()
    for _ in range(4):  # the rest of the window
        pass_by(one)
    for batch, position in (first, 0), (second, 6):
        lease, why = stalled(one.peer)
        assert lease == batch.fields["lease"]
        assert why.startswith(f"the batch at epoch 0, position {position} is still held")
        assert "ring-memory" not in why
        nothing_comes(one.peer)
        state, = daemon.list("readers")
        assert state["state"] == "holding"
        one.release()
        if position == 0:
            pass_by(one)
    while pass_by(one):
        pass
    assert one.got == reference and counter(daemon, "forks_total") == 0


def test_no_room(spawn, photos, reference):
    """Of two rings of 60 samples of 32x32x3 floats one fits."""
    daemon = spawn(ring_memory="1M")
    one = Reader(daemon, photos, prefetch=10)
    first = one.take()
    for _ in range(9):
        pass_by(one)
    lease, why = stalled(one.peer)
    assert lease == first.fields["lease"]
    assert "there is no room for another ring in ring-memory" in why
    nothing_comes(one.peer)
    assert one.finish() == reference
    one.peer.close()
    daemon.settle()


def test_ranks(daemon, reader, reference):
    """They move together past what one of them keeps."""
    ranks = [reader(job="train", world=2, rank=rank, batch_size=3, prefetch=4) for rank in (0, 1)]
    ranks[0].take()
    pass_by(ranks[1])
    while pass_by(ranks[0]) and pass_by(ranks[1]):
        pass
    assert {**ranks[0].got, **ranks[1].got} == reference
    assert ranks[0].rings[1:] == ranks[1].rings[1:] and len(ranks[0].rings) == 2
    ranks[0].release()


def test_a_slow_rank_is_waited_for(daemon, reader, reference):
    """It trains: it takes no other batch before it gives this one back."""
    ranks = [reader(job="train", world=2, rank=rank, batch_size=3, prefetch=4, inflight=1)
             for rank in (0, 1)]
    ranks[0].take()
    ranks[1].stand_still()
    assert counter(daemon, "forks_total") == 0
    ranks[0].release()
    finish_together(ranks)
    assert {**ranks[0].got, **ranks[1].got} == reference


def test_beside_another_reader(daemon, reader, reference):
    """The other one is held by that batch, too, and goes along."""
    one, other = reader(), reader()
    one.take()
    while pass_by(one):
        if len(other.got) < EPOCHS * N:
            other.go(1)
    assert one.got == reference
    assert other.finish() == reference
    one.release()


def test_kept_over_detach(daemon, reader, photos, reference):
    """A lease outlives its reader: the next one of this client goes on past it."""
    one = reader(epochs=1)
    one.take()
    kept = one.held.pop()
    one.peer.leave()
    again = one.peer.attach(photos, **one.wish)
    assert again.name == "attached"
    one.got.clear()
    while pass_by(one):
        pass
    assert one.got == {key: value for key, value in reference.items() if key[0] == 0}
    for key, digest in one.digests(kept).items():
        assert reference[key] == digest
    one.peer.release(kept[1])


def test_a_daemon_that_stops(spawn, photos):
    """Who waits for itself does not hold up the end."""
    daemon = Daemon(drain_timeout="500ms").spawn()
    try:
        one = Reader(daemon, photos, accept_moves=False)
        one.take()
        for _ in range(5):
            pass_by(one)
        stalled(one.peer)
        daemon.terminate()
    finally:
        daemon.remove()
