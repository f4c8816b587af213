# SPDX-License-Identifier: MIT
"""What a program holds is never in its own way, also behind bad samples and in a small ring: it
becomes the program's own before the ring needs it."""
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import stoker
from real_daemon import RealDaemon, binary

SIZE = 96  # batches of 8 are too large to be copied at once
TRANSFORMS = [stoker.Resize((SIZE, SIZE)), stoker.ToTensor()]


@pytest.fixture(scope="module", name="damaged")
def fixture_damaged(tmp_path_factory):
    """200 files, of which the first 8 and the last 8 are pictures: each of one colour."""
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path_factory.mktemp("damaged") / "class"
    folder.mkdir()
    for i in range(200):
        if 8 <= i < 192:
            (folder / f"{i:03}.png").write_bytes(b"no picture")
        else:
            image.new("RGB", (SIZE, SIZE), (i, 0, 255 - i)).save(folder / f"{i:03}.png")
    return str(folder.parent)


def counter(daemon, name):
    ctl = Path(binary()).parents[1] / "client" / "ctl" / "stokerctl"
    done = subprocess.run([ctl, "--socket", daemon.control, "status", "--json"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)[name]


def test_behind_bad_ones(real, near, damaged):
    """next() after SampleError, as the documentation has it, with the last batch in a variable."""
    loader = near.loader(damaged, batch_size=8, shuffle=False, epochs=2, timeout=30,
                         transforms=TRANSFORMS)
    forks = counter(real, "forks_total")
    for _ in range(2):
        batches, good, bad = iter(loader), [], 0
        while True:
            try:
                images, _ = next(batches)
            except stoker.SampleError:
                bad += 1
                continue
            except StopIteration:
                break
            good.append(images)
        assert (len(good), bad) == (2, 23)
        for first, images in zip((0, 192), good):
            red = (images[:, 0, 0, 0] * 255).round().astype(int)
            assert red.tolist() == list(range(first, first + 8))
    assert counter(real, "forks_total") == forks  # it needed no other ring for that
    loader.close()


def test_a_ring_of_one_batch(near, damaged):
    """The loop's own variable is in the way of each next batch: the ring grows."""
    loader = near.loader(damaged, batch_size=8, shuffle=False, subset=(0, 8), epochs=3,
                         timeout=30, transforms=TRANSFORMS, prefetch=1, last_batch="drop")
    assert [labels.tolist() for _ in range(3) for _, labels in loader] == [[0] * 8] * 3
    loader.close()


@pytest.mark.parametrize("held", [1, 2, 3])
def test_in_a_ring_without_room(tmp_path, damaged, held):
    """Of two batches: there is no memory for a larger ring. The last ones are held all the time."""
    if binary() is None:
        pytest.skip("no stokerd was built")
    daemon = RealDaemon(tmp_path, "--ring-memory", str(3 * 8 * 3 * SIZE * SIZE * 4))
    try:
        with stoker.connect(daemon.path) as node:
            loader = node.loader(damaged, batch_size=8, shuffle=False, subset=(0, 8), epochs=6,
                                 timeout=60, transforms=TRANSFORMS, prefetch=2)
            kept, whole = [], None
            for _ in range(6):
                for images, _ in loader:
                    whole = images.copy() if whole is None else whole
                    kept = [*kept, images][-held:]
                    assert all(np.array_equal(whole, one) for one in kept)
            loader.close()
    finally:
        assert daemon.stop() == 0
