# SPDX-License-Identifier: MIT
"""Several nodes: daemons that know nothing of each other, a rank on each. One node is lost in the
middle of an epoch, the others go on from the last token that was committed. tests/nodes has the
same with the engines that launch training.
"""
import signal

import pytest

from harness import NEWS, digest_of
from test_law import N, STREAM, digests

NODES, BATCH = 4, 4


def attach(nodes, photos, **place):
    """A rank on each node."""
    peers = [node.connect() for node in nodes]
    for rank, peer in enumerate(peers):
        answer = peer.attach(photos, **STREAM, rank=rank, world=len(nodes), batch_size=BATCH,
                             **place)
        assert answer.name == "attached", answer
    return peers


def step(peers):
    """A batch of each rank: {position: digest} and the token, None where a rank has none."""
    out, tokens = {}, set()
    for peer in peers:
        message = next(each for each in iter(peer.receive, None) if each.name not in NEWS)
        if message.name == "end":
            continue
        assert message.name == "batch", message
        arrays = peer.ring.read(message.fields["runs"])
        for i in range(message.fields["count"]):
            place = message.fields["epoch"], message.fields["position"] + i
            assert place not in out, f"{place} came to two ranks"
            out[place] = digest_of({name: array[i] for name, array in arrays.items()})
        tokens.add((message.fields["next_epoch"], message.fields["next_position"]))
        peer.release(message)
    assert len(tokens) <= 1, f"ranks have different tokens: {tokens}"
    return out, tokens.pop() if tokens else None


@pytest.mark.parametrize("committed, lost", [(0, 1), (1, 0), (2, 3)])
def test_a_node_is_lost_in_mid_epoch(spawn, photos, committed, lost):
    """FAULTS 89: steps that were committed by four and then made by three are the epoch exactly
    once, with the bytes of one node; so are those that were made and not committed."""
    nodes = [spawn(workers=1 + number % 2) for number in range(NODES)]
    whole = digests(nodes[0], photos, epochs=1)
    peers = attach(nodes, photos)
    counted, token = {}, (0, 0)
    for _ in range(committed):
        part, token = step(peers)
        counted.update(part)
    rolled_back, _ = step(peers)
    for peer in peers:
        peer.close()
    nodes.pop(lost).terminate(signal.SIGKILL)

    peers = attach(nodes, photos, epoch=token[0], position=token[1])
    while True:
        part, token = step(peers)
        assert not set(part) & set(counted), "a position was trained on twice"
        counted.update(part)
        if token is None or token[0]:
            break
    for peer in peers:
        peer.close()
    assert len(whole) == N and counted == whole
    assert rolled_back.items() <= whole.items()
