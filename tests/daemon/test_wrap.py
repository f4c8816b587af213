# SPDX-License-Identifier: MIT
"""last_batch=wrap: the last batch of an epoch is filled up from the next one. Each sample keeps its
epoch and position, so what comes is what readers with short batches get, cut elsewhere.
"""

import contextlib
import itertools
import os
import random

import pytest

from harness import Daemon, digest_of
from readers import Reader, counter, finish_together, fixture_reader  # noqa: F401 (fixture)
from test_law import N, STREAM, digests

EPOCHS = 4  # of the reference: one more than is read here


def place(fields, i):
    """(epoch, position) of sample i of a batch of an epoch of N, by PROTOCOL.md, section 7."""
    position = fields["position"] + i
    wrapped = i >= fields["count"] - fields.get("wrapped", 0)
    assert wrapped == (position >= N)
    return fields["epoch"] + wrapped, position - N * wrapped


def batches(peer):
    """Until END: (BATCH, {(epoch, position): digest})."""
    while (message := peer.receive()).name != "end":
        assert message.name == "batch", message
        arrays = peer.ring.read(message.fields["runs"])
        yield message.fields, {
            place(message.fields, i): digest_of({key: array[i] for key, array in arrays.items()})
            for i in range(message.fields["count"])}
        peer.release(message)


def read(daemon, photos, **fields):
    """[(BATCH, samples)] of one reader that wraps."""
    with daemon.connect() as peer:
        answer = peer.attach(photos, **{**STREAM, "last_batch": "wrap", "epochs": 3, **fields})
        assert answer.name == "attached", answer
        return list(batches(peer))


@pytest.fixture(scope="module", name="reference")
def fixture_reference(photos):
    """{(epoch, position): digest} by a reader with short batches."""
    daemon = Daemon(workers=1, fetchers=1).spawn()
    try:
        out = digests(daemon, photos, epochs=EPOCHS)
        daemon.terminate()
    finally:
        daemon.remove()
    return out


def between(reference, first, stop):
    """The samples of the endless sequence from one place to another, counted from epoch 0."""
    return {key: value for key, value in reference.items() if first <= key[0] * N + key[1] < stop}


