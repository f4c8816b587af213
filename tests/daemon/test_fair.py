# SPDX-License-Identifier: MIT
"""Many trainers, none in another's way: shares of the workers, limits of users, batches that are
held for too long, samples that take long.
"""

import contextlib
import shutil
import signal
import sys
import threading
import time

import pytest

from harness import SLOW, SOURCE, digest_of, wait_for
from test_law import N, STREAM
from test_storage import faulty, on_disk
from users import needs_root, user

sys.path.insert(0, str(SOURCE / "tests" / "demo"))
import photos as made  # noqa: E402 (it stands in the demo's folder)

NOBODY = 65534
LONG = 60 * SLOW  # nothing here takes as long unless it hangs
HEAVY = [{"name": "RandomResizedCrop", "size": 224, "scale": [0.9, 1.0]}]


@pytest.fixture(scope="session", name="large")
def fixture_large(tmp_path_factory):
    """24 photographs (of 4 subjects), each some milliseconds of a worker."""
    folder = tmp_path_factory.mktemp("large")
    made.make(folder, count=4, size=(1600, 1200))
    for path in list(folder.glob("*/*.*")):
        for i in range(5):
            shutil.copyfile(path, path.with_name(f"{path.stem}-{i}{path.suffix}"))
    return folder


class Trainer(threading.Thread):
    """Reads a peer's batches to END or until told to stop; `samples` counts them, `digests` has
    each sample's. `pause` seconds go into each batch, `each` is called with it."""

    def __init__(self, peer, pause=0, digest=False, each=lambda: None):
        super().__init__(daemon=True)
        self.peer, self.pause, self.digest, self.each = peer, pause, digest, each
        self.samples, self.digests, self.error = 0, {}, None
        self.stopped = threading.Event()
        self.start()

    def run(self):
        try:
            while not self.stopped.is_set() and self.step():
                pass
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.error = error

    def step(self):
        try:
            message = self.peer.receive(0.2)
        except TimeoutError:
            return True
        if message.name == "end":
            return False
        assert message.name == "batch", message
        fields = message.fields
        arrays = self.peer.ring.read(fields["runs"]) if self.digest else None
        for i in range(fields["count"] if self.digest else 0):
            place = fields["epoch"], fields["position"] + i
            assert place not in self.digests, "a position came twice"
            self.digests[place] = digest_of({name: array[i] for name, array in arrays.items()})
        self.stopped.wait(self.pause)
        self.samples += fields["count"]
        self.peer.release(message)
        self.each()
        return True

    def finish(self, stop=False):
        """Wait for END (or make it stop); what it has read."""
        if stop:
            self.stopped.set()
        self.join(LONG)
        assert not self.is_alive(), "it does not end"
        if self.error:
            raise self.error
        return self.digests


@contextlib.contextmanager
def trainers(daemon, folder, *wishes):
    """A running Trainer for each wish (fields of ATTACH, and of Trainer)."""
    with contextlib.ExitStack() as stack:
        running = []
        for wish in wishes:
            own = {name: wish.pop(name) for name in ("pause", "digest") if name in wish}
            peer = stack.enter_context(daemon.connect())
            answer = peer.attach(folder, **{**STREAM, "epochs": 0, **wish})
            assert answer.name == "attached", answer
            running.append((peer, own))
        running = [Trainer(peer, **own) for peer, own in running]
        yield running
        for trainer in running:
            trainer.finish(stop=True)


def open_to_all(daemon):
    daemon.folder.chmod(0o755)
    return daemon


# -- shares of the workers ---------------------------------------------------------------------


def test_priority_is_a_weight(spawn, large):
    """Two streams that both want all there is: four times the weight, about four times the
    samples."""
    daemon = spawn(workers=1)
    with trainers(daemon, large, {"transforms": HEAVY, "order_seed": 1, "priority": 40},
                  {"transforms": HEAVY, "order_seed": 2, "priority": 10}) as (heavy, light):
        wait_for(lambda: light.samples >= 4, "both have begun", LONG)
        before = heavy.samples, light.samples
        wait_for(lambda: light.samples - before[1] >= 20, "the light one had some", LONG)
        had = heavy.samples - before[0], light.samples - before[1]
    assert 1.7 < had[0] / had[1] < 10, had  # equals would have as much


