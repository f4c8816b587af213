# SPDX-License-Identifier: MIT
"""A sweep: streams of the same samples in the same order with other transforms or draws. Each
picture is decoded once for all that are near it, and nobody can tell from the bytes.
"""

import itertools

import pytest

from harness import wait_for
from test_law import N, STREAM, TRAIN, digests, in_turn
from test_storage import epoch as outcome, fixture_folder, files  # noqa: F401 (a fixture)

# Transforms that need other parts of a picture, and give other shapes and types.
PIPELINES = [
    {"transforms": TRAIN},
    {"transforms": [{"name": "Resize", "size": 40}, {"name": "CenterCrop", "size": 24}],
     "dtype": "uint8", "layout": "NHWC"},
    {"transforms": [{"name": "RandomCrop", "size": 48}, {"name": "RandomVerticalFlip"}],
     "dtype": "float16"},
    {"transforms": [{"name": "CenterCrop", "size": 20}], "dtype": "uint8"},
]


def attach_all(daemon, folder, members):
    """A peer for each, all attached before anything but the first orders is made."""
    workers = daemon.status()["workers"]
    assert daemon.set("workers", 0).name == "ok"
    peers = [daemon.connect() for _ in members]
    for peer, fields in zip(peers, members):
        answer = peer.attach(folder, **{**STREAM, "epochs": 2, "prefetch": 8, **fields})
        assert answer.name == "attached", answer
    assert daemon.set("workers", workers).name == "ok"
    return peers


def close(peers):
    for peer in peers:
        peer.close()


def alone(daemon, folder, members):
    """What each member gets when nobody else is there."""
    return [digests(daemon, folder, **fields) for fields in members]


def counted(daemon, before):
    """What was read, decoded and shared since `before`."""
    now = daemon.status()
    return [now[f"{name}_total"] - before[f"{name}_total"]
            for name in ("samples_read", "samples_decoded", "decodes_shared")]


def test_one_decode_for_a_sweep_of_draws(daemon, photos):
    """Four augment seeds: the bytes of each alone, one decode for all but the first orders."""
    members = [{"augment_seed": seed} for seed in range(4)]
    reference = alone(daemon, photos, members)
    assert len({part[1, 7] for part in reference}) == 4, "the draws differ"
    before = daemon.status()
    peers = attach_all(daemon, photos, members)
    assert in_turn(peers) == reference
    close(peers)
    read, decoded, shared = counted(daemon, before)
    assert read == decoded and decoded + shared == 4 * 2 * N
    assert decoded <= 2 * 2 * N, "alone it would be 8, all the time together 2"


def test_other_pipelines_sizes_and_batches(daemon, photos):
    members = [{**fields, "batch_size": size, "augment_seed": seed}
               for fields, size, seed in zip(PIPELINES, (4, 3, 8, 1), (9, 9, 5, 6))]
    reference = alone(daemon, photos, members)
    before = daemon.status()
    peers = attach_all(daemon, photos, members)
    assert in_turn(peers) == reference
    close(peers)
    assert counted(daemon, before)[2] > 0


def test_more_members_than_a_job_takes(daemon, photos):
    members = [{"augment_seed": seed} for seed in range(20)]
    reference = alone(daemon, photos, members)
    before = daemon.status()
    peers = attach_all(daemon, photos, members)
    assert in_turn(peers) == reference
    close(peers)
    read, decoded, shared = counted(daemon, before)
    assert read == decoded and decoded + shared == 20 * 2 * N and shared > 0


@pytest.mark.parametrize("other", [{"order_seed": 8}, {"shuffle": False}, {"subset_start": 1},
                                   {"exif_orientation": True}])
def test_streams_that_differ_share_no_decodes(daemon, photos, other):
    """Another order, another part of the dataset, pictures turned: nothing is shared."""
    members = [{}, {"augment_seed": 4, **other}]
    reference = alone(daemon, photos, members)
    peers = attach_all(daemon, photos, members)
    assert in_turn(peers) == reference
    close(peers)
    assert daemon.status()["decodes_shared_total"] == 0


def test_ranks_share_with_ranks(daemon, photos):
    """A rank's order serves the ranks of the other run that have this position."""
    members = [{"augment_seed": seed, "rank": rank, "world": 2}
               for seed, rank in itertools.product((1, 2), (0, 1))]
    reference = [digests(daemon, photos, augment_seed=seed) for seed in (1, 2)]
    before = daemon.status()
    peers = attach_all(daemon, photos, members)
    parts = in_turn(peers)
    close(peers)
    assert [{**parts[0], **parts[1]}, {**parts[2], **parts[3]}] == reference
    read, decoded, shared = counted(daemon, before)
    assert decoded + shared == 2 * 2 * N and shared > 0


