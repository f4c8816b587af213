# SPDX-License-Identifier: MIT
"""stoker.keras.ImageDataGenerator: its arguments, its use in model.fit(), what it refuses."""
import gc
import os

import numpy as np
import pytest

import stoker

keras = pytest.importorskip("keras")
import keras_code as code  # noqa: E402
import stoker.keras  # noqa: E402 (it needs keras)
from keras.src.legacy.preprocessing.image import (  # noqa: E402
    ImageDataGenerator as Originals)
from keras.src.trainers.epoch_iterator import EpochIterator  # noqa: E402


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    """Where the secret of producers lies."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)


def generator(real, **arguments):
    return stoker.keras.ImageDataGenerator(socket=real.path, **arguments)


def array(count=20, channels=3):
    return np.random.default_rng(1).integers(0, 256, (count, 8, 10, channels), np.uint8)


def epoch(flow):
    return [flow[i] for i in range(len(flow))]


def test_the_signature_is_kerass():
    """Every argument of the class in Keras, with its default."""
    from inspect import signature
    from keras.src.legacy.preprocessing.image import ImageDataGenerator as original
    ours = signature(stoker.keras.ImageDataGenerator).parameters
    for name, parameter in signature(original).parameters.items():
        assert ours[name].default == parameter.default, name


def test_flow_gives_what_stands_beside_a_picture(real):
    x, y = array(), np.arange(20) * 10
    flow = generator(real).flow(x, y, batch_size=8, seed=3, sample_weight=y / 7)
    assert (flow.samples, len(flow), flow.image_shape) == (20, 3, (8, 10, 3))
    seen = []
    for images, labels, weights in epoch(flow):
        assert images.dtype == np.float32 and np.array_equal(images, x[labels // 10])
        assert np.array_equal(weights, labels / 7)
        seen += labels.tolist()
    assert sorted(seen) == y.tolist() and seen != y.tolist()
    assert [label for _, labels, _ in epoch(flow) for label in labels] == seen
    flow.on_epoch_end()
    assert [label for _, labels, _ in epoch(flow) for label in labels] != seen


def test_flow_of_gray_of_channels_first_and_of_floats(real):
    x = array(channels=1)
    gray = generator(real, rescale=0.5).flow(x.astype(float), batch_size=20, shuffle=False)
    assert gray.image_shape == (8, 10, 1) and np.array_equal(next(gray), x * np.float32(0.5))
    x = array().transpose(0, 3, 1, 2)
    planes = generator(real, data_format="channels_first").flow(x, batch_size=20, shuffle=False)
    assert planes.image_shape == (3, 8, 10) and np.array_equal(next(planes), x)


def test_flow_in_half_the_bits(real, folder):
    x = array()
    half = generator(real, rescale=0.5, dtype="float16")
    got = next(half.flow(x, batch_size=20, shuffle=False))
    assert got.dtype == np.float16 and np.array_equal(got, (x * 0.5).astype(np.float16))
    for mode in ("sparse", "categorical"):
        _, labels = next(half.flow_from_directory(folder, target_size=(9, 9), class_mode=mode))
        assert labels.dtype == np.float16


def test_flow_splits_as_keras_does(real):
    images = generator(real, validation_split=0.3)
    x, y = array(), np.arange(20)
    for subset, wanted in (("validation", range(6)), ("training", range(6, 20))):
        flow = images.flow(x, y, batch_size=4, subset=subset, ignore_class_split=True)
        assert sorted(label for _, labels in epoch(flow) for label in labels) == list(wanted)
    for each in (images, keras.src.legacy.preprocessing.image.ImageDataGenerator(
            validation_split=0.3)):
        assert len(each.flow(x, y % 2, batch_size=4, subset="training")) == 4
        with pytest.raises(ValueError):  # each label is there once
            each.flow(x, y, batch_size=4, subset="training")
        with pytest.raises(ValueError):
            each.flow(x, y // 10, batch_size=4, subset="training")


def test_statistics(real):
    """Per channel and after rescale, as in Keras."""
    images = generator(real, featurewise_center=True, featurewise_std_normalization=True,
                       rescale=0.25)
    x = array()
    images.fit(x)
    scaled = x * 0.25
    wanted = (scaled - scaled.mean((0, 1, 2))) / (scaled.std((0, 1, 2)) + 1e-6)
    got = next(images.flow(x, batch_size=20, shuffle=False))
    assert np.abs(got - wanted).max() < 1e-4
    with pytest.raises(stoker.PipelineError, match="featurewise"):
        generator(real, featurewise_center=True).flow(x)


def test_whitening(real):
    """Compared with Keras; a validation set uses the statistics of the training set."""
    from keras.src.legacy.preprocessing.image import ImageDataGenerator as original
    arguments = {"featurewise_center": True, "zca_whitening": True, "rescale": 1 / 255}
    x, other = array(300)[:, :6, :6], array(20)[:, :6, :6]
    images, theirs = generator(real, **arguments), original(**arguments)
    images.fit(x)
    theirs.fit(x)
    for pictures_ in (x, other):
        got = next(images.flow(pictures_, batch_size=20, shuffle=False))
        wanted = next(theirs.flow(pictures_, batch_size=20, shuffle=False))
        assert np.abs(got - wanted).max() < 1e-3 < np.abs(wanted).max()


@pytest.mark.parametrize("options", [
    {}, {"channels": 1}, {"data_format": "channels_first", "rescale": 1 / 255},
    {"horizontal_flip": True, "brightness_range": (.5, 1.5), "samplewise_center": True},
    {"featurewise_std_normalization": True, "rotation_range": 90},
], ids=lambda options: next(iter(options), "plain"))
def test_a_function_runs_in_producers(real, options):
    """With Keras' values, and where something is drawn with other ones in each epoch."""
    options = dict(options)
    x = array(channels=options.pop("channels", 3))
    if "data_format" in options:
        x = x.transpose(0, 3, 1, 2)
    images = generator(real, preprocessing_function=code.centred, **options)
    images.fit(x / 2)
    flow = images.flow(x, np.arange(20), batch_size=7, shuffle=False)
    assert flow._prepare is None and flow.image_shape == x.shape[1:]
    first = epoch(flow)
    flow.on_epoch_end()
    second = epoch(flow)
    assert [len(answers) for _, answers in first] == [7, 7, 6] and first[0][0].dtype == np.float32
    drawn = {"horizontal_flip", "rotation_range"} & options.keys()
    theirs = Originals(preprocessing_function=code.centred, **options)
    theirs.fit(x / 2)
    if not drawn:
        wanted = theirs.flow(x, np.arange(20), batch_size=7, shuffle=False)
        assert np.array_equal(first[1][0], wanted[1][0])
    assert np.array_equal(first[0][0], second[0][0]) != bool(drawn)