def test_priority_can_be_set(spawn, large):
    """While it reads, by the operator; what is no reader or no weight changes nothing."""
    daemon = spawn(workers=1)
    with daemon.connect() as first, daemon.connect() as second:
        first.attach(large, transforms=HEAVY, order_seed=1, epochs=0)
        second.attach(large, transforms=HEAVY, order_seed=2, epochs=0)
        heavy, light = first.attached["reader"], second.attached["reader"]
        for name, value in (("priority.999", 40), ("priority.", 40), (f"priority.{heavy}x", 40),
                            (f"priority.{heavy}", 0), (f"priority.{heavy}", 101),
                            (f"priority.{heavy}", "x"), (f"priority.{heavy}", "4x"),
                            (f"priority.{heavy}", "+40"), (f"priority.+{heavy}", 40),
                            (f"priority. {heavy}", 40), (f"priority.{heavy - 2**64}", 40)):
            assert daemon.set(name, value).fields["name"] == "setting", (name, value)

        def weights():
            return {row["reader"]: row["priority"] for row in daemon.list("readers")}

        assert weights() == {heavy: 10, light: 10}
        done = daemon.ctl("set", f"priority.{heavy}", 40)
        assert done.stdout == f"priority.{heavy} is 40\n", done
        assert weights() == {heavy: 40, light: 10}
    daemon.settle()


def test_a_greedy_stream_starves_nobody(spawn, large):
    """Eight readers all over one stream are one share beside a stream of one reader."""
    daemon = spawn(workers=1)
    greedy = [{"transforms": HEAVY, "order_seed": 1, "inflight": 16, "rank": rank, "world": 8,
               "batch_size": 1}
              for rank in range(8)]
    with trainers(daemon, large, *greedy,
                  {"transforms": HEAVY, "order_seed": 2, "batch_size": 2}) as running:
        one = running[-1]
        wait_for(lambda: one.samples >= 8, "all have begun", LONG)
        before = sum(t.samples for t in running[:-1]), one.samples
        wait_for(lambda: one.samples - before[1] >= 40, "the one had its share", LONG)
        had = sum(t.samples for t in running[:-1]) - before[0], one.samples - before[1]
    assert had[1] > had[0] / 3, had


@needs_root
def test_users_share_alike(spawn, large):
    """Four streams of one user, of the largest weight, are one share beside another user's only
    stream, of the smallest."""
    daemon = open_to_all(spawn(workers=1, socket_mode="0666", dataset_root="/"))
    with contextlib.ExitStack() as stack:
        with user(NOBODY):
            peers = [stack.enter_context(daemon.connect()) for _ in range(4)]
        peers.append(stack.enter_context(daemon.connect()))
        for seed, peer in enumerate(peers):
            answer = peer.attach(large, transforms=HEAVY, order_seed=seed, epochs=0, batch_size=2,
                                 priority=1 if peer is peers[-1] else 100)
            assert answer.name == "attached", answer
        running = [Trainer(peer) for peer in peers]
        one = running[-1]
        wait_for(lambda: all(t.samples >= 4 for t in running), "all have begun", LONG)
        before = sum(t.samples for t in running[:-1]), one.samples
        wait_for(lambda: one.samples - before[1] >= 40, "the one had its share", LONG)
        had = sum(t.samples for t in running[:-1]) - before[0], one.samples - before[1]
        for trainer in running:
            trainer.finish(stop=True)
    assert had[1] > had[0] / 3, had  # among streams it would be a four hundredth


def test_orders_of_the_dead_are_cancelled(spawn, photos):
    """FAULTS 5: killed with an epoch asked for and nothing received: what is queued for it is
    taken back, and the workers do the next one's, and only that."""
    daemon = spawn(workers=0)
    with daemon.connect() as stays:
        with daemon.connect() as peer:
            peer.attach(photos, **STREAM, inflight=16, epochs=0)
            wait_for(lambda: daemon.status()["queued"], "it has ordered")
            stays.attach(photos, **{**STREAM, "order_seed": 8})
        wait_for(lambda: daemon.status()["samples_cancelled_total"], "its orders are gone")
        assert daemon.status()["samples_decoded_total"] == 0
        daemon.set("workers", 2)
        assert sum(1 for _ in stays.samples(keep=())) == N
    assert daemon.status()["samples_decoded_total"] == N
    daemon.settle()