def test_far_apart_share_nothing(daemon, photos):
    """A run in another epoch is nobody's kin at this time, and nobody waits for it."""
    members = [{"augment_seed": 1}, {"augment_seed": 2, "epoch": 5, "position": 30}]
    reference = alone(daemon, photos, members)
    before = daemon.status()
    peers = attach_all(daemon, photos, members)
    assert in_turn(peers) == reference
    close(peers)
    assert counted(daemon, before)[2] == 0


def test_a_stream_that_stands_still_holds_no_other(daemon, photos):
    """One of the sweep takes nothing: the other goes through its epochs all the same."""
    reference = digests(daemon, photos, augment_seed=1)
    still, runs = attach_all(daemon, photos, [{"augment_seed": 2, "inflight": 0},
                                              {"augment_seed": 1}])
    assert runs.digests() == reference
    close([still, runs])


def test_members_leave_while_others_go_on(daemon, photos):
    """Killed members take their part out of what is queued and nothing else."""
    reference = digests(daemon, photos, augment_seed=0)
    for _ in range(5):
        workers = daemon.status()["workers"]
        peers = attach_all(daemon, photos, [{"augment_seed": seed} for seed in range(4)])
        assert daemon.set("workers", 0).name == "ok"
        peers[0].samples()
        for peer in peers[1:]:
            peer.close()
        wait_for(lambda: daemon.status()["readers"] == 1, "they are gone")
        assert daemon.set("workers", workers).name == "ok"
        assert peers[0].digests() == reference
        peers[0].close()
        daemon.settle()


def test_what_a_leaving_rank_ordered_is_not_made(daemon, photos):
    """Queued work for nobody is cancelled, in a ring that goes on; who comes back gets it."""
    reference = digests(daemon, photos)
    daemon.settle()
    workers, before = daemon.status()["workers"], daemon.status()
    assert daemon.set("workers", 0).name == "ok"
    rank = {**STREAM, "world": 2, "epochs": 2, "batch_size": 2, "prefetch": 6}
    with daemon.connect() as stays, daemon.connect() as leaves:
        assert stays.attach(photos, **rank, rank=0).name == "attached"
        daemon.set("workers", workers)
        stays_first = stays.expect("batch")  # and more, until its share of the ring is made
        wait_for(lambda: daemon.status()["queued"] == 0, "the ring is full for one")
        assert daemon.set("workers", 0).name == "ok"
        assert leaves.attach(photos, **rank, rank=1).name == "attached"
        assert leaves.attached["ring"] == stays.attached["ring"]
        queued = wait_for(lambda: daemon.status()["queued"], "it ordered some")
        assert leaves.request("detach").name == "ok"
        now = daemon.status()
        assert now["queued"] == 0
        assert now["samples_cancelled_total"] - before["samples_cancelled_total"] == queued
        assert daemon.set("workers", workers).name == "ok"
        assert leaves.attach(photos, **rank, rank=1).name == "attached"
        stays.release(stays_first)
        parts = in_turn([stays, leaves])
    assert {**parts[0], **parts[1]}.items() <= reference.items()
    assert len(parts[0]) + len(parts[1]) == 2 * N - 2
    daemon.settle()


@pytest.mark.parametrize("policy", ["error", "substitute"])
def test_a_bad_sample_is_each_ones_own(daemon, folder, policy):
    """A damaged file is bad for each as it were alone; a picture too small for one transform is
    bad for that one only."""
    paths = files(folder)
    paths[5].write_bytes(b"no image at all")
    paths[13].write_bytes(paths[13].read_bytes()[:300])
    paths[21].write_bytes(b"")
    members = [{"augment_seed": 1, "transforms": [{"name": "RandomCrop", "size": [91, 100]}]},
               {"augment_seed": 2}, {"augment_seed": 3, "bad_samples": policy}]
    members = [{**STREAM, "shuffle": False, "epochs": 1, **fields} for fields in members]

    def look_closer(peer):
        images, bad = outcome(peer)
        return images, [(b["position"], b["sample"], b["name"], b["text"]) for b in bad]

    reference = []
    for fields in members:
        with daemon.connect() as peer:
            assert peer.attach(folder, **fields).name == "attached"
            reference.append(look_closer(peer))
    assert len(reference[0][1]) > 3 and len(reference[1][1]) == 3
    peers = attach_all(daemon, folder, members)
    assert [look_closer(peer) for peer in peers] == reference
    close(peers)
    assert daemon.status()["decodes_shared_total"] > 0
