# SPDX-License-Identifier: MIT
"""The adapters to other frameworks give what the loader gives, and scripts with them run. Skipped
if the framework is not installed."""
import os
import subprocess
import sys

from typing import Any, NamedTuple

import numpy as np
import pytest

import stoker
from real_daemon import ROOT

SAMPLES = 21  # of pictures()
TRANSFORMS = [stoker.RandomResizedCrop(16), stoker.ToTensor()]
SCRIPTS = ROOT / "tests" / "scripts"
EXAMPLES = {"keras_fit": "keras", "tf_data": "tensorflow", "dask_epoch": "dask.array"}


@pytest.fixture(name="wanted")
def fixture_wanted(near, folder):
    """[(images, labels)] of each of two epochs, by the loader itself."""
    with near.loader(folder, batch_size=8, seed=3, transforms=TRANSFORMS) as loader:
        return [[(images.copy(), labels.copy()) for images, labels in loader] for _ in range(2)]


def compare(got, wanted):
    got = list(got)
    assert len(got) == len(wanted)
    for (images, labels), (their_images, their_labels) in zip(got, wanted):
        assert np.array_equal(np.asarray(images), their_images)
        assert np.array_equal(np.asarray(labels), their_labels)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs(real, folder, name):
    pytest.importorskip(EXAMPLES[name])
    assert run_script(real, SCRIPTS / f"{name}.py", folder)


def run_script(real, script, *arguments):
    """The output of a script."""
    environment = {"KERAS_BACKEND": "tensorflow", **os.environ, "STOKER_SOCKET": real.path,
                   "PYTHONPATH": str(ROOT / "client" / "python")}
    return subprocess.run([sys.executable, script, *arguments], env=environment, check=True,
                          capture_output=True, text=True, timeout=300).stdout


@pytest.fixture(name="cifar")
def fixture_cifar(tmp_path):
    """CIFAR-10 as published, but for 600 pictures of noise."""
    random = np.random.default_rng(1)
    for name in [f"data_batch_{number}.bin" for number in range(1, 6)] + ["test_batch.bin"]:
        records = random.integers(0, 256, (100, 3073), np.uint8)
        records[:, 0] %= 10
        (tmp_path / name).write_bytes(records.tobytes())
    (tmp_path / "batches.meta.txt").write_text("\n".join("abcdefghij") + "\n")
    return tmp_path


def test_dask_users_cifar_script(real, cifar):
    """Each of the ten classes is there, and its views differ."""
    pytest.importorskip("dask.array")
    said = run_script(real, SCRIPTS / "dask_cifar10.py", cifar).splitlines()
    assert "chunksize=(500, 4, 3, 32, 32)" in said[0]
    assert len(said) == 12 and sum(int(line.split()[2]) for line in said[2:]) == 500
    assert all(0.05 < float(line.split()[-1]) < 0.5 for line in said[2:])


def test_the_published_cifar_case(real, cifar):
    """Training and validation streams at the same time, from a published dataset."""
    pytest.importorskip("torch")
    said = run_script(real, SCRIPTS / "cifar10_train.py", cifar, "2")
    assert "2/2" in said and said.count("waited for pictures") == 2 and "accuracy" in said


def test_a_batch_split_for_devices(near, folder):
    with near.loader(folder, batch_size=8, transforms=TRANSFORMS) as loader:
        batch = next(iter(loader.batches()))
        parts = batch.split(3)
        assert [len(images) for images, _ in parts] == [3, 3, 2]  # as numpy.array_split
        assert all(np.shares_memory(images, batch.images) for images, _ in parts)
        compare([map(np.concatenate, zip(*parts))], [(batch.images, batch.labels)])
        with pytest.raises(ValueError, match="0"):
            batch.split(0)


def test_keras(near, folder, wanted):
    pytest.importorskip("keras")
    import stoker.keras
    with near.loader(folder, batch_size=8, seed=3, transforms=TRANSFORMS) as loader:
        dataset = stoker.keras.Dataset(loader)
        assert len(dataset) == 3
        for epoch in range(2):
            compare((dataset[i] for i in range(3)), wanted[epoch])
            dataset.on_epoch_end()