def test_a_function_of_floats_and_one_that_cannot_leave_run_here(real, caplog):
    x = array() / 3
    images = generator(real, preprocessing_function=code.Held())
    got = next(images.flow(x, batch_size=20, shuffle=False))
    assert np.abs(got - x - 1).max() < 1e-3 and not caplog.messages
    got = next(images.flow(array(), batch_size=20, shuffle=False))
    assert np.abs(got - array() - 1).max() < 1e-3
    assert "preprocessing_function runs in this process" in caplog.text


def test_a_batch_is_given_back_at_once(real):
    """Also after a function that fails, whose exception keeps its arrays."""
    errors = []
    flow = generator(real, preprocessing_function=code.Held(fails=True)).flow(
        array(), batch_size=4)
    for _ in range(2):
        try:
            next(flow)
        except ZeroDivisionError as error:
            errors.append(error)
    assert len(errors) == 2 and not flow.loader._reader.connection.held


@pytest.mark.parametrize("mode", ["categorical", "sparse", "binary", "input", None])
def test_class_modes(real, folder, mode):
    flow = generator(real, rescale=1 / 255).flow_from_directory(
        folder, target_size=(9, 11), batch_size=6, class_mode=mode, shuffle=False)
    names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    assert flow.class_indices == {name: label for label, name in enumerate(names)}
    assert flow.num_classes == len(names)
    got = next(flow)
    with stoker.connect(real.path) as node:
        loader = node.loader(folder, batch_size=6, shuffle=False, layout="NHWC", transforms=[
            stoker.Resize((9, 11), interpolation="nearest"), stoker.ToTensor()])
        images, labels = next(iter(loader))
    first = got if mode is None else got[0]
    assert first.shape == (6, 9, 11, 3) and np.abs(first - images).max() < 1e-6
    if mode == "categorical":
        assert np.array_equal(got[1], np.eye(len(names))[labels])
    elif mode == "input":
        assert np.array_equal(got[1], first)
    elif mode is not None:
        assert got[1].dtype == np.float32 and np.array_equal(got[1], labels)


