# SPDX-License-Identifier: MIT
"""Batches on a device: a runtime library made of host memory copies late and refuses what is wrong
(fake_cudart.c). What arrives is compared with what is read plainly. No GPU is used."""
import gc
import importlib
import os
import signal

import numpy as np
import pytest

import stoker
from fake_cuda import FakeCuda, FakeDevice, library
from fake_daemon import sample
from real_daemon import RealDaemon, binary
from stoker import _cuda
from stoker._device import Copier, DeviceIteration
from test_moves import move_at

HOW = pytest.mark.parametrize("how", ["registered", "staged"])


@pytest.fixture
def cuda(monkeypatch):
    """Nothing is wrong, and nothing is left, when the test has ended."""
    if library() is None:
        pytest.skip("no fake_cudart was built")
    monkeypatch.setenv("STOKER_CUDART", library())
    fake = FakeCuda(library())
    fake.read_only, fake.late_us, fake.held = 1, 200, 0
    fake.copies = fake.registers = fake.wrong = fake.waits = 0
    for call in _cuda._CALLS:
        fake.fail(call, times=0)
    yield fake
    gc.collect()
    left = fake.numbers()
    for name in ("wrong", "last_error", "registered", "allocated", "events", "under_way"):
        assert left[name] == 0, (name, left)


@pytest.fixture
def device(cuda):
    device = FakeDevice(cuda)
    yield device
    gc.collect()
    device.close()


@pytest.fixture
def put(device):
    """A loader's batches on the device; closes it."""
    loaders = []

    def put(loader, names=("image", "label")):
        if loader._reader.copier is None:
            loader._reader.copier = Copier(device)
            loaders.append(loader)
        return DeviceIteration(loader, loader._reader.copier, names, lambda arrays: arrays)
    yield put
    for loader in loaders:
        loader.close()


def values(device, arrays, epoch):
    """Of a batch of the made daemon."""
    got = [int(v) for v in device.read(arrays["image"])[:, 0, 0, 0] - epoch / 8]
    assert list(device.read(arrays["label"])) == [value % 10 for value in got]
    return got


def expected(epoch, n=20):
    return [sample(epoch, position, n)[0] for position in range(n)]


@HOW
@pytest.mark.parametrize("inflight", [1, 2, 4])
def test_what_arrives(daemon, node, cuda, device, put, how, inflight):
    """Also of batches that go on at the ring's begin."""
    cuda.read_only = how == "registered"
    daemon.slots = 10 if inflight < 4 else 18
    loader = node.loader("/data/22", batch_size=4, inflight=inflight, timeout=20)
    for epoch in range(4):
        got = [value for arrays in put(loader) for value in values(device, arrays, epoch)]
        assert got == expected(epoch, 22)
    assert loader._reader.copier.how == how and cuda.registered == (how == "registered")
    assert cuda.allocated == (how == "staged") and cuda.registers == (how == "registered")
    assert daemon.bad_releases == 0 and cuda.copies > 0 and device.handed == 2 * 4 * 6


@HOW
def test_all_fields(daemon, node, cuda, device, put, how):
    cuda.read_only = how == "registered"
    loader = node.loader("/data/20", batch_size=4, timeout=20)
    for k, arrays in enumerate(put(loader, None)):
        assert list(arrays) == ["image", "label", "index"]
        assert list(device.read(arrays["index"])) == expected(0)[4 * k:4 * k + 4]
    # Copies of other fields, made ahead for another iteration, are of no use.
    it = put(loader)
    assert values(device, next(it), 1) == expected(1)[:4]
    next(it)
    it = put(loader, ("index",))
    assert list(device.read(next(it)["index"])) == expected(2)[:4]


def test_slots_are_released_when_the_copy_has_ended(daemon, node, cuda, device, put):
    loader = node.loader("/data/40", batch_size=4, inflight=3, timeout=20)
    it = put(loader)
    cuda.held = 1
    daemon.settle(lambda: daemon.leased() == 3)
    first, second = next(it), next(it)
    assert daemon.count("release") == 0 and not loader._reader.copier._taken[0].copy.has_arrived()
    cuda.held = 0
    got = values(device, first, 0) + values(device, second, 0)
    loader._reader.copier.reap()
    daemon.settle(lambda: daemon.count("release") == 2)
    got += [value for arrays in it for value in values(device, arrays, 0)]
    assert got == expected(0, 40)


