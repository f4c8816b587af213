# SPDX-License-Identifier: MIT
"""Crops of the Python client: several fields of images, by name, from one decode."""
import json

import numpy as np
import pytest

import stoker
from real_daemon import pictures

LARGE = [stoker.RandomResizedCrop(12, scale=(0.4, 1)), stoker.RandomHorizontalFlip()]
SMALL = [stoker.RandomResizedCrop(6, scale=(0.05, 0.4))]
CROPS = {"global": (2, LARGE), "local": (np.int64(6), SMALL)}


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory):
    return pictures(tmp_path_factory.mktemp("crops"))


def load(node, folder, **options):
    return node.loader(folder, **{"batch_size": 4, "dtype": "uint8", "layout": "NHWC", "seed": 3,
                                  "timeout": 60, **options})


def test_crops_are_views_of_their_lists(near, folder):
    loader = load(near, folder, crops=CROPS)
    large = load(near, folder, transforms=LARGE, views=2)
    small = load(near, folder, transforms=SMALL, views=8)
    assert loader.fields["global"].shape == (2, 12, 12, 3)
    assert loader.fields["local"].shape == (6, 6, 6, 3) and "image" not in loader.fields
    count = 0
    for batch, first, second in zip(loader.batches(), large, small):
        assert list(batch.images) == ["global", "local"]
        assert np.array_equal(batch["global"], first[0])
        assert np.array_equal(batch["local"], second[0][:, 2:])
        assert np.array_equal(batch.labels, first[1])
        with pytest.raises(KeyError, match="no field 'image'"):
            batch["image"]
        count += len(batch)
    assert count == loader.samples


def test_pairs_have_a_dict_of_images(near, folder):
    loader = load(near, folder, crops=CROPS)
    images, labels = next(iter(loader))
    assert images["local"].shape == (len(labels), 6, 6, 6, 3)
    same = loader.batch(0, 0)
    assert np.array_equal(same.images["global"], images["global"])
    parts = same.split(2)
    assert [len(part["global"]) for part, _ in parts] == [2, 2]
    assert np.array_equal(parts[1][0]["local"], images["local"][2:])


def test_a_state_is_of_its_crops(near, folder):
    """It resumes byte for byte; a loader with other crops refuses it and says why."""
    def flat(images):
        return [images[name].tobytes() for name in ("global", "local")]

    whole = [flat(images) for images, _ in load(near, folder, crops=CROPS)]
    first = load(near, folder, crops=CROPS)
    got = [flat(next(iter(first))[0])]
    state = json.loads(json.dumps(first.state_dict()))
    second = load(near, folder, crops=CROPS)
    second.load_state_dict(state)
    assert got + [flat(images) for images, _ in second] == whole
    other = load(near, folder, crops={**CROPS, "local": (5, SMALL)})
    with pytest.raises(stoker.TokenError, match="^transforms|^pipeline"):
        other.load_state_dict(state)


def test_what_is_wrong_is_said(near, folder):
    for crops in ([("global", 2, LARGE)], {"global": LARGE[:1]}, {"global": 2}):
        with pytest.raises(TypeError, match=r'crops must be a dict of pairs, \{"global"'):
            load(near, folder, crops=crops)
    with pytest.raises(TypeError):
        load(near, folder, crops={"global": (2.5, LARGE)})
    with pytest.raises(ValueError, match="crops and transforms do not go together"):
        load(near, folder, crops=CROPS, transforms=LARGE)
    for crops in ({}, {"label": (1, LARGE)}, {"global": (0, LARGE)}):
        with pytest.raises(stoker.PipelineError, match="Crops"):
            load(near, folder, crops=crops)
    with pytest.raises(stoker.ArgumentError, match="views and Crops"):
        load(near, folder, crops=CROPS, views=2)


@pytest.mark.parametrize("copy", [False, True])
def test_torch_has_them(near, folder, copy):
    """Tensors by name, and what ``fields`` names behind the labels."""
    pytest.importorskip("torch")
    import stoker.torch
    numbers = load(near, folder, crops=CROPS)
    loader = stoker.torch.Loader(folder, 4, node=near, crops=CROPS, dtype="uint8", layout="NHWC",
                                 seed=3, timeout=60, copy=copy)
    for (images, labels), (theirs, kinds) in zip(numbers, loader):
        assert list(theirs) == ["global", "local"]
        for name, array in images.items():
            assert np.array_equal(array, theirs[name].numpy())
        assert np.array_equal(labels, kinds.numpy())


def test_dask_refuses_them(folder):
    pytest.importorskip("dask")
    import stoker.dask
    with pytest.raises(ValueError, match="give transforms, not crops"):
        stoker.dask.epoch(folder, 4, crops=CROPS)