def test_keras_has_no_bfloat16(near, folder):
    pytest.importorskip("keras")
    import stoker.keras
    with near.loader(folder, batch_size=8, transforms=TRANSFORMS, dtype="bfloat16") as loader:
        with pytest.raises(ValueError, match="use dtype float16"):
            stoker.keras.Dataset(loader)


def test_tensorflow(near, folder, wanted):
    pytest.importorskip("tensorflow")
    import stoker.tf
    with near.loader(folder, batch_size=8, seed=3, transforms=TRANSFORMS) as loader:
        dataset = stoker.tf.dataset(loader, epochs=2)
        assert dataset.element_spec[0].shape.as_list() == [None, 3, 16, 16]
        compare(dataset.as_numpy_iterator(), wanted[0] + wanted[1])


def test_tensorflow_holds_nothing(daemon, node):
    """Also if TensorFlow stops early."""
    pytest.importorskip("tensorflow")
    import stoker.tf
    loader = node.loader("/data/20", batch_size=4, inflight=1, timeout=20)
    kept = iter(stoker.tf.dataset(loader))
    assert len(next(kept)[1]) == 4
    daemon.settle(lambda: daemon.count("release") > 0)
    assert len(list(stoker.tf.dataset(loader))) == 5


LARGE = [stoker.RandomResizedCrop(64), stoker.ToTensor()]  # such batches are not copied


@pytest.mark.parametrize("transforms, dtype", [(TRANSFORMS, "float32"), (LARGE, "float32"),
                                               (LARGE, "bfloat16")])
def test_jax(near, folder, transforms, dtype):
    """What is kept stays, in the memory of the ring, though its slots have other samples by now."""
    jax = pytest.importorskip("jax")
    import stoker.jax
    with near.loader(folder, batch_size=8, seed=3, transforms=transforms, dtype=dtype) as loader:
        before = [(images.copy(), labels.copy()) for images, labels in loader]
        loader.set_epoch(0)
        kept = list(stoker.jax.arrays(loader))
        for _ in range(3):
            list(loader)
        assert all(images.dtype == dtype for images, _ in kept)
        # One that is divided in the ring is a copy.
        assert loader.stats()["kept_batches"] >= (len(kept) - 1 if transforms is LARGE else 0)
    kind = before[0][0].dtype
    compare([(np.asarray(images).view(kind), labels) for images, labels in kept], before)
    assert jax.default_backend() == "cpu"


def test_jax_may_write_where_the_images_were(near, folder):
    """It has no other use for what is donated; the slots have what the daemon writes there."""
    jax = pytest.importorskip("jax")
    import stoker.jax
    plus = jax.jit(lambda images: images + 1, donate_argnums=0)
    with near.loader(folder, batch_size=8, seed=3, transforms=LARGE) as loader:
        before = [[(images + 1, labels) for images, labels in loader] for _ in range(4)]
        loader.set_epoch(0)
        for wanted in before:
            compare([(plus(images), labels) for images, labels in stoker.jax.arrays(loader)],
                    wanted)


@pytest.mark.parametrize("name", ["jax", "tensorflow"])
def test_batches_of_sizes_of_their_own(near, tmp_path, name):
    pytest.importorskip(name)
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "a").mkdir()
    for number in range(12):
        size = (40, 60) if number % 3 else (60, 40)
        image.new("RGB", size, (number, 0, 0)).save(tmp_path / "a" / f"{number:02}.png")
    with near.loader(str(tmp_path), batch_size=4, seed=3, dtype="uint8",
                     transforms=[stoker.Buckets([(48, 32), (32, 48)])]) as loader:
        if name == "jax":
            from stoker.jax import arrays
        else:
            from stoker.tf import dataset as arrays
        got = list(arrays(loader))
        assert {tuple(images.shape[2:]) for images, _ in got} == {(48, 32), (32, 48)}
        loader.set_epoch(0)
        compare(got, list(loader))


