# SPDX-License-Identifier: MIT
"""stoker.torch.DataLoader beside torch's own: the same order and values from the same seeds, and
who makes them."""
import gc
import inspect
import json
import logging
import os
import weakref

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

import torch.utils.data
from torch.utils.data import Subset, random_split
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

import stoker
import torch_code as code
from stoker.torch import DataLoader
from stoker.torch.lowering import lowered

STEPS = [T.Resize(20), T.CenterCrop(16), T.ToTensor(), T.Normalize([.5] * 3, [.2] * 3)]


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    """Keep the producers' secret in a folder of the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)


@pytest.fixture
def make(real):
    """A function that makes a DataLoader; it ends with the test."""
    made = []
    with stoker.connect(real.path) as node:
        def make(*args, **options):
            made.append(DataLoader(*args, node=node, **options))
            return made[-1]
        yield make
        for loader in made:
            loader.close()


@pytest.fixture
def beside(make):
    """A function that compares three epochs with torch's, and gives the plan."""
    def beside(dataset, *, epochs=3, **options):
        theirs, ours = (epochs_of(kind, dataset, epochs, options)
                        for kind in (torch.utils.data.DataLoader, make))
        assert_equal(ours[1], theirs[1])
        return ours[0].plan()
    return beside


def epochs_of(kind, dataset, epochs, options):
    torch.manual_seed(7)
    loader = kind(dataset, **{name: value() if name in ("sampler", "generator") else value
                              for name, value in options.items()})
    return loader, [list(loader) for _ in range(epochs)]


def assert_equal(ours, theirs):
    assert type(ours) is type(theirs)
    if isinstance(ours, torch.Tensor):
        assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)
    elif isinstance(ours, dict):
        assert list(ours) == list(theirs)
        assert_equal(list(ours.values()), list(theirs.values()))
    elif isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            assert_equal(one, other)
    else:
        assert ours == theirs


def test_parameters_are_those_of_the_installed_torch():
    theirs = inspect.signature(torch.utils.data.DataLoader.__init__).parameters
    ours = inspect.signature(DataLoader.__init__).parameters
    assert list(ours) == [*theirs, "device", "node"]
    assert all(ours[name] == theirs[name] for name in theirs)
    assert issubclass(DataLoader, torch.utils.data.DataLoader)


def test_what_a_trainer_makes_anew_of_its_attributes(make):
    """As Lightning does, to put in another sampler."""
    loader = make(code.Processes(), 4, shuffle=True, num_workers=1, collate_fn=torch.stack)
    left_out = {"self", "batch_size", "shuffle", "drop_last", "sampler"}
    given = {name: getattr(loader, name)
             for name in inspect.signature(type(loader).__init__).parameters
             if name not in left_out and hasattr(loader, name)}
    sampler = torch.utils.data.BatchSampler(range(12), 5, False)
    again = type(loader)(**{**given, "batch_sampler": sampler})
    assert again.node is loader.node and again.plan().startswith("1 producers make the batches")
    assert [batch[:, 1].tolist() for batch in again] == list(sampler)
    again.close()


@pytest.mark.parametrize("options", [
    {"drop_last": True, "persistent_workers": True, "shuffle": True},
    {"sampler": lambda: torch.utils.data.WeightedRandomSampler([1.0] * 25 + [3.0] * 25, 30)},
], ids=lambda options: "-".join(options))
def test_batches_of_producers_are_torchs(beside, options):
    plan = beside(code.Nested(), batch_size=16, num_workers=2, **options)
    assert plan.startswith("2 producers make the samples of Nested")


def test_a_subset_of_a_subset(beside):
    parts = random_split(code.Nested(), [30, 20], torch.Generator().manual_seed(1))
    plan = beside(Subset(parts[0], list(range(29, -1, -2))), batch_size=4, num_workers=1,
                  shuffle=True, generator=lambda: torch.Generator().manual_seed(3))
    assert plan.startswith("1 producers make the samples of Nested")


@pytest.mark.parametrize("workers", [0, 2])
def test_a_folder_is_read_by_the_daemon(beside, folder, workers):
    dataset = ImageFolder(folder, T.Compose(STEPS))
    plan = beside(dataset, batch_size=4, shuffle=True, num_workers=workers)
    assert plan == "the daemon reads, decodes and transforms the 21 pictures of ImageFolder"
    part = random_split(dataset, [15, 6])[0]
    assert beside(part, batch_size=4, shuffle=True, num_workers=workers) == plan


