# SPDX-License-Identifier: MIT
"""The law: a sample's bytes depend on dataset, pipeline, seeds, epoch and position, and on nothing
else. One digest a sample, compared over workers, transports, world sizes, batch sizes, resumes.
"""

import itertools

import pytest

from harness import Daemon, digest_of

TRAIN = [{"name": "RandomResizedCrop", "size": 32},
         {"name": "RandomHorizontalFlip"},
         {"name": "Normalize", "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]}]
STREAM = {"transforms": TRAIN, "order_seed": 7, "augment_seed": 9}
N = 60  # samples of the folder of photographs


def digests(daemon, photos, **fields):
    """{(epoch, position): digest} of one reader."""
    with daemon.connect() as peer:
        answer = peer.attach(photos, **{**STREAM, "epochs": 2, **fields})
        assert answer.name == "attached", answer
        return peer.digests()


def in_turn(peers):
    """[{(epoch, position): digest}] of readers that share a ring: a sample each in turn, since
    each holds the window for all."""
    out = [{} for _ in peers]
    streams = {i: peer.samples() for i, peer in enumerate(peers)}
    while streams:
        for i in list(streams):
            sample = next(streams[i], None)
            if sample is None:
                del streams[i]
            else:
                epoch, position, arrays = sample
                assert (epoch, position) not in out[i], "a position came twice"
                out[i][epoch, position] = digest_of(arrays)
    return out


@pytest.fixture(scope="module", name="reference")
def fixture_reference(photos):
    """Two epochs, made by one worker for one reader."""
    daemon = Daemon(workers=1, fetchers=1).spawn()
    try:
        out = digests(daemon, photos)
        daemon.terminate()
    finally:
        daemon.remove()
    assert set(out) == set(itertools.product(range(2), range(N)))
    # The order and the draws of one epoch are not the other's.
    assert [out[0, p] for p in range(N)] != [out[1, p] for p in range(N)]
    return out


@pytest.mark.parametrize("workers", [2, 5])
def test_any_number_of_workers(spawn, photos, reference, workers):
    daemon = spawn(workers=workers, fetchers=workers)
    assert digests(daemon, photos) == reference


@pytest.mark.parametrize("end", [
    [{"name": "ImageDataGenerator", "rotation_range": 20, "width_shift_range": 0.2,
      "height_shift_range": [1, 3], "zoom_range": 0.3, "horizontal_flip": True, "rescale": 1 / 255,
      "brightness_range": [0.5, 1.5], "channel_shift_range": 20.0, "fill_mode": "reflect",
      "samplewise_std_normalization": True},
     {"name": "RandomErasing"}],
    [{"name": "ToTensor"}, {"name": "RandomErasing", "p": 0.8, "value": "random"}],
])
def test_numbers_of_a_tail(spawn, photos, end):
    """They are drawn for a position, too, whoever makes it and wherever a reader begins."""
    transforms = [{"name": "RandomCrop", "size": 32, "pad_if_needed": True}] + end
    made = [digests(spawn(workers=workers, fetchers=workers), photos, transforms=transforms)
            for workers in (1, 2, 5)]
    assert made[0] == made[1] == made[2]
    assert len(set(made[0].values())) == len(made[0]) == 2 * N
    rest = digests(spawn(workers=3), photos, transforms=transforms, position=41, batch_size=7)
    assert rest == {key: value for key, value in made[0].items() if key >= (0, 41)}


def test_both_transports(daemon, photos, reference):
    assert digests(daemon, photos, accept_fd=False, accept_path=True) == reference
    assert digests(daemon, photos, accept_fd=True, accept_path=False) == reference


@pytest.mark.parametrize("batch_size", [1, 7, 60, 100])
def test_any_batch_size(daemon, photos, reference, batch_size):
    assert digests(daemon, photos, batch_size=batch_size) == reference


@pytest.mark.parametrize("world", [2, 4])
def test_world_sizes_recombine(daemon, photos, reference, world):
    peers = [daemon.connect() for _ in range(world)]
    for rank, peer in enumerate(peers):
        answer = peer.attach(photos, **STREAM, epochs=2, rank=rank, world=world, job="a run")
        assert answer.name == "attached", answer
    parts = in_turn(peers)
    assert sum(len(part) for part in parts) == len(reference), "two ranks got one position"
    assert {key: value for part in parts for key, value in part.items()} == reference
    for peer in peers:
        peer.close()


@pytest.mark.parametrize("position", [*range(0, N, 3), 1, N - 1])
def test_resume_at_any_position(daemon, photos, reference, position):
    """FAULTS 19, 89: also with another batch size and another world size than before."""
    rest = {key: value for key, value in reference.items() if key >= (0, position)}
    assert digests(daemon, photos, position=position, batch_size=5) == rest
    late = {key: value for key, value in reference.items() if key >= (1, position)}
    joined = {}
    for rank in range(3):
        joined.update(digests(daemon, photos, epoch=1, epochs=1, position=position, rank=rank,
                              world=3, batch_size=2))
    assert joined == late


def test_the_tokens_lead_through_the_epoch(daemon, photos, reference):
    """Each batch's next_epoch and next_position resume exactly behind it."""
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=1, batch_size=8)
        tokens = []
        for _ in range(8):
            batch = peer.expect("batch")
            tokens.append((batch.fields["next_epoch"], batch.fields["next_position"]))
            peer.release(batch)
        assert tokens == [(0, 8 * i) for i in range(1, 8)] + [(1, 0)]
    for epoch, position in tokens[::3]:
        got = digests(daemon, photos, epoch=epoch, position=position, epochs=1)
        assert got == {key: value for key, value in reference.items()
                       if key >= (epoch, position) and key[0] == epoch}


def test_sharing_is_one_decode(daemon, photos, reference):
    """Readers with different batch sizes on one stream: one ring, each image made once."""
    sizes = [4, 4, 6, 3]
    peers = [daemon.connect() for _ in sizes]
    rings = set()
    for peer, size in zip(peers, sizes):
        assert peer.attach(photos, **STREAM, epochs=2, batch_size=size, prefetch=6).name == \
            "attached"
        rings.add(peer.attached["ring"])
    assert len(rings) == 1
    before = daemon.status()["samples_decoded_total"]
    assert all(part == reference for part in in_turn(peers))
    assert before <= 48 and daemon.status()["samples_decoded_total"] == 2 * N


def test_each_sample_once_and_its_label(daemon, photos):
    """Labels are the folder's place among its sorted siblings; the index is the sample's."""
    classes = sorted(p.name for p in photos.iterdir() if p.is_dir())
    wanted = [(i, label) for label, name in enumerate(classes)
              for i in [None] * len(list((photos / name).iterdir()))]
    labels = [label for _, label in wanted]
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=3)
        seen = {}
        for epoch, _, arrays in peer.samples():
            seen.setdefault(epoch, []).append((int(arrays["index"]), int(arrays["label"])))
    for epoch in range(3):
        assert sorted(seen[epoch]) == list(enumerate(labels))
    assert seen[0] != seen[1]


