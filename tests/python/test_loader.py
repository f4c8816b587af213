# SPDX-License-Identifier: MIT
"""Iterating: what comes, in which order, and what a state holds."""
import io
import json
import os
import pickle
import signal
import sys
import threading

import numpy as np
import pytest

import stoker
from fake_daemon import FINGERPRINT, PIPELINE, frame, sample


def expected(epoch, positions, n=20):
    return [sample(epoch, position, n)[0] for position in positions]


def values(images, epoch):
    return [int(value) for value in images[:, 0, 0, 0] - epoch / 8]


def test_three_epochs(node):
    loader = node.loader("/data/20", batch_size=8)
    assert len(loader) == 3 and loader.samples == 20
    assert loader.dataset_fingerprint == FINGERPRINT and loader.pipeline_hash == PIPELINE
    for epoch in range(3):
        assert loader.epoch == epoch
        got = []
        for images, labels in loader:
            assert images.dtype == np.float32 and images.shape[1:] == (3, 4, 5)
            assert labels.dtype == np.int64 and labels.shape == images.shape[:1]
            assert (labels == np.array(values(images, epoch)) % 10).all()
            got += values(images, epoch)
        assert got == expected(epoch, range(20))
    assert loader.epoch == 3


def test_one_attach_for_many_epochs(daemon, node):
    loader = node.loader("/data/20", batch_size=5)
    for _ in range(4):
        assert sum(len(labels) for _, labels in loader) == 20
    assert daemon.count("attach") == 1


def test_what_is_written_stays_in_this_array(node):
    one, other = (iter(node.loader("/data/20", batch_size=8)) for _ in range(2))
    images, labels = next(one)
    images[0] = labels[0] = 100
    theirs, numbers = next(other)
    assert images[0, 0, 0, 0] == labels[0] == 100
    assert values(theirs, 0) == expected(0, range(8)) and numbers[0] != 100


def test_break_goes_on_with_the_next_epoch(daemon, node):
    loader = node.loader("/data/20", batch_size=4)
    for number, _ in enumerate(loader):
        if number == 1:
            break
    assert loader.state_dict()["position"] == 8
    got = [value for images, _ in loader for value in values(images, 1)]
    assert got == expected(1, range(20))


def test_numbers_of_epochs_after_a_break(daemon, node):
    loader = node.loader("/data/20", batch_size=4)
    for number, _ in enumerate(loader):
        assert loader.epoch == 0
        if number == 1:
            break
    assert loader.epoch == 1 and loader.state_dict()["epoch"] == 0
    for epoch in range(loader.epoch, 3):
        assert [value for images, _ in loader for value in values(images, epoch)] == \
            expected(epoch, range(20))


def test_a_look_at_the_first_batch_counts_for_nothing(daemon, node):
    loader = node.loader("/data/20", batch_size=4)
    state = loader.state_dict()
    for _ in range(3):
        images, _ = next(iter(loader))
        assert values(images, 0) == expected(0, range(4)) and loader.epoch == 0
    assert [value for images, _ in loader for value in values(images, 0)] == expected(0, range(20))
    next(iter(loader))
    assert [value for images, _ in loader for value in values(images, 1)] == expected(1, range(20))
    loader.load_state_dict({**state, "position": 8})
    next(iter(loader))
    assert [value for images, _ in loader for value in values(images, 0)] == \
        expected(0, range(8, 20))


def test_ctrl_c_in_a_notebook(daemon, node, monkeypatch):
    """It keeps what was raised in sys.last_value; the next loop goes on in the epoch."""
    loader = node.loader("/data/20", batch_size=4)
    monkeypatch.setattr(sys, "last_value", KeyboardInterrupt("an older one"), raising=False)
    for stop in (1, 2):
        for number, (images, labels) in enumerate(loader, 1):
            if number == stop:
                monkeypatch.setattr(sys, "last_value", KeyboardInterrupt())
                break
    got = []
    for epoch in range(loader.epoch, 3):
        got.append([value for images, _ in loader for value in values(images, epoch)])
    assert got == [expected(0, range(12, 20)), expected(1, range(20)), expected(2, range(20))]


def test_ctrl_c_while_it_waits(daemon, node):
    loader = node.loader("/data/12", batch_size=4, inflight=1, timeout=30)
    late = []

    def hold(peer, fields):
        if fields["position"] != 4 or late:
            return None
        late.append((peer, frame("batch", **fields)))
        return b""

    daemon.hooks["say_batch"] = hold
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        for images, _ in loader:
            first = images.copy()
    assert values(first, 0) == expected(0, range(4), 12) and loader.epoch == 0
    late[0][0].raw(late[0][1])
    assert [value for images, _ in loader for value in values(images, 0)] == \
        expected(0, range(4, 12), 12)


