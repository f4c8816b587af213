# SPDX-License-Identifier: MIT
"""Lists of a large dataset's folders are kept in index-dir, for the next daemon: it lists those
again that changed, and never gives names that are not there, or that its user may not see."""

import os
import shutil
import struct
import time

import pytest
from PIL import Image

from harness import hash_of, wait_for
from test_names import NAMED, level_of
from users import (BOB, SERVER, connect, fixture_home, give, give_to,  # noqa: F401
                   needs_root, servers)

NAMES = 4200  # of fewer nothing is kept
FEW = 5
KINDS = ["same", "added", "removed", "moved", "folder added", "folder removed", "folder moved",
         "retyped", "linked"]
OLD_S = 4  # folders that changed this long ago are kept


def picture(path, level):
    Image.new("RGB", (8, 8), (level,) * 3).save(path)


def make(root):
    """One class of many, and a class for each kind of change; their pictures have levels."""
    (root / "a-many").mkdir(parents=True)
    first = root / "a-many" / "0000.bmp"
    picture(first, 200)
    for number in range(1, NAMES):
        os.link(first, root / "a-many" / f"{number:04}.bmp")
    for kind in KINDS:
        (root / kind / "below").mkdir(parents=True)
        for number in range(FEW):
            picture(root / kind / f"{number}.bmp", number)
            picture(root / kind / "below" / f"{number}.bmp", 10 + number)
    (root / "linked" / "5.bmp").symlink_to("0.bmp")


@pytest.fixture(name="old", scope="module")
def fixture_old(tmp_path_factory):
    root = tmp_path_factory.mktemp("kept") / "data"
    make(root)
    root.chmod(0o755)
    made = time.time()
    wait_for(lambda: time.time() > made + OLD_S, "folders that have been as they are for a while")
    return root


@pytest.fixture(name="kept")
def fixture_kept(old, spawn, tmp_path):
    """A dataset whose folders' lists are kept, and the folder of those."""
    index_dir = tmp_path / "indexes"
    run(spawn, old, index_dir)
    assert len(list(index_dir.glob("*.folders"))) == 1
    return old, index_dir


def run(spawn, root, index_dir, who=None):
    """The levels of all but the many, as a new daemon reads them; or its error."""
    daemon = spawn(index_dir=index_dir)
    with connect(daemon, who) if who else daemon.connect() as peer:
        wish = {**NAMED, "subset_start": NAMES, "accept_names": True}
        answer = peer.attach(root, **wish)
        if answer.name == "error":
            return answer.fields["text"]
        levels = []
        while (message := peer.receive()).name != "end":
            levels.append(level_of(peer, message) if message.name == "batch" else message.name)
    daemon.terminate()
    return levels


def truth(root):
    """The levels in the order of the law: classes, their folders by path, files by name."""
    levels = []
    for top in sorted(path for path in root.iterdir() if path.is_dir()):
        if top.name == "a-many":
            continue
        folders = sorted([top, *(p for p in top.rglob("*") if p.is_dir())],
                         key=lambda path: str(path).encode())
        for folder in folders:
            levels += [Image.open(path).getpixel((0, 0))[0]
                       for path in sorted(folder.glob("*.bmp")) if path.is_file()]
    return levels


def forge(path, before, after):
    """A file of lists that says something else, with its checksum."""
    data = path.read_bytes()[:-16]
    assert len(before) == len(after) and before in data
    data = data.replace(before, after)
    path.write_bytes(data + hash_of(data))


def the_file(index_dir):
    path, = index_dir.glob("*.folders")
    return path


def test_lists_are_used(kept, spawn):
    """A name in the file is believed, so no folder was listed."""
    root, index_dir = kept
    assert run(spawn, root, index_dir) == truth(root)
    forge(the_file(index_dir), b"f4.bmp\0", b"f4.txt\0")
    assert run(spawn, root, index_dir) == [level for level in truth(root) if level not in (4, 14)]


def change(root, kind):
    top = root / kind
    if kind == "added":
        picture(top / "2b.bmp", 99)
    elif kind == "removed":
        (top / "3.bmp").unlink()
    elif kind == "moved":
        (top / "3.bmp").rename(top / "below" / "3b.bmp")
    elif kind == "folder added":
        (top / "new").mkdir()
        picture(top / "new" / "0.bmp", 98)
    elif kind == "folder removed":
        shutil.rmtree(top / "below")
    elif kind == "folder moved":
        (top / "below").rename(top / "above")
    elif kind == "retyped":
        (top / "1.bmp").unlink()
        (top / "1.bmp").mkdir()
        picture(top / "1.bmp" / "0.bmp", 97)
    elif kind == "linked":  # what it leads to is another one: no folder's stamp moves
        picture(top / "0.bmp", 96)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_changed_between_two_runs(kept, spawn, kind):
    root, index_dir = kept
    change(root, kind)
    for _ in range(2):
        assert run(spawn, root, index_dir) == truth(root)


def test_changed_in_the_tick_of_a_list(kept, spawn):
    """A folder that changed a moment ago is not kept: the next change may move no stamp."""
    root, index_dir = kept
    for level in (70, 71):
        stamp = (root / "same").stat()
        picture(root / "same" / f"x{level}.bmp", level)
        os.utime(root / "same", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        assert run(spawn, root, index_dir) == truth(root)


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "version", "dots", "foreign"])
def test_damaged(kept, spawn, damage):
    root, index_dir = kept
    path = the_file(index_dir)
    data = path.read_bytes()
    if damage == "cut":
        path.write_bytes(data[:-40])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "flipped":
        path.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])
    elif damage == "version":
        body = data[:8] + struct.pack("<I", 999) + data[12:-16]
        path.write_bytes(body + hash_of(body))
    elif damage == "dots":
        forge(path, b"f4.bmp\0", b"f/.bmp\0")
    else:
        forge(path, data[16:32], bytes(16))
    assert run(spawn, root, index_dir) == truth(root)
    again = path.read_bytes()
    assert again[:32] == data[:32] and again[-16:] == hash_of(again[:-16])


def test_another_folder_in_its_place(kept, spawn, tmp_path):
    root, index_dir = kept
    shutil.copytree(root, tmp_path / "other", symlinks=True)
    picture(tmp_path / "other" / "same" / "0.bmp", 50)
    (tmp_path / "other" / "same" / "1.bmp").unlink()
    root.rename(tmp_path / "before")
    try:
        (tmp_path / "other").rename(root)
        assert run(spawn, root, index_dir) == truth(root)
        root.rename(tmp_path / "other")
    finally:
        (tmp_path / "before").rename(root)
    assert run(spawn, root, index_dir) == truth(root)


@needs_root
def test_no_names_without_rights(home):
    """What a user may not list is not given to it from what the daemon's own user listed."""
    root, indexes = home / "data", home / "indexes"
    make(root)
    give_to(root / "same" / "below", SERVER)
    indexes.mkdir(mode=0o700)
    os.chown(indexes, SERVER, SERVER)
    made = time.time()
    wait_for(lambda: time.time() > made + OLD_S, "folders that have been as they are for a while")
    with servers(index_dir=indexes) as serve:
        assert run(serve, root, indexes, SERVER) == truth(root)
        before = the_file(indexes).read_bytes()
        dataset = {"path": str(root), "path_fd": 0}
        name, said = give(serve(), BOB, dataset, root, accept_names=True)
        assert name in ("dataset", "permission") and "same/below" in said, said
        assert run(serve, root, indexes, SERVER) == truth(root)
        assert the_file(indexes).read_bytes() == before
