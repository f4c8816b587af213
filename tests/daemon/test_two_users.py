# SPDX-License-Identifier: MIT
"""Two users who do not trust each other, at a daemon of a third: what one may have the daemon read,
and what the other is told. All three are real uids, so this needs root.

FAULTS 30, 69, 81, 82; docs/THREATS.md names the tests.
"""

import contextlib
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tarfile
import tempfile

import numpy
import pytest

from harness import BUILD, SOURCE, STOKERCTL, wait_for
from test_law import STREAM
from users import ALICE, BOB, SERVER, connect, needs_root, servers, user

sys.path.insert(0, str(SOURCE / "tests" / "demo"))
sys.path.insert(0, str(SOURCE / "tests" / "unit" / "dataset"))
import photos as made  # noqa: E402 (it stands in the demo's folder)
import published  # noqa: E402

pytestmark = needs_root

CAROL = 61004
TEAM = 61010  # Alice's and Carol's group
N = 12


@pytest.fixture(name="home")
def fixture_home():
    """A folder that all may pass."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-users-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(name="data")
def fixture_data(home):
    """Photographs that the daemon can read, in a folder that only some users shall have read."""
    made.make(home / "data", count=N, size=(60, 50))
    return home / "data"


@pytest.fixture(name="serve")
def fixture_serve():
    with servers() as serve:
        yield serve


def attach(daemon, uid, dataset, groups=(), **fields):
    """What the daemon answers to that user's ATTACH: "attached", or the error's name and words."""
    if not isinstance(dataset, dict):
        dataset = {"path": str(dataset)}
    with connect(daemon, uid, groups) as peer:
        answer = peer.attach("", **{**STREAM, "dataset": dataset, **fields})
        if answer.name == "attached":
            assert peer.request("detach").name == "ok"  # else the next finds it as it was
    if answer.name == "attached":
        return "attached"
    return answer.fields["name"], answer.fields["text"]


def refused(daemon, uid, dataset, **fields):
    """The words of the refusal."""
    name, text = attach(daemon, uid, dataset, **fields)
    assert name == "permission", (dataset, name, text)
    return text


# -- rules -----------------------------------------------------------------------------------------


def test_nothing_without_a_rule(serve, data):
    """FAULTS 81: by default other users have nothing read, and are told the same of what exists,
    of what does not, and of what the daemon itself may not read."""
    daemon = serve()
    (data.parent / "secret").mkdir(0o700)
    (data.parent / "list.txt").write_text("x/1.jpg 1\n")
    paths = [data, data.parent / "none", data.parent / "secret", data.parent / "secret" / "x",
             data.parent / "list.txt", "/proc/self/environ", "/"]
    for uid in ALICE, BOB:
        texts = {refused(daemon, uid, path).replace(f"have {path} read", "have PATH read")
                 for path in paths}
        assert len(texts) == 1, texts
        (text,) = texts
        assert f"user {uid} may not" in text and "dataset-root = FOLDER" in text
    assert f"user {BOB} may not have {data} read: no dataset-root allows it" in daemon.log()
    assert daemon.list("datasets") == []
    daemon.settle()


def test_ones_own_daemon_needs_no_rule(serve, home, data):
    """Its own user and root have everything read that it can, over links and by any path."""
    daemon = serve()
    (home / "link").symlink_to(data)
    os.symlink(data.parent / "data", data / "again")
    for uid in SERVER, 0:
        assert attach(daemon, uid, data) == "attached"
        assert attach(daemon, uid, home / "link") == "attached"
        assert attach(daemon, uid, home / "none")[0] == "dataset"
    assert attach(daemon, ALICE, data)[0] == "permission"


def test_a_rule_for_all_for_a_group_for_a_user(serve, home, data):
    """FAULTS 81: three users, three datasets, by rule and without."""
    team, own = home / "team", home / "own"
    shutil.copytree(data, team)
    shutil.copytree(data, own)
    config = home / "stokerd.conf"
    config.write_text(f"[stokerd]\ndataset-root = {data}\ndataset-root = {team}:{TEAM}\n"
                      f"dataset-root = {own}:@{BOB}\n")
    daemon = serve(config=config)
    allowed = {(uid, path.name) for uid in (ALICE, BOB, CAROL) for path in (data, team, own)
               if attach(daemon, uid, path, [TEAM] if uid != BOB else []) == "attached"}
    assert allowed == {(ALICE, "data"), (BOB, "data"), (CAROL, "data"), (ALICE, "team"),
                       (CAROL, "team"), (BOB, "own")}
    assert attach(daemon, ALICE, team)[0] == "permission"  # who is not in the group any more
    # Whoever is allowed is told what is missing; a neighbour with a longer name is none.
    name, text = attach(daemon, ALICE, data / "none")
    assert name == "dataset" and "No such file" in text
    shutil.copytree(data, home / "data2")
    refused(daemon, ALICE, home / "data2")
    refused(daemon, ALICE, f"{data}/../own")
    refused(daemon, BOB, f"{own}/../team")


@pytest.mark.parametrize("way", ["link", "absolute", "parts", "magic"])
def test_no_path_leads_out_of_a_root(serve, home, data, way):
    """FAULTS 69, 81: neither over links nor "..", and what lies there shows in no word."""
    inside, secret = home / "root", home / "secret"
    inside.mkdir()
    shutil.copytree(data, secret)
    if way == "link":
        (inside / "out").symlink_to("../secret")
    elif way == "absolute":
        (inside / "out").symlink_to(secret)
    elif way == "magic":
        (inside / "out").symlink_to("/proc/self/cwd")
    path = inside / "out" if way != "parts" else f"{inside}/../secret"
    daemon = serve(dataset_root=inside)
    words = refused(daemon, BOB, path)
    assert refused(daemon, BOB, f"{path}/none").replace("/none", "") == words
    if way != "magic":
        shutil.rmtree(secret)
        assert refused(daemon, BOB, path) == words


def test_no_link_in_a_dataset_leads_out(serve, home, data):
    """FAULTS 69, 81: of a class or a picture that leads elsewhere nothing is told, least whether
    it exists."""
    secret = home / "secret"
    shutil.copytree(data, secret)
    mine = home / "root" / "mine"
    shutil.copytree(data, mine)
    one = next(mine.glob("*/*.*"))
    daemon = serve(dataset_root=mine.parent)
    assert attach(daemon, BOB, mine) == "attached"
    daemon.settle()  # whoever has it open has it as it was
    for name in "class", f"{one.parent.name}/picture.jpg", f"{one.parent.name}/notes":
        told = set()
        for target in secret, next(secret.glob("*/*.*")), secret / "none", "../../root/mine":
            (mine / name).symlink_to(target)
            told.add(attach(daemon, BOB, mine))
            (mine / name).unlink()
        assert len(told) == 1, told
        (error, text), = told
        assert error == "dataset" and f"{name} is a symbolic link that leads out" in text
    listed = mine / "list.txt"
    (mine / "out.jpg").symlink_to(next(secret.glob("*/*.*")))
    (mine / "lost.jpg").symlink_to(secret / "none.jpg")
    texts = set()
    for name in "out", "lost":
        listed.write_text(f"{name}.jpg 1\n")
        with connect(daemon, BOB) as peer:
            assert peer.attach(listed, **STREAM, batch_size=1).name == "attached"
            bad = peer.expect("bad_sample").fields
        assert bad["name"] == "sample_read"
        texts.add(bad["text"].replace("lost", "out"))
    assert len(texts) == 1 and "leads out of the dataset's folder" in texts.pop()


def every_path(home, data):
    """{what: (dataset, further fields)}: each of them names a path in home/secret, which matters,
    beside others in home/root."""
    root, secret = home / "root", home / "secret"
    shutil.copytree(data, root / "photos")
    shutil.copytree(data, secret / "photos")
    pictures = published.pictures(20, (32, 32, 3), 2)
    for folder in root, secret:
        numpy.save(folder / "x.npy", pictures)
        numpy.save(folder / "y.npy", numpy.arange(20))
        numpy.savez(folder / "x.npz", x=pictures)
        (folder / "list.txt").write_text("\n".join(
            f"photos/{path.relative_to(data)} 1" for path in sorted(data.glob("*/*.*"))))
        published.put(folder / "cifar.tar.gz",
                      published.cifar10(pictures, numpy.arange(20) % 10, 2))
        with tarfile.open(folder / "shard-0.tar", "w") as shard:
            for i, path in enumerate(sorted(data.glob("*/*.jpg"))):
                shard.add(path, f"{i}.jpg")
        published.put(folder / "cifar", published.cifar10(pictures, numpy.arange(20) % 10, 2))
    small = {"transforms": [{"name": "Resize", "size": [8, 8]}]}
    subset = {"name": "subset", "indices": str(secret / "y.npy")}
    weights = {"name": "weighted", "weights": str(secret / "y.npy")}
    return {
        "folder": ({"path": str(secret / "photos")}, {}),
        "flat": ({"path": str(secret / "photos"), "kind": "flat"}, {}),
        "manifest": ({"path": str(secret / "list.txt")}, {}),
        "manifest's root": ({"path": str(root / "list.txt"), "root": str(secret)}, {}),
        "root's manifest": ({"path": str(secret / "list.txt"), "root": str(root)}, {}),
        "npy": ({"path": str(secret / "x.npy")}, small),
        "labels": ({"path": str(root / "x.npy"), "labels": str(secret / "y.npy")}, small),
        "npz": ({"path": str(secret / "x.npz")}, small),
        "archive": ({"path": str(secret / "cifar.tar.gz")}, small),
        "bundle": ({"path": str(secret / "cifar"), "kind": "cifar10"}, small),
        "shards": ({"path": str(secret / "shard-{0..0}.tar")}, {}),
        "shard": ({"path": str(secret / "shard-0.tar")}, {}),
        "pattern": ({"path": f"{root}/../{{secret,root}}/shard-0.tar"}, {}),
        "parts": ({"parts": [{"path": str(folder / "photos")} for folder in (root, secret)]}, {}),
        "subset": ({"path": str(root / "x.npy")}, {**small, "sampler": subset}),
        "weights": ({"path": str(root / "x.npy")}, {**small, "sampler": weights}),
    }


def test_every_path_of_a_request(serve, home, data):
    """Of whatever kind a dataset is, each path in it is asked for: also of arrays, roots, parts and
    samplers."""
    paths = every_path(home, data)
    daemon = serve(dataset_root=home / "root")
    for what, (dataset, fields) in paths.items():
        assert f"{home}/" in refused(daemon, BOB, dataset, **fields), what
        if what != "weights":  # which have to be float
            assert attach(daemon, SERVER, dataset, **fields) == "attached", what


def test_fit_and_index(serve, data):
    """FIT on the data socket; FIT and INDEX on the control socket, if that is open to others."""
    daemon = serve(control_socket_mode="0666")
    wish = {"dataset": {"path": str(data)},
            "transforms": [{"name": "Resize", "size": [8, 8]}]}
    for message, control in ("fit", False), ("fit", True), ("index", True):
        fields = wish if message == "fit" else {"dataset": wish["dataset"]}
        with connect(daemon, BOB, control=control) as peer:
            answer = peer.request(message, **fields)
            assert answer.fields.get("name") == "permission", (message, answer)
        with connect(daemon, SERVER, control=control) as peer:
            assert peer.request(message, **fields).name == "report", message


def test_what_another_user_has_open(serve, data):
    """A dataset that Alice's trainer has open is no nearer for Bob; what he lists is his own."""
    daemon = serve(dataset_root=f"{data}:@{ALICE}")
    with connect(daemon, ALICE) as alice, connect(daemon, BOB) as bob:
        assert alice.attach(data, **STREAM).name == "attached"
        assert bob.attach(data, **STREAM).fields["name"] == "permission"
        assert len(alice.request("list", what="paths", after=0).fields["items"]) == N
        bob.send("list", seq=9, what="paths", after=0)
        assert bob.expect_error("wrong_state", hang_up=True)