def test_what_is_held_over_a_new_epoch_is_not_overwritten(daemon, node):
    loader = node.loader("/data/20", batch_size=4)
    kept, _ = next(iter(loader))
    before = kept.copy()
    for _ in range(2):
        for images, _ in loader:
            pass
    assert (kept == before).all()
    assert daemon.count("detach") == 1
    daemon.settle(lambda: len(daemon.peers) == 1)  # that of another request is on its way out
    peer = daemon.peers[0]
    daemon.settle(lambda: not peer.kept)
    assert daemon.bad_releases == 0


def test_break_reattaches_on_the_same_socket(daemon, node):
    loader = node.loader("/data/20", batch_size=4)
    for batch in loader.batches():
        batch.release()
        break
    for batch in loader.batches():
        assert (batch.epoch, batch.position) == (0, 0)
        break
    assert daemon.count("detach") == 1
    daemon.settle(lambda: len(daemon.peers) == 1)  # that of another request is on its way out
    assert daemon.last("attach")["expect_dataset"] == FINGERPRINT
    assert daemon.bad_releases == 0


def test_an_unused_iterator_changes_nothing(node):
    loader = node.loader("/data/20", batch_size=4)
    iter(loader)
    assert values(next(iter(loader))[0], 0) == expected(0, range(4))


def test_an_older_iterator_ends(node):
    loader = node.loader("/data/20", batch_size=4)
    old = iter(loader)
    next(old)
    new = iter(loader)
    with pytest.raises(RuntimeError, match="another"):
        next(old)
    next(new)


def test_set_epoch(daemon, node):
    loader = node.loader("/data/20", batch_size=4)
    loader.set_epoch(5)
    assert loader.epoch == 5
    assert [v for images, _ in loader for v in values(images, 5)] == expected(5, range(20))
    loader.set_epoch(6)  # what comes next anyway
    attaches = daemon.count("attach")
    next(iter(loader))
    assert daemon.count("attach") == attaches
    loader.set_epoch(np.int64(7))  # of numpy.arange(), too
    assert loader.state_dict()["epoch"] == 7 and type(loader.epoch) is int
    for wrong in (-1, 1.5, True, "1"):
        with pytest.raises(ValueError):
            loader.set_epoch(wrong)


def test_set_epoch_inside_of_the_loop_is_for_the_next(node):
    loader = node.loader("/data/20", batch_size=10)
    got = 0
    for _, labels in loader:
        loader.set_epoch(7)
        got += len(labels)
    assert got == 20 and loader.epoch == 7


@pytest.mark.parametrize("position", [0, 1, 4, 8, 16, 19])
def test_state_resumes_exactly(node, position):
    """FAULTS 19, 89: the rest of the epoch, with another batch size."""
    loader = node.loader("/data/20", batch_size=1)
    it = iter(loader)
    for _ in range(position):
        next(it)
    state = json.loads(json.dumps(loader.state_dict()))
    assert len(json.dumps(state)) < 1000
    other = node.loader("/data/20", batch_size=3)
    other.load_state_dict(state)
    assert other.state_dict()["position"] == position
    got = [v for images, _ in other for v in values(images, 0)]
    assert got == expected(0, range(position, 20))
    assert other.state_dict()["epoch"] == 1 and other.state_dict()["position"] == 0


def test_state_counts_what_was_yielded(daemon, node):
    loader = node.loader("/data/20", batch_size=4)
    daemon.settle(lambda: daemon.leased() == 3)
    assert loader.state_dict()["position"] == 0
    it = iter(loader)
    next(it)
    assert loader.state_dict()["position"] == 4


def test_state_of_another_world(node):
    """FAULTS 89: two ranks stop, one continues."""
    ranks = [node.loader("/data/20", batch_size=4, rank=rank, world_size=2) for rank in (0, 1)]
    got = []
    for loader in ranks:
        images, _ = next(iter(loader))
        got += values(images, 0)
    states = [loader.state_dict() for loader in ranks]
    assert states[0]["position"] == states[1]["position"] == 8
    alone = node.loader("/data/20", batch_size=4)
    alone.load_state_dict(states[1])
    for images, _ in alone:
        got += values(images, 0)
    assert got == expected(0, range(20))


def test_rank_without_a_share_of_the_last_batch(node):
    loader = node.loader("/data/10", batch_size=4, rank=1, world_size=2)
    assert len(loader) == 1
    for epoch in range(3):
        batches = [values(images, epoch) for images, _ in loader]
        assert batches == [expected(epoch, range(4, 8), 10)]
        state = loader.state_dict()
        assert (state["epoch"], state["position"]) == (epoch + 1, 0)


