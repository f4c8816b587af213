# SPDX-License-Identifier: MIT
"""Two users who do not trust each other, at a daemon of a third: what one makes the daemon hold or
do is charged to that one, and takes nothing from the other. All three are real uids, so this needs
root.
"""

import contextlib
import mmap
import os
import pathlib
import shutil
import sys
import tempfile

import numpy
import pytest

from harness import SOURCE, wait_for
from test_law import N, STREAM, digests
from test_storage import faulty
from users import ALICE, BOB, SERVER, connect, needs_root, servers, user

sys.path.insert(0, str(SOURCE / "tests" / "demo"))
import photos as made  # noqa: E402 (it stands in the demo's folder)

pytestmark = needs_root


@pytest.fixture(scope="module", name="public")
def fixture_public():
    """A folder that everybody may read."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-public-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module", name="album")
def fixture_album(public):
    """The photographs in there."""
    made.make(public / "photos", count=N, size=(120, 90))
    return public / "photos"


@pytest.fixture(scope="module", name="pixels")
def fixture_pixels(public):
    """Eight large pictures as one array: nothing is to be decoded."""
    path = public / "pixels.npy"
    numpy.save(path, numpy.random.default_rng(1).integers(0, 255, (8, 1024, 1024, 3), "uint8"))
    return path


@pytest.fixture(name="serve")
def fixture_serve():
    with servers(dataset_root="/") as serve:
        yield serve


# -- rings are shared by readers of one user only ----------------------------------------------


def test_a_reader_that_stands_still_holds_nobody_else_back(serve, album):
    """Bob's reader of the same stream takes no batch and moves for nobody; Alice gets all of hers,
    from a ring of her own, and a second reader of hers shares it."""
    daemon = serve()
    alone = digests(daemon, album)
    wish = {**STREAM, "epochs": 2, "prefetch": 4}
    with connect(daemon, BOB) as bob, connect(daemon, ALICE) as alice, \
            connect(daemon, ALICE) as second:
        assert bob.attach(album, **wish, pace="together").name == "attached"
        bob.send("credit", inflight=0)
        assert alice.attach(album, **wish).name == "attached"
        assert second.attach(album, **wish).name == "attached"
        assert alice.attached["ring"] != bob.attached["ring"]
        assert alice.attached["ring"] == second.attached["ring"]
        second.close()
        assert alice.digests() == alone
        assert daemon.status()["forks_total"] == 0
    daemon.settle()


def test_start_live_is_where_ones_own_readers_are(serve, album):
    """How far Bob has come is nothing that Alice is told."""
    daemon = serve()
    with connect(daemon, BOB) as bob, connect(daemon, ALICE) as alice:
        bob.attach(album, **STREAM, position=40)
        alice.attach(album, **STREAM, position=8, start="live")
        assert alice.attached["position"] == 8
        with connect(daemon, BOB) as other:
            other.attach(album, **STREAM, position=8, start="live")
            assert other.attached["position"] >= 40


# -- work of transforms ------------------------------------------------------------------------

BLUR = {"name": "GaussianBlur", "kernel_size": 255}
SMALL = {"name": "Resize", "size": [16, 16]}
HEAVY = {"transforms": [BLUR] * 7 + [SMALL], "batch_size": 1}  # nearly as much as it may take


def test_too_much_work_is_refused(serve, album, pixels):
    """58 blurs of 255 x 255 on 2500 x 2500 pixels were minutes of all workers for one batch."""
    daemon = serve(decode_deadline="0")
    with connect(daemon, BOB) as bob:
        for folder, transforms in [
                (album, [{"name": "Resize", "size": [2500, 2500]}] + [BLUR] * 58),
                (album, [BLUR] * 58 + [SMALL]), (pixels, [BLUR] * 9 + [SMALL]),
                (pixels, [{"name": "RandomChoice", "transforms": [BLUR] * 9}, SMALL])]:
            error = bob.attach(folder, transforms=transforms)
            assert error.name == "error" and error.fields["name"] == "pipeline", error
            assert "steps (pixels times taps)" in error.fields["text"]
        assert bob.attach(pixels, **HEAVY).name == "attached"


def test_transforms_have_a_deadline(serve, pixels):
    daemon = serve(decode_deadline="50ms")
    with connect(daemon, BOB) as bob:
        assert bob.attach(pixels, **HEAVY).name == "attached"
        bad = bob.expect("bad_sample").fields
        assert "transforms were stopped after 50 ms of CPU time" in bad["text"], bad


def cpu_seconds(daemon):
    fields = (pathlib.Path("/proc") / str(daemon.process.pid) / "stat").read_text().split(") ")[1]
    return sum(map(int, fields.split()[11:13])) / os.sysconf("SC_CLK_TCK")


def test_no_worker_works_for_a_client_that_left(serve, pixels):
    """A sample that a worker is at takes a second or more; when Bob leaves it is given up. We may
    be too slow to see it, but not five times."""
    daemon = serve(workers=1, decode_deadline="0")
    decoded = None
    for _ in range(5):
        before = daemon.status()["samples_decoded_total"]
        with connect(daemon, BOB) as bob:
            assert bob.attach(pixels, **HEAVY).name == "attached"
            used = cpu_seconds(daemon)
            wait_for(lambda: cpu_seconds(daemon) > used + 0.05, "a worker has begun")
        daemon.settle()
        decoded = daemon.status()["samples_decoded_total"] - before
        if decoded == 0:
            break
    assert decoded == 0
    with connect(daemon, ALICE) as alice:
        alice.attach(pixels, transforms=[SMALL], batch_size=1)
        assert sum(1 for _ in alice.samples(keep=())) == 8


# -- openings ----------------------------------------------------------------------------------


def test_a_dead_mount_is_its_users_only(serve, public, album):
    """Five openings of Bob's hang; Alice opens, is given a ring and reads, and so does another of
    Bob's readers, once they are known to hang. Counted and logged."""
    gate = public / "gate"
    gate.touch()
    dead = [public / f"dead-disk-{i}.npy" for i in range(5)]
    for path in dead:
        numpy.save(path, numpy.zeros((4, 8, 8, 3), "uint8"))
    daemon = serve(environment=faulty(STOKER_TEST_GATE=str(gate)))
    with contextlib.ExitStack() as stack:
        bobs = [stack.enter_context(connect(daemon, BOB)) for _ in dead]
        for peer, path in zip(bobs, dead):
            peer.send("attach", seq=9, dataset={"path": str(path)}, batch_size=4, accept_fd=True,
                      epochs=1)
        with connect(daemon, ALICE) as alice:
            alice.attach(album, **STREAM)
            assert sum(1 for _ in alice.samples(keep=())) == N
        with connect(daemon, BOB) as bob:
            bob.attach(album, **STREAM)
            assert sum(1 for _ in bob.samples(keep=())) == N
        assert daemon.status()["stuck_tasks"] >= 2
        assert f"one of them for user {BOB}" in daemon.log()
        gate.unlink()
        for peer in bobs:
            while (message := peer.receive()).name == "progress":
                pass
            assert message.name == "attached", message
        wait_for(lambda: daemon.status()["stuck_tasks"] == 0, "none is stuck any more")
    daemon.settle()