def test_gone_while_workers_write(spawn, large):
    """FAULTS 7: its ring goes once no worker writes there any more, at whatever moment it leaves;
    what another stream is given meanwhile is right."""
    daemon = spawn()
    wish = {**STREAM, "transforms": HEAVY, "batch_size": 2}
    with daemon.connect() as peer:
        peer.attach(large, **wish)
        reference = peer.digests()
    with trainers(daemon, large, {**wish, "digest": True, "epochs": 1}) as (stays,):
        for turn in range(20):
            with daemon.connect() as leaves:
                leaves.attach(large, **{**wish, "order_seed": turn, "prefetch": 8}, epochs=0)
                for _ in range(turn % 3):
                    leaves.release(leaves.expect("batch", LONG))
        assert stays.finish() == reference
    daemon.settle()


def test_a_slow_sample_holds_back_its_batch_only(spawn, photos, tmp_path):
    """FAULTS 24: while one thread stands, the batches behind are made, `status` is answered and
    another stream is served."""
    folder = tmp_path / "photos"
    made.make(folder, count=N, size=(120, 90))
    on_disk("dead", folder, 8)
    gate = tmp_path / "gate"
    gate.touch()
    daemon = spawn(environment=faulty(STOKER_TEST_GATE=str(gate)))
    with daemon.connect() as peer, daemon.connect() as other:
        peer.attach(folder, **{**STREAM, "shuffle": False}, batch_size=4, prefetch=12)
        seen = [peer.expect("batch").fields["position"] for _ in range(2)]
        # All of the window but the one that is slow: behind it nothing waits.
        wait_for(lambda: daemon.status()["samples_decoded_total"] == 47, "those behind are made")
        assert seen == [0, 4]
        other.attach(photos, **STREAM)
        assert sum(1 for _ in other.samples(keep=())) == N
        gate.unlink()
        assert peer.expect("batch").fields["position"] == 8


def test_starved_of_cpu(spawn, photos):
    """FAULTS 56: a daemon that gets a twentieth of the time is slow, and nothing else."""
    daemon = spawn()
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM)
        reference = peer.digests()
    stop = threading.Event()

    def starve():
        while not stop.is_set():
            daemon.process.send_signal(signal.SIGSTOP)
            time.sleep(0.019)
            daemon.process.send_signal(signal.SIGCONT)
            time.sleep(0.001)

    thread = threading.Thread(target=starve)
    thread.start()
    try:
        with daemon.connect() as peer:
            peer.attach(photos, **STREAM)
            assert peer.digests() == reference
    finally:
        stop.set()
        thread.join()
    assert daemon.status()["timeouts_total"] == 0


# -- limits of users ---------------------------------------------------------------------------


@needs_root
def test_readers_of_a_user(spawn, photos):
    """FAULTS 57: a user who has all readers it may have is told so; others attach at once."""
    daemon = open_to_all(spawn(max_readers_per_user=2, socket_mode="0666", dataset_root="/"))
    with contextlib.ExitStack() as stack:
        with user(NOBODY):
            theirs = [stack.enter_context(daemon.connect()) for _ in range(3)]
        for peer in theirs[:2]:
            assert peer.attach(photos, **STREAM, epochs=0).name == "attached"
        error = theirs[2].attach(photos, **STREAM)
        assert error.name == "error" and error.fields["name"] == "limit", error
        assert f"user {NOBODY} has 2 readers" in error.fields["text"]
        assert "max-readers-per-user" in error.fields["text"]
        ours = stack.enter_context(daemon.connect())
        assert ours.attach(photos, **STREAM, epochs=0).name == "attached"
        # The connection is as good as before: one that leaves makes room, and so does the setting.
        theirs[0].request("detach")
        assert theirs[2].attach(photos, **STREAM, epochs=0).name == "attached"
        while theirs[0].waiting:
            theirs[0].waiting.popleft()
        assert theirs[0].attach(photos, **STREAM).name == "error"
        assert daemon.set("max-readers-per-user", 3).name == "ok"
        assert theirs[0].attach(photos, **STREAM).name == "attached"
    daemon.settle()


