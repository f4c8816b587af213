# SPDX-License-Identifier: MIT
"""`stokerctl cache warm`: all pictures of a dataset are decoded and kept before anybody needs them,
within the budgets, and no byte changes."""

import json
import shutil

import pytest

from harness import wait_for
from test_cache import LISTS, cached, fixture_slow  # pylint: disable=unused-import
from test_law import N, STREAM, digests

USAGE = 64
WHOLE = [{"name": "CenterCrop", "size": 1}]


def warm(daemon, dataset, *options):
    return json.loads(daemon.ctl("cache", "warm", dataset, *options, "--json").stdout)


def is_open(daemon):
    return [row["path"] for row in daemon.list("datasets")]


def test_first_epoch_decodes_nothing(spawn, photos):
    """Who comes later finds it all in memory; the dataset is kept open for that, and drop ends
    it."""
    wanted = digests(spawn(), photos, epochs=2)
    daemon = spawn(workers=2, cache_memory="64M")
    said = warm(daemon, photos)
    assert said["samples"] == said["visited"] == said["pictures"] == N
    assert (said["unread"], said["files"], said["disk"], said["stored"]) == (0, 0, False, 0)
    assert 0 < said["bytes"] == cached(daemon)["bytes"] <= said["limit"]
    assert said["bytes_read"] == sum(path.stat().st_size for path in photos.rglob("*.*"))
    before = daemon.status()
    assert digests(daemon, photos, epochs=2) == wanted
    after = daemon.status()
    assert after["cache_hits_total"] - before["cache_hits_total"] == 2 * N
    assert after["samples_decoded_total"] == before["samples_decoded_total"]
    assert is_open(daemon) == [str(photos)]
    daemon.ctl("drop", said["dataset"])
    wait_for(lambda: not is_open(daemon) and not cached(daemon)["bytes"], "it is closed")


def test_words(spawn, photos):
    daemon = spawn(workers=2, cache_memory="64M")
    lines = daemon.ctl("cache", "warm", photos).stdout.splitlines()
    assert lines[0].startswith(f"{photos}: {N} of {N} files visited in ")
    assert lines[1].startswith(f"  in memory: {N} pictures, ") and "of 64.0 MiB" in lines[1]
    assert lines[2].startswith("dataset ") and "stokerctl drop" in lines[2]
    assert len(lines) == 3
    done = daemon.ctl("cache", "cool", photos, check=False)
    assert done.returncode == USAGE and "only warm, pin or unpin" in done.stderr


def test_refused(spawn, photos, tmp_path):
    done = spawn().ctl("cache", "warm", photos, check=False)
    assert done.returncode and "set cache-memory" in done.stderr
    daemon = spawn(cache_memory="64M")
    done = daemon.ctl("cache", "warm", photos, "-t", "Nonsense()", check=False)
    assert done.returncode and "Nonsense" in done.stderr
    done = daemon.ctl("cache", "warm", tmp_path / "none", check=False)
    assert done.returncode and "none" in done.stderr
    assert not is_open(daemon)


def test_on_disk(spawn, photos, tmp_path):
    """What is in memory is on the disk, too: the next daemon takes it from there into memory."""
    wanted = digests(spawn(), photos, epochs=1)
    options = {"cache_dir": tmp_path / "cache", "cache_decoded_size": "64M"}
    first = spawn(workers=2, cache_memory="64M", **options)
    said = warm(first, photos)
    assert said["pictures"] == said["stored"] == N and said["disk"]
    first.terminate()
    second = spawn(workers=2, cache_memory="64M", **options)
    said = warm(second, photos)
    assert said["pictures"] == said["stored"] == N
    assert digests(second, photos, epochs=1) == wanted
    assert second.status()["samples_decoded_total"] == 0
    assert cached(second)["decoded_hits_total"] == N and cached(second)["decoded_fills_total"] == 0
    second.terminate()
    third = spawn(workers=2, cache_memory="0", **options)
    said = warm(third, photos)
    assert (said["pictures"], said["stored"], said["bytes"]) == (0, N, 0)
    assert digests(third, photos, epochs=1) == wanted
    assert third.status()["samples_decoded_total"] == cached(third)["decoded_fills_total"] == 0


