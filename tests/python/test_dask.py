# SPDX-License-Identifier: MIT
"""stoker.dask: which chunk comes, how often a process attaches, threads, processes and
dask.distributed. Skipped without dask."""
import json
import subprocess
import time

import numpy as np
import pytest

import stoker

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
import stoker.dask  # noqa: E402 (it needs dask)
from real_daemon import RealDaemon, binary  # noqa: E402

TRANSFORMS = [stoker.RandomCrop(20, padding=2), stoker.RandomHorizontalFlip(), stoker.ToTensor()]


@pytest.fixture(name="arrays", scope="module")
def fixture_arrays(tmp_path_factory):
    """203 pictures in a file, 26 chunks of 8."""
    path = tmp_path_factory.mktemp("arrays") / "x.npy"
    np.save(path, np.random.default_rng(1).integers(0, 256, (203, 24, 24, 3), np.uint8))
    return str(path)


@pytest.fixture(name="own")
def fixture_own(tmp_path):
    """A daemon whose log is nobody else's."""
    if binary() is None:
        pytest.skip("no stokerd was built")
    daemon = RealDaemon(tmp_path)
    yield daemon
    close_readers()
    assert daemon.stop() == 0


def close_readers():
    for reader in stoker.dask._readers.values():
        reader.close()
    stoker.dask._readers.clear()


def counters(daemon):
    said = subprocess.run([binary().parents[1] / "client" / "ctl" / "stokerctl", "--socket",
                           daemon.control, "status", "--json"], capture_output=True, check=True)
    return json.loads(said.stdout)


def of_the_loader(daemon, path, epoch, **options):
    with stoker.connect(daemon.path) as node:
        loader = node.loader(path, batch_size=8, transforms=TRANSFORMS, seed=3, **options)
        loader.set_epoch(epoch)
        batches = [(images.copy(), labels.copy()) for images, labels in loader]
    return [np.concatenate(part) for part in zip(*batches)]


def lazy(daemon, path, epoch=1, **options):
    return stoker.dask.epoch(path, 8, epoch=epoch, socket=daemon.path, transforms=TRANSFORMS,
                             seed=3, **options)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_a_process_attaches_once(own, arrays, scheduler):
    wanted = of_the_loader(own, arrays, 1)
    before = counters(own)
    images, labels = lazy(own, arrays)
    with dask.config.set(scheduler=scheduler, num_workers=4):
        got = dask.compute(images, labels)
        assert all(map(np.array_equal, got, wanted))
        total = images.sum().compute()
    assert np.isclose(total, wanted[0].sum(), rtol=1e-5)
    after = counters(own)
    # One to find the daemon, one for the reader, one that keeps the dataset, and stokerctl's.
    assert after["connections_total"] - before["connections_total"] <= 4
    # dask goes back and forth; that is not a move for each of 2 x 26 chunks.
    assert after["readers_total"] - before["readers_total"] <= 16


def test_any_chunk_in_any_order(own, arrays):
    wanted = of_the_loader(own, arrays, 0)
    images, labels = lazy(own, arrays, epoch=0)
    for start in (160, 8, 40, 16, 0, 200, 100):
        got = dask.compute(images[start:start + 3], labels[start:start + 3], scheduler="threads")
        assert all(np.array_equal(mine, theirs[start:start + 3])
                   for mine, theirs in zip(got, wanted))


@pytest.mark.parametrize("ahead", [0, 3, 16])
def test_backwards(own, arrays, monkeypatch, ahead):
    """As dask often goes: in runs that are read forwards, a part ahead of what is asked for.
    What is kept of the past is not changed by what memory is used for again."""
    monkeypatch.setattr(stoker.dask, "AHEAD", ahead)
    wanted = of_the_loader(own, arrays, 1)
    before = counters(own)["readers_total"]
    lazy(own, arrays)  # attaches
    (reader,) = stoker.dask._readers.values()
    got = {k: reader.take(1, k) for k in (*range(25, 12, -1), 20, 4, *range(12, -1, -1), 3, 25)}
    for k, chunk in got.items():
        assert all(np.array_equal(mine, theirs[8 * k:8 * k + 8])
                   for mine, theirs in zip(chunk, wanted))
    moves = counters(own)["readers_total"] - before
    assert moves <= {0: 33, 3: 22, 16: 12}[ahead]


def test_memory_is_used_again(own, arrays):
    """... once nobody looks at it."""
    lazy(own, arrays)
    (reader,) = stoker.dask._readers.values()
    wanted = of_the_loader(own, arrays, 1)[0]
    images, _ = reader.take(1, 0)
    address, row = images.ctypes.data, images[1]
    del images
    others = [reader.take(1, k)[0] for k in range(1, 5)]
    assert np.array_equal(row, wanted[1])
    assert address not in [other.ctypes.data for other in others]
    del row
    assert address in [reader.take(1, k)[0].ctypes.data for k in range(5, 12)]


