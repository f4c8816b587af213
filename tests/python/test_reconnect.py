# SPDX-License-Identifier: MIT
"""The daemon dies or stops and comes back: the program only sees a pause."""
import contextlib
import gc
import os
import signal
import socket
import threading
import time

import pytest

import stoker
from fake_daemon import frame
from stoker._patience import Patience
from test_loader import expected, values


def restart(daemon, after=0.0):
    daemon.die()
    if not after:
        return daemon.again()
    timer = threading.Timer(after, daemon.again)
    timer.start()
    return timer


def test_every_sample_over_many_deaths(daemon, node, caplog):
    """FAULTS 21: killed again and again, at every place, with batches held and announced."""
    loader = node.loader("/data/50", batch_size=4, timeout=20)
    got, deaths = [], 0
    for epoch in range(3):
        for k, (images, labels) in enumerate(loader):
            got += values(images, epoch)
            assert (labels == [value % 10 for value in values(images, epoch)]).all()
            if (k + epoch) % 3 == 0:
                restart(daemon)
                deaths += 1
        assert len(loader) == 13 and loader.epoch == epoch + 1
    assert got == [value for epoch in range(3) for value in expected(epoch, range(50), 50)]
    assert deaths == 13 and 0 < loader.reconnects <= deaths
    assert daemon.last("attach")["expect_dataset"] == "d" * 32
    lines = [record.getMessage() for record in caplog.records if record.name == "stoker"]
    assert "closed the connection" in lines[0] and "resuming at epoch 0" in lines[1]
    assert len(lines) == 2 * loader.reconnects and daemon.bad_releases == 0


def test_a_ring_that_went_with_its_daemon(daemon, node):
    """It had announced it by name, and its successor removed it before it was mapped: seen before
    the end of the connection is."""
    def die(peer, fields):
        del daemon.hooks["say_attached"]
        return frame("attached", **{**fields, "transport": "path", "path": "/nowhere/ring"})

    loader = node.loader("/data/20", batch_size=4, timeout=20)
    it = iter(loader)
    got = values(next(it)[0], 0)
    daemon.hooks["say_attached"] = die
    restart(daemon)
    assert sum((values(images, 0) for images, _ in it), got) == expected(0, range(20), 20)
    assert daemon.count("attach") == 3 and loader.reconnects == 1


def test_views_that_are_held_stay_readable(daemon, node):
    """FAULTS 22: they do not block the new reader, and are not released there."""
    loader = node.loader("/data/50", batch_size=4, inflight=2, timeout=20)
    it = iter(loader)
    first, _ = next(it)
    restart(daemon)
    second, _ = next(it)
    restart(daemon)
    rest = [values(images, 0) for images, _ in it]
    assert values(first, 0) + values(second, 0) + sum(rest, []) == expected(0, range(50), 50)
    del first, second
    gc.collect()
    assert daemon.bad_releases == 0


def test_a_pause(daemon, node):
    """No daemon for a while: next(), for and classes take longer."""
    loader = node.loader("/data/20", batch_size=4)
    it = iter(loader)
    next(it)
    timer = restart(daemon, 0.3)
    assert values(next(it)[0], 0) in (expected(0, range(4, 8)),)
    timer.join()
    timer = restart(daemon, 0.3)
    assert loader.classes[0] == "ant"
    timer.join()
    timer = restart(daemon, 0.3)
    assert [values(images, 1) for images, _ in loader][0] == expected(1, range(4))
    timer.join()
    assert loader.reconnects >= 2  # what was announced in time is still read first


def test_a_stop_is_a_pause_too(daemon, node):
    """FAULTS 27: GOAWAY, a refusal while it drains, and then another daemon."""
    loader = node.loader("/data/20", batch_size=4, timeout=20)
    it = iter(loader)
    kept = next(it)
    daemon.settle(lambda: daemon.leased() == 3)
    drains = [True]

    def refuse(peer, fields):
        if drains:
            peer.fail(fields["seq"], 27, "stopping", "stokerd is about to stop")
        return bool(drains)

    daemon.hooks["attach"] = refuse
    with daemon.peers[0].lock:
        daemon.peers[0].inflight = 0
        daemon.peers[0].say("goaway", text="upgrade", deadline_ms=1000)
    timer = threading.Timer(0.2, drains.clear)
    timer.start()
    assert [value for images, _ in it for value in values(images, 0)] == expected(0, range(4, 20))
    assert loader.reconnects == 1 and values(kept[0], 0) == expected(0, range(4))
    timer.join()


