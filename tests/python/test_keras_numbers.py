# SPDX-License-Identifier: MIT
"""Arrays of floats, of one, three and four channels, and what is done to single arrays: against
Keras' own ImageDataGenerator, whose transforms get the daemon's draws. Skipped without keras."""
import sys

import numpy as np
import pytest

import stoker
from real_daemon import ROOT

keras = pytest.importorskip("keras")
pytest.importorskip("scipy")
import stoker.keras  # noqa: E402 (it needs keras)
from keras.src.legacy.preprocessing.image import ImageDataGenerator as Original  # noqa: E402

sys.path.insert(0, str(ROOT / "tests" / "reference"))
import keras_reference  # noqa: E402
import positions  # noqa: E402

SEED = 5
GEOMETRY = [
    {"rotation_range": 30}, {"width_shift_range": 0.2, "height_shift_range": 3},
    {"shear_range": 20, "zoom_range": 0.3, "horizontal_flip": True},
    {"rotation_range": 50, "vertical_flip": True, "fill_mode": "reflect"},
    {"width_shift_range": [-3, 2.5], "horizontal_flip": True, "fill_mode": "constant",
     "cval": 0.5},
    {"width_shift_range": 0.3, "height_shift_range": 0.3, "vertical_flip": True}]


def floats(channels=3, count=20, most=1.0):
    return np.random.default_rng(channels).random((count, 8, 10, channels)) * most


def both(real, **arguments):
    return stoker.keras.ImageDataGenerator(socket=real.path, **arguments), Original(**arguments)


def epoch(flow):
    return np.concatenate([flow[index][0] for index in range(len(flow))])


def drawn_by_the_daemon(transform, position, size):
    key = (SEED, 0, position)
    return keras_reference.draw(transform, size,
                                lambda n: positions.draw_uniform(key, n),
                                lambda n, bound: positions.draw_below(key, n, bound))


def by_keras(original, x, transform):
    """Keras' transforms of each image with the daemon's draws."""
    size = (x.shape[2], x.shape[1])
    out = []
    for position, image in enumerate(x.astype(np.float32)):
        drawn = drawn_by_the_daemon(transform, position, size)
        out.append(original.standardize(original.apply_transform(image, drawn)))
    return np.stack(out)


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("arguments", [
    {}, {"rescale": 3.0}, {"samplewise_center": True, "samplewise_std_normalization": True},
    {"featurewise_center": True}, {"featurewise_std_normalization": True, "rescale": 0.5},
    {"data_format": "channels_first"}, {"dtype": "float16"}])
def test_without_draws(real, channels, arguments):
    """An epoch and a half; what is not changed is equal to the bit."""
    x, y = floats(channels), np.arange(20)
    if arguments.get("data_format"):
        x = x.transpose(0, 3, 1, 2)
    ours, theirs = both(real, **arguments)
    ours.fit(x), theirs.fit(x)
    options = {"batch_size": 8, "shuffle": False}
    ours, theirs = ours.flow(x, y, **options), theirs.flow(x, y, **options)
    assert ours.image_shape == x.shape[1:]
    exact = set(arguments) <= {"data_format"}
    for _ in range(5):
        (images, labels), (wanted, their_labels) = next(ours), next(theirs)
        assert images.dtype == wanted.dtype and images.shape == wanted.shape
        assert np.array_equal(labels, their_labels)
        least = 0 if exact else 2e-3 if arguments.get("dtype") else 2e-6
        assert np.abs(images.astype(float) - wanted).max() <= least


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("transform", GEOMETRY)
def test_with_the_daemons_draws(real, channels, transform):
    x = floats(channels)
    ours, theirs = both(real, **transform)
    got = epoch(ours.flow(x, x[:, 0, 0, 0], batch_size=8, shuffle=False, seed=SEED))
    assert np.abs(got - by_keras(theirs, x, transform)).max() < 2e-6
    assert np.abs(got - x).max() > 0.1


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("most", [255.0, 300.0])
def test_colours_with_the_daemons_draws(real, channels, most):
    """Pillow brightens bytes: one more or less before it is up to two behind it."""
    transform = {"brightness_range": (0.5, 1.5), "channel_shift_range": 20.0}
    x = floats(channels, most=most)
    ours, theirs = both(real, **transform)
    got = epoch(ours.flow(x, x[:, 0, 0, 0], batch_size=8, shuffle=False, seed=SEED))
    apart = np.abs(got - by_keras(theirs, x, transform))
    assert apart.max() < 2 * most / 255 and apart.mean() < 0.01


