# SPDX-License-Identifier: MIT
"""Leases: who holds them, when they are released, and what stays readable."""
import gc
import os
import signal
import threading
import time
import warnings

import pytest

import stoker
from fake_daemon import frame
from test_loader import expected, values


def test_dropping_the_last_view_releases(daemon, node):
    loader = node.loader("/data/20", batch_size=4, inflight=1)
    images, labels = next(iter(loader))
    part = images[1:2, 0]
    del images, labels
    assert daemon.count("release") == 0
    assert part[0, 0, 0] == 7
    del part
    daemon.settle(lambda: daemon.count("release") == 1)
    daemon.settle(lambda: daemon.leased() == 1)  # and the next one is announced
    assert daemon.bad_releases == 0


def test_each_lease_goes_back_once(daemon, node):
    loader = node.loader("/data/40", batch_size=4)
    for batch in loader.batches():
        images = batch.images
        batch.release()
        batch.release()
        del images
    del batch
    daemon.settle(lambda: daemon.count("release") == 10)
    assert daemon.bad_releases == 0


def test_release_in_many_threads(daemon, node):
    """Each lease is released once, whichever thread drops it."""
    loader = node.loader("/data/2000", batch_size=2, inflight=64)
    queue, done = [], threading.Event()

    def drop():
        while not done.is_set() or queue:
            try:
                batch = queue.pop()
            except IndexError:
                time.sleep(0)
                continue
            batch.release()

    threads = [threading.Thread(target=drop) for _ in range(4)]
    for thread in threads:
        thread.start()
    count = 0
    for batch in loader.batches():
        count += 1
        queue.append(batch)
    del batch
    done.set()
    for thread in threads:
        thread.join()
    assert count == 1000
    daemon.settle(lambda: daemon.count("release") == 1000)
    assert daemon.bad_releases == 0


def test_release_by_the_collector(daemon, node):
    """An array in a reference cycle is freed by gc, at any moment."""
    loader = node.loader("/data/200", batch_size=2, inflight=8)
    threshold = gc.get_threshold()
    gc.set_threshold(20, 2, 2)
    try:
        count = 0
        for images, _ in loader:
            cycle = [images]
            cycle.append(cycle)
            count += 1
        assert count == 100
    finally:
        gc.set_threshold(*threshold)


def test_views_survive_close_and_a_dead_daemon(daemon, node):
    """FAULTS 22, client's side."""
    loader = node.loader("/data/20", batch_size=4)
    images, labels = next(iter(loader))
    before = images.copy()
    loader.close()
    loader.close()
    daemon.close()
    del loader
    gc.collect()
    assert (images == before).all() and len(labels) == 4


def test_arrays_outlive_a_dropped_loader(daemon, node):
    images, labels = next(iter(node.loader("/data/20", batch_size=4)))
    gc.collect()
    daemon.settle(lambda: not daemon.peers)
    assert values(images, 0) == expected(0, range(4)) and len(labels) == 4


def test_close_frees_everything(daemon, node):
    loader = node.loader("/data/20", batch_size=4)
    next(iter(loader))
    fds = len(os.listdir("/proc/self/fd"))
    loader.close()
    daemon.settle(lambda: not daemon.peers)
    assert len(os.listdir("/proc/self/fd")) < fds
    for use in (lambda: iter(loader), lambda: loader.set_epoch(1), lambda: loader.classes,
                lambda: loader.load_state_dict({})):
        with pytest.raises(stoker.Error, match="closed"):
            use()
    assert loader.state_dict()["position"] == 4


def test_no_descriptor_is_leaked(node):
    def once():
        with node.loader("/data/20", batch_size=4) as loader:
            for _ in range(2):
                for images, _ in loader:
                    break
            del images, _
        with pytest.raises(stoker.DatasetError):
            node.loader("/nowhere", batch_size=4)
        gc.collect()
    once()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        once()
    # The fake daemon's own ends close a moment later.
    for _ in range(500):
        if len(os.listdir("/proc/self/fd")) <= before:
            return
        time.sleep(0.01)
    raise AssertionError("descriptors are left open")


def test_forgotten_batches_warn(node):
    loader = node.loader("/data/20", batch_size=4)
    batch = next(iter(loader.batches()))
    with pytest.warns(ResourceWarning, match="1 batches"):
        loader.close()
    batch.release()
    loader = node.loader("/data/20", batch_size=4)
    kept = next(iter(loader))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader.close()
    assert kept