def test_unshuffled_is_the_index(daemon, photos):
    with daemon.connect() as peer:
        peer.attach(photos, transforms=TRAIN, shuffle=False)
        assert [int(a["index"]) for _, _, a in peer.samples()] == list(range(N))


def test_last_batches(daemon, photos):
    def sizes(**fields):
        with daemon.connect() as peer:
            peer.attach(photos, **STREAM, batch_size=16, **fields)
            out = []
            while (message := peer.receive()).name == "batch":
                out.append((message.fields["count"], message.fields.get("padded", 0)))
                last = peer.ring.read(message.fields["runs"])["image"]
                peer.release(message)
            return out, last
    assert sizes()[0] == [(16, 0)] * 3 + [(12, 0)]
    assert sizes(last_batch="drop")[0] == [(16, 0)] * 3
    padded, last = sizes(last_batch="pad")
    assert padded == [(16, 0)] * 3 + [(16, 4)]
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, batch_size=16)
        first = peer.ring.read(peer.expect("batch").fields["runs"])["image"]
        assert (last[12:] == first[:4]).all(), "the padding repeats the epoch's start"


def test_subset(daemon, photos):
    with daemon.connect() as peer:
        answer = peer.attach(photos, **STREAM, subset_start=10, subset_stop=25)
        assert answer.fields["samples"] == 15
        assert sorted(int(a["index"]) for _, _, a in peer.samples()) == list(range(10, 25))


def test_workers_come_and_go(spawn, photos, reference):
    """FAULTS 32: 1 -> N -> 1 -> 0 -> N under load; not a byte differs, nothing is lost."""
    daemon = spawn(workers=1)
    steps = itertools.cycle([3, 1, 0, 4, 2, 0, 1])
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=2)
        out, count = {}, 0
        for epoch, position, arrays in peer.samples():
            out[epoch, position] = digest_of(arrays)
            count += 1
            if count % 3 == 0:
                workers = next(steps)
                assert daemon.set("workers", workers).name == "ok"
                if workers == 0:
                    assert daemon.set("workers", next(steps)).name == "ok"
    assert out == reference
    daemon.settle()
