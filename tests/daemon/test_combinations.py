# SPDX-License-Identifier: MIT
"""What is tried alone elsewhere, together: batches that are mixed, of arrays, echoes and samplers;
masks and boxes of views; readers that part from each other in an echoed epoch. Each is what the
parts say, and by the law.
"""

import shutil
import sys

import numpy
import pytest

from harness import SOURCE, digest_of, wait_for
from readers import Reader, forked
from test_fields import MOVES, around, fixture_folder, manifest  # noqa: F401 (a fixture)
from test_law import in_turn
from test_mix import mixed

sys.path.insert(0, str(SOURCE / "tests" / "reference"))
sys.path.insert(0, str(SOURCE / "tests" / "unit" / "dataset"))
import published  # noqa: E402 (it stands in a folder beside)
import sampling  # noqa: E402 (likewise)
import stoker_reference  # noqa: E402 (likewise)

SEED, AUGMENT_SEED = 7, 9
STREAM = {"order_seed": SEED, "augment_seed": AUGMENT_SEED, "epochs": 2}
LABELS = [0, 2, 2, 0, 1, 2, 0] * 4 + [2]
N = len(LABELS)
# Two transforms before what mixes, which is number 2: so test_mix.mixed() has it.
CROP = [{"name": "RandomCrop", "size": 24, "padding": 2}, {"name": "RandomHorizontalFlip"},
        {"name": "Normalize", "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]}]
MIX_UP, CUT_MIX = {"name": "MixUp"}, {"name": "CutMix"}
FOLLOWED = ["image", "mask", "boxes", "points", "index"]
ECHO = {"echo": 3, "echo_window": 5}
WEIGHTED = {"name": "weighted", "weights_by_class": [1, 0.1, 3], "num_samples": 31}
BALANCED = {"name": "balanced", "per_class": 9}
FIVE = [{"name": "RandomVerticalFlip"}, {"name": "FiveCrop", "size": [20, 28]},
        {"name": "RandomHorizontalFlip"}]


@pytest.fixture(scope="module", name="datasets")
def fixture_datasets(folder, photos, tmp_path_factory):
    """{name: the map that names it}, all small."""
    here = tmp_path_factory.mktemp("combinations")
    images = published.pictures(N, (32, 32, 3))
    numpy.save(here / "x.npy", images)
    numpy.save(here / "y.npy", numpy.array(LABELS))
    shutil.copytree(photos, here / "bad")
    for number, path in enumerate(sorted((here / "bad").glob("*/*"))):
        if number % 7 == 3:
            path.write_bytes(path.read_bytes()[:60])
    pictures, rows = folder
    boxes = manifest(pictures, "combined", [
        {"path": f"box{i}.png", "label": i % 3, "mask": f"box{i}.png", "boxes": [row["box"]],
         "points": [row["box"][:2]]} for i, row in enumerate(rows)])
    return {
        "npy": {"path": str(here / "x.npy"), "labels": str(here / "y.npy")},
        "cifar": {"path": published.put(here / "cifar.tar.gz", published.cifar10(
            images, numpy.array(LABELS)))},
        "boxes": {"path": str(boxes)},
        "photos": {"path": str(photos)},
        "bad": {"path": str(here / "bad")},
    }


def attach(peer, datasets, kind, **fields):
    return peer.attach("", dataset=datasets[kind], **{**STREAM, **fields})


def collect(daemon, datasets, kind, **fields):
    """{(epoch, position): {field: array}}, of all fields."""
    with daemon.connect() as peer:
        answer = attach(peer, datasets, kind, **fields)
        assert answer.name == "attached", answer
        return {(epoch, position): arrays
                for epoch, position, arrays in peer.samples(list(peer.ring.fields))}


def digests(daemon, datasets, kind, **fields):
    return {at: digest_of(arrays)
            for at, arrays in collect(daemon, datasets, kind, **fields).items()}


# What is mixed, of which dataset, sampled how.
MIXES = {
    "cifar": ("cifar", CUT_MIX, {}),
    "npy": ("npy", MIX_UP, {}),
    "echoed": ("npy", MIX_UP, ECHO),
    "echoed files": ("photos", MIX_UP, {"subset_stop": 29, **ECHO}),
    "substituted": ("bad", CUT_MIX, {"subset_stop": 29, "bad_samples": "substitute", **ECHO}),
    "weighted": ("cifar", MIX_UP, {"sampler": WEIGHTED}),
    "weighted echo": ("npy", CUT_MIX, {"sampler": WEIGHTED, **ECHO}),
}
# The rest: a dataset and what is asked of it.
OTHERS = {
    "views of boxes": ("boxes", {"transforms": MOVES["warp"], "views": 3}),
    "echoes of boxes": ("boxes", {"transforms": MOVES["crop"], **ECHO}),
    "both of boxes": ("boxes", {"transforms": MOVES["flips"], "views": 2, **ECHO}),
    "crops of boxes": ("boxes", {"transforms": FIVE}),
    "one-hot balance": ("npy", {"transforms": CROP, "one_hot": True, "sampler": BALANCED}),
    "balanced echo": ("cifar", {"transforms": CROP, "one_hot": True, "sampler": BALANCED,
                                **ECHO}),
    "crops of arrays": ("npy", {"transforms": [*FIVE, *CROP[2:]], "views": 10, **ECHO}),
}
ALL = {**{name: (kind, {"transforms": [*CROP, mix], **fields})
          for name, (kind, mix, fields) in MIXES.items()}, **OTHERS}


@pytest.mark.parametrize("name", ALL)
def test_the_law(spawn, datasets, name):
    kind, fields = ALL[name]
    reference = digests(spawn(workers=1, fetchers=1), datasets, kind, batch_size=1, **fields)
    count = len(reference) // 2
    daemon = spawn(workers=3, fetchers=3)
    assert digests(daemon, datasets, kind, batch_size=7, **fields) == reference
    for position in 5, count - 1:
        rest = {at: digest for at, digest in reference.items() if at >= (0, position)}
        assert digests(daemon, datasets, kind, position=position, batch_size=4, **fields) == rest


@pytest.mark.parametrize("name", MIXES)
def test_mixed(daemon, datasets, name):
    """Each is what the two of its pair give, as they stand in the epoch without the mixing."""
    kind, mix, fields = MIXES[name]
    plain = collect(daemon, datasets, kind, transforms=CROP, one_hot=True, **fields)
    made = collect(daemon, datasets, kind, transforms=[*CROP, mix], **fields)
    assert set(made) == set(plain)
    count = len(plain) // 2
    for (epoch, position), arrays in made.items():
        partner = position ^ 1 if position ^ 1 < count else position
        own, other = ((plain[epoch, at]["image"], plain[epoch, at]["label"])
                      for at in (position, partner))
        image, label = mixed(own, other, (AUGMENT_SEED, epoch, position >> 1), mix["name"],
                             {"MixUp": 0.2, "CutMix": 1.0}[mix["name"]])
        assert numpy.allclose(arrays["image"], image, rtol=0, atol=3e-6)
        assert numpy.allclose(arrays["label"], label, atol=1e-6)
        assert arrays["index"] == plain[epoch, position]["index"]


def test_balance_of_arrays(daemon, datasets):
    """One-hot, of the class that has its turn."""
    made = collect(daemon, datasets, "npy", **OTHERS["one-hot balance"][1])
    for epoch in range(2):
        wanted = sampling.balanced(LABELS, 9, SEED, epoch)
        got = [made[epoch, position] for position in range(27)]
        assert [int(arrays["index"]) for arrays in got] == wanted
        assert (numpy.stack([arrays["label"] for arrays in got]) ==
                numpy.eye(3, dtype="float32")[[LABELS[i] for i in wanted]]).all()


@pytest.mark.parametrize("name", ["crop", "flips", "warp"])
def test_what_follows_a_view(daemon, datasets, name):
    """The mask of a view is of that view, and so are boxes and points; the first is what there is
    without views. An echo's are of the echo."""
    wish = {"transforms": MOVES[name], "dtype": "uint8", "layout": "NHWC"}
    alone = collect(daemon, datasets, "boxes", **wish)
    made = collect(daemon, datasets, "boxes", views=3, **wish)
    assert set(alone) == set(made)
    different = 0
    for at, arrays in made.items():
        assert arrays["mask"].shape == arrays["image"].shape[:3]
        assert (arrays["mask"] == arrays["image"][..., 0]).all()
        assert arrays["boxes"].shape == (3, 1, 4) and arrays["points"].shape == (3, 1, 2)
        for field in FOLLOWED[:4]:
            assert numpy.array_equal(arrays[field][0], alone[at][field], equal_nan=True)
        different += (arrays["boxes"][1] != arrays["boxes"][2]).any()
    assert different > len(made) / 2
    for arrays in collect(daemon, datasets, "boxes", **ECHO, **wish).values():
        assert (arrays["mask"] == arrays["image"][..., 0]).all()


def test_boxes_of_crops(daemon, datasets):
    """Each of five crops has its own part of the box, to the pixel."""
    made = collect(daemon, datasets, "boxes", transforms=FIVE, dtype="uint8", layout="NHWC")
    seen = 0
    for arrays in made.values():
        assert (arrays["mask"] == arrays["image"][..., 0]).all()
        for view in range(5):
            bright = around(arrays["image"][view, :, :, 0])
            x0, y0, x1, y1 = arrays["boxes"][view][0]
            if bright is None:
                assert x0 == x1 or y0 == y1
            else:
                assert [x0, y0, x1, y1] == bright
                seen += 1
    assert seen > len(made)


@pytest.mark.parametrize("views", [1, 10])
def test_crops_are_views(daemon, datasets, views):
    """As the reference has them, in one array."""
    images = published.pictures(N, (32, 32, 3))
    made = collect(daemon, datasets, "npy", transforms=FIVE, dtype="uint8", layout="NHWC",
                   views=views)
    assert len(made) == 2 * N
    for (epoch, position), arrays in made.items():
        image = stoker_reference.Image.fromarray(images[int(arrays["index"])])
        assert arrays["image"].shape == (max(views, 5), 20, 28, 3)
        for view, got in enumerate(arrays["image"]):
            assert (got == stoker_reference.expected(
                image, FIVE, "uint8", "NHWC", AUGMENT_SEED, epoch, position + (view << 56))).all()


def test_they_part_in_an_echo(daemon, datasets):
    """Two readers of an echoed stream: one stands still, the other goes on in a ring of its own;
    a third goes on where one was cut off. No byte is another."""
    wish = {"dataset": datasets["npy"], "transforms": CROP, "order_seed": SEED,
            "augment_seed": AUGMENT_SEED, "echo": 2, "echo_window": 3, "epochs": 3, "prefetch": 2}
    alone = Reader(daemon, "", **wish).finish()
    assert len(alone) == 3 * 2 * N
    slow = Reader(daemon, "", **wish)
    slow.take(), slow.take()
    fast = Reader(daemon, "", **wish)
    assert fast.peer.attached["ring"] == slow.peer.attached["ring"]
    assert fast.finish() == alone
    forked(daemon)
    slow.release(len(slow.held))
    slow.peer.close()
    epoch, position = max(slow.got)
    rest = {at: digest for at, digest in alone.items() if at > (epoch, position)}
    later = Reader(daemon, "", **{**wish, "epochs": 3 - epoch}, epoch=epoch,
                   position=position + 1)
    assert later.finish() == rest
    for reader in fast, later:
        reader.peer.close()
    wait_for(lambda: daemon.status()["readers"] == 0, "all readers are gone")


def test_kin_of_all_kinds(daemon, photos):
    """One decode for streams that mix, crop and view, echoed alike: each as it is alone."""
    crop = [{"name": "Resize", "size": [32, 40]}, *CROP]
    wishes = [{"transforms": [*crop, MIX_UP]}, {"transforms": [*crop[:1], *FIVE]},
              {"transforms": crop, "views": 3}, {"transforms": [*crop, CUT_MIX]}]
    wishes = [{**STREAM, **ECHO, "subset_stop": 31, **wish} for wish in wishes]
    alone = []
    for wish in wishes:
        with daemon.connect() as peer:
            assert peer.attach(photos, **wish).name == "attached"
            alone.append(peer.digests())
    before = daemon.status()["decodes_shared_total"]
    peers = [daemon.connect() for _ in wishes]
    for peer, wish in zip(peers, wishes):
        assert peer.attach(photos, **wish).name == "attached"
    assert in_turn(peers) == alone
    assert daemon.status()["decodes_shared_total"] > before
    for peer in peers:
        peer.close()


@pytest.mark.parametrize("kind, fields, words", [
    ("npy", {"transforms": [*CROP, MIX_UP], "views": 2}, "views and a batch transform"),
    ("npy", {"transforms": [*FIVE, *CROP[2:], CUT_MIX]}, "views and a batch transform"),
    ("npy", {"transforms": FIVE, "views": 12}, "views: 12 is not a multiple of the 5"),
    ("boxes", {"transforms": FIVE, "draft": True}, "FiveCrop and TenCrop make views"),
    ("boxes", {"transforms": [MOVES["resize"][0], MIX_UP]}, "MixUp needs classes"),
    ("boxes", {"transforms": MOVES["crop"], "sampler": BALANCED, "one_hot": True},
     "one_hot needs classes"),
])
def test_what_makes_no_sense(daemon, datasets, kind, fields, words):
    with daemon.connect() as peer:
        answer = attach(peer, datasets, kind, **fields)
        assert answer.name == "error" and answer.fields["name"] == "argument", answer
        assert words in answer.fields["text"], answer
        assert attach(peer, datasets, kind, transforms=MOVES["flips"][:1]).name == "attached"
