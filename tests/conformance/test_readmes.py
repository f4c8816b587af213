# SPDX-License-Identifier: MIT
"""The programs that the READMEs of the clients show run as they stand there, and the examples
learn."""

import os
import re
import subprocess

import clients
import pytest
from real_daemon import pictures

ROOT = clients.ROOT
END_S = 120


def block(language):
    """The first program of a README."""
    text = (ROOT / "client" / language / "README.md").read_text()
    return re.search(r"```\w+\n(.*?)```", text, re.DOTALL).group(1)


def run(command, daemon, folder):
    environment = {**os.environ, "STOKER_SOCKET": str(daemon.socket)}
    done = subprocess.run(command, cwd=folder, env=environment, text=True, timeout=END_S,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout[-1000:], done.stderr[-2000:])
    return done.stdout.splitlines()


@pytest.mark.parametrize("language", [name for name in clients.chosen() if name in
                                      clients.PROGRAMS])
def test_readme(daemon, photos, tmp_path, language):
    """An epoch of 60 samples in batches of 32."""
    program = block(language).replace("/data/train", str(photos))
    assert str(photos) in program
    try:
        command = clients.PROGRAMS[language](program, tmp_path)
    except clients.Missing as error:
        pytest.skip(f"{language}: {error}")
    lines = run(command, daemon, tmp_path)
    assert [line.split()[:3] for line in lines if line[:2] == "0 "] == \
        [["0", "0", "32"], ["0", "32", "28"]], lines


@pytest.mark.parametrize("language", [name for name in clients.chosen() if name in
                                      clients.EXAMPLES])
def test_example(daemon, tmp_path, language):
    """Three classes, told apart by their colours."""
    try:
        command = clients.EXAMPLES[language]()
    except clients.Missing as error:
        pytest.skip(f"{language}: {error}")
    lines = run([*command, pictures(tmp_path / "pictures"), "30"], daemon, tmp_path)
    losses = [float(line.rpartition(" ")[2]) for line in lines]
    assert len(losses) == 30 and losses[-1] < 0.8 * losses[0], losses