def test_a_folder_is_split_as_keras_does(real, folder):
    """The first part of each class is for validation; both flows at the same time."""
    images = generator(real, validation_split=0.3)
    original = keras.src.legacy.preprocessing.image.ImageDataGenerator(validation_split=0.3)
    for subset in ("validation", "training"):
        wanted = original.flow_from_directory(folder, target_size=(24, 24), batch_size=64,
                                              shuffle=False, class_mode="sparse", subset=subset)
        flow = images.flow_from_directory(folder, target_size=(24, 24), batch_size=64,
                                          shuffle=False, class_mode="sparse", subset=subset)
        pixels, labels = next(wanted)
        assert flow.samples == wanted.samples
        got = next(flow)
        assert np.array_equal(got[0], pixels) and np.array_equal(got[1], labels)


def test_the_memory_of_an_array_goes_with_its_flow(real, tmp_path, monkeypatch):
    """No file has it, so none is left when the process is killed."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nothing-here"))

    def held():
        return sum("memfd:stoker-images" in os.readlink(f"/proc/self/fd/{fd}")
                   for fd in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{fd}"))
    gc.collect()  # those of other tests
    before = held()
    flow = generator(real).flow(array(), shuffle=False)
    assert np.array_equal(next(flow), array()[:32]) and held() > before
    del flow
    gc.collect()
    assert held() == before


def test_what_is_refused(real, folder):
    images = generator(real)
    whitens = generator(real, zca_whitening=True)
    for call in (lambda: images.flow(array()[0]), lambda: images.flow(array(channels=2)),
                 lambda: images.flow(array(), y=[1]), lambda: images.flow((array(), np.zeros(3))),
                 lambda: whitens.fit(array()[0]),
                 lambda: images.flow(array(), subset="all"),
                 lambda: images.flow_from_directory(folder, color_mode="cmyk"),
                 lambda: images.flow_from_directory(folder, color_mode="bgr"),
                 lambda: images.flow_from_directory(folder, class_mode="none"),
                 lambda: images.flow_from_directory(folder, classes=["other"]),
                 lambda: generator(real, interpolation_order=3),
                 lambda: generator(real, dtype="float64"),
                 lambda: generator(real, validation_split=2),
                 lambda: generator(real, data_format="channels")):
        with pytest.raises(ValueError):
            call()


def test_fit_takes_two_of_them(real):
    """Training and validation at the same time, two epochs."""
    x, y = array(40), np.arange(40) % 2
    images = generator(real, rotation_range=15, width_shift_range=0.1, horizontal_flip=True,
                       rescale=1 / 255, validation_split=0.25)
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(2, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    history = model.fit(images.flow(x, y, batch_size=8, subset="training"), epochs=2, verbose=0,
                        validation_data=images.flow(x, y, batch_size=8, subset="validation"))
    assert len(history.history["val_loss"]) == 2


def test_fit_trains_on_each_epoch_once(daemon, node):
    """Keras takes batches before it begins: they come again, also in a resumed run."""
    loader = node.loader("/data/20", batch_size=4, epochs=2, timeout=20)
    data = stoker.keras.Dataset(loader)
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(10, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    assert model.fit(data, verbose=0).epoch == [0] and (loader.epoch, loader.position) == (1, 0)
    model.fit(data, verbose=0)
    assert (loader.epoch, loader.position) == (2, 0)
    loader.set_epoch(0)
    state = {**loader.state_dict(), "position": 8}
    loader.load_state_dict(state)
    data = stoker.keras.Dataset(loader)
    look = EpochIterator(data)  # as Keras does it
    next(iter(look))
    look.reset()
    assert loader.state_dict() == state
