# SPDX-License-Identifier: MIT
"""CIFAR and MNIST as published, through the daemon: the samples, the law, and what is said of them.
What is damaged is in tests/unit/dataset/test_dataset_published.py."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "dataset"))

import published
from harness import wait_for

N = 40
AUGMENT = [{"name": "RandomCrop", "size": 32, "padding": 4}, {"name": "RandomHorizontalFlip"}]
PLAIN = {"shuffle": False, "dtype": "uint8", "layout": "NHWC", "epochs": 1, "batch_size": 8}


@pytest.fixture(name="cifar", scope="module")
def fixture_cifar(tmp_path_factory):
    """(images, fine labels, coarse labels, path of an archive), train and test."""
    folder = tmp_path_factory.mktemp("published")
    images = published.pictures(N, (32, 32, 3))
    fine, coarse = np.arange(N) * 2, np.arange(N) % 20
    path = published.put(folder / "cifar-100-python.tar.gz", {
        **published.cifar100(images, fine, coarse, 0),
        **published.cifar100(images[::-1], fine[::-1], coarse[::-1], 0, test=True)})
    return images, fine, coarse, path


def read(daemon, dataset, **fields):
    with daemon.connect() as peer:
        answer = peer.attach(dataset["path"], dataset=dataset, **fields)
        assert answer.name == "attached", answer
        return [arrays for _, _, arrays in peer.samples()]


def digests(daemon, dataset, **fields):
    with daemon.connect() as peer:
        answer = peer.attach(dataset["path"], dataset=dataset, transforms=AUGMENT, epochs=2,
                             order_seed=3, augment_seed=4, **{"batch_size": 8, **fields})
        assert answer.name == "attached", answer
        return peer.digests()


def test_samples(daemon, cifar):
    images, fine, coarse, path = cifar
    for keys, pictures, labels in (
            ({}, images, fine), ({"split": "test"}, images[::-1], fine[::-1]),
            ({"labels": "coarse", "kind": "cifar100"}, images, coarse)):
        got = read(daemon, {"path": path, **keys}, **PLAIN)
        assert np.array_equal([sample["image"] for sample in got], pictures)
        assert [int(sample["label"]) for sample in got] == labels.tolist()
    daemon.settle()


def test_one_law_for_all_forms(spawn, cifar, tmp_path):
    """Neither workers nor packing nor form change a byte; only labels and split are others."""
    images, fine, coarse, path = cifar
    reference = digests(spawn(workers=1), {"path": path})
    assert len(reference) == 2 * N
    folder = published.put(tmp_path / "folder", published.cifar100(images, fine, coarse, 4))
    binary = published.put(tmp_path / "b.zip", published.cifar100(images, fine, coarse))
    daemon = spawn(workers=3)
    for other in (path, folder, binary):
        assert digests(daemon, {"path": other}) == reference
    later = {key: value for key, value in reference.items() if key >= (0, 13)}
    assert digests(daemon, {"path": binary}, position=13, batch_size=5) == later
    assert digests(daemon, {"path": path, "split": "test"}) != reference


def test_the_same_set_is_open_once(daemon, cifar):
    path = cifar[3]
    with daemon.connect() as one, daemon.connect() as two, daemon.connect() as three:
        for peer, keys in ((one, {}), (two, {}), (three, {"split": "test"})):
            answer = peer.attach(path, dataset={"path": path, **keys}, **PLAIN)
            assert answer.name == "attached", answer
        rows = daemon.list("datasets")
        assert [(row["kind"], row["samples"], row["classes"]) for row in rows] == [
            ("cifar100", N, 100)] * 2
        streams = daemon.list("streams")
        assert sorted(row.get("split", "train") for row in streams) == ["test", "train"]
    wait_for(lambda: not daemon.list("datasets"), "the datasets to be let go")
    daemon.settle()


def test_replay_and_preview(daemon, cifar, tmp_path):
    """What is needed to attach again is in the listing: split and labels, too."""
    images, _, coarse, path = cifar
    dataset = {"path": path, "split": "test", "labels": "coarse"}
    with daemon.connect() as peer:
        answer = peer.attach(path, dataset=dataset, **PLAIN)
        done = daemon.ctl("replay", answer.fields["stream"], "--epoch", 0, "--position", 2, "-o",
                          tmp_path / "a.png").stdout
        assert f"label        {coarse[::-1][2]}\n" in done
    daemon.ctl("preview", path, "-o", tmp_path / "sheet.png", "-t", "RandomHorizontalFlip()")
    assert (tmp_path / "sheet.png").stat().st_size > images[:32].nbytes


def test_mnist(daemon, tmp_path):
    gray, labels = published.pictures(N, (28, 28)), np.arange(N) % 10
    path = published.put(tmp_path / "raw", published.mnist(gray, labels, packed=True))
    for dataset in ({"path": path}, {"path": str(tmp_path)}, {"path": path, "kind": "mnist"}):
        got = read(daemon, dataset, **PLAIN)
        assert np.array_equal([sample["image"][..., 1] for sample in got], gray)
        assert [int(sample["label"]) for sample in got] == labels.tolist()


def test_what_cannot_be(spawn, cifar, tmp_path):
    path = cifar[3]
    daemon = spawn(dataset_memory="100K")
    with daemon.connect() as peer:
        for dataset, words in (
                ({"path": path}, "raise dataset-memory"),
                ({"path": path, "split": "val"}, "no split 'val'"),
                ({"path": path, "kind": "cifar10"}, "data_batch_1: the file is missing"),
                ({"path": path, "kind": "mnist", "labels": "fine"}, "'labels' is not for"),
                ({"path": path, "labels": "fines"}, "fine or coarse"),
                ({"path": str(tmp_path), "kind": "mnist"}, "the file is missing")):
            answer = peer.attach(path, dataset=dataset, **PLAIN)
            assert answer.name == "error" and answer.fields["name"] == "dataset", (dataset, answer)
            assert words in answer.fields["text"], (dataset, answer)
    daemon.settle()
