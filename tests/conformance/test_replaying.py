# SPDX-License-Identifier: MIT
"""Batches again, beside a stream that goes on; and where a reader's time goes."""

import pytest

BUCKETS = {"transforms": [{"name": "Buckets", "sizes": [[16, 16], [16, 24]]}], "batch_size": 6}
STREAMS = {
    "one epoch": {},
    "two epochs": {"epochs": 2, "batch_size": 16, "dtype": "uint8", "layout": "NHWC"},
    "drop": {"last_batch": "drop", "epochs": 2},
    "wrap": {"last_batch": "wrap", "epochs": 3},
    "a rank": {"world": 3, "rank": 2, "batch_size": 4, "job": "training"},
    "a rank that pads": {"last_batch": "pad", "world": 3, "rank": 2},
    "a ring that wraps round": {"prefetch": 2, "inflight": 2, "epochs": 4},
    "a later epoch": {"epoch": 4, "position": 21},
    "three views": {"views": 3, "batch_size": 4},
    "drawn by weights": {"sampler": {"name": "weighted", "weights_by_class": [1, 2, 3, 4, 5, 6.5],
                                     "num_samples": 40}},
    "buckets": BUCKETS,
    "buckets of a rank": {**BUCKETS, "last_batch": "pad", "world": 2, "rank": 1},
}


def places(batches):
    return [[int(batch["epoch"]), int(batch["position"])] for batch in batches]


@pytest.mark.parametrize("changed", STREAMS.values(), ids=STREAMS)
def test_replay(client, daemon, stream, truth, changed):
    """What has come, what comes next, and the last one; kept until the stream is at its end."""
    client.needs("replay")
    attach = stream(**changed)
    batches = truth(attach)[2]
    chosen = [batches[0], batches[1], batches[len(batches) // 2], batches[-1], batches[0]]
    run = client.run(daemon.socket, attach, replay=places(chosen))
    assert [{key: batch[key] for key in chosen[0]} for batch in run.said("replayed")] == chosen
    assert run.batches == batches


def test_places_without_a_batch(client, daemon, stream, truth):
    client.needs("replay")
    attach = stream(world=2, rank=1)
    run = client.run(daemon.socket, attach, replay=[[0, 3], [0, 10 ** 9], [2 ** 32, 7], [0, 63]])
    assert [said["name"] for said in run.said("refused")] == ["option"] * 4
    assert run.batches == truth(attach)[2]


def test_stats(client, daemon, stream):
    client.needs("stats")
    run = client.run(daemon.socket, stream(), hold=1, stats=True)
    stats, = run.said("stats")
    assert stats["epoch"] == "0" and int(stats["leased"]) >= 0 and stats["state"], stats
    assert int(stats["delivered"]) >= 7 and float(stats["age_s"]) >= 0
    shares = [float(share) for share in stats["shares"].split(",")]
    assert len(shares) == 4 and all(0 <= share <= 1 for share in shares)
