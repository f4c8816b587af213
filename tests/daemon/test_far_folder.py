# SPDX-License-Identifier: MIT
"""A large folder on a file system of which each call takes its time: an attach waits for listings,
not for a look at each file, if the file system says what is a file."""

import mmap
import os
import struct
import subprocess

import pytest
from PIL import Image

from harness import BUILD, WAIT_S, wait_for
from test_names import STREAM, is_sized, level_of
from users import needs_root

PROGRAM = BUILD / "tests" / "slow_fs"
CLASSES, FILES = 3, 2000
IN_ANY_CASE = 4096  # so many are looked at (DATASET_NAMES_ABOVE)
LEVEL = 7
WISH = {**STREAM, "subset_start": 0, "accept_names": True}


class Far:
    """The mounted file system, and what was asked of it."""

    NAMES = ("stats_of_files", "stats_of_folders", "listings", "reads", "limit")

    def __init__(self, folder, typed):
        self.root = folder / "far"
        self.root.mkdir()
        picture = folder / "picture.bmp"
        Image.new("RGB", (4, 4), (LEVEL,) * 3).save(picture)
        counts = folder / "counts"
        counts.write_bytes(bytes(8 * len(self.NAMES)))
        self.process = subprocess.Popen(
            [PROGRAM, counts, picture, str(CLASSES), str(FILES), "100",
             "typed" if typed else "untyped", self.root], stderr=subprocess.PIPE, text=True)
        with open(counts, "r+b") as file:
            self.counts = mmap.mmap(file.fileno(), 0)

    def wait(self):
        wait_for(lambda: self.process.poll() is not None or os.path.ismount(self.root), "a mount")
        if self.process.poll() is not None:
            pytest.skip(f"nothing can be mounted here: {self.process.stderr.read().strip()}")

    def __getattr__(self, name):
        return struct.unpack_from("<Q", self.counts, 8 * self.NAMES.index(name))[0]

    def answer(self, limit):
        """Stats of so many files, and none beyond them; 0: of all."""
        struct.pack_into("<Q", self.counts, 8 * self.NAMES.index("limit"), limit)

    def close(self):
        self.answer(0)
        subprocess.run(["umount", "--lazy", self.root], stderr=subprocess.DEVNULL, check=False)
        self.process.kill()
        self.process.communicate(timeout=WAIT_S)


@pytest.fixture
def far(tmp_path, request):
    if not PROGRAM.exists():
        pytest.skip("built without libfuse3, which the file system of this test is made with")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("/dev/fuse cannot be opened")
    far = Far(tmp_path, typed=getattr(request, "param", True))
    try:
        far.wait()
        yield far
    finally:
        far.close()


@needs_root
def test_an_attach_does_not_look_at_each_file(spawn, far):
    daemon = spawn(fetchers=64)
    far.answer(IN_ANY_CASE + 1000)  # some are asked for twice
    with daemon.connect() as peer:
        assert peer.attach(far.root, **WISH, epochs=0).name == "attached"
        assert "dataset_fingerprint" not in peer.attached
        assert far.stats_of_folders + far.listings < 0.05 * CLASSES * FILES
        assert not is_sized(daemon)
        far.answer(0)
        wait_for(lambda: is_sized(daemon), "the sizes")
        assert far.stats_of_files >= CLASSES * FILES
        assert level_of(peer, peer.expect("batch")) == LEVEL


@needs_root
@pytest.mark.parametrize("far", [False], indirect=True)
def test_what_is_without_a_type_is_looked_at(spawn, far):
    daemon = spawn(fetchers=64)
    with daemon.connect() as peer:
        assert peer.attach(far.root, **WISH, epochs=0).name == "attached"
        assert far.stats_of_files >= CLASSES * FILES
        assert daemon.list("datasets")[0]["samples"] == CLASSES * FILES
        assert level_of(peer, peer.expect("batch")) == LEVEL
