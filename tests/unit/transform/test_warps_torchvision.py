# SPDX-License-Identifier: MIT
"""The transforms that warp pictures, and the families that draw from many operations, against
torchvision on the same draws: no byte by more than one, and hardly any by that.

STOKER_CPU names the instruction set (plain, avx2, avx512), STOKER_CASES how many lists to try.
"""

import random

import numpy as np
import pytest
from PIL import Image
from test_pipeline_pillow import CASES, Refused, Tool, noise, random_fill, random_size, reference
from torchvision.transforms import autoaugment

FILTERS = ["nearest", "bilinear", "bicubic"]


def pixels(image, transforms, key):
    return Tool(transforms, "uint8", "NHWC").make(image, key), reference.expected(
        image, transforms, "uint8", "NHWC", *key)


def close(image, transforms, key):
    """The last bit of a sine depends on libm, and filters truncate: a value that is whole but for
    that bit may be one less."""
    got, want = pixels(image, transforms, key)
    differ = np.abs(got.reshape(want.shape).astype(int) - want)
    nearest = all(transform.get("interpolation", "nearest") == "nearest"
                  for transform in transforms)
    assert differ.max() <= (0 if nearest else 1) and (differ > 0).mean() < 0.02, (
        image.size, transforms, key, differ.max(), np.argwhere(differ)[:3])


def random_look(rng):
    return {"interpolation": rng.choice(FILTERS), "fill": random_fill(rng)}


def random_interval(rng, low, high):
    return sorted([rng.uniform(low, high), rng.uniform(low, high)])


def random_rotation(rng):
    transform = {"name": "RandomRotation", "expand": rng.random() < 0.4, **random_look(rng)}
    transform["degrees"] = rng.choice([
        rng.uniform(0, 180), random_interval(rng, -700, 700), 0,
        [rng.choice([-90, 0, 45, 90, 180, 270, 360, 450])] * 2])
    if rng.random() < 0.3:
        transform["center"] = [rng.randint(-20, 200), rng.choice([rng.uniform(0, 90), 31])]
    return transform


def random_affine(rng):
    transform = {"name": "RandomAffine", "degrees": rng.choice([0, 30, [-180, 180]]),
                 **random_look(rng)}
    if rng.random() < 0.5:
        transform["translate"] = [rng.random(), rng.choice([0, 0.1, 1])]
    if rng.random() < 0.5:
        transform["scale"] = random_interval(rng, 0.1, 3)
    if rng.random() < 0.5:
        transform["shear"] = rng.choice([10, [-30, 40], [-10, 10, -20, 30], [0, 0, 5, 80]])
    if rng.random() < 0.3:
        transform["center"] = [rng.randint(-20, 200), rng.uniform(0, 90)]
    return transform


def random_perspective(rng):
    return {"name": "RandomPerspective", "p": rng.choice([0.5, 1]),
            "distortion_scale": rng.choice([0.5, rng.uniform(0, 0.9)]), **random_look(rng)}


def random_family(rng):
    bins = rng.choice([31, 31, 10])
    return rng.choice([
        lambda: {"name": "AutoAugment", "policy": rng.choice(["imagenet", "cifar10", "svhn"])},
        lambda: {"name": "RandAugment", "num_ops": rng.randint(0, 4),
                 "magnitude": rng.randrange(bins), "num_magnitude_bins": bins},
        lambda: {"name": "TrivialAugmentWide", "num_magnitude_bins": bins}])() | random_look(rng)


def random_key(rng):
    return rng.getrandbits(64), rng.getrandbits(32), rng.getrandbits(64)


@pytest.mark.parametrize("make", [random_rotation, random_affine, random_perspective,
                                  random_family])
def test_as_torchvision(make):
    rng = random.Random(make.__name__)
    for _ in range(CASES):
        transforms = [make(rng)]
        if rng.random() < 0.3:
            transforms.insert(0, {"name": "RandomHorizontalFlip"})
        if rng.random() < 0.3:
            transforms.insert(0, {"name": "Resize", "size": [rng.randint(1, 99), 40],
                                  "interpolation": "nearest"})
        if rng.random() < 0.3:
            transforms.append(make(rng))
        # Moves behind a warp, and only a part of it wanted.
        transforms += [{"name": "RandomVerticalFlip"}, {"name": "CenterCrop", "size": [50, 41]}]
        close(noise(rng, *random_size(rng)), transforms, random_key(rng))


