# SPDX-License-Identifier: MIT
"""A dataset that nobody reads stays open for dataset-idle: without a descriptor, for who comes next
if all is as it was, and never as files were that are others now."""

import os
import shutil
import subprocess

import numpy
import pytest
from PIL import Image

from harness import wait_for
from test_names import (HOW, LATE, NAMED, VICTIM, Gate, change, fingerprint_of, level_of,
                        rest_of)
from test_storage import faulty

LARGE = 16400  # of more than 16,384 files, no attach looks at each


@pytest.fixture(name="many", scope="module")
def fixture_many(tmp_path_factory):
    root = tmp_path_factory.mktemp("many") / "data"
    (root / "a").mkdir(parents=True)
    first = root / "a" / "00000.bmp"
    Image.new("RGB", (8, 8)).save(first)
    for number in range(1, LARGE):
        os.link(first, root / "a" / f"{number:05}.bmp")
    return root


@pytest.fixture(name="data", params=["small", "large"])
def fixture_data(request, tmp_path):
    """A class of many pictures or of none, and a folder in it whose pictures all differ."""
    root = request.getfixturevalue("many") if request.param == "large" else tmp_path / "data"
    late = root / "a" / "late-look"
    late.mkdir(parents=True)
    for number in range(LATE):
        Image.new("RGB", (8, 8), (number,) * 3).save(late / f"{number:02}.bmp")
    yield root
    shutil.rmtree(late)


@pytest.fixture(name="idle")
def fixture_idle(spawn):
    return spawn(dataset_idle="1h")


def count_of(root):
    return sum(len(files) for _, _, files in os.walk(root))


def state_of(daemon):
    return [row["state"] for row in daemon.list("datasets")]


def run(daemon, root, **fields):
    """The levels of one epoch's last pictures, and the whole fingerprint."""
    wish = {**NAMED, "subset_start": max(count_of(root) - LATE - 1, 0), "accept_names": False}
    with daemon.connect() as peer:
        answer = peer.attach(root, **{**wish, **fields})
        assert answer.name == "attached", answer
        got = []
        while (message := peer.receive()).name != "end":
            got.append(level_of(peer, message) if message.name == "batch" else message.name)
        return got, peer.attached["dataset_fingerprint"]


def paths_held(daemon):
    folder = f"/proc/{daemon.process.pid}/fd"
    return [os.path.realpath(f"{folder}/{number}") for number in os.listdir(folder)]


def rest(daemon):
    wait_for(lambda: state_of(daemon) == ["idle"], lambda: state_of(daemon))


def test_is_not_opened_again(idle, data):
    """Who comes next gets the one that there is, with all that it had."""
    want = run(idle, data)
    rest(idle)
    [row] = idle.list("datasets")
    held = [path for path in paths_held(idle) if path.startswith(str(data)) or "inotify" in path]
    assert not held
    for _ in range(2):
        assert run(idle, data) == want
        rest(idle)
    assert [again["dataset"] for again in idle.list("datasets")] == [row["dataset"]]
    assert idle.log().count("files skipped (not images)") == 1
    assert want[0][-3:] == [37, 38, 39] and want[1] == fingerprint_of(data)


@pytest.mark.parametrize("how", HOW)
def test_changed_meanwhile(idle, data, how):
    """Files are as they are when somebody attaches: no bytes of before, and no bad samples."""
    run(idle, data)
    rest(idle)
    change(data, how)
    if how == "folder moved":
        (data / "a" / "late-look-2").rename(data / "a" / "late-look")
    got, fingerprint = run(idle, data)
    assert fingerprint == fingerprint_of(data)
    want = list(range(LATE))
    if how in ("resized", "replaced"):
        want[VICTIM] = 99
    elif how == "removed":
        want.remove(VICTIM)
    elif how == "moved":
        want.append(want.pop(VICTIM))
    elif how == "added":
        want.insert(VICTIM + 1, 99)
    if how == "rewritten":  # one colour of the first pixel's row
        assert "bad_sample" not in got and len(got) >= LATE
    else:
        assert got[-len(want):] == want


def test_another_folder_of_this_name(idle, tmp_path):
    data = tmp_path / "data"
    for level in (5, 6):
        (data / "a").mkdir(parents=True)
        Image.new("RGB", (8, 8), (level,) * 3).save(data / "a" / "0.bmp")
        assert run(idle, data)[0] == [level]
        rest(idle)
        data.rename(tmp_path / f"old{level}")


def test_list_of_files(idle, tmp_path):
    """A manifest says nothing of its files, which may change, and is looked at itself."""
    for number in range(4):
        Image.new("RGB", (8, 8), (number,) * 3).save(tmp_path / f"{number}.bmp")
    listed = tmp_path / "list.csv"
    listed.write_text("path,label\n" + "".join(f"{number}.bmp,0\n" for number in range(4)))
    wish = {"subset_start": 0}
    assert run(idle, listed, **wish)[0] == [0, 1, 2, 3]
    rest(idle)
    [row] = idle.list("datasets")
    Image.new("RGB", (8, 8), (50,) * 3).save(tmp_path / "1.bmp")
    assert run(idle, listed, **wish)[0] == [0, 50, 2, 3]
    rest(idle)
    assert idle.list("datasets")[0]["dataset"] == row["dataset"]
    listed.write_text("path,label\n3.bmp,0\n1.bmp,0\n")
    assert run(idle, listed, **wish)[0] == [3, 50]


