# SPDX-License-Identifier: MIT
"""Peers that die at every point of their life, and the daemon's own end: everything held is free
within a second, nobody else notices.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import PIL.Image
import pytest

from harness import MESSAGES, SLOW, digest_of, frame, wait_for
from test_law import STREAM, in_turn

CHILD = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from harness import Peer
peer = Peer(sys.argv[2])
stop = sys.argv[4]
if stop == "connect": print("there", flush=True); signal.pause()
peer.hello()
if stop == "hello": print("there", flush=True); signal.pause()
wish = dict(dataset={"path": sys.argv[3]}, batch_size=4, accept_fd=True, inflight=8,
            order_seed=7, augment_seed=9, transforms=[{"name": "RandomResizedCrop", "size": 32}])
if stop == "asked":
    peer.send("attach", seq=9, **wish); print("there", flush=True); signal.pause()
wish.pop("dataset")
peer.attach(sys.argv[3], **wish, **({"epochs": 1} if stop == "end" else {"epochs": 0}))
if stop == "attached": print("there", flush=True); signal.pause()
if stop == "end":
    while (message := peer.receive()).name == "batch": peer.release(message)
    print("there", flush=True); signal.pause()
if stop == "detach":
    peer.expect("batch"); peer.send("detach", seq=99); print("there", flush=True); signal.pause()
held = [peer.expect("batch") for _ in range(int(stop))]
print("there", flush=True); signal.pause()
"""


def child(daemon, photos, stop):
    """A process that stands still at `stop`."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, os.path.dirname(__file__), str(daemon.socket), str(photos),
         str(stop)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "there\n"
    return process


def end(process):
    process.kill()
    process.wait()
    process.stdout.close()


# FAULTS 1, 2, 3, 4, 6, 9: connect; hello; asked; attached; holding k batches; end, detach.
@pytest.mark.parametrize("stop", ["connect", "hello", "asked", "attached", 1, 4, 8, "end",
                                  "detach"])
def test_killed_at(daemon, photos, stop):
    end(child(daemon, photos, "attached"))  # once, so that lazy memory is there
    daemon.settle()
    before = daemon.usage()
    for _ in range(3):
        end(child(daemon, photos, stop))
    killed = time.monotonic()
    daemon.settle(before)
    assert time.monotonic() - killed < 10 * SLOW  # not after lease-timeout


def test_killed_beside_another(daemon, photos):
    """FAULTS 6, 12: a reader on the same ring goes on, and gets every byte right."""
    with daemon.connect() as alone:
        alone.attach(photos, **STREAM, epochs=2)
        reference = alone.digests()
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=2)
        samples = {}
        victims = [child(daemon, photos, stop) for stop in ("attached", 2, 1)]
        for victim in victims:
            os.kill(victim.pid, signal.SIGSTOP)
        for i, (epoch, position, _) in enumerate(peer.samples()):
            samples[epoch, position] = True
            if i == 5:
                for victim in victims:
                    end(victim)
        assert samples.keys() == reference.keys()
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=2)
        assert peer.digests() == reference
    daemon.settle()


@contextlib.contextmanager
def killed_but_connected(daemon, photos):
    """A reader that holds a batch was killed; a child of it, alive in here, keeps the socket."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        from harness import Peer
        peer = Peer(daemon.socket)
        peer.hello()
        peer.attach(photos, **STREAM, epochs=0)
        peer.expect("batch")
        if os.fork() == 0:  # keeps the connection open
            theirs.send(b"%d" % os.getpid())
            time.sleep(600)
            os._exit(0)
        signal.pause()
    grandchild = int(ours.recv(20))
    try:
        assert daemon.status()["readers"] == 1
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        yield
    finally:
        os.kill(grandchild, signal.SIGKILL)
        ours.close()
        theirs.close()