def test_a_stop_between_epochs_is_a_pause_too(daemon, node):
    loader = node.loader("/data/20", batch_size=4, timeout=20)
    for _ in loader:
        break
    drains = [True]
    daemon.hooks["attach"] = lambda peer, fields: drains and drains.pop() and (
        peer.fail(fields["seq"], 27, "stopping", "stokerd is about to stop") or True)
    assert [value for images, _ in loader for value in values(images, 0)] == expected(0, range(20))
    assert loader.reconnects == 1


@pytest.mark.parametrize("error, seconds", [(TimeoutError, 0.1), (KeyboardInterrupt, 20)])
def test_what_is_broken_off_can_be_asked_again(daemon, node, error, seconds):
    """A reply that may still come belongs to no request."""
    loader = node.loader("/data/20", batch_size=4)
    kept = next(iter(loader))
    late = []
    daemon.hooks["attach"] = lambda *request: late.append(request) or True
    if error is KeyboardInterrupt:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
    loader.timeout = seconds
    with pytest.raises(error):
        iter(loader)
    del daemon.hooks["attach"]
    with contextlib.suppress(OSError):  # nobody listens
        late[0][0].on_attach(late[0][1])
    loader.timeout = 20
    assert [value for images, _ in loader
            for value in values(images, 0)] == expected(0, range(20))
    assert loader.reconnects == 1 and len(daemon.peers) == 1
    assert values(kept[0], 0) == expected(0, range(4))


@pytest.mark.parametrize("off", [0, None])
def test_off_by_choice(daemon, node, off):
    loader = node.loader("/data/20", batch_size=4, reconnect=off)
    it = iter(loader)
    next(it)
    restart(daemon)
    with pytest.raises(stoker.Disconnected, match="state_dict"):
        for _ in it:
            pass
    assert loader.reconnects == 0 and daemon.count("attach") == 1


def test_the_wait_has_an_end(daemon, node):
    """The error is that of the loss; the next call tries again."""
    loader = node.loader("/data/20", batch_size=4, reconnect=0.3)
    it = iter(loader)
    next(it)
    daemon.die()
    begun = time.monotonic()
    with pytest.raises(stoker.Disconnected, match="within 0.3 s.*state_dict"):
        for _ in range(5):
            next(it)
    assert time.monotonic() - begun >= 0.3
    with pytest.raises(stoker.Disconnected):
        next(it)
    at = loader.position
    daemon.again()
    assert values(next(it)[0], 0) == expected(0, range(at, at + 4))


def test_a_time_out_comes_first_and_loses_nothing(daemon, node):
    loader = node.loader("/data/20", batch_size=4, reconnect=60, timeout=20)
    it = iter(loader)
    next(it)
    daemon.die()
    loader.timeout = 0.2
    for _ in range(2):
        with pytest.raises(TimeoutError, match="closed the connection"):
            for _ in range(5):
                next(it)
    at, loader.timeout = loader.position, 20
    daemon.again()
    assert values(next(it)[0], 0) == expected(0, range(at, at + 4))


def test_a_daemon_that_dies_over_and_over_is_given_up(daemon, node):
    def die(peer, fields):
        peer.sock.shutdown(socket.SHUT_RDWR)
        return b""

    loader = node.loader("/data/20", batch_size=4, reconnect=0.4, inflight=1)
    it = iter(loader)
    next(it)
    daemon.hooks["say_batch"] = die
    with pytest.raises(stoker.Disconnected, match="within 0.4 s"):
        for _ in range(3):
            next(it)
    assert daemon.count("attach") < 10  # with pauses in between


@pytest.mark.parametrize("code,name,kind", [
    (25, "token", stoker.TokenError), (20, "dataset", stoker.DatasetError),
    (6, "version", stoker.VersionError), (23, "memory", stoker.MemoryBudgetError)])
def test_a_refusal_is_told_at_once(daemon, node, code, name, kind):
    """If the dataset has changed it is an error, and not silently other samples."""
    loader = node.loader("/data/20", batch_size=4)
    it = iter(loader)
    next(it)
    daemon.hooks["attach"] = lambda peer, fields: peer.fail(
        fields["seq"], code, name, "not so") or True
    restart(daemon)
    with pytest.raises(kind, match="not so"):
        for _ in range(5):
            next(it)
    with pytest.raises(kind):
        next(it)
    del daemon.hooks["attach"]
    at = loader.position
    assert values(next(it)[0], 0) == expected(0, range(at, at + 4))