def test_own_transforms_run_behind_the_daemons(beside, folder):
    steps = [T.Resize(20), T.CenterCrop(16), code.Invert(), T.ToTensor(), T.Normalize(.5, .2)]
    plan = beside(ImageFolder(folder, T.Compose(steps)), batch_size=4, num_workers=2, shuffle=True)
    assert plan == ("the daemon reads and decodes the 21 pictures of ImageFolder and runs Resize, "
                    "CenterCrop; 2 producers run Invert, ToTensor, Normalize")
    plan = beside(ImageFolder(folder, code.tensor), batch_size=7, num_workers=1)
    assert plan == ("the daemon reads and decodes the 21 pictures of ImageFolder; 1 producers run "
                    "tensor")


def test_bytes_of_pictures(beside, folder):
    steps = T.Compose([T.Compose([T.Resize((20, 24))]), T.PILToTensor()])
    assert beside(ImageFolder(folder, steps), batch_size=4).startswith("the daemon reads")


def test_samples_as_they_are_now(beside, folder):
    dataset = ImageFolder(folder, T.Compose(STEPS))
    dataset.samples = [(path, 7 - label) for path, label in dataset.samples[::-2]]
    dataset.imgs = dataset.samples
    assert beside(dataset, batch_size=3).endswith(" 11 pictures of ImageFolder")


def test_a_dataset_that_changes_between_epochs(make, folder, tmp_path):
    dataset = ImageFolder(folder, T.Compose(STEPS))
    loader, theirs = make(dataset, 7), torch.utils.data.DataLoader(dataset, 7)
    assert_equal(list(loader), list(theirs))
    dataset.transform.transforms[0] = T.Resize(30)
    assert_equal(list(loader), list(theirs))
    dataset.samples[:] = dataset.samples[7:] + dataset.samples[:7]
    assert_equal(list(loader), list(theirs))
    own = code.Nested()
    loader, theirs = make(own, 25, num_workers=1), torch.utils.data.DataLoader(own, 25)
    assert_equal(list(loader), list(theirs))
    own.factor = 3
    assert_equal(list(loader), list(theirs))


def changed_dataset(dataset):
    dataset.__getitem__ = lambda index: None


def changed_loader(dataset):
    dataset.loader = open


def changed_target(dataset):
    dataset.target_transform = int


def changed_samples(dataset):
    dataset.samples = [(path, [label]) for path, label in dataset.samples]


def changed_transform(dataset):
    dataset.transform = T.Compose([T.Resize(20), T.ToTensor()])
    dataset.transform.transforms[0].forward = lambda picture: picture


def own_transform(dataset):
    dataset.transform = T.Compose([T.Resize(20), changed_loader, T.ToTensor()])


def own_lambda(dataset):
    dataset.transform = T.Compose([T.RandomApply([T.Lambda(repr)]), T.ToTensor()])


def tensors_first(dataset):
    dataset.transform = T.Compose([T.ToTensor(), T.Resize(20)])


def no_transform(dataset):
    dataset.transform = None


@pytest.mark.parametrize("change, why", [
    (changed_dataset, "__getitem__ was replaced"), (changed_loader, "a loader= of its own"),
    (changed_target, "target_transform"), (changed_samples, "other samples"),
    (changed_transform, "Resize was changed"),
    (own_transform, "changed_loader is a transform of your own"),
    (own_lambda, "RandomApply is none"), (tensors_first, "go on with tensors"),
    (no_transform, "it has no transform")])
def test_what_the_daemon_does_not_read_by_itself(folder, change, why):
    dataset = ImageFolder(folder, T.Compose(STEPS))
    assert not isinstance(lowered(dataset), str)
    change(dataset)
    assert why in lowered(dataset) and "RandomAffine" not in lowered(dataset)


def test_other_classes_are_not_read_by_the_daemon(folder, monkeypatch):
    assert "OwnFolder" in lowered(code.OwnFolder(folder, T.Compose(STEPS)))
    monkeypatch.setattr(ImageFolder, "__getitem__", lambda self, index: None)
    assert "__getitem__ was replaced" in lowered(ImageFolder(folder, T.Compose(STEPS)))


