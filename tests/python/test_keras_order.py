# SPDX-License-Identifier: MIT
"""Which batch Keras gets for which index, compared with Keras' own iterators; on the backend that
KERAS_BACKEND names. Skipped without keras."""
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import stoker
from real_daemon import ROOT

keras = pytest.importorskip("keras")
import stoker.keras  # noqa: E402 (it needs keras)
from keras.src.legacy.preprocessing.image import ImageDataGenerator as Original  # noqa: E402

sys.path.insert(0, str(ROOT / "tests" / "reference"))
from positions import order_at  # noqa: E402

COUNT, BATCH = 50, 8  # seven batches, the last one of two


@pytest.fixture(name="arrays", scope="module")
def fixture_arrays():
    x = np.random.default_rng(1).integers(0, 256, (COUNT, 6, 8, 3), np.uint8)
    return x, np.arange(COUNT)


@pytest.fixture(name="both")
def fixture_both(real, arrays):
    def both(**options):
        options = {"batch_size": BATCH, "shuffle": False, **options}
        return (stoker.keras.ImageDataGenerator(socket=real.path, rescale=0.5).flow(
            *arrays, **options), Original(rescale=0.5).flow(*arrays, **options))
    return both


def same(got, wanted):
    assert type(got) is type(wanted) and len(got) == len(wanted)
    for mine, theirs in zip(got, wanted):
        assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs)


def echo():
    """A model that predicts the picture's first pixel."""
    return keras.Sequential([keras.Input((6, 8, 3)), keras.layers.Cropping2D(((0, 5), (0, 7))),
                             keras.layers.Flatten()])


class Labels(keras.callbacks.Callback):
    """Keeps which labels a flow gave, in the order in which it gave them."""

    def __init__(self, flow):
        super().__init__()
        self.given = []
        answer = flow._answers

        def answers(images, index):
            self.given.append(index.tolist())
            return answer(images, index)
        flow._answers = answers

    def on_epoch_begin(self, epoch, logs=None):
        self.given.append("begin")