def test_pad_and_drop(node):
    loader = node.loader("/data/10", batch_size=4, last_batch="pad")
    batches = [(batch.position, batch.count, batch.padded) for batch in loader.batches()]
    assert batches == [(0, 4, 0), (4, 4, 0), (8, 4, 2)]
    for loader in (node.loader("/data/10", batch_size=4, drop_last=True),
                   node.loader("/data/10", batch_size=4, last_batch="drop")):
        assert len(loader) == 2 and len(list(map(lambda b: b[1].sum(), loader))) == 2
    with pytest.raises(ValueError, match="drop_last=True contradicts last_batch='pad'"):
        node.loader("/data/10", batch_size=4, last_batch="pad", drop_last=True)


def first_state(loader, **changed):
    """As it was before there were descriptions."""
    asked = loader._reader.request
    return {"version": 1, "dataset": loader.dataset_fingerprint, "pipeline": loader.pipeline_hash,
            "sampling": loader.sampling_hash, "order_seed": asked["order_seed"],
            "augment_seed": asked["augment_seed"], "shuffle": asked["shuffle"], "subset": None,
            "exif_orientation": False, "resize": loader.resize, "epoch": 0, "position": 0,
            **changed}


def test_refused_states(node):
    """FAULTS 90: each field by its name."""
    loader = node.loader("/data/20", batch_size=4, seed=3, subset=(0, 20))
    good = first_state(loader, subset=[0, 20])
    places = {"epoch": [-1, 1.0, None, 2**64, "0"], "position": [-1, 21, True, [], 2**70]}
    first = {"version": [0, 3, None, "1", True], "dataset": ["0" * 32, None, 5],
             "pipeline": ["0" * 32], "order_seed": [4, None, True], "augment_seed": [4],
             "shuffle": [False, 1], "subset": [None, [0, 19], "all"], **places}
    second = {"version": [0, 3, None, "2"], "digest": [None, 5], "description": [None, []],
              "fingerprints": [None, {}, {"colours": "0" * 32}], **places}
    for state, wrong in ((good, first), (loader.state_dict(), second)):
        for field, values_ in wrong.items():
            for value in values_:
                with pytest.raises(stoker.TokenError, match=f"^{field}") as caught:
                    loader.load_state_dict({**state, field: value})
                assert caught.value.name == "token" and caught.value.code == 25
    for field in ("version", "dataset", "pipeline", "epoch", "position"):
        with pytest.raises(stoker.TokenError, match=f"^{field}"):
            loader.load_state_dict({key: good[key] for key in good if key != field})
    for value in (None, [], "x", 5):
        with pytest.raises(stoker.TokenError):
            loader.load_state_dict(value)
    with pytest.raises(stoker.TokenError, match="a loader's state_dict"):
        loader.load_state_dict({"model": 1})
    with pytest.raises(stoker.TokenError, match="^exif_orientation"):
        loader.load_state_dict({**good, "exif_orientation": True})
    del good["exif_orientation"]  # of before it was in a state
    loader.load_state_dict({**good, "position": 20})
    assert loader.epoch == 1
    loader.load_state_dict({**good, "subset": tuple(good["subset"])})


def test_a_refused_state_says_what_a_hash_is_of(node):
    loader = node.loader("/data/20", batch_size=4)
    for field, words in (("pipeline", "transforms, dtype"), ("sampling", "order, sampler, echo")):
        with pytest.raises(stoker.TokenError, match=rf"^{field} \({words}"):
            loader.load_state_dict(first_state(loader, **{field: "0" * 32}))


def test_load_state_ends_a_running_loop(node):
    loader = node.loader("/data/20", batch_size=4)
    it = iter(loader)
    state = loader.state_dict()
    next(it)
    loader.load_state_dict(state)
    with pytest.raises(RuntimeError):
        next(it)
    assert values(next(iter(loader))[0], 0) == expected(0, range(4))


def test_epochs_is_an_end(daemon, node):
    loader = node.loader("/data/20", batch_size=8, epochs=2)
    assert [len(list(loader)) for _ in range(2)] == [3, 3]
    with pytest.raises(stoker.Error, match="epochs=2"):
        iter(loader)
    loader.set_epoch(1)
    assert len(list(loader)) == 3
    assert daemon.last("attach")["epochs"] == 1


def test_bad_sample_then_on(daemon, node):
    """FAULTS 60, client side."""
    daemon.bad = {(0, 8), (0, 16)}
    loader = node.loader("/data/20", batch_size=4)
    it, got, errors = iter(loader), [], []
    while True:
        try:
            images, _ = next(it)
            got += values(images, 0)
        except stoker.SampleError as error:
            errors.append(error)
        except StopIteration:
            break
    assert got == expected(0, [*range(8), *range(12, 16)])
    first = errors[0]
    assert len(errors) == 2 and "cut short" in str(first)
    assert (first.epoch, first.position, first.sample, first.code) == (0, 8, 3, 42)
    assert first.path == "cats/\udcff.jpg" and first.name == "sample_corrupt"
    again = pickle.loads(pickle.dumps(first))  # as from one process to another
    assert (type(again), str(again), vars(again)) == (type(first), str(first), vars(first))
    assert values(next(iter(loader))[0], 1) == expected(1, range(4))