# -- shares where no limit is set --------------------------------------------------------------

LARGE = {**STREAM, "batch_size": 32, "prefetch": 8}  # 32 * 8 * 3 * 32 * 32 * 4 bytes: 3 MB


def attached(daemon, folder, uid, count, stack, **fields):
    """Streams that `uid` can have one after the other, at most `count`, and the last answer."""
    for number in range(count):
        peer = stack.enter_context(connect(daemon, uid))
        answer = peer.attach(folder, **{**LARGE, "order_seed": uid + number, **fields})
        if answer.name != "attached":
            return number, answer
    return count, answer


def test_ring_memory_is_shared(serve, album):
    """Of 32 MB Bob may have a half, Alice a third of the rest, and a third user something, too."""
    daemon = serve(ring_memory="32M")
    with contextlib.ExitStack() as stack:
        had, error = attached(daemon, album, BOB, 20, stack)
        assert had == 5 and error.fields["name"] == "limit", error
        assert "ring-memory-per-user" in error.fields["text"]
        had, error = attached(daemon, album, ALICE, 20, stack)
        assert had == 1 and error.fields["name"] == "limit", error
        had, _ = attached(daemon, album, ALICE + 9, 1, stack, batch_size=8)
        assert had == 1
        had, _ = attached(daemon, album, SERVER, 2, stack)  # its own user: what is left
        assert had == 2
    daemon.settle()


