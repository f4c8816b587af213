# SPDX-License-Identifier: MIT
"""Pictures kept as decoded (cache-memory): later visits neither read nor decode, and no byte
changes, whatever is asked for and whatever becomes of the budget and of the files."""

import io
import json
import shutil
import threading

import numpy
import pytest
from PIL import Image

from harness import digest_of, wait_for
from test_draft import TRAIN, VAL, expected, kinds
from test_fit import fit
from test_index import exchange, jpegs, snapshot, twin, wrong_crops
from test_law import N, STREAM, digests
from test_storage import files

# Samples that may have been read before the same one of the epoch before was decoded.
AHEAD = 16
# Of everything that reads pixels: crops, whole pictures, warps, colours, tails of numbers.
LISTS = {
    "crop": [{"name": "RandomResizedCrop", "size": 24}, {"name": "RandomHorizontalFlip"}],
    "whole": [{"name": "Resize", "size": [31, 45], "interpolation": "bicubic"}],
    "border": [{"name": "RandomCrop", "size": 100, "padding": 20, "padding_mode": "reflect"}],
    "warp": [{"name": "RandomAffine", "degrees": 30, "translate": [0.1, 0.2]},
             {"name": "CenterCrop", "size": 40}],
    "colour": [{"name": "CenterCrop", "size": 70}, {"name": "ColorJitter", "brightness": 0.5},
               {"name": "GaussianBlur", "kernel_size": 3}],
    "keras": [{"name": "Resize", "size": [40, 40]},
              {"name": "ImageDataGenerator", "rotation_range": 20, "rescale": 1 / 255}],
    "mix": [{"name": "RandomCrop", "size": 32}, {"name": "MixUp", "alpha": 0.4}],
}


@pytest.fixture(name="folder")
def fixture_folder(photos, tmp_path):
    """A copy that a test may change."""
    folder = tmp_path / "photos"
    shutil.copytree(photos, folder)
    return folder


def cached(daemon):
    """Of decoded pictures, in memory and on the disk; `cache_size` is of objects from servers."""
    return {name[len("cache_"):]: value for name, value in daemon.status().items()
            if name.startswith("cache_") and name != "cache_size"
            and not name.startswith("cache_dir")}


def test_off(daemon, photos):
    digests(daemon, photos, epochs=3)
    assert not any(cached(daemon).values())


def test_by_default(spawn, photos):
    """A quarter of the memory, or what is free of it."""
    daemon = spawn(cache_memory=None)
    assert daemon.status()["cache_memory"] > daemon.status()["ring_memory"] * 9 // 10
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=1)
        peer.digests()
        assert cached(daemon)["limit"] <= daemon.status()["cache_memory"]


def test_later_visits_decode_nothing(spawn, photos):
    """The second visit leaves a picture, or the first if a worker was idle; later ones are hits."""
    daemon, reference = spawn(workers=2, cache_memory="64M"), spawn(workers=1)
    wanted = digests(reference, photos, epochs=5)
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=5)
        got = peer.digests()
        held = cached(daemon)
    assert got == wanted
    assert held["pictures"] == held["fills_total"] == N and held["full_total"] == 0
    assert 3 * N - AHEAD <= held["hits_total"] <= 4 * N
    status = daemon.status()
    assert status["samples_read_total"] == 5 * N - status["cache_hits_total"]
    assert status["samples_decoded_total"] == status["samples_read_total"]
    pixels = sum(3 * w * h for w, h in (Image.open(path).size for path in files(photos)))
    assert pixels < held["bytes"] < pixels + N * (4096 + 64)
    wait_for(lambda: cached(daemon)["bytes"] == 0, "it goes with the dataset")
    assert cached(daemon)["pictures"] == 0


