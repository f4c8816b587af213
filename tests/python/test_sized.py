# SPDX-License-Identifier: MIT
"""Rings with pictures of several sizes (kind 2) as a daemon must not send them: what is outside of
a field is never given. Each case is one that is taken, with one number changed."""
import struct

import numpy as np
import pytest

from fake_daemon import Segment
from stoker import _ring
from stoker.errors import ProtocolError

SLOTS, STRIDE, NUMBER = 6, 48, 7  # pictures of up to 4 x 4, of three bytes a pixel
AT = 128 + 3 * 256  # the fourth row, behind image, label and index


def opened(shape=(0, 0, 3), kind=2, corrupt=None, stride=STRIDE, dtype="uint8"):
    segment = Segment(SLOTS, NUMBER, corrupt=corrupt, wide=[
        ("mask", dtype, kind, shape, stride, None)])
    segment.raw[0][:] = np.arange(SLOTS * stride).reshape(SLOTS, stride) % 251
    return _ring.map_fd(segment.fd, segment.bytes, NUMBER)


def runs_of(*runs, size=(2, 4), origin=0):
    return _ring.Sized(runs, size, origin)


def test_the_samples_of_a_run_lie_one_behind_the_other():
    ring = opened()
    runs = runs_of((3, 2), origin=2)
    assert ring.sized and ring.has(runs, 2)
    bytes_ = np.arange(SLOTS * STRIDE) % 251
    at = 2 * STRIDE + 1 * 24  # the second sample of the run that begins in slot 2
    assert np.array_equal(ring.parts("mask", runs)[0],
                          bytes_[at:at + 48].reshape(2, 2, 4, 3))
    assert ring.has(runs_of((5, 1), size=(4, 4), origin=5), 1)


@pytest.mark.parametrize("runs", [
    [(3, 2)],  # a batch without a size
    runs_of((3, 2), size=(0, 4)),
    runs_of((3, 2), size=(5, 4)),  # larger than a slot
    runs_of((3, 2), size=(16384, 16384)),
    runs_of((3, 2), origin=4),  # behind the first slot
    runs_of((3, 1), (4, 1)),
    runs_of((5, 2)),
    runs_of((3, 1)),  # one sample, of two
], ids=repr)
def test_a_batch_that_is_not_right_is_refused(runs):
    ring = opened()
    assert ring.has(runs_of((3, 2)), 2) and not ring.has(runs, 2)


@pytest.mark.parametrize("row", [
    {"shape": (0, 4, 3)}, {"shape": (0, 3, 0)}, {"shape": (0, 0, 0)}, {"shape": (3, 0)},
    {"shape": ()}, {"stride": 2}, {"stride": 0}, {"dtype": "float32", "stride": 46},
    {"corrupt": lambda header: header[:AT + 216] + struct.pack("=Q", 2**62) + header[AT + 224:]},
    {"corrupt": lambda header: header[:AT + 88] + struct.pack("=3I", 0, 0, 2**31) +
     header[AT + 100:]},
], ids=str)
def test_a_field_that_is_not_right_is_refused(row):
    with pytest.raises(ProtocolError, match="mask"):
        opened(**row)


def test_a_field_of_a_kind_that_nobody_knows_is_left_out():
    assert "mask" not in opened(kind=3).fields