def test_killed_while_its_child_holds_the_socket(daemon, photos):
    """FAULTS 10: the process is gone, EOF does not come."""
    with killed_but_connected(daemon, photos):
        wait_for(lambda: daemon.status()["readers"] == 0, "its reader is gone", 1 * SLOW)
    daemon.settle()


def test_killed_where_nobody_can_watch(spawn, photos):
    """FAULTS 10: nor is there a pid to watch, in another PID namespace: lease-timeout ends it."""
    apart = ["unshare", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no PID namespace can be had here")
    daemon = spawn(launcher=apart)
    with killed_but_connected(daemon, photos):
        assert daemon.set("lease-timeout", "1s").name == "ok"
        wait_for(lambda: daemon.status()["readers"] == 0, "its reader is gone")
        assert daemon.status()["leases_expired_total"] > 0
    daemon.settle()
    launcher = daemon.process.pid  # which a signal does not end
    with open(f"/proc/{launcher}/task/{launcher}/children", encoding="ascii") as children:
        os.kill(int(children.read()), signal.SIGTERM)
    daemon.process.wait(20 * SLOW)
    daemon.terminate()


@pytest.mark.parametrize("cut", ["whole", "every byte"])
def test_gone_with_a_release_on_its_way(daemon, photos, cut):
    """FAULTS 8: between RELEASE and the next BATCH, or in the middle of the frame: nothing of the
    part is done, all slots come back, and who shares the ring does not notice."""
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM)
        reference = peer.digests()
    with daemon.connect() as other:
        other.attach(photos, **STREAM)
        release = frame({"type": MESSAGES["release"], "lease": 1})
        for size in [len(release)] * 5 if cut == "whole" else range(1, len(release)):
            with daemon.connect() as peer:
                peer.attach(photos, **STREAM, inflight=2)
                assert peer.expect("batch").fields["lease"] == 1
                peer.send_bytes(release[:size])
        assert other.digests() == reference
    daemon.settle()
    values = daemon.status()
    assert values["bad_releases_total"] == values["protocol_errors_total"] == 0


def test_all_ranks_die_and_come_back(daemon, photos):
    """FAULTS 11: eight at once, and other ranks of another world size at once after."""
    end(child(daemon, photos, "attached"))
    daemon.settle()
    before = daemon.usage()
    for _ in range(3):
        processes = [child(daemon, photos, 2) for _ in range(8)]
        for process in processes:
            process.kill()
        for process in processes:
            end(process)
        peers = [daemon.connect() for _ in range(3)]
        for rank, peer in enumerate(peers):
            assert peer.attach(photos, **STREAM, rank=rank, world=3).name == "attached"
        parts = in_turn(peers)
        assert sum(map(len, parts)) == 60 and len(set().union(*parts)) == 60
        for peer in peers:
            peer.close()
    daemon.settle(before)


def test_stop_drains(spawn, photos):
    """FAULTS 27: on SIGTERM readers are told, may finish what they hold, and the daemon goes."""
    daemon = spawn(drain_timeout="5s")
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=0, batch_size=4, inflight=2)
        first = peer.expect("batch")
        daemon.process.terminate()
        while (message := peer.receive()).name == "batch":
            pass
        assert message.name == "goaway" and message.fields["deadline_ms"] == 5000
        assert peer.ring.read(first.fields["runs"])["image"].any()
        time.sleep(0.3)
        assert daemon.process.poll() is None, "it waits for its reader"
        peer.release(first)
    daemon.process.wait(3 * SLOW)
    assert "stops (SIGTERM)" in daemon.terminate()