@pytest.mark.parametrize("degrees", [76.5, -76.5, 13.5])
def test_the_middle_stays(degrees):
    """There places are whole numbers up to the fifteenth digit of a sine, which Python rounds."""
    rng = random.Random(1)
    turn = [{"name": "RandomRotation", "degrees": [degrees, degrees], "interpolation": "bicubic"},
            {"name": "CenterCrop", "size": 29}]
    for _ in range(9):
        got, want = pixels(noise(rng, 45, 37), turn, (1, 0, 0))
        assert (got.reshape(want.shape) == want).all()


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 1), (2, 3), (3, 2)])
def test_odd_pictures(size):
    rng = random.Random(size[0])
    crop = {"name": "CenterCrop", "size": 5}
    for _ in range(60):
        image = noise(rng, *size)
        for transform in random_rotation(rng), random_affine(rng), random_family(rng):
            close(image, [transform, crop], random_key(rng))
        perspective = {"name": "RandomPerspective", "p": 1, "distortion_scale": 1}
        Tool([perspective, crop], "uint8", "NHWC").make(image, random_key(rng))
        if min(size) == 1:
            close(image, [perspective, crop], random_key(rng))


@pytest.mark.parametrize("policy", ["imagenet", "cifar10", "svhn"])
def test_every_row_of_a_policy(policy):
    """Drawn so often that each of the 25 rows is met."""
    rows = set()
    crop = {"name": "CenterCrop", "size": [40, 60]}
    rng = random.Random(policy)
    for position in range(300):
        key = (9, 1, position)
        rows.add(reference.draw_below(key, 0, 25))
        close(noise(rng, 60, 40), [{"name": "AutoAugment", "policy": policy}, crop], key)
    assert len(rows) == 25


@pytest.mark.parametrize("family", [autoaugment.RandAugment, autoaugment.TrivialAugmentWide])
def test_every_operation_at_every_strength(family):
    """Each of the names that torchvision has, at its magnitudes and both signs."""
    rng = random.Random(2)
    transform = {"name": family.__name__, "interpolation": "bilinear"}
    crop = {"name": "CenterCrop", "size": [40, 60]}
    met = set()
    for position in range(1500):
        key = (11, 2, position)
        if family is autoaugment.RandAugment:
            transform.update(num_ops=1, magnitude=position % 31)
        image = noise(rng, 60, 40)
        close(image, [transform, crop], key)
        drawn = reference.parameters([transform], image.size, key)[0]
        met.add((drawn[0] if family is autoaugment.RandAugment else drawn)[0])
    names = (family()._augmentation_space(31, (40, 60)) if family is autoaugment.RandAugment
             else family()._augmentation_space(31))
    assert met == set(names)


@pytest.mark.parametrize("transform, words", [
    ({"name": "RandomRotation"}, "RandomRotation needs 'degrees'"),
    ({"name": "RandomRotation", "degrees": [9, 3]}, "the other way round"),
    ({"name": "RandomRotation", "degrees": 1e9}, "'degrees' must be from"),
    ({"name": "RandomRotation", "degrees": 3, "interpolation": "lanczos"},
     "one of nearest, bilinear, bicubic"),
    ({"name": "RandomRotation", "degrees": 3, "interpolation": ""}, "no interpolation"),
    ({"name": "RandomRotation", "degrees": 3, "center": 4}, "two numbers"),
    ({"name": "RandomRotation", "degrees": 3, "expand": True}, "a size for each angle"),
    ({"name": "RandomAffine", "degrees": 3, "shear": 90}, "'shear' must be from"),
    ({"name": "RandomAffine", "degrees": 3, "shear": [1, 2, 3]}, "along x and along y"),
    ({"name": "RandomAffine", "degrees": 3, "shear": [1, 2, 4, 3]}, "the other way round"),
    ({"name": "RandomAffine", "degrees": 3, "scale": [0, 1]}, "'scale' must be from"),
    ({"name": "RandomAffine", "degrees": 3, "translate": [0, 1.5]}, "'translate' must be from"),
    ({"name": "RandomPerspective", "distortion_scale": 2}, "'distortion_scale' must be from"),
    ({"name": "AutoAugment", "policy": "cifar"}, "did you mean 'cifar10'"),
    ({"name": "RandAugment", "magnitude": 31}, "must be less than"),
    ({"name": "RandAugment", "num_ops": 17}, "'num_ops' must be from"),
    ({"name": "TrivialAugmentWide", "num_magnitude_bins": 1}, "must be from 2"),
])
def test_refused_with_words(transform, words):
    with pytest.raises(Refused, match=words.replace("(", r"\(")):
        Tool([{"name": "CenterCrop", "size": 9}, transform])


def test_canonical_text():
    text = Tool([{"name": "CenterCrop", "size": 9}, {"name": "RandomRotation", "degrees": 15},
                 {"name": "RandomAffine", "degrees": 0, "shear": 5, "center": [1, 2]},
                 {"name": "AutoAugment", "policy": "svhn"}]).text
    assert "RandomRotation(degrees=(-15, 15), interpolation=nearest, expand=False" in text
    assert "RandomAffine(degrees=(0, 0), translate=None, scale=None, shear=(-5, 5)" in text
    assert "AutoAugment(policy=svhn, interpolation=nearest, fill=(0, 0, 0))" in text
