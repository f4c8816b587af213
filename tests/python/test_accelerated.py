# SPDX-License-Identifier: MIT
"""stoker.torch.DataLoader in the hands of Accelerate, or what makes loaders as its versions do:
tests/scripts have the real one."""
import logging
import sys
import types

import pytest

torch = pytest.importorskip("torch")

import torch.utils.data
from torch.utils.data import BatchSampler

import stoker
import torch_code as code
from stoker.torch import DataLoader

Torchs = torch.utils.data.DataLoader


def twice(batch):
    return {**batch, "x": batch["x"] * 2}



class BatchSamplerShard(BatchSampler):
    """Every second batch."""

    def __init__(self, batch_sampler, process_index):
        self.batch_sampler, self.process_index = batch_sampler, process_index

    def __iter__(self):
        yield from list(self.batch_sampler)[self.process_index::2]

    def __len__(self):
        return len(self.batch_sampler) // 2


BatchSamplerShard.__module__ = "accelerate.data_loader"


class Old(Torchs):
    def __init__(self, dataset, device=None, **options):
        super().__init__(dataset, **options)
        self.device = device

    def __iter__(self):
        yield from map(twice, super().__iter__())


class New:
    def __init__(self, dataset, **options):
        self.base_dataloader = Torchs(dataset, **options)
        self.__class__ = type("New", (New, Torchs), {})

    def __getattr__(self, name):
        if name == "base_dataloader":
            raise AttributeError(name)
        return getattr(self.base_dataloader, name)

    def __iter__(self):
        yield from map(twice, self.base_dataloader.__iter__())


class Stateful(Torchs):
    def _get_iterator(self):
        return super()._get_iterator()


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)


@pytest.fixture
def accelerate(monkeypatch):
    """A function: a module that makes loaders of this kind. Others have imported from it."""
    def accelerate(kind):
        def prepare_data_loader(dataloader, rank=0):
            return kind(dataloader.dataset, num_workers=dataloader.num_workers,
                        batch_sampler=BatchSamplerShard(dataloader.batch_sampler, rank))
        module, other = types.ModuleType("accelerate.data_loader"), types.ModuleType("other")
        module.prepare_data_loader = other.prepare_data_loader = prepare_data_loader
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(sys.modules, "a trainer", other)
        return other
    return accelerate


@pytest.fixture
def given(real):
    with stoker.connect(real.path) as node:
        torch.manual_seed(3)
        yield DataLoader(code.Nested(), 4, shuffle=True, num_workers=1, node=node)


@pytest.mark.parametrize("kind", [Old, New, Torchs], ids=lambda kind: kind.__name__)
def test_what_is_made_of_stokers_is_stokers(given, accelerate, kind):
    """Also where it is imported after the loader was made: it asks for a mark of its own first."""
    module = accelerate(kind)
    assert not getattr(given, "_is_accelerate_prepared", False)
    made = module.prepare_data_loader(given, 1)
    assert isinstance(made, Torchs) and made.node is given.node
    assert made.plan().startswith("1 producers make the samples of Nested")
    torch.manual_seed(5)
    found = list(made)
    torch.manual_seed(5)
    wanted = list(kind(given.dataset, num_workers=1,
                       batch_sampler=BatchSamplerShard(given.batch_sampler, 1)))
    assert repr(found) == repr(wanted) and len(found) == 6
    made.close()


def test_its_own_way_of_keeping_the_place(given, accelerate):
    module = accelerate(Old)
    assert not getattr(given, "_is_accelerate_prepared", False)
    made = module.prepare_data_loader(given)
    assert not hasattr(made, "state_dict") and not hasattr(made, "load_state_dict")
    assert module.prepare_data_loader(made).plan() == made.plan() == given.plan()
    made.close()


def test_torchs_stays_torchs(given, accelerate):
    module = accelerate(Old)
    assert not getattr(given, "_is_accelerate_prepared", False)
    made = module.prepare_data_loader(Torchs(given.dataset, 4))
    assert type(made) is Old


def test_what_makes_batches_by_itself_is_told(given, accelerate, caplog):
    module = accelerate(Stateful)
    assert not getattr(given, "_is_accelerate_prepared", False)
    with caplog.at_level(logging.WARNING, "stoker"):
        assert type(module.prepare_data_loader(given)) is Stateful
    assert "Accelerate has made a Stateful of a stoker.torch.DataLoader" in caplog.text