def test_clients_say_it(serve, data):
    """Python and stokerctl, as programs of that user: the error has a name, and says what to do."""
    daemon = serve(control_socket_mode="0666")
    own(data, SERVER)  # else they could show it
    code = ("import sys, stoker\n"
            "try:\n"
            "    stoker.connect(sys.argv[1]).loader(sys.argv[2], batch_size=2)\n"
            "except stoker.NotPermitted as error:\n"
            "    print(error)\n")
    ids = ["setpriv", f"--reuid={BOB}", f"--regid={BOB}", "--clear-groups"]
    environment = {"PYTHONPATH": str(SOURCE / "client" / "python"), "PATH": os.environ["PATH"],
                   "HOME": "/"}
    done = subprocess.run([*ids, sys.executable, "-c", code, str(daemon.socket), str(data)],
                          text=True, capture_output=True, env=environment, check=True)
    assert f"user {BOB} may not have {data} read" in done.stdout, done
    index = [*ids, str(STOKERCTL), "--socket", str(daemon.control), "index", str(data)]
    done = subprocess.run(index, text=True, capture_output=True, env=environment, check=False)
    assert done.returncode and "dataset-root = FOLDER" in done.stderr, done
    own(data, BOB, 0o755)  # now stokerctl can show it
    assert subprocess.run(index, text=True, capture_output=True, env=environment,
                          check=True).stdout.startswith(f"{data}: ")
    index[index.index("index")] = "fit"
    assert "mean" in subprocess.run([*index, "--transforms", "Resize(size=(8, 8))"], text=True,
                                    capture_output=True, env=environment, check=True).stdout


