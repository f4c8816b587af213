# SPDX-License-Identifier: MIT
"""Sources that are read by the shard: row groups of Parquet files, in the order "shards", with the
real daemon."""
import contextlib
import logging
import os
import pathlib
import sys

import pytest

import stoker
import stored_files as made
from stoker import sources
from stoker.produce.source import Shards
from stoker.sources import _tables, parquet

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "reference"))
import sampling  # noqa: E402

SLOW = float(os.environ.get("STOKER_SLOW", "1"))


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    """Keep the producers' secret in a folder of the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)


@pytest.fixture
def load(real):
    with contextlib.ExitStack() as stack:
        node = stack.enter_context(stoker.connect(real.path))

        def load(dataset, **more):
            return stack.enter_context(node.loader(dataset, **{
                "batch_size": 4, "seed": 5, "transforms": [stoker.RandomCrop(16)],
                "dtype": "uint8", "timeout": 60 * SLOW, "num_workers": 0, **more}))
        yield load


@pytest.fixture
def large(folder, tmp_path, monkeypatch):
    """A file of which a window has less than half."""
    file = made.parquet(folder, tmp_path)
    size = sum(map(len, made.pictures_of(folder)[0]))
    monkeypatch.setattr(_tables, "_KEPT", size // 2)
    return str(file)


@pytest.fixture
def reads(monkeypatch):
    """The row groups that this process reads."""
    found = []
    read = parquet._Rows.read

    def counted(self, number, place):
        found.append(place)
        return read(self, number, place)
    monkeypatch.setattr(parquet._Rows, "read", counted)
    return found


def indices(loader):
    return [int(index) for batch in loader.batches() for index in batch.index]


def epoch(batches):
    return [(images.tobytes(), labels.tolist()) for images, labels in batches]


def test_each_group_is_read_once(load, large, reads):
    """And the order is the daemon's, with row groups as shards."""
    source = sources.Parquet(large)
    assert source.description()["shards"] == "4x5 1" and 4 <= source.shards.window < 11
    got = indices(load(source, epochs=1))
    assert sorted(got) == list(range(21)) and sorted(reads) == list(range(6))
    loader = load(source)
    for number in range(2):
        want = sampling.shards_order([4] * 5 + [1], source.shards.window, 5, number)
        assert indices(loader) == want and (number or got == want)


def test_the_number_of_producers_changes_nothing(load, large):
    want = epoch(load(large))
    for count in (1, 2, 3):
        assert epoch(load(large, num_workers=count)) == want


def test_global_is_said_to_be_slow(load, large, reads, caplog):
    with caplog.at_level(logging.WARNING):
        load(large, shuffle=False, order="global")
        assert not caplog.records
        assert len(indices(load(large, order="global"))) == 21
    assert "'global' of parquet x.parquet: a sample takes one of 6 row groups, of" in caplog.text
    assert len(reads) > 6


def test_where_another_order_is_needed_global_is_the_default(load, large):
    assert len(indices(load(large, sampler=stoker.samplers.Subset([7, 3, 5])))) == 3
    assert len(indices(load(large, sampler=stoker.samplers.Weighted([1.0] * 21)))) == 21
    assert sorted(indices(load(large, subset="training", validation_split=0.5))
                  + indices(load(large, subset="validation", validation_split=0.5))
                  ) == list(range(21))
    with pytest.raises(stoker.ArgumentError, match="'shards' goes with the samplers split and"):
        load(large, order="shards", sampler=stoker.samplers.Weighted([1.0] * 21))


def test_other_row_groups_are_another_dataset(load, folder, tmp_path):
    """A token is of its shards."""
    loader = load(str(made.parquet(folder, tmp_path)))
    next(iter(loader))
    token = loader.state_dict()
    source = sources.Parquet(str(tmp_path / "x.parquet"))
    source.shards = Shards([21], source.shards.window)
    with pytest.raises(stoker.TokenError, match="dataset"):
        load(source).load_state_dict(token)


def test_files_of_arrow_are_shards(load, folder, tmp_path):
    source = sources.Arrow(made.arrow(folder, tmp_path))
    assert source.description()["shards"] == "21"
    assert sorted(indices(load(source, order="shards", window=4))) == list(range(21))


def test_sizes_as_a_text():
    assert Shards([1000] * 120 + [532]).described() == "1000x120 532"
    assert Shards([3, 0, 3, 1]).described() == "3x2 1"
    mixed = [1 + index % 97 for index in range(9001)]
    text = Shards(mixed).described()
    runs = [[int(part) for part in run.split("x")] for run in text.split()]
    assert len(text) < 4096 and sum(size * (times or [1])[0] for size, *times in runs) == sum(mixed)
    assert Shards([1] * (1 << 21)).described() == "2x1048576"
