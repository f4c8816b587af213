# SPDX-License-Identifier: MIT
"""The programs in examples/ run, each as its head says, and are short. Skipped, in words, where
what they need is not installed."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from real_daemon import ROOT

EXAMPLES = ROOT / "examples"
NAMES = ["ddp_train", "jax_train", "keras_train", "own_code", "segmentation", "torch_train"]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2",
            "--redirects", "1", "--tee", "1"]


def run_example(real, name, *arguments, launcher=()):
    """Its output."""
    environment = {"KERAS_BACKEND": "tensorflow", **os.environ, "STOKER_SOCKET": real.path,
                   "PYTHONPATH": str(ROOT / "client" / "python")}
    done = subprocess.run([sys.executable, *launcher, EXAMPLES / f"{name}.py", *arguments],
                          env=environment, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_six_and_they_are_short():
    """And the tests below run each."""
    found = {path.stem: path.read_text() for path in EXAMPLES.glob("*.py")}
    assert sorted(found) == NAMES
    assert all(f"def test_{name}(" in open(__file__).read() for name in NAMES)
    assert max(len(text.splitlines()) for text in found.values()) < 60


def test_torch_train(real, folder):
    pytest.importorskip("torchvision")
    assert "accuracy" in run_example(real, "torch_train", folder)


def test_ddp_train(real, folder, tmp_path):
    """Two ranks; the checkpoint stands behind the epoch."""
    torch = pytest.importorskip("torch")
    saved = tmp_path / "checkpoint.pt"
    run_example(real, "ddp_train", folder, saved, launcher=TORCHRUN)
    token = torch.load(saved)["token"]
    assert (token["epoch"], token["position"]) == (1, 0), token


def test_keras_train(real, tmp_path):
    """Each class is a colour, which two epochs are enough to learn."""
    pytest.importorskip("keras")
    random = np.random.default_rng(1)
    arrays = {}
    for name, count in (("train", 1500), ("test", 90)):
        y = np.arange(count) % 3
        x = random.integers(0, 90, (count, 32, 32, 3), np.uint8)
        x[np.arange(count), :, :, y] += 150
        arrays.update({f"x_{name}": x, f"y_{name}": y[:, None]})
    np.savez(tmp_path / "cifar.npz", **arrays)
    said = run_example(real, "keras_train", tmp_path / "cifar.npz", "4")
    assert float(said.split()[-1]) > 0.9, said


def test_jax_train(real, folder):
    pytest.importorskip("jax")
    lines = run_example(real, "jax_train", folder, "2").splitlines()
    assert [line.split()[:2] for line in lines] == [["epoch", "0:"], ["epoch", "1:"]]


def test_own_code(real, folder):
    """The same in two runs, though its transform draws."""
    lines = run_example(real, "own_code", folder, "2").splitlines()
    assert len(lines) == 2 * 3 and lines[0].startswith("0 (8, 3, 64, 64)")
    assert run_example(real, "own_code", folder, "2").splitlines() == lines


def test_segmentation(real, tmp_path):
    """White pixels are class 1; the loss begins to fall."""
    pytest.importorskip("torch")
    image = pytest.importorskip("PIL.Image")
    random = np.random.default_rng(1)
    with open(tmp_path / "train.jsonl", "w", encoding="ascii") as file:
        for number in range(16):
            mask = np.kron(random.integers(0, 2, (10, 10)), np.ones((8, 8))).astype(np.uint8)
            image.fromarray(mask).save(tmp_path / f"{number}.mask.png")
            image.fromarray(255 * np.dstack([mask] * 3)).save(tmp_path / f"{number}.png")
            print(json.dumps({"path": f"{number}.png", "mask": f"{number}.mask.png"}), file=file)
    lines = run_example(real, "segmentation", tmp_path / "train.jsonl", "4").splitlines()
    losses = [float(line.split()[3].rstrip(",")) for line in lines]
    assert len(losses) == 4 and losses[-1] < losses[0], lines