# -- descriptors -------------------------------------------------------------------------------


@contextlib.contextmanager
def opened(uid, *paths, groups=(), flags=os.O_RDONLY):
    """Descriptors that this user opened."""
    with contextlib.ExitStack() as stack:
        with user(uid, groups):
            fds = [os.open(path, flags) for path in paths]
        for fd in fds:
            stack.callback(os.close, fd)
        yield fds


def give(daemon, uid, dataset, *paths, groups=(), flags=os.O_RDONLY, **fields):
    """As attach(), with descriptors of these paths."""
    with opened(uid, *paths, groups=groups, flags=flags) as fds, \
            connect(daemon, uid, groups) as peer:
        answer = peer.request("attach", fds, **{**STREAM, "dataset": dataset, "batch_size": 4,
                                                "accept_fd": True, "epochs": 1, **fields})
        if answer.name == "attached":
            peer.attached = answer.fields
            peer.follow(answer)
            return sorted(peer.digests().values())
    return answer.fields["name"], answer.fields["text"]


def own(path, uid, mode=0o700, gid=None):
    """Give all of it to this user: folders of this mode, files without the x."""
    for place in [path, *path.rglob("*")]:
        os.chown(place, uid, uid if gid is None else gid)
        place.chmod(mode if place.is_dir() else mode & 0o666)