def trainable():
    model = keras.Sequential([keras.Input((6, 8, 3)), keras.layers.Flatten(),
                              keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def test_a_batch_is_the_one_asked_for(both):
    ours, theirs = both()
    for index in (3, 1, 5, 0, 6, 6, 2, 0, 1, 2, 4):
        same(ours[index], theirs[index])
    for bad in (7, 70):
        with pytest.raises(IndexError, match="7 batches"):
            ours[bad]
    same(ours[-1], theirs[6])


def test_next_and_indices_over_an_epoch_and_a_half(both):
    ours, theirs = both()
    for step in range(11):
        same(next(ours), next(theirs))
        assert (ours.batch_index, ours.total_batches_seen, ours.n, len(ours)) == \
            (theirs.batch_index, theirs.total_batches_seen, theirs.n, len(theirs))
        if step % 3 == 0:
            same(ours[step % 7], theirs[step % 7])
    ours.reset(), theirs.reset()
    same(ours.next(), next(theirs))
    assert ours.batch_index == theirs.batch_index == 1


def test_the_order_of_an_epoch_is_known(real, arrays):
    flow = stoker.keras.ImageDataGenerator(socket=real.path).flow(*arrays, batch_size=BATCH, seed=9)
    assert flow.index_array is None
    for epoch in range(3):
        labels = np.concatenate([flow[index][1] for index in range(len(flow))])
        assert np.array_equal(flow.index_array, labels)
        assert labels.tolist() == [order_at(9, epoch, COUNT, place) for place in range(COUNT)]
        flow.on_epoch_end()
        assert not np.array_equal(flow.index_array, labels)


@pytest.mark.parametrize("n", [1, 2, 3, 17, 1000, 65536])
def test_an_order_is_that_of_the_reference(n):
    from stoker._order import order
    for seed, epoch in ((0, 0), (2**64 - 1, 7), (12345678901234567, 2**32 - 1)):
        got = order(seed, epoch, n)
        assert np.array_equal(np.sort(got), np.arange(n))
        for place in {0, n // 2, n - 1}:
            assert got[place] == order_at(seed, epoch, n, place)


def test_predictions_stand_where_their_pictures_do(both, arrays):
    """Also behind next(), and again and again."""
    ours, theirs = both()
    model = echo()
    wanted = model.predict(theirs, verbose=0)
    assert np.array_equal(wanted, arrays[0][:, 0, 0] * np.float32(0.5))
    for _ in range(2):
        next(ours)
        assert np.array_equal(model.predict(ours, verbose=0), wanted)
    assert np.array_equal(model.predict(ours, steps=2, verbose=0), wanted[:16])
    ours[5]
    assert np.array_equal(model.predict(ours, verbose=0), wanted)


def test_an_evaluation_is_that_of_keras(both):
    ours, theirs = both()
    model = trainable()
    next(ours)
    for _ in range(2):
        assert model.evaluate(ours, verbose=0) == model.evaluate(theirs, verbose=0)


def test_fit_trains_on_each_epoch_in_the_daemons_order(real, arrays):
    """Keras does not shuffle the batches once more, and what it takes to learn the shapes comes
    again. Validation goes on beside it."""
    images = stoker.keras.ImageDataGenerator(socket=real.path)
    flow, val = (images.flow(*arrays, batch_size=BATCH, seed=3) for _ in range(2))
    with stoker.connect(real.path) as node:
        loader = node.loader(flow.loader._reader.request["dataset"], batch_size=BATCH, seed=3,
                             layout="NHWC")
        wanted = [[batch.index.tolist() for batch in loader.batches()] for _ in range(3)]
    seen = Labels(flow)
    model = trainable()
    model.fit(flow, epochs=2, verbose=0, callbacks=[seen], validation_data=val)
    model.fit(flow, epochs=1, verbose=0, callbacks=[seen], shuffle=False)
    epochs = []
    for given in seen.given:
        if given == "begin":
            epochs.append([])
        elif epochs:
            epochs[-1].append(given)
    assert [epoch[:7] for epoch in epochs] == wanted
    assert (flow.loader.epoch, flow.loader.position) == (3, 0)
    assert flow._batches._other is flow._batches._anchor is None  # only the stream was read


def test_steps_go_on_through_the_epoch(real, arrays):
    """With steps_per_epoch Keras goes on where it was; each fit() begins a new epoch."""
    flow = stoker.keras.ImageDataGenerator(socket=real.path).flow(
        *arrays, batch_size=BATCH, shuffle=False)
    seen = Labels(flow)
    trainable().fit(flow, epochs=3, steps_per_epoch=2, verbose=0, callbacks=[seen])
    given = [entry[0] // BATCH for entry in seen.given if entry != "begin"]
    looked = given.index(0, 1) if given.count(0) > 1 else 0
    assert given[looked:][:6] == list(range(6))


def test_a_resumed_epoch_goes_on(near, folder):
    """From the middle of an epoch, after a break; what is looked at comes again."""
    def make():
        return near.loader(folder, batch_size=4, seed=5, layout="NHWC",
                           transforms=[stoker.Resize((6, 8)), stoker.ToTensor()])
    with make() as loader:
        epochs = [[images.copy() for images, _ in loader] for _ in range(3)]
        state = {**loader.state_dict(), "epoch": 0, "position": 8}
    with make() as loader:
        loader.load_state_dict(state)
        data = stoker.keras.Dataset(loader)
        given = []
        take = data._batches.take

        def record(number):
            batch = take(number)
            given.append(batch.images.copy())
            return batch
        data._batches.take = record
        trainable().fit(data, epochs=2, verbose=0)
        count = len(data)
        assert count == 6
        wanted = epochs[0][2:] + epochs[1][:2] + epochs[2]
        assert all(np.array_equal(mine, theirs) for mine, theirs in
                   zip(given[-2 * count:], wanted, strict=True))
        assert (loader.epoch, loader.position) == (3, 0)


def test_threads_get_what_they_ask_for(both):
    ours, theirs = both()
    wanted = [theirs[index] for index in range(7)]
    faults = []

    def ask(seed):
        try:
            for index in np.random.default_rng(seed).integers(0, 7, 40):
                same(ours[int(index)], wanted[index])
        except BaseException as error:
            faults.append(error)
    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_kerass_own_enqueuer_gets_the_same(both):
    """It asks from several threads, in any order."""
    from keras.src.trainers.data_adapters.py_dataset_adapter import OrderedEnqueuer
    ours, theirs = both()
    enqueuer = OrderedEnqueuer(ours, workers=4)
    enqueuer.start()
    batches = enqueuer.get()
    for index in range(7):
        same(next(batches), theirs[index])
    enqueuer.stop()


def test_the_enqueuer_goes_on_through_the_epochs(both):
    ours, theirs = both()
    with pytest.warns(UserWarning, match="the daemon has the workers"):
        enqueuer = stoker.keras.OrderedEnqueuer(ours, use_multiprocessing=True)
    with pytest.warns(UserWarning, match="workers=4.*stokerctl set workers"):
        enqueuer.start(workers=4)
    assert enqueuer.is_running()
    batches = enqueuer.get()
    for index in [*range(7), *range(4)]:
        same(next(batches), theirs[index])
    enqueuer.stop()
    assert not enqueuer.is_running()
    with pytest.raises(ValueError, match="start"):
        next(batches)


def test_jumps_keep_one_second_reader(both):
    ours, _ = both()
    attached = []
    second = None
    for index in (5, 2, 4, 1):
        ours[index]
        second = second or ours._batches._other.loader
        attached.append(ours._batches._other.loader is second)
    assert all(attached) and second._reader.connection is not None
    assert (ours.loader.epoch, ours.loader.position) == (0, 0)


def test_an_idle_second_reader_goes(both, monkeypatch):
    from stoker import _by_number
    ours, theirs = both()
    ours[5]
    second = ours._batches._other.loader
    monkeypatch.setattr(_by_number, "IDLE_S", 0)
    same(ours[0], theirs[0])
    assert ours._batches._other is None and second._reader.connection.closed
    same(ours[5], theirs[5])


def test_without_its_backend_keras_asks_for_another(tmp_path):
    """Not for an installation of keras."""
    (tmp_path / "tensorflow.py").write_text("raise ImportError(\"No module named 'tensorflow'\")")
    said = subprocess.run(
        [sys.executable, "-c", "import stoker.keras"], capture_output=True, text=True,
        env={**os.environ, "KERAS_BACKEND": "tensorflow",
             "PYTHONPATH": f"{tmp_path}:{ROOT / 'client' / 'python'}"}).stderr
    assert "set KERAS_BACKEND to jax, torch or tensorflow" in said
    assert "pip install keras" not in said


def test_workers_are_taken(near, folder):
    with near.loader(folder, batch_size=4, transforms=[stoker.Resize((6, 8))]) as loader:
        with pytest.warns(UserWarning, match="workers=8, use_multiprocessing=True, max_queue"):
            data = stoker.keras.Dataset(loader, workers=8, use_multiprocessing=True,
                                        max_queue_size=20)
        with pytest.warns(UserWarning, match="workers=3"):
            data.workers = 3
        assert data.workers == 1 and data.use_multiprocessing is False
