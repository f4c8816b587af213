# SPDX-License-Identifier: MIT
"""Statistics of a dataset: NumPy's numbers by Keras' formulas, whoever worked them out, and what a
list that asks for them by name does with them."""

import re
import signal

import numpy as np
import pytest

from harness import WAIT_S

N, H, W = 700, 8, 6


def pictures():
    """Neighbours are alike, channels differ, and there is noise."""
    random = np.random.default_rng(5)
    values = 40 * np.cumsum(random.normal(size=(N, H, W, 3)), axis=1)
    values += random.normal(size=(N, H, W, 3)) * (10, 20, 30) + (90, 120, 150)
    return np.clip(values, 0, 255).astype(np.uint8)


def keras_fit(x, rescale=1.0, epsilon=1e-6, zca=False, per_pixel=False):
    """Keras' ImageDataGenerator.fit(), in float64."""
    x = x.astype(np.float64) * rescale
    axes = 0 if per_pixel else (0, 1, 2)
    mean = x.mean(axes)
    if not zca:
        return mean, x.std(axes), None
    flat = (x - mean).reshape(len(x), -1)
    u, s, _ = np.linalg.svd(flat.T, full_matrices=False)
    return mean, x.std(axes), (u * (np.sqrt(len(x)) / (s + epsilon))) @ u.T


@pytest.fixture(name="dataset")
def fixture_dataset(tmp_path):
    np.save(tmp_path / "x.npy", pictures())
    return {"path": str(tmp_path / "x.npy")}


def fit(daemon, dataset, **fields):
    with daemon.connect() as peer:
        peer.send("fit", seq=77, dataset=dataset, **fields)
        while True:
            message = peer.receive(120)
            if message.name != "progress":
                break
        assert message.fields["seq"] == 77
        return message.fields["values"] if message.name == "report" else message.fields


def generator(**parameters):
    return [{"name": "ImageDataGenerator", **parameters}]


def images(daemon, dataset, transforms):
    with daemon.connect() as peer:
        answer = peer.attach(dataset["path"], dataset=dataset, transforms=transforms, epochs=1,
                             shuffle=False, layout="NHWC", batch_size=50)
        assert answer.name == "attached", answer
        got = [arrays["image"] for _, _, arrays in peer.samples()]
        return np.asarray(got), answer.fields["pipeline_hash"]


def test_mean_and_std(daemon, dataset):
    got = fit(daemon, dataset)
    mean, std, _ = keras_fit(pictures())
    assert got["samples"] == N and got["unread"] == 0 and got["name"] == "default"
    assert np.allclose(got["mean"], mean, rtol=1e-12) and np.allclose(got["std"], std, rtol=1e-12)


def test_workers_change_nothing(spawn, dataset):
    """... nor does their number: all sums are exact."""
    digests = set()
    for workers in (1, 2, 5):
        got = fit(spawn(workers=workers), dataset, per_pixel=True, zca=True)
        digests.add(got["digest"])
    assert len(digests) == 1


@pytest.mark.parametrize("per_pixel", [False, True])
@pytest.mark.parametrize("rescale", [1, 1 / 255])
def test_features(daemon, dataset, per_pixel, rescale):
    fit(daemon, dataset, per_pixel=per_pixel, rescale=rescale, name="plain")
    got, _ = images(daemon, dataset, generator(
        featurewise_center=True, featurewise_std_normalization=True, rescale=rescale,
        statistics="plain"))
    mean, std, _ = keras_fit(pictures(), rescale, per_pixel=per_pixel)
    want = (pictures() * rescale - mean) / (std + 1e-6)
    assert np.abs(got - want).max() < 1e-4


@pytest.mark.parametrize("per_pixel", [False, True])
@pytest.mark.parametrize("rescale,epsilon", [(1, 1e-6), (1 / 255, 0.1), (1 / 255, 1e-6)])
def test_zca(daemon, dataset, per_pixel, rescale, epsilon):
    got = fit(daemon, dataset, zca=True, rescale=rescale, zca_epsilon=epsilon, name="white",
              per_pixel=per_pixel)
    assert got["zca"] and got["bytes"] >= 4 * (H * W * 3) ** 2
    white, _ = images(daemon, dataset, generator(
        zca_whitening=True, zca_epsilon=epsilon, rescale=rescale, statistics="white"))
    mean, _, matrix = keras_fit(pictures(), rescale, epsilon, True, per_pixel)
    want = ((pictures() * rescale - mean).reshape(N, -1) @ matrix).reshape(white.shape)
    assert np.abs(white - want).max() < 1e-4 * np.abs(want).max()
    if epsilon == 1e-6:
        flat = white.reshape(N, -1).astype(np.float64)
        assert np.allclose(flat.T @ flat / N, np.eye(H * W * 3), atol=2e-3)