@pytest.mark.parametrize("size", [1, 7, 8, 13, 59, N])
def test_the_sequence_is_cut_into_batches_of_one_size(daemon, photos, reference, size):
    got = read(daemon, photos, batch_size=size)
    whole = -(-3 * N // size)  # batches that begin before the fourth epoch
    assert [fields["count"] for fields, _ in got] == [size] * whole
    starts = [n * size for n in range(whole)]
    assert [(fields["epoch"], fields["position"]) for fields, _ in got] == \
        [divmod(start, N) for start in starts]
    assert [(fields["next_epoch"], fields["next_position"]) for fields, _ in got] == \
        [divmod(start + size, N) for start in starts]
    assert [fields.get("wrapped", 0) for fields, _ in got] == \
        [max(0, start % N + size - N) for start in starts]
    assert all(len(fields["runs"]) == 1 for fields, _ in got), "it wraps round the ring, too"
    samples = dict(item for _, part in got for item in part.items())
    assert sum(len(part) for _, part in got) == len(samples), "a sample came twice"
    assert samples == between(reference, 0, whole * size)


@pytest.mark.parametrize("world, size", [(2, 7), (3, 4), (4, 15), (5, 9)])
def test_ranks_recombine(daemon, photos, reference, world, size):
    """All ranks have as many batches in each epoch; one may be of the next epoch wholly."""
    peers = [daemon.connect() for _ in range(world)]
    for rank, peer in enumerate(peers):
        answer = peer.attach(photos, **STREAM, epochs=3, rank=rank, world=world, batch_size=size,
                             last_batch="wrap", job="a run")
        assert answer.name == "attached", answer
    steps = list(zip(*map(batches, peers)))
    count = -(-3 * N // (world * size))
    assert len(steps) == count
    assert all(len({fields["epoch"] for fields, _ in step}) == 1 for step in steps)
    assert all(len({(f["next_epoch"], f["next_position"]) for f, _ in step}) == 1
               for step in steps)
    parts = [part for step in steps for _, part in step]
    samples = {key: value for part in parts for key, value in part.items()}
    assert sum(map(len, parts)) == len(samples)
    assert samples == between(reference, 0, count * world * size)
    if (world, size) == (5, 9):  # positions 45 to 89: rank 2 has 63 to 71
        fields = steps[1][2][0]
        assert (fields["position"], fields["wrapped"], fields["epoch"]) == (63, 9, 0)


def test_it_resumes_behind_each_batch(daemon, photos, reference):
    """With another batch size, another world size, and in the other modes."""
    for fields, _ in read(daemon, photos, batch_size=13, epochs=2)[::2]:
        epoch, position = fields["next_epoch"], fields["next_position"]
        first = epoch * N + position
        got = read(daemon, photos, batch_size=7, epoch=epoch, position=position, epochs=1)
        assert got[0][0]["position"] == position
        samples = dict(item for _, part in got for item in part.items())
        assert samples == between(reference, first, first + 7 * len(got))
        with daemon.connect() as peer:
            peer.attach(photos, **STREAM, epoch=epoch, position=position, epochs=1)
            assert peer.digests() == between(reference, first, (epoch + 1) * N)


def test_readers_that_wrap_share_a_ring(daemon, photos, reference):
    """Whatever their batch sizes, and with short batches. Each sample is made once."""
    peers = [daemon.connect() for _ in range(4)]
    wishes = [{"batch_size": 7, "last_batch": "wrap"}, {"batch_size": 4, "last_batch": "wrap"},
              {"batch_size": 10}, {"batch_size": 6, "last_batch": "drop"}]
    for peer, wish in zip(peers, wishes):
        assert peer.attach(photos, **STREAM, **wish, prefetch=20, epochs=2).name == "attached"
    assert len({peer.attached["ring"] for peer in peers}) == 1
    samples = [dict(item for _, part in batches(peer) for item in part.items()) for peer in peers]
    assert all(between(part, 0, 2 * N) == between(reference, 0, 2 * N) for part in samples)
    assert samples[0] == between(reference, 0, 126)  # 18 batches
    assert counter(daemon, "samples_decoded_total") == 126
    for peer in peers:
        peer.close()


def test_a_ring_with_a_gap_between_epochs_is_not_shared(daemon, photos, reference):
    """Batches of 7 keep 63 slots an epoch for themselves: who wraps has a ring of its own."""
    with daemon.connect() as short, daemon.connect() as wrapped:
        short.attach(photos, **STREAM, batch_size=7, epochs=2)
        wrapped.attach(photos, **STREAM, batch_size=7, epochs=2, last_batch="wrap")
        assert short.attached["ring"] != wrapped.attached["ring"]
        assert short.digests() == between(reference, 0, 2 * N)
        got = dict(item for _, part in batches(wrapped) for item in part.items())
        assert got == between(reference, 0, 126)


@pytest.mark.parametrize("pace", ["auto", "free"])
def test_the_fast_one_goes_on(daemon, reader, reference, pace):
    """A fork while batches wrap, and its return."""
    wish = {"last_batch": "wrap", "batch_size": 7, "accept_moves": True, "epochs": 3}
    slow = reader(**wish)
    slow.take(), slow.take()
    fast = reader(pace=pace, **wish)
    assert flat(fast.finish()) == between(reference, 0, 26 * 7)
    assert len(fast.rings) == 2
    assert flat(slow.finish()) == between(reference, 0, 26 * 7)


def flat(got):
    """Positions beyond the epoch as those of the next."""
    return {(epoch + position // N, position % N): digest
            for (epoch, position), digest in got.items()}


def test_one_that_leaves_takes_nothing_along(daemon, reader, reference):
    """What was ordered of the epoch after the last is wanted by the batch that reaches it."""
    for taken in range(1, 10):
        stays = reader(last_batch="wrap", batch_size=7, epochs=1, prefetch=9, inflight=1)
        leaves = reader(last_batch="wrap", batch_size=4, epochs=2, prefetch=9)
        leaves.go(taken)
        leaves.peer.close()
        assert flat(stays.finish()) == between(reference, 0, 63)
        stays.peer.close()


@pytest.mark.parametrize("case", range(8))
def test_a_crowd_at_random(daemon, reader, reference, case):
    """Readers and jobs of two ranks, with all kinds of last batches, driven at random: they hold
    and leave each other behind, go and come back, and each gets what it would have had alone."""
    draw = random.Random(f"{os.environ.get('STOKER_SEED', 1)} {case}")
    crowd = []
    for number in range(6):
        last = draw.choice(["wrap", "wrap", "wrap", "short", "pad", "drop"])
        wish = {"last_batch": last, "epochs": 3, "prefetch": draw.choice([2, 3, 6]),
                "batch_size": draw.randint(1, 11), "pace": draw.choice(["auto", "free"])}
        world = draw.choice([1, 1, 2])
        job = {"world": world, "job": f"job {number}"} if world > 1 else {}
        crowd.append((wish, world, [reader(**wish, **job, rank=rank) for rank in range(world)]))
    left = {one for _, _, ranks in crowd for one in ranks}
    for _ in range(60):
        _, _, ranks = draw.choice(crowd)
        for one, _ in itertools.product(ranks, range(draw.randint(1, 6))):
            with contextlib.suppress(TimeoutError):
                one.release(len(one.held) - draw.randint(0, 1) if one.held else 0)
                if one in left and not one.take(0.05):
                    left.remove(one)
    finish_together(left)
    for wish, world, ranks in crowd:
        joined = {key: digest for one in ranks for key, digest in one.got.items()}
        assert sum(len(one.got) for one in ranks) == len(joined)
        size = wish["batch_size"] * world
        whole = {"wrap": -(-3 * N // size) * size, "short": 3 * N}.get(wish["last_batch"])
        if whole:
            assert flat(joined) == between(reference, 0, whole), wish
        else:
            assert all(reference[epoch, position % N] == digest
                       for (epoch, position), digest in joined.items()), wish
            assert len(joined) == 3 * (N // size if wish["last_batch"] == "drop"
                                       else -(-N // size)) * size
    assert counter(daemon, "leases_expired_total") == 0


def test_live(daemon, reader, reference):
    first = reader(last_batch="wrap", batch_size=7, epochs=3)
    first.go(12)
    second = reader(last_batch="wrap", batch_size=5, epochs=1, start="live")
    attached = second.peer.attached
    begin = attached["epoch"] * N + attached["position"]
    assert attached["ring"] == first.rings[-1] and begin % 7 == 0 and begin >= 84
    finish_together((first, second))
    assert flat(first.got) == between(reference, 0, 26 * 7)
    assert flat(second.got) == between(reference, begin, begin + len(second.got))


def test_echoes_and_pairs(daemon, photos):
    """With echo and MixUp, whose partner is of the sample's own epoch, also in a subset of an odd
    number."""
    fields = {**STREAM, "subset_stop": 21, "echo": 2, "echo_window": 6,
              "transforms": STREAM["transforms"] + [{"name": "MixUp"}]}
    with daemon.connect() as peer:
        assert peer.attach(photos, **fields, epochs=3).name == "attached"
        wanted = peer.digests()
    with daemon.connect() as peer:
        peer.attach(photos, **fields, epochs=2, last_batch="wrap", batch_size=9)
        got = {}
        while (message := peer.receive()).name == "batch":
            arrays = peer.ring.read(message.fields["runs"])
            for i in range(9):
                epoch, position = message.fields["epoch"], message.fields["position"] + i
                got[epoch + position // 42, position % 42] = digest_of(
                    {key: array[i] for key, array in arrays.items()})
            peer.release(message)
    assert len(got) == 90
    assert got == dict(itertools.islice(sorted(wanted.items()), 90))


def test_sweeps_share_decodes(daemon, photos, reference):
    """Streams of one order, of which one wraps: what of the next epoch is made early is shared.
    What the first has made before the second comes is not, so some have another try."""
    shared = 0
    for attempt in range(5):
        before = counter(daemon, "decodes_shared_total")
        with daemon.connect() as one, daemon.connect() as other:
            wish = {**STREAM, "batch_size": 7, "epochs": 2, "prefetch": 20}
            one.attach(photos, **wish, last_batch="wrap")
            # Who expects the dataset that is open is answered at once.
            other.attach(photos, **{**wish, "augment_seed": 10 + attempt},
                         expect_dataset=one.attached["dataset_fingerprint"])
            got = dict(item for _, part in batches(one) for item in part.items())
            assert len(other.digests()) == 2 * N
        assert got == between(reference, 0, 126)
        shared = counter(daemon, "decodes_shared_total") - before
        if shared > N:
            break
    assert shared > N


def test_a_bad_sample_of_the_next_epoch(daemon, photos, tmp_path):
    """BAD_SAMPLE replaces the batch, and its position says that it is of the next epoch."""
    paths = sorted(photos.glob("*/*"))[:10]
    paths.insert(1, tmp_path / "bad.jpg")
    paths[1].write_bytes(b"\xff\xd8 no picture")
    root = os.path.commonpath(paths)
    manifest = tmp_path / "list.tsv"
    manifest.write_text("".join(f"{os.path.relpath(path, root)}\t0\n" for path in paths))
    with daemon.connect() as peer:
        answer = peer.attach(manifest, dataset={"path": str(manifest), "root": root}, epochs=2,
                             shuffle=False, last_batch="wrap", batch_size=4,
                             transforms=STREAM["transforms"])
        assert answer.name == "attached", answer
        heard = []
        while (message := peer.receive()).name != "end":
            heard.append((message.name, message.fields["epoch"], message.fields["position"],
                          message.fields["next_epoch"], message.fields["next_position"]))
            if message.name == "batch":
                peer.release(message)
    # 11 samples: 0-3, 4-7, 8-10 with 0 of the next; 1-4, 5-8, 9-10 with 0-1 of the next.
    assert heard == [("bad_sample", 0, 1, 0, 4), ("batch", 0, 4, 0, 8), ("batch", 0, 8, 1, 1),
                     ("bad_sample", 1, 1, 1, 5), ("batch", 1, 5, 1, 9), ("bad_sample", 1, 12, 2, 2)]


def test_refused(daemon, photos):
    """A batch that would need two further epochs; and the last epoch that has a number."""
    with daemon.connect() as peer:
        answer = peer.attach(photos, **STREAM, last_batch="wrap", batch_size=31, world=2)
        assert answer.name == "error" and answer.fields["name"] == "argument"
        assert "62" in answer.fields["text"] and "60" in answer.fields["text"]
        assert "lower batch_size" in answer.fields["text"]
        answer = peer.attach(photos, **STREAM, last_batch="wraps")
        assert "drop, pad, wrap" in answer.fields["text"]
        assert peer.attach(photos, **STREAM, last_batch="wrap", epochs=0,
                           epoch=2**32 - 1).name == "attached"
        assert peer.expect("end").fields["epoch"] == 2**32 - 1