def test_a_client_that_is_cut_off_hears_it(daemon, node):
    """The daemon has taken back the slots of held batches; reconnecting must not hide it."""
    def cut_off(peer, fields):
        peer.say("error", seq=0, code=8, name="timeout", text="a batch was held too long")
        peer.sock.shutdown(socket.SHUT_RDWR)
        return True

    loader = node.loader("/data/20", batch_size=4)
    daemon.hooks["list"] = cut_off
    with pytest.raises(stoker.RequestError, match="held too long"):
        loader.classes
    assert loader.reconnects == 0


def test_places_that_were_said(daemon, node):
    """set_epoch, load_state_dict and a break mean the same after the daemon died."""
    loader = node.loader("/data/20", batch_size=4)
    state = loader.state_dict()
    batches = iter(loader)
    next(batches), next(batches)
    restart(daemon)
    assert values(next(iter(loader))[0], 1) == expected(1, range(4))
    restart(daemon)
    loader.set_epoch(7)
    assert values(next(iter(loader))[0], 7) == expected(7, range(4))
    loader.load_state_dict({**state, "position": 8})
    restart(daemon)
    assert values(next(iter(loader))[0], 0) == expected(0, range(8, 12))


def test_a_live_start_goes_on_by_position(daemon, node):
    daemon.live = 3, 8
    loader = node.loader("/data/20", batch_size=4, start="live", inflight=2)
    daemon.live = 5, 0
    restart(daemon)
    assert [value for images, _ in loader for value in values(images, 3)] == \
        expected(3, range(8, 20))
    assert "start" not in daemon.last("attach")


def test_ranks_pad_and_epochs(daemon, node):
    loader = node.loader("/data/10", batch_size=4, rank=1, world_size=2, epochs=2)
    for epoch in range(2):
        for images, _ in loader:
            assert values(images, epoch) == expected(epoch, range(4, 8), 10)
            restart(daemon)
        assert loader.epoch == epoch + 1
    restart(daemon)
    assert loader.classes[0] == "ant"
    with pytest.raises(stoker.Error, match="epochs=2"):
        iter(loader)


def test_two_loaders_do_not_mind_each_other(daemon, node):
    """Each in a thread of its own, with a batch size of its own."""
    out = {}

    def read(size, loader):
        out[size] = [sum((values(images, epoch) for images, _ in loader), [])
                     for epoch in range(3)]

    # Who attaches again is told that the daemon is gone; who has attached is not.
    threads = [threading.Thread(target=read, args=(size, node.loader(
        "/data/60", batch_size=size, timeout=20))) for size in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        time.sleep(0.02)
        restart(daemon)
    for thread in threads:
        thread.join()
    assert all(out[size] == [expected(epoch, range(60), 60) for epoch in range(3)]
               for size in (1, 2, 3))


def test_a_child_does_not_reconnect(daemon, node):
    """ForkError in the child, also if the daemon was lost before; the parent continues."""
    loader = node.loader("/data/20", batch_size=4, timeout=20)
    it = iter(loader)
    next(it)
    restart(daemon)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            for use in (lambda: next(it), lambda: iter(loader), lambda: loader.classes):
                with pytest.raises(stoker.ForkError):
                    use()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert sum(len(labels) for _, labels in it) == 16


def test_descriptors_do_not_grow(daemon, node):
    loader = node.loader("/data/200", batch_size=4, timeout=20)
    it = iter(loader)
    counts = []
    for _ in range(8):
        restart(daemon)
        next(it)
        next(it)
        gc.collect()
        counts.append(len(os.listdir("/proc/self/fd")))
    assert max(counts[4:]) <= max(counts[:4]) + 1


def test_patience(monkeypatch):
    patience = Patience(0.2)
    assert not patience.over and patience.lose() and not patience.lose()
    begun = time.monotonic()
    while not patience.over:
        patience.sleep(begun + 60)
    assert time.monotonic() - begun >= 0.2
    patience.find()
    assert not patience.over and patience.lose()
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    patience.sleep(time.monotonic())  # the caller's time is over
    patience.sleep(time.monotonic() + 60)
    assert slept[0] == 0 < slept[1]
