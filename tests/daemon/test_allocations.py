# SPDX-License-Identifier: MIT
"""Memory is taken while the daemon gets to know its samples, and then not any more: not for an
image, by no thread that reads or makes one, and not for a batch, by the loop.
"""

import os
import struct

import pytest
from PIL import Image

import photos as made
from harness import BUILD, STOKERD, installed
from test_law import STREAM

N = 60
BATCH = 4
EPOCHS = 200  # more than it takes for every thread to have met what needs most
QUIET = 5  # epochs without an allocation

pytestmark = pytest.mark.skipif(any(name in STOKERD.read_bytes()
                                    for name in (b"__asan_init", b"__tsan_init")),
                                reason="a sanitizer has an allocator of its own")


@pytest.fixture(scope="module", name="folder")
def fixture_folder(tmp_path_factory):
    """JPEGs plain, progressive, gray, CMYK and turned by EXIF, and PNGs with and without
    interlacing. No WebP: libwebp takes and gives back memory for each picture, whatever one does.
    """
    folder = tmp_path_factory.mktemp("steady") / "one"
    folder.mkdir()
    exif = Image.Exif()
    exif[274] = 6  # lies on its side
    for i in range(N):
        picture = made.picture(3, i, made.CLASSES[i % len(made.CLASSES)], (150, 110))
        path = folder / f"{i:02}.jpg"
        if i % 6 == 5:
            picture.convert("P" if i % 4 == 1 else "RGB").save(path.with_suffix(".png"))
        else:
            kind = "L" if i % 6 == 1 else "CMYK" if i % 6 == 2 else "RGB"
            picture.convert(kind).save(path, quality=90, progressive=i % 6 == 3,
                                       **({"exif": exif} if i % 6 == 4 else {}))
    return folder.parent


def spawn_counting(spawn, tmp_path, **options):
    counts = tmp_path / "counts"
    daemon = spawn(environment={"LD_PRELOAD": str(installed(BUILD / "tests/libcounting.so")),
                                "STOKER_COUNTS": str(counts)}, **options)

    def look():
        return struct.unpack_from("3Q", counts.read_bytes())

    assert look()[2] > 0, "nothing is counted"
    return daemon, look


def epoch(peer, number):
    """Take the batches of one epoch."""
    while True:
        batch = peer.expect("batch")
        peer.release(batch)
        if batch.fields["next_epoch"] > number:
            return


@pytest.mark.parametrize("transforms", [STREAM["transforms"],
                                        [{"name": "Resize", "size": 64},
                                         {"name": "CenterCrop", "size": 32}]])
@pytest.mark.parametrize("bad", [False, True])
def test_none_in_steady_state(spawn, folder, tmp_path, transforms, bad):
    """Of work-*, fetch-* and the loop: none in some epochs in a row, also where each epoch has a
    sample that is replaced."""
    if bad:
        (tmp_path / "data" / "one").mkdir(parents=True)
        for path in (folder / "one").iterdir():
            os.link(path, tmp_path / "data" / "one" / path.name)
        folder = tmp_path / "data"
        (folder / "one" / "bad.jpg").write_bytes(b"\xff\xd8\xff no picture")
    daemon, look = spawn_counting(spawn, tmp_path)
    with daemon.connect() as peer:
        answer = peer.attach(folder, **{**STREAM, "transforms": transforms, "epochs": 0},
                             bad_samples="substitute")
        assert answer.name == "attached", answer
        quiet, seen = 0, [look()]
        for number in range(EPOCHS):
            epoch(peer, number)
            seen.append(look())
            taken = tuple(now - before for now, before in zip(seen[-1], seen[-2]))
            quiet = 0 if any(taken) else quiet + 1
            if quiet == QUIET:
                return
    taken = [tuple(now - before for now, before in zip(*pair))
             for pair in zip(seen[-9:], seen[-10:])]
    raise AssertionError("allocations of (workers, fetchers, the loop) in each of the last epochs: "
                         f"{taken}")