def test_what_is_in_memory_already_goes_to_the_disk(spawn, photos, tmp_path):
    wanted = digests(spawn(), photos, epochs=1)
    options = {"cache_dir": tmp_path / "cache", "cache_decoded_size": "0"}
    first = spawn(workers=2, cache_memory="64M", **options)
    assert warm(first, photos)["stored"] == 0
    assert cached(first)["pictures"] == N and cached(first)["decoded_pictures"] == 0
    assert first.set("cache-decoded-size", "64M").name == "ok"
    before = first.status()
    said = warm(first, photos)
    assert (said["pictures"], said["stored"]) == (N, N)
    assert first.status()["bytes_read_total"] == before["bytes_read_total"]
    first.terminate()
    third = spawn(workers=2, cache_memory="0", **{**options, "cache_decoded_size": "64M"})
    assert warm(third, photos)["stored"] == N
    assert digests(third, photos, epochs=1) == wanted
    assert third.status()["samples_decoded_total"] == 0


def test_files_written_again(spawn, slow, tmp_path):
    """Where not all pixels fit, JPEGs without an index are kept so; those in memory, on the disk,
    too."""
    stream = {"transforms": LISTS["crop"], "bad_samples": "substitute", "epochs": 1}
    wanted = digests(spawn(), slow, **stream)
    options = {"cache_dir": tmp_path / "cache", "cache_decoded_size": "0"}
    first = spawn(workers=2, cache_memory="6M", **options)
    assert warm(first, slow)["files"] > 0
    assert first.set("cache-decoded-size", "6M").name == "ok"
    assert warm(first, slow)["stored"] > 10
    first.terminate()
    second = spawn(workers=2, cache_memory="0", **{**options, "cache_decoded_size": "6M"})
    assert warm(second, slow)["stored"] > 10
    assert digests(second, slow, **stream) == wanted
    assert cached(second)["decoded_hits_total"] > 10


@pytest.mark.parametrize("turned", [False, True])
def test_streams_that_turn(spawn, slow, turned):
    """Warmed for streams with exif_orientation, or for those without."""
    daemon = spawn(workers=2, cache_memory="64M")
    said = warm(daemon, slow, *(["--exif-orientation"] if turned else []))
    assert said["pictures"] > 30
    for asked in (turned, not turned):
        stream = {"transforms": LISTS["crop"], "bad_samples": "substitute", "epochs": 1,
                  "exif_orientation": asked}
        before = cached(daemon)["hits_total"]
        assert digests(daemon, slow, **stream) == digests(spawn(), slow, **stream)
        hits = cached(daemon)["hits_total"] - before
        assert (hits >= said["pictures"]) == (asked == turned), hits


def test_no_room(spawn, photos, tmp_path):
    """It ends where nothing more has room, and takes nothing from a stream."""
    for number in range(4):
        shutil.copytree(photos, tmp_path / "many" / str(number))
    daemon = spawn(workers=2, cache_memory="1M")
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=3)
        wanted = peer.digests()
        before = cached(daemon)
        said = warm(daemon, tmp_path / "many")
        assert said["visited"] < said["samples"] == 4 * N
        after = cached(daemon)
    assert before["bytes"] <= after["bytes"] <= said["limit"]
    assert before["replaced_total"] == after["replaced_total"]
    assert wanted == digests(spawn(), photos, epochs=3)


def test_for_a_draft(spawn, photos):
    """A stream with draft keeps pictures that were shrunk as they were decoded; -t says how far."""
    transforms = [{"name": "Resize", "size": 12}, {"name": "CenterCrop", "size": 10}]
    stream = {"transforms": transforms, "draft": True, "epochs": 1}
    wanted = digests(spawn(), photos, **stream)
    for options, decoded in (("-t", "Resize(size=12) | CenterCrop(size=10)"), False), ((), True):
        daemon = spawn(workers=2, cache_memory="64M")
        assert warm(daemon, photos, *options)["pictures"] == N
        assert digests(daemon, photos, **stream) == wanted
        assert (daemon.status()["samples_decoded_total"] > 0) == decoded


def test_bad_files(spawn, photos, tmp_path):
    folder = tmp_path / "photos"
    shutil.copytree(photos, folder)
    bad = next(path for path in sorted(folder.rglob("*.*")))
    bad.write_bytes(b"no picture")
    daemon = spawn(workers=2, cache_memory="64M")
    said = warm(daemon, folder)
    assert (said["visited"], said["unread"], said["pictures"]) == (N, 1, N - 1)
    assert "cannot be read or decoded: 1 files" in daemon.ctl("cache", "warm", folder).stdout


def test_the_end_of_the_command_ends_it(spawn, photos):
    daemon = spawn(workers=1, cache_memory="64M")
    with daemon.connect(control=True) as peer:
        peer.send("index", seq=5, dataset=str(photos), transforms=WHOLE)
    wait_for(lambda: not is_open(daemon), "it is closed")
