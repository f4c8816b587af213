# SPDX-License-Identifier: MIT
"""Rings of ranks whose peers are elsewhere: memory for the slots of those that are here, and more
when others come, before they are told of it (docs/ring.md).
"""

import contextlib
import os
import pathlib

import pytest

from harness import Daemon
from readers import Reader, counter, finish_together
from test_law import digests

# 786 KB a sample: rings of more than 16 MB, where it matters.
BIG = {"transforms": [{"name": "Resize", "size": [256, 256]}, {"name": "ToTensor"}],
       "dtype": "float32", "order_seed": 7, "augment_seed": 9}
SAMPLE = 256 * 256 * 3 * 4
WISH = {**BIG, "batch_size": 2, "prefetch": 5, "inflight": 2, "accept_moves": True}
EPOCHS = 2


def allocated(daemon):
    """Bytes of the rings by descriptor that are there, as the kernel counts them."""
    blocks = {}
    for entry in pathlib.Path("/proc", str(daemon.process.pid), "fd").iterdir():
        with contextlib.suppress(OSError):
            if "memfd:stoker-ring" in os.readlink(entry):
                state = os.stat(entry)
                blocks[state.st_ino] = state.st_blocks
    return sum(blocks.values()) * 512


@pytest.fixture(name="rank")
def fixture_rank(daemon, photos):
    """A function that attaches one; all leave at the end."""
    with contextlib.ExitStack() as stack:
        def rank(number, world, **fields):
            made = Reader(daemon, photos, **{**WISH, "epochs": EPOCHS, "rank": number,
                                             "world": world, **fields})
            stack.callback(made.peer.close)
            return made
        yield rank
    daemon.settle()


@pytest.fixture(scope="module", name="reference")
def fixture_reference(photos, module_daemon):
    return digests(module_daemon, photos, **{**BIG, "epochs": EPOCHS, "batch_size": 6})


@pytest.fixture(scope="module", name="module_daemon")
def fixture_module_daemon():
    daemon = Daemon(workers=1, fetchers=1).spawn()
    try:
        yield daemon
        daemon.terminate()
    finally:
        daemon.remove()


def select_rank(reference, number, world, size=2):
    return {key: value for key, value in reference.items() if key[1] // size % world == number}


@pytest.mark.parametrize("transport", ["fd", "path"])
def test_one_of_many_needs_what_it_needs_alone(daemon, rank, reference, transport):
    how = {"accept_fd": transport == "fd", "accept_path": transport == "path"}
    alone = rank(0, 1, epochs=1, **how)
    whole = counter(daemon, "ring_bytes")
    alone.peer.close()
    daemon.settle()
    one = rank(3, 64, **how)
    assert one.peer.ring.slots == 5 * 2 * 64
    assert whole <= counter(daemon, "ring_bytes") <= 1.1 * whole
    if transport == "fd":
        assert allocated(daemon) <= 1.1 * whole
    assert one.finish() == select_rank(reference, 3, 64)
    if transport == "fd":
        assert allocated(daemon) <= 1.1 * whole, "slots of others were touched"


def test_others_join_it(daemon, rank, reference):
    """One ring, which grows with each; in any order, each before it is told."""
    ranks, bytes_before = {}, 0
    for number in (5, 0, 7, 1):
        ranks[number] = rank(number, 8, accept_moves=False)  # nor a ring of its own when late
        now = counter(daemon, "ring_bytes")
        assert now - bytes_before >= 5 * 2 * SAMPLE
        bytes_before = now
    assert bytes_before <= 5 * 8 * SAMPLE * 1.1
    assert counter(daemon, "rings") == 1
    finish_together(ranks.values())
    for number, one in ranks.items():
        assert one.got == select_rank(reference, number, 8)
    assert allocated(daemon) <= bytes_before


def test_a_reader_of_another_batch_size_needs_all_slots(daemon, rank, reference):
    one = rank(2, 16)
    other = rank(0, 1, batch_size=6)
    assert other.rings == one.rings
    assert counter(daemon, "ring_bytes") > 5 * 32 * SAMPLE
    third = rank(9, 16)
    assert third.rings == one.rings
    assert other.finish() == reference
    assert one.finish() == select_rank(reference, 2, 16)
    assert third.finish() == select_rank(reference, 9, 16)


def test_no_room_for_another(spawn, photos, reference):
    """Refused with the numbers; who is there goes on."""
    daemon = spawn(ring_memory="20M")  # two of a band of 7.9 MB
    ranks = [Reader(daemon, photos, **{**WISH, "epochs": EPOCHS, "rank": number, "world": 16})
             for number in range(2)]
    with daemon.connect() as peer:
        answer = peer.attach(photos, **{**WISH, "rank": 2, "world": 16})
        assert answer.name == "error" and answer.fields["name"] == "memory", answer
    for number, one in enumerate(ranks):
        assert one.finish() == select_rank(reference, number, 16)
        one.peer.close()
    daemon.settle()


def test_they_fork_with_the_memory_that_they_need(daemon, rank, reference):
    """Past a slow one, into a ring with bands for both ranks of the job."""
    slow = rank(4, 16)
    slow.take()
    ranks = [rank(number, 16, job="run") for number in (0, 1)]
    assert ranks[0].rings == ranks[1].rings == slow.rings
    for _ in range(EPOCHS * 2):
        for one in ranks:
            if one.take():
                one.release()
    finish_together(ranks)
    for number, one in enumerate(ranks):
        assert one.got == select_rank(reference, number, 16)
    assert slow.finish() == select_rank(reference, 4, 16)


def test_a_place_between_batches(daemon, rank, reference):
    """Entered there, its batches are not on the ranks' bands: it has all slots."""
    one = rank(1, 8, position=7, epochs=1)
    assert counter(daemon, "ring_bytes") > 5 * 16 * SAMPLE
    got = one.finish()
    assert got and all(reference[key] == value for key, value in got.items())