def test_batches_are_copied_ahead(daemon, node, cuda, device, put):
    """What was copied for the program is not copied again, and is no progress of the epoch."""
    loader = node.loader("/data/40", batch_size=4, inflight=3, timeout=20)
    it = put(loader, ("image",))
    daemon.settle(lambda: daemon.leased() == 3)
    next(it)
    assert len(loader._reader.copier._ahead) == 2 and loader.position == 4
    daemon.settle(lambda: cuda.copies == 3)
    assert cuda.copies == 3
    for _ in it:
        pass
    device.cuda.library.cudaStreamSynchronize(device.stream)
    assert cuda.copies - len(loader._reader.copier._ahead) == 10
    assert cuda.waits <= 10


@HOW
def test_a_moved_ring(daemon, node, cuda, device, put, how):
    cuda.read_only = how == "registered"
    loader = node.loader("/data/80", batch_size=4, timeout=60)
    move_at(daemon, 16, 40, 44)
    got = [value for arrays in put(loader) for value in values(device, arrays, 0)]
    assert got == expected(0, 80)
    assert daemon.bad_releases == 0
    assert (cuda.registers, cuda.registered) == ((4, 1) if how == "registered" else (0, 0))


@HOW
def test_a_daemon_that_dies(daemon, node, cuda, device, put, how):
    cuda.read_only = how == "registered"
    cuda.late_us = 2000
    loader = node.loader("/data/50", batch_size=4, timeout=20)
    got, deaths = [], 0
    for epoch in range(2):
        for k, arrays in enumerate(put(loader)):
            if (k + epoch) % 3 == 0:
                daemon.die()
                daemon.again()
                deaths += 1
            got += values(device, arrays, epoch)
    assert got == expected(0, 50) + expected(1, 50)
    assert 0 < loader.reconnects <= deaths and daemon.bad_releases == 0


@HOW
def test_another_place(daemon, node, cuda, device, put, how):
    """A break, an epoch that is set, a resumed state: copies ahead are of another place."""
    cuda.read_only = how == "registered"
    cuda.late_us = 2000
    loader = node.loader("/data/20", batch_size=4, timeout=20)
    for arrays in put(loader):
        break
    state = loader.state_dict()
    assert values(device, arrays, 0) == expected(0)[:4] and state["position"] == 4
    it = put(loader)
    assert values(device, next(it), 0) + values(device, next(it), 0) == expected(0)[:8]
    assert [v for arrays in put(loader) for v in values(device, arrays, 1)] == expected(1)
    loader.load_state_dict(state)
    assert [v for arrays in put(loader) for v in values(device, arrays, 0)] == expected(0)[4:]
    loader.set_epoch(7)
    assert [v for arrays in put(loader) for v in values(device, arrays, 7)] == expected(7)
    list(put(loader))
    assert [int(v) for images, _ in loader for v in images[:, 0, 0, 0] - 9 / 8] == expected(9)
    assert daemon.bad_releases == 0


def test_closing_while_it_copies(daemon, node, cuda, put):
    cuda.late_us = 20000
    loader = node.loader("/data/20", batch_size=4, timeout=20)
    it = put(loader)
    daemon.settle(lambda: daemon.leased() == 3)
    next(it), next(it)
    assert cuda.under_way > 0 and cuda.registered == 1
    loader.close()
    assert cuda.under_way <= 1 and cuda.registered == 0  # a stream may wait for what has ended
    loader.close()
    daemon.settle(lambda: cuda.under_way == 0)


def test_a_loader_that_is_dropped(daemon, node, cuda, device, put):
    loader = node.loader("/data/20", batch_size=4, timeout=20)
    loader._reader.copier = Copier(device)
    next(DeviceIteration(loader, loader._reader.copier, ("image",), lambda arrays: arrays))
    assert cuda.registered == 1
    del loader
    gc.collect()
    assert cuda.registered == 0 and cuda.events == 0
    device.read(np.empty(1))


def test_after_a_fork(daemon, node, cuda, device, put):
    """The child makes no call, and the parent goes on."""
    loader = node.loader("/data/20", batch_size=4, timeout=20)
    it = put(loader)
    got = values(device, next(it), 0)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            loader._reader.copier._runtime = loader._reader.copier._device = None
            loader.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    got += [value for arrays in it for value in values(device, arrays, 0)]
    assert got == expected(0) and daemon.bad_releases == 0


def test_a_ring_with_holes(daemon, node, cuda, device, put, monkeypatch):
    """Pinning would give it memory that nobody has asked for."""
    daemon.slots = 400
    monkeypatch.setattr(os, "posix_fallocate", lambda fd, at, size: os.ftruncate(fd, size))
    loader = node.loader("/data/20", batch_size=4, timeout=20)
    assert [v for arrays in put(loader) for v in values(device, arrays, 0)] == expected(0)
    assert loader._reader.copier.how == "staged" and cuda.registers == 0


