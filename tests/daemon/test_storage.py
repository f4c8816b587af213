# SPDX-License-Identifier: MIT
"""Storage and samples that fail: typed, counted, listed, at their position and nowhere else."""

import os
import re
import shutil
import threading
import time

import pytest

from harness import BUILD, ERRORS, SLOW, installed, wait_for
from test_law import STREAM

N = 60


@pytest.fixture(name="folder")
def fixture_folder(photos, tmp_path):
    """A copy that a test may break."""
    folder = tmp_path / "photos"
    shutil.copytree(photos, folder)
    return folder


def files(folder):
    """All samples' paths in the order of the index."""
    return [path for name in sorted(os.listdir(folder)) for path in
            sorted((folder / name).iterdir(), key=lambda p: os.fsencode(p.name))]


def epoch(peer, batch_size=4):
    """One unshuffled epoch: {index: image bytes} of what came, and the BAD_SAMPLEs."""
    images, bad = {}, []
    while (message := peer.receive()).name != "end":
        if message.name == "bad_sample":
            bad.append(message.fields)
            continue
        arrays = peer.ring.read(message.fields["runs"])
        for i in range(message.fields["count"]):
            images[message.fields["position"] + i] = (int(arrays["index"][i]),
                                                      arrays["image"][i].tobytes())
        peer.release(message)
    return images, bad


def run(daemon, folder, **fields):
    with daemon.connect() as peer:
        answer = peer.attach(folder, **{**STREAM, "shuffle": False, **fields})
        assert answer.name == "attached", answer
        return epoch(peer)


