# SPDX-License-Identifier: MIT
"""The C client and the Python client get what the raw protocol gives, byte for byte; a float32
stream is what a client would make of the uint8 stream; a killed Python trainer's state resumes.
"""

import signal
import subprocess
import sys
import threading

import numpy
import pytest

from harness import BUILD, SLOW, SOURCE
from test_law import N, STREAM, TRAIN
from test_storage import faulty, on_disk

sys.path.insert(0, str(SOURCE / "client" / "python"))
import stoker  # noqa: E402 (the client under test, not an installed one)

sys.path.insert(0, str(SOURCE / "tests" / "demo"))
import photos as made  # noqa: E402 (it stands in the demo's folder)

MEAN, STD = TRAIN[2]["mean"], TRAIN[2]["std"]
TEXT = ("RandomResizedCrop(size=32) | RandomHorizontalFlip() | "
        f"Normalize(mean={MEAN}, std={STD})")


def transforms():
    return [stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(),
            stoker.Normalize(MEAN, STD)]


@pytest.fixture(name="raw")
def fixture_raw(daemon, photos):
    """Two epochs as the protocol gives them: bytes of image, label, index of each sample."""
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=2, resize="pillow-13")  # as clients ask
        return b"".join(a["image"].tobytes() + a["label"].tobytes() + a["index"].tobytes()
                        for _, _, a in peer.samples())


@pytest.mark.parametrize("batch_size", [4, 9])
def test_c(daemon, photos, raw, batch_size):
    done = subprocess.run([str(BUILD / "tests" / "dump"), str(daemon.socket), str(photos), TEXT,
                           str(batch_size), "2"], capture_output=True, check=True,
                          timeout=60 * SLOW)
    assert done.stdout == raw


def test_c_fills_batches_from_the_next_epoch(daemon, photos):
    """Two epochs of 60 in batches of 7: what readers with short batches get, and six samples more
    of the third."""
    with daemon.connect() as peer:
        peer.attach(photos, **STREAM, epochs=3, resize="pillow-13")
        samples = [a["image"].tobytes() + a["label"].tobytes() + a["index"].tobytes()
                   for _, _, a in peer.samples()]
    done = subprocess.run([str(BUILD / "tests" / "dump"), str(daemon.socket), str(photos), TEXT,
                           "7", "2", "last_batch=wrap"], capture_output=True, check=True,
                          timeout=60 * SLOW)
    assert done.stdout == b"".join(samples[:126])


@pytest.mark.parametrize("transport", ["fd", "path"])
@pytest.mark.parametrize("batch_size", [4, 9])
def test_python(daemon, photos, raw, transport, batch_size):
    got = []
    with stoker.connect(daemon.socket) as node:
        with node.loader(photos, batch_size=batch_size, transforms=transforms(), order_seed=7,
                         augment_seed=9, transport=transport) as loader:
            for _ in range(2):
                for batch in loader.batches():
                    got += [batch.images[i].tobytes() + batch.labels[i].tobytes()
                            + batch.index[i].tobytes() for i in range(batch.count)]
                    batch.release()
    assert b"".join(got) == raw


def test_float32_is_uint8_converted(daemon, photos):
    """One semantics: ToTensor and Normalize in float32, as torch computes them."""
    with stoker.connect(daemon.socket) as node:
        options = {"batch_size": 10, "order_seed": 7, "augment_seed": 9}
        floats = node.loader(photos, transforms=transforms(), **options)
        integers = node.loader(photos, transforms=transforms()[:2], dtype="uint8", **options)
        mean, std = (numpy.array(v, "float32").reshape(3, 1, 1) for v in (MEAN, STD))
        for (wanted, labels), (images, same) in zip(floats, integers):
            made = (images.astype("float32") / numpy.float32(255) - mean) / std
            assert made.tobytes() == wanted.tobytes() and (labels == same).all()


def test_a_crash_at_a_sample_is_a_pause(spawn, tmp_path):
    """FAULTS 23: threads share one fate, so that a crash in one of them costs a restart; but not a
    byte, of no reader, and none is asked for the place that it had reached."""
    folder, gate = tmp_path / "photos", tmp_path / "gate"
    made.make(folder, count=N, size=(120, 90))
    on_disk("deadly", folder, 31)
    daemon = spawn(environment=faulty(STOKER_TEST_GATE=str(gate)))
    ended = []

    def supervise():
        ended.append(daemon.process.wait(10 * SLOW))
        daemon.spawn()

    def read(loader):
        return [batch.images.tobytes() + batch.index.tobytes() for batch in loader.batches()]

    options = {"batch_size": 4, "shuffle": False, "transforms": transforms(), "seed": 9}
    with stoker.connect(spawn().socket) as node:
        whole = read(node.loader(folder, **options))
    gate.touch()
    with stoker.connect(daemon.socket) as node:
        supervisor = threading.Thread(target=supervise)
        supervisor.start()
        loader = node.loader(folder, **options)
        assert read(loader) == whole and len(whole) == N // 4
        supervisor.join()
        assert ended == [-signal.SIGABRT] and loader.reconnects == 1
    daemon.settle()


def test_state_resumes_with_other_ranks(daemon, photos, raw):
    """FAULTS 19, 89, 90: a state of one rank goes on as two, and of another pipeline is refused."""
    size = len(raw) // 120
    with stoker.connect(daemon.socket) as node:
        options = {"transforms": transforms(), "order_seed": 7, "augment_seed": 9}
        loader = node.loader(photos, batch_size=8, **options)
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        state = loader.state_dict()
        ranks = [node.loader(photos, batch_size=3, rank=rank, world_size=2, **options)
                 for rank in range(2)]
        parts = {}
        for loader in ranks:
            loader.load_state_dict(state)
        for together in zip(*(loader.batches() for loader in ranks)):
            for batch in together:
                for i in range(batch.count):
                    parts[batch.position + i] = (batch.images[i].tobytes()
                                                 + batch.labels[i].tobytes()
                                                 + batch.index[i].tobytes())
                batch.release()
        assert sorted(parts) == list(range(24, 60))
        assert b"".join(parts[p] for p in sorted(parts)) == raw[24 * size:60 * size]
        other = node.loader(photos, batch_size=8, order_seed=7, augment_seed=9,
                            transforms=transforms()[:1])
        with pytest.raises(stoker.TokenError, match="transforms"):
            other.load_state_dict(state)
