# SPDX-License-Identifier: MIT
"""A run that stops anywhere and goes on with other ranks, batches, rings and workers: the sequence
of samples stays what it is. STOKER_SEED chooses other cases.
"""

import os
import random

import pytest

from harness import digest_of
from test_law import STREAM, in_turn

SAMPLES = 24
CASES, PARTS = 520, 8
SEED = int(os.environ.get("STOKER_SEED", "1"))


def attach_ranks(daemon, photos, world, batch_size, prefetch, **place):
    peers = [daemon.connect() for _ in range(world)]
    for rank, peer in enumerate(peers):
        answer = peer.attach(photos, **STREAM, subset_stop=SAMPLES, epochs=1, rank=rank,
                             world=world, batch_size=batch_size, prefetch=prefetch, **place)
        assert answer.name == "attached", answer
    return peers


def begin(peers, steps):
    """That many batches of each rank: their samples, and the token that all of them were told."""
    out, tokens = {}, {(0, 0)}
    for _ in range(steps):
        tokens = set()
        for peer in peers:
            batch = peer.expect("batch")
            arrays = peer.ring.read(batch.fields["runs"])
            for i in range(batch.fields["count"]):
                out[0, batch.fields["position"] + i] = digest_of(
                    {name: array[i] for name, array in arrays.items()})
            tokens.add((batch.fields["next_epoch"], batch.fields["next_position"]))
            peer.release(batch)
    (token,) = tokens
    return out, token


def go_on(daemon, photos, token, shape):
    if token[0] > 0:
        return {}
    peers = attach_ranks(daemon, photos, *shape, position=token[1])
    parts = in_turn(peers)
    for peer in peers:
        peer.close()
    out = {key: value for part in parts for key, value in part.items()}
    assert len(out) == sum(map(len, parts)), "two ranks got one position"
    return out


@pytest.mark.parametrize("part", range(PARTS))
def test_stop_anywhere_and_go_on_otherwise(daemon, photos, part):
    """FAULTS 89: ranks before and after, batch sizes, ring sizes, place, workers."""
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, subset_stop=SAMPLES, epochs=1)
        reference = peer.digests()
    assert len(reference) == SAMPLES
    draw = random.Random(SEED * 1000 + part)
    for number in range(CASES // PARTS):
        if number % 10 == 0:
            assert daemon.set("workers", draw.randint(1, 4)).name == "ok"
        before, after = [(draw.randint(1, 4), draw.randint(1, 6), draw.randint(1, 4))
                         for _ in range(2)]
        steps = draw.randint(0, SAMPLES // (before[0] * before[1]))
        peers = attach_ranks(daemon, photos, *before)
        out, token = begin(peers, steps)
        for peer in peers:
            peer.close()
        rest = go_on(daemon, photos, token, after)
        case = f"STOKER_SEED={SEED} part {part} case {number}: {before}, {steps}, {after}"
        assert not out.keys() & rest.keys(), case
        assert {**out, **rest} == reference, case
    daemon.settle()