def test_damaged_sample_is_an_error_at_its_batch(daemon, folder):
    """FAULTS 60, 63, 65, 68, 72: typed, with file and words; the rest of the epoch is untouched."""
    good, _ = run(daemon, folder)
    paths = files(folder)
    paths[5].write_bytes(b"no image at all")
    paths[13].write_bytes(paths[13].read_bytes()[:300])
    paths[21].write_bytes(b"")
    images, bad = run(daemon, folder)
    assert [(b["position"], b["sample"], b["name"]) for b in bad] == [
        (5, 5, "sample_format"), (13, 13, "sample_corrupt"), (21, 21, "sample_read")]
    for b in bad:
        assert b["code"] == ERRORS[b["name"]]
        assert b["path"] == str(paths[b["sample"]].relative_to(folder)) and b["text"]
        assert (b["next_epoch"], b["next_position"]) == (0, b["position"] // 4 * 4 + 4)
    lost = {p for b in bad for p in range(b["position"] // 4 * 4, b["position"] // 4 * 4 + 4)}
    assert images == {p: image for p, image in good.items() if p not in lost}
    assert daemon.status()["samples_bad_total"] == 3


def test_listed(daemon, folder):
    """Also when the run is over and the dataset closed."""
    paths = files(folder)
    paths[7].write_bytes(b"x")
    with daemon.connect() as peer:
        peer.attach(folder, **{**STREAM, "shuffle": False, "epochs": 2})
        epoch(peer)
    daemon.settle()
    listed, = daemon.list("bad")
    assert listed["sample"] == 7 and listed["count"] == 2 and listed["root"] == str(folder)
    assert listed["path"].endswith(paths[7].name) and listed["name"] == "sample_format"
    assert daemon.log().count("bad sample 7") == 1


def test_substitute_is_the_neighbour(daemon, folder):
    """Deterministic, told, with the neighbour's label and index and the position's own draws."""
    paths = files(folder)
    for i in (5, 6, 59):
        paths[i].write_bytes(b"x")
    images, bad = run(daemon, folder, bad_samples="substitute")
    assert not bad and len(images) == N
    assert [images[p][0] for p in (4, 5, 6, 7, 59)] == [4, 7, 7, 7, 0]
    again, _ = run(daemon, folder, bad_samples="substitute", batch_size=9)
    assert again == images
    assert daemon.status()["samples_substituted_total"] == 6
    with daemon.connect() as peer:
        peer.attach(folder, **{**STREAM, "shuffle": False}, bad_samples="substitute")
        told = []
        while (message := peer.receive()).name != "end":
            told.append(message.fields.get("substituted", 0))
            peer.release(message)
        assert told == [0, 2] + [0] * 12 + [1]


def test_a_broken_dataset_is_no_endless_search(daemon, folder):
    """FAULTS 77: when all neighbours are bad too, it is an error."""
    for path in files(folder):
        path.write_bytes(b"x")
    images, bad = run(daemon, folder, bad_samples="substitute")
    assert not images and len(bad) == 15


def test_nothing_but_bad_ones_under_new_credit(daemon, folder):
    """What a CREDIT has announced, and nobody holds, makes room: no RELEASE will come to say so."""
    for path in files(folder):
        path.write_bytes(b"no image at all")
    with daemon.connect() as peer:
        peer.attach(folder, **STREAM, inflight=0, prefetch=4, epochs=2)
        wait_for(lambda: daemon.status()["samples_bad_total"] >= 16 and not
                 daemon.status()["queued"], "the ring is full")
        peer.send("credit", inflight=1)
        _, bad = epoch(peer)
    assert len(bad) == 2 * N // 4


def test_file_deleted_during_the_epoch(daemon, folder):
    """FAULTS 63: an error at its position; the rest as it was."""
    good, _ = run(daemon, folder)
    with daemon.connect() as peer:
        peer.attach(folder, **{**STREAM, "shuffle": False}, inflight=1)
        files(folder)[57].unlink()
        images, bad = epoch(peer)
    assert [(b["sample"], b["name"]) for b in bad] == [(57, "sample_read")]
    assert "No such file" in bad[0]["text"]
    assert images == {p: image for p, image in good.items() if p < 56}


def test_file_truncated_while_it_is_read(daemon, folder):
    """FAULTS 65: whatever a writer does, the daemon lives, and an answer comes for each batch."""
    path = files(folder)[30]
    whole, stop = path.read_bytes(), threading.Event()

    def tear():
        while not stop.is_set():
            path.write_bytes(whole)
            os.truncate(path, len(whole) // 2)

    thread = threading.Thread(target=tear)
    thread.start()
    try:
        for _ in range(20):
            images, bad = run(daemon, folder)
            assert len(images) + 4 * len(bad) == N
            assert all(b["sample"] == 30 for b in bad)
    finally:
        stop.set()
        thread.join()


def on_disk(disk, folder, *indices):
    """The files of these samples lie on a disk that is "broken", "slow", "flaky", "dead" or
    "deadly"."""
    for victim in [files(folder)[index] for index in indices]:
        victim.rename(victim.with_name(f"{victim.stem}-{disk}-disk{victim.suffix}"))


def faulty(**environment):
    """What makes such disks of them, for a daemon's environment."""
    return {"LD_PRELOAD": str(installed(BUILD / "tests/libfaults.so")),
            "ASAN_OPTIONS": "verify_asan_link_order=0", **environment}


def spawn_on(disk, spawn, folder, *indices, **options):
    on_disk(disk, folder, *indices)
    return spawn(environment=faulty(), **options)


def test_jobs_of_a_detached_reader_do_not_block_the_window(spawn, folder):
    """A sample that a reader ordered, behind another one, and did not wait for: the window of the
    one that stays moves past it once it is made."""
    daemon = spawn_on("slow", spawn, folder, 4)
    with daemon.connect() as stays, daemon.connect() as leaves:
        rank = {**STREAM, "shuffle": False, "epochs": 0, "world": 2, "prefetch": 4}
        stays.attach(folder, **rank, rank=0, inflight=1)
        first = stays.expect("batch")
        leaves.attach(folder, **rank, rank=1, inflight=1)
        leaves.request("detach")
        stays.release(first)
        for _ in range(7):  # beyond the ring, over the end of the epoch
            stays.release(stays.expect("batch"))


def test_io_error(spawn, folder):
    """FAULTS 60: EIO of the disk: path and errno in the words."""
    daemon = spawn_on("broken", spawn, folder, 9)
    images, bad = run(daemon, folder)
    assert [b["name"] for b in bad] == ["sample_read"]
    assert "broken-disk" in bad[0]["path"] and "Input/output error" in bad[0]["text"]
    assert len(images) == N - 4
    images, bad = run(daemon, folder, bad_samples="substitute")
    assert len(images) == N and not bad


def test_a_disk_that_fails_for_once(spawn, folder):
    """FAULTS 61: interrupted, EIO, ESTALE and short reads one after the other: read again."""
    good, _ = run(spawn(), folder)
    daemon = spawn_on("flaky", spawn, folder, 3, 9, 10, 31, 58)
    images, bad = run(daemon, folder)
    assert images == good and not bad


def test_a_read_that_hangs_holds_no_other(spawn, folder, tmp_path):
    """FAULTS 62: one thread is lost to it and replaced; control, other readers and other batches
    go on; once the storage is back so is the sample."""
    good, _ = run(spawn(), folder)
    gate = tmp_path / "gate"
    gate.touch()
    on_disk("dead", folder, 30, 34)
    daemon = spawn(environment=faulty(STOKER_TEST_GATE=str(gate)), fetchers=2)
    with daemon.connect() as peer, daemon.connect() as other:
        peer.attach(folder, **{**STREAM, "shuffle": False}, prefetch=15, inflight=15)
        batches = [peer.expect("batch") for _ in range(7)]
        # Both fetchers hang by now, or will: others take their place.
        wait_for(lambda: daemon.status()["stuck_reads"] == 2, "two reads hang", 30 * SLOW)
        path, other_path = (files(folder)[i].relative_to(folder) for i in (30, 34))
        assert re.search(f"({path}|{other_path}) in {folder}: does a storage hang", daemon.log())
        stalled = peer.expect("stalled").fields
        assert (stalled["epoch"], stalled["position"], stalled["sample"]) == (0, 28, 30)
        assert stalled["path"] == str(path) and stalled["read_ms"] > 5000
        assert daemon.list("readers")[0]["state"] == "stalled"
        other.attach(folder, **{**STREAM, "shuffle": False}, subset_stop=20)
        images, bad = epoch(other)
        assert images == {p: image for p, image in good.items() if p < 20} and not bad
        assert daemon.set("workers", 3).name == "ok"
        gate.unlink()
        for batch in batches:
            peer.release(batch)
        images, bad = epoch(peer)
        assert images == {p: image for p, image in good.items() if p >= 28} and not bad
    wait_for(lambda: daemon.status()["stuck_reads"] == 0, "none hangs")
    assert "no read hangs any more" in daemon.log()


def test_stop_does_not_wait_for_a_dead_disk(spawn, folder, tmp_path):
    """FAULTS 27, 62: what hangs in a read holds neither the stop nor a ring's name."""
    gate = tmp_path / "gate"
    gate.touch()
    on_disk("dead", folder, *range(30, 50))
    daemon = spawn(environment=faulty(STOKER_TEST_GATE=str(gate)), drain_timeout="1s")
    with daemon.connect() as peer:
        answer = peer.attach(folder, **{**STREAM, "shuffle": False}, accept_fd=False,
                             accept_path=True)
        assert answer.name == "attached"
        for _ in range(7):
            peer.release(peer.expect("batch"))
        log = daemon.terminate()  # within its time, with what it has to remove
    assert "stops without waiting for reads that hang" in log


def test_a_file_that_changes_is_an_error(daemon, folder):
    """FAULTS 64: once read, a file is what it was or an error: larger, another picture, another
    file of the same bytes; listed and counted. Who attaches later sees the files as they are."""
    paths = files(folder)
    with daemon.connect() as peer:
        peer.attach(folder, **{**STREAM, "shuffle": False, "epochs": 2}, inflight=1, prefetch=2)
        for _ in range(N // 4 - 1):
            peer.release(peer.expect("batch"))
        last = peer.expect("batch")
        # Of the next epoch the ring holds the first batch at most.
        for sample, content in {9: paths[9].read_bytes() + b"more", 33: paths[34].read_bytes(),
                                50: paths[50].read_bytes()}.items():
            (folder / "new").write_bytes(content)
            (folder / "new").rename(paths[sample])
        peer.release(last)
        images, bad = epoch(peer)
    assert len(images) == N - 12
    assert [(b["epoch"], b["sample"], b["name"]) for b in bad] == [
        (1, sample, "sample_changed") for sample in (9, 33, 50)]
    for b in bad:
        assert b["code"] == ERRORS["sample_changed"] and b["path"].endswith(
            paths[b["sample"]].name)
        assert "the dataset changed under the stream" in b["text"] and b["path"] in b["text"], b
    assert daemon.status()["files_changed_total"] == 3
    assert {entry["name"] for entry in daemon.list("bad")} == {"sample_changed"}
    daemon.settle()
    images, bad = run(daemon, folder)
    assert len(images) == N and not bad


def test_a_changed_file_is_substituted(daemon, folder):
    """FAULTS 64: where bad samples are replaced, so is this one."""
    paths = files(folder)
    with daemon.connect() as peer:
        peer.attach(folder, **{**STREAM, "shuffle": False, "epochs": 2}, inflight=1, prefetch=2,
                    bad_samples="substitute")
        for _ in range(N // 4 - 1):
            peer.release(peer.expect("batch"))
        last = peer.expect("batch")
        paths[20].write_bytes(paths[21].read_bytes())
        peer.release(last)
        images, bad = epoch(peer)
    assert not bad and images[20][0] == 21 and len(images) == N


def test_the_time_of_day_is_nothing(spawn, photos):
    """FAULTS 79: it jumps by a day with each look; nobody is cut off, no counter falls."""
    daemon = spawn(environment=faulty(STOKER_TEST_CLOCK="1"), lease_timeout="3600s")
    reference, _ = run(spawn(), photos)
    with daemon.connect() as idle:
        before = daemon.status()
        for _ in range(5):
            assert run(daemon, photos) == (reference, [])
            now = daemon.status()
            assert all(now[name] >= before[name] for name in now
                       if name.endswith("_total")), (before, now)
            before = now
            time.sleep(0.5)  # over ticks
        assert now["timeouts_total"] == 0 and now["uptime_s"] < 600
        assert idle.request("ping").name == "ok"


def test_files_that_are_no_samples(daemon, folder):
    """FAULTS 67: a FIFO, a socket, a loop of folders: no sample, and nobody waits for it."""
    first = next(p for p in sorted(folder.iterdir()) if p.is_dir())
    os.mkfifo(first / "pipe.jpg")
    (first / "again").symlink_to(".")
    images, bad = run(daemon, folder)
    assert len(images) == N and not bad


def test_replaced_by_a_fifo_later(daemon, folder):
    """FAULTS 67: the open does not block."""
    with daemon.connect() as peer:
        peer.attach(folder, **{**STREAM, "shuffle": False}, inflight=1)
        path = files(folder)[50]
        path.unlink()
        os.mkfifo(path)
        images, bad = epoch(peer)
    assert [b["sample"] for b in bad] == [50] and len(images) == N - 4


@pytest.fixture
def public(spawn):
    """A daemon that reads anything for anybody."""
    daemon = spawn(dataset_root="/")
    daemon.folder.chmod(0o755)
    return daemon


@pytest.fixture
def stranger(public):
    """Connects to it as a user who is neither the daemon's nor root."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")

    def connect():
        os.seteuid(12345)
        try:
            return public.connect()
        finally:
            os.seteuid(0)
    return connect


def link_farm(folder, farm):
    """The folder as links: absolute ones, ones that lead out, and a class that is a link."""
    for i, home in enumerate(sorted(p for p in folder.iterdir() if p.is_dir())):
        if i == 0:
            (farm / home.name).symlink_to(home)
            continue
        (farm / home.name).mkdir(parents=True)
        for j, path in enumerate(sorted(home.iterdir())):
            (farm / home.name / path.name).symlink_to(
                path if j % 2 else os.path.relpath(path, farm / home.name))
    return farm


def test_a_link_out_of_the_root(stranger, folder, tmp_path):
    """FAULTS 69: not followed for a stranger, put there later or named by a manifest."""
    secret = tmp_path / "secret.jpg"
    secret.write_bytes(files(folder)[0].read_bytes())
    with stranger() as peer:
        peer.attach(folder, **{**STREAM, "shuffle": False}, inflight=1)
        path = files(folder)[50]
        path.unlink()
        path.symlink_to(secret)
        images, bad = epoch(peer)
    assert [(b["sample"], b["name"]) for b in bad] == [(50, "sample_read")]
    assert "for the daemon's own user and root alone" in bad[0]["text"]
    assert len(images) == N - 4


def test_a_link_farm(public, stranger, folder, tmp_path):
    """What ImageFolder reads through links, the daemon's own user reads, too: the same samples in
    the same order, and the same bytes. A stranger is told why not, also while it is in use."""
    farm = tmp_path / "farm"
    farm.mkdir()
    link_farm(folder, farm)
    assert run(public, farm) == run(public, folder)
    with public.connect() as own, stranger() as other:
        assert own.attach(farm, **STREAM).name == "attached"
        answer = other.attach(farm, **STREAM)
        assert answer.name == "error" and answer.fields["name"] == "dataset"
        assert "symbolic link that leads out" in answer.fields["text"]
        assert "the daemon's own user and root alone" in answer.fields["text"]
        # Joined, too.
        parts = {"parts": [{"path": str(farm)}, {"path": str(folder)}]}
        assert other.attach("", **{**STREAM, "dataset": parts}).name == "error"
    with public.connect() as own:
        answer = own.attach("", **{**STREAM, "dataset": parts})
        assert answer.name == "attached" and answer.fields["samples"] == 2 * N


def test_magic_links(daemon, folder):
    """FAULTS 69: what /proc/self leads to depends on the process: not followed for anybody."""
    path = files(folder)[50]
    path.unlink()
    path.symlink_to("/proc/self/exe")
    with daemon.connect() as peer:
        assert peer.attach(folder, **STREAM).fields["samples"] == N - 1


def test_too_large(spawn, folder):
    """FAULTS 68: the gate says size and limit, before the file is read."""
    daemon = spawn(max_file_bytes="1M")
    with open(files(folder)[3], "ab") as file:
        file.truncate(10 << 30)
    images, bad = run(daemon, folder)
    assert [(b["sample"], b["name"]) for b in bad] == [(3, "sample_limit")]
    assert "10737418240" in bad[0]["text"] and "1048576" in bad[0]["text"]
    assert len(images) == N - 4


def test_progress_while_indexing(daemon, tmp_path):
    """Who waits for an index sees it grow, and others are served meanwhile."""
    many = tmp_path / "many"
    for label in range(40):
        (many / f"{label:02}").mkdir(parents=True)
        for i in range(500):
            (many / f"{label:02}" / f"{i}.jpg").touch()
    with daemon.connect() as peer:
        peer.send("attach", seq=5, dataset={"path": str(many)}, batch_size=4, accept_fd=True,
                  transforms=STREAM["transforms"])
        with daemon.connect() as other:
            assert other.request("ping").name == "ok"
        while (message := peer.receive()).name == "progress":
            assert message.fields["what"] in ("indexing", "allocating")
        assert message.name == "attached" and message.fields["samples"] == 20000
    daemon.settle()


def test_leaving_while_indexing(daemon, tmp_path):
    """An index that nobody waits for any more is given up."""
    many = tmp_path / "many"
    for label in range(40):
        (many / f"{label:02}").mkdir(parents=True)
        for i in range(500):
            (many / f"{label:02}" / f"{i}.jpg").touch()
    for _ in range(5):
        with daemon.connect() as peer:
            peer.send("attach", seq=5, dataset={"path": str(many)}, batch_size=4, accept_fd=True,
                      transforms=STREAM["transforms"])
    wait_for(lambda: not daemon.list("datasets"), "the catalog is empty")
    daemon.settle()


def test_nobody_works(daemon, folder):
    """Who waits for a batch that nobody makes is told so, and goes on when there are workers."""
    with daemon.connect() as peer:
        assert daemon.set("workers", 0).name == "ok"
        peer.attach(folder, **STREAM)
        stalled = peer.expect("stalled").fields
        assert stalled["why"] == "the daemon has no workers: stokerctl set workers N"
        assert (stalled["epoch"], stalled["position"]) == (0, 0)
        assert daemon.list("readers")[0]["state"] == "stalled"
        assert daemon.set("workers", 2).name == "ok"
        images, bad = epoch(peer)
        assert len(images) == N and not bad
        assert daemon.list("readers")[0]["state"] == "ended"


def test_progress_while_headers_are_read(spawn, folder, tmp_path):
    """Who waits for Buckets sees how far they are; who leaves stops them."""
    (gate := tmp_path / "gate").touch()
    on_disk("dead", folder, 30)
    daemon = spawn(environment=faulty(STOKER_TEST_GATE=str(gate)))
    with daemon.connect() as peer, daemon.connect() as other:
        for one in (peer, other):
            one.send("attach", seq=5, dataset={"path": str(folder)}, batch_size=4, accept_fd=True,
                     page=2, accept_sizes=True,
                     transforms=[{"name": "Buckets", "sizes": [[32, 32]]}])
            while (said := one.expect("progress", 30 * SLOW).fields)["what"] != "headers":
                pass
            assert said["done"] < said["total"] == N
        other.close()
        gate.unlink()
        while peer.receive().name != "attached":
            pass
