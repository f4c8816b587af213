# SPDX-License-Identifier: MIT
"""The client with the real daemon."""
import dataclasses
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

PIL = pytest.importorskip("PIL")
pytest.importorskip("PIL.Image")

import stoker
from real_daemon import ROOT, RealDaemon, binary, pictures

pytestmark = pytest.mark.skipif(binary() is None, reason="no stokerd was built")
TRANSFORMS = [stoker.RandomResizedCrop(16), stoker.RandomHorizontalFlip(), stoker.ToTensor(),
              stoker.Normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.25))]


@pytest.fixture
def node(near):
    return near


def indices(loader):
    return [int(index) for batch in loader.batches() for index in batch.index]


def test_every_sample_once_an_epoch(node, folder):
    loader = node.loader(folder, batch_size=4, transforms=[stoker.Resize((8, 8)),
                                                           stoker.ToTensor()])
    assert loader.samples == 21 and len(loader) == 6
    assert loader.classes == ["class0", "class1", "class2"]
    orders = []
    for _ in range(3):
        order = []
        for batch in loader.batches():
            images, labels = batch
            assert images.shape == (batch.count, 3, 8, 8) and images.dtype == np.float32
            assert (labels == batch.index // 7).all()
            assert np.array_equal(np.round(images[:, 2, 0, 0] * 255), batch.index)
            order += list(batch.index)
        assert sorted(order) == list(range(21))
        orders.append(order)
    assert orders[0] != orders[1] != orders[2]


def test_unshuffled_subset_bytes(node, folder):
    loader = node.loader(folder, batch_size=5, shuffle=False, subset=(3, 13), dtype="uint8",
                         layout="NHWC", transforms=[stoker.CenterCrop(4)])
    assert loader.samples == 10
    batches = list(map(lambda batch: (batch.images.copy(), list(batch.index)), loader.batches()))
    assert [index for _, index in batches] == [[3, 4, 5, 6, 7], [8, 9, 10, 11, 12]]
    assert tuple(batches[0][0][0, 0, 0]) == (5, 60, 3)


@pytest.mark.parametrize("transport", ["fd", "path"])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "bfloat16", "float32"])
def test_types_and_transports(node, folder, dtype, transport):
    loader = node.loader(folder, batch_size=4, dtype=dtype, transport=transport, shuffle=False,
                         transforms=[stoker.Resize((8, 8))] + ([] if dtype == "uint8" else
                                                          [stoker.ToTensor()]))
    images, labels = next(iter(loader))
    assert images.dtype.itemsize == {"uint8": 1, "float32": 4}.get(dtype, 2)
    value = images[0, 0, 0, 0]
    if dtype == "bfloat16":
        value = np.array([int(value) << 16], np.uint32).view(np.float32)[0]
    expected = 5 if dtype == "uint8" else 5 / 255
    assert abs(float(value) - expected) < 0.001


def test_a_stream_resumes_byte_for_byte(node, folder):
    """FAULTS 19, 89."""
    options = {"transforms": TRANSFORMS, "seed": 7, "timeout": 20}

    def run(loader):
        with loader:  # while it is attached the ring waits for it
            return [image.tobytes() for images, _ in loader for image in images]

    whole = run(node.loader(folder, batch_size=4, **options))
    for taken in (0, 1, 3, 5):
        first = node.loader(folder, batch_size=4, **options)
        got, it = [], iter(first)
        for _ in range(taken):
            got += [image.tobytes() for image in next(it)[0]]
        state = json.loads(json.dumps(first.state_dict()))
        first.close()
        ranks = [node.loader(folder, batch_size=2, rank=rank, world_size=2, **options)
                 for rank in (0, 1)]
        for loader in ranks:
            loader.load_state_dict(state)
        for both in itertools.zip_longest(*ranks):  # ranks share a ring and walk side by side
            for batch in filter(None, both):
                got += [image.tobytes() for image in batch[0]]
        for loader in ranks:
            loader.close()
        assert got == whole


