# SPDX-License-Identifier: MIT
"""Streams of the daemon's own work that actors on other nodes make, each beside a daemon of its
own: with a made engine, whose actors are processes of this machine and ask another daemon."""
import os
import shutil
import signal

import numpy as np
import pytest

import own_elsewhere
import stoker
from real_daemon import RealDaemon, pictures
from stoker.produce import stream
from test_elsewhere import digest, fixture_load  # noqa: F401 (pytest takes it by its name)

TRANSFORMS = [stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(), stoker.ColorJitter(0.4),
              stoker.ToTensor(), stoker.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))]


@pytest.fixture(name="other", scope="module")
def fixture_other(tmp_path_factory):
    """The daemon of the actors' node."""
    daemon = RealDaemon(tmp_path_factory.mktemp("other"))
    yield daemon
    assert daemon.stop() == 0


@pytest.fixture(name="engine")
def fixture_engine(tmp_path, other, monkeypatch):
    monkeypatch.setenv("STOKER_SOCKET", other.path)
    return lambda count=2, local=0: own_elsewhere.Processes(count, local, tmp_path / "log")


@pytest.mark.parametrize("more", [
    {}, {"dtype": "bfloat16", "layout": "NHWC"}, {"shuffle": False}, {"echo": 2},
    {"subset": (3, 17)}, {"sampler": stoker.samplers.Subset([1, 4, 4, 9])}, {"one_hot": True},
    {"rank": 1, "world_size": 2}, {"last_batch": "wrap"},
    {"transforms": TRANSFORMS[:2], "dtype": "uint8"}, {"transforms": TRANSFORMS[:2]},
], ids=str)
def test_batches_are_those_of_this_node(load, folder, engine, more):
    options = {"transforms": TRANSFORMS, **more}
    wanted = digest(load(folder, None, **options))
    assert wanted[0] > 0 and digest(load(folder, engine(), **options)) == wanted


def test_indices_and_labels_are_those_of_the_dataset(load, folder, engine):
    def told(num_workers):
        with load(folder, num_workers, transforms=TRANSFORMS) as loader:
            return [(batch.index.tolist(), batch.labels.tolist()) for batch in loader.batches()]
    assert told(engine()) == told(None)


def test_what_an_actor_had_that_died_comes_once(load, folder, engine, tmp_path):
    wanted = digest(load(folder, None, transforms=TRANSFORMS))

    def kill(number):
        if number == 2:
            os.kill(int((tmp_path / "log").read_text().split()[-1]), signal.SIGKILL)
    assert digest(load(folder, engine(), transforms=TRANSFORMS), between=kill) == wanted


def test_a_daemon_of_another_node_that_died_costs_no_sample(load, folder, engine, tmp_path,
                                                               monkeypatch):
    wanted = digest(load(folder, None, transforms=TRANSFORMS))
    other = RealDaemon(tmp_path)
    monkeypatch.setenv("STOKER_SOCKET", other.path)

    def kill(number):
        if number == 2:
            other.stop(signal.SIGKILL)
    assert digest(load(folder, engine(1, local=1), transforms=TRANSFORMS), between=kill) == wanted


def test_one_stream_for_all_trainers_whatever_reads_it(load, folder, engine):
    def code(**more):
        with load(folder, engine(1), transforms=TRANSFORMS, **more) as loader:
            return loader._reader.request["dataset"]["code"]
    assert code() == code(transport="path", priority=3, batch_size=2, inflight=1)
    assert code() != code(exif_orientation=True) and code() != code(augment_seed=5)


def test_a_state_goes_on_exactly(load, folder, engine):
    with load(folder, engine(), transforms=TRANSFORMS) as loader:
        iteration = iter(loader)
        for _ in range(3):
            next(iteration)
        state = loader.state_dict()
        rest = [np.array(images) for images, _ in iteration]
    with load(folder, engine(1), transforms=TRANSFORMS) as loader:
        loader.load_state_dict(state)
        for images, _ in loader:
            assert np.array_equal(images, rest.pop(0))
    assert not rest


def test_other_files_on_a_node_are_refused(load, folder, engine, tmp_path):
    with load(folder, None, transforms=TRANSFORMS[:2], dtype="uint8") as loader:
        request, state = loader._reader.request, loader.state_dict()
    elsewhere = pictures(tmp_path / "train", each=6)
    made = stream.Stream({**request, "dataset": {"path": elsewhere}}, state)
    with pytest.raises(ValueError, match="is not what the trainer has: "):
        made._open()


def test_a_bad_sample_is_named(load, folder, engine, tmp_path):
    here = tmp_path / "train"
    shutil.copytree(folder, here)
    (here / "class1" / "003.png").write_bytes(b"no picture")
    with load(here, engine(1), transforms=TRANSFORMS, shuffle=False) as loader, \
            pytest.raises(stoker.SampleError, match="class1/003.png"):
        list(loader)


@pytest.mark.parametrize("more, what", [
    ({"views": 2}, "views"),
    ({"crops": {"a": (1, TRANSFORMS[:1])}, "transforms": ()}, "crops"),
    ({"bad_samples": "substitute"}, "bad_samples='substitute'"),
    ({"transforms": [*TRANSFORMS[:1], stoker.ToTensor(), stoker.RandomErasing()]},
     "ToTensor before RandomErasing"),
    ({"transforms": [*TRANSFORMS[:1], stoker.Grayscale()]}, "pictures of the shape"),
    ({"sampler": stoker.samplers.Subset([*range(21)] * 200)}, "a list that lies in the memory"),
    ({"credentials": dict}, "credentials"),
], ids=str)
def test_what_cannot_be_parted_is_refused(load, folder, engine, more, what):
    with pytest.raises(ValueError, match=f"actors of a cluster make no stream with {what}"):
        load(folder, engine(1), **{"transforms": TRANSFORMS, **more})
