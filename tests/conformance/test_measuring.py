# SPDX-License-Identifier: MIT
"""What the programs do for tests/bench/languages.py: read without digests, seek, collect."""

import numpy

BATCH, EDGE, COUNT = 6, 16, 60


def sum_of(images, first):
    """One byte of each 64 of a batch."""
    return int(images[first:first + BATCH].reshape(-1)[::64].sum(dtype=numpy.uint64))


def test_measure(client, daemon, tmp_path):
    """The bytes of the file, in its order; batches 0 and 1, then at 30, then the one behind it."""
    images = numpy.random.default_rng(5).integers(0, 256, (COUNT, EDGE, EDGE, 3), numpy.uint8)
    numpy.save(tmp_path / "images.npy", images)
    attach = {"dataset": {"path": str(tmp_path / "images.npy")}, "transforms": [],
              "dtype": "uint8", "layout": "NHWC", "shuffle": False, "batch_size": BATCH}
    run = client.start(daemon.socket, attach, measure=True)
    run.wait_for("attached")
    run.tell("read 2", "seek 3 30", "collect", "read 1")
    assert run.wait_for("measured")["sum"] == str(sum_of(images, 0) + sum_of(images, BATCH))
    sought = run.wait_for("sought")
    assert (sought["position"], sought["sum"]) == ("30", str(sum_of(images, 30)))
    assert int(run.wait_for("collected")["heap"]) >= 0
    last = run.wait_for("measured", 2)
    assert (last["samples"], last["sum"]) == (str(BATCH), str(sum_of(images, 30 + BATCH)))
    run.finish()