def test_list_of_masks(idle, tmp_path):
    """Masks of 16 bits, too, are as they are when somebody attaches."""
    Image.new("RGB", (8, 8)).save(tmp_path / "i.png")
    table = tmp_path / "list.csv"
    table.write_text("path,mask16\ni.png,m.png\n")
    rows = []
    for number in (300, 40000):
        Image.fromarray(numpy.full((8, 8), number, "uint16")).save(tmp_path / "m.png")
        with idle.connect() as peer:
            wish = {**NAMED, "subset_start": 0, "accept_names": False, "accept_fields": True}
            wish["transforms"] = [{"name": "Resize", "size": [8, 8], "interpolation": "nearest"}]
            answer = peer.attach(table, **wish)
            assert answer.name == "attached", answer
            batch = peer.expect("batch")
            assert (peer.ring.read(batch.fields["runs"])["mask16"] == number).all()
        rest(idle)
        rows.append(idle.list("datasets")[0]["dataset"])
    assert rows[0] == rows[1]


def test_unmounted(idle, tmp_path):
    """It keeps no file system busy."""
    place = tmp_path / "mounted"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=False,
                      capture_output=True).returncode:
        pytest.skip("mounting takes rights that this user does not have")
    try:
        (place / "a").mkdir()
        Image.new("RGB", (8, 8), (7,) * 3).save(place / "a" / "0.bmp")
        assert run(idle, place)[0] == [7]
        rest(idle)
    finally:
        subprocess.run(["umount", place], check=True)
    with idle.connect() as peer:
        assert "no class folder" in peer.attach(place, **NAMED).fields["text"]


def test_dropped(idle, data):
    """By hand, or when its time is over."""
    run(idle, data)
    rest(idle)
    assert idle.ctl("drop").returncode == 0
    assert not idle.list("datasets")
    run(idle, data)
    rest(idle)
    assert idle.set("dataset-idle", "0").name == "ok"
    wait_for(lambda: not idle.list("datasets"), "its time is over")
    run(idle, data)
    wait_for(lambda: not idle.list("datasets"), "none stays")


@pytest.fixture(name="waking")
def fixture_waking(spawn, tmp_path):
    """A daemon, its idle dataset, and an attach that waits at a gate while it is woken."""
    data = tmp_path / "late-look"  # a woken one's files are looked at from here
    (data / "a").mkdir(parents=True)
    for number in range(LATE):
        Image.new("RGB", (8, 8), (number,) * 3).save(data / "a" / f"{number:02}.bmp")
    daemon = spawn(dataset_idle="1h", environment=faulty(STOKER_TEST_GATE=str(tmp_path / "gate")))
    run(daemon, data)
    rest(daemon)
    gate = Gate(tmp_path / "gate")
    peer = daemon.connect()
    ask(peer, data)
    wait_for(lambda: state_of(daemon) == ["open", "indexing"], lambda: state_of(daemon))
    return daemon, data, gate, peer


def ask(peer, data, seed=0):
    peer.send("attach", seq=7, dataset={"path": str(data)}, accept_fd=True, epochs=1,
              order_seed=seed, **{**NAMED, "subset_start": 0})


def test_second_attach_while_it_wakes(waking):
    """All who ask for it meanwhile get the same one."""
    daemon, data, gate, peer = waking
    with peer, daemon.connect() as second:
        ask(second, data, seed=1)  # a stream of its own
        assert len(daemon.list("datasets")) == 2
        gate.open()
        for reader in (peer, second):
            reader.follow(reader.expect("attached"))
            assert rest_of(reader) == list(range(LATE))
        assert state_of(daemon) == ["open"]
    rest(daemon)


def test_leaves_while_it_wakes(waking):
    """It rests again, and who asked after that had one of its own."""
    daemon, data, gate, peer = waking
    peer.close()
    with daemon.connect() as second:
        wait_for(lambda: daemon.status()["connections"] == 2, "the first one's end")
        ask(second, data)
        wait_for(lambda: len(daemon.list("datasets")) == 3, lambda: state_of(daemon))
        gate.open()
        second.follow(second.expect("attached"))
        assert rest_of(second) == list(range(LATE))
    wait_for(lambda: set(state_of(daemon)) == {"idle"}, lambda: state_of(daemon))
    assert run(daemon, data, subset_start=0)[0] == list(range(LATE))


def test_dropped_while_it_wakes(waking):
    """It is in use."""
    daemon, _, gate, peer = waking
    with peer:
        assert daemon.ctl("drop").returncode == 0
        gate.open()
        peer.follow(peer.expect("attached"))
        assert rest_of(peer) == list(range(LATE))


def test_stops_while_it_wakes(waking):
    daemon, _, gate, peer = waking
    with peer:
        daemon.process.terminate()
        wait_for(lambda: "SIGTERM" in daemon.log(), daemon.log)
        gate.open()
        assert daemon.process.wait(60) == 0


def test_changed_while_it_wakes(waking):
    daemon, data, gate, peer = waking
    with peer:
        Image.new("RGB", (8, 8), (99,) * 3).save(data / "a" / "37b.bmp")
        gate.open()
        peer.follow(peer.expect("attached"))
        levels = rest_of(peer)
        assert levels in (list(range(LATE)), [*range(VICTIM + 1), 99, *range(VICTIM + 1, LATE)])
    assert len(run(daemon, data, subset_start=0)[0]) == LATE + 1
