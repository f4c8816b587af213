# SPDX-License-Identifier: MIT
"""Decoded pictures on the disk (cache-decoded-size): later visits and later daemons decode nothing,
and no byte changes, whatever becomes of the disk, of its files and of the samples' files."""

import contextlib
import os
import random
import shutil
import signal
import subprocess

import pytest
from PIL import Image

from harness import WAIT_S, Daemon, digest_of, wait_for
from test_cache import LISTS, cached, fixture_slow  # pylint: disable=unused-import
from test_draft import TRAIN, kinds
from test_index import exchange, jpegs, twin, wrong_crops
from test_law import N, STREAM, digests
from test_storage import files

BLOCK = 4096


@pytest.fixture(name="folder")
def fixture_folder(photos, tmp_path):
    """A copy that a test may change."""
    folder = tmp_path / "photos"
    shutil.copytree(photos, folder)
    return folder


@pytest.fixture(name="place")
def fixture_place(tmp_path):
    return tmp_path / "cache"


def on_disk(place, **options):
    return {"cache_dir": place, "cache_decoded_size": "64M", **options}


def refused(**options):
    """What a daemon says that does not start."""
    daemon = Daemon(**options)
    run = subprocess.run(daemon.command(), env=daemon.environment, capture_output=True, text=True,
                         check=False, timeout=WAIT_S)
    assert run.returncode > 0
    return run.stderr


def stored(daemon):
    return {name[len("decoded_"):]: value for name, value in cached(daemon).items()
            if name.startswith("decoded_")}


def pictures(place):
    return sorted((place / "decoded").glob("*.rgb"))


def kept_bytes(place):
    """What they take, in blocks."""
    total = 0
    for path in (place / "decoded").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it goes at this moment
            if path.suffix in (".rgb", ".new"):
                total += (path.stat().st_size + BLOCK - 1) // BLOCK * BLOCK
    return total


def ready(daemon):
    """It knows what is on the disk, which it looks through at first."""
    wait_for(lambda: daemon.set("cache-decoded-size", "64M").name == "ok" and
             stored(daemon)["pictures"] > 0, "it knows what is on the disk")


def fill(daemon, folder, epochs=4, **fields):
    """A stream that leaves all its pictures on the disk."""
    got = {}
    for _ in range(4):  # until the folder was looked through nothing is written
        got = digests(daemon, folder, epochs=epochs, **fields)
        if stored(daemon)["pictures"] >= N:
            break
    return got


def test_it_needs_a_folder(spawn, photos):
    daemon = spawn(cache_dir=None)
    answer = daemon.set("cache-decoded-size", "1G")
    assert answer.name == "error" and "cache-dir" in answer.fields["text"]
    assert daemon.status()["cache_decoded_size"] == 0
    assert "there is no cache-dir" in refused(cache_decoded_size="1G")
    digests(daemon, photos, epochs=3)
    assert not any(stored(daemon).values())


@pytest.mark.parametrize("memory", ["0", "1M", "64M"])
def test_later_visits_decode_nothing(spawn, photos, place, memory):
    """Memory first, else the disk; what memory has no room for goes there."""
    wanted = digests(spawn(workers=1), photos, epochs=4)
    daemon = spawn(**on_disk(place, cache_memory=memory))
    with daemon.connect() as holder:
        holder.attach(photos, **{**STREAM, "order_seed": 1}, epochs=1)
        holder.digests()

        def visits():
            """Counters before and after; None: a picture that was on its way was decoded."""
            before = daemon.status()
            assert digests(daemon, photos, epochs=4) == wanted
            after = daemon.status()
            decoded = after["samples_decoded_total"] - before["samples_decoded_total"]
            return None if decoded else (before, after)

        before, after = wait_for(visits, "all is kept")
    found = {name: after[name] - before[name]
             for name in ("cache_hits_total", "cache_decoded_hits_total")}
    assert sum(found.values()) == 4 * N
    assert (found["cache_decoded_hits_total"] > 0) == (memory != "64M")
    assert kept_bytes(place) == after["cache_decoded_bytes"] <= 64 << 20
    assert (place / "decoded").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", list(LISTS))
