# SPDX-License-Identifier: MIT
"""Digests of arrays: of what they hold now, however little of it has changed."""
import hashlib

import numpy as np
import pytest

from stoker.produce import contents


def plain(array):
    return hashlib.blake2b(array.tobytes(), digest_size=16).digest()


def one_number(array):
    array.reshape(-1)[77_777] += 1


def two_swapped(array):
    array[[5, 9]] = array[[9, 5]]


def two_within_a_row(array):
    array[3, [1, 2]] = array[3, [2, 1]]


def the_last(array):
    array.reshape(-1)[-1] += 1


def a_shift(array):
    array[:] = np.roll(array, 1)


@pytest.mark.parametrize("dtype", ("uint8", "float32", ">f8", "int64"))
@pytest.mark.parametrize("change", (one_number, two_swapped, two_within_a_row, the_last, a_shift))
def test_a_large_array_that_changed_in_place(dtype, change):
    array = np.random.default_rng(1).integers(0, 200, (1031, 1025)).astype(dtype)
    assert contents.digest(array) == contents.digest(array) == plain(array)
    before = plain(array)
    change(array)
    assert contents.digest(array) == plain(array) != before


def test_arrays_of_any_kind():
    for array in (np.zeros((0, 3)), np.array(3.5), np.zeros(1 << 18, "M8[s]"), np.arange(10)[::2],
                  np.ones((2000, 1000)).T, np.zeros(200_000, [("a", "u1"), ("b", "f8")])):
        assert contents.digest(array) == contents.digest(array) == plain(array)


def test_nothing_is_kept_of_arrays_that_are_gone():
    array = np.zeros(1 << 20)
    contents.digest(array)
    key = id(array)
    assert key in contents._kept
    del array
    assert key not in contents._kept
