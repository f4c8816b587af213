# SPDX-License-Identifier: MIT
"""Lists of transforms as they are drawn: what is decoded around the part that a sample needs is
not to be seen in it. Alone and without an index, with one, beside kin that need another part of
the same picture, and of pixels that are in memory: the same bytes, or the same words.
"""

import random

import numpy
import pytest
from PIL import Image

from harness import digest_of
from test_law import N
from test_law_transforms import fixture_daemons  # noqa: F401 (a fixture)

SAMPLES = 16  # twice what a ring holds: kin are made together where readers make room in step
FILTERS = ["nearest", "bilinear", "bicubic"]


@pytest.fixture(scope="module", name="both")
def fixture_both(tmp_path_factory):
    """The maps of two datasets: pictures in files, and the same pixels in an array."""
    here = tmp_path_factory.mktemp("both")
    (here / "files" / "all").mkdir(parents=True)
    images = numpy.random.default_rng(5).integers(0, 256, (SAMPLES, 38, 53, 3), numpy.uint8)
    for number, image in enumerate(images):
        Image.fromarray(image).save(here / "files" / "all" / f"{number:02}.png")
    numpy.save(here / "x.npy", images)
    numpy.save(here / "y.npy", numpy.zeros(SAMPLES, int))
    return ({"path": str(here / "files")},
            {"path": str(here / "x.npy"), "labels": str(here / "y.npy")})


def edges(source):
    return [source.randint(1, 90), source.randint(1, 90)]


def degrees(source):
    return sorted([source.uniform(-180, 180), source.uniform(-180, 180)])


def bordered(source):
    return {"fill": [1, 128, 255],
            "padding_mode": source.choice(["constant", "edge", "reflect", "symmetric"])}


# What a transform is drawn with; the rest has its defaults.
DRAWN = {
    "Resize": lambda source: {"size": edges(source), "interpolation": source.choice(FILTERS)},
    "CenterCrop": lambda source: {"size": edges(source)},
    "RandomCrop": lambda source: {"size": edges(source), "pad_if_needed": True, **bordered(source)},
    "RandomResizedCrop": lambda source: {"size": edges(source),
                                         "interpolation": source.choice(FILTERS)},
    "RandomHorizontalFlip": lambda source: {},
    "RandomVerticalFlip": lambda source: {},
    "Pad": lambda source: {"padding": source.randint(1, 50), **bordered(source)},
    "RandomRotation": lambda source: {
        "degrees": degrees(source), "interpolation": source.choice(FILTERS),
        "expand": source.random() < 0.5},
    "RandomAffine": lambda source: {
        "degrees": degrees(source), "interpolation": source.choice(FILTERS), "fill": 7,
        "translate": [0.1, 0.3], "shear": 20},
    "RandomPerspective": lambda source: {"interpolation": source.choice(FILTERS)},
    "TrivialAugmentWide": lambda source: {"interpolation": source.choice(FILTERS)},
    "ColorJitter": lambda source: {"brightness": 0.5, "contrast": 0.9, "saturation": 2, "hue": 0.3},
    "GaussianBlur": lambda source: {"kernel_size": source.randrange(1, 12, 2)},
    "RandomAdjustSharpness": lambda source: {"sharpness_factor": source.uniform(0, 4)},
    "RandomAutocontrast": lambda source: {},
    "RandomEqualize": lambda source: {},
    "RandomApply": lambda source: {"transforms": [transform(source)]},
    "RandomOrder": lambda source: {"transforms": [transform(source), transform(source)]},
}


def transform(source):
    name = source.choice(list(DRAWN))
    return {"name": name, **DRAWN[name](source)}


def drawn(source):
    """What ATTACH is asked for; the last of the list makes all of one size."""
    transforms = [transform(source) for _ in range(source.randint(1, 5))]
    transforms.append({"name": "RandomCrop", "size": edges(source), "pad_if_needed": True})
    return {"transforms": transforms, "dtype": source.choice(["uint8", "float16", "float32"]),
            "layout": source.choice(["NCHW", "NHWC"]), "order_seed": source.getrandbits(64),
            "augment_seed": source.getrandbits(63), "batch_size": 1, "prefetch": SAMPLES // 2}


def attach(daemon, dataset, fields):
    peer = daemon.connect()
    answer = peer.attach("", dataset=dataset, **fields)
    assert answer.name == "attached", (answer, fields)
    return peer


def taken(peer):
    """(position, digest or the words of why there is none) of one sample after the other."""
    while (message := peer.receive()).name != "end":
        if message.name == "bad_sample":
            yield message.fields["position"], message.fields["text"]
            continue
        arrays = peer.ring.read(message.fields["runs"])
        peer.release(message)
        yield message.fields["position"], digest_of({name: a[0] for name, a in arrays.items()})


def alone(daemon, dataset, fields):
    with attach(daemon, dataset, fields) as peer:
        return dict(taken(peer))


@pytest.mark.parametrize("seed", range(40))
def test_a_part_of_a_picture(daemons, photos, seed):
    source, dataset = random.Random(seed), {"path": str(photos)}
    start = source.randint(0, N - SAMPLES)
    one, other = drawn(source), drawn(source)
    for fields in one, other:
        fields.update(subset_start=start, subset_stop=start + SAMPLES,
                      order_seed=one["order_seed"])
    plain, best = daemons
    wishes = [one, {**one, "augment_seed": one["augment_seed"] + 1}, other]
    reference = [alone(plain, dataset, fields) for fields in wishes]
    assert [len(samples) for samples in reference] == 3 * [SAMPLES]
    with attach(best, dataset, one) as first:  # an index lives as long as somebody is there
        assert dict(taken(first)) == reference[0], one
        assert alone(best, dataset, one) == reference[0], one
        before = best.status()["decodes_shared_total"]
        peers = [attach(best, dataset, fields) for fields in wishes]
        in_step = list(zip(*map(taken, peers)))
        for peer, fields, samples, got in zip(peers, wishes, reference, zip(*in_step)):
            assert dict(got) == samples, fields
            peer.close()
        assert best.status()["decodes_shared_total"] > before


@pytest.mark.parametrize("seed", range(40))
def test_pixels_in_memory(daemons, both, seed):
    fields = drawn(random.Random(seed))
    files, array = both
    for daemon in daemons:
        assert alone(daemon, array, fields) == alone(daemons[0], files, fields), fields
