# SPDX-License-Identifier: MIT
"""README.md says what is so: its programs are those that run, its files are there."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ.get("STOKER_SOURCE", "."))
BUILD = pathlib.Path(os.environ.get("STOKER_BUILD", "build"))
README = (SOURCE / "README.md").read_text()
sys.path[:0] = [str(SOURCE / "tests" / name) for name in ("daemon", "demo")]

import photos  # noqa: E402 (these stand in other folders)
from harness import Daemon  # noqa: E402


def block(language):
    found = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert len(found) == 1, f"{len(found)} blocks of {language}"
    return found[0]


@pytest.fixture(name="data")
def fixture_data(tmp_path):
    photos.make(tmp_path / "train", count=70, size=(60, 50))
    return tmp_path / "train"


@pytest.fixture(name="daemon")
def fixture_daemon():
    daemon = Daemon()
    try:
        yield daemon.spawn()
        daemon.terminate()
    finally:
        if daemon.process:
            daemon.kill()
        daemon.remove()


def test_the_loop_in_python_runs(daemon, data):
    program = block("python")
    assert len(program.splitlines()) <= 8
    done = subprocess.run(
        [sys.executable, "-c", program.replace("/data/train", str(data))], text=True, check=False,
        capture_output=True, timeout=60, env={**os.environ, "STOKER_SOCKET": str(daemon.socket)})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3 * 2, "three epochs of 64 and 6"
    assert lines[0].startswith("0 (64, 3, 224, 224) ["), lines[0]
    assert lines[-1].startswith("2 (6, 3, 224, 224) ["), lines[-1]


def test_the_program_in_c_is_the_example():
    text = (SOURCE / "client" / "c" / "example.c").read_text()
    assert block("c") in text
    # Only its head (licence, what it is) is left out.
    rest = text.replace(block("c"), "")
    assert all(line.startswith(("/*", " *", "//")) or not line for line in rest.splitlines()), rest


def test_the_files_it_names_are_there():
    named = set(re.findall(r"\b((?:loop|work|base)/\w+\.[ch])\b", README))
    assert named and all((SOURCE / "daemon" / name).exists() for name in named), named
    for name in re.findall(r"`((?:client|tests|proto|systemd)/[\w./-]+)`", README):
        assert (SOURCE / name).exists(), name


def test_the_commands_it_names_are_there():
    targets = set(re.findall(r"\bmake (\w+)", README)) - {"and"}
    makefile = (SOURCE / "Makefile").read_text()
    assert {"demo", "test"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
