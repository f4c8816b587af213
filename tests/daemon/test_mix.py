# SPDX-License-Identifier: MIT
"""MixUp and CutMix: what torchvision's references make of a batch, of the two samples of a pair as
they are without it.
"""

import math
import sys

import numpy
import pytest

from harness import SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "reference"))
from stoker_reference import draw_below, draw_uniform  # noqa: E402 (it stands in a folder beside)

CROP = [{"name": "RandomResizedCrop", "size": [23, 31]}, {"name": "RandomHorizontalFlip"},
        {"name": "Normalize", "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]}]
STREAM = {"order_seed": 7, "augment_seed": 9, "epochs": 2}
NUMBER = 2  # of the mixing transform: Normalize is not counted


def beta(pair, alpha, number):
    for k in range(10000):
        x, y = (math.log(1 - draw_uniform(pair, (number << 16) + 2 * k + i)) / alpha
                for i in range(2))
        x, y = (math.exp(x) if x > -700 else 0.0 for x in (x, y))
        if 0 < x + y <= 1:
            return x / (x + y)
    return 0.5


def blend(own, other, share):
    """float32: both products rounded, then their sum."""
    return own * numpy.float32(share) + other * numpy.float32(1 - share)


def mixed(own, other, pair, name, alpha, number=NUMBER):
    share, image = beta(pair, alpha, number), own[0].copy()
    height, width = image.shape[1:]
    if name == "MixUp":
        image = blend(own[0].astype("float32"), other[0].astype("float32"), share)
        return image.astype(own[0].dtype), blend(own[1], other[1], share)
    x, y = (draw_below(pair, (number << 16) + 65534 + i, size)
            for i, size in enumerate((width, height)))
    r = 0.5 * math.sqrt(1 - share)
    x0, x1 = max(x - int(r * width), 0), min(x + int(r * width), width)
    y0, y1 = max(y - int(r * height), 0), min(y + int(r * height), height)
    image[:, y0:y1, x0:x1] = other[0][:, y0:y1, x0:x1]
    return image, blend(own[1], other[1], 1 - (x1 - x0) * (y1 - y0) / (width * height))


def collect(daemon, photos, transforms, **fields):
    with daemon.connect() as peer:
        answer = peer.attach(photos, transforms=transforms, **{**STREAM, **fields})
        assert answer.name == "attached", answer
        return {(epoch, position): (arrays["image"], arrays["label"])
                for epoch, position, arrays in peer.samples()}


@pytest.mark.parametrize("dtype, layout", [("float32", "NCHW"), ("float16", "NHWC"),
                                           ("float32", "NHWC")])
@pytest.mark.parametrize("name, alpha", [("MixUp", None), ("MixUp", 4), ("CutMix", None),
                                         ("CutMix", 0.3)])
def test_a_pair(daemon, photos, name, alpha, dtype, layout):
    """The 23 samples of a subset: the last one is a pair with itself."""
    fields = {"dtype": dtype, "layout": layout, "subset_start": 4, "subset_stop": 27}
    last = {"name": name} if alpha is None else {"name": name, "alpha": alpha}
    plain = collect(daemon, photos, CROP, one_hot=True, **fields)
    made = collect(daemon, photos, [*CROP, last], **fields)
    assert len(made) == len(plain) == 46 and set(made) == set(plain)
    if layout == "NHWC":
        plain, made = ({at: (image.transpose(2, 0, 1), label)
                        for at, (image, label) in samples.items()} for samples in (plain, made))
    alpha = alpha or {"MixUp": 0.2, "CutMix": 1.0}[name]
    for (epoch, position), (image, label) in made.items():
        partner = position ^ 1 if position ^ 1 < 23 else position
        expected = mixed(plain[epoch, position], plain[epoch, partner],
                         (STREAM["augment_seed"], epoch, position >> 1), name, alpha)
        # This reference's exp and log are libm's: its lambda may be a bit off.
        assert numpy.allclose(image.astype("float32"), expected[0].astype("float32"),
                              rtol=0, atol=3e-6 if dtype == "float32" else 4e-3)
        assert label.dtype == "float32" and numpy.allclose(label, expected[1], atol=1e-6)
        assert abs(label.sum() - 1) < 1e-6
    assert sum((made[at][0] != plain[at][0]).any() for at in made) > 30


@pytest.mark.parametrize("p", [None, [3, 1]])
def test_a_choice_is_drawn_for_each_pair(daemon, photos, p):
    """The choice is a transform as well: what it holds has the numbers behind its own."""
    choice = {"name": "RandomChoice", "transforms": [{"name": "MixUp"}, {"name": "CutMix"}]}
    fields = {"subset_start": 4, "subset_stop": 27}
    plain = collect(daemon, photos, CROP, one_hot=True, **fields)
    made = collect(daemon, photos, [*CROP, {**choice, "p": p} if p else choice], **fields)
    assert set(made) == set(plain)
    chosen = []
    for (epoch, position), (image, label) in made.items():
        pair = (STREAM["augment_seed"], epoch, position >> 1)
        cut = draw_uniform(pair, NUMBER << 16) >= (0.75 if p else 0.5)
        partner = position ^ 1 if position ^ 1 < 23 else position
        expected = mixed(plain[epoch, position], plain[epoch, partner], pair,
                         *[("MixUp", 0.2), ("CutMix", 1.0)][cut], number=NUMBER + 1 + cut)
        assert numpy.allclose(image, expected[0], rtol=0, atol=3e-6), (epoch, position)
        assert numpy.allclose(label, expected[1], atol=1e-6)
        chosen.append(cut)
    assert 0 < sum(chosen) < len(chosen)


def test_a_sweep_shares_its_reads(daemon, photos):
    """Kin, one mixed and one not, give what each gives alone."""
    lists = [[*CROP, {"name": "MixUp"}], CROP, [*CROP, {"name": "CutMix"}]]
    alone = [collect(daemon, photos, transforms) for transforms in lists]
    peers = [daemon.connect() for _ in lists]
    for peer, transforms in zip(peers, lists):
        assert peer.attach(photos, transforms=transforms, prefetch=8, **STREAM).name == "attached"
    streams = [peer.samples() for peer in peers]
    for _ in alone[0]:
        for stream, expected in zip(streams, alone):
            epoch, position, arrays = next(stream)
            assert (arrays["image"] == expected[epoch, position][0]).all()
            assert (arrays["label"] == expected[epoch, position][1]).all()
    for peer in peers:
        peer.close()


def test_a_sweep_with_damage(daemon, photos, tmp_path):
    """Kin that mix, each with a mate that cannot be decoded: what stands in for it is one's own
    choice, and not the next one's mate.
    """
    for number, path in enumerate(sorted(photos.glob("*/*"))):
        copy = tmp_path / path.relative_to(photos)
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(b"no picture" if number % 3 == 0 else path.read_bytes())
    lists = [[*CROP, {"name": "MixUp"}], [*CROP[:1], {"name": "CutMix"}],
             [*CROP, {"name": "CutMix"}]]
    fields = {"bad_samples": "substitute", "epochs": 1}
    alone = [collect(daemon, tmp_path, transforms, **fields) for transforms in lists]
    workers = daemon.status()["workers"]
    assert daemon.set("workers", 0).name == "ok"  # so that all are ordered as one
    before = daemon.status()["decodes_shared_total"]
    peers = [daemon.connect() for _ in lists]
    for peer, transforms in zip(peers, lists):
        answer = peer.attach(tmp_path, transforms=transforms, prefetch=8, **{**STREAM, **fields})
        assert answer.name == "attached", answer
    assert daemon.set("workers", workers).name == "ok"
    streams = [peer.samples() for peer in peers]
    for _ in alone[0]:
        for stream, expected in zip(streams, alone):
            epoch, position, arrays = next(stream)
            assert (arrays["image"] == expected[epoch, position][0]).all(), position
            assert (arrays["label"] == expected[epoch, position][1]).all(), position
    assert daemon.status()["decodes_shared_total"] > before
    for peer in peers:
        peer.close()


@pytest.mark.parametrize("transforms, dtype, words", [
    ([*CROP[:1], {"name": "MixUp"}], "uint8", "MixUp makes fractions"),
    ([*CROP, {"name": "MixUp", "alpha": 5}], "float32", "alpha"),
    ([*CROP, {"name": "MixUp"}, {"name": "CutMix"}], "float32", "must be the last"),
    ([{"name": "RandomApply", "transforms": [{"name": "MixUp"}]}], "float32", "put it behind"),
    ([*CROP, {"name": "RandomChoice", "transforms": [{"name": "MixUp"}, {"name": "ToTensor"}]}],
     "float32", "transforms[3].transforms[1]: ToTensor stands in a choice with what mixes"),
    ([*CROP, {"name": "RandomChoice", "transforms": [{"name": "CutMix"}]}, {"name": "MixUp"}],
     "float32", "must be the last"),
    ([*CROP, {"name": "RandomChoice", "transforms": [{"name": "CutMix"}], "p": [1, 2]}],
     "float32", "'p' has 2 numbers for 1"),
    ([*CROP[:1], {"name": "RandomChoice", "transforms": [{"name": "CutMix"}]}],
     "uint8", "CutMix makes fractions"),
    ([{"name": "RandomApply", "transforms": [
        {"name": "RandomChoice", "transforms": [{"name": "CutMix"}]}]}], "float32",
     "RandomChoice stands inside"),
])
def test_refusals(daemon, photos, transforms, dtype, words):
    with daemon.connect() as peer:
        answer = peer.attach(photos, transforms=transforms, dtype=dtype, **STREAM)
        assert answer.name == "error" and words in answer.fields["text"], answer


def test_what_has_no_classes(daemon, photos, tmp_path):
    (tmp_path / "list.txt").write_text("a.jpg 1\n")
    with daemon.connect() as peer:
        answer = peer.attach(tmp_path / "list.txt", transforms=[*CROP, {"name": "CutMix"}])
        assert answer.name == "error" and "CutMix needs classes" in answer.fields["text"]