def test_a_descriptor_of_a_folder(serve, data):
    """No rule: who can open the folder has it read, wherever it says that it is; and only so."""
    daemon = serve()
    dataset = {"path": str(data), "path_fd": 0}
    want = give(daemon, SERVER, {"path": str(data)})
    assert len(want) == N
    assert give(daemon, ALICE, dataset, data) == want
    assert give(daemon, ALICE, {**dataset, "path": "/not/here"}, data) == want
    assert give(daemon, ALICE, {**dataset, "path_fd": 1}, "/", data) == want
    assert give(daemon, SERVER, dataset, data) == want
    assert refused(daemon, ALICE, data)
    for what, flags in (({**dataset, "path_fd": 3}, os.O_RDONLY), (dataset, os.O_PATH)):
        name, text = give(daemon, ALICE, what, data, flags=flags)
        assert name == "argument" and "descriptor" in text, text
    name, text = give(daemon, ALICE, {"path": str(data), "path_fd": 2 ** 40}, data)
    assert name == "dataset" and "path_fd" in text
    daemon.settle()


def test_what_lies_beneath_a_descriptor(serve, home, data):
    """Anyone can open /home: each folder and file beneath is asked for by the sender's rights, of
    owner, group and mode; an ACL counts as no."""
    daemon = serve()
    folder, one = home / "home", next(data.glob("*/*.*")).parent.name
    shutil.copytree(data, folder)
    dataset, want = {"path": str(folder), "path_fd": 0}, give(daemon, SERVER, {"path": str(data)})
    private, groups = folder / one, [SERVER]
    for uid, gid, mode, groups, good in (
            (BOB, BOB, 0o755, [], True), (SERVER, SERVER, 0o700, [], False),
            (SERVER, TEAM, 0o750, [], False), (SERVER, TEAM, 0o750, [TEAM], True),
            (SERVER, TEAM, 0o705, [TEAM], False), (SERVER, TEAM, 0o704, [], False),
            (SERVER, TEAM, 0o701, [], False), (SERVER, SERVER, 0o705, [], True)):
        own(private, uid, mode, gid)
        for path in private.iterdir():
            path.chmod(0o644)
        told = give(daemon, BOB, dataset, folder, groups=groups)
        assert (told == want) == good, (oct(mode), told)
        assert good or (told[0] == "dataset" and "Permission denied" in told[1])
    own(private, SERVER, 0o755)
    secret = next(private.iterdir())
    secret.chmod(0o640)
    with opened(BOB, folder) as fds, connect(daemon, BOB) as peer:
        answer = peer.request("attach", fds, **STREAM, dataset=dataset, batch_size=N, epochs=1,
                              accept_fd=True)
        assert answer.name == "attached", answer
        peer.fds.clear()
        bad = peer.expect("bad_sample").fields
    assert bad["path"].endswith(secret.name) and "Permission denied" in bad["text"]
    daemon.settle()


def test_an_acl_counts_as_no(serve, home, data):
    """Where there is one, the mode's bits for others are not all that there is to know."""
    daemon = serve()
    folder = home / "home"
    shutil.copytree(data, folder)
    one = next(folder.glob("*/"))
    entries = [(1, 7, -1), (2, 0, BOB), (4, 5, -1), (16, 5, -1), (32, 5, -1)]  # user:BOB:---
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    dataset = {"path": str(folder), "path_fd": 0}
    assert len(give(daemon, BOB, dataset, folder)) == N
    try:
        os.setxattr(one, "system.posix_acl_access", acl)
    except OSError:
        pytest.skip("this file system has no ACLs")
    daemon.settle()
    for uid in BOB, ALICE:
        assert "Permission denied" in give(daemon, uid, dataset, folder)[1]
    os.chown(one, ALICE, ALICE)
    assert len(give(daemon, ALICE, dataset, folder)) == N


