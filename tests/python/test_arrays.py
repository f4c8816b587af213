# SPDX-License-Identifier: MIT
"""Arrays of batches may be written to and kept like any other, and nobody else sees it.

With a dataset of random bytes, whose samples are known without the daemon. Batches of 10 samples of
3,072 bytes begin and end within pages; of the made daemon's small ones several share a page.
"""
import errno
import os
import signal
import threading

import numpy as np
import pytest

import stoker
from stoker import _memory
from fake_daemon import frame
from real_daemon import RealDaemon, binary
from test_loader import expected, values
from test_moves import move_at

SAMPLES = 400


@pytest.fixture(scope="module", name="data")
def fixture_data(tmp_path_factory):
    """(path, array) of pictures of 32x32 and of 256x256 pixels."""
    random = np.random.default_rng(12)
    folder = tmp_path_factory.mktemp("arrays")
    made = {}
    for size, count in ((32, SAMPLES), (256, 60)):
        array = random.integers(0, 256, (count, size, size, 3), np.uint8)
        np.save(folder / f"{size}.npy", array)
        made[size] = (str(folder / f"{size}.npy"), array)
    return made


@pytest.fixture(params=["as it is", "an older kernel", "no pagemap"])
def kernel(request, monkeypatch):
    """Also without what newer kernels have, and where /proc is not readable."""
    def too_old(*_):
        raise OSError(errno.EINVAL, "not known")
    if request.param == "an older kernel":
        monkeypatch.setattr(_memory, "populate", too_old)
        monkeypatch.setattr(_memory, "_scan", _memory._read_entries)
    if request.param == "no pagemap":  # as gVisor, which counts no faults, either
        monkeypatch.setattr(_memory, "_scan", too_old)
        monkeypatch.setattr(_memory, "_counts_faults", False)
    return request.param


@pytest.fixture(autouse=True)
def map_small_batches(monkeypatch):
    monkeypatch.setattr("stoker._ring._COPIED_BYTES", 4096)


def loader_of(node, data, size, batch_size, **options):
    return node.loader(data[size][0], batch_size=batch_size, dtype="uint8", layout="NHWC",
                       **{"seed": 4, "timeout": 10, **options})


def check(batch, array):
    assert np.array_equal(batch.images, array[batch.index])


# Keeping

@pytest.mark.parametrize("transport", ["fd", "path"])
@pytest.mark.parametrize("size, batch_size", [(32, 10), (32, 64), (256, 4)])
def test_all_batches_of_epochs_are_kept(near, data, kernel, transport, size, batch_size):
    _, array = data[size]
    with loader_of(near, data, size, batch_size, transport=transport) as loader:
        kept = [batch for _ in range(3) for batch in loader.batches()]
        assert len(kept) == 3 * len(loader)
        for batch in kept:
            check(batch, array)
        stats = loader.stats()
        whole = sum(batch.images.nbytes for batch in kept)
        assert stats["kept_batches"] >= len(kept) - 2 - 3  # the newest; one in two runs an epoch
        assert 0.8 * whole < stats["kept_bytes"] < whole + 3 * 4096 * len(kept)
        kept.clear()
        assert loader.stats()["kept_bytes"] <= 2 * (batch_size * size * size * 3 + 8192)
        for batch in loader.batches():
            check(batch, array)


def test_what_is_kept_outlives_the_loader(near, data, kernel):
    _, array = data[256]
    rings = memfds()
    loader = loader_of(near, data, 256, 4)
    kept = [(batch.images, batch.index) for batch in loader.batches()]
    loader.close()
    for images, index in kept:
        assert np.array_equal(images, array[index])
        images += 1
    assert memfds() == rings
    for images, index in kept:
        assert np.array_equal(images, array[index] + np.uint8(1))


def memfds():
    """Inodes of the rings that this process has mapped."""
    with open("/proc/self/maps", encoding="ascii") as lines:
        return {line.split()[4] for line in lines if "memfd" in line or "/dev/shm/" in line}


def test_the_lines_that_people_write(near, data):
    _, array = data[256]
    loader = loader_of(near, data, 256, 4, shuffle=False)
    for i, (x, y) in enumerate(loader):
        if i == 0:
            sample = x[:3]
    labels = [y for x, y in loader]
    for x, y in loader:  # x and y still have the last batch
        last = x, y
    assert np.array_equal(sample, array[:3])
    assert sum(map(len, labels)) == len(array)
    assert np.array_equal(last[0], array[-len(last[0]):])
    assert loader.stats()["kept_batches"] <= 1


def test_labels_cost_nothing_but_themselves(near, data):
    loader = loader_of(near, data, 32, 10)
    labels = [y for _ in range(20) for _, y in loader]
    assert len(labels) == 20 * len(loader)
    assert loader.stats()["kept_bytes"] == 0 and all(y.base is None for y in labels)