def test_wrapping_batch_is_a_copy(daemon, node):
    daemon.slots = 10
    loader = node.loader("/data/20", batch_size=4, inflight=2)
    for epoch in range(3):
        got = []
        for images, labels in loader:
            got += values(images, epoch)
        assert got == expected(epoch, range(20))


def test_classes_are_paged_beside_batches(node):
    loader = node.loader("/data/20", batch_size=4)
    assert loader.classes == ["ant", "bee", "cat", "dog"]
    assert values(next(iter(loader))[0], 0) == expected(0, range(4))


def test_batch_object(node):
    loader = node.loader("/data/20", batch_size=4)
    for k, batch in enumerate(loader.batches()):
        with batch:
            images, labels = batch
            assert (batch.epoch, batch.position, batch.count, len(batch)) == (0, 4 * k, 4, 4)
            assert list(batch.index) == expected(0, range(4 * k, 4 * k + 4))
            assert batch.substituted == 0 and not batch.released
        assert batch.released
        with pytest.raises(ValueError):
            batch.images
    assert k == 4


def test_a_loader_says_what_it_is(node):
    loader = node.loader("/data/20", batch_size=4, rank=1, world_size=2)
    next(iter(loader))
    assert repr(loader) == \
        "<stoker.Loader /data/20: 2 batches of 4, rank 1 of 2, at epoch 0 position 8>"
    loader.close()
    assert repr(loader).endswith("rank 1 of 2, closed>")


def test_what_is_of_this_process_is_not_pickled(node):
    loader = node.loader("/data/20", batch_size=4)
    batch = next(loader.batches())
    for thing, words in ((node, "call stoker.connect"), (loader, "make one"),
                         (batch, "pickle its arrays")):
        with pytest.raises(TypeError, match=f"cannot be pickled: {words}"):
            pickle.dumps(thing)
    assert values(pickle.loads(pickle.dumps(batch.images)), 0) == expected(0, range(4))
    assert pickle.loads(pickle.dumps(loader.batch(0, 1))).position == 4  # a copy


def test_a_second_thread_is_refused_in_words(daemon, node):
    late = []

    def hold(peer, fields):
        if fields["position"] != 8 or late:
            return None
        late.append((peer, frame("batch", **fields)))
        return b""

    daemon.hooks["say_batch"] = hold
    loader = node.loader("/data/20", batch_size=4, inflight=1, timeout=60)
    it = iter(loader)
    got = []
    for _ in range(2):
        next(it)
    thread = threading.Thread(target=lambda: got.append(len(next(it)[1])))
    thread.start()
    daemon.settle(lambda: loader._alone._inside == thread.ident and late)
    for use in (lambda: next(it), lambda: iter(loader), lambda: loader.classes, loader.stats,
                lambda: loader.paths([0])):
        with pytest.raises(RuntimeError, match="another thread.*make a loader for each"):
            use()
    assert loader.position == 8
    late[0][0].raw(late[0][1])
    thread.join(60)
    assert got == [4] and sum(len(labels) for _, labels in it) == 8


@pytest.mark.parametrize("transport", ["fd", "path"])
@pytest.mark.parametrize("dtype,kind", [("uint8", "u1"), ("float16", "f2"), ("bfloat16", "u2")])
def test_transports_and_types(node, transport, dtype, kind):
    loader = node.loader("/data/20", batch_size=4, transport=transport, dtype=dtype)
    images, _ = next(iter(loader))
    assert images.dtype == np.dtype(kind) and loader.dtype == dtype
    assert values(images, 0) == expected(0, range(4))


def test_tqdm_and_list_work(node):
    loader = node.loader("/data/20", batch_size=8, inflight=8)
    assert [len(labels) for _, labels in list(loader)] == [8, 8, 4]
    tqdm = pytest.importorskip("tqdm").tqdm
    loader.load_state_dict({**loader.state_dict(), "epoch": 1, "position": 8})
    done = loader.position // (loader.batch_size * loader.world_size)
    with tqdm(loader, initial=done, file=io.StringIO()) as bar:
        assert [len(labels) for _, labels in bar] == [8, 4]
        assert bar.n == bar.total == 3


def test_behind_its_with(node):
    with node.loader("/data/20", batch_size=8) as loader:
        pass
    for use in (lambda: next(iter(loader)), loader.stats, lambda: loader.batch(0, 0)):
        with pytest.raises(stoker.Error, match="its `with`, or that of its node, has ended"):
            use()