@pytest.mark.parametrize("dataset, options, why", [
    (code.Endless(), {"num_workers": 0}, "IterableDataset"),
    (code.Nested(), {"num_workers": 0}, "num_workers=0 runs your code here"),
    (code.Nested(), {"batch_size": None, "num_workers": 0}, "batch_size=None"),
    (code.Nested(), {"sampler": lambda: code.Permuted(range(9)), "num_workers": 0}, "Permuted"),
    (code.Growing(), {"collate_fn": code.pad, "num_workers": 0}, "collate_fn is your own"),
    (code.Locked(), {}, "Locked.stream cannot be pickled"),
], ids=lambda value: type(value).__name__)
def test_what_is_left_to_torch(beside, dataset, options, why):
    plan = beside(dataset, epochs=1, **{"batch_size": 4, "num_workers": 1, **options})
    assert plan.startswith("torch's own DataLoader makes the batches") and why in plan


def test_draws_depend_on_the_seed_and_not_on_the_workers(make):
    def run(seed, workers):
        torch.manual_seed(seed)
        loader = make(code.Drawing(), 5, shuffle=True, num_workers=workers)
        return [values.tolist() for batch in loader for values in batch]
    assert run(0, 1) == run(0, 2) != run(1, 1)


def test_a_state_resumes_with_other_workers(make):
    def loader(workers):
        return make(code.Drawing(), 5, shuffle=True, num_workers=workers)
    torch.manual_seed(3)
    first = loader(1)
    list(first)
    batches = iter(first)
    next(batches), next(batches)
    state = json.loads(json.dumps(first.state_dict()))
    rest = list(batches)
    assert len(rest) == 3 and first.state_dict() == {"stoker": 1}
    second = loader(2)
    second.load_state_dict(state)
    assert second.state_dict() == state
    before = torch.get_rng_state()
    assert_equal(list(second), rest)
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(ValueError, match="no state"):
        second.load_state_dict({"epoch": 3})


def test_ranks_take_their_part(make, folder):
    dataset = ImageFolder(folder, T.Compose(STEPS))
    for epoch in range(2):
        seen = []
        for rank in range(2):
            sampler = torch.utils.data.distributed.DistributedSampler(dataset, 2, rank, seed=4)
            loader = make(dataset, 4, sampler=sampler)
            loader.sampler.set_epoch(epoch)
            theirs = torch.utils.data.DataLoader(dataset, 4, sampler=sampler)
            assert_equal(list(loader), list(theirs))
            seen.append(list(sampler))
        assert set(seen[0] + seen[1]) == set(range(21)) and len(seen[0]) == len(seen[1])


def test_ranks_without_a_sampler_are_told(make, folder, monkeypatch, caplog):
    for name, value in {"is_initialized": True, "get_world_size": 2, "get_rank": 0}.items():
        monkeypatch.setattr(torch.distributed, name, lambda value=value: value)
    loader = make(ImageFolder(folder, T.Compose(STEPS)), 4)
    with caplog.at_level(logging.WARNING):
        assert sum(len(labels) for _, labels in loader) == 21
        list(loader)
    told = [record for record in caplog.records if "DistributedSampler" in record.message]
    assert len(told) == 1 and "each of the 2 ranks gets all samples" in told[0].message


@pytest.mark.parametrize("options", [
    {"shuffle": True}, {"sampler": code.Permuted(range(30))}], ids=lambda options: [*options][0])
def test_a_state_of_what_is_left_to_torch(make, options):
    """As Lightning takes one with each checkpoint."""
    torch.manual_seed(4)
    first = make(code.Nested(), 4, **options)
    assert first.state_dict() == {"stoker": 1}
    batches = iter(first)
    next(batches), next(batches)
    state = json.loads(json.dumps(first.state_dict()))
    rest = list(batches)
    assert len(rest) > 5 and first.state_dict() == {"stoker": 1}
    torch.manual_seed(8)
    before = torch.get_rng_state()
    second = make(code.Nested(), 4, **options)
    second.load_state_dict(state)
    batches = iter(second)
    assert torch.equal(torch.get_rng_state(), before)
    assert_equal(list(batches), rest)
    assert_equal([len(batch["number"]) for batch in second][:5], [4] * 5)