def test_connections_are_shared(serve, album):
    daemon = serve(max_connections=40)
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(connect(daemon, BOB))
        with user(BOB):
            one_more = stack.enter_context(daemon.connect(hello=False))
        error = one_more.expect_error("limit", hang_up=True)
        assert f"user {BOB} has 20 connections, its share of 40" in error["text"]
        alice = stack.enter_context(connect(daemon, ALICE))
        alice.attach(album, **STREAM)
        assert sum(1 for _ in alice.samples(keep=())) == N
    daemon.settle()


def test_descriptors_are_shared(serve, album):
    """Rings that leases keep have one each: Bob's do not use up the daemon's."""
    daemon = serve(launcher=["prlimit", "--nofile=120"])
    with contextlib.ExitStack() as stack:
        bob = stack.enter_context(connect(daemon, BOB))
        for seed in range(200):
            wish = {**STREAM, "order_seed": seed, "batch_size": 1, "prefetch": 2, "inflight": 1}
            answer = bob.attach(album, **wish)
            if answer.name == "error":
                break
            bob.expect("batch")
            bob.request("detach")
        assert answer.name == "error" and answer.fields["name"] == "limit", answer
        assert "file descriptors" in answer.fields["text"] and 10 < seed < 60
        alice = stack.enter_context(connect(daemon, ALICE))
        alice.attach(album, **STREAM)
        assert sum(1 for _ in alice.samples(keep=())) == N
    daemon.settle()


# -- descriptors in flight ---------------------------------------------------------------------


def test_descriptors_that_nobody_reads(serve, album):
    """The kernel lets a user have RLIMIT_NOFILE on the way. Bob attaches and reads no answer, from
    nine connections, and ends half of these; Alice is given her ring all the same."""
    daemon = serve(launcher=["prlimit", "--nofile=128"])
    wish = {**STREAM, "dataset": {"path": str(album)}, "batch_size": 4, "accept_fd": True}

    def in_flight():
        return daemon.status()["descriptors_in_flight"]

    with contextlib.ExitStack() as stack:
        first = stack.enter_context(connect(daemon, BOB))
        assert first.attach(album, **STREAM).name == "attached"  # the ring that all of them get
        # With its fingerprint an attach is answered at once, before the DETACH behind it.
        wish["expect_dataset"] = first.attached["dataset_fingerprint"]
        bobs = [stack.enter_context(connect(daemon, BOB)) for _ in range(9)]
        for number in range(60):
            for bob in bobs:
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    bob.send("attach", seq=number, **wish)
                    bob.send("detach", seq=number)
        wait_for(lambda: f"of user {BOB} does not read" in daemon.log(), "some wait")
        assert 8 <= in_flight() <= 64
        for bob in bobs[:4]:
            with contextlib.suppress(OSError):
                bob.socket.shutdown(1)
        wait_for(lambda: daemon.status()["connections"] <= 8, "they have ended")
        assert in_flight() >= 8, "what they have not read is on its way still"
        with connect(daemon, ALICE) as alice:
            alice.attach(album, **STREAM)
            assert sum(1 for _ in alice.samples(keep=())) == N
    wait_for(lambda: in_flight() == 0, "nothing is on its way")
    daemon.settle()


# -- memory of openings and of datasets --------------------------------------------------------


