# SPDX-License-Identifier: MIT
"""Samplers, echo and views of the Python client: what is sent, and what comes."""
import gc
import itertools
import json
import os
from collections import Counter

import numpy as np
import pytest
from test_loader import first_state

import stoker
from real_daemon import pictures
from stoker import samplers

COUNT, EACH = 21, 7
PLAIN = [stoker.Resize((8, 8))]
RANDOM = [stoker.RandomResizedCrop(8), stoker.RandomHorizontalFlip()]


def load(node, folder, **options):
    return node.loader(folder, **{"batch_size": 4, "transforms": PLAIN, "dtype": "uint8",
                                  "layout": "NHWC", "seed": 3, "timeout": 60, **options})


def indices(loader):
    return [int(index) for batch in loader.batches() for index in batch.index]


def test_as_dicts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path / "some.npy")
    for sampler, wanted in (
            (samplers.Subset(range(3)), {"name": "subset", "indices": [0, 1, 2]}),
            (samplers.Subset(np.array([4, 2])), {"name": "subset", "indices": [4, 2]}),
            (samplers.Subset("some.npy"), {"name": "subset", "indices": here}),
            (samplers.Split(0.2, "training"),
             {"name": "split", "validation_split": 0.2, "subset": "training"}),
            (samplers.Weighted(tmp_path / "some.npy", num_samples=9),
             {"name": "weighted", "weights": here, "num_samples": 9}),
            (samplers.Weighted(weights_by_class=(1, 2.5)),
             {"name": "weighted", "weights_by_class": [1, 2.5]}),
            (samplers.Balanced(), {"name": "balanced"}),
            (samplers.Balanced(per_class=np.int64(5)), {"name": "balanced", "per_class": 5}),
            ({"name": "subset", "indices": (1, np.int64(2))},
             {"name": "subset", "indices": [1, 2]})):
        assert samplers.to_dict(sampler) == wanted
    for wrong in ("subset", [1, 2], 5, list(range(5000))):
        with pytest.raises(TypeError, match=r"not a sampler.*Subset \(with indices\)") as caught:
            samplers.to_dict(wrong)
        assert len(str(caught.value)) < 400
    with pytest.raises(ValueError, match="weights_by_class has 5000 entries, at most 4096"):
        samplers.to_dict(samplers.Weighted(weights_by_class=[1.0] * 5000))
    for wrong in ([0.5] * 5000, [True] * 5000, [[1]] * 5000, ["a"] * 5000):
        with pytest.raises(TypeError, match="indices must be"):
            samplers.to_dict(samplers.Subset(wrong))


@pytest.fixture(name="many")
def fixture_many(tmp_path):
    """An array of 6000 pictures, each of another colour."""
    pixels = np.zeros((6000, 4, 4, 3), np.uint8)
    pixels[:] = np.arange(6000 * 3).reshape(6000, 1, 1, 3) % 251
    np.save(tmp_path / "many.npy", pixels)
    return str(tmp_path / "many.npy")