def test_break_then_next_epoch_and_back(node, folder):
    loader = node.loader(folder, batch_size=4, transforms=TRANSFORMS)
    orders = [indices(loader) for _ in range(3)]
    loader.set_epoch(1)
    for number, batch in enumerate(loader.batches()):
        assert list(batch.index) == orders[1][4 * number:4 * number + 4]
        if number == 1:
            break
    batch.release()
    assert indices(loader) == orders[2]
    loader.set_epoch(0)
    kept, _ = next(iter(loader))
    before = kept.copy()
    loader.set_epoch(0)
    assert indices(loader) == orders[0] and (kept == before).all()


def test_pad_drop_epochs(node, folder):
    loader = node.loader(folder, batch_size=4, last_batch="pad", transforms=TRANSFORMS, epochs=2)
    for _ in range(2):
        assert [batch.padded for batch in loader.batches()] == [0, 0, 0, 0, 0, 3]
    with pytest.raises(stoker.Error, match="epochs=2"):
        iter(loader)
    assert len(node.loader(folder, batch_size=4, drop_last=True, transforms=TRANSFORMS)) == 5


def test_wrap(node, folder):
    """Epochs of 21 in batches of 4: a ``for`` ends with the batch that reaches the next epoch, and
    the next one goes on behind it; after a break and set_epoch() an epoch begins at its start."""
    options = {"batch_size": 4, "transforms": TRANSFORMS, "seed": 5, "timeout": 20}
    orders = [indices(loader) for loader in [node.loader(folder, **options)] for _ in range(5)]
    sequence = [(epoch, position) for epoch in range(5) for position in range(21)]

    loader = node.loader(folder, last_batch="wrap", epochs=4, **options)
    assert len(loader) == 6
    at, states = 0, []
    for epoch, count in enumerate((6, 5, 5, 5)):
        assert (loader.epoch, loader.position) == sequence[at]
        states.append((at, json.loads(json.dumps(loader.state_dict()))))
        for number, batch in enumerate(loader.batches(), 1):
            assert list(batch.index) == [orders[e][p] for e, p in sequence[at:at + 4]]
            assert (batch.epoch, batch.position) == sequence[at]
            assert batch.wrapped == max(0, batch.position + 4 - 21)
            batch.release()
            at += 4
        assert number == count
    with pytest.raises(stoker.Error, match="epochs=4"):
        iter(loader)

    for start, state in states[1:]:
        loader.load_state_dict(state)
        assert list(next(iter(loader.batches())).index) == \
            [orders[e][p] for e, p in sequence[start:start + 4]]
    loader.set_epoch(1)
    batches = loader.batches()
    next(batches), next(batches)
    assert indices(loader) == orders[2] + orders[3][:3], "broken off: the next epoch, whole"
    copy = loader.batch(1, 5)
    assert (copy.wrapped, list(copy.index)) == (3, orders[1][20:] + orders[2][:3])
    loader.close()


@pytest.mark.parametrize("world", [2, 3])
def test_wrap_of_ranks(node, folder, world):
    """Ranks have as many batches, and states that are equal."""
    ranks = [node.loader(folder, batch_size=4, last_batch="wrap", rank=rank, world_size=world,
                         transforms=TRANSFORMS, job="wrapped", timeout=20)
             for rank in range(world)]
    got = []
    for _ in range(4):
        for step in itertools.zip_longest(*(loader.batches() for loader in ranks)):
            for batch in step:
                got += [divmod(21 * batch.epoch + batch.position + i, 21) for i in range(4)]
                batch.release()
        assert len({(loader.epoch, loader.position) for loader in ranks}) == 1
    assert got == [divmod(n, 21) for n in range(len(got))] and len(got) >= 84
    for loader in ranks:
        loader.close()


