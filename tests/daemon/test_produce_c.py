# SPDX-License-Identifier: MIT
"""A producer in C (stoker_produce() of libstoker), with readers of the raw protocol. FAULTS 91."""

import subprocess

import numpy
import pytest

from harness import BUILD
from test_producers import SECRET

CODE = "circles-1"
WISH = {"dataset": {"path": "code:circles", "kind": "code", "code": CODE, "samples": "50"},
        "transforms": [{"name": "CenterCrop", "size": 32}], "secret": SECRET, "batch_size": 1,
        "dtype": "uint8", "layout": "NHWC", "epochs": 2}


@pytest.fixture(name="produce")
def fixture_produce(daemon, tmp_path):
    """A function that starts one."""
    secret, running = tmp_path / "secret", []
    secret.write_bytes(SECRET)

    def start(code=CODE, program="example_producer"):
        running.append(subprocess.Popen(
            [BUILD / "client" / "c" / program, daemon.socket, secret, code],
            stderr=subprocess.PIPE, text=True))
        return running[-1]
    yield start
    for process in running:
        process.kill()
        process.communicate()


def disc(label):
    return bytes(255 if (x - 16) ** 2 + (y - 16) ** 2 <= label ** 2 else 0
                 for y in range(32) for x in range(32) for _ in range(3))


@pytest.mark.parametrize("count", [1, 3])
def test_samples_of_a_producer_in_c(daemon, produce, count):
    for _ in range(count):
        produce()
    with daemon.connect() as peer:
        assert peer.attach("", **WISH).name == "attached"
        seen = []
        for _, _, arrays in peer.samples():
            index = int(arrays["index"])
            assert int(arrays["label"]) == index % 10
            assert arrays["image"].tobytes() == disc(index % 10)
            seen.append(index)
    assert sorted(seen) == sorted(2 * list(range(50)))


def test_a_producer_in_c_that_dies_costs_nothing(daemon, produce):
    one = produce()
    with daemon.connect() as peer:
        assert peer.attach("", **WISH).name == "attached"
        peer.release(peer.expect("batch"))
        one.kill()
        produce()
        count = 1 + sum(1 for _ in peer.samples())
    assert count == 100


def test_a_producer_in_c_says_why_it_ends(daemon, produce):
    wrong = produce("c" * 65)
    assert wrong.wait(60) == 1 and "code" in wrong.stderr.read()
    one = produce()
    with daemon.connect() as peer:
        assert peer.attach("", **WISH).name == "attached"
        peer.expect("batch")
    daemon.terminate()
    assert one.wait(60) == 1
    said = one.stderr.read()
    assert "stop" in said or "closed the connection" in said, said


SIZES = [(24, 20), (16, 16), (1000, 1500), (17, 90)]  # rows and columns; one takes a larger tray


def test_a_map_in_c(daemon, produce, tmp_path):
    """Pictures of several sizes, as they are in the tray, and records of more than its part."""
    (tmp_path / "class").mkdir()
    for i, (height, width) in enumerate(SIZES):
        pixels = numpy.random.default_rng(i).integers(0, 256, (height, width, 3), numpy.uint8)
        (tmp_path / "class" / f"{i}.ppm").write_bytes(b"P6 %d %d 255\n" % (width, height)
                                                      + pixels.tobytes())
    crop = {"name": "CenterCrop", "size": 16}
    wish = {**WISH, "epochs": 1, "shuffle": False}
    del wish["dataset"]

    def images(*transforms):
        with daemon.connect() as peer:
            answer = peer.attach(tmp_path, **{**wish, "transforms": list(transforms)})
            assert answer.name == "attached", answer
            return [arrays["image"].copy() for _, _, arrays in peer.samples()]
    produce("negative 1", "example_map")
    plain = images(crop)
    mapped = images({"name": "Map", "code": "negative 1"}, crop)
    assert len(plain) == len(mapped) == len(SIZES)
    for one, other in zip(plain, mapped):
        assert (other == 255 - one).all()