def test_no_byte_depends_on_it(spawn, photos, place, name):
    """Cold, being filled, from the disk, and from that of a daemon that was killed; filled by one
    stream and read by another of other transforms."""
    fields = {"transforms": LISTS[name], "epochs": 3}
    if name not in ("keras", "mix"):
        fields["dtype"] = "uint8" if len(name) % 2 else "float32"
    wanted = digests(spawn(workers=1), photos, **fields)
    daemon = spawn(**on_disk(place))
    assert digests(daemon, photos, **fields) == wanted
    fill(daemon, photos, transforms=LISTS["crop"], order_seed=1)
    assert stored(daemon)["pictures"] == N
    assert digests(daemon, photos, **fields) == wanted
    daemon.process.kill()
    daemon.process.wait()
    daemon.spawn()
    ready(daemon)
    with daemon.connect() as peer:
        peer.attach(photos, **{**STREAM, **fields})
        got = peer.digests()
        assert got == wanted
    status = daemon.status()
    assert status["samples_decoded_total"] == 0
    assert status["cache_decoded_hits_total"] >= 3 * N


def test_kinds_and_scales(spawn, tmp_path, place):
    """Every kind of file, at every scale, turned by EXIF or not, from a disk that has them all."""
    folder = tmp_path / "kinds"
    (folder / "all").mkdir(parents=True)
    for name, data in kinds().items():
        (folder / "all" / name).write_bytes(data)
    daemon, plain = spawn(**on_disk(place)), spawn()
    for exif in False, True:
        fields = {"transforms": TRAIN, "draft": True, "epochs": 6, "exif_orientation": exif}
        wanted = digests(plain, folder, **fields)
        for _ in range(3):
            assert digests(daemon, folder, **fields) == wanted
    assert stored(daemon)["hits_total"] > 2 * len(kinds())
    assert len({path.name.split("-")[2] for path in pictures(place)}) > 1


@pytest.mark.parametrize("memory", ["0", "6M"])
def test_files_written_again(spawn, slow, place, memory):
    """Where not all pixels fit: found again by the next daemon, in place of the samples' files;
    and what is damaged shows no other pixel."""
    stream = {**STREAM, "transforms": LISTS["crop"], "bad_samples": "substitute", "epochs": 3}
    wanted = digests(spawn(), slow, **stream)
    limits = on_disk(place, cache_decoded_size="6M", cache_memory=memory)

    def find_rewritten():
        return [path for path in pictures(place) if path.name.split("-")[2] == "0"]

    first = spawn(**limits)
    wait_for(lambda: digests(first, slow, **stream) == wanted and len(find_rewritten()) > 10,
             "files are written again")
    first.terminate()
    second = spawn(**limits)
    wait_for(lambda: stored(second)["pictures"] > 0 or digests(second, slow, **stream) == wanted,
             "it knows what is on the disk")
    for fields in ({}, {"order_seed": 8, "draft": True}, {"exif_orientation": True}):
        asked = {**stream, **fields}
        assert digests(second, slow, **asked) == digests(spawn(), slow, **asked), fields
    status = second.status()
    assert stored(second)["hits_total"] > 0
    assert status["samples_decoded_total"] > status["samples_read_total"]
    assert kept_bytes(place) == status["cache_decoded_bytes"] <= 6 << 20
    # Small pixels of a draft, which do for no crop, take no file's place that was written again.
    assert digests(second, slow, **stream) == wanted
    assert second.status()["samples_read_total"] - status["samples_read_total"] < 3 * 48 / 2
    second.terminate()
    for number, path in enumerate(find_rewritten()):
        data = bytearray(path.read_bytes())
        data[(number * 997 + 4096) % len(data)] ^= 1
        path.write_bytes(data)
    third = spawn(**limits)
    wait_for(lambda: digests(third, slow, **stream) == wanted and stored(third)["damaged_total"],
             "the damage is seen")


