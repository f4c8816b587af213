# SPDX-License-Identifier: MIT
"""Producers over libstoker, in C and in C++: the example of each makes the same circles, which a
raw peer reads. FAULTS 91."""

import subprocess

import clients
import pytest

SECRET = b"sixteen bytes!!!"
CODE = "circles-1"
CIRCLES = {"dataset": {"path": "code:circles", "kind": "code", "code": CODE, "samples": "50"},
           "transforms": [{"name": "CenterCrop", "size": 32}], "secret": SECRET, "batch_size": 1,
           "dtype": "uint8", "layout": "NHWC", "epochs": 2}
SIZE = 300000  # of tests/conformance/producer.cpp
ARRAYS = {"dataset": {"path": "code:arrays", "kind": "code", "code": CODE, "samples": "9",
                      "arrays": f"index:int64: bytes:uint8:{SIZE}"},
          "secret": SECRET, "batch_size": 1, "shuffle": False, "epochs": 1}
END_S = 60


@pytest.fixture(name="produce")
def fixture_produce(tmp_path):
    """A function that starts one."""
    secret, running = tmp_path / "secret", []
    secret.write_bytes(SECRET)

    def start(daemon, program, code=CODE):
        running.append(subprocess.Popen([*program, daemon.socket, secret, code],
                                        stderr=subprocess.PIPE, text=True))
        return running[-1]
    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture(params=[name for name in clients.CIRCLES if name in clients.chosen()],
                name="program")
def fixture_program(request):
    try:
        return clients.CIRCLES[request.param]()
    except clients.Missing as error:
        pytest.skip(f"{request.param}: {error}")


@pytest.fixture(name="arrays")
def fixture_arrays():
    if "cpp" not in clients.chosen():
        pytest.skip("cpp is not chosen")
    return clients.of_meson("producer_cpp")


def disc(label):
    return bytes(255 if (x - 16) ** 2 + (y - 16) ** 2 <= label ** 2 else 0
                 for y in range(32) for x in range(32) for _ in range(3))


@pytest.mark.parametrize("count", [1, 3])
def test_each_circle_comes_twice(daemon, produce, program, count):
    for _ in range(count):
        produce(daemon, program)
    with daemon.connect() as peer:
        assert peer.attach("", **CIRCLES).name == "attached"
        seen = []
        for _, _, arrays in peer.samples():
            index = int(arrays["index"])
            assert int(arrays["label"]) == index % 10
            assert arrays["image"].tobytes() == disc(index % 10)
            seen.append(index)
    assert sorted(seen) == sorted(2 * list(range(50)))


def test_one_that_dies_costs_nothing(daemon, produce, program):
    one = produce(daemon, program)
    with daemon.connect() as peer:
        assert peer.attach("", **CIRCLES).name == "attached"
        peer.release(peer.expect("batch"))
        one.kill()
        produce(daemon, program)
        assert 1 + sum(1 for _ in peer.samples()) == 100


def test_it_says_why_it_ends(spawn, produce, program):
    daemon = spawn()
    wrong = produce(daemon, program, "c" * 65)
    assert wrong.wait(END_S) == 1 and "code" in wrong.stderr.read()
    one = produce(daemon, program)
    with daemon.connect() as peer:
        assert peer.attach("", **CIRCLES).name == "attached"
        peer.expect("batch")
    daemon.terminate()
    assert one.wait(END_S) == 1
    said = one.stderr.read()
    assert "stop" in said or "closed the connection" in said, said


def test_exceptions_make_bad_samples(daemon, produce, arrays):
    """Each with its text, and the producer goes on. Large records find their room."""
    one = produce(daemon, arrays)
    good, bad = [], {}
    with daemon.connect() as peer:
        assert peer.attach("", **ARRAYS).name == "attached"
        while (message := peer.receive()).name != "end":
            if message.name == "bad_sample":
                bad[message.fields["sample"]] = message.fields
            if message.name == "batch":
                values = peer.ring.read(**message.fields)
                assert values["label"].tobytes() == bytes([int(values["image"][0])]) * SIZE
                good.append(int(values["image"][0]))
                peer.release(message)
    assert good == [0, 1, 2, 5, 6, 7, 8] and sorted(bad) == [3, 4]
    assert {fields["name"] for fields in bad.values()} == {"sample_user"}
    assert bad[3]["text"] == 'sample 3 "fails"\nby \x1b[2J design'  # clients escape it
    assert bad[4]["text"] == "an exception that is no std::exception"
    assert one.poll() is None


def test_an_empty_optional_ends_it(daemon, produce, arrays):
    """What it leaves waits for others. Samples may be asked for in any order, so whether it made
    the first one is not said; and no producer of the tests before has this code."""
    code = "circles-2"
    one = produce(daemon, arrays, code)
    more = {**ARRAYS, "subset_start": 8,
            "dataset": {**ARRAYS["dataset"], "code": code, "samples": "10"}}
    with daemon.connect() as peer:
        assert peer.attach("", **more).name == "attached"
        assert one.wait(END_S) == 0, one.stderr.read()
        row, = [row for row in daemon.list("readers") if row["reader"] == peer.attached["reader"]]
        assert row["delivered"] <= 1


def test_the_readme_shows_the_producer():
    text = (clients.ROOT / "client" / "cpp" / "example_producer.cpp").read_text()
    assert text[text.index("#include"):] in (clients.ROOT / "client" / "cpp" /
                                             "README.md").read_text()