def test_a_wrapped_run_survives_the_daemon(folder, tmp_path):
    options = {"batch_size": 4, "last_batch": "wrap", "transforms": TRANSFORMS, "reconnect": 30}
    daemon = RealDaemon(tmp_path)
    try:
        with stoker.connect(daemon.path) as near:
            with near.loader(folder, **options) as loader:
                wanted = [indices(loader) for _ in range(3)]
            with near.loader(folder, **options) as loader:
                assert indices(loader) == wanted[0]  # 24 of 21
                daemon.stop(signal.SIGKILL)
                daemon.start()
                assert [indices(loader), indices(loader)] == wanted[1:]
                assert loader.reconnects >= 1
    finally:
        daemon.stop()


def test_refusals(node, folder, tmp_path):
    def refused(kind, *args, **kwargs):
        with pytest.raises(kind) as caught:
            node.loader(*args, **{"batch_size": 4, "transforms": [stoker.Resize((8, 8))], **kwargs})
        assert str(caught.value)
        return str(caught.value)

    assert "nowhere" in refused(stoker.DatasetError, tmp_path / "nowhere")
    refused(stoker.DatasetError, {"path": folder, "colour": "red"})
    assert "Explode" in refused(stoker.PipelineError, folder, transforms=[{"name": "Explode"}])
    assert "size" in refused(stoker.PipelineError, folder, transforms=[stoker.Resize("x")])
    refused(stoker.ArgumentError, folder, last_batch="keep")
    assert "use last_batch pad (without drop_last)" in refused(
        stoker.ArgumentError, folder, batch_size=100, drop_last=True)
    refused(stoker.ArgumentError, folder, last_batch="long")
    refused(stoker.MemoryBudgetError, folder, batch_size=1024,
            transforms=[stoker.Resize((1024, 1024))])
    refused(ValueError, folder, batch_size=0)
    refused(TypeError, folder, batch_size="4")
    refused(ValueError, folder, seed=-1)


def test_every_transform_is_understood(node, folder):
    for transforms in ([stoker.Resize((20, 20), "bicubic"), stoker.RandomCrop(16, padding=2)],
                       [stoker.RandomResizedCrop(16, scale=(0.5, 1.0), ratio=(1.0, 1.0))],
                       [stoker.Pad((1, 2), fill=3, padding_mode="constant"),
                        stoker.CenterCrop((8, 16)), stoker.RandomVerticalFlip(0.25)],
                       [stoker.RandomCrop((16, 8), pad_if_needed=True, fill=(1, 2, 3)),
                        stoker.ToTensor(), stoker.Normalize([0.5] * 3, np.array([0.5] * 3))],
                       [stoker.RandomApply([stoker.RandomOrder([stoker.RandomInvert(),
                                                                stoker.Grayscale(3)])]),
                        stoker.RandomChoice([stoker.Compose([stoker.CenterCrop(8)]),
                                             stoker.RandomCrop(8)], p=[1, 2])],
                       [stoker.Resize((9, 9)), stoker.ColorJitter(0.2, (0.5, 1), 0.1, (-0.1, 0.2)),
                        stoker.GaussianBlur((5, 3), 1.5), stoker.RandomPosterize(4),
                        stoker.RandomSolarize(128.5), stoker.RandomAdjustSharpness(2, p=1),
                        stoker.RandomAutocontrast(), stoker.RandomEqualize(p=1),
                        stoker.RandomGrayscale()],
                       [{"name": "Resize", "size": [4, 4]}], stoker.Resize((8, 8))):
        images, _ = next(iter(node.loader(folder, batch_size=4, transforms=transforms)))
        assert images.shape[0] == 4


def test_torchvision_objects_are_understood(node, folder):
    tv = pytest.importorskip("torchvision.transforms")
    theirs = tv.Compose([tv.Resize((20, 20)), tv.RandomCrop(16, padding=2),
                         tv.RandomHorizontalFlip(),
                         tv.ToTensor(), tv.Normalize([0.5] * 3, [0.5] * 3)])
    ours = [stoker.Resize((20, 20)), stoker.RandomCrop(16, padding=2),
            stoker.RandomHorizontalFlip(),
            stoker.ToTensor(), stoker.Normalize([0.5] * 3, [0.5] * 3)]
    hashes = {node.loader(folder, batch_size=4, transforms=t).pipeline_hash for t in (theirs, ours)}
    assert len(hashes) == 1


