# SPDX-License-Identifier: MIT
"""Crops: several lists of transforms for one sample. Each makes what it makes alone, with the draws
of the views that it has; all of one decode."""

import os

import numpy
import pytest

from harness import digest_of

GLOBAL = [{"name": "RandomResizedCrop", "size": 32, "scale": [0.4, 1.0]},
          {"name": "RandomHorizontalFlip"}, {"name": "GaussianBlur", "kernel_size": 3}]
LOCAL = [{"name": "RandomResizedCrop", "size": 16, "scale": [0.05, 0.4]},
         {"name": "RandomGrayscale", "p": 0.5}]
STREAM = {"order_seed": 7, "augment_seed": 9, "epochs": 1, "dtype": "uint8", "layout": "NHWC",
          "batch_size": 5}


def crop(name, count, transforms):
    return {"name": name, "count": count, "transforms": transforms}


def crops(*lists):
    return [{"name": "Crops", "crops": list(lists)}]


DINO = crops(crop("global", 2, GLOBAL), crop("local", 6, LOCAL))


def samples(daemon, folder, **fields):
    """All samples by their position, and what the daemon decoded for them."""
    before = daemon.status()["samples_decoded_total"]
    with daemon.connect() as peer:
        answer = peer.attach(folder, **{**STREAM, **fields})
        assert answer.name == "attached", answer
        out = {position: arrays for _, position, arrays in peer.samples(())}
    return out, daemon.status()["samples_decoded_total"] - before


def test_each_list_is_what_it_is_alone(daemon, photos):
    """View v of a sample is made by the list that has it, and by no other: those of the second list
    go on where those of the first end."""
    made, decoded = samples(daemon, photos, transforms=DINO)
    first, _ = samples(daemon, photos, transforms=GLOBAL, views=2)
    second, _ = samples(daemon, photos, transforms=LOCAL, views=8)
    assert decoded == len(made) == len(first) > 0
    for position, arrays in made.items():
        assert set(arrays) == {"global", "label", "index", "local"}
        assert arrays["index"] == first[position]["index"] == second[position]["index"]
        assert arrays["label"] == first[position]["label"]
        assert arrays["global"].shape == (2, 32, 32, 3) and arrays["local"].shape == (6, 16, 16, 3)
        assert numpy.array_equal(arrays["global"], first[position]["image"])
        assert numpy.array_equal(arrays["local"], second[position]["image"][2:])


def test_one_image_has_no_further_dimension(daemon, photos):
    """As one view has none; the order of the lists says which views they have."""
    made, _ = samples(daemon, photos, transforms=crops(crop("local", 1, LOCAL),
                                                       crop("image", 1, GLOBAL)))
    views, _ = samples(daemon, photos, transforms=GLOBAL, views=2)
    for position, arrays in made.items():
        assert arrays["local"].shape == (16, 16, 3)
        assert numpy.array_equal(arrays["image"], views[position]["image"][1])


def test_one_digest(daemon, photos):
    """Over numbers of workers and ranks, and where a run goes on."""
    def digest(**fields):
        with daemon.connect() as peer:
            answer = peer.attach(photos, **{**STREAM, "transforms": DINO, **fields})
            assert answer.name == "attached", answer
            return {(epoch, position): digest_of(arrays)
                    for epoch, position, arrays in peer.samples(())}

    alone = digest()
    whole = digest(epochs=2)
    assert alone.items() <= whole.items() and len(whole) == 2 * len(alone)
    parts = [digest(rank=rank, world=2, batch_size=2) for rank in range(2)]
    assert {**parts[0], **parts[1]} == alone
    rest = digest(position=7, batch_size=3)
    assert len(rest) == len(alone) - 7 and rest.items() <= alone.items()


def test_streams_share_a_decode(daemon, photos):
    """One with Crops beside one with a list of it: neither's bytes change."""
    before, _ = samples(daemon, photos, transforms=DINO)
    with daemon.connect() as one, daemon.connect() as other:
        for peer, transforms in ((one, DINO), (other, LOCAL)):
            assert peer.attach(photos, **{**STREAM, "transforms": transforms}).name == "attached"
        beside = {position: arrays for _, position, arrays in one.samples(())}
        alone = {position: arrays for _, position, arrays in other.samples(())}
    for position, arrays in before.items():
        for name in ("global", "local"):
            assert numpy.array_equal(arrays[name], beside[position][name])
        assert alone[position]["image"].shape == (16, 16, 3)


