# SPDX-License-Identifier: MIT
"""The bench is run by hand: what it needs of the daemon's rooms could go without being missed."""

import json
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("STOKER_SOURCE", ".")).resolve()
BUILD = pathlib.Path(os.environ.get("STOKER_BUILD", SOURCE / "build")).resolve()
sys.path.insert(0, str(SOURCE / "tests" / "demo"))

import photos  # noqa: E402 (it stands in the demo's folder)


def test_the_bare_loop(tmp_path):
    photos.make(str(tmp_path), count=4, plain=True)
    done = subprocess.run([BUILD / "tests" / "bench" / "loop_bench", tmp_path, "--threads", "1",
                           "--seconds", "0.1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["images"] > 0 and found["bad"] == 0


def test_a_kept_picture():
    done = subprocess.run([BUILD / "tests" / "bench" / "hit_bench", "8", "1"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for task in ("train, float32", "train, uint8", "val, float32"):
        assert f"\n{task}" in done.stdout


def test_each_program_has_its_question():
    """README.md of the folder says what each answers."""
    folder = SOURCE / "tests" / "bench"
    text = (folder / "README.md").read_text()
    there = {path.name for path in folder.iterdir() if path.suffix in (".c", ".py")}
    missing = {name for name in there - {"bench.py"}
               if name not in text and name.removesuffix(".c") not in text}
    assert not missing, missing
    named = {word.partition(" ")[0] for word in text.split("`") if ".py" in word}
    assert not named - there, named - there