def test_bytes_and_floats_of_the_same_numbers(real):
    """By two ways through the daemon."""
    x = np.random.default_rng(1).integers(0, 256, (20, 8, 10, 3), np.uint8)
    transform = {"rotation_range": 40, "zoom_range": 0.2, "horizontal_flip": True}
    images = stoker.keras.ImageDataGenerator(socket=real.path, **transform)
    options = {"batch_size": 8, "shuffle": True, "seed": SEED}
    got = epoch(images.flow(x, x, **options))
    halves = epoch(images.flow(x * 0.5, x, **options))
    assert np.abs(got * 0.5 - halves).max() < 1e-4


def test_more_than_images(real):
    x, aux, more = floats(), np.arange(20) * 2.0, np.arange(40).reshape(20, 2)
    ours, theirs = both(real, validation_split=0.3)
    options = {"batch_size": 8, "shuffle": False}
    for given in ((x, aux), (x, [aux, more]), [x, aux]):
        for beside in ({}, {"y": np.arange(20)},
                       {"y": np.arange(20), "sample_weight": np.arange(20) / 7},
                       {"y": np.arange(20), "subset": "training", "ignore_class_split": True}):
            mine, wanted = (each.flow(given, **beside, **options)[1] for each in (ours, theirs))
            assert type(mine) is type(wanted) and len(mine) == len(wanted)
            mine, wanted = (each if isinstance(each, tuple) else (each,) for each in (mine, wanted))
            assert isinstance(mine[0], list)
            for one, other in zip(mine[0] + list(mine[1:]), wanted[0] + list(wanted[1:])):
                assert np.array_equal(one, other)
    weighted = ours.flow(x, more, sample_weight=aux, subset="training", ignore_class_split=True,
                         **options)  # Keras forgets to split the weights
    assert np.array_equal(weighted[1][2], weighted[1][1][:, 0])


def test_single_arrays(real):
    """Keras' own draws, of NumPy's generator."""
    arguments = {"rotation_range": 20, "zoom_range": 0.2, "brightness_range": (0.5, 1.5),
                 "featurewise_center": True, "rescale": 0.5, "horizontal_flip": True}
    ours, theirs = both(real, **arguments)
    x = floats(most=255.0)
    ours.fit(x), theirs.fit(x)
    assert np.array_equal(ours.mean, theirs.mean)
    for seed in range(5):
        drawn = ours.get_random_transform(x[0].shape, seed=seed)
        assert drawn == theirs.get_random_transform(x[0].shape, seed=seed)
        mine, wanted = ([images.apply_transform(x[0], drawn), images.random_transform(x[1], seed),
                         images.standardize(x[2].copy())] for images in (ours, theirs))
        assert all(map(np.array_equal, mine, wanted))


def test_a_fit_that_augments(real):
    arguments = {"featurewise_center": True, "featurewise_std_normalization": True,
                 "width_shift_range": 0.3, "fill_mode": "constant"}
    ours, theirs = both(real, **arguments)
    x = floats()
    for images in (ours, theirs):
        images.fit(x, augment=True, rounds=2, seed=3)
    assert np.array_equal(ours.mean, theirs.mean) and np.array_equal(ours.std, theirs.std)
    assert np.abs(ours.mean.ravel() - x.mean((0, 1, 2))).max() > 0.01
    got = epoch(ours.flow(x, x, batch_size=20, shuffle=False, seed=SEED))
    assert np.abs(got - by_keras(theirs, x, arguments)).max() < 1e-5


@pytest.mark.parametrize("after", [{}, {"rescale": 2.0, "samplewise_center": True},
                                   {"featurewise_center": True, "rescale": 0.25}])
def test_a_function_runs_between_two_steps(real, after):
    """After the geometry and before rescale, on one image of rank 3."""
    shapes = []

    def function(image):
        shapes.append(image.shape)
        return np.sqrt(image) + image.mean()
    transform = {"width_shift_range": 0.2, "horizontal_flip": True}
    ours, theirs = both(real, preprocessing_function=function, **transform, **after)
    x = floats()
    ours.fit(x), theirs.fit(x)
    got = epoch(ours.flow(x, x, batch_size=8, shuffle=False, seed=SEED))
    assert set(shapes) == {(8, 10, 3)}
    assert np.abs(got - by_keras(theirs, x, transform)).max() < 1e-5


def test_whitening_of_a_single_array(real):
    ours, theirs = both(real, zca_whitening=True, rescale=1 / 255)
    x = np.random.default_rng(1).integers(0, 256, (300, 4, 4, 3), np.uint8)
    ours.fit(x), theirs.fit(x)
    one = x[0].astype(np.float32)
    assert np.abs(ours.standardize(one.copy()) - theirs.standardize(one.copy())).max() < 1e-3
    got = next(ours.flow(x, batch_size=1, shuffle=False))[0]
    assert np.abs(got - theirs.standardize(one.copy())).max() < 1e-3


