# SPDX-License-Identifier: MIT
"""Buckets beside fields and transforms of others: what stands behind them, partners of MixUp and
CutMix, points, drafts, several datasets as one; and code of the user, which is refused: so they
meet no ragged field either; masks of 16 bits and of instances; Crops."""
import json

import numpy as np
import pytest

import own_code
import own_maps
import stoker

SIZES = [(48, 48), (32, 64), (64, 32)]
EDGES = [(70, 72), (40, 90), (90, 40), (64, 66), (30, 60)]  # (width, height) of pictures
COUNT = 15
WISH = {"batch_size": 2, "layout": "NHWC", "seed": 3, "resize": "pillow-12", "timeout": 60}


@pytest.fixture(name="listed", scope="module")
def fixture_listed(tmp_path_factory):
    """Pictures of one grey value each, of three classes."""
    from PIL import Image
    folder, lines = tmp_path_factory.mktemp("beside"), []
    for number in range(COUNT):
        grey = (10 * number + 20,) * 3
        Image.new("RGB", EDGES[number % len(EDGES)], grey).save(folder / f"{number}.png")
        lines.append({"path": f"{number}.png", "label": "abc"[number % 3]})
    path = folder / "list.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def samples(loader):
    """Each batch's arrays by name, sample by sample."""
    for batch in loader.batches():
        for number in range(batch.count - batch.padded):
            yield {name: batch[name][number] for name in loader.fields}


