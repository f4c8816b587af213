# SPDX-License-Identifier: MIT
"""Large folders are opened by their names: sizes follow behind the attach, whoever needs them
waits, and what changes meanwhile is never read as if it had been there."""

import os
import shutil
import struct

import pytest
from PIL import Image

from harness import hash_of, wait_for
from test_storage import faulty

NAMES = 4100  # more than are looked at in any case (DATASET_NAMES_ABOVE)
LATE = 40  # pictures that are looked at when the gate opens
VICTIM = 37  # one of them, which is not read ahead of the first ones
NONE = 2**64 - 1
STREAM = {"transforms": [{"name": "Resize", "size": [8, 8]}], "dtype": "uint8", "layout": "NHWC",
          "shuffle": False, "batch_size": 1, "inflight": 1, "prefetch": 1, "accept_moves": False,
          "subset_start": NAMES}
NAMED = {**STREAM, "accept_names": True}


def fingerprint_of(root, sizes=True):
    """The digest of daemon/dataset/index.h for one class of one folder and one below it."""
    def number(value):
        return struct.pack("<Q", value)

    def text(value):
        return number(len(value)) + value.encode()

    parts = [text("stoker dataset 1"), text("folder"), number(1), text("a")]
    count = 0
    for folder in (root / "a", root / "a" / "late-look"):
        for path in sorted(path for path in folder.iterdir() if path.is_file()):
            parts += [number(2), text(str(path.relative_to(root))),
                      number(path.stat().st_size if sizes else NONE), number(0)]
            count += 1
    return hash_of(b"".join([*parts, number(4), number(count)])).hex()


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    root = tmp_path_factory.mktemp("many") / "data"
    (root / "a").mkdir(parents=True)
    first = root / "a" / "0000.bmp"
    Image.new("RGB", (4, 4)).save(first)
    for number in range(1, NAMES):
        os.link(first, root / "a" / f"{number:04}.bmp")
    return root


@pytest.fixture
def data(many):
    """Few of its files are new: links of thousands take longer than a test."""
    late = many / "a" / "late-look"
    late.mkdir()
    for number in range(LATE):
        Image.new("RGB", (8, 8), (number,) * 3).save(late / f"{number:02}.bmp")
    yield many
    for folder in (many / "a").glob("late-look*"):
        shutil.rmtree(folder)


class Gate:
    """As long as it is shut, no file in the folder late-look is looked at for its size."""

    def __init__(self, path):
        self.path = path
        path.touch()

    def open(self):
        self.path.unlink()


@pytest.fixture
def gated(spawn, tmp_path):
    gate = Gate(tmp_path / "gate")
    return spawn(environment=faulty(STOKER_TEST_GATE=str(gate.path))), gate


def level_of(peer, batch):
    level = int(peer.ring.read(batch.fields["runs"])["image"].flat[0])
    peer.release(batch)
    return level


UNKNOWN = "its fingerprint is not known"


def is_sized(daemon):
    return "the sizes of its files are known" in daemon.log()


def read(peer, count):
    """Levels of the next batches, and what is said of the dataset with them."""
    levels, said = [], []
    for _ in range(count):
        batch = peer.expect("batch")
        said += filter(None, [batch.fields.get("dataset_fingerprint")])
        levels.append(level_of(peer, batch))
    return levels, said


def test_names_first(gated, data):
    """The attach is answered by names, batches come, and one of them says the whole fingerprint
    once it is known; who knows no names waits for it."""
    daemon, gate = gated
    names, whole = fingerprint_of(data, sizes=False), fingerprint_of(data)
    with daemon.connect() as peer, daemon.connect() as old, daemon.connect() as late:
        assert peer.attach(data, **NAMED, epochs=0).name == "attached"
        assert "dataset_fingerprint" not in peer.attached
        assert peer.attached["names_fingerprint"] == names
        assert read(peer, LATE) == (list(range(LATE)), [])
        old.send("attach", seq=7, dataset={"path": str(data)}, accept_fd=True, epochs=1, **STREAM)
        assert read(peer, LATE) == (list(range(LATE)), [])
        assert not is_sized(daemon)
        gate.open()
        wait_for(lambda: is_sized(daemon), "the sizes")
        attached = old.expect("attached")
        assert attached.fields["dataset_fingerprint"] == whole
        old.follow(attached)
        assert read(old, LATE) == (list(range(LATE)), [])
        levels, said = read(peer, 3 * LATE)
        assert levels == 3 * list(range(LATE)) and said == [whole]
        assert late.attach(data, **NAMED).name == "attached"
        assert late.attached["dataset_fingerprint"] == whole
        assert late.attached["names_fingerprint"] == names
        [row] = daemon.list("datasets")
        assert row["fingerprint"] == whole and row["samples"] == NAMES + LATE


