# SPDX-License-Identifier: MIT
"""Datasets that are joined: the law, the draws by part, pixels, and what does not go together."""
import collections
import os
import subprocess
import sys

import numpy
import pytest

from harness import BUILD, SLOW, SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "reference"))
import sampling  # noqa: E402 (it stands in the reference's folder)

STREAM = {"transforms": [{"name": "RandomResizedCrop", "size": 24},
                         {"name": "RandomHorizontalFlip"}],
          "order_seed": 7, "augment_seed": 9, "epochs": 2}
COUNTS = (9, 4, 14)  # samples of the parts, of two classes each
WEIGHTS = [0.6, 0.3, 0.1]
BY_PART = {"name": "weighted", "weights_by_part": WEIGHTS, "num_samples": 120}
SPLITS = {subset: {"name": "split", "validation_split": 0.4, "subset": subset}
          for subset in ("training", "validation")}
SAMPLERS = {"plain": None, "by part": BY_PART, **SPLITS}


@pytest.fixture(scope="module", name="folders")
def fixture_folders(photos, tmp_path_factory):
    files = sorted(path for path in photos.glob("*/*") if path.is_file())
    folders = []
    for part, count in enumerate(COUNTS):
        folders.append(tmp_path_factory.mktemp(f"part{part}"))
        for i in range(count):
            home = folders[-1] / ("left" if i < count // 2 else "right")
            home.mkdir(exist_ok=True)
            file = files.pop()
            os.link(file, home / f"{i:03}{file.suffix}")
    return folders


def parts_of(folders):
    return {"parts": [{"path": str(folder)} for folder in folders]}


def order(name, epoch):
    if name == "plain":
        return sampling.shuffled(range(sum(COUNTS)), 7, epoch)
    if name in SPLITS:
        parts = [([0] * (count // 2) + [1] * (count - count // 2), True) for count in COUNTS]
        return sampling.shuffled(sampling.split_parts(parts, 0.4, name == "validation"), 7, epoch)
    return sampling.weighted(sampling.weights_by_part(WEIGHTS, COUNTS), 120, 7, epoch)


def attach(peer, folders, name, **more):
    answer = peer.attach("", **{**STREAM, "dataset": parts_of(folders),
                                "sampler": SAMPLERS[name], **more})
    assert answer.name == "attached", answer
    return answer.fields


def digests(daemon, folders, name, **more):
    with daemon.connect() as peer:
        attach(peer, folders, name, **more)
        return peer.digests()


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_law(spawn, folders, name):
    """What the reference says, whatever the workers, the batch size and where one begins."""
    daemon = spawn(workers=1, fetchers=1)
    reference = digests(daemon, folders, name, batch_size=1)
    with daemon.connect() as peer:
        assert attach(peer, folders, name)["samples"] == len(order(name, 0))
        got = [[], []]
        for epoch, _, arrays in peer.samples():
            got[epoch].append(int(arrays["index"]))
        assert got == [order(name, 0), order(name, 1)]
    for workers in 2, 5:
        other = spawn(workers=workers, fetchers=workers)
        assert digests(other, folders, name) == reference
        assert digests(other, folders, name, batch_size=7) == reference
        rest = {key: value for key, value in reference.items() if key >= (0, 5)}
        assert digests(other, folders, name, position=5, batch_size=5) == rest


def test_each_part_is_split_as_it_would_be_alone(daemon, folders, tmp_path):
    """A folder class by class, a manifest as a whole; training and validation are all, once."""
    rows = sorted(folders[1].glob("*/*"))
    manifest = tmp_path / "rows.tsv"
    manifest.write_text("".join(f"{path}\t{i}\n" for i, path in enumerate(
        path.relative_to(folders[1]) for path in rows)))
    listed = {"path": str(manifest), "root": str(folders[1])}
    sets = [{"path": str(folders[0])}, {"path": str(folders[2])}]

    def chosen(dataset, sampler):
        with daemon.connect() as peer:
            answer = peer.attach("", **{**STREAM, "dataset": dataset, "sampler": sampler,
                                        "shuffle": False, "epochs": 1})
            assert answer.name == "attached", answer
            return [int(arrays["index"]) for _, _, arrays in peer.samples()]
    for sampler in SPLITS.values():
        alone = [chosen(dataset, sampler) for dataset in sets]
        assert chosen({"parts": sets}, sampler) == \
            alone[0] + [COUNTS[0] + index for index in alone[1]]
    # int(0.4 * 4) of the manifest's four rows, twice
    assert chosen({"parts": [listed, listed]}, SPLITS["validation"]) == [0, 4]
    assert chosen({"parts": [listed, listed]}, SPLITS["training"]) == [1, 2, 3, 5, 6, 7]


def test_a_part_is_drawn_as_often_as_its_weight_says():
    """Of the reference, which the daemon does as: within 4 deviations of 2000 draws."""
    drawn = sampling.weighted(sampling.weights_by_part(WEIGHTS, COUNTS), 2000, 7, 0)
    firsts = [0, COUNTS[0], COUNTS[0] + COUNTS[1]]
    got = collections.Counter(sum(i >= first for first in firsts) - 1 for i in drawn)
    for part, weight in enumerate(WEIGHTS):
        assert abs(got[part] - 2000 * weight) < 4 * (2000 * weight * (1 - weight)) ** 0.5
    assert set(drawn) == set(range(sum(COUNTS)))


def test_through_c(daemon, folders):
    """libstoker gives the bytes that the protocol gives, and names the classes."""
    done = subprocess.run(
        [str(BUILD / "tests" / "dump"), str(daemon.socket), "-",
         "RandomResizedCrop(size=24) | RandomHorizontalFlip()", "5", "2",
         "parts=" + ",".join(map(str, folders)),
         f"sampler=weighted(weights_by_part={WEIGHTS}, num_samples=120)"],
        capture_output=True, check=True, timeout=60 * SLOW)
    with daemon.connect() as peer:
        attach(peer, folders, "by part", resize="pillow-13")
        assert done.stdout == b"".join(arrays[name].tobytes() for _, _, arrays in peer.samples()
                                       for name in ("image", "label", "index"))
    assert done.stderr.split() == [b"left", b"right"] * 2  # asked in each epoch
    daemon.settle()


def test_a_sample_is_its_parts(daemon, folders):
    """Labels and pictures are those of the parts, one behind the other."""
    fixed = {"transforms": [{"name": "Resize", "size": [16, 16]}], "shuffle": False, "epochs": 1}

    def samples(dataset):
        with daemon.connect() as peer:
            answer = peer.attach("", **{**STREAM, **fixed, "dataset": dataset})
            assert answer.name == "attached", answer
            return [(bytes(arrays["image"]), int(arrays["label"]))
                    for _, _, arrays in peer.samples()], answer.fields
    whole, fields = samples(parts_of(folders))
    assert whole == [one for folder in folders for one in samples({"path": str(folder)})[0]]
    with daemon.connect() as peer:
        again = attach(peer, folders, "plain")
        assert again["dataset_fingerprint"] == fields["dataset_fingerprint"]


def test_pixels(daemon, tmp_path):
    """Arrays in memory go with arrays of their size."""
    pictures = numpy.random.default_rng(5).integers(0, 256, (11, 8, 8, 3), "uint8")
    labels = numpy.arange(11) % 3
    sets = []
    for name, part in ("a", slice(0, 4)), ("b", slice(4, 11)):
        numpy.save(tmp_path / f"{name}.npy", pictures[part])
        numpy.save(tmp_path / f"{name}_labels.npy", labels[part])
        sets.append({"path": str(tmp_path / f"{name}.npy"),
                     "labels": str(tmp_path / f"{name}_labels.npy")})
    with daemon.connect() as peer:
        answer = peer.attach("", dataset={"parts": sets}, transforms=[], shuffle=False,
                             layout="NHWC", dtype="uint8")
        assert answer.name == "attached", answer
        got = [(arrays["image"].copy(), int(arrays["label"])) for _, _, arrays in peer.samples()]
    assert numpy.array_equal([image for image, _ in got], pictures)
    assert [label for _, label in got] == list(labels)


def test_what_does_not_go_together(daemon, folders, tmp_path):
    small, large = str(tmp_path / "small.npy"), str(tmp_path / "large.npy")
    numpy.save(small, numpy.zeros((2, 8, 8, 3), "uint8"))
    numpy.save(large, numpy.zeros((2, 9, 8, 3), "uint8"))
    folder = str(folders[0])

    def refused(paths, kind, words, **more):
        with daemon.connect() as peer:
            answer = peer.attach("", **{**STREAM, "dataset": {
                "parts": [{"path": path} for path in paths]}, **more})
            assert answer.name == "error" and answer.fields["name"] == kind, answer
            assert all(word in answer.fields["text"] for word in words), answer
    refused([folder, small], "dataset", [folder, small, "pixels in memory"])
    refused([small, large], "dataset", [small, large, "differ in size"])
    wide = {dtype: str(tmp_path / f"{dtype}.npy") for dtype in ("uint16", "float32")}
    for dtype, path in wide.items():
        numpy.save(path, numpy.zeros((2, 8, 8, 3), dtype))
        refused([small, path], "dataset", ["size or channels"])
    refused([*wide.values()], "dataset", ["size or channels"])
    refused([folder], "dataset", ["2 to 16"])
    refused([folder, folder], "argument", ["3 weights for 2 parts"], sampler=BY_PART)
    with daemon.connect() as peer:
        answer = peer.attach(folder, **STREAM, sampler=BY_PART)
        assert answer.fields["name"] == "argument" and "'parts'" in answer.fields["text"], answer
        answer = peer.attach(folder, **STREAM, sampler={**BY_PART, "weights": [1]})
        assert answer.fields["name"] == "argument", answer
    daemon.settle()