def test_lists_of_any_length(near, many, tmp_path, monkeypatch):
    """As with the same list in a file; nothing is written, and nothing stays open."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nothing-here"))
    rng = np.random.default_rng(2)
    chosen, weights = rng.permutation(6000)[:5500], rng.random(6000)
    np.save(tmp_path / "chosen.npy", chosen)
    np.save(tmp_path / "weights.npy", weights)
    opened = len(os.listdir("/proc/self/fd"))
    for shuffle in (True, False):
        options = {"batch_size": 500, "transforms": [], "shuffle": shuffle}
        for by_file, lists in (
                (samplers.Subset(str(tmp_path / "chosen.npy")),
                 [chosen, chosen.tolist(), chosen.astype("int32"), tuple(chosen)]),
                (samplers.Weighted(str(tmp_path / "weights.npy")), [weights, weights.tolist()])):
            with load(near, many, sampler=by_file, **options) as loader:
                wanted, identity = indices(loader), loader.state_dict()
            if not shuffle and isinstance(by_file, samplers.Subset):
                assert wanted == chosen.tolist()
            for each in lists:
                with load(near, many, sampler=type(by_file)(each), **options) as loader:
                    assert indices(loader) == wanted
                    loader.load_state_dict(identity)
                    assert loader.batch(0, 3).index.tolist() == wanted[1500:2000]
    del loader
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == opened


def test_a_long_list_outlives_the_daemon(real, many):
    chosen = list(range(5999, 0, -1))
    with stoker.connect(real.path) as node, \
            load(node, many, sampler=samplers.Subset(chosen), batch_size=100, transforms=[],
                 shuffle=False) as loader:
        walk = loader.batches()
        found = [int(index) for _ in range(5) for index in next(walk).index]
        real.stop()
        real.start()
        found += [int(index) for batch in walk for index in batch.index]
        assert found == chosen and loader.reconnects == 1


def test_a_long_list_for_a_daemon_without_descriptors(daemon, node):
    with pytest.raises(ValueError, match="indices.npy is too long for a request.*no descriptors"):
        node.loader("/data/20", batch_size=2, sampler=samplers.Subset(range(5000)))


def test_a_subset_of_a_subset():
    """Its indices count in the inner one."""
    data = pytest.importorskip("torch.utils.data")
    inner = data.Subset(list(range(100)), [50, 60, 70, 80])
    assert samplers.to_dict(data.Subset(inner, [3, 0]))["indices"] == [80, 50]
    whole = data.Subset(data.Subset(inner, [3, 0, 1]), [2, 1])
    assert samplers.to_dict(whole)["indices"] == [60, 50]


def test_torchs_own():
    data = pytest.importorskip("torch.utils.data")
    assert samplers.to_dict(data.SubsetRandomSampler([3, 1])) == \
        {"name": "subset", "indices": [3, 1]}
    assert samplers.to_dict(data.Subset(list(range(9)), [5, 4])) == \
        {"name": "subset", "indices": [5, 4]}
    assert samplers.to_dict(data.WeightedRandomSampler([0.5, 2], 7)) == \
        {"name": "weighted", "weights": [0.5, 2], "num_samples": 7}
    with pytest.raises(ValueError, match="replacement"):
        samplers.to_dict(data.WeightedRandomSampler([0.5, 2], 2, replacement=False))
    with pytest.raises(TypeError, match="not a sampler"):
        samplers.to_dict(data.SequentialSampler([1]))


def test_what_is_asked_for(daemon, node):
    node.loader("/data/20", batch_size=2, echo=3, echo_window=8, views=2, validation_split=0.25,
                subset="validation")
    asked = daemon.last("attach")
    assert (asked["echo"], asked["echo_window"], asked["views"]) == (3, 8, 2)
    assert asked["sampler"] == {"name": "split", "validation_split": 0.25, "subset": "validation"}
    assert "subset_start" not in asked
    node.loader("/data/20", batch_size=2)
    assert not {"sampler", "echo", "echo_window", "views"} & set(daemon.last("attach"))
    for wrong in ({"subset": "training"}, {"validation_split": 0.5},
                  {"validation_split": 0.5, "subset": (0, 5)},
                  {"validation_split": 0.5, "subset": "training",
                   "sampler": samplers.Balanced()}):
        with pytest.raises(ValueError, match="validation_split"):
            node.loader("/data/20", batch_size=2, **wrong)


def test_epochs_are_made_of_what_was_asked_for(near, folder):
    listed = [20, 0, 5, 5, 9]
    loader = load(near, folder, sampler=samplers.Subset(listed), shuffle=False)
    assert loader.samples == 5 and indices(loader) == listed
    loader = load(near, folder, sampler=samplers.Subset(listed))
    assert sorted(indices(loader)) == sorted(listed)
    validation = {label * EACH + i for label in range(3) for i in range(2)}
    parts = [load(near, folder, validation_split=0.3, subset=part)
             for part in ("validation", "training")]
    assert [set(indices(part)) for part in parts] == \
        [validation, set(range(COUNT)) - validation]
    loader = load(near, folder, sampler=samplers.Weighted(weights_by_class=[0, 1, 0],
                                                          num_samples=50))
    got = indices(loader)
    assert len(got) == 50 and {index // EACH for index in got} == {1}
    loader = load(near, folder, sampler=samplers.Balanced(per_class=4))
    assert Counter(index // EACH for index in indices(loader)) == {0: 4, 1: 4, 2: 4}


def test_datasets_mixed(near, folder, tmp_path):
    other = pictures(tmp_path / "other", each=2)
    loader = load(near, stoker.Mix([folder, other]), shuffle=False)
    assert indices(loader) == list(range(COUNT + 6))
    assert loader.paths([0, COUNT]) == [folder + "/class0/000.png", other + "/class0/000.png"]
    with pytest.raises(ValueError, match="2 weights for 1"):
        stoker.Mix([folder], weights=[1, 2])
    for wrong in ([folder], str(folder), {"path": folder}):
        with pytest.raises(ValueError, match="a Mix needs a list of 2 to 16 datasets, not"):
            stoker.Mix(wrong)
    with pytest.raises(ValueError, match="num_samples"):
        stoker.Mix([folder, other], num_samples=2)
    mix = stoker.Mix([folder, other], weights=[0.25, 0.75], num_samples=400)
    got = Counter(index >= COUNT for index in indices(load(near, mix)))
    assert 260 < got[True] < 340 and got[True] + got[False] == 400  # of these draws, forever
    with pytest.raises(ValueError, match="leave out sampler"):
        load(near, mix, sampler=samplers.Balanced())


def test_echo(near, folder):
    loader = load(near, folder, echo=3, echo_window=8, transforms=RANDOM)
    assert loader.samples == 3 * COUNT and len(loader) == 16
    assert Counter(indices(loader)) == dict.fromkeys(range(COUNT), 3)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_views(near, folder, layout):
    alone = load(near, folder, transforms=RANDOM, layout=layout)
    loader = load(near, folder, transforms=RANDOM, layout=layout, views=5)
    for (images, labels), (views, theirs) in itertools.zip_longest(alone, loader):
        assert views.shape == (len(images), 5, *images.shape[1:])
        assert np.array_equal(views[:, 0], images) and np.array_equal(labels, theirs)


SAMPLINGS = {"subset": {"sampler": samplers.Subset([3, 17, 4, 9, 9, 12, 2])},
             "split": {"validation_split": 0.3, "subset": "training"},
             "weighted": {"sampler": samplers.Weighted(weights_by_class=[1, 2, 3])},
             "balanced": {"sampler": samplers.Balanced(5)},
             "echo": {"echo": 2, "echo_window": 6}, "views": {"views": 2}}


@pytest.mark.parametrize("name", SAMPLINGS)
def test_a_state_is_of_its_sampler(near, folder, name):
    """It resumes byte for byte; a loader with another sampler refuses it and says why."""
    options = {"transforms": RANDOM, **SAMPLINGS[name]}
    whole = [image.tobytes() for images, _ in load(near, folder, **options) for image in images]
    first = load(near, folder, **options)
    assert len(first.sampling_hash) == 32
    it = iter(first)
    got = [image.tobytes() for image in next(it)[0]]
    state = json.loads(json.dumps(first.state_dict()))
    first.close()
    second = load(near, folder, **options)
    second.load_state_dict(state)
    got += [image.tobytes() for images, _ in second for image in images]
    assert got == whole
    plain = load(near, folder, transforms=RANDOM)
    assert plain.sampling_hash == ""
    word = name if name in ("echo", "views") else "sampler"
    with pytest.raises(stoker.TokenError, match=f"^{word}"):
        plain.load_state_dict(state)
    with pytest.raises(stoker.TokenError, match=f"^{word}"):
        second.load_state_dict(plain.state_dict())
    older = first_state(plain)
    del older["sampling"]  # of before there were samplers
    with pytest.raises(stoker.TokenError, match="^sampling"):
        second.load_state_dict({**first_state(second), "sampling": ""})
    plain.load_state_dict(older)


def test_any_batch_of_a_sampled_epoch(near, folder):
    loader = load(near, folder, echo=2, echo_window=6, views=2, transforms=RANDOM,
                  sampler=samplers.Balanced(5))
    images = [images.copy() for images, _ in loader]
    for k in (0, 3, -1):
        assert np.array_equal(loader.batch(0, k).images, images[k])


def test_what_is_wrong_is_said(near, folder):
    for options, words in (({"sampler": samplers.Subset([21])}, "index 21"),
                           ({"sampler": samplers.Balanced(), "subset": (0, 5)}, "subset_start"),
                           ({"validation_split": 1.5, "subset": "training"}, "between 0 and 1"),
                           ({"sampler": {"name": "lucky"}}, "lucky")):
        with pytest.raises(stoker.ArgumentError, match=words):
            load(near, folder, **options)
    for options in ({"echo": 0}, {"views": 0}, {"echo_window": 1}):
        with pytest.raises(ValueError, match=next(iter(options))):
            load(near, folder, **options)