def test_old_client_that_asks_by_number(gated, data):
    """ATTACH by the number of a stream, too, waits where the client knows no names."""
    daemon, gate = gated
    with daemon.connect() as peer, daemon.connect() as old, daemon.connect() as new:
        assert peer.attach(data, **NAMED).name == "attached"
        number = peer.attached["stream"]
        wish = {"batch_size": 1, "accept_fd": True, "inflight": 1, "pace": "free"}
        old.send("attach", seq=7, like=number, **wish)
        answer = new.request("attach", like=number, accept_names=True, **wish)
        assert "dataset_fingerprint" not in answer.fields
        assert read(peer, 3) == ([0, 1, 2], []) and not is_sized(daemon)
        gate.open()
        attached = old.expect("attached")
        assert attached.fields["dataset_fingerprint"] == fingerprint_of(data)
        assert attached.fields["stream"] == number == answer.fields["stream"]


def test_small_folders_have_no_such_fingerprint(daemon, data):
    few = data / "a" / "late-look"
    with daemon.connect() as peer:
        wish = {"dataset": {"kind": "flat", "path": str(few)}, "subset_start": 0}
        assert peer.attach(few, **{**NAMED, **wish}).name == "attached"
        assert "names_fingerprint" not in peer.attached
        assert len(peer.attached["dataset_fingerprint"]) == 32


def test_token_of_both(gated, data):
    """What a token says of sizes is compared as soon as they are known: the stream of one that
    differs ends before its next batch."""
    daemon, gate = gated
    names, whole = fingerprint_of(data, sizes=False), fingerprint_of(data)
    wrong = "0" * 32
    with daemon.connect() as good, daemon.connect() as bad, daemon.connect() as other:
        error = other.attach(data, **NAMED, expect_names=wrong, expect_dataset=whole)
        assert error.fields["name"] == "token" and f"has {names}" in error.fields["text"]
        for peer, dataset in (good, whole), (bad, wrong):
            wish = {"expect_names": names, "expect_dataset": dataset, "epochs": 0}
            assert peer.attach(data, **NAMED, **wish).name == "attached"
            assert read(peer, 3) == ([0, 1, 2], [])
        batch = bad.expect("batch")
        gate.open()
        wait_for(lambda: is_sized(daemon), "the sizes")
        bad.release(batch)
        error = bad.expect_error("token")
        assert f"of dataset {wrong}, this one is {whole}" in error["text"]
        bad.request("detach")  # and the connection goes on
        assert bad.attach(data, **NAMED, expect_dataset=whole).name == "attached"
        levels, said = read(good, 2 * LATE)
        assert said == [whole] and levels[:3] == [3, 4, 5]


@pytest.mark.parametrize("expected", ["right", "wrong"])
def test_token_without_names(gated, data, expected):
    """It makes its attach look at the files first, and is exact."""
    daemon, gate = gated
    whole = fingerprint_of(data)
    wish = {"expect_dataset": whole if expected == "right" else "0" * 32}
    with daemon.connect() as first, daemon.connect() as peer:
        assert first.attach(data, **NAMED).name == "attached"
        peer.send("attach", seq=7, dataset={"path": str(data)}, accept_fd=True, epochs=1, **NAMED,
                  **wish)
        assert read(first, 3) == ([0, 1, 2], [])
        gate.open()
        if expected == "right":
            assert peer.expect("attached").fields["dataset_fingerprint"] == whole
        else:
            assert whole in peer.expect_error("token")["text"]


def change(root, how):
    """Something happens to one of the late pictures."""
    victim = root / "a" / "late-look" / f"{VICTIM}.bmp"
    size = victim.stat().st_size
    if how == "rewritten":
        with open(victim, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"\x63")
        assert victim.stat().st_size == size
    elif how == "resized":
        Image.new("RGB", (9, 9), (99,) * 3).save(victim)
    elif how == "replaced":
        Image.new("RGB", (8, 8), (99,) * 3).save(root / "new.bmp")
        (root / "new.bmp").rename(victim)
    elif how == "removed":
        victim.unlink()
    elif how == "moved":
        victim.rename(victim.with_name("99.bmp"))
    elif how == "folder moved":
        victim.parent.rename(root / "a" / "late-look-2")
    else:
        Image.new("RGB", (8, 8), (99,) * 3).save(victim.with_name("377.bmp"))


HOW = ["rewritten", "resized", "replaced", "removed", "moved", "added", "folder moved"]