def test_four_readers_at_a_stop(spawn, photos):
    """FAULTS 27: each is told and gets to where its state says; nobody else may come."""
    daemon = spawn()
    with daemon.connect() as alone:
        alone.attach(photos, **STREAM)
        reference = alone.digests()
    with daemon.connect() as late:
        peers = [daemon.connect() for _ in range(4)]
        for peer in peers:
            peer.attach(photos, **STREAM, batch_size=4, inflight=1)
        got = {}
        held = [peer.expect("batch") for peer in peers]
        daemon.process.terminate()
        wait_for(lambda: "stops (SIGTERM)" in daemon.log(), "it stops")
        assert late.expect("goaway")
        error = late.attach(photos, **STREAM)
        assert error.name == "error" and error.fields["name"] == "stopping", error
        for peer, batch in zip(peers, held):
            peer.expect("goaway")
            assert batch.fields["next_position"] == 4
            arrays = peer.ring.read(batch.fields["runs"])
            for i in range(4):
                got[0, i] = digest_of({name: array[i] for name, array in arrays.items()})
            assert got.items() <= reference.items()
            assert daemon.process.poll() is None
        for peer in peers:
            peer.close()
    assert daemon.process.wait(20 * SLOW) == 0
    daemon.terminate()


def test_a_trainer_that_left_does_not_wait_for_the_others(spawn, photos):
    """One computes on what it holds, for longer than others should be without a daemon. It keeps
    that, and what was sent to it."""
    daemon = spawn(drain_timeout="600s")
    with daemon.connect() as slow, daemon.connect() as fast:
        for peer in (slow, fast):
            peer.attach(photos, **STREAM, batch_size=4, inflight=1)
        held = slow.expect("batch")
        daemon.process.terminate()
        slow.expect("goaway")
        time.sleep(0.3)
        assert daemon.process.poll() is None, "nobody has left"
        left = time.monotonic()
        fast.close()
        assert daemon.process.wait(15 * SLOW) == 0
        assert time.monotonic() - left > 0.9, "it gave the other one time"
        assert slow.ring.read(held.fields["runs"])["image"].any()
    daemon.terminate()


def test_stop_does_not_wait_for_ever(spawn, photos):
    """FAULTS 27, 28: the drain has an end, and a second signal is one."""
    daemon = spawn(drain_timeout="1s")
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=0)
        start = time.monotonic()
        daemon.terminate()
        assert 0.5 < time.monotonic() - start < 15 * SLOW
    for second in (signal.SIGTERM, signal.SIGINT):
        daemon = spawn(drain_timeout="600s")
        with daemon.connect() as peer:
            peer.attach(photos, **STREAM, epochs=0)
            daemon.process.terminate()
            wait_for(lambda: "stops" in daemon.log(), "it stops")
            daemon.terminate(how=second, code=1)


def test_kept_views_outlive_the_daemon(spawn, photos):
    """FAULTS 22: kill -9; what a reader maps stays readable."""
    daemon = spawn()
    peer = daemon.connect()
    peer.attach(photos, **STREAM)
    batch = peer.expect("batch")
    before = peer.ring.read(batch.fields["runs"])["image"].copy()
    daemon.kill()
    assert (peer.ring.read(batch.fields["runs"])["image"] == before).all()
    daemon.process = None
    peer.close()


def test_leases_outlive_their_reader(daemon, photos):
    """What a peer holds stays as it is, whatever it attaches to next, until it gives it back."""
    with daemon.connect() as peer, daemon.connect() as other:
        peer.attach(photos, **STREAM, epochs=0)
        held, ring = peer.expect("batch"), peer.ring
        before = {name: array.copy() for name, array in ring.read(held.fields["runs"]).items()}
        other.attach(photos, **STREAM, epochs=0)
        assert other.attached["ring"] == peer.attached["ring"]
        peer.request("detach")
        while peer.waiting:  # announced before the daemon knew
            peer.release(peer.waiting.popleft())
        peer.attach(photos, **{**STREAM, "order_seed": 5}, epochs=1)
        assert len(list(peer.samples(keep=()))) == 60
        for _ in range(6):  # as far as the held batch lets it
            try:
                other.release(other.expect("batch", seconds=0.5))
            except (TimeoutError, AssertionError):
                break
        for name, array in ring.read(held.fields["runs"]).items():
            assert (array == before[name]).all(), name
        assert daemon.status()["slots_leased"] >= 4
        peer.release(held)
        for _ in range(30):  # now it runs freely
            other.release(other.expect("batch"))
        peer.request("detach")
        assert peer.request("ping").name == "ok"
    daemon.settle()


