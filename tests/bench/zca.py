# SPDX-License-Identifier: MIT
"""ZCA at CIFAR's size, 32 x 32 x 3: the daemon's matrix beside Keras' formula, and what a reader
waits meanwhile.

    STOKER_BUILD=build PYTHONPATH=client/python python3 tests/bench/zca.py [--count N]
        [--peer PYTHON]

The pictures are made, as smooth as photographs. `--peer` names the Python whose NumPy takes Keras'
place (one with a fast LAPACK; this one by default): it decomposes the centred samples, in
float32 as Keras does and in float64. Prints how far the matrices are apart, of the largest number
in them, seconds and processor seconds of both, and a batch's wait before the fit, while samples are
added up and while eigenvectors are sought. Ends with 1 if the float64 one is more than 1e-4 away.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "daemon"))

import stoker  # noqa: E402
from harness import Daemon  # noqa: E402

SIDE, LENGTH = 32, 3072
EPSILON = 1e-6
HEADER = 240  # bytes of a file of statistics
AT_MOST = 1e-4
KEEPS_S = 3  # a reader alone

# ImageDataGenerator.fit() of Keras 3, with featurewise_center and zca_whitening.
KERAS = """
import json, sys, time, numpy as np
x = np.load(sys.argv[1]).astype(sys.argv[3]) * np.dtype(sys.argv[3]).type(1 / 255)
start, used = time.monotonic(), time.process_time()
x -= np.mean(x, axis=(0, 1, 2))
flat = x.reshape(len(x), -1)
u, s, _ = np.linalg.svd(flat.T, full_matrices=False)
matrix = (u * (np.sqrt(len(x)) / (s + float(sys.argv[4])))).dot(u.T)
np.save(sys.argv[2], matrix)
print(json.dumps([time.monotonic() - start, time.process_time() - used]))
"""


def pictures(count):
    """Their spectrum falls as that of photographs, and channels are alike."""
    random = np.random.default_rng(7)
    frequency = np.hypot(np.fft.fftfreq(SIDE)[:, None], np.fft.rfftfreq(SIDE)[None])
    falls = 1 / np.maximum(frequency, 1 / SIDE)
    mixed = np.array([[1, .9, .8], [.2, 0, -.2], [.1, -.2, .1]])
    out = np.empty((count, SIDE, SIDE, 3), np.uint8)
    for at in range(0, count, 500):
        part = random.normal(size=(len(out[at:at + 500]), 3, SIDE, SIDE))
        part = np.fft.irfft2(np.fft.rfft2(part) * falls, s=(SIDE, SIDE))
        part = np.einsum("nchw,cd->nhwd", part, mixed) * 8 + 120 + random.normal(size=(1, 3)) * 20
        out[at:at + 500] = np.clip(np.round(part), 0, 255)
    return out


def cpu_seconds(pid):
    after = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, after[11:13])) / os.sysconf("SC_CLK_TCK")


class Reader(threading.Thread):
    """Takes a batch each hundredth of a second and notes how long it waited, by what is done."""

    def __init__(self, socket, path):
        super().__init__()
        self.loader = stoker.connect(str(socket)).loader(
            path, batch_size=64, transforms=[stoker.RandomCrop(SIDE, padding=4)])
        self.what, self.waits, self.goes_on = "alone", {}, True

    def run(self):
        while self.goes_on:
            batches = iter(self.loader.batches())
            while self.goes_on:
                start = time.monotonic()
                if next(batches, None) is None:
                    break
                self.waits.setdefault(self.what, []).append(time.monotonic() - start)
                time.sleep(0.01)

    def report(self):
        for what, waits in self.waits.items():
            median, most = np.percentile(waits, [50, 99]) * 1e3
            print(f"  a batch's wait, {what}: {median:.2f} ms, 99 of 100 below {most:.1f} ms, "
                  f"longest {max(waits) * 1e3:.0f} ms ({len(waits)} batches)")


def fit(daemon, path, reader):
    """The report, and seconds by what was done."""
    spent, since = {}, time.monotonic()
    with daemon.connect() as peer:
        peer.send("fit", seq=1, dataset={"path": path}, zca=True, zca_epsilon=EPSILON,
                  rescale=1 / 255)
        while (message := peer.receive(3600)).name == "progress":
            spent[reader.what] = spent.get(reader.what, 0) + time.monotonic() - since
            since, reader.what = time.monotonic(), message.fields["what"]
        spent[reader.what] = spent.get(reader.what, 0) + time.monotonic() - since
    assert message.name == "report", message
    reader.what = "after"
    return message.fields["values"], spent


def ours(folder, path):
    daemon = Daemon(workers=2, index_dir=os.path.join(folder, "index")).spawn()
    reader = Reader(daemon.socket, path)
    try:
        reader.start()
        time.sleep(KEEPS_S)
        used = cpu_seconds(daemon.process.pid)
        values, spent = fit(daemon, path, reader)
        used = cpu_seconds(daemon.process.pid) - used
    finally:
        reader.goes_on = False
        reader.join()
        reader.loader.close()
        daemon.terminate()
        daemon.remove()
    print(f"daemon: {values['seconds']:.1f} s, {used:.1f} processor seconds with its reader's ("
          + ", ".join(f"{what} {seconds:.0f} s" for what, seconds in spent.items()) + ")")
    reader.report()
    file, = pathlib.Path(folder, "index").glob("*.fit")
    return np.fromfile(file, np.float32, offset=HEADER).reshape(LENGTH, LENGTH)


def keras(python, path, out, dtype):
    done = subprocess.run([python, "-c", KERAS, path, out, dtype, str(EPSILON)], check=True,
                          stdout=subprocess.PIPE)
    return np.load(out), *json.loads(done.stdout)


def main():
    options = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=5000)
    options.add_argument("--peer", default=sys.executable)
    options = options.parse_args()
    apart = {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.npy")
        np.save(path, pictures(options.count))
        matrix = ours(folder, path)
        for dtype in ("float32", "float64"):
            theirs, seconds, used = keras(options.peer, path, os.path.join(folder, "z.npy"), dtype)
            apart[dtype] = np.abs(matrix - theirs).max() / np.abs(theirs).max()
            print(f"Keras' formula in {dtype}: {seconds:.1f} s, {used:.1f} processor seconds; "
                  f"apart by {apart[dtype]:.1e}")
    return 0 if apart["float64"] <= AT_MOST else 1


if __name__ == "__main__":
    sys.exit(main())