def test_some_at_the_first_visit(spawn, photos):
    """At least a quarter, however busy the workers are, so that the second epoch has less to do."""
    daemon = spawn(workers=1, cache_memory="64M")
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=1)
        assert peer.digests() == digests(spawn(), photos, epochs=1)
        assert cached(daemon)["fills_total"] >= N / 4
        assert cached(daemon)["hits_total"] == 0


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
@pytest.mark.parametrize("name", list(LISTS))
def test_no_byte_depends_on_it(spawn, photos, name, dtype):
    """Cold, being filled, and warm; made by one stream and read by another of other transforms."""
    if (name == "mix" and dtype != "float32") or (name == "keras" and dtype == "uint8"):
        dtype = "float32"
    numbers = {"keras": {}, "mix": {}}.get(name, {"dtype": dtype})
    fields = {"transforms": LISTS[name], "epochs": 4, **numbers}
    wanted = digests(spawn(workers=1), photos, **fields)
    daemon = spawn(workers=2, cache_memory="64M")
    with daemon.connect() as holder:  # what it left is there as long as it is
        holder.attach(photos, **{**STREAM, "transforms": LISTS["crop"], "order_seed": 1},
                      epochs=2, dtype="uint8")
        holder.digests()
        assert digests(daemon, photos, **fields) == wanted
        assert cached(daemon)["hits_total"] > 3 * N


def test_several_of_a_picture(spawn, photos):
    """Views, echoes, streams that share a decode: all from one kept picture, as without."""
    wishes = [{"augment_seed": 5}, {"views": 2}, {"echo": 2}, {"transforms": LISTS["whole"]}]

    def all_of(daemon):
        got = [None] * len(wishes)

        def take(number):
            got[number] = digests(daemon, photos, **wishes[number], epochs=4)

        threads = [threading.Thread(target=take, args=(i,)) for i in range(len(wishes))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return got

    daemon = spawn(cache_memory="64M")
    wanted = all_of(spawn())
    assert all(wanted) and all_of(daemon) == wanted
    assert cached(daemon)["hits_total"] > 2 * N


@pytest.fixture(scope="module", name="drafts")
def fixture_drafts(tmp_path_factory):
    """Every sampling, gray, CMYK, progressive, turned by EXIF, PNG, WebP; large and small."""
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "all").mkdir()
    for name, data in kinds().items():
        (folder / "all" / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("exif", [False, True])
@pytest.mark.parametrize("transforms", [TRAIN, VAL], ids=["train", "val"])
def test_pixels_are_pillows(spawn, drafts, transforms, exif):
    """At whatever scale they are kept, and turned or not."""
    names = sorted(path.name for path in (drafts / "all").iterdir())
    daemon, scales = spawn(cache_memory="64M"), set()
    with daemon.connect() as other, daemon.connect() as peer:
        other.attach(drafts, transforms=transforms, shuffle=False, draft=True, epochs=3,
                     exif_orientation=not exif, dtype="uint8")
        other.digests()  # what it leaves is none of the other's
        answer = peer.attach(drafts, transforms=transforms, dtype="uint8", layout="NHWC",
                             shuffle=False, augment_seed=5, epochs=8, draft=True,
                             exif_orientation=exif)
        assert answer.name == "attached", answer
        for epoch, position, arrays in peer.samples():
            name = names[position]
            wanted, scale = expected(drafts / "all" / name, transforms, (5, epoch, position), exif)
            assert numpy.array_equal(arrays["image"], wanted), (name, epoch, scale)
            scales.add(scale)
        assert cached(daemon)["hits_total"] > 2 * len(names)
    assert len(scales) > 1


def test_an_idle_worker_fills_at_the_first_visit(spawn, photos):
    """A trainer that is slower than the workers finds its second epoch decoded."""
    daemon = spawn(workers=2, cache_memory="64M")
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=1, batch_size=1, inflight=1)
        for _ in peer.samples():
            wait_for(lambda: daemon.status()["queued"] == 0, "the workers have nothing to do")
        assert cached(daemon)["fills_total"] > N / 4


def test_what_does_not_fit(spawn, photos):
    """A budget of a few pictures, and one that even the smallest picture is too large for."""
    wanted = digests(spawn(), photos, epochs=4)
    few, none = spawn(cache_memory="1M"), spawn(cache_memory="64K")
    with few.connect() as peer:
        peer.attach(photos, **STREAM, epochs=4)
        assert peer.digests() == wanted
        held = cached(few)
    assert 0 < held["pictures"] < N and held["bytes"] <= 1 << 20 and held["full_total"] > 0
    assert held["hits_total"] >= 2 * held["pictures"] - AHEAD
    assert digests(none, photos, epochs=4) == wanted
    assert cached(none)["fills_total"] == 0