def test_a_reader_that_fails_is_replaced(own, arrays, monkeypatch):
    """Whoever waits is told; the next one has a new reader."""
    images, _ = lazy(own, arrays)
    (reader,) = stoker.dask._readers.values()
    monkeypatch.setattr(reader, "_move", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        images[80:120].compute(scheduler="threads")
    reader._thread.join(20)
    assert not reader._thread.is_alive() and reader not in stoker.dask._readers.values()
    assert np.array_equal(images[80:120].compute(), of_the_loader(own, arrays, 1)[0][80:120])


def test_two_epochs_at_a_time(own, arrays):
    wanted = [of_the_loader(own, arrays, epoch)[0] for epoch in range(2)]
    images = [lazy(own, arrays, epoch)[0] for epoch in range(2)]
    got = dask.compute((images[0] - images[1]).sum(axis=(1, 2, 3)), scheduler="threads")[0]
    assert np.allclose(got, (wanted[0] - wanted[1]).sum(axis=(1, 2, 3)), atol=1e-2)


def test_views(own, arrays):
    images, labels = lazy(own, arrays, views=3)
    assert images.shape == (203, 3, 3, 20, 20)
    wanted = of_the_loader(own, arrays, 1, views=3)
    assert all(map(np.array_equal, dask.compute(images, labels), wanted))


@pytest.mark.parametrize("part_bytes", [1, 10000])
@pytest.mark.parametrize("last_batch", ["short", "drop", "pad"])
def test_chunks_come_in_parts(own, arrays, monkeypatch, part_bytes, last_batch):
    """... of fewer samples, where they are large. A chunk has 38400 bytes."""
    monkeypatch.setattr(stoker.dask, "PART_BYTES", part_bytes)
    wanted = of_the_loader(own, arrays, 0, last_batch=last_batch)
    lazily = lazy(own, arrays, epoch=0, last_batch=last_batch)
    (reader,) = stoker.dask._readers.values()
    parts = 1 if last_batch == "pad" else {1: 8, 10000: 4}[part_bytes]
    assert reader._loader.batch_size == 8 // parts
    assert all(np.array_equal(reader.take(0, 0)[i], wanted[i][:8]) for i in range(2))
    for _ in range(2):  # the second time backwards and forwards again
        got = dask.compute(*lazily, scheduler="threads", num_workers=3)
        assert all(map(np.array_equal, got, wanted))


def test_a_bad_sample_is_told_where_its_chunk_is_computed(own, tmp_path, monkeypatch):
    """... and the chunk after it comes, also when it is bad in the middle of a chunk."""
    monkeypatch.setattr(stoker.dask, "PART_BYTES", 1)
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(24):
        image.fromarray(np.full((24, 24, 3), number, np.uint8)).save(folder / f"{number:02}.png")
    whole = (folder / "11.png").read_bytes()
    (folder / "11.png").write_bytes(whole[:len(whole) // 2])
    images, _ = lazy(own, {"path": str(folder), "kind": "flat"}, shuffle=False)
    with pytest.raises(stoker.SampleError, match="11.png"):
        images[8:16].compute()
    with stoker.connect(own.path) as node:
        loader = node.loader({"path": str(folder), "kind": "flat"}, batch_size=8, seed=3,
                             transforms=TRANSFORMS, shuffle=False)
        for k in (0, 2):
            wanted = loader.batch(1, k).images
            assert np.array_equal(images[8 * k:8 * k + 8].compute(), wanted)


def test_an_idle_reader_is_closed(own, arrays, monkeypatch):
    monkeypatch.setattr(stoker.dask, "IDLE_S", 0.2)
    images, _ = lazy(own, arrays)
    images[:8].compute()
    assert counters(own)["readers"] == 2
    deadline = time.monotonic() + 20
    while counters(own)["readers"] > 0:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not stoker.dask._readers
    assert np.array_equal(images[:8].compute(), of_the_loader(own, arrays, 1)[0][:8])


def test_in_processes(own, arrays):
    wanted = of_the_loader(own, arrays, 1)
    got = dask.compute(*lazy(own, arrays), scheduler="processes", num_workers=2)
    assert all(map(np.array_equal, got, wanted))


def test_distributed(own, arrays):
    distributed = pytest.importorskip("distributed")
    wanted = of_the_loader(own, arrays, 1)
    before = counters(own)["readers_total"]
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, processes=True,
                                  dashboard_address=None) as cluster, \
            distributed.Client(cluster):
        got = dask.compute(*lazy(own, arrays))
    assert all(map(np.array_equal, got, wanted))
    assert counters(own)["readers_total"] - before < 26  # fewer than there are chunks


def test_credentials_are_no_part_of_the_graph():
    with pytest.raises(ValueError, match="as a function"):
        stoker.dask.epoch("s3://b/train", 8, socket="/nowhere", credentials={
            "AccessKeyId": "A", "SecretAccessKey": "B"})


def parts(number):
    """A chunk of five rows, and a label of each."""
    rows = np.arange(5) + 5 * number
    return np.repeat(rows[:, None], 3, 1).astype(np.float32), rows


def fails(number):
    if number == 2:
        raise KeyError("part two")
    return np.zeros(3)


@pytest.fixture(name="secret")
def fixture_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)


def test_calls_of_an_own_function(own, secret):
    """As da.from_delayed() of them, computed in any order."""
    options = {"socket": own.path, "num_workers": 2}
    x, y = stoker.dask.from_function(parts, range(6), **options)
    wanted = da.concatenate([da.from_delayed(dask.delayed(parts)(number)[0], (5, 3), np.float32)
                             for number in range(6)])
    assert x.chunks == wanted.chunks and x.dtype == wanted.dtype and y.dtype == np.int64
    assert np.array_equal(x.compute(), wanted.compute())
    assert y[::-1].compute().tolist() == list(range(29, -1, -1))
    assert y[12:14].compute().tolist() == [12, 13]
    broken = stoker.dask.from_function(fails, range(4), **options)
    assert not broken[:3].compute().any()
    with pytest.raises(stoker.SampleError, match="KeyError: 'part two'"):
        broken.compute()


@pytest.mark.parametrize("kind", ("array", "delayed", "source"))
def test_an_epoch_of_own_rows(own, secret, kind):
    rows = da.concatenate([da.from_delayed(dask.delayed(parts)(number)[0], (5, 3), np.float32)
                           for number in range(6)])
    wanted = rows.compute()
    given = {"array": rows, "delayed": dask.delayed(np.asarray)(wanted),
             "source": stoker.Source([(row, int(row[0])) for row in wanted], gives="arrays")}[kind]
    images, labels = stoker.dask.epoch(given, 4, socket=own.path, num_workers=2)
    assert images.chunks == ((4,) * 7 + (2,), (3,)) and labels.dtype == np.int64
    made = images.compute()
    assert sorted(made[:, 0]) == list(range(30)) and not np.array_equal(made, wanted)
    assert np.array_equal(labels.compute(), made[:, 0] * (kind == "source"))
    in_order, _ = stoker.dask.epoch(given, 4, socket=own.path, num_workers=2, shuffle=False)
    assert np.array_equal(in_order.compute(), wanted)


def test_what_has_no_one_shape_is_refused(own, secret):
    source = stoker.Source(lambda index: {"boxes": np.zeros((index, 4))}, 4, gives="arrays",
                           ragged=["boxes"])
    with pytest.raises(ValueError, match="'boxes' has a shape of its own in each sample"):
        stoker.dask.epoch(source, 2, socket=own.path, num_workers=1)
    with pytest.raises(ValueError, match="gives a text, and a chunk is an array"):
        stoker.dask.from_function(str, [1, 2], socket=own.path)


def test_a_delayed_is_named(own):
    with stoker.connect(own.path) as node:
        with pytest.raises(TypeError, match="a Delayed of dask.*stoker.dask.epoch"):
            node.loader(dask.delayed(parts)(1), batch_size=3)
    with pytest.raises(TypeError, match="single value.*from_function"):
        stoker.dask.epoch(dask.delayed(len)("abc"), 3, socket=own.path)


def test_a_relative_path_is_of_its_folder(own, tmp_path, monkeypatch):
    """... of when the array was made, and a second array is not the first."""
    arrays, wanted = [], []
    for name in "ab":
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        np.save("x.npy", np.full((16, 24, 24, 3), ord(name), np.uint8))
        arrays.append(lazy(own, "x.npy")[0])
        wanted.append(of_the_loader(own, str(tmp_path / name / "x.npy"), 1)[0])
    for array, values in zip(arrays, wanted):
        assert np.array_equal(array.compute(), values)
        close_readers()  # as in another process
        assert np.array_equal(array.compute(), values)
        assert np.array_equal(array.compute(scheduler="processes", num_workers=1), values)


def test_a_dataset_that_changed(own, tmp_path):
    """A new array is of what it is now; who makes a chunk of the old one later is told."""
    path = tmp_path / "x.npy"

    def write(samples, value):
        np.save(tmp_path / "new.npy", np.full((samples, 24, 24, 3), value, np.uint8))
        (tmp_path / "new.npy").replace(path)
    write(16, 1)
    old, _ = lazy(own, str(path))
    before = old.compute()
    for samples in (16, 24):
        write(samples, 2 + samples)
        new, _ = lazy(own, str(path))
        wanted = of_the_loader(own, str(path), 1)[0]
        assert not np.array_equal(wanted, before)
        assert np.array_equal(new.compute(), wanted)
        close_readers()
        with pytest.raises(stoker.Error, match="the dataset has changed.*make the array anew"):
            old.compute()
        assert not stoker.dask._readers


def test_equal_arrays_have_one_reader(own, arrays):
    first, second = (lazy(own, arrays)[0] for _ in range(2))
    assert np.array_equal(first.compute(), second.compute())
    assert len(stoker.dask._readers) == 1


def test_numbers_of_numpy(own, arrays):
    images, _ = stoker.dask.epoch(arrays, np.int64(8), epoch=np.int32(1), socket=own.path,
                                  transforms=TRANSFORMS, seed=3)
    assert np.array_equal(images.compute(), of_the_loader(own, arrays, 1)[0])
    for epoch, error in ((-1, ValueError), (1.5, TypeError), ("1", TypeError), (2**32, ValueError)):
        with pytest.raises(error, match="epoch must be"):
            lazy(own, arrays, epoch)


def test_functions_that_no_pickle_holds(own, arrays, secret):
    """... are options all the same."""
    with pytest.raises(stoker.Error, match="s3://b/x.npy"):
        stoker.dask.epoch("s3://b/x.npy", 8, socket=own.path, timeout=5, credentials=lambda: {
            "AccessKeyId": "A", "SecretAccessKey": "B"})
    turned, _ = stoker.dask.epoch(arrays, 8, socket=own.path, dtype="uint8", layout="NHWC",
                                  transforms=[stoker.Map(lambda image: image[::-1].copy())],
                                  num_workers=1, shuffle=False)
    assert np.array_equal(turned.compute(), np.load(arrays)[:, ::-1])


def test_files_that_a_function_reads_may_change(own, secret, tmp_path):
    """... before the next array is made of them."""
    paths = [tmp_path / f"{number}.npy" for number in range(4)]
    for value in (1, 2):
        for path in paths:
            np.save(path, np.full(3, value))
        made = stoker.dask.from_function(np.load, paths, socket=own.path, num_workers=1)
        assert made[:3].compute().tolist() == [value] * 3
        assert made.compute().tolist() == [value] * 12


def counted(rows):
    rows += 1
    return rows.copy()


def test_a_function_may_change_what_it_gets(own, secret):
    given = [np.full(3, number) for number in range(3)]
    made = stoker.dask.from_function(counted, given, socket=own.path, num_workers=1)
    for _ in range(2):
        assert made.compute().tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]
        close_readers()
    assert [int(each[0]) for each in given] == [0, 1, 2]