def test_fewer_samples_than_numbers(daemon, tmp_path):
    """Of directions in which no sample moves Keras makes nothing, and neither do we."""
    few = pictures()[:20]
    np.save(tmp_path / "few.npy", few)
    dataset = {"path": str(tmp_path / "few.npy")}
    fit(daemon, dataset, zca=True)
    white, _ = images(daemon, dataset, generator(zca_whitening=True, statistics="default"))
    mean, _, matrix = keras_fit(few, zca=True)
    want = ((few - mean).reshape(20, -1) @ matrix).reshape(white.shape)
    assert np.abs(white - want).max() < 1e-3 * np.abs(want).max()


def test_files(spawn, photos):
    """Of files, by a list; what cannot be read is counted."""
    transforms = [{"name": "Resize", "size": 40}, {"name": "CenterCrop", "size": 32}]
    daemon = spawn(workers=2)
    with daemon.connect() as peer:
        answer = peer.attach(photos, transforms=transforms, dtype="uint8", layout="NHWC",
                             epochs=1, shuffle=False, batch_size=8)
        assert answer.name == "attached", answer
        seen = np.asarray([arrays["image"] for _, _, arrays in peer.samples()])
    got = fit(daemon, {"path": str(photos)}, transforms=transforms)
    mean, std, _ = keras_fit(seen)
    assert got["samples"] == len(seen)
    assert np.allclose(got["mean"], mean) and np.allclose(got["std"], std)


def test_name_and_digest(daemon, dataset):
    """The pipeline is what the statistics are, not what they are called."""
    first = fit(daemon, dataset, name="a")
    second = fit(daemon, dataset, name="b")
    assert first["digest"] == second["digest"]
    hashes = {images(daemon, dataset, generator(featurewise_center=True, statistics=name))[1]
              for name in ("a", "b", first["digest"])}
    assert len(hashes) == 1
    fit(daemon, dataset, name="a", per_pixel=True)
    other = images(daemon, dataset, generator(featurewise_center=True, statistics="a"))[1]
    assert other not in hashes


def test_of_another_dataset(daemon, dataset, tmp_path):
    """A digest stands for itself: a validation set takes what the training set gave. A name does
    not, nor do statistics of pictures of another size."""
    digest = fit(daemon, dataset, zca=True)["digest"]
    other, small = {"path": str(tmp_path / "o.npy")}, {"path": str(tmp_path / "s.npy")}
    np.save(other["path"], 255 - pictures()[:60])
    np.save(small["path"], pictures()[:60, 1:])
    transforms = generator(zca_whitening=True, statistics=digest)
    mean, _, matrix = keras_fit(pictures(), zca=True)
    wanted = ((255.0 - pictures()[:60] - mean).reshape(60, -1) @ matrix).reshape(60, H, W, 3)
    assert np.abs(images(daemon, other, transforms)[0] - wanted).max() < 1e-3
    for refused, statistics in ((other, "default"), (small, digest)):
        with daemon.connect() as peer:
            transforms = generator(zca_whitening=True, statistics=statistics)
            answer = peer.attach(refused["path"], dataset=refused, transforms=transforms,
                                 layout="NHWC", batch_size=5)
            assert answer.name == "error" and answer.fields["name"] == "pipeline", answer


def test_kept(spawn, dataset, tmp_path):
    """On the disk they outlive the daemon; what is damaged is left out."""
    index_dir = tmp_path / "index"
    daemon = spawn(index_dir=index_dir)
    got = fit(daemon, dataset, name="kept", zca=True)
    assert got["kept"]
    transforms = generator(zca_whitening=True, statistics="kept")
    want, name = images(daemon, dataset, transforms)
    daemon.terminate()
    again, same = images(spawn(index_dir=index_dir), dataset, transforms)
    assert np.array_equal(again, want) and same == name
    file, = (path for path in index_dir.iterdir() if path.suffix == ".fit")
    whole = bytearray(file.read_bytes())
    for damage in (lambda b: b[:-1], lambda b: b[:100], lambda b: b + b"x",
                   lambda b: b[:-5] + bytes([b[-5] ^ 1]) + b[-4:],
                   lambda b: b[:30] + bytes([b[30] ^ 1]) + b[31:]):
        file.write_bytes(damage(bytes(whole)))
        damaged = spawn(index_dir=index_dir)
        with damaged.connect() as peer:
            answer = peer.attach(dataset["path"], dataset=dataset, transforms=transforms)
            assert answer.name == "error" and "stokerctl fit" in answer.fields["text"]
        assert "are ignored" in damaged.log()


@pytest.mark.parametrize("fields,error,words", [
    ({"transforms": [{"name": "RandomHorizontalFlip"}]}, "pipeline", "RandomHorizontalFlip"),
    ({"transforms": generator()}, "pipeline", "fractions|ImageDataGenerator"),
    ({"transforms": [{"name": "Resize", "size": [64, 64]}], "zca": True}, "pipeline", "3072"),
    ({"name": "../x"}, "argument", "letters"),
    ({"name": ".x"}, "argument", "letters"),
    ({"rescale": 0}, "argument", "rescale"),
    ({"rescale": "x"}, "argument", "rescale"),
    ({"zca_epsilon": 0}, "argument", "zca_epsilon"),
    ({"dataset": {"path": "/nowhere/at/all"}}, "dataset", "nowhere"),
])
def test_refused(daemon, dataset, fields, error, words):
    got = fit(daemon, **{"dataset": dataset, **fields})
    assert got.get("name") == error, got
    assert any(word in got["text"] for word in words.split("|")), got