def test_inflight_of_one(near, data):
    _, array = data[256]
    for batch in loader_of(near, data, 256, 4, inflight=1).batches():
        check(batch, array)


# Writing

@pytest.mark.parametrize("transport", ["fd", "path"])
@pytest.mark.parametrize("size, batch_size", [(32, 10), (32, 64), (256, 4)])
def test_three_readers_of_one_ring_write(near, data, kernel, transport, size, batch_size):
    """Each in its own way; what each reads is right before and after, in every epoch."""
    _, array = data[size]
    options = {"transport": transport, "pace": "together"}
    loaders = [loader_of(near, data, size, batch_size, **options) for _ in range(3)]
    writes = [lambda x: np.multiply(x, 2, out=x), lambda x: x.fill(7), lambda x: x[-1:].fill(9)]
    for _ in range(3):
        for batches in zip(*(loader.batches() for loader in loaders)):
            for batch, write in zip(batches, writes):
                check(batch, array)
                write(batch.images)
            truth = array[batches[0].index]
            for batch, write in zip(batches, writes):
                wanted = truth.copy()
                write(wanted)
                assert np.array_equal(batch.images, wanted)
                assert batch.images is batch.images
    for loader in loaders:
        loader.close()


def test_a_batch_beside_one_that_is_written(near, data):
    """They share a page: the second is announced and read only after the first was written."""
    _, array = data[32]
    it = loader_of(near, data, 32, 10, inflight=6).batches()
    for _ in range(13):
        first = next(it)
        first.images[:] = 0
        second, third = next(it), next(it)
        second.images[::2] = 1
        check(third, array)
        assert (first.images == 0).all() and (second.images[::2] == 1).all()
        assert np.array_equal(second.images[1::2], array[second.index[1::2]])


def test_a_thread_that_writes_loses_nothing(near, data):
    """It adds to a batch while that becomes the process' own."""
    _, array = data[256]
    loader = loader_of(near, data, 256, 20, inflight=2)
    for _ in range(5):
        it = loader.batches()
        first = next(it)
        stop, count = threading.Event(), [0]

        def add(images=first.images, stop=stop, count=count):
            while not stop.is_set():
                images += 1
                count[0] += 1

        thread = threading.Thread(target=add)
        thread.start()
        try:
            next(it)
            next(it)
            assert loader.stats()["kept_batches"] >= 1
        finally:
            stop.set()
            thread.join()
        assert np.array_equal(first.images, array[first.index] + np.uint8(count[0] % 256))


def test_a_single_batch_may_be_written_to(near, data):
    with loader_of(near, data, 32, 10) as loader:
        batch = loader.batch(0, 3)
        before = batch.images.copy()
        batch.images[:] = 5
        batch.labels[:] += 1
        assert np.array_equal(loader.batch(0, 3).images, before)


def test_the_shared_memory_beside_it(near, data):
    """What is pinned for a device must not be private."""
    _, array = data[256]
    loader = loader_of(near, data, 256, 4)
    batch = next(loader.batches())
    shared = batch.shared("image")
    batch.images[:] = 0
    assert np.array_equal(shared, array[batch.index]) and not shared.flags.writeable
    batch.release()
    with pytest.raises(ValueError, match="released"):
        batch.shared("image")


def test_a_batch_that_goes_on_at_the_rings_begin(near, data, kernel):
    """It is one array nevertheless, in the ring's memory: it may be written to and kept."""
    _, array = data[256]
    kept = []
    with loader_of(near, data, 256, 4) as loader:
        next(loader.batches())
        state = loader.state_dict()
    # From here on batches begin where those of another run ended.
    with loader_of(near, data, 256, 8, last_batch="wrap") as loader:
        loader.load_state_dict(state)
        for _ in range(6):
            for batch in loader.batches():
                assert np.array_equal(batch.images, array[batch.index])
                shared = batch.shared("image")
                assert not shared.flags.writeable
                batch.images[:] += 1  # nobody sees it, now or when the slots are used again
                assert np.array_equal(shared, array[batch.index])
                if len(batch._lease._slots[1]) > 1:
                    kept.append((batch.images, batch.index))
                else:
                    batch.release()
    assert len(kept) > 2
    for images, index in kept:
        assert np.array_equal(images, array[index] + np.uint8(1))


# Accidents

