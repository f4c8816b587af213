# SPDX-License-Identifier: MIT
"""The programs that the READMEs of the clients show run as they stand there, and the examples
learn."""

import os
import re
import signal
import subprocess
import urllib.request

import clients
import pytest
from harness import wait_for
from real_daemon import pictures

ROOT = clients.ROOT
END_S = 120


def block(language, number=0):
    """A program of a README; the first one reads."""
    text = (ROOT / "client" / language / "README.md").read_text()
    return re.findall(r"```\w+\n(.*?)```", text, re.DOTALL)[number]


def environment(daemon):
    return {**os.environ, "STOKER_SOCKET": str(daemon.socket)}


def run(command, daemon, folder):
    done = subprocess.run(command, cwd=folder, env=environment(daemon), text=True, timeout=END_S,
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
                                      clients.PRODUCERS])
def test_readme_of_a_producer(daemon, tmp_path, language):
    """Circles, other ones in each epoch and the same ones when they are read again."""
    program = block(language, 1)
    command = build_chosen(language, lambda: clients.PROGRAMS[language](program, tmp_path))
    secret = tmp_path / "secret"
    dataset = {"path": "code:circles", "kind": "code", "code": "circles 1", "samples": "60",
               "pure": "no"}
    seen = []
    with subprocess.Popen(command, env={**environment(daemon), "STOKER_SECRET": str(secret)},
                          stdin=subprocess.DEVNULL) as producer:
        try:
            wait_for(secret.exists, "the secret", END_S)
            wait_for(lambda: len(daemon.list("producers")) == 2, "two producers", END_S)
            for _ in range(2):
                with daemon.connect() as peer:
                    answer = peer.attach("", dataset=dataset, secret=secret.read_bytes(), epochs=2,
                                         transforms=[{"name": "CenterCrop", "size": 32}])
                    assert answer.name == "attached", answer
                    seen.append({(epoch, int(arrays["index"])): arrays["image"].tobytes()
                                 for epoch, _, arrays in peer.samples()
                                 if arrays["label"] == arrays["index"] % 10})
        finally:
            producer.terminate()
    assert producer.returncode in (0, -signal.SIGTERM)
    assert seen[0] == seen[1] and len(seen[0]) == 120
    assert sum(seen[0][0, index] != seen[0][1, index] for index in range(60)) > 30


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


def build_chosen(name, build):
    if name not in clients.chosen():
        pytest.skip(f"{name} is not chosen")
    try:
        return build()
    except clients.Missing as error:
        pytest.skip(f"{name}: {error}")


def test_example_of_node(daemon, tmp_path):
    """Two epochs of 21 pictures in batches of 16: place and average colour."""
    command = build_chosen("node", clients.node_example)
    lines = run([*command, pictures(tmp_path / "pictures"), "2"], daemon, tmp_path)
    assert [line.split()[:2] for line in lines] == \
        [["0", "0"], ["0", "16"], ["1", "0"], ["1", "16"]], lines
    assert all(0 < float(line.split()[2]) < 1 for line in lines), lines


def test_server_of_go(daemon, tmp_path):
    """Each batch to one caller, as raw pixels, with its place in the head."""
    command = build_chosen("go", clients.go_server)
    with subprocess.Popen([*command, "-data", pictures(tmp_path / "pictures"), "-size", "16",
                           "-batch", "8", "-listen", "127.0.0.1:0"], text=True,
                          env=environment(daemon), stdout=subprocess.PIPE) as server:
        try:
            address = server.stdout.readline().strip()
            for position in ("0", "8", "16"):
                with urllib.request.urlopen(address, timeout=END_S) as answer:
                    count = min(8, 21 - int(position))
                    assert answer.headers["Stoker-Position"] == position
                    assert len(answer.headers["Stoker-Labels"].split()) == count
                    assert len(answer.read()) == count * 16 * 16 * 3
        finally:
            server.kill()