def test_leases_have_an_end(daemon, photos):
    """Who attaches over and over and gives nothing back is told to, before memory is short."""
    wish = {**STREAM, "batch_size": 1, "prefetch": 60, "inflight": 60}
    with daemon.connect() as peer, daemon.connect() as other:
        other.attach(photos, **wish, epochs=0)  # keeps the ring, and with it all batches made
        wait_for(lambda: daemon.status()["slots_leased"] == 60, "all batches are made")
        held = 0
        while (answer := peer.attach(photos, **wish)).name == "attached":
            assert held <= 8192
            peer.request("detach")
            held += sum(message.name == "batch" for message in peer.waiting)
            peer.waiting.clear()
        assert answer.fields["name"] == "limit" and "release them" in answer.fields["text"]
        assert held > 8192
        for lease in range(1, held + 1):
            peer.send("release", lease=lease)
        assert peer.attach(photos, **wish).name == "attached"
    daemon.settle()


def test_flat_memory(daemon, photos):
    """A hundred epochs leave descriptors, threads and memory as five did."""
    def epochs(count):
        with daemon.connect() as peer:
            peer.attach(photos, **STREAM, epochs=count, batch_size=16)
            assert sum(1 for _ in peer.samples(keep=())) == 60 * count
        daemon.settle()
    epochs(5)
    epochs(5)
    before = daemon.usage()
    epochs(100)
    daemon.settle(before)  # descriptors and threads, also those of the connection that looked
    after = daemon.usage()
    if SLOW == 1:  # a sanitizer keeps what is freed, for a while
        assert after.rss <= before.rss + (2 << 20)


def large_samples(photos, folder, kind):
    """What is attached to, for samples that need much memory, and next to none, on their way."""
    if kind == "mix":
        return [(photos, {"dtype": "float16", "subset_stop": 4, "transforms": [
            {"name": "Resize", "size": [edge, edge]}, {"name": "MixUp"}]}) for edge in (3200, 32)]
    for name, edge in ("large", 5000), ("small", 60):
        (folder / name).mkdir()
        PIL.Image.new("RGB", (edge, edge)).save(folder / name / "0.png")
    rows = (folder / "masks.jsonl")
    rows.write_text('{"path": "small/0.png", "mask": "small/0.png"}\n' * 4)
    if kind == "mask":
        return [(rows, {"dtype": "uint8", "transforms": [{"name": "Resize", "size": [edge, edge]}]})
                for edge in (3200, 32)]
    rows = (folder / "large.lines", folder / "small.lines")
    for path in rows:
        path.write_text(f"{path.stem}/0.png 0\n" * 4)
    return [(path, {"transforms": [{"name": "Resize", "size": [32, 32]}]}) for path in rows]


@pytest.mark.parametrize("kind", ["picture", "mask", "mix"])
def test_a_large_sample_is_no_habit(daemon, photos, tmp_path, kind):
    """What the workers took for it is given back with the last one. (All of it is in pieces that
    are more than malloc would keep for the next.)"""
    large, small = large_samples(photos, tmp_path, kind)

    def make(path, wish):
        with daemon.connect() as peer:
            peer.attach(path, **{**STREAM, **wish, "batch_size": 1, "epochs": 1, "prefetch": 2})
            assert sum(1 for _ in peer.samples(keep=())) == 4

    make(*small)
    before = daemon.usage()
    make(*large)
    daemon.settle(before._replace(rss=before.rss + (16 << 20)))