def test_small_batches_that_move(daemon, node, kernel):
    """From ring to ring, written to and kept."""
    loader = node.loader("/data/80", batch_size=4, inflight=4, timeout=60)
    kept, firsts = [], iter(range(0, 80, 4))
    move_at(daemon, 16, 40, 44)
    for images, _ in loader:
        first = next(firsts)
        assert values(images, 0) == expected(0, range(first, first + 4), 80)
        images *= 2
        kept.append(images)
    for number, images in enumerate(kept):
        assert values(images / 2, 0) == expected(0, range(4 * number, 4 * number + 4), 80)


@pytest.mark.skipif(binary() is None, reason="no stokerd was built")
def test_a_killed_daemon(data, tmp_path, kernel):
    _, array = data[256]
    daemon = RealDaemon(tmp_path)
    with stoker.connect(daemon.path) as node:
        loader = loader_of(node, data, 256, 4)
        kept = []
        for number, batch in enumerate(loader.batches()):
            check(batch, array)
            batch.images[0] = 3
            kept.append((batch.images, batch.index))
            if number == 5:
                daemon.stop(signal.SIGKILL)
                daemon.start()
        assert loader.reconnects == 1 and len(kept) == len(loader)
        for images, index in kept:
            assert (images[0] == 3).all() and np.array_equal(images[1:], array[index[1:]])
        loader.close()
    assert daemon.stop() == 0


def test_a_forked_child_keeps_what_its_parent_held(near, data):
    _, array = data[256]
    loader = loader_of(near, data, 256, 4)
    it = loader.batches()
    held = [next(it), next(it)]
    held[0].images[:] = 9
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.read(read, 1)  # until the parent has used the slots again
            check(held[1], array)
            assert (held[0].images == 9).all()
            held[1].images[:] = 1
            code = 0
        finally:
            os._exit(code)
    for _ in range(4):
        for batch in it:
            check(batch, array)
        it = loader.batches()
    check(held[1], array)
    os.write(write, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    check(held[1], array)
    os.close(read)
    os.close(write)


def test_what_came_before_a_cut_off_is_not_given(daemon, node):
    """Its slots may have been used again."""
    loader = node.loader("/data/20", batch_size=4)
    it = iter(loader)
    held = next(it)
    daemon.settle(lambda: daemon.leased() == 3)
    daemon.peers[0].raw(frame("error", seq=0, code=8, name="timeout",
                              text="a batch was held too long"))
    with pytest.raises(stoker.RequestError, match="held too long"):
        next(it)
    with pytest.raises(stoker.Disconnected):
        next(it)
    assert loader.position == 4 and loader.reconnects == 0 and len(held) == 2


def test_too_little_memory_to_keep(near, data, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOMEM, "out of memory")
    it = iter(loader_of(near, data, 256, 4, inflight=2))
    held = [next(it), next(it)]
    monkeypatch.setattr(_memory, "populate", none)
    with pytest.raises(MemoryError, match="cannot keep a batch of .* bytes: out of memory"):
        next(it)
    monkeypatch.undo()
    assert len(next(it)[1]) == 4 and len(held) == 2


# torch

def test_torch_keeps_and_writes(near, data):
    torch = pytest.importorskip("torch")
    import stoker.torch
    _, array = data[256]
    loader = stoker.torch.Loader(data[256][0], 4, node=near, dtype="float32", shuffle=False,
                                 timeout=60)
    truth = torch.from_numpy(array.transpose(0, 3, 1, 2).astype("float32") / 255)
    kept = []
    for number, (x, y) in enumerate(loader):
        wanted = truth[4 * number:4 * number + len(y)].clone()
        assert torch.equal(x, wanted)
        if number % 3 == 0:
            x.mul_(2)
            wanted.mul_(2)
        elif number % 3 == 1:
            x[x < 0.5] = 0
            wanted[wanted < 0.5] = 0
        else:
            x.mul_(0.7).add_(x.flip(0), alpha=0.3)
            wanted.mul_(0.7).add_(wanted.flip(0), alpha=0.3)
        kept.append((x, wanted))
    assert len(kept) == 15 and all(torch.equal(x, wanted) for x, wanted in kept)
    assert loader.loader.stats()["kept_bytes"] > 0


def test_a_dataloader_that_would_make_batches_of_batches(near, data):
    torch = pytest.importorskip("torch")
    import stoker.torch
    loader = stoker.torch.Loader(data[256][0], 4, node=near, timeout=60)
    with pytest.raises(ValueError, match="batch_size=None"):
        next(iter(torch.utils.data.DataLoader(loader, batch_size=64)))
    forked = iter(torch.utils.data.DataLoader(loader, batch_size=None, num_workers=2))
    with pytest.raises(stoker.ForkError, match="batch_size=None"):
        next(forked)
    forked._shutdown_workers()  # the garbage collector would take 5 s for each
    assert len(list(torch.utils.data.DataLoader(loader, batch_size=None))) == 15