def test_links_beneath_a_descriptor(serve, home, data):
    """They are followed within the folder, and as far as the sender could get there."""
    daemon = serve()
    folder, hidden = home / "home", home / "home" / ".hidden"
    shutil.copytree(data, folder)
    want = give(daemon, SERVER, {"path": str(data)})
    moved = next(folder.glob("*/*.*"))
    hidden.mkdir()
    moved.rename(hidden / "x")
    moved.symlink_to("../.hidden/x")
    listed = folder / "list.txt"
    listed.write_text("\n".join(f"{path.relative_to(folder)} 1"
                                for path in sorted(folder.glob("*/*.*"))))
    dataset = {"path": str(listed), "path_fd": 0, "root_fd": 1}
    good = give(daemon, ALICE, dataset, listed, folder)
    assert len(good) == len(want)
    hidden.chmod(0o700)
    os.chown(hidden, SERVER, SERVER)
    told = give(daemon, ALICE, dataset, listed, folder, bad_samples="substitute")
    assert len(told) == N and told != good
    moved.unlink()
    moved.symlink_to(data / "x")
    assert give(daemon, ALICE, dataset, listed, folder, bad_samples="substitute") == told
    name, text = give(daemon, ALICE, {"path": str(listed), "path_fd": 0}, listed)
    assert name == "dataset", text  # nothing shows the folder


def test_descriptors_of_files(serve, home):
    """Arrays and lists that only their user can read, as programs write them beside the stream; a
    part has its own."""
    daemon = serve()
    mine = home / "mine"
    mine.mkdir()
    pictures = published.pictures(20, (32, 32, 3), 2)
    numpy.save(mine / "x.npy", pictures)
    numpy.save(mine / "y.npy", numpy.arange(20))
    numpy.savez(mine / "x.npz", x=pictures)
    published.put(mine / "cifar.tar.gz", published.cifar10(pictures, numpy.arange(20) % 10, 2))
    own(mine, ALICE)
    small = {"transforms": [{"name": "Resize", "size": [8, 8]}]}
    x, y, z, cifar = (mine / name for name in ("x.npy", "y.npy", "x.npz", "cifar.tar.gz"))
    whole = give(daemon, ALICE, {"path": str(x), "path_fd": 0}, x, **small)
    assert len(whole) == 20
    labelled = {"path": str(x), "labels": str(y), "path_fd": 1, "labels_fd": 0}
    assert give(daemon, ALICE, labelled, y, x, **small)
    assert len(give(daemon, ALICE, {"path": str(z), "path_fd": 0}, z, **small)) == 20
    assert len(give(daemon, ALICE, {"path": str(cifar), "path_fd": 0}, cifar, **small)) == 20
    subset = {"name": "subset", "indices": str(y), "list_fd": 1}
    assert give(daemon, ALICE, {"path": str(x), "path_fd": 0}, x, y, **small,
                sampler=subset) == whole
    parts = [{"path": str(x), "path_fd": 0}, {"path": str(x), "path_fd": 1}]
    assert len(give(daemon, ALICE, {"parts": parts}, x, x, **small)) == 40
    parts[1]["path_fd"] = 0  # one descriptor is one part's
    assert give(daemon, ALICE, {"parts": parts}, x, **small)[0] == "argument"
    del parts[1]["path_fd"]
    assert give(daemon, ALICE, {"parts": parts}, x, **small)[0] == "permission"
    daemon.settle()


def test_an_entry_is_found_by_what_a_descriptor_shows(serve, home, data):
    """Two readers that say the same path share what is open if it is the same folder."""
    other = home / "other"
    made.make(other, count=N + 8, size=(60, 50))
    daemon = serve()
    dataset = {"path": "/data", "path_fd": 0}
    wish = {**STREAM, "dataset": dataset, "batch_size": 4, "accept_fd": True, "epochs": 0}
    with opened(ALICE, data, data, other) as fds, contextlib.ExitStack() as stack:
        answers = []
        for fd in fds:
            peer = stack.enter_context(connect(daemon, ALICE))
            answers.append(peer.request("attach", [fd], **wish).fields)
        assert [answer["samples"] for answer in answers] == [N, N, N + 8]
        assert answers[0]["stream"] == answers[1]["stream"] != answers[2]["stream"]
        with opened(BOB, other) as theirs, connect(daemon, BOB) as bob:
            assert bob.request("attach", theirs, **wish).fields["samples"] == N + 8


def test_descriptors_do_not_stay(serve, data):
    """However many come, with whatever message: they are closed with it."""
    daemon = serve()
    before = daemon.usage()
    with opened(BOB, *[data] * 200) as fds, connect(daemon, BOB) as peer:
        for _ in range(20):
            assert peer.request("ping", fds).name == "ok"
        wish = {**STREAM, "dataset": {"path": str(data), "path_fd": 33}, "batch_size": 4}
        assert peer.request("attach", fds, **wish, accept_fd=True).name == "attached"
        assert peer.request("detach", fds).name == "ok"
        peer.send_bytes(b"\0")
        socket.send_fds(peer.socket, [b"\0"], fds)
        peer.send_bytes(b"\0")
    daemon.settle(before)