def test_the_budget_shrinks_and_grows(spawn, photos):
    """While two readers of orders of their own are at it. What is above goes at once, by itself."""
    wanted = {seed: digests(spawn(), photos, order_seed=seed, epochs=12) for seed in (7, 8)}
    daemon, got, sizes = spawn(workers=2, cache_memory="64M"), {}, ["0", "700K", "64M", "300K"]

    def take(seed):
        got[seed] = digests(daemon, photos, order_seed=seed, epochs=12)

    threads = [threading.Thread(target=take, args=(seed,)) for seed in wanted]
    with daemon.connect() as holder:
        holder.attach(photos, **{**STREAM, "order_seed": 1}, epochs=1)
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            sizes = sizes[1:] + sizes[:1]
            assert daemon.set("cache-memory", sizes[0]).name == "ok"
        for thread in threads:
            thread.join()
        holder.digests()
        daemon.set("cache-memory", "64M")
        digests(daemon, photos, epochs=3)
        full = cached(daemon)
        daemon.set("cache-memory", "500K")
        wait_for(lambda: cached(daemon)["bytes"] <= 500 << 10, "it is within its budget")
        assert cached(daemon)["pictures"] < full["pictures"] == N
        daemon.set("cache-memory", "0")
        wait_for(lambda: cached(daemon)["bytes"] == 0, "nothing is kept")
        hits = cached(daemon)["hits_total"]
        digests(daemon, photos, epochs=2)
        assert cached(daemon)["hits_total"] == hits
    assert got == wanted


@pytest.mark.parametrize("how", ["in place", "renamed"])
def test_a_file_changes_under_its_time(spawn, folder, how):
    """Size and modification time stay. The file is bad as long as its dataset is in use, as it is
    without: no crop is ever of the content that was kept; and what was kept of it goes."""
    daemon, paths = spawn(cache_memory="64M"), jpegs(folder)[::2]
    with daemon.connect() as peer, daemon.connect() as again:
        assert wrong_crops(peer, folder, epochs=4) == ([], 4 * N, [])
        before = cached(daemon)
        assert before["pictures"] == N
        for path in paths:
            exchange(path, twin(path.read_bytes()), how)
        wrong, good, bad = wrong_crops(again, folder, epochs=2, beside=peer)
        assert cached(daemon)["pictures"] == N - len(paths)
    assert not wrong and good == 2 * (N - len(paths))
    assert len(bad) == 2 * len(paths) and {b["name"] for b in bad} == {"sample_changed"}
    daemon.settle()
    with daemon.connect() as peer:
        assert wrong_crops(peer, folder, epochs=4) == ([], 4 * N, [])


def test_a_file_that_goes_and_one_that_only_seems_to_change(spawn, folder):
    daemon, paths = spawn(cache_memory="64M"), files(folder)
    with daemon.connect() as peer, daemon.connect() as again:
        assert wrong_crops(peer, folder, epochs=4) == ([], 4 * N, [])
        hits = cached(daemon)["hits_total"]
        for path in paths:
            path.chmod(0o600)
        assert wrong_crops(again, folder, epochs=2, beside=peer) == ([], 2 * N, [])
        held = cached(daemon)
        assert held["fills_total"] == N, "nothing is kept twice"
        # Each is read once, which tells that its content is the same.
        assert N - AHEAD <= held["hits_total"] - hits <= N
    with daemon.connect() as peer, daemon.connect() as again:
        peer.attach(folder, **STREAM, epochs=3)
        peer.digests()
        paths[3].unlink()
        again.attach(folder, **{**STREAM, "shuffle": False, "batch_size": 1}, epochs=1,
                     **snapshot(peer))
        for _ in range(3):
            again.release(again.expect("batch"))
        assert again.expect("bad_sample").fields["name"] == "sample_read"


