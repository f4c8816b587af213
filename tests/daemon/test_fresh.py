# SPDX-License-Identifier: MIT
"""Files that change under a dataset: before their first read they are bad samples; who attaches
next sees lists, labels and folders as they are then, and who reads goes on with what it had."""

import pytest
from PIL import Image

from harness import NEWS

PLAIN = {"transforms": [{"name": "Resize", "size": [8, 8]}], "dtype": "uint8", "layout": "NHWC",
         "shuffle": False, "epochs": 1}


def write_folder(root, count=64, first=0):
    """One class of gray pictures: the level of each is its number."""
    (root / "a").mkdir(parents=True, exist_ok=True)
    for number in range(first, first + count):
        Image.new("RGB", (8, 8), (number,) * 3).save(root / "a" / f"{number:03}.bmp")
    return root


def levels(peer):
    """The level of each picture of an epoch, in order; the name of the error for a batch of it."""
    got = []
    while (message := peer.receive()).name != "end":
        if message.name == "ring":
            peer.follow(message)
        elif message.name == "bad_sample":
            got.append(message.fields["name"])
        elif message.name not in NEWS:
            images = peer.ring.read(message.fields["runs"])["image"]
            got += [int(image[0, 0, 0]) for image in images]
            peer.release(message)
    return got


@pytest.mark.parametrize("how", ["size", "time", "joined"])
def test_changed_before_the_first_read(daemon, tmp_path, how):
    """Rewritten after the attach and before the first read: each such picture is a bad sample, not
    its new pixels beside the fingerprint of before; who comes after that sees them."""
    data, other = write_folder(tmp_path / "data"), write_folder(tmp_path / "other", 8, 200)
    wish = {**PLAIN, "batch_size": 1, "prefetch": 1, "inflight": 1}
    if how == "joined":
        wish["dataset"] = {"parts": [{"path": str(other)}, {"path": str(data)}]}
    before = list(range(200, 208)) * (how == "joined") + list(range(64))
    with daemon.connect() as peer, daemon.connect() as after:
        assert peer.attach(data, **wish).name == "attached"
        fingerprint = peer.attached["dataset_fingerprint"]
        for number in range(40, 64):
            path = data / "a" / f"{number:03}.bmp"
            size = path.stat().st_size
            level = 255 - number
            Image.new("RGB", (8, 8) if how == "time" else (90, 90), (level,) * 3).save(path)
            assert (path.stat().st_size == size) == (how == "time")
        got = levels(peer)
        assert got[:-24] == before[:-24] and set(got[-24:]) == {"sample_changed"}, got
        assert after.attach(data, **wish).name == "attached"
        assert levels(after)[-24:] == [255 - number for number in range(40, 64)]
        assert how == "time" or after.attached["dataset_fingerprint"] != fingerprint
