# SPDX-License-Identifier: MIT
"""The index of tar shards: found again only while the shards are what they were, small, and right
with keys of all lengths and labels of all widths.

STOKER_BUILD names the build folder that holds tests/unit/dataset/shard_tool.
"""

import ctypes
import json
import os
import random
import struct

import pytest

from test_dataset_shards import opened, write_tar


class Hash128(ctypes.Structure):
    """XXH128_hash_t of xxhash.h."""

    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def hash_of(data):
    """Its XXH3-128 hash, as base/digest.h has it."""
    function = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    function.restype = Hash128
    hashed = function(data, ctypes.c_size_t(len(data)))
    return hashed.high.to_bytes(8, "big") + hashed.low.to_bytes(8, "big")


def test_kept(tmp_path):
    """A kept index opens as the walk does, and only while the shards are what they were."""
    keep = tmp_path / "keep"
    keep.mkdir(mode=0o700)
    path = str(tmp_path / "a-{0..2}.tar")
    for number in range(3):
        write_tar(str(tmp_path / f"a-{number}.tar"), [member for at in range(40) for member in (
            (f"{number}{at:04}.jpg", b"x" * at), (f"{number}{at:04}.cls", b"c%d" % (at % 7)),
            (f"{number}{at:04}.txt", b"t" * at))])
    keys = {"components": "txt"}
    walked = opened(path, **keys)
    assert opened(path, str(keep), **keys) == walked and len(os.listdir(keep)) == 1
    kept = keep / os.listdir(keep)[0]
    data = kept.read_bytes()
    loaded = opened(path, str(keep), **keys)
    assert loaded[:1] + loaded[2:] == walked[:1] + walked[2:]
    # It is what is used: with another fingerprint in it, and the checksum of that.
    forged = data[:32] + bytes(16) + data[48:-16]
    kept.write_bytes(forged + hash_of(forged))
    assert opened(path, str(keep), **keys)[0] == "0" * 32
    for cut in (0, 10, len(data) // 2, len(data) - 1):
        kept.write_bytes(data[:cut])
        assert opened(path, str(keep), **keys) == walked
        assert kept.read_bytes() == data
    kept.write_bytes(data[:300] + bytes([data[300] ^ 1]) + data[301:])
    assert opened(path, str(keep), **keys) == walked
    write_tar(str(tmp_path / "a-1.tar"), [("new.jpg", b""), ("new.cls", b"z"), ("new.txt", b"")])
    fresh = opened(path, str(keep), **keys)
    assert fresh == opened(path, **keys) and fresh[0] != walked[0]


@pytest.mark.parametrize("shuffled", [False, True])
def test_index_is_small(tmp_path, shuffled):
    """20,000 samples with a picture and a .cls: 24 bytes each at most, also when it was kept and
    when neighbours are called nearly nothing alike."""
    keep = tmp_path / "keep"
    keep.mkdir(mode=0o700)
    path = str(tmp_path / "a.tar")
    keys = [f"n{at % 1000 * 7919:08}_{at}" for at in range(20000)]
    if shuffled:
        random.Random(1).shuffle(keys)
    write_tar(path, [member for at, key in enumerate(keys) for member in
                     ((f"{key}.jpg", b"x"), (f"{key}.cls", b"%d" % (at % 1000)))])
    sizes = [opened(path, str(keep))[1] for _ in range(2)]
    assert max(sizes) <= 24 * 20000, sizes


def test_keys_of_all_lengths(tmp_path):
    """Keys that share all, much and nothing with the one before, with endings that come and go."""
    draw = random.Random(3)
    keys, names = set(), []
    while len(names) < 300:
        begin = names[-1][0][:draw.choice([0, 3, 255, 256, 300])] if names else ""
        key = begin + "k" * draw.choice([0, 1, 62, 63, 64, 65, 400]) + str(draw.randrange(100))
        if key not in keys:
            keys.add(key)
            names.append((key, draw.choice(["jpg", "jpg", "png", "seg.webp"])))
    path = str(tmp_path / "a.tar")
    write_tar(path, [(f"{key}.{ending}", b"x") for key, ending in names], "pax")
    samples = opened(path, image="jpg;png;seg.webp")[4]
    assert [sample[0] for sample in samples] == [f"a.tar/{key}.{end}" for key, end in names]


@pytest.mark.parametrize("last", [127, 128, -128, -129, 2**15, 2**31 - 1, -2**31 - 1, 2**63 - 1,
                                  -2**63, 0.5])
def test_labels_of_all_widths(tmp_path, last):
    """What the largest label needs changes no other."""
    labels = [0, -1, 1, 127, -128, 77, last, 5]
    path = str(tmp_path / "a.tar")
    write_tar(path, [member for at, label in enumerate(labels) for member in
                     ((f"{at}.jpg", b"x"), (f"{at}.json", json.dumps({"l": label}).encode()))])
    found = [sample[1] for sample in opened(path, label="json:l")[4]]
    form = "<f" if last == 0.5 else "<q"
    assert found == [struct.pack(form, label) for label in labels]