@needs_root
def test_connections_of_a_user(spawn, photos):
    """FAULTS 57: nor can it take all connections."""
    daemon = open_to_all(spawn(max_readers_per_user=1, socket_mode="0666", dataset_root="/"))
    with contextlib.ExitStack() as stack:
        with user(NOBODY):
            for _ in range(65):
                stack.enter_context(daemon.connect())
            one_more = stack.enter_context(daemon.connect(hello=False))
        error = one_more.expect_error("limit", hang_up=True)
        assert error["seq"] == 0 and f"user {NOBODY} has 65 connections" in error["text"]
        ours = stack.enter_context(daemon.connect())
        assert ours.attach(photos, **STREAM).name == "attached"
    daemon.settle()


@needs_root
def test_ring_memory_of_a_user(spawn, photos):
    """FAULTS 57: memory that one user may not have is there for the others."""
    daemon = open_to_all(spawn(ring_memory="64M", ring_memory_per_user="4M", socket_mode="0666",
                               dataset_root="/"))
    large = {**STREAM, "batch_size": 32, "prefetch": 8}  # 32 * 8 * 3 * 32 * 32 * 4 bytes: 3 MB
    with contextlib.ExitStack() as stack:
        with user(NOBODY):
            theirs = [stack.enter_context(daemon.connect()) for _ in range(3)]
        assert theirs[0].attach(photos, **large).name == "attached"
        error = theirs[1].attach(photos, **{**large, "order_seed": 8})
        assert error.fields["name"] == "limit", error
        assert "ring-memory-per-user" in error.fields["text"]
        # What fits is taken, and a ring that is there is shared.
        assert theirs[1].attach(photos, **large).name == "attached"
        small = {**large, "prefetch": 0, "batch_size": 4, "order_seed": 8}
        assert theirs[2].attach(photos, **small).name == "attached"
        ours = stack.enter_context(daemon.connect())
        assert ours.attach(photos, **{**large, "order_seed": 9}).name == "attached"
    daemon.settle()


@needs_root
def test_queued_work_of_a_user(spawn, photos):
    """FAULTS 57: no more is queued for a user than it may have, however many its streams; others
    order beside it, and all get all."""
    daemon = open_to_all(spawn(workers=0, fetchers=8, queued_per_user=3, socket_mode="0666",
                               dataset_root="/"))
    with contextlib.ExitStack() as stack:
        with user(NOBODY):
            theirs = [stack.enter_context(daemon.connect()) for _ in range(2)]
        ours = stack.enter_context(daemon.connect())
        for seed, peer in enumerate(theirs):
            peer.attach(photos, **{**STREAM, "order_seed": seed})
            wait_for(lambda: daemon.status()["queued"] >= 3, "they have ordered")
            assert daemon.status()["queued"] == 3
        ours.attach(photos, **{**STREAM, "order_seed": 9})
        wait_for(lambda: daemon.status()["queued"] >= 6, "and so have we")
        assert daemon.status()["queued"] == 6
        assert daemon.set("queued-per-user", 0).name == "ok"
        wait_for(lambda: daemon.status()["queued"] > 6, "it was the limit that held")
        assert daemon.set("queued-per-user", 1).name == "ok"
        assert daemon.status()["queued_per_user"] == 1
        assert daemon.set("workers", 2).name == "ok"
        running = [Trainer(peer) for peer in [*theirs, ours]]
        for trainer in running:
            trainer.finish()
            assert trainer.samples == N
    daemon.settle()


def test_the_budget_of_all_is_another_error(spawn, photos):
    daemon = spawn(ring_memory="2M", ring_memory_per_user="3M")
    with daemon.connect() as peer:
        error = peer.attach(photos, **STREAM, batch_size=32, prefetch=8)
        assert error.fields["name"] == "memory" and "(ring-memory)" in error.fields["text"]


# -- batches that are held for too long --------------------------------------------------------