def test_a_token_is_of_its_crops(daemon, photos):
    """Name, count and transforms of each list are part of the stream."""
    others = [crops(crop("global", 2, GLOBAL), crop("local", 5, LOCAL)),
              crops(crop("global", 2, GLOBAL), crop("small", 6, LOCAL)),
              crops(crop("global", 2, GLOBAL), crop("local", 6, GLOBAL)),
              crops(crop("local", 6, LOCAL), crop("global", 2, GLOBAL)), LOCAL]
    with daemon.connect() as peer:
        own = peer.attach(photos, **STREAM, transforms=DINO).fields
        hashes = {own["pipeline_hash"]}
        peer.request("detach")
        for other in others:
            answer = peer.attach(photos, **STREAM, transforms=other,
                                 expect_pipeline=own["pipeline_hash"])
            assert answer.fields["name"] == "token", answer
            answer = peer.attach(photos, **STREAM, transforms=other)
            hashes.add(answer.fields["pipeline_hash"])
            peer.request("detach")
        assert len(hashes) == len(others) + 1
        again = peer.attach(photos, **STREAM, transforms=DINO, like=own["stream"])
        assert again.name == "error" or again.fields["pipeline_hash"] == own["pipeline_hash"]


@pytest.mark.parametrize("transforms,fields,words", [
    (DINO + LOCAL, {}, "stands alone"),
    ([{"name": "Crops"}], {}, "needs 'crops'"),
    (crops(), {}, "1 to 8"),
    (crops(*[crop(f"c{i}", 1, LOCAL) for i in range(9)]), {}, "1 to 8"),
    (crops(crop("a", 0, LOCAL)), {}, "1 to 32"),
    (crops(crop("a", 20, LOCAL), crop("b", 13, LOCAL)), {}, "1 to 32"),
    (crops(crop("a", 1 << 62, LOCAL)), {}, "1 to 32"),
    (crops(crop("a", 1, LOCAL), crop("a", 1, LOCAL)), {}, "'a' comes twice"),
    (crops(crop("label", 1, LOCAL)), {}, "'label' is no name"),
    (crops(crop("a b", 1, LOCAL)), {}, "is no name"),
    (crops(crop("", 1, LOCAL)), {}, "is no name"),
    (crops(crop("sixteen_letters_", 1, LOCAL)), {}, "is no name"),
    (crops({"name": "a", "count": 1}), {}, "'transforms'"),
    (crops(crop("a", 1, [{"name": "Sharpen"}])), {}, "Crops 'a': transforms[0]"),
    (crops(crop("a", 1, DINO)), {}, "has a Map or Crops in it"),
    (crops(crop("a", 1, [{"name": "FiveCrop", "size": 8}])), {}, "FiveCrop and TenCrop"),
    (crops(crop("a", 1, [{"name": "Pad", "to": 900}])), {}, "Pad(to=...)"),
    (crops(crop("a", 1, [*LOCAL, {"name": "SanitizeBoundingBoxes"}])), {}, "boxes"),
    (DINO, {"views": 2}, "views and Crops"),
    (DINO, {"views": 16}, "views and Crops"),
    (DINO, {"draft": True}, "draft"),
])
def test_what_is_wrong_is_said(daemon, photos, transforms, fields, words):
    with daemon.connect() as peer:
        answer = peer.attach(photos, **{**STREAM, **fields, "transforms": transforms})
        assert answer.name == "error", answer
        assert words in answer.fields["text"], answer
        assert peer.attach(photos, **STREAM, transforms=DINO).name == "attached"


def test_columns(daemon, photos, tmp_path):
    """Numbers of a sample come beside its images; a mask or boxes are refused, and so is a name
    that a column has."""
    files = sorted(path for path in photos.glob("*/*") if path.is_file())[:6]
    table = tmp_path / "list.csv"
    for path in files:
        os.link(path, tmp_path / path.name)
    lines = [f"{path.name},{number},{number / 2},0 0 4 4" for number, path in enumerate(files)]
    table.write_text("\n".join(["path,label,weight,boxes", *lines]) + "\n")
    made, _ = samples(daemon, table, transforms=DINO, fields=["weight"])
    assert sorted(float(arrays["weight"]) for arrays in made.values()) == [0, .5, 1, 1.5, 2, 2.5]
    alone, _ = samples(daemon, table, transforms=GLOBAL, fields=[], views=2)
    for position, arrays in made.items():
        assert numpy.array_equal(arrays["global"], alone[position]["image"])
    named = crops(crop("global", 2, GLOBAL), crop("weight", 2, LOCAL))
    weight = crops(crop("weight", 2, GLOBAL))
    with daemon.connect() as peer:
        for transforms, fields, words in ((DINO, {}, "Crops cannot transform 'boxes'"),
                                          (named, {"fields": ["weight"]}, "Crops 'weight'"),
                                          (weight, {"fields": ["weight"]}, "Crops 'weight'")):
            answer = peer.attach(table, **{**STREAM, **fields, "transforms": transforms})
            assert answer.name == "error" and words in answer.fields["text"], answer
        assert peer.attach(table, **STREAM, transforms=named, fields=[]).name == "attached"