CROPS = {"large": (2, [stoker.RandomResizedCrop(12)]), "small": (3, [stoker.Resize((6, 6))])}


def same_crops(got, loader):
    """They are what the loader gives."""
    loader.set_epoch(0)
    for (images, labels), (wanted, their_labels) in zip(got, loader):
        assert list(images) == ["large", "small"]
        assert np.array_equal(np.asarray(labels), their_labels)
        assert all(np.array_equal(np.asarray(images[name]).view(wanted[name].dtype), wanted[name])
                   for name in wanted)


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16"])
def test_crops_in_jax(near, folder, dtype):
    jax = pytest.importorskip("jax")
    import stoker.jax
    with near.loader(folder, batch_size=8, seed=3, crops=CROPS, dtype=dtype) as loader:
        got = list(stoker.jax.arrays(loader))
        assert got[0][0]["small"].shape == (8, 3, 3, 6, 6) and got[0][0]["large"].dtype == dtype
        assert len(got) == 3 and isinstance(got[0][0]["large"], jax.Array)
        same_crops(got, loader)


def test_crops_in_tf_data(near, folder):
    pytest.importorskip("tensorflow")
    import stoker.tf
    with near.loader(folder, batch_size=8, seed=3, crops=CROPS) as loader:
        dataset = stoker.tf.dataset(loader)
        assert dataset.element_spec[0]["large"].shape.as_list() == [None, 2, 3, 12, 12]
        got = list(dataset)
        assert len(got) == 3
        same_crops(got, loader)


class Pair(NamedTuple):
    x: Any
    y: Any


def own_array(index):
    return np.full((40, 50), index, np.float32)


def own_tree(index):
    return {"b": np.arange(3, dtype=np.int32) + index,
            "a": Pair(np.float32(index), [np.uint8(index), f"t\xe9 {index}"])}


def own_ragged(index):
    return np.full((index % 3, 4), index, np.float32), np.arange(index, dtype=np.int32), b"b\0b"


@pytest.fixture(name="own")
def fixture_own(near, tmp_path, monkeypatch):
    """Makes a loader of own code."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # where the secret lies
    tmp_path.chmod(0o700)
    loaders = []

    def make(function, **options):
        loaders.append(near.loader(stoker.Source(function, 10, gives="arrays", **options),
                                   batch_size=4, shuffle=False, num_workers=1))
        return loaders[-1]
    yield make
    for loader in loaders:
        loader.close()


def test_own_code_in_jax(own):
    jax = pytest.importorskip("jax")
    import stoker.jax
    whole = list(stoker.jax.arrays(own(own_array)))
    assert all(isinstance(batch, jax.Array) for batch in whole)
    assert np.concatenate(whole)[:, 0, 0].tolist() == list(range(10))
    first = next(stoker.jax.arrays(own(own_tree)))
    assert isinstance(first["a"], Pair) and isinstance(first["b"], jax.Array)
    assert first["b"].tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert first["a"].x.dtype == np.float32 and first["a"].y[0].tolist() == [0, 1, 2, 3]
    assert first["a"].y[1] == ["t\xe9 0", "t\xe9 1", "t\xe9 2", "t\xe9 3"]
    boxes, _, texts = next(stoker.jax.arrays(own(own_ragged, ragged=True)))
    assert [box.shape for box in boxes] == [(0, 4), (1, 4), (2, 4), (0, 4)]
    assert all(isinstance(box, jax.Array) for box in boxes) and texts == [b"b\0b"] * 4


def test_own_code_in_tf_data(own):
    pytest.importorskip("tensorflow")
    import stoker.tf
    whole = stoker.tf.dataset(own(own_array), epochs=2)
    assert whole.element_spec.shape.as_list() == [None, 40, 50]
    assert [int(row) for batch in whole for row in batch[:, 0, 0]] == list(range(10)) * 2
    first = next(iter(stoker.tf.dataset(own(own_tree))))
    assert isinstance(first["a"], Pair) and first["a"].x.numpy().tolist() == [0, 1, 2, 3]
    assert first["b"].numpy().tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert [text.decode() for text in first["a"].y[1].numpy()] == [
        "t\xe9 0", "t\xe9 1", "t\xe9 2", "t\xe9 3"]
    boxes, counts, texts = next(iter(stoker.tf.dataset(own(own_ragged, ragged=True))))
    assert boxes.to_list() == [[], [[1.0] * 4], [[2.0] * 4] * 2, []]
    assert counts.to_list() == [[], [0], [0, 1], [0, 1, 2]]
    assert texts.numpy().tolist() == [b"b\0b"] * 4


def test_jax_goes_on_behind_a_bad_sample(daemon, node):
    pytest.importorskip("jax")
    import stoker.jax
    daemon.bad.add((0, 8))
    arrays = stoker.jax.arrays(node.loader("/data/20", batch_size=4))
    assert [len(next(arrays)[1]) for _ in range(2)] == [4, 4]
    with pytest.raises(stoker.SampleError):
        next(arrays)
    assert len(list(arrays)) == 2


SHARDED = """
import jax, numpy, stoker, stoker.jax, sys
devices = jax.sharding.NamedSharding(jax.make_mesh((2,), ("batch",)), jax.P("batch"))
with stoker.connect() as node:
    loader = node.loader(sys.argv[1], batch_size=8, last_batch="drop",
                         transforms=[stoker.RandomResizedCrop(64), stoker.ToTensor()])
    wanted = [images.copy() for images, _ in loader]
    loader.set_epoch(0)
    for (images, labels), array in zip(stoker.jax.arrays(loader, devices), wanted):
        assert [part.data.shape[0] for part in images.addressable_shards] == [4, 4]
        assert len(labels.sharding.device_set) == 2 and numpy.array_equal(images, array)
        print("good")