def program(uid, *command, groups=(), **environment):
    """What it writes, as that user's program."""
    ids = [f"--reuid={uid}", f"--regid={uid}",
           f"--groups={','.join(map(str, groups))}" if groups else "--clear-groups"]
    done = subprocess.run(["setpriv", *ids, *map(str, command)], text=False, capture_output=True,
                          env={"PATH": os.environ["PATH"], "HOME": "/", **environment}, check=False,
                          timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


# Reads an epoch of each dataset, and another once there is another daemon: the same pictures.
# Prints how many, and how often it attached anew.
PYTHON = """
import ast, pathlib, sys, time
import numpy, stoker, stoker.samplers
def epoch(loader):
    images = [numpy.array(images) for images, _ in loader]
    return sum(map(len, images)), sum(int((part * 255).round().sum()) for part in images)
node = stoker.connect(sys.argv[1])
kept = []
for text in sys.argv[3:]:
    text, _, sampler = text.partition("|")
    parts = [ast.literal_eval(part) for part in text.split(" + ")]
    loader = node.loader(parts[0] if len(parts) == 1 else stoker.Mix(parts), batch_size=2, epochs=2,
                         transforms=[stoker.Resize((8, 8))], reconnect=30,
                         sampler=eval(sampler or "None"))
    kept.append((loader, epoch(loader)))
node.fit(ast.literal_eval(sys.argv[3]), transforms=[stoker.Resize((8, 8))])
pathlib.Path(sys.argv[2]).write_text("first")
while pathlib.Path(sys.argv[2]).read_text() != "second":
    time.sleep(0.01)
for loader, before in kept:
    after = epoch(loader)
    assert after == before, (after, before)
    print(before[0], loader.reconnects)
"""


def test_python_shows_what_it_may_read(serve, home, data):
    """No rule: the client sends descriptors of folders, manifests, lists, arrays, parts, shards and
    samplers; the same ones again to a daemon that came after."""
    mine = home / "mine"
    shutil.copytree(data, mine / "photos")
    numpy.save(mine / "x.npy", published.pictures(20, (32, 32, 3), 2))
    numpy.save(mine / "y.npy", numpy.arange(20))
    numpy.save(mine / "some.npy", numpy.arange(0, 20, 2))
    names = sorted(str(path.relative_to(mine)) for path in mine.glob("photos/*/*.*"))
    (mine / "list.txt").write_text("\n".join(f"{name} 1" for name in names))
    with tarfile.open(mine / "shard-0.tar", "w") as shard:
        for i, name in enumerate(name for name in names if name.endswith(".jpg")):
            shard.add(mine / name, f"{i}.jpg")
    own(mine, ALICE, 0o755)
    for name in "x.npy", "y.npy", "some.npy", "list.txt":
        (mine / name).chmod(0o600)
    daemon, flag = serve(), home / "flag"
    flag.touch()
    flag.chmod(0o666)
    array = {"path": f"{mine}/x.npy", "labels": f"{mine}/y.npy"}
    wishes = [repr(str(mine / "photos")), repr(f"{mine}/list.txt"), repr(array),
              repr([str(mine / name) for name in names]), repr(f"{mine}/shard-{{0..0}}.tar"),
              f"{str(mine / 'photos')!r} + {str(mine / 'photos')!r}",
              f"{array!r}|stoker.samplers.Subset({f'{mine}/some.npy'!r})"]
    running = subprocess.Popen(
        ["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", sys.executable, "-c",
         PYTHON, str(daemon.socket), str(flag), *wishes],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={"PATH": os.environ["PATH"], "HOME": "/",
             "PYTHONPATH": str(SOURCE / "client" / "python")})
    try:
        wait_for(lambda: flag.read_text() == "first" or running.poll() is not None, "one epoch", 60)
        assert running.poll() is None, running.communicate()
        daemon.kill()
        daemon.spawn()
        flag.write_text("second")
        told, wrong = running.communicate(timeout=60)
        assert running.returncode == 0, wrong
    finally:
        running.kill()
        running.wait()
    jpegs = sum(name.endswith(".jpg") for name in names)
    assert told.split("\n") == [f"{count} 1" for count in (N, N, 20, N, jpegs, 2 * N, 10)] + [""]
    refused(daemon, ALICE, mine / "photos")


def test_libstoker_shows_what_it_may_read(serve, home, data):
    """As the Python client; what another user may not read it cannot show."""
    mine = home / "mine"
    shutil.copytree(data, mine)
    (mine / "list.txt").write_text("\n".join(
        f"{path.relative_to(mine)} 1" for path in sorted(mine.glob("*/*.*"))))
    own(mine, ALICE, 0o755)
    (mine / "list.txt").chmod(0o600)
    daemon = serve()

    def dump(uid, path):
        return program(uid, BUILD / "tests" / "dump", daemon.socket, path, "Resize((8, 8))", 4, 1)

    assert dump(ALICE, mine) == dump(BOB, mine) == dump(SERVER, mine)
    assert len(dump(ALICE, mine / "list.txt")) == len(dump(ALICE, mine))
    own(mine, ALICE, 0o750, SERVER)  # the daemon's user has to be able to, too
    for path in mine, mine / "list.txt":
        with pytest.raises(AssertionError, match="may not have"):
            dump(BOB, path)
    assert dump(ALICE, mine) == dump(SERVER, mine)
    daemon.settle()


# -- reload ------------------------------------------------------------------------------------


def test_a_reload_changes_the_roots(serve, home, data):
    """FAULTS 30: files add up, an empty rule clears; whoever is attached goes on to the end when
    the rule, or the folder itself, is gone, and the next is refused."""
    config, drop_ins = home / "stokerd.conf", home / "stokerd.conf.d"
    drop_ins.mkdir()
    config.write_text(f"[stokerd]\ndataset-root = {home}/none\n")
    (drop_ins / "1.conf").write_text(f"[stokerd]\ndataset-root = {data}:@{ALICE}\n")
    daemon = serve(config=config)
    printed = subprocess.run([*daemon.command()[4:], "--print-config"], text=True, check=True,
                             capture_output=True).stdout
    assert re.findall(r"^dataset-root = (\S+) ", printed, re.MULTILINE) == \
        [f"{home}/none", f"{data}:@{ALICE}"]
    refused(daemon, BOB, data)
    with connect(daemon, ALICE) as alice:
        assert alice.attach(data, **STREAM, batch_size=2, prefetch=1).name == "attached"
        samples = alice.samples()
        next(samples)
        (drop_ins / "2.conf").write_text(
            f"[stokerd]\ndataset-root =\ndataset-root = {data}:@{BOB}\n")
        done = daemon.ctl("reload")
        assert f"dataset-root {home}/none {data}:@{ALICE} -> {data}:@{BOB}" in done.stdout, done
        refused(daemon, ALICE, data)
        assert attach(daemon, BOB, data) == "attached"
        assert len(list(samples)) == N - 1
    (drop_ins / "2.conf").write_text(f"[stokerd]\ndataset-root = {data}:@nosuchuser\n")
    done = daemon.ctl("reload", check=False)
    assert done.returncode and "dataset-root: there is no user 'nosuchuser'" in done.stderr
    assert attach(daemon, BOB, data) == "attached"  # as it was
    assert "is a list: write it into the configuration" in \
        daemon.set("dataset-root", "/").fields["text"]
    daemon.settle()  # whoever has it open has it as it was
    data.rename(home / "gone")
    assert attach(daemon, BOB, data)[0] == "dataset"


# -- statistics --------------------------------------------------------------------------------


def grey(folder, value):
    """Pictures of one value; all such folders have one fingerprint: that is of names and sizes."""
    (folder / "class").mkdir(parents=True)
    for i in range(4):
        (folder / "class" / f"{i}.ppm").write_bytes(b"P6\n8 8\n255\n" + bytes([value] * 192))
    return folder


def fit(daemon, uid, path, name):
    """The digest of its statistics."""
    with connect(daemon, uid) as peer:
        answer = peer.request("fit", dataset={"path": str(path)}, name=name,
                              transforms=[{"name": "Resize", "size": [8, 8]}])
    assert answer.name == "report", answer
    return answer.fields["values"]["digest"]


def centred(daemon, uid, path, name):
    """The value of its pictures minus the mean of these statistics, for that user; or the error."""
    transforms = [{"name": "Resize", "size": [8, 8]},
                  {"name": "ImageDataGenerator", "featurewise_center": True, "statistics": name}]
    with connect(daemon, uid) as peer:
        answer = peer.attach(path, transforms=transforms)
        if answer.name == "error":
            return answer.fields["text"].split(":")[2]
        (value,) = {float(arrays["image"].mean()) for _, _, arrays in peer.samples()}
        return value


def test_statistics_are_their_users_own(serve, home):
    """Names that Bob gives to a folder that looks like Alice's take nothing from her, in memory or
    on the disk, and give her nothing; those of the daemon's own user are there for all, behind
    one's own."""
    index = home / "index"
    index.mkdir()
    os.chown(index, SERVER, SERVER)
    daemon = serve(dataset_root=home, index_dir=index)
    hers, his = grey(home / "hers", 200), grey(home / "his", 10)
    digest = fit(daemon, ALICE, hers, "mean")
    public = fit(daemon, SERVER, his, "all")
    fit(daemon, SERVER, his, "mean")
    poison = [fit(daemon, BOB, his, name) for name in ["mean", "all", *map(str, range(70))]]
    assert poison[0] == public  # the same numbers

    def check():
        assert centred(daemon, ALICE, hers, "mean") == 0  # as she made them
        assert centred(daemon, ALICE, hers, digest) == 0
        assert centred(daemon, ALICE, hers, "69") == " this dataset has no statistics '69'"
        assert centred(daemon, BOB, his, "69") == 0
        assert digest in centred(daemon, BOB, his, digest)
        assert centred(daemon, ALICE, hers, "all") == centred(daemon, ALICE, hers, public) == 190
        assert centred(daemon, CAROL, hers, "mean") == 190

    check()
    daemon.terminate()
    daemon.spawn()
    check()


# -- what users share --------------------------------------------------------------------------


def test_new_files_are_seen_beside_another_users_reader(serve, home, data):
    """Bob's reader has its snapshot as long as it likes; Alice, who adds a picture, sees it."""
    daemon = serve(dataset_root=home)
    with connect(daemon, BOB) as bob:
        assert bob.attach(data, **STREAM, epochs=0).name == "attached"
        assert bob.attached["samples"] == N
        one = next(data.glob("*/*.jpg"))
        shutil.copy(one, one.with_name("new.jpg"))
        with connect(daemon, ALICE) as alice:
            assert alice.attach(data, **STREAM).name == "attached"
            assert alice.attached["samples"] == N + 1
            assert len(alice.digests()) == N + 1


def test_a_changed_dataset_is_given_to_nobody_new(serve, home, data):
    """One's own paused reader saw a file change: the next one gets the dataset as it is now."""
    daemon = serve(dataset_root=home)
    with connect(daemon, ALICE) as first, connect(daemon, ALICE) as second:
        wish = {**STREAM, "epochs": 0, "bad_samples": "substitute", "prefetch": 1}
        assert first.attach(data, **wish).name == "attached"
        samples = first.samples()
        for _ in range(N):
            next(samples)
        for path in data.glob("*/*.jpg"):
            bytes_ = path.read_bytes()
            path.unlink()
            path.write_bytes(bytes_ + b"\0")
        wait_for(lambda: next(samples) and daemon.status()["files_changed_total"], "it sees that")
        assert second.attach(data, **STREAM).name == "attached"
        assert len(second.digests()) == N


def test_indexes_and_pictures_are_shared(serve, home, data):
    """What was learnt of the same files for Alice is there for Bob, who reads them for himself;
    the bytes are the same."""
    daemon = serve(dataset_root=home, cache_memory="64M")
    with connect(daemon, ALICE) as alice:
        assert alice.attach(data, **STREAM, epochs=3).name == "attached"
        hers = alice.digests()
        before = daemon.status()
        assert before["index_built_total"] > 0
        with connect(daemon, BOB) as bob:
            assert bob.attach(data, **STREAM, epochs=3).name == "attached"
            assert bob.attached["stream"] != alice.attached["stream"]
            assert bob.digests() == hers
        after = daemon.status()
    assert after["index_built_total"] == before["index_built_total"]
    assert after["cache_fills_total"] == before["cache_fills_total"]
    assert after["cache_hits_total"] > before["cache_hits_total"]
    daemon.settle()


# -- who somebody is ---------------------------------------------------------------------------


def test_a_daemon_in_a_user_namespace(serve, home, data):
    """FAULTS 82: there every other user is nobody, and gets what is for everybody alone; a rule
    cannot name nobody, and nobody is not the daemon's own user, even where that is nobody, too."""
    for launcher in ["unshare", "--user"], ["unshare", "--user", f"--map-user={SERVER}"]:
        if subprocess.run([*launcher, "true"], check=False, capture_output=True).returncode:
            pytest.skip("no user namespace can be made here")
    shutil.copytree(data, home / "public")
    for launcher in ["unshare", "--user"], ["unshare", "--user", f"--map-user={SERVER}"]:
        config = home / "stokerd.conf"
        config.write_text(f"[stokerd]\ndataset-root = {data}:{TEAM}\n"
                          f"dataset-root = {data}:@{ALICE}\ndataset-root = {home}/public\n")
        daemon = serve(launcher=launcher, config=config)
        refused(daemon, ALICE, data, groups=[TEAM])
        assert attach(daemon, ALICE, home / "public") == "attached"
        own = attach(daemon, SERVER, data)
        assert (own == "attached") == (len(launcher) == 3), own
    config.write_text("[stokerd]\ndataset-root = /:@65534\n")
    done = daemon.ctl("reload", check=False)
    assert "a rule cannot tell them apart" in done.stderr