DAMAGES = {
    "a bit": lambda data, other: data[:-700] + bytes([data[-700] ^ 1]) + data[-699:],
    "the header": lambda data, other: data[:60] + bytes([data[60] ^ 4]) + data[61:],
    "cut short": lambda data, other: data[:len(data) // 2],
    "empty": lambda data, other: b"",
    "zeros": lambda data, other: bytes(len(data)),
    "another picture": lambda data, other: other,
    "another's rows": lambda data, other: data[:BLOCK] + (other[BLOCK:] * 9)[:len(data) - BLOCK],
}


def test_damaged_files(spawn, photos, place):
    """None of them shows another pixel; each is deleted and made again."""
    wanted = digests(spawn(), photos, epochs=2)
    # Without seek indexes the disk is read however slow it is found.
    daemon = spawn(**on_disk(place, index_memory=0))
    for seed, damage in enumerate(DAMAGES.values()):
        fill(daemon, photos)
        found = pictures(place)
        assert len(found) == N
        before = stored(daemon)["damaged_total"]
        whole = {path: path.read_bytes() for path in found}
        for path in random.Random(seed).sample(found, N // 2):
            path.write_bytes(damage(whole[path], whole[found[0] if path != found[0] else found[1]]))
        for _ in range(2):
            assert digests(daemon, photos, epochs=2) == wanted
        assert stored(daemon)["damaged_total"] > before
        for path, data in whole.items():
            assert not path.exists() or path.read_bytes() == data
    assert daemon.log().count("damaged pictures") <= 1


def test_files_that_go_and_files_that_are_none(spawn, photos, place):
    wanted = digests(spawn(), photos, epochs=2)
    daemon = spawn(**on_disk(place))
    fill(daemon, photos)
    found = pictures(place)
    for number, path in enumerate(found[:12]):
        path.unlink()
        if number % 3 == 0:
            os.mkfifo(path)
        elif number % 3 == 1:
            path.symlink_to(found[-1])
    assert digests(daemon, photos, epochs=2) == wanted


def flip(secret):
    data = bytearray(secret.read_bytes())
    data[10] ^= 1
    secret.write_bytes(data)


def point_elsewhere(secret):
    secret.rename(secret.parent / "away")
    secret.symlink_to("away")


@pytest.mark.parametrize("change, words", [
    (flip, "is damaged"), (lambda secret: os.truncate(secret, 100), "is damaged"),
    (lambda secret: secret.write_bytes(b""), "is damaged"),
    (lambda secret: secret.chmod(0o640), "is not a file of the daemon's user alone"),
    (point_elsewhere, "is not a file of the daemon's user alone"),
], ids=["a bit", "cut", "empty", "others may read it", "a link"])
def test_a_damaged_secret_begins_again(spawn, photos, place, change, words):
    """Nothing that is there is used, it goes, and that is said, once."""
    daemon = spawn(**on_disk(place))
    fill(daemon, photos)
    before = pictures(place)
    daemon.terminate()
    secret = place / "decoded" / "secret"
    whole = secret.read_bytes()
    assert "secret" not in daemon.log()
    change(secret)
    daemon.spawn()
    wait_for(lambda: not set(before) & set(pictures(place)), "they go")
    said = [line for line in daemon.log().splitlines() if "secret" in line]
    assert len(said) == 1 and f"{secret} {words}: a new one is made" in said[0]
    assert daemon.status()["cache_dir_fault"] == ""
    assert digests(daemon, photos, epochs=2) == digests(spawn(), photos, epochs=2)
    assert secret.lstat().st_size == len(whole) and secret.read_bytes() != whole
    assert secret.lstat().st_mode == 0o100600


def test_killed_while_it_fills(spawn, photos, place):
    """Many times, at any moment: what is left is whole or goes, and within the limit."""
    wanted = digests(spawn(), photos, epochs=3)
    source, daemon = random.Random(5), spawn(**on_disk(place, cache_decoded_size="1500K"))
    for _ in range(12):
        with daemon.connect() as peer:
            peer.attach(photos, **STREAM, epochs=6)
            stop = source.randrange(3 * N)
            for number, (epoch, position, arrays) in enumerate(peer.samples()):
                if epoch < 3:
                    assert digest_of(arrays) == wanted[epoch, position]
                if number == stop:
                    daemon.process.send_signal(signal.SIGKILL)
                    break
        daemon.process.kill()
        daemon.process.wait()
        assert kept_bytes(place) <= 1500 << 10
        daemon.spawn()
    wait_for(lambda: not list((place / "decoded").glob("*.new")), "unfinished files go")
    for _ in range(2):
        assert digests(daemon, photos, epochs=3) == wanted
    assert stored(daemon)["damaged_total"] == 0


def test_the_limit_shrinks_and_grows(spawn, photos, place):
    wanted = digests(spawn(), photos, epochs=3)
    daemon = spawn(**on_disk(place))
    fill(daemon, photos)
    for size in 600, 100, 1000, 0, 900:
        assert daemon.set("cache-decoded-size", f"{size}K").name == "ok"
        wait_for(lambda: kept_bytes(place) <= size << 10, "it is within its limit")
        assert digests(daemon, photos, epochs=3) == wanted
        assert kept_bytes(place) <= size << 10
    daemon.set("cache-decoded-size", "64M")
    fill(daemon, photos)
    assert len(pictures(place)) == N
    with daemon.connect(control=True) as peer:
        assert peer.request("drop").name == "ok"
    wait_for(lambda: not pictures(place), "all that is kept goes")


def test_streams_of_their_own_orders_where_room_lacks(spawn, photos, place):
    wanted = {seed: digests(spawn(), photos, order_seed=seed, epochs=6) for seed in (3, 4, 5)}
    daemon = spawn(**on_disk(place, cache_decoded_size="2M", cache_memory="1M"))
    peers = {}
    for seed in wanted:
        peers[seed] = daemon.connect()
        peers[seed].attach(photos, **{**STREAM, "order_seed": seed}, epochs=6)
    for seed, peer in peers.items():
        assert peer.digests() == wanted[seed]
        assert kept_bytes(place) <= 2 << 20
        peer.close()


@pytest.mark.parametrize("how", ["in place", "renamed"])
def test_a_file_changes_under_its_time(spawn, folder, place, how):
    """As in memory: it is bad as long as its dataset is in use; then its new content counts."""
    daemon, paths = spawn(**on_disk(place)), jpegs(folder)[::2]
    fill(daemon, folder)
    with daemon.connect() as peer, daemon.connect() as again:
        assert wrong_crops(peer, folder, epochs=2) == ([], 2 * N, [])
        for path in paths:
            exchange(path, twin(path.read_bytes()), how)
        wrong, good, bad = wrong_crops(again, folder, epochs=2, beside=peer)
    assert not wrong and good == 2 * (N - len(paths))
    assert len(bad) == 2 * len(paths) and {b["name"] for b in bad} == {"sample_changed"}
    daemon.settle()
    with daemon.connect() as peer:
        assert wrong_crops(peer, folder, epochs=4) == ([], 4 * N, [])


def test_equal_files_are_kept_once(spawn, folder, place):
    """The content counts, not the path: two datasets share what is kept."""
    daemon, other = spawn(**on_disk(place)), folder.parent / "other"
    shutil.copytree(folder, other)
    fill(daemon, folder)
    read = daemon.status()["samples_decoded_total"]
    assert digests(daemon, other, epochs=2) == digests(spawn(), other, epochs=2)
    assert daemon.status()["samples_decoded_total"] == read
    assert stored(daemon)["pictures"] == N


def test_a_full_disk(spawn, photos, tmp_path):
    """It goes on without, says so once, and uses what is there."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700K,mode=700", "none", place],
                          check=False, capture_output=True)
    if made.returncode:
        pytest.skip("only root can mount a small file system")
    try:
        wanted = digests(spawn(), photos, epochs=3)
        daemon = spawn(**on_disk(place))
        for _ in range(4):
            assert digests(daemon, photos, epochs=3) == wanted
        wait_for(lambda: "not written for now" in daemon.log(), "it is said")
        assert daemon.log().count("not written for now") == 1
        assert stored(daemon)["pictures"] > 0 and stored(daemon)["hits_total"] > 0
        assert not list((place / "decoded").glob("*.new"))
        daemon.terminate()
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_one_owner(spawn, place):
    spawn(**on_disk(place))
    assert "another stokerd uses" in refused(**on_disk(place))


def test_what_pixels_take(spawn, photos, place):
    daemon = spawn(**on_disk(place))
    fill(daemon, photos)
    pixels = sum(3 * w * h for w, h in (Image.open(path).size for path in files(photos)))
    assert pixels < stored(daemon)["bytes"] < pixels + N * 2 * BLOCK
