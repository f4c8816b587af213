# SPDX-License-Identifier: MIT
"""Tensors in the memory of the ring, and compatibility with torch's DataLoader."""
import gc
import json
import pickle
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import stoker
import stoker.torch
from fake_daemon import sample

TYPES = {"uint8": torch.uint8, "float16": torch.float16, "bfloat16": torch.bfloat16,
         "float32": torch.float32}


@pytest.fixture
def make(node):
    def make(samples=20, batch_size=4, **options):
        return stoker.torch.Loader(f"/data/{samples}", batch_size, node=node, **options)
    return make


def positions(loader, epoch, n=20):
    return [int(v) for images, _ in loader for v in images[:, 0, 0, 0] - epoch / 8]


def expected(epoch, n=20):
    return [sample(epoch, position, n)[0] for position in range(n)]


def test_epochs(make):
    loader = make()
    assert len(loader) == 5 and loader.batch_size == 4 and loader.loader.samples == 20
    assert loader.classes == ["ant", "bee", "cat", "dog"]
    for epoch in range(3):
        assert loader.epoch == epoch
        assert positions(loader, epoch) == expected(epoch)


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_types(daemon, node, dtype, copy):
    if dtype == "bfloat16":  # the fake's pictures are numbers, torch's are bits
        daemon.hooks["say_batch"] = lambda peer, fields: peer.ring.arrays["image"].fill(0x3FC0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = stoker.torch.Loader("/data/20", 4, node=node, dtype=dtype, copy=copy)
        images, labels = next(iter(loader))
    assert images.dtype == TYPES[dtype] and labels.dtype == torch.int64
    assert images.shape == (4, 3, 4, 5)
    assert images[1, 0, 0, 0].item() == (1.5 if dtype == "bfloat16" else 7)


def test_it_has_all_that_a_loader_has(make):
    loader = make()
    public = {name for name in dir(stoker.Loader) if not name.startswith("_")}
    assert public <= set(dir(loader)) and "samples" in dir(loader)
    assert loader.samples == 20 and loader.position == 0 and loader.inflight == 3
    assert loader.class_to_idx == {name: i for i, name in enumerate(loader.classes)}
    assert loader.paths([3]) == loader.loader.paths([3])
    assert loader.batch(0, 1).position == 4 and next(loader.batches()).count == 4
    with pytest.raises(AttributeError, match="_no_such"):
        getattr(loader, "_no_such")


def test_a_tensor_holds_its_lease(daemon, make):
    loader = make()
    images, labels = next(iter(loader))
    view = images[1:2].permute(0, 2, 3, 1)
    del images, labels
    gc.collect()
    assert daemon.count("release") == 0 and view[0, 0, 0, 0] == 7
    del view
    daemon.settle(lambda: daemon.count("release") == 1)


def test_tensors_share_the_rings_memory(make):
    loader = make()
    images, _ = next(iter(loader))
    ring = loader.loader._reader.ring
    offset = images.data_ptr() - ring._mappings[None][0].address
    assert offset == ring.fields["image"].offset


def test_a_copy_holds_nothing(daemon, make):
    loader = make(copy=True, inflight=1)
    batches = list(loader)
    assert [int(images[0, 0, 0, 0]) for images, _ in batches] == expected(0)[::4]
    batches[0][0].add_(1)
    daemon.settle(lambda: daemon.count("release") == 5)
    assert daemon.bad_releases == 0


def test_a_wrapping_batch(daemon, make):
    daemon.slots = 10
    loader = make(inflight=2)
    for epoch in range(3):
        assert positions(loader, epoch) == expected(epoch)


def test_state(make):
    loader = make()
    it = iter(loader)
    next(it), next(it)
    state = json.loads(json.dumps(loader.state_dict()))
    other = make(batch_size=3)
    other.load_state_dict(state)
    assert positions(other, 0) == expected(0)[8:]
    other.set_epoch(4)
    assert positions(other, 4) == expected(4)


def test_in_torchs_dataloader(make):
    data = torch.utils.data.DataLoader(make(), batch_size=None, num_workers=0)
    assert len(data) == 5
    for epoch in range(2):
        assert positions(data, epoch) == expected(epoch)


@pytest.fixture
def failing(make):
    """An iterator of a DataLoader with that many worker processes, which end with the test. Left to
    the garbage collector, they take 5 s each: it closes their queues before they are told.
    """
    iterators = []

    def failing(workers):
        data = torch.utils.data.DataLoader(make(), batch_size=None, num_workers=workers)
        iterators.append(iter(data))
        return iterators[-1]
    yield failing
    for iterator in iterators:
        iterator._shutdown_workers()


def test_worker_processes_are_refused_in_words(daemon, failing):
    with pytest.raises(Exception, match="num_workers=0") as caught:
        next(failing(1))
    assert "ForkError" in type(caught.value).__name__ or "ForkError" in str(caught.value)
    assert len(daemon.peers) >= 1


def test_a_dataloader_after_worker_processes_failed(make, failing):
    """What they were forked with is theirs: the next stream does not wait for them."""
    with pytest.raises(Exception, match="num_workers=0"):
        next(failing(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing to pin for
        data = torch.utils.data.DataLoader(make(), batch_size=None, pin_memory=True)
        assert positions(data, 0) == expected(0)


@pytest.mark.parametrize("name, words", [
    ("num_workers", "stokerctl set workers"), ("generator", "seed"), ("pin_memory", "wrap it")])
def test_what_a_dataloader_has_says_what_it_is_here(make, name, words):
    with pytest.raises(TypeError, match=f"{name} is not supported: .*{words}"):
        make(**{name: 4})


def test_ranks_of_torchs_group(make, tmp_path, monkeypatch):
    """Also of a group without environment variables, as by torch.multiprocessing.spawn()."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0,
                                         world_size=1)
    try:
        monkeypatch.setenv("RANK", "3")
        monkeypatch.setenv("WORLD_SIZE", "4")
        for options, rank, world in (({}, 0, 1), ({"rank": 1, "world_size": 2}, 1, 2)):
            loader = make(**options).loader
            assert (loader.rank, loader.world_size) == (rank, world)
    finally:
        torch.distributed.destroy_process_group()
    assert make().loader.rank == 3


def test_a_loader_is_not_pickled(make):
    with pytest.raises(TypeError, match="process"):
        pickle.dumps(make())


def test_training_goes_on(make):
    """Autograd on the tensors, with the batch held by the graph until backward is done."""
    loader = make(40)
    model = torch.nn.Linear(60, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images.flatten(1)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert np.isfinite(loss.item())


def messages(caplog):
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize("samples, batch_size, world, last_batch, batches", [
    (20, 4, 2, "short", (3, 2)), (20, 4, 3, "short", (2, 1)), (24, 4, 2, "short", None),
    (22, 4, 2, "short", None), (20, 4, 2, "pad", None), (20, 4, 2, "drop", None),
    (20, 4, 2, "wrap", None), (20, 4, 1, "short", None)])
def test_unequal_numbers_of_batches_are_said(make, caplog, samples, batch_size, world, last_batch,
                                             batches):
    for rank in range(world):
        caplog.clear()
        loader = make(samples, batch_size, rank=rank, world_size=world, last_batch=last_batch)
        said = messages(caplog)
        assert bool(batches) == bool(said)
        if batches:
            assert rank not in (0, world - 1) or len(loader) == batches[rank > 0]
            assert (f"{batches[0]} batches in an epoch for rank 0, and {batches[1]} for rank "
                    f"{world - 1}:") in said[0] and 'last_batch="pad"' in said[0]


def test_a_part_in_order_is_said(make, node, caplog, monkeypatch):
    """What reads like an evaluation, by a rank that the program did not give."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    make(22, 4, shuffle=True)
    make(22, 4, shuffle=False, rank=1, world_size=2)
    make(22, 4, shuffle=False, rank=0, world_size=1)
    assert not messages(caplog)
    for attach in (lambda: make(22, 4, shuffle=False),
                   lambda: node.loader("/data/22", batch_size=4, shuffle=False)):
        loader = attach()
        assert sum(len(labels) for _, labels in loader) == 10
        [said] = messages(caplog)
        assert "rank 1 of 2 gets 10 of its 22 samples" in said and "rank=0 and world_size=1" in said
        caplog.clear()


def test_fields_that_pairs_leave_out_are_said(near, tmp_path, caplog):
    image = pytest.importorskip("PIL.Image").new("L", (8, 8))
    for name in "ab":
        image.save(tmp_path / f"{name}.png")
    (tmp_path / "m.jsonl").write_text(json.dumps({"path": "a.png", "mask": "b.png"}) + "\n")
    loader = stoker.torch.Loader(str(tmp_path / "m.jsonl"), 1, node=near)
    assert next(loader.batches())["mask"].shape == (1, 8, 8) and not messages(caplog)
    for _ in range(2):
        assert len(list(loader)) == 1
    [said] = messages(caplog)
    assert said.endswith("leave out mask: fields=['mask'] gives (images, labels, mask)")
    [(images, labels, mask)] = stoker.torch.Loader(str(tmp_path / "m.jsonl"), 1, fields=["mask"],
                                                   node=near)
    assert images.shape == (1, 3, 8, 8) and labels.tolist() == [0]
    assert mask.dtype == torch.uint8 and mask.shape == (1, 8, 8) and len(messages(caplog)) == 1


def test_a_folder_of_torchvision_is_its_samples(near, folder):
    datasets = pytest.importorskip("torchvision.datasets")
    steps = pytest.importorskip("torchvision.transforms")
    dataset = datasets.ImageFolder(folder, steps.Compose([steps.Resize((8, 9)), steps.ToTensor()]))
    dataset.samples = dataset.samples[::-1]
    part = torch.utils.data.Subset(torch.utils.data.Subset(dataset, range(10)), [7, 3])
    for one in (dataset, part):
        batches = list(stoker.torch.Loader(one, 30, shuffle=False, node=near))
        wanted = torch.utils.data.default_collate([one[number] for number in range(len(one))])
        assert len(batches) == 1
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(batches[0], wanted))
    with stoker.torch.Loader(part, 2, transforms="Resize(4)", dtype="uint8", node=near) as loader:
        assert next(iter(loader))[0].shape == (2, 3, 4, 4)
    dataset.transform = None
    for one, why in ((dataset, "it has no transform"), (torch.utils.data.Subset([1], [0]), "list")):
        with pytest.raises(TypeError, match=f"{why}.*stoker.torch.DataLoader takes"):
            stoker.torch.Loader(one, 2, node=near)


def test_what_scripts_ask_a_dataloader_for(make):
    loader = make()
    assert len(loader.dataset) == 20 and loader.dataset.classes[0] == "ant"
    assert not loader.drop_last and make(drop_last=True).drop_last and loader.num_workers == 0
    loader.sampler.set_epoch(5)
    assert loader.epoch == 5
    with pytest.raises(TypeError, match=r"batch\(epoch, number\)"):
        loader[0]
    with pytest.raises(AttributeError, match="the daemon reads its samples"):
        loader.dataset.transform


def test_a_seed_of_torch_that_is_not_followed_is_said(make, caplog):
    caplog.set_level("INFO", "stoker")
    torch.manual_seed(3)
    make(seed=3)
    assert not caplog.messages
    make()
    assert "give seed=torch.initial_seed()" in caplog.messages[0]


def test_transforms_of_timm(near, tmp_path):
    """Where timm is not installed, classes of its names and attributes."""
    steps = pytest.importorskip("torchvision.transforms")
    def of_timm(name, *bases, **attributes):
        return type(name, bases, {"__module__": "timm.data.transforms", **attributes})()
    crop = {"size": (9, 7), "scale": (.2, .9), "ratio": (.5, 2.), "interpolation": "bicubic"}
    ours = stoker.transforms.to_dicts(steps.Compose([
        of_timm("RandomResizedCropAndInterpolation", **crop),
        of_timm("MaybeToTensor", steps.ToTensor), steps.Normalize(.5, .5)]))
    assert ours == stoker.transforms.to_dicts([
        stoker.RandomResizedCrop((9, 7), (.2, .9), (.5, 2.), "bicubic"), stoker.ToTensor(),
        stoker.Normalize(.5, .5)])
    for name, more in (("RandomResizedCropAndInterpolation",
                        {**crop, "interpolation": ("bilinear", "bicubic")}), ("ToTensor", {})):
        with pytest.raises(TypeError, match="no transform of the daemon.*stoker.Map"):
            stoker.transforms.to_dicts([of_timm(name, **more)])