def test_an_opening_is_charged_as_it_grows(serve, public, album):
    """A walk that comes by ever new ways to the same folders, a manifest without an end, a small
    archive of many bytes: refused with the numbers, while they grow, and given back."""
    walk = public / "walk" / "class"
    walk.mkdir(parents=True)
    for number in range(60):
        (walk / f"{number}").mkdir()
        (walk / f"link-{number}").symlink_to("../other")
    (public / "walk" / "other").mkdir()
    for number in range(60):
        (public / "walk" / "other" / f"way-{number}").symlink_to("../class")
    rows = public / "rows.txt"
    rows.write_text("".join(f"a-long-name-of-a-folder-{number}/x.jpg\n" for number in range(80000)))
    packed = public / "packed.npz"
    numpy.savez_compressed(packed, image=numpy.zeros((4000, 32, 32, 3), "uint8"))
    daemon = serve(dataset_memory="8M")
    before = daemon.usage()
    with connect(daemon, BOB) as bob:
        for path in [rows, packed]:
            error = bob.attach(path, transforms=[SMALL])
            assert error.name == "error" and error.fields["name"] == "dataset", error
            assert "dataset-memory" in error.fields["text"], error
            assert "share of dataset-memory" in error.fields["text"] or path == packed, error
        for _ in range(20):  # it is given back: nothing of it adds up
            assert bob.attach(rows, transforms=[SMALL]).name == "error"
        assert bob.attach(album, **STREAM).name == "attached"
        with connect(daemon, SERVER) as own:  # its own user has all of it, and no share
            assert own.attach(rows, transforms=[SMALL]).name == "attached"
    daemon.settle(before._replace(rss=before.rss + (64 << 20)))


def test_a_walk_without_an_end(serve, public):
    """Links that lead to each other's folders: as many ways as there are orders of them."""
    maze = public / "maze"
    for name in "abcdefgh":
        (maze / name).mkdir(parents=True)
        for other in "abcdefgh":
            if other != name:
                (maze / name / f"to-{other}").symlink_to(f"../{other}")
    daemon = serve(dataset_memory="2M")
    with connect(daemon, BOB) as bob:
        error = bob.attach(maze, transforms=[SMALL])
        assert error.name == "error" and "share of dataset-memory" in error.fields["text"], error


def test_dataset_memory_is_shared(serve, public, pixels):
    """25 MB of arrays of Bob's in 128 MB, where Alice is: twice is more than his third of it."""
    daemon = serve(dataset_memory="128M")
    with connect(daemon, BOB) as bob, connect(daemon, BOB) as again, \
            connect(daemon, ALICE) as alice:
        wish = {"transforms": [SMALL], "batch_size": 1}
        assert bob.attach(pixels, **wish).name == "attached"
        copy = public / "copy.npy"
        shutil.copyfile(pixels, copy)
        error = again.attach(copy, **wish)
        assert error.name == "error" and "this user's share" in error.fields["text"], error
        small = public / "small.npy"
        numpy.save(small, numpy.zeros((100, 32, 32, 3), "uint8"))
        assert alice.attach(small, **wish).name == "attached"


def test_datasets_that_nobody_reads_make_room(serve, public):
    """They stay, within the share of their user, whose next one takes it from them."""
    daemon = serve(dataset_memory="8M", dataset_idle="1h")
    for dataset in range(12):
        rows = public / f"rows-{dataset}.txt"
        rows.write_text("".join(f"a-long-name-of-a-folder-{number}/x.jpg\n"
                                for number in range(10000)))
        with connect(daemon, BOB) as bob:
            answer = bob.attach(rows, transforms=[SMALL])
            assert answer.name == "attached", answer
    wait_for(lambda: {row["state"] for row in daemon.list("datasets")} == {"idle"}, "all rest")
    held = [row["index_bytes"] for row in daemon.list("datasets")]
    assert 1 < len(held) < 12 and sum(held) < 8 << 20
    with connect(daemon, BOB) as bob:
        assert bob.attach(rows, transforms=[SMALL]).name == "attached"
        assert "open" in [row["state"] for row in daemon.list("datasets")]
        assert len(daemon.list("datasets")) == len(held)