@pytest.mark.parametrize("parameters,words", [
    ({"featurewise_center": True, "statistics": "none"}, "stokerctl fit"),
    ({"featurewise_center": True, "statistics": "default", "rescale": 0.5}, "rescale"),
    ({"zca_whitening": True, "statistics": "default"}, "--zca"),
    ({"zca_whitening": True}, "--zca"),
    ({"statistics": "default"}, "featurewise_center"),
    ({"featurewise_center": True, "statistics": "a/b"}, "letters"),
    ({"featurewise_center": True, "statistics": "default", "featurewise_mean": 1}, "leave out"),
])
def test_what_does_not_fit(daemon, dataset, parameters, words):
    fit(daemon, dataset)
    with daemon.connect() as peer:
        answer = peer.attach(dataset["path"], dataset=dataset, transforms=generator(**parameters))
        assert answer.name == "error" and answer.fields["name"] == "pipeline", answer
        assert words in answer.fields["text"]


def test_room(spawn, dataset):
    """The words say what is free of it, and what to do."""
    daemon = spawn(dataset_memory="200K")
    got = fit(daemon, dataset, zca=True)
    assert got["name"] == "limit" and "raise dataset-memory" in got["text"]
    needs, limit, free = map(int, re.findall(r"(\d+) (?:bytes|are free)", got["text"]))
    assert limit == 200 << 10 and free < limit and free < needs


def test_room_for_pictures(spawn, dataset):
    """Each worker has one in hand: 2000 x 2000 are 12 MB."""
    resize = [{"name": "Resize", "size": [2000, 2000]}]
    got = fit(spawn(dataset_memory="20M"), dataset, transforms=resize)
    assert got["name"] == "limit" and "dataset-memory" in got["text"]


def test_nothing_to_say(spawn, tmp_path):
    """What cannot be worked out is told in words that outlive the work: freed memory is written
    over here."""
    daemon = spawn(environment={"MALLOC_PERTURB_": "165"})
    np.save(tmp_path / "same.npy", np.full((20, 2, 2, 3), 7, np.uint8))
    (tmp_path / "set" / "none").mkdir(parents=True)
    (tmp_path / "set" / "none" / "x.jpg").write_bytes(b"no picture")
    got = fit(daemon, {"path": str(tmp_path / "same.npy")}, zca=True)
    assert got["name"] == "argument" and "nothing to whiten" in got["text"]
    got = fit(daemon, {"path": str(tmp_path / "set")},
              transforms=[{"name": "Resize", "size": [4, 4]}])
    assert got["name"] == "argument" and "no sample" in got["text"]


def test_who_leaves(daemon, dataset):
    """The work ends with the connection, and nothing of it stays."""
    for _ in range(5):
        peer = daemon.connect()
        peer.send("fit", seq=1, dataset=dataset, zca=True)
        peer.close()
    daemon.settle()
    assert fit(daemon, dataset)["samples"] == N


@pytest.fixture(name="solving")
def fixture_solving(daemon, tmp_path):
    """A peer for whom eigenvectors are sought, which takes longer than any test."""
    path = tmp_path / "large.npy"
    np.save(path, np.random.default_rng(1).integers(0, 255, (40, 32, 32, 3), np.uint8))
    with daemon.connect() as peer:
        peer.send("fit", seq=1, dataset={"path": str(path)}, zca=True)
        while peer.expect("progress").fields["what"] != "solving":
            pass
        yield peer


def test_the_fit_of_a_reader_that_left_ends_in_its_thread(daemon, dataset, solving):
    """It goes on; one whitens at a time, and all else is as ever."""
    assert "under way" in fit(daemon, dataset, zca=True)["text"]
    solving.close()
    assert fit(daemon, dataset)["samples"] == N
    assert len(images(daemon, dataset, [])[0]) == N


@pytest.mark.parametrize("leaves", [False, True])
def test_stop_waits_for_no_eigenvectors(daemon, solving, leaves):
    if leaves:
        solving.close()
    daemon.process.send_signal(signal.SIGTERM)
    if not leaves:
        answer = solving.receive()
        while answer.name in ("progress", "goaway"):
            answer = solving.receive()
        assert answer.name == "error" and answer.fields["name"] == "stopping", answer
    daemon.process.wait(WAIT_S)
    log = daemon.terminate()
    assert "stopped without waiting for a fit" in log and "hangs" not in log


def test_beside_a_loader(daemon, dataset):
    """A FIT while a stream runs gives the same, and changes none of the stream's bytes."""
    want, _ = images(daemon, dataset, [])
    alone = fit(daemon, dataset, zca=True)["digest"]
    with daemon.connect() as peer:
        assert peer.attach(dataset["path"], dataset=dataset, epochs=1, shuffle=False,
                           layout="NHWC", batch_size=50).name == "attached"
        assert fit(daemon, dataset, zca=True)["digest"] == alone
        assert np.array_equal([a["image"] for _, _, a in peer.samples()], want)