def test_pad_to_behind_buckets_says_where_the_picture_is(near, listed):
    loader = near.loader(str(listed), transforms=[
        stoker.Buckets(SIZES), stoker.Pad(to=(64, 72), center=True)], dtype="uint8", **WISH)
    assert loader.shapes == [(64, 72, 3)] * len(SIZES)
    seen = {}
    for sample in samples(loader):
        left, top, right, low = (int(edge) for edge in sample["real_box"])
        grey = 10 * int(sample["index"]) + 20
        inside = sample["image"][top:low, left:right]
        assert sample["image"].shape == (64, 72, 3) and (inside == grey).all()
        assert sample["image"].sum() == inside.sum()  # black around it
        assert (left, top) == ((72 - (right - left)) // 2, (64 - (low - top)) // 2)
        seen[int(sample["index"])] = low - top, right - left
    assert len(seen) == COUNT and set(seen.values()) == set(SIZES)


def test_mosaics_of_one_bucket(near, listed):
    """The four of a group are in one run, so of one size; each field has all of them."""
    loader = near.loader(str(listed), transforms=[stoker.Buckets(SIZES), stoker.Mosaic()],
                         dtype="uint8", **WISH)
    count = 0
    for sample in samples(loader):
        image = sample["image"]
        greys = image[[0, 0, -1, -1], [0, -1, 0, -1], 0]
        assert image.shape[:2] in SIZES and sample["crop_box"].shape == (4, 4)
        for grey, size in zip(greys, sample["original_size"]):
            width, height = EDGES[(int(grey) - 20) // 10 % len(EDGES)]
            assert tuple(size) == (height, width)
        assert greys[0] == 10 * int(sample["index"]) + 20
        count += 1
    assert count == COUNT
    with pytest.raises(stoker.RequestError, match="cannot be joined in groups of 4"):
        near.loader(str(listed), transforms=[stoker.Buckets(SIZES, run=6), stoker.Mosaic()],
                    dtype="uint8", **WISH)


def test_partners_of_mix_up_leave_the_fields_of_the_sample(near, listed):
    """A partner has no fields, so those of the crop and of what is padded are the sample's own."""
    loader = near.loader(str(listed), transforms=[
        stoker.Buckets(SIZES), stoker.Pad(to=(64, 72)), stoker.MixUp()], dtype="float32", **WISH)
    mixed, seen = 0, set()
    for sample in samples(loader):
        index = int(sample["index"])
        width, height = EDGES[index % len(EDGES)]
        assert tuple(sample["original_size"]) == (height, width)
        right, low = (int(edge) for edge in sample["real_box"][2:])
        assert tuple(sample["real_box"][:2]) == (0, 0) and (low, right) in SIZES
        x0, y0, x1, y1 = sample["crop_box"]
        assert (y1 - y0, x1 - x0) == (low, right)
        # A run has one size, so the partner has the same part of the image.
        assert (sample["image"][low:] == 0).all() and (sample["image"][:, right:] == 0).all()
        assert np.ptp(sample["image"][:low, :right]) == 0
        mixed += sample["label"].max() < 1
        seen.add(index)
    assert mixed > 0 and len(seen) == COUNT


@pytest.mark.parametrize("behind", [False, True])
def test_a_map_beside_buckets_is_refused_in_words(near, listed, behind, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    pair = [stoker.Buckets(SIZES), stoker.Map(own_maps.invert)]
    with pytest.raises(stoker.Error, match="Buckets"):
        near.loader(str(listed), transforms=pair if behind else pair[::-1], dtype="uint8", **WISH)


def test_pictures_that_code_makes_are_refused_in_words(near, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    with pytest.raises(stoker.Error, match="Buckets.*nobody knows their sizes"):
        near.loader(stoker.Source(own_code.Pictures(folder)),
                    transforms=[stoker.Buckets(SIZES)], dtype="uint8", **WISH)


@pytest.mark.parametrize("behind", [[], [stoker.Pad(to=(64, 72))]])
def test_masks_of_sixteen_bits_have_the_sizes(near, listed, tmp_path, behind):
    """Each is that of its sample, as large as the image, with numbers above 255."""
    from PIL import Image
    lines = []
    for number in range(COUNT):
        edge = EDGES[number % len(EDGES)][::-1]
        Image.fromarray(np.full(edge, 300 * number + 7, np.uint16)).save(tmp_path / f"{number}.png")
        lines.append({"path": str(listed.parent / f"{number}.png"),
                      "mask16": str(tmp_path / f"{number}.png")})
    path = tmp_path / "list.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    loader = near.loader({"kind": "manifest", "path": str(path), "root": "/"}, dtype="uint8",
                         transforms=[stoker.Buckets(SIZES), *behind], **WISH)
    seen = set()
    for sample in samples(loader):
        assert sample["mask16"].shape == sample["image"].shape[:2]
        assert sample["mask16"].dtype == np.uint16
        grey = 10 * int(sample["index"]) + 20
        picture = (sample["image"] == grey).all(axis=2)
        assert (sample["mask16"] == np.where(picture, 300 * int(sample["index"]) + 7, 0)).all()
        seen.add(int(sample["index"]))
    assert len(seen) == COUNT


def test_masks_of_instances_have_the_sizes(near, listed):
    """The whole picture, and none of it: so does each plane."""
    lines = []
    for number in range(COUNT):
        width, height = EDGES[number % len(EDGES)]
        lines.append({"path": f"{number}.png", "instances": [
            [], {"size": [height, width], "counts": [0, width * height]}][number % 2:]})
    path = listed.parent / "instances.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    loader = near.loader(str(path), transforms=[stoker.Buckets(SIZES)], dtype="uint8", **WISH)
    seen = set()
    for sample in samples(loader):
        masks, number = sample["instances"], int(sample["index"])
        assert masks.shape == (2, *sample["image"].shape[:2]) and masks.dtype == np.uint8
        assert masks[1 - number % 2].all() and not masks[number % 2].any()
        seen.add(number)
    assert len(seen) == COUNT


def test_crops_of_buckets_are_refused_in_words(near, listed):
    with pytest.raises(stoker.PipelineError, match="'large' cannot make this: Buckets"):
        near.loader(str(listed), crops={"large": (1, [stoker.Buckets(SIZES)]),
                                        "small": (2, [stoker.RandomResizedCrop(16)])},
                    dtype="uint8", **WISH)


def test_partners_of_cutmix(near, listed):
    """They have one shape, and their labels are shared as the pixels are."""
    loader = near.loader(str(listed), transforms=[stoker.Buckets(SIZES), stoker.CutMix()],
                         dtype="float32", **WISH)
    count = 0
    for sample in samples(loader):
        count += 1
        assert np.allclose(sample["label"].sum(), 1) and len(np.unique(sample["image"])) <= 2
    assert count == COUNT


def test_points_go_with_the_crop(near, listed, tmp_path):
    lines = [{"path": str(listed.parent / f"{number}.png"), "points": [[3, 5], [20, 25]]}
             for number in range(COUNT)]
    path = tmp_path / "list.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    loader = near.loader({"kind": "manifest", "path": str(path), "root": "/"}, dtype="uint8",
                         transforms=[stoker.Buckets(SIZES, crop="random")], **WISH)
    for sample in samples(loader):
        (height, width), box = sample["image"].shape[:2], sample["crop_box"]
        was = sample["original_size"]
        scale = max(height / was[0], width / was[1])
        large = np.floor(np.array([was[1], was[0]]) * scale + 0.5)
        want = np.array([[3, 5], [20, 25]]) * large / (was[1], was[0]) - box[:2]
        assert np.abs(sample["points"] - want).max() < 1e-3


def test_drafts_are_of_the_same_buckets(near, tmp_path):
    """A JPEG that is decoded smaller is sorted by its own size."""
    from PIL import Image
    (tmp_path / "a").mkdir()
    rng = np.random.default_rng(2)
    for number, (width, height) in enumerate(EDGES):
        small = rng.integers(0, 256, (height // 10, width // 10, 3), np.uint8)
        Image.fromarray(small).resize((10 * width, 10 * height)).save(
            tmp_path / "a" / f"{number}.jpg", quality=95)
    found = []
    for draft in (False, True):
        loader = near.loader(str(tmp_path), transforms=[stoker.Buckets(SIZES)], draft=draft,
                             dtype="uint8", shuffle=False, **{**WISH, "batch_size": 1})
        found.append([sample["image"].astype(int) for sample in samples(loader)])
        loader.close()
    assert [image.shape for image in found[0]] == [image.shape for image in found[1]]
    apart = [np.abs(one - other).mean() for one, other in zip(*found)]
    assert len(apart) == len(EDGES) and 0 < max(apart) < 12


def test_several_datasets_as_one(near, listed):
    """With weights a Mix is a sampler that gives samples several times."""
    def load(**how):
        return near.loader(stoker.Mix([str(listed), str(listed)], **how), dtype="uint8",
                           transforms=[stoker.Buckets(SIZES)], **WISH)
    assert sorted(int(sample["index"]) for sample in samples(load())) == list(range(2 * COUNT))
    with pytest.raises(stoker.RequestError, match="weighted and balanced"):
        load(weights=[1, 2])


def test_statistics_are_of_pictures_of_one_size(near, listed):
    with pytest.raises(stoker.Error, match="without Buckets"):
        near.fit(str(listed), transforms=[stoker.Buckets(SIZES)])


def test_there_is_no_figure_of_several_sizes(near, listed):
    pytest.importorskip("matplotlib")
    loader = near.loader(str(listed), transforms=[stoker.Buckets(SIZES)], dtype="uint8", **WISH)
    with pytest.raises(stoker.Error, match="Buckets"):
        loader.show()