def test_datasets_that_nobody_reads_are_in_nobodys_way(serve, public, pixels):
    """Alice's share is what it would be without those of Bob's, which go when she takes it."""
    daemon = serve(dataset_memory="75M", dataset_idle="1h")
    for dataset in range(24):
        rows = public / f"rows-{dataset}.txt"
        rows.write_text("".join(f"a-long-name-of-a-folder-{number}/x.jpg\n"
                                for number in range(10000)))
        with connect(daemon, BOB) as bob:
            assert bob.attach(rows, transforms=[SMALL]).name == "attached"
    wait_for(lambda: {row["state"] for row in daemon.list("datasets")} == {"idle"}, "all rest")
    with connect(daemon, ALICE) as alice:
        answer = alice.attach(pixels, transforms=[SMALL], batch_size=1)
        assert answer.name == "attached", answer


def test_a_fit_with_zca_for_each_user(serve, public):
    """Bob's, which takes a while, is not everybody's: and one is all that he may have."""
    tiny = public / "tiny.npy"
    numpy.save(tiny, numpy.random.default_rng(2).integers(0, 255, (64, 24, 24, 3), "uint8"))
    daemon = serve(dataset_memory="1G", workers=0)  # so none of them comes to its end
    wish = {"dataset": {"path": str(tiny)}, "zca": True}
    with connect(daemon, BOB) as bob, connect(daemon, BOB) as again, \
            connect(daemon, ALICE) as alice:
        bob.send("fit", seq=7, **wish)
        bob.expect("progress")
        error = again.request("fit", **wish)
        assert error.name == "error" and "of this user" in error.fields["text"], error
        alice.send("fit", seq=7, **wish)
        alice.expect("progress")
        assert not alice.waiting


# -- rings that have ended ---------------------------------------------------------------------


def test_a_ring_by_path_needs_its_mode(serve, album):
    """Who could not open it is told so, and not given a path; its group can be let."""
    def by_path(daemon, uid, groups=()):
        with connect(daemon, uid, groups) as peer:
            answer = peer.request("attach", dataset={"path": str(album)}, **LARGE, epochs=1,
                                  accept_fd=False, accept_path=True)
            if answer.name == "attached":
                with user(uid, groups), open(answer.fields["path"], "rb") as file:
                    return len(file.read(4096))
            return answer.fields["name"], answer.fields["text"]

    name, text = by_path(serve(), BOB)
    assert name == "transport" and f"uid {BOB}" in text and "0600" in text, text
    daemon = serve(shm_mode="0640")
    assert by_path(daemon, BOB)[0] == "transport"
    assert by_path(daemon, BOB, [SERVER]) == 4096
    assert by_path(serve(shm_mode="0644"), BOB) == 4096


@pytest.mark.parametrize("how", ["descriptor", "mapping", "path"])
def test_rings_are_charged_until_nobody_has_them(serve, album, how):
    """Bob attaches and leaves, and keeps what he was given: it counts until he lets it go."""
    fields = {"accept_fd": False, "accept_path": True} if how == "path" else {}
    daemon = serve(ring_memory="32M", shm_mode="0644")
    kept = []
    with connect(daemon, BOB) as bob:
        for seed in range(20):
            wish = {"dataset": {"path": str(album)}, "accept_fd": True, "epochs": 1, **LARGE,
                    "order_seed": seed, **fields}
            answer = bob.request("attach", **wish)
            if answer.name == "error":
                break
            fd = (os.open(answer.fields["path"], os.O_RDONLY) if how == "path"
                  else bob.fds.pop())
            if how == "mapping":
                kept.append(mmap.mmap(fd, 4096, prot=mmap.PROT_READ))
                os.close(fd)
            else:
                kept.append(fd)
            bob.request("detach")
            bob.waiting.clear()
        assert answer.name == "error" and answer.fields["name"] == "limit", answer
        assert seed == 5, "as many as if they were all attached"
    wait_for(lambda: daemon.status()["rings"] == 0, "no ring is left")
    assert daemon.status()["ring_bytes_kept"] > 12 << 20
    with connect(daemon, ALICE) as alice:
        assert alice.attach(album, **LARGE).name == "attached"
    while kept:
        one = kept.pop()
        one.close() if how == "mapping" else os.close(one)
    with connect(daemon, BOB) as bob:
        assert bob.attach(album, **LARGE).name == "attached"
    alice.ring = bob.ring = None
    wait_for(lambda: daemon.status()["ring_bytes_kept"] < 1 << 20, "nothing is held")