def test_a_lease_times_out(spawn, photos):
    """FAULTS 14: who holds a batch for longer is told and cut off; who waited for the room goes
    on."""
    daemon = spawn(lease_timeout="500ms")
    with daemon.connect() as holds, daemon.connect() as reads:
        wish = {**STREAM, "inflight": 2, "pace": "together", "prefetch": 4}
        holds.attach(photos, **wish, epochs=0)
        reads.attach(photos, **wish)
        held = [holds.expect("batch") for _ in range(2)]
        before = holds.ring.read(held[0].fields["runs"])["image"].copy()
        assert sum(1 for _ in reads.samples(keep=())) == N
        error = holds.expect_error("timeout", hang_up=True)
        assert "lease-timeout (0.5 s)" in error["text"] and error["seq"] == 0
        holds.ring.read(held[0].fields["runs"])  # what it maps is there, with whatever in it
        assert before.any()
    status = daemon.status()
    assert (status["leases_expired_total"], status["lease_timeout_s"]) == (2, 1), "0 is: any time"
    daemon.settle()


def test_no_lease_times_out_by_itself(daemon, photos):
    """FAULTS 14: the default: as long as it likes. And the setting can come later."""
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=0)
        peer.expect("batch")
        time.sleep(2.5)
        assert daemon.status()["readers"] == 1
        assert daemon.set("lease-timeout", "1s").name == "ok"
        while peer.receive().name == "batch":
            pass
    daemon.settle()


# -- why is it waiting -------------------------------------------------------------------------

SHARES = ("share_trainer", "share_storage", "share_decode", "share_slot")


def row_of(peer):
    """What the daemon says of this peer's reader, to itself."""
    row, = peer.request("list", what="reader").fields["items"]
    assert not row["limited_by"] or abs(sum(row[name] for name in SHARES) - 1) < 1e-6, row
    return row


def read(peer, batches, pause=0):
    for _ in range(batches):
        batch = peer.expect("batch", LONG)
        time.sleep(pause)
        peer.release(batch)


def check_cause(row, cause):
    assert row["limited_by"] == cause, row
    assert max(SHARES, key=row.get) == f"share_{cause}", row
    assert max(("trainer_s", "storage_s", "decode_s", "slot_s"), key=row.get) == f"{cause}_s", row


def test_it_waits_for_storage(spawn, tmp_path):
    folder = tmp_path / "slow-disk"
    made.make(folder, count=24, size=(120, 90))
    daemon = spawn(environment=faulty())
    with daemon.connect() as peer:
        peer.attach(folder, **STREAM, batch_size=2)
        read(peer, 6)
        check_cause(row_of(peer), "storage")


def test_it_waits_for_decode(spawn, large):
    daemon = spawn(workers=1)
    with daemon.connect() as peer:
        peer.attach(large, transforms=HEAVY, batch_size=4, epochs=0)
        read(peer, 12)
        check_cause(row_of(peer), "decode")
        reader, = daemon.list("readers")
        stream, = daemon.list("streams")
        assert reader["limited_by"] == stream["limited_by"] == "decode"


def test_it_waits_for_itself(daemon, photos):
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=0)
        read(peer, 10, pause=0.1 * SLOW)
        check_cause(row_of(peer), "trainer")
        peer.send("credit", inflight=0)  # and a pause is its own wish, too
        wait_for(lambda: row_of(peer)["state"] == "paused", "it has paused")
        check_cause(row_of(peer), "trainer")


def test_it_waits_for_another(daemon, photos):
    """And the other one is named."""
    wish = {**STREAM, "epochs": 0, "pace": "together", "inflight": 1, "prefetch": 4}
    with daemon.connect() as slow, daemon.connect() as fast:
        slow.attach(photos, **wish)
        fast.attach(photos, **wish)
        held = slow.expect("batch")
        read(fast, 4)  # all that the ring has

        def waits():
            row = row_of(fast)
            return row["state"] == "waiting" and row["limited_by"] == "slot" and row

        row = wait_for(waits, lambda: f"it waits for the other: {row_of(fast)}")
        assert row["waits_for"] == slow.attached["reader"]
        check_cause(row, "slot")
        wait_for(lambda: row_of(slow)["limited_by"] == "trainer", "the slow one is itself")
        lines = daemon.ctl("readers").stdout.splitlines()
        assert "LIMITED BY" in lines[0] and any(" slot " in line for line in lines[1:])
        slow.release(held)
        read(fast, 1)  # one goes, the other may
    daemon.settle()