def test_bad_samples(node, tmp_path):
    """FAULTS 60, 72: an exception that names the file; or a neighbour replaces it."""
    folder = pictures(tmp_path / "some", classes=1, each=8)
    broken = Path(folder) / "class0" / "003.png"
    broken.write_bytes(broken.read_bytes()[:60])
    plain = {"batch_size": 2, "shuffle": False, "transforms": [stoker.Resize((8, 8))]}
    it, got = iter(node.loader(folder, **plain).batches()), []
    with pytest.raises(stoker.SampleError, match="003.png") as caught:
        for batch in it:
            got += list(batch.index)
    assert (caught.value.epoch, caught.value.position, caught.value.sample) == (0, 3, 3)
    for batch in it:
        got += list(batch.index)
    assert got == [0, 1, 4, 5, 6, 7]
    loader = node.loader(folder, **plain, bad_samples="substitute")
    assert sum(batch.substituted for batch in loader.batches()) == 1


def test_stopping_and_another_daemon(tmp_path, folder):
    """FAULTS 27: a stop raises, and the state resumes with another daemon."""
    daemon = RealDaemon(tmp_path)
    node = stoker.connect(daemon.path)
    whole = indices(node.loader(folder, batch_size=2, transforms=TRANSFORMS))
    loader = node.loader(folder, batch_size=2, transforms=TRANSFORMS, reconnect=None)
    it, got = iter(loader.batches()), []
    got += list(next(it).index)
    daemon.process.send_signal(signal.SIGTERM)
    with pytest.raises(stoker.Stopping, match="state_dict"):
        for _ in range(1000):
            with next(it) as batch:
                got += list(batch.index)
            time.sleep(0.01)
    state = loader.state_dict()
    node.close()
    assert daemon.wait() == 0
    with pytest.raises(stoker.DaemonUnavailable, match="start one"):
        stoker.connect(daemon.path)
    daemon.start()
    with stoker.connect(daemon.path) as node:
        loader = node.loader(folder, batch_size=2, transforms=TRANSFORMS)
        loader.load_state_dict(state)
        while loader.epoch <= state["epoch"]:
            got += indices(loader)
    assert got[:21] == whole
    daemon.stop()


def test_killed_daemon(tmp_path, folder):
    """FAULTS 21, 22: Disconnected; held batches stay readable, and the state is exact."""
    daemon = RealDaemon(tmp_path)
    with stoker.connect(daemon.path) as node:
        loader = node.loader(folder, batch_size=4, transforms=TRANSFORMS, reconnect=0.2)
        it = iter(loader)
        images, labels = next(it)
        before = images.copy()
        daemon.stop(signal.SIGKILL)
        with pytest.raises(stoker.Disconnected):
            while True:
                next(it)
        assert (images == before).all()
        with pytest.raises(stoker.Disconnected):
            iter(loader)
        state = loader.state_dict()
    assert state["position"] % 4 == 0 and state["position"] >= 4


def test_the_examples_run(real, folder):
    environment = {**os.environ, "STOKER_SOCKET": real.path,
                   "PYTHONPATH": str(ROOT / "client" / "python")}
    example = ROOT / "tests" / "demo" / "train_loop.py"
    out = subprocess.run([sys.executable, example, folder, "8"], env=environment, check=True,
                         capture_output=True, timeout=60)
    assert len(out.stdout.splitlines()) == 9 and not out.stderr