def test_a_batch_in_a_cycle_does_not_block(node):
    """It is only held by a reference cycle, and the garbage collector does not run."""
    loader = node.loader("/data/20", batch_size=4, inflight=1, timeout=5)
    it = iter(loader)
    gc.disable()
    try:
        cycle = [next(it)]
        cycle.append(cycle)
        del cycle
        assert len(next(it)[1]) == 4
    finally:
        gc.enable()


def test_closing_ends_a_wait_in_another_thread(daemon, node, caplog):
    """The loader is closed while it waits for a batch: it must not attach again."""
    loader = node.loader("/data/20", batch_size=4, inflight=2, timeout=60)
    it = iter(loader)
    held = [next(it), next(it)]
    daemon.hooks["say_batch"] = lambda peer, fields: b""  # no batch comes
    begun = time.monotonic()
    closing = threading.Timer(0.3, node.close)
    closing.start()
    with pytest.raises(stoker.Error, match="the loader is closed"):
        next(it)
    assert time.monotonic() - begun < 20 and len(held) == 2
    assert loader.reconnects == 0 and not caplog.records
    closing.join()
    daemon.settle(lambda: not daemon.peers)


def test_fork(daemon, node):
    loader = node.loader("/data/20", batch_size=4)
    it = iter(loader)
    images, labels = next(it)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            assert values(images, 0) == expected(0, range(4))
            del images, labels
            for use in (lambda: next(it), lambda: iter(loader), lambda: loader.classes):
                with pytest.raises(stoker.ForkError):
                    use()
            loader.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    daemon.settle(lambda: daemon.count("release") == 1)  # both have it
    del images, labels
    assert sum(len(labels) for _, labels in it) == 16


def test_a_fork_while_a_thread_releases(daemon, node):
    """The child frees what it got, though that thread, which is not there, has the lock."""
    it = iter(node.loader("/data/20", batch_size=4))
    images, labels = next(it)
    lease, = (held.lease() for held in it._loader._reader.connection.held.values())
    got, go_on = threading.Event(), threading.Event()

    def hold():
        got.wait()
        with lease._lock:
            go_on.set()
            time.sleep(0.5)

    thread = threading.Thread(target=hold)
    thread.start()
    it._loader._reader.connection.keep()  # as before fork(), which would wait for the lock
    got.set()
    go_on.wait()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        del lease, images, labels
        gc.collect()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    thread.join()
    assert values(images, 0) == expected(0, range(4))


def test_a_child_does_not_keep_the_connection(daemon, node):
    """The daemon notices the end of the parent while a forked child lives (FAULTS 10)."""
    loader = node.loader("/data/20", batch_size=4)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    try:
        loader.close()
        daemon.settle(lambda: not daemon.peers)
    finally:
        os.close(write)
        os.close(read)
        os.waitpid(pid, 0)


def test_a_read_that_hangs_is_named_and_loses_nothing(daemon, node, caplog):
    """FAULTS 62: logged once per batch, and part of the TimeoutError."""
    late = []

    def stall(peer, fields):
        if fields["position"] != 4 or fields["epoch"]:
            return None
        late.append((peer, frame("batch", **fields)))
        return frame("stalled", epoch=0, position=4, sample=17, path=b"cats/\xff.jpg",
                     read_ms=7250)

    daemon.hooks["say_batch"] = stall
    loader = node.loader("/data/12", batch_size=4, inflight=1, timeout=30)
    batches = iter(loader.batches())
    assert next(batches).position == 0
    loader.timeout = 0.3
    with pytest.raises(TimeoutError, match=r"read of cats/.*\.jpg has taken 7 s so far: does its"):
        next(batches)
    peer, batch = late.pop()
    daemon.hooks["say_batch"] = lambda peer, fields: b""  # what comes then does not come
    peer.raw(batch)
    assert next(batches).position == 4
    lines = [record.getMessage() for record in caplog.records if record.name == "stoker"]
    line, = lines
    assert line.startswith("epoch 0, position 4 waits: the read of cats/")
    with pytest.raises(TimeoutError) as no_longer:
        next(batches)
    assert "storage" not in str(no_longer.value)
