# SPDX-License-Identifier: MIT
"""stoker.keras' enqueuers of own sequences and of generators."""
import itertools
import os
import random
import time

import numpy as np
import pytest

keras = pytest.importorskip("keras")

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
        enqueuer._by._source.close()


def numbers(batches, count):
    """What the next batches hold, and the processes that made them."""
    taken = list(itertools.islice(batches, count))
    return [int(x[0, 0, 0]) for x, _, _ in taken], {int(y["pid"][0]) for _, y, _ in taken}


def lives(pid):
    return os.path.exists(f"/proc/{pid}")


def test_batches_of_processes_in_order_over_epochs(run, caplog):
    sequence = code.Squares()
    batches = run(sequence)
    x, y, weights = next(batches)
    assert x.shape == (4, 3, 3) and x.dtype == np.float32 and list(y) == ["pid"]
    assert weights.tolist() == [1] * 4 and not x.any()
    found, makers = numbers(batches, 10)
    assert found == list(range(1, 11)) and os.getpid() not in makers
    assert next(batches)[0].shape == (2, 3, 3)
    found, makers = numbers(batches, 24)
    assert found == [*range(100, 112), *range(200, 212)] and sequence.epoch == 2
    assert os.getpid() not in makers and not caplog.records


def test_batches_of_any_shape_and_type(run):
    """Those that outgrow what the first one needed are made again."""
    batches = run(code.Any())
    for index in [*range(8)] * 2:
        expected = code.Any()[index]
        batch = next(batches)
        assert type(batch) is type(expected) and len(batch) == len(expected)
        assert batch["name"] == f"batch {index}"
        assert batch["x"].dtype == expected["x"].dtype
        assert np.array_equal(batch["x"], expected["x"])
        assert [part.tolist() for part in batch["parts"]] == [[index] * index, [index]]


def test_sequences_one_after_the_other_leave_no_processes(near, tmp_path, monkeypatch):
    """A program that fits many models, each with a sequence of its own: two wait for an epoch."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    makers = []
    for number in range(4):
        sequence = code.Squares()
        sequence.epoch = number  # else the first one's processes make all batches
        enqueuer = stoker.keras.OrderedEnqueuer(sequence, use_multiprocessing=True, node=near)
        enqueuer.start(workers=2)
        makers.append(numbers(enqueuer.get(), 8)[1])
        enqueuer.stop()
    until = time.monotonic() + 20
    while any(map(lives, makers[0] | makers[1])) and time.monotonic() < until:
        time.sleep(0.05)
    assert [any(map(lives, some)) for some in makers] == [False, False, True, True], makers


def test_a_producer_that_dies_is_said_and_its_batch_made_again(run, tmp_path, capfd):
    batches = run(code.Dying(tmp_path / "once"))
    assert numbers(batches, 12)[0] == list(range(12))
    said, late = "", time.monotonic() + 60
    while "a producer of Dying was killed by signal 9" not in said:
        assert time.monotonic() < late, said
        time.sleep(0.01)
        said += capfd.readouterr().err


def test_starts_and_stops(near, run):
    """Producers stay between them; each start is an epoch, as in Keras 3."""
    sequence = code.Squares()
    enqueuer = stoker.keras.OrderedEnqueuer(sequence=sequence, use_multiprocessing=True, node=near)
    makers = set()
    for _ in range(3):
        enqueuer.start()
        found, pids = numbers(enqueuer.get(), 3)
        assert found == [0, 1, 2] and enqueuer.is_running()
        enqueuer.stop(drain_queue_and_join=True)
        assert not enqueuer.is_running()
        makers |= pids
    assert len(makers) == 1 and os.getpid() not in makers
    with pytest.raises(ValueError, match="start"):
        next(enqueuer.get())
    enqueuer._by._source.close()


def test_threads_of_this_process():
    """Keras 2's arguments by their places: (sequence, use_multiprocessing, shuffle)."""
    random.seed(3)
    enqueuer = stoker.keras.OrderedEnqueuer(code.Squares(), False, True)
    enqueuer.start(2, 3)
    found, makers = numbers(enqueuer.get(), 24)
    enqueuer.stop()
    random.seed(3)
    orders = [list(range(12)), list(range(12))]
    random.shuffle(orders[0])
    random.shuffle(orders[1])
    assert found == orders[0] + [100 + index for index in orders[1]]
    assert makers == {os.getpid()}


def test_a_sequence_without_an_end(run):
    batches = run(code.Endless())
    assert [next(batches)[0] for _ in range(30)] == list(range(30))


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
    random.seed(2)
    order = list(range(12))
    random.shuffle(order)
    assert found[2] == order


def test_what_is_no_sequence(near):
    for given in (iter("abc"), "/data/train", None):
        with pytest.raises(TypeError, match="no sequence.*GeneratorEnqueuer"):
            stoker.keras.OrderedEnqueuer(given, node=near)


def trained(data):
    """The weights after four epochs, and the order in which Keras' metrics saw batches."""
    keras.utils.set_random_seed(5)
    model = keras.Sequential([keras.Input((3, 3)), keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1e-6), "mse")
    losses = []
    model.fit(data, epochs=4, verbose=0, callbacks=[keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: losses.append(logs["loss"]))])
    assert np.isfinite(losses).all()
    return losses, [weights.tolist() for weights in model.get_weights()]


def test_fit_of_an_own_sequence_is_kerass(near, tmp_path, monkeypatch):
    """Its batches are shuffled as Keras does it."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    theirs = trained(code.dataset(keras.utils.PyDataset))
    data = stoker.keras.Dataset(code.dataset(keras.utils.PyDataset), workers=2, node=near)
    assert len(data) == data.num_batches == 7
    assert trained(data) == theirs
    assert data[3][0][0, 0, 0] == data.sequence[3][0][0, 0, 0] and data[-1][0].shape == (2, 3, 3)
    with pytest.raises(IndexError, match="no batch 7"):
        data[7]
    data._batches._by._source.close()


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
    for options in ({"sequence": iter([3]), "seed": 1}, {"generator": iter([3]), "wait_time": 0.1}):
        enqueuer = stoker.keras.GeneratorEnqueuer(**options)
        enqueuer.start(1, 1)
        assert list(enqueuer.get()) == [3]
    with pytest.raises(TypeError, match="OrderedEnqueuer"):
        stoker.keras.GeneratorEnqueuer(code.Squares())


def test_misspelt_keywords_are_named():
    for call, words in (
            (lambda: stoker.keras.Dataset([1], worker=2), "'worker': did you mean 'workers'"),
            (lambda: stoker.keras.Dataset([1], start=True), "STOKER_START"),
            (lambda: stoker.keras.OrderedEnqueuer([1], shufle=True), "did you mean 'shuffle'"),
            (lambda: stoker.keras.ImageDataGenerator(zoom=1), "did you mean 'zoom_range'")):
        with pytest.raises(TypeError, match=words):
            call()