@pytest.mark.parametrize("arguments", [
    {}, {"data_format": "channels_first"}, {"samplewise_center": True, "rescale": 0.01},
    {"preprocessing_function": np.sqrt, "width_shift_range": 0.3}])
@pytest.mark.parametrize("augment", [False, True])
@pytest.mark.parametrize("channels", [1, 3])
def test_whitening_computed_here(real, channels, augment, arguments):
    """Of floats, and of what is augmented: Keras' matrix for Keras' draws, value for value."""
    fit = {"rotation_range": 20, "horizontal_flip": True} if augment else {}
    ours, theirs = both(real, zca_whitening=True, zca_epsilon=0.1, **arguments)
    x = np.random.default_rng(channels).random((60, 5, 4, channels)) * 255
    if arguments.get("data_format"):
        x = x.transpose(0, 3, 1, 2)
    for images in (ours, theirs):
        for name, value in fit.items():
            setattr(images, name, value)
        images.fit(x, augment=augment, rounds=3, seed=3)
        for name in fit:
            setattr(images, name, 0)
    assert np.array_equal(ours.zca_whitening_matrix, theirs.zca_whitening_matrix)
    flow = ours.flow(x, x, batch_size=8, shuffle=False, seed=SEED)
    if channels == 3 and not arguments.get("data_format"):
        transform = {"width_shift_range": arguments.get("width_shift_range", 0.0)}
        assert np.abs(epoch(flow) - by_keras(theirs, x, transform)).max() < 1e-3
    elif "width_shift_range" not in arguments:
        wanted = epoch(theirs.flow(x, x, batch_size=8, shuffle=False))
        assert np.abs(epoch(flow) - wanted).max() < 1e-3
    if not arguments.get("preprocessing_function"):
        with pytest.raises(ValueError, match="numbers, these have"):
            ours.flow(x[:, :, :-1] if not arguments.get("data_format") else x[..., :-1])


def test_whitening_of_bytes_that_are_augmented(real):
    """And of bytes again without: the daemon's."""
    ours, theirs = both(real, zca_whitening=True, rescale=1 / 255, rotation_range=15)
    x = np.random.default_rng(1).integers(0, 256, (90, 4, 4, 3), np.uint8)
    for images in (ours, theirs):
        images.fit(x, augment=True, rounds=2, seed=4)
        images.rotation_range = 0
    wanted = epoch(theirs.flow(x, x, batch_size=8, shuffle=False))
    assert np.abs(epoch(ours.flow(x, x, batch_size=8, shuffle=False)) - wanted).max() < 1e-3
    assert ours._transform().get("statistics") is None
    ours.fit(x), theirs.fit(x)
    assert ours._transform()["zca_whitening"] and ours._transform()["statistics"]
    again = epoch(theirs.flow(x, x, batch_size=8, shuffle=False))
    assert np.abs(epoch(ours.flow(x, x, batch_size=8, shuffle=False)) - again).max() < 2e-3
    assert np.abs(again - wanted).max() > 0.1


def test_numbers_need_the_generator_alone(near, tmp_path):
    np.save(tmp_path / "x.npy", floats(4).astype(np.float32))
    path = str(tmp_path / "x.npy")
    alone = stoker.ImageDataGenerator()
    with near.loader(path, batch_size=20, transforms=[alone], shuffle=False) as loader:
        images, labels = next(iter(loader))
        assert images.shape == (20, 4, 8, 10) and labels.tolist() == list(range(20))
    for transforms in ([], [stoker.ToTensor()], [stoker.Resize((4, 4)), alone],
                       [alone, stoker.RandomErasing()]):
        with pytest.raises(stoker.PipelineError, match="float32 numbers.*only transform"):
            near.loader(path, batch_size=4, transforms=transforms)
    with pytest.raises(stoker.PipelineError, match="of 3 channels, and the samples have 4"):
        near.loader(path, batch_size=4, transforms=[stoker.ImageDataGenerator(
            featurewise_center=True, featurewise_mean=[1, 2, 3])])
    with pytest.raises(stoker.Error, match="float32 numbers: give the array as uint8"):
        near.fit(path)
    np.save(tmp_path / "x.npy", np.zeros((4, 8, 8, 2), np.float32))
    with pytest.raises(stoker.PipelineError, match="1, 3 or 4"):
        near.loader(path, batch_size=4, transforms=[alone])