def doubled(rows):
    return np.asarray(rows) * 2


def test_a_function_of_delayed_values(own, secret):
    """As of delayed(doubled)(each)."""
    given = [dask.delayed(np.arange)(3), da.arange(3, 6, chunks=2), [dask.delayed(int)("6"), 7, 8]]
    made = stoker.dask.from_function(doubled, given, socket=own.path, num_workers=1)
    wanted = da.concatenate([da.from_delayed(dask.delayed(doubled)(each), (3,), int)
                             for each in given])
    assert np.array_equal(made.compute(), wanted.compute())


def masked(number):
    return np.ma.masked_array([number, 1.0], [True, False])


def test_what_would_be_lost_is_refused(own, secret):
    def refused(function, error, said):
        with pytest.raises(error, match=said):
            stoker.dask.from_function(function, [1, 2], socket=own.path)
    refused(masked, TypeError, "masked gives a masked array, whose mask would be lost")
    refused(lambda number: {"x": masked(number)}, TypeError, "mask would be lost")
    refused(dask.delayed(parts), TypeError, "a lazy Delayed of dask: .*without delayed")
    refused(lambda number: da.ones(3), TypeError, "gives a lazy Array of dask")
    refused(lambda number: np.zeros((0, 3)), ValueError, r"shape \(0, 3\), which has no elements")
    rows = da.ma.masked_greater(da.arange(8, chunks=4), 5)
    with pytest.raises(TypeError, match="the dask array gives a masked array"):
        stoker.dask.epoch(rows, 2, socket=own.path)
    with pytest.raises(ValueError, match=r"the shape \(0, 3\), and no sample"):
        stoker.dask.epoch(da.zeros((0, 3)), 2, socket=own.path)
    with pytest.raises(ValueError, match="a single value"):
        stoker.dask.epoch(da.zeros(()), 2, socket=own.path)