def test_torch_trains_on_pictures(node, folder):
    torch = pytest.importorskip("torch")
    import stoker.torch
    loader = stoker.torch.Loader(folder, 4, node=node, dtype="bfloat16", timeout=20,
                                 transforms=TRANSFORMS)
    seen = 0
    for images, labels in torch.utils.data.DataLoader(loader, batch_size=None):
        assert images.dtype == torch.bfloat16 and images.shape[1:] == (3, 16, 16)
        assert torch.isfinite(images.float()).all() and 0 <= labels.min() <= labels.max() < 3
        seen += len(labels)
    assert seen == 21 and loader.epoch == 1


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_ten_kills(tmp_path, folder, workers):
    """FAULTS 21: kill -9 at random places; all parts together are the whole stream."""
    options = {"batch_size": 2, "transforms": TRANSFORMS, "seed": 7, "timeout": 120}
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    places = set(random.Random(seed).sample(range(43), 10))
    daemon = RealDaemon(tmp_path, "--workers", str(workers))

    def run(loader, at):
        got = []
        for _ in range(4):
            for images, labels in loader:
                got.append((images.tobytes(), labels.tobytes()))
                at(len(got))
        return got

    with stoker.connect(daemon.path) as node:
        whole = run(node.loader(folder, **options), lambda k: None)

        def kill(k):
            if k in places:
                daemon.stop(signal.SIGKILL)
                daemon.start()

        loader = node.loader(folder, **options)
        assert run(loader, kill) == whole and len(whole) == 44
        assert 1 <= loader.reconnects <= 10
    daemon.stop()


def test_a_restart_is_a_pause(tmp_path, folder):
    """FAULTS 27: SIGTERM with a reader: it resumes with the next daemon, and the old one does not
    wait for the batches that the program holds."""
    daemon = RealDaemon(tmp_path)
    with stoker.connect(daemon.path) as node:
        whole = indices(node.loader(folder, batch_size=2, transforms=TRANSFORMS))
        loader = node.loader(folder, batch_size=2, transforms=TRANSFORMS)
        it = iter(loader.batches())
        held = next(it)
        before, got = held.images.copy(), list(held.index)
        daemon.process.send_signal(signal.SIGTERM)
        ended = threading.Thread(target=lambda: (daemon.wait(), daemon.start()))
        ended.start()
        got += [int(index) for batch in it for index in batch.index]
        ended.join()
        assert got == whole and (held.images == before).all() and loader.reconnects <= 1
    assert daemon.stop() == 0


def test_any_batch(node, folder):
    """loader.batch() has the bytes of the loop, also while it runs and in another epoch."""
    loader = node.loader(folder, batch_size=4, transforms=TRANSFORMS)
    for k, batch in enumerate(loader.batches()):
        again, last = loader.batch(0, k), loader.batch(0, -1)
        assert (again.images == batch.images).all() and list(again.index) == list(batch.index)
        assert last.position == 20 and last.count == 1
    loader.set_epoch(6)
    for k, (images, labels) in enumerate(loader):
        assert (loader.batch(6, k).images == images).all()


@pytest.fixture(scope="module")
def manifest(folder):
    """The images of the folder with weights, targets, a mask (its reds) and a box."""
    root = Path(folder).parent
    paths = sorted(str(path.relative_to(root)) for path in Path(folder).glob("*/*"))
    path, reds = root / "more.jsonl", root / "reds"
    reds.mkdir()
    for i, name in enumerate(paths):
        PIL.Image.open(root / name).convert("RGB").getchannel(0).save(reds / f"{i}.png")
    path.write_text("".join(json.dumps(
        {"path": name, "label": i, "weight": i / 4, "mask": f"reds/{i}.png",
         "boxes": [[0, 0, 2, 3]], "targets": {"age": [i, 0.5]}}) + "\n"
        for i, name in enumerate(paths)))
    return {"path": str(path), "root": str(root)}, paths


def test_fields(node, manifest):
    dataset, paths = manifest
    loader = node.loader(dataset, batch_size=5, dtype="uint8", layout="NHWC",
                         transforms=[stoker.CenterCrop(4), stoker.RandomHorizontalFlip()])
    assert list(loader.fields) == ["image", "label", "index", "weight", "mask", "boxes", "age"]
    assert loader.fields["boxes"].shape == (1, 4)
    for batch in loader.batches():
        assert np.array_equal(batch["weight"], batch.index.astype("float32") / 4)
        assert np.array_equal(batch["mask"], batch.images[..., 0])
        assert batch["age"].shape == (batch.count, 2) and batch["boxes"].dtype == np.float32
        assert loader.paths(batch.index) == [paths[i] for i in batch.index]
    with pytest.raises(KeyError, match="no field 'depth'"):
        loader.batch(0, 0)["depth"]
    assert np.array_equal(loader.batch(0, 1)["mask"], loader.batch(0, 1).images[..., 0])
    for index in (-1, len(paths)):
        with pytest.raises(IndexError):
            loader.paths([0, index])
    assert list(node.loader(dataset, batch_size=5, fields=["age"], transforms=[
        stoker.CenterCrop(4)]).fields) == ["image", "label", "index", "age"]
    with pytest.raises(stoker.ArgumentError, match="has no 'depth'"):
        node.loader(dataset, batch_size=5, fields=["depth"], transforms=[stoker.CenterCrop(4)])


