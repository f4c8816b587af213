# SPDX-License-Identifier: MIT
"""stoker.keras' enqueuers of own sequences and of generators."""
import itertools
import os
import random

import numpy as np
import pytest

pytest.importorskip("keras")

import keras_code as code
import stoker
import stoker.keras


@pytest.fixture(name="run")
def fixture_run(near, tmp_path, monkeypatch):
    """A function that starts an enqueuer and gives its batches; it is stopped with the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # where the secret lies
    tmp_path.chmod(0o700)
    made = []

    def run(sequence, **options):
        enqueuer = stoker.keras.OrderedEnqueuer(sequence, use_multiprocessing=True, node=near,
                                                **options)
        made.append(enqueuer)
        enqueuer.start(workers=2, max_queue_size=4)
        return enqueuer.get()
    yield run
    for enqueuer in made:
        enqueuer.stop()


def numbers(batches, count):
    """What the next batches hold, and the processes that made them."""
    taken = list(itertools.islice(batches, count))
    return [int(x[0, 0, 0]) for x, _, _ in taken], {int(y["pid"][0]) for _, y, _ in taken}


def test_batches_of_processes_in_order_over_epochs(run, caplog):
    sequence = code.Squares()
    batches = run(sequence)
    x, y, weights = next(batches)
    assert x.shape == (4, 3, 3) and x.dtype == np.float32 and list(y) == ["pid"]
    assert weights.tolist() == [1] * 4 and not x.any()
    found, makers = numbers(batches, 10)
    assert found == list(range(1, 11)) and os.getpid() not in makers
    assert not caplog.records
    assert next(batches)[0].shape == (2, 3, 3)
    found, makers = numbers(batches, 24)
    assert found == [*range(100, 112), *range(200, 212)] and sequence.epoch == 2
    told = [record.message for record in caplog.records]
    assert len(told) == 1 and "had (4, 3, 3) in the first sample" in told[0]


def test_batches_of_none_are_left_out(run):
    assert numbers(run(code.Gaps()), 12)[0] == [0, 1, 3, 4, 6, 7, 9, 10, 100, 101, 103, 104]


def test_an_exception_is_raised_as_it_is(run):
    batches = run(code.Failing())
    assert numbers(batches, 3)[0] == [0, 1, 2]
    with pytest.raises(KeyError, match="batch three"):
        next(batches)


def test_shuffled_batches_follow_pythons_seed(run):
    found = []
    for seed in (1, 1, 2):
        random.seed(seed)
        found.append(numbers(run(code.Squares(), shuffle=True), 12)[0])
    assert found[0] == found[1] != found[2] and sorted(found[0]) == sorted(found[2])
    assert sorted(found[0]) == list(range(12))


def test_what_is_no_sequence(near):
    for given in (iter("abc"), "/data/train", None):
        with pytest.raises(TypeError, match="no sequence.*GeneratorEnqueuer"):
            stoker.keras.OrderedEnqueuer(given, node=near)


def test_a_generator_runs_in_a_thread():
    def batches():
        yield from (1, None, 2)
        raise KeyError("the end")
    for given in (iter([1, None, 2]), batches()):
        enqueuer = stoker.keras.GeneratorEnqueuer(given)
        enqueuer.start(max_queue_size=1)
        assert enqueuer.is_running()
        out = enqueuer.get()
        assert [next(out), next(out)] == [1, 2]
        if hasattr(given, "close"):
            with pytest.raises(KeyError, match="the end"):
                next(out)
        else:
            assert next(out, "ended") == "ended"
        assert not enqueuer.is_running()
    endless = stoker.keras.GeneratorEnqueuer(itertools.count())
    endless.start()
    assert next(endless.get()) == 0
    endless.stop()
    assert not endless.is_running()