@pytest.mark.parametrize("call", ["cudaHostAlloc", "cudaMemcpyAsync", "cudaStreamWaitEvent",
                                  "cudaEventCreateWithFlags", "cudaEventRecord",
                                  "cudaEventQuery", "cudaEventSynchronize"])
@pytest.mark.parametrize("after", [0, 1, 3])
@HOW
def test_each_call_that_fails(daemon, node, cuda, device, put, how, call, after):
    """It is said, or was of a copy ahead and is tried again; no sample is lost or given twice."""
    cuda.read_only = how == "registered"
    daemon.slots = 10
    loader = node.loader("/data/22", batch_size=4, inflight=2, timeout=20)
    cuda.fail(call, 999, after=after)
    got, said = [], []
    for _ in range(2):
        try:
            for arrays in put(loader):
                got += values(device, arrays, 0)
            break
        except stoker.DeviceError as error:
            said.append(str(error))
            daemon.settle(lambda: not loader._reader.connection.held)
            if len(got) == 22:  # it was the last one's end
                break
            assert loader.state_dict()["position"] == len(got)
    assert got == expected(0, 22) and daemon.bad_releases == 0
    assert all(f"{call}: made up (CUDA error 999); " in text for text in said), said


def test_what_fails_once_is_said(daemon, node, cuda, device, put):
    loader = node.loader("/data/20", batch_size=4, timeout=20)
    it = put(loader)
    cuda.fail("cudaMemcpyAsync", 2, times=1000)
    with pytest.raises(stoker.DeviceError, match="cannot copy .* out of memory .* smaller batches"):
        next(it)
    with pytest.raises(stoker.DeviceError):
        next(put(loader))
    cuda.fail("cudaMemcpyAsync", 0, times=0)
    assert [v for arrays in put(loader) for v in values(device, arrays, 0)] == expected(0)


def test_a_ring_that_cannot_be_registered(daemon, node, cuda, device, put, caplog):
    loader = node.loader("/data/20", batch_size=4, timeout=20)
    cuda.fail("cudaHostRegister", 2)
    assert [v for arrays in put(loader) for v in values(device, arrays, 0)] == expected(0)
    assert loader._reader.copier.how == "staged"
    assert "cudaHostRegister: out of memory (CUDA error 2)" in caplog.text


@pytest.mark.parametrize("call, how", [("cudaHostUnregister", True), ("cudaFreeHost", False)])
def test_closing_where_it_fails(daemon, node, cuda, device, put, caplog, call, how):
    """It is logged, all else is closed, and what is still pinned stays mapped."""
    cuda.read_only = how
    loader = node.loader("/data/20", batch_size=4, timeout=20)
    list(put(loader))
    cuda.fail(call, 999)
    loader.close()
    assert f"{call}: made up (CUDA error 999)" in caplog.text
    daemon.settle(lambda: not daemon.peers)
    for begin in range(32):  # the fake one's books
        cuda.library.fake_forget(begin)


def test_closing_where_the_last_copy_fails(daemon, node, cuda, device, put, caplog):
    """The stage is freed all the same."""
    cuda.read_only = 0
    cuda.late_us = 200000
    daemon.slots = 20
    loader = node.loader("/data/20", batch_size=20, timeout=20)
    arrays = next(put(loader))
    cuda.fail("cudaEventSynchronize", 999)
    loader.close()
    assert "cudaEventSynchronize: made up (CUDA error 999)" in caplog.text
    assert cuda.allocated == 0 and len(arrays) == 2


def test_a_library_that_is_none(monkeypatch):
    monkeypatch.setenv("STOKER_CUDART", "/nowhere/libcudart.so")
    with pytest.raises(stoker.DeviceError, match="/nowhere.*; set STOKER_CUDART"):
        _cuda.runtime()
    monkeypatch.setenv("STOKER_CUDART", "libc.so.6")
    with pytest.raises(stoker.DeviceError, match="undefined symbol: cuda"):
        _cuda.runtime()


def test_the_library_that_is_loaded(cuda, monkeypatch, tmp_path):
    os.symlink(library(), tmp_path / "libcudart-1234.so.11.0")
    monkeypatch.setattr(_cuda, "_loaded", lambda: str(tmp_path / "libcudart-1234.so.11.0"))
    monkeypatch.delenv("STOKER_CUDART")
    assert _cuda.runtime().reads_registered(0)
    with pytest.raises(stoker.DeviceError):
        _cuda.runtime().reads_registered(1)
    cuda.wrong = 0