def test_one_hot(node, folder):
    loader = node.loader(folder, batch_size=8, one_hot=True, transforms=[stoker.CenterCrop(4)])
    for batch in loader.batches():
        assert np.array_equal(batch.labels, np.eye(3, dtype=np.float32)[batch.index // 7])


def test_parameters_by_place(near, folder):
    """In torchvision's order, which is that of the fields of stoker's classes."""
    held = [{"name": "RandomVerticalFlip"}]
    given = {"size": 8, "padding": 1, "mean": [0.5], "std": [0.25], "transforms": held,
             "degrees": 10, "kernel_size": 3, "bits": 4, "threshold": 100, "sharpness_factor": 2,
             "num_output_channels": 3, "target_size": 9, "min_size": 8, "format": "XYWH",
             "dtype": "uint16"}

    def outcome(transform):
        before = [stoker.CenterCrop(16)]
        if transform["name"] in ("Normalize", "RandomErasing"):
            before.append(stoker.ToTensor())
        try:
            with near.loader(folder, batch_size=4, transforms=[*before, transform]) as loader:
                return loader.pipeline_hash
        except stoker.RequestError as error:
            return str(error)

    hashes = 0
    for name in stoker.transforms.__all__:
        if name in ("Transform", "ImageDataGenerator", "MixUp", "CutMix"):
            continue
        fields = [field for field in dataclasses.fields(getattr(stoker, name))
                  if field.name != "inplace"]
        values = {field.name: given.get(field.name, field.default) for field in fields}
        named = {key: value for key, value in values.items() if value is not None}
        placed = {str(i): values[field.name] for i, field in enumerate(fields)
                  if values[field.name] is not None}
        by_name = outcome({"name": name, **named})
        assert by_name == outcome({"name": name, **placed}), name
        hashes += len(by_name) == 32
    assert hashes > 25


def test_nobody_works(tmp_path, folder):
    """The TimeoutError says that the daemon has no workers."""
    daemon = RealDaemon(tmp_path, "--workers", "0")
    try:
        with stoker.connect(daemon.path) as node:
            loader = node.loader(folder, batch_size=4, transforms=[stoker.Resize((8, 8))],
                                 timeout=5)
            with pytest.raises(TimeoutError, match="the daemon has no workers: stokerctl set work"):
                next(loader.batches())
    finally:
        daemon.stop()


def test_a_stopped_daemon_is_said(real, folder, caplog):
    """After five seconds, once in a wait: at the first words, and where a batch is due."""
    def stop():
        real.process.send_signal(signal.SIGSTOP)
        timer = threading.Timer(6, real.process.send_signal, [signal.SIGCONT])
        timer.start()
        return timer

    def take_lines():
        lines = [record.getMessage() for record in caplog.records if record.name == "stoker"]
        caplog.clear()
        return lines

    words = [f"stokerd at {real.path} has not answered for 5 s: is it stopped, or is the machine "
             "busy? Waiting on"]
    timer = stop()
    with stoker.connect(real.path) as node:
        assert take_lines() == words
        timer.join()
        loader = node.loader(folder, batch_size=1, inflight=1)
        batches = loader.batches()
        got = [list(next(batches).index)]
        timer = stop()
        got += [list(batch.index) for batch in batches]
        timer.join()
        assert take_lines() == words and sorted(got) == [[k] for k in range(21)]