def test_a_dataset_stays_for_a_reader_that_attaches_again(daemon, photos, tmp_path):
    """A seek is DETACH and ATTACH. If that expects the content that was left, it is not indexed
    again; any other ATTACH sees the files as they are."""
    folder = tmp_path / "pictures"
    shutil.copytree(photos, folder)
    with daemon.connect() as peer:
        first = peer.attach(folder, **STREAM).fields
        peer.leave()
        shutil.copy(next(folder.rglob("*.jpg")), folder / next(folder.iterdir()).name / "new.jpg")
        there = {"expect_dataset": first["dataset_fingerprint"], "position": 12}
        assert peer.attach(folder, **STREAM, **there).fields["samples"] == first["samples"]
        peer.leave()
        wait_for(lambda: not daemon.list("streams"), "no worker reads for it any more")
        assert peer.attach(folder, **STREAM).fields["samples"] == first["samples"] + 1
        peer.leave()
        wait_for(lambda: not daemon.list("datasets"), "it is forgotten")
        assert peer.attach(folder, **STREAM, **there).fields["name"] == "token"


# -- rings by path ----------------------------------------------------------------------------

BY_PATH = {**STREAM, "accept_fd": False, "accept_path": True}


def drain(peer):
    """Take and give back all batches, without a look at the ring."""
    while (message := peer.receive()).name != "end":
        if message.name == "batch":
            peer.release(message)


@pytest.mark.parametrize("leave", ["detach", "close"])
def test_a_path_stays_behind_the_end(daemon, photos, leave):
    """A client that is slow to begin opens it when all has been said: until DETACH, or the end of
    the connection."""
    with daemon.connect() as peer:
        answer = peer.request("attach", dataset={"path": str(photos)}, batch_size=4, epochs=1,
                              **BY_PATH)
        drain(peer)
        assert peer.request("ping").name == "ok"
        with daemon.connect(control=True) as other:  # the daemon has taken some turns
            assert other.request("status").fields["values"]["slots_leased"] == 0
        assert os.path.exists(answer.fields["path"])
        peer.follow(answer)
        if leave == "detach":
            assert peer.request("detach").name == "ok"
            wait_for(lambda: not os.path.exists(answer.fields["path"]), "the path is gone")
    wait_for(lambda: not os.path.exists(answer.fields["path"]), "the path is gone")
    wait_for(lambda: daemon.status()["rings"] == 0, "the ring is gone")


def test_a_path_stays_behind_a_bad_sample(daemon, tmp_path):
    """No batch was announced at all."""
    broken = tmp_path / "broken" / "a"
    broken.mkdir(parents=True)
    (broken / "a.jpg").write_bytes(b"\xff\xd8\xff")
    with daemon.connect() as peer:
        answer = peer.request("attach", dataset={"path": str(broken.parent)}, batch_size=4,
                              epochs=1, **BY_PATH)
        peer.expect("bad_sample")
        peer.expect("end")
        assert peer.request("ping").name == "ok"
        peer.follow(answer)


def test_a_path_stays_behind_a_move(daemon, photos):
    """Until a batch of the next ring is given back: the client has seen all that was before."""
    wish = {"dataset": {"path": str(photos)}, "batch_size": 4, "epochs": 9, "inflight": 1,
            "prefetch": 1, "pace": "free", "accept_moves": True, **BY_PATH}
    with daemon.connect() as slow, daemon.connect() as fast:
        first = slow.request("attach", **wish).fields["path"]
        slow.expect("batch")
        assert fast.request("attach", **wish).fields["path"] == first
        while (message := fast.receive()).name != "ring":
            if message.name == "batch":
                fast.release(message)
        second = message.fields["path"]
        slow.close()
        batch = fast.expect("batch")
        assert fast.request("ping").name == "ok"
        assert os.path.exists(first) and os.path.exists(second)
        fast.release(batch)
        wait_for(lambda: not os.path.exists(first), "the first path is gone")
        assert os.path.exists(second)