@pytest.mark.parametrize("dataset, options, why", [
    (code.Growing(), {"collate_fn": code.pad, "shuffle": True, "num_workers": 2},
     "collate_fn is your own"),
    (code.Nested(), {"sampler": lambda: code.Permuted(range(9)), "num_workers": 2}, "Permuted"),
    (code.Nested(), {"batch_size": 1, "batch_sampler": [[1, 2], [3], [5] * 9]}, "list may look"),
    (code.Texts(), {}, "0 is a str"), (code.Nested(5), {"batch_size": None}, "batch_size=None"),
], ids=lambda value: type(value).__name__)
def test_whole_batches_of_producers(beside, dataset, options, why):
    options = {"batch_size": 4, "num_workers": 1, **options}
    plan = beside(dataset, epochs=2, **options)
    assert plan.startswith(f"{options['num_workers']} producers make the batches of ") and \
        why in plan


def test_a_batch_that_a_producer_cannot_give_is_made_here(make, caplog):
    loader = make(code.Growing(2000), 4, num_workers=1, collate_fn=code.Failing.collate)
    batches = iter(loader)
    for number in range(4):  # four times as large as the first, at last
        assert next(batches).shape == (4, 2000 * (4 * number + 4))
    with pytest.raises(KeyError, match="batch four"):
        next(batches)
    assert next(batches).shape == (4, 2000 * 24)
    state = loader.state_dict()
    assert state["batches"] == 6
    loader.load_state_dict(state)
    assert [batch.shape[1] for batch in loader] == [2000 * (4 * number + 4)
                                                    for number in range(6, 10)]


def test_an_unending_sampler_draws_no_further_ahead_than_torch(make):
    counts = []
    for kind in torch.utils.data.DataLoader, make:
        sampler = code.Unending()
        batches = iter(kind(code.Processes(), batch_sampler=sampler, num_workers=2,
                            prefetch_factor=3))
        counts.append([])
        for number in range(1, 20):
            assert next(batches)[:, 1].tolist() == [number % 40] * (1 + number % 3)
            counts[-1].append(sampler.drawn)
    assert counts[0] == counts[1] == list(range(7, 26))


@pytest.mark.parametrize("options", [{}, {"collate_fn": torch.stack}], ids=["samples", "batches"])
def test_a_loader_made_anew_has_the_producers_of_the_one_before(make, options):
    """As of an evaluation behind each epoch. Those of a loader in use stay its own."""
    def pids(loader):
        return {row[0].item() for batch in loader for row in batch}
    first, second = (make(code.Processes(), batch_size=4, num_workers=1, **options)
                     for _ in range(2))
    theirs = pids(first)
    assert len(theirs) == 1 and pids(second) == theirs
    batches = iter(second)
    next(batches)
    assert sorted(index for batch in first for index in batch[:, 1].tolist()) == list(range(40))
    assert {row[0].item() for batch in batches for row in batch} == theirs


@pytest.mark.parametrize("options", [{}, {"batch_sampler": [[7, 3]] * 9 + [[5]], "batch_size": 1}],
                         ids=["drawn at once", "as it goes"])
def test_an_epoch_longer_than_the_streams(make, monkeypatch, options):
    monkeypatch.setattr("stoker.produce.batches._STREAMS_EPOCH", 4)
    options = {"batch_size": 4, **options}
    loader = make(code.Processes(), collate_fn=torch.stack, num_workers=2, **options)
    theirs = torch.utils.data.DataLoader(code.Processes(), **options)
    for _ in range(2):
        assert [batch[:, 1].tolist() for batch in loader] == \
            [batch[:, 1].tolist() for batch in theirs]
    batches = iter(loader)
    for _ in range(6):
        next(batches)
    loader.load_state_dict(json.loads(json.dumps(loader.state_dict())))
    assert [batch[:, 1].tolist() for batch in loader] == \
        [batch[:, 1].tolist() for batch in theirs][6:]


def test_whole_batches_come_of_the_same_processes_in_each_epoch(make, tmp_path):
    loader = make(code.Processes(), 4, shuffle=True, collate_fn=torch.stack, num_workers=1)
    pids = {batch[0, 0].item() for _ in range(3) for batch in loader}
    assert len(pids) == 1 and os.getpid() not in pids
    batches = iter(loader)
    next(batches)
    assert any(name.startswith("batches-") for name in os.listdir(tmp_path))
    list(batches)
    assert not any(name.startswith("batches-") for name in os.listdir(tmp_path))
    left = tmp_path / "batches-0-of-a-program-that-died"
    left.mkdir()
    list(loader)
    assert not left.exists()


