# SPDX-License-Identifier: MIT
"""Storage and samples that fail: typed, counted, listed, at their position and nowhere else."""

import os
import shutil
import threading

import pytest

from harness import BUILD, ERRORS, wait_for
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


def spawn_on(disk, spawn, folder, index):
    """A daemon for which the file of this sample lies on a "broken", "slow" or "held" disk (see
    faults.c)."""
    victim = files(folder)[index]
    victim.rename(victim.with_name(f"{victim.stem}-{disk}-disk{victim.suffix}"))
    return spawn(environment={"LD_PRELOAD": str(BUILD / "tests" / "libfaults.so"),
                              "ASAN_OPTIONS": "verify_asan_link_order=0"})


def test_orders_of_who_left_are_no_wall(spawn, folder):
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


def test_a_link_out_of_the_root(daemon, folder, tmp_path):
    """FAULTS 69: never followed, neither found by the scan nor put there later."""
    secret = tmp_path / "secret.jpg"
    secret.write_bytes(files(folder)[0].read_bytes())
    with daemon.connect() as peer:
        peer.attach(folder, **{**STREAM, "shuffle": False}, inflight=1)
        path = files(folder)[50]
        path.unlink()
        path.symlink_to(secret)
        images, bad = epoch(peer)
    assert [(b["sample"], b["name"]) for b in bad] == [(50, "sample_read")]
    assert len(images) == N - 4


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