@pytest.mark.parametrize("dtype", ["uint8", "float32", "bfloat16"])
@HOW
def test_the_built_daemon(near, folder, cuda, device, put, how, dtype):
    """The bytes are those of the batches that are read plainly, over many turns of a small ring."""
    cuda.read_only = how == "registered"
    cuda.late_us = 1000
    options = dict(batch_size=4, dtype=dtype, prefetch=3, inflight=2, timeout=120, transforms=[
        stoker.RandomResizedCrop(16), stoker.RandomHorizontalFlip(), stoker.ToTensor()])
    if dtype == "uint8":
        options["transforms"].pop()
    plain, loader = near.loader(folder, **options), near.loader(folder, **options)
    for _ in range(6):
        for batch, arrays in zip(plain.batches(), put(loader, None)):
            for name in loader.fields:
                assert device.read(arrays[name]).tobytes() == batch[name].tobytes()
            batch.release()
    assert loader._reader.copier.how == how


@pytest.mark.skipif(binary() is None, reason="no stokerd was built")
def test_a_built_daemon_that_is_killed(tmp_path, folder, cuda, device, put):
    daemon = RealDaemon(tmp_path)
    try:
        with stoker.connect(daemon.path) as node:
            options = dict(batch_size=4, transforms=[stoker.RandomCrop(16), stoker.ToTensor()],
                           timeout=120)
            plain = [images.copy() for images, _ in node.loader(folder, **options)]
            loader = node.loader(folder, **options)
            got = []
            for k, arrays in enumerate(put(loader)):
                if k == 2:
                    daemon.stop(signal.SIGKILL)
                    daemon.start()
                got.append(device.read(arrays["image"]))
        assert [a.tobytes() for a in got] == [a.tobytes() for a in plain] and loader.reconnects == 1
    finally:
        daemon.stop()


@HOW
def test_torch(daemon, node, cuda, monkeypatch, how):
    """stoker.torch.Loader(device=...), with tensors of host memory in the place of CUDA's."""
    torch = pytest.importorskip("torch")
    import stoker.torch

    class Tensors(FakeDevice):
        def __init__(self, _):
            super().__init__(cuda)

        def empty(self, field, count):
            tensor = torch.zeros((count, *field.shape), dtype=getattr(torch, field.dtype))
            return tensor, tensor.data_ptr()

    cuda.read_only = how == "registered"
    with pytest.raises(stoker.DeviceError, match="torch finds no CUDA device"):
        stoker.torch.Loader("/data/20", 4, node=node, device="cuda")
    monkeypatch.setattr(importlib.import_module("stoker.torch.loader"), "Cuda", Tensors)
    assert stoker.torch.Loader("/data/20", 4, node=node, device="cpu").copies is None
    with stoker.torch.Loader("/data/20", 4, node=node, device="cuda:0") as loader:
        device = loader.loader._reader.copier._device
        for epoch in range(2):
            got = []
            for images, labels in loader:
                assert images.dtype == torch.float32 and labels.dtype == torch.int64
                got += values(device, {"image": images.numpy(), "label": labels.numpy()}, epoch)
            assert got == expected(epoch)
        assert loader.copies == how and f"{how} copies" in repr(loader)
    device.close()


@pytest.mark.skipif(binary() is None, reason="no stokerd was built")
def test_own_arrays_on_a_device_are_their_tree(cuda, monkeypatch, tmp_path):
    """And what has no one shape is refused by its name."""
    torch = pytest.importorskip("torch")
    import own_fields
    import stoker.torch

    class Tensors(FakeDevice):
        def __init__(self, _):
            super().__init__(cuda)

        def empty(self, field, count):
            tensor = torch.zeros((count, *field.shape), dtype=getattr(torch, field.dtype))
            return tensor, tensor.data_ptr()

    monkeypatch.setattr(importlib.import_module("stoker.torch.loader"), "Cuda", Tensors)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    daemon = RealDaemon(tmp_path)
    options = {"shuffle": False, "num_workers": 1, "timeout": 120, "device": "cuda"}
    try:
        with stoker.connect(daemon.path) as node:
            ragged = stoker.Source(own_fields.Captioned(), gives="arrays", ragged=["boxes"])
            with pytest.raises(ValueError, match="device: '(boxes|caption|raw)' has a shape"):
                stoker.torch.Loader(ragged, 4, node=node, **options)
            source = stoker.Source(own_fields.Pairs(), gives="arrays")
            with stoker.torch.Loader(source, 4, node=node, **options) as loader:
                device = loader.loader._reader.copier._device
                batch = next(iter(loader))
                assert list(batch) == ["x", "more"] and len(batch["more"]) == 2
                assert device.read(batch["x"].numpy())[:, 0].tolist() == [0, 1, 2, 3]
                assert device.read(batch["more"][1].numpy()).tolist() == [0, 2, 4, 6]
            device.close()
    finally:
        daemon.stop()