@pytest.mark.parametrize("dataset, options", [
    (code.Lines(), {"batch_size": 4, "num_workers": 3, "worker_init_fn": code.ready}),
    (code.Lines(9), {"batch_size": None, "num_workers": 2}),
    (code.Lines(24, 100000), {"batch_size": 7, "num_workers": 1, "drop_last": True}),
], ids=["three workers", "samples", "large"])
def test_an_iterable_dataset(beside, dataset, options):
    """With torch's order, random numbers and get_worker_info()."""
    plan = beside(dataset, epochs=2, **options)
    assert plan == (f"{options['num_workers']} producers run Lines, an IterableDataset, each with "
                    "an iterator of its own; no other program shares its batches")


def test_a_state_of_an_iterable_dataset(make):
    loader = make(code.Lines(), 4, num_workers=3)
    list(loader)
    batches = iter(loader)
    for _ in range(13):
        next(batches)
    state = json.loads(json.dumps(loader.state_dict()))
    rest = list(batches)
    other = make(code.Lines(), 4, num_workers=3)
    other.load_state_dict(state)
    assert_equal(list(other), rest)
    two = make(code.Lines(), 4, num_workers=2)
    two.load_state_dict(state)
    with pytest.raises(ValueError, match="of 3 workers"):
        iter(two)


def test_a_process_of_an_iterable_dataset_that_dies(make, tmp_path):
    torch.manual_seed(7)
    theirs = list(torch.utils.data.DataLoader(code.Lines(), 4, num_workers=2))
    torch.manual_seed(7)
    assert_equal(list(make(code.Deadly(tmp_path / "died"), 4, num_workers=2)), theirs)
    assert (tmp_path / "died").exists()


def test_an_iterable_dataset_that_raises(make):
    batches = iter(make(code.Broken(), 2, num_workers=2))
    assert [next(batches)["text"][0] for _ in range(4)] == ["line 0", "line 1", "line 4", "line 5"]
    with pytest.raises(KeyError, match="in DataLoader worker process 0(.|\n)*line five"):
        next(batches)


def test_what_a_dataset_opens_at_its_first_sample_is_not_in_the_way(beside):
    assert "producers make the samples of Lazy" in beside(code.Lazy(), batch_size=4, num_workers=1)
    plan = beside(code.Lazy(), batch_size=4, num_workers=1, collate_fn=code.first)
    assert "producers make the batches of Lazy" in plan


def test_a_sample_that_raises(make):
    batches = iter(make(code.Failing(12), 4, num_workers=2))
    assert next(batches)["number"].tolist() == [0, 1, 2, 3]
    with pytest.raises(stoker.SampleError, match="KeyError: 'sample five'"):
        next(batches)
    assert next(batches)["number"].tolist() == [8, 9, 10, 11]
    with pytest.raises(StopIteration):
        next(batches)


def test_producers_know_that_they_are_workers(make):
    loader = make(code.Workers(), 1, num_workers=2, worker_init_fn=code.ready)
    assert "producers make the samples of Workers" in loader.plan()
    own = make(code.Workers(), 1, num_workers=2, worker_init_fn=code.ready, collate_fn=list)
    assert "producers make the batches of Workers" in own.plan()
    for batches in (loader, own):
        seen = {tuple(batch[0].tolist()) for batch in batches}
        assert seen <= {(0, 2, 0, 40), (1, 2, 1, 40)} and seen
    assert torch.utils.data.get_worker_info() is None and code.Workers.ready == -1


def test_one_line_says_the_plan(make, caplog):
    loader = make(code.Nested(4), 2)
    with caplog.at_level(logging.INFO):
        list(loader), list(loader)
    assert [record.message for record in caplog.records] == ["DataLoader: " + loader.plan()]


def test_an_epoch_is_freed_without_a_search_for_circles(make, folder):
    """A device's tensors must not be freed where Python happens to look, in a forked process."""
    loader = make(ImageFolder(folder, T.Compose(STEPS)), 4)
    gc.collect()
    gc.disable()
    try:
        batches = iter(loader)
        next(batches)
        gone = weakref.ref(batches)
        loader.close()
        loader._now = None
        del batches
        assert gone() is None
    finally:
        gc.enable()


def test_batches_are_counted_and_two_passes_at_once(make, folder):
    loader = make(ImageFolder(folder, T.Compose(STEPS)), 4)
    assert len(loader) == 6 and len(iter(loader)) == 6
    for (one, _), (other, _) in zip(loader, loader):
        assert torch.equal(one, other)