def test_streams_of_their_own_orders_where_memory_lacks(spawn, photos):
    """Whatever gives way to what: no byte changes, and the budget holds."""
    seeds = [3, 4, 5]
    wanted = {seed: digests(spawn(), photos, order_seed=seed, epochs=20) for seed in seeds}
    daemon, got = spawn(workers=2, cache_memory="2M"), {}

    def take(seed):
        """A trainer that is slower than the workers, so that they have idle time."""
        with daemon.connect() as peer:
            peer.attach(photos, **{**STREAM, "order_seed": seed}, epochs=20)
            got[seed] = {}
            for epoch, position, arrays in peer.samples():
                got[seed][epoch, position] = digest_of(arrays)
                if position % 8 == 0:
                    assert cached(daemon)["bytes"] <= 2 << 20

    threads = [threading.Thread(target=take, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == wanted


def test_a_fit_reads_what_is_kept(spawn, photos):
    daemon = spawn(cache_memory="64M")
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=3)
        peer.digests()
        read = daemon.status()["samples_read_total"]
        got = fit(daemon, {"path": str(photos)}, transforms=LISTS["whole"])
        assert daemon.status()["samples_read_total"] == read
    plain = fit(spawn(), {"path": str(photos)}, transforms=LISTS["whole"])
    assert got["digest"] == plain["digest"]


def test_damaged_pictures(spawn, folder):
    """What cannot be decoded whole is decided as without, epoch for epoch."""
    for path in jpegs(folder)[::3]:
        data = bytearray(path.read_bytes())
        data[len(data) * 3 // 4:len(data) * 3 // 4 + 40] = bytes(range(200, 240))
        path.write_bytes(data)
    pngs = [path for path in files(folder) if path.read_bytes()[:4] == b"\x89PNG"]
    for path in pngs[::2]:
        path.write_bytes(path.read_bytes()[:-200])

    def outcome(daemon):
        out = {}
        with daemon.connect() as peer:
            peer.attach(folder, **{**STREAM, "transforms": LISTS["crop"], "batch_size": 1,
                                   "epochs": 5})
            while (message := peer.receive()).name != "end":
                place = message.fields["epoch"], message.fields["position"]
                if message.name == "bad_sample":
                    out[place] = message.fields["name"], message.fields["sample"]
                    continue
                out[place] = digest_of(peer.ring.read(message.fields["runs"]))
                peer.release(message)
        return out

    plain, kept = spawn(), spawn(cache_memory="64M")
    wanted = outcome(plain)
    assert outcome(kept) == wanted
    assert any(isinstance(value, tuple) for value in wanted.values())
    assert cached(kept)["hits_total"] > N


@pytest.fixture(name="slow")
def fixture_slow(tmp_path):
    """JPEGs that can have no seek index: progressive ones, of which every sixth lacks scans and is
    smoothed, and every tenth is damaged. Among them a few baseline ones."""
    folder = tmp_path / "slow"
    (folder / "all").mkdir(parents=True)
    source = numpy.random.default_rng(3)
    for number in range(48):
        image = Image.fromarray(source.integers(0, 256, (24, 32, 3), dtype=numpy.uint8))
        file = io.BytesIO()
        exif = Image.Exif()
        exif[0x0112] = 1 + number % 8
        image.resize((320 + number, 240), Image.BICUBIC).save(
            file, "JPEG", progressive=number % 8 != 7, subsampling=number % 3, exif=exif.tobytes())
        data = file.getvalue()
        if number % 6 == 5:
            scans = [at for at in range(len(data)) if data[at:at + 2] == b"\xff\xda"]
            data = data[:scans[len(scans) // 2]] + b"\xff\xd9"
        if number % 10 == 9:
            data = data[:len(data) * 3 // 4]
        (folder / "all" / f"{number:02}.jpg").write_bytes(data)
    return folder


@pytest.mark.parametrize("exif", [False, True])
@pytest.mark.parametrize("name", ["crop", "whole", "warp"])
def test_slow_files_are_written_again(spawn, slow, name, exif):
    """Where not all pixels fit. What cannot be stays as it is; no byte and no verdict changes."""
    def outcome(daemon, **fields):
        with daemon.connect() as peer:
            peer.attach(slow, **{**STREAM, "transforms": LISTS[name], "epochs": 6,
                                 "bad_samples": "substitute", "exif_orientation": exif, **fields})
            return peer.digests(), cached(daemon), daemon.status()

    daemon = spawn(cache_memory="6M")
    for fields in ({}, {"order_seed": 4, "draft": True}):
        wanted, none, _ = outcome(spawn(), **fields)
        got, held, status = outcome(daemon, **fields)
        assert got == wanted and none["files"] == 0
        assert held["files"] > 0 or "draft" in fields  # smaller pixels may all fit
        assert held["file_hits_total"] > 48 and held["bytes"] <= 6 << 20
        assert status["samples_decoded_total"] > status["samples_read_total"]
        daemon.settle()


def test_which_files_are_written_again(spawn, slow):
    """The complete, progressive ones, at their second visit; their pixels where there is room."""
    daemon = spawn(workers=1, cache_memory="2M", fetchers=1)
    fields = {**STREAM, "transforms": LISTS["crop"], "bad_samples": "substitute", "batch_size": 1}
    numbers = [n for n in range(48) if n % 8 != 7 and n % 6 != 5 and n % 10 != 9]
    with daemon.connect() as peer:
        peer.attach(slow, **fields, epochs=3)
        peer.digests()
        held = cached(daemon)
        assert held["files"] + held["pictures"] == held["fills_total"]
        assert 0 < held["files"] <= len(numbers)
    roomy = spawn(cache_memory="64M")
    with roomy.connect() as peer:
        peer.attach(slow, **fields, epochs=3)
        peer.digests()
        assert cached(roomy)["files"] == 0 and cached(roomy)["pictures"] > len(numbers)


def test_a_file_written_again_changes(spawn, folder):
    """As test_a_file_changes_under_its_time(), with files in place of pictures."""
    for path in jpegs(folder):
        Image.open(path).resize((320, 240)).save(path, "JPEG", progressive=True)
    daemon, paths = spawn(cache_memory="4M"), jpegs(folder)[::2]
    with daemon.connect() as peer, daemon.connect() as again:
        assert wrong_crops(peer, folder, epochs=3) == ([], 3 * N, [])
        assert cached(daemon)["files"] > 0
        for path in paths:
            exchange(path, twin(path.read_bytes()), "renamed")
        wrong, good, bad = wrong_crops(again, folder, epochs=2, beside=peer)
    assert not wrong and good == 2 * (N - len(paths))
    assert len(bad) == 2 * len(paths) and {b["name"] for b in bad} == {"sample_changed"}


def test_what_users_see(spawn, photos):
    daemon = spawn(cache_memory="64M")
    digests(daemon, photos, epochs=4)
    assert daemon.status()["cache_memory"] == 64 << 20
    text = daemon.ctl("status").stdout
    assert "cache_memory" in text and "64" in text and "cache_hits_total" in text
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=4)
        peer.digests()
        held = cached(daemon)
        title, line = daemon.ctl("cache").stdout.splitlines()
        assert title.split()[:4] == ["DATASET", "SAMPLES", "PICTURES", "FILES"]
        assert line.split()[1:4] == [str(N), str(N), "0"] and line.endswith(str(photos))
        kept, = json.loads(daemon.ctl("--json", "cache").stdout)["cache"]
        assert kept["bytes"] == held["bytes"] and 0 < kept["hits"] <= held["hits_total"]
        rows = json.loads(daemon.ctl("--json", "memory").stdout)["memory"]
        table = {row["what"]: row for row in rows}
        assert list(table) == ["rings", "arrays", "seek indexes", "pictures"]
        assert table["pictures"]["bytes"] == held["bytes"] > table["seek indexes"]["bytes"] > 0
        assert table["rings"]["limit"] == daemon.status()["ring_memory"]
        assert all(row["limit"] > 0 for row in rows)
        refused = daemon.ctl("drop", "77", check=False)
        assert refused.returncode and "stokerctl cache" in refused.stderr
        assert daemon.ctl("drop", str(kept["dataset"])).returncode == 0
        wait_for(lambda: cached(daemon)["bytes"] == 0, "what is kept is dropped")
        digests(daemon, photos, epochs=3)
        assert cached(daemon)["bytes"] == held["bytes"]
        assert daemon.ctl("drop").returncode == 0
        wait_for(lambda: cached(daemon)["bytes"] == 0, "all that is kept is dropped")
    answer = daemon.set("cache-memory", "lots")
    assert answer.name == "error" and answer.fields["name"] == "setting"