def rest_of(peer):
    """Levels of the batches until the end, and what comes in the place of one."""
    got = []
    while (message := peer.receive()).name != "end":
        got.append(level_of(peer, message) if message.name == "batch" else message.name)
    return got


@pytest.mark.parametrize("how", HOW)
def test_changed_before_the_first_read(gated, data, how):
    """Behind the attach and before anybody looked at it: other bytes never come, no fingerprint is
    of a mixture, and who attaches then sees what is there."""
    daemon, gate = gated
    names, whole = fingerprint_of(data, sizes=False), fingerprint_of(data)
    wish = {"expect_names": names, "expect_dataset": whole, "epochs": 0,
            "transforms": [{"name": "Resize", "size": [4, 4]}]}
    with daemon.connect() as peer, daemon.connect() as token, daemon.connect() as after:
        assert peer.attach(data, **NAMED).name == "attached"
        assert token.attach(data, **{**NAMED, **wish}).name == "attached"
        batch = token.expect("batch")
        assert read(peer, 1) == ([0], [])
        change(data, how)
        got = rest_of(peer)
        assert 99 not in got and (VICTIM in got) == (how == "added"), got
        gate.open()
        wait_for(lambda: is_sized(daemon) or UNKNOWN in daemon.log(), "the look")
        if not is_sized(daemon):  # what came or went may have been listed before
            token.release(batch)
            assert "came, went or were changed" in token.expect_error("token")["text"]
        else:
            assert how in ("added", "folder moved")
        if how == "folder moved":
            (data / "a" / "late-look-2").rename(data / "a" / "late-look")
        assert after.attach(data, **STREAM).name == "attached"
        assert after.attached["dataset_fingerprint"] == fingerprint_of(data)
        assert (fingerprint_of(data) == whole) == (
            how in ("rewritten", "replaced", "folder moved"))


@pytest.mark.parametrize("how", HOW[:5])
def test_changed_behind_the_look(daemon, data, how):
    """In the middle of an epoch, once sizes are known: as in a small folder."""
    with daemon.connect() as peer:
        assert peer.attach(data, **NAMED).name == "attached"
        wait_for(lambda: is_sized(daemon), daemon.log)
        assert read(peer, 1)[0] == [0]
        change(data, how)
        want = list(range(1, LATE))
        want[VICTIM - 1] = "bad_sample"
        assert rest_of(peer) == want


def test_clock_set_back(spawn, data, tmp_path):
    """While it is opened: nobody waits for the time to come again."""
    gate, back = Gate(tmp_path / "gate"), tmp_path / "back"
    daemon = spawn(environment=faulty(STOKER_TEST_GATE=str(gate.path), STOKER_TEST_BACK=str(back)))
    late = data / "a" / "late-look"
    (late / "empty").mkdir()  # a folder in a folder is looked at in the attach
    descriptors = f"/proc/{daemon.process.pid}/fd"

    def is_listed():
        return any(os.path.realpath(f"{descriptors}/{fd}") == str(late)
                   for fd in os.listdir(descriptors))

    with daemon.connect() as peer:
        peer.send("attach", seq=7, dataset={"path": str(data)}, accept_fd=True, epochs=1, **NAMED)
        wait_for(is_listed, "the listing")
        back.touch()
        gate.open()
        assert peer.expect("attached").fields["samples"] == LATE


def test_times_to_come(daemon, data):
    """A file of a clock that was set back since is one that changed, for all that can be told: the
    next openings look at each file first."""
    victim = data / "a" / "late-look" / f"{VICTIM}.bmp"
    ahead = victim.stat().st_mtime + 1800
    os.utime(victim, (ahead, ahead))
    with daemon.connect() as peer:
        assert peer.attach(data, **NAMED).name == "attached"
        wait_for(lambda: UNKNOWN in daemon.log(), daemon.log)
        with daemon.connect() as after:
            assert after.attach(data, **NAMED).name == "attached"
            assert after.attached["dataset_fingerprint"] == fingerprint_of(data)
            assert rest_of(after) == list(range(LATE))
    assert daemon.log().count(UNKNOWN) == 1


def test_ends_while_it_is_looked_at(gated, data):
    """A dataset that nobody wants any more is not looked at any further, and a daemon that stops
    waits for a look that is under way only."""
    daemon, gate = gated
    with daemon.connect() as peer:
        assert peer.attach(data, **NAMED).name == "attached"
        assert daemon.list("datasets")
    gate.open()
    wait_for(lambda: not daemon.list("datasets"), "the end of the dataset")
    daemon.settle()
