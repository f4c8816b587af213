# SPDX-License-Identifier: MIT
"""Transforms that hold others (Compose, RandomApply, RandomChoice, RandomOrder) against
torchvision's on the same draws: no byte differs.

STOKER_CPU names the instruction set (plain, avx2, avx512).
"""

import collections
import itertools
import random
import re

import pytest
from test_pipeline_pillow import (FILTERS, NOTHING_LEFT, Refused, noise, random_pair, random_size,
                                  random_transform, reference, compare)


def random_combined(rng, depth):
    """A transform, or one with others inside of it."""
    if depth == 0 or rng.random() < 0.4:
        return random_transform(rng)
    held = [random_combined(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    transform = {"name": rng.choice(["Compose", "RandomApply", "RandomChoice", "RandomOrder"]),
                 "transforms": held}
    if transform["name"] == "RandomApply":
        transform["p"] = rng.choice([0, 0.5, 1])
    if transform["name"] == "RandomChoice" and rng.random() < 0.5:
        transform["p"] = [0.01 + rng.random() for _ in held]
    return transform


@pytest.mark.parametrize("seed", range(8))
def test_transforms_that_hold_others(seed):
    rng = random.Random(seed)
    done = 0
    while done < 40:
        transforms = [random_combined(rng, 2) for _ in range(rng.randint(1, 4))]
        transforms.append({"name": "Resize", "size": random_pair(rng, 60),
                           "interpolation": rng.choice(FILTERS)})
        image = noise(rng, *random_size(rng))
        key = (rng.getrandbits(64), rng.getrandbits(32), rng.getrandbits(64))
        try:
            compare(image, transforms, "uint8", "NHWC", key)
        except (Refused, ValueError) as refused:
            # An edge of 0, or a crop that is not in each picture's size: refused by both sides.
            assert re.search(NOTHING_LEFT, str(refused)), refused
            continue
        done += 1


def test_each_of_what_is_held_comes_up():
    key = (3, 1, 0)
    held = [{"name": "Pad", "padding": n} for n in range(3)]
    crop = {"name": "CenterCrop", "size": 9}
    for name, p, wanted in ("RandomApply", 0.25, {(): 0.75, (0, 1, 2): 0.25}), (
            "RandomChoice", None, {(0,): 1 / 3, (1,): 1 / 3, (2,): 1 / 3}), (
            "RandomChoice", [6, 0, 2], {(0,): 0.75, (1,): 0, (2,): 0.25}), (
            "RandomOrder", None, {order: 1 / 6 for order in itertools.permutations(range(3))}):
        transform = {"name": name, "transforms": held, "p": p}
        count = collections.Counter(
            tuple(reference.parameters([transform, crop], (9, 9), (*key[:2], position))[0])
            for position in range(3000))
        for chosen, chance in wanted.items():
            assert abs(count[chosen] - 3000 * chance) < 4 * (3000 * 0.25)**0.5, (name, count)