"""


def test_jax_shards_a_batch(real, folder):
    pytest.importorskip("jax")
    environment = {**os.environ, "STOKER_SOCKET": real.path, "JAX_PLATFORMS": "cpu",
                   "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
                   "PYTHONPATH": str(ROOT / "client" / "python")}
    done = subprocess.run([sys.executable, "-c", SHARDED, folder], env=environment, text=True,
                          capture_output=True, timeout=300, check=False)
    assert done.stdout.split() == ["good", "good"], done.stderr


@pytest.fixture(name="no_dask_readers")
def fixture_no_dask_readers():
    """The daemon would wait for them at its end."""
    pytest.importorskip("dask.array")
    import stoker.dask
    yield
    for reader in stoker.dask._readers.values():
        reader.close()
    stoker.dask._readers.clear()


@pytest.mark.usefixtures("no_dask_readers")
def test_dask(real, folder, wanted):
    da = pytest.importorskip("dask.array")
    import stoker.dask
    images, labels = stoker.dask.epoch(folder, 8, epoch=1, socket=real.path, seed=3,
                                       transforms=TRANSFORMS)
    assert images.shape == (SAMPLES, 3, 16, 16) and images.chunks[0] == (8, 8, 5)
    got = da.compute(images, labels)
    compare([got], [tuple(map(np.concatenate, zip(*wanted[1])))])


@pytest.mark.usefixtures("no_dask_readers")
@pytest.mark.parametrize("last_batch, chunks", [("drop", (8, 8)), ("pad", (8, 8, 8))])
def test_dask_has_the_batches_that_come(real, folder, monkeypatch, last_batch, chunks):
    """Independent of the rank that the launcher gave to the process."""
    pytest.importorskip("dask.array")
    import stoker.dask
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    images, labels = stoker.dask.epoch(folder, 8, socket=real.path, last_batch=last_batch,
                                       transforms=TRANSFORMS)
    assert images.chunks[0] == labels.chunks[0] == chunks
    assert images.compute().shape == images.shape and labels.compute().shape == labels.shape
    with pytest.raises(ValueError, match="slice"):
        stoker.dask.epoch(folder, 8, socket=real.path, transforms=TRANSFORMS, rank=0, world_size=2)
