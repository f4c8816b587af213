# SPDX-License-Identifier: MIT
"""Names of folders, files and classes may have control characters, which terminals obey: stokerctl
writes none of them, whatever it is asked; --json keeps them, escaped."""

import json
import os
import re
import subprocess
import sys

import pytest

from harness import SOURCE, STOKERCTL, WAIT_S
from test_ctl import on_a_terminal

sys.path.insert(0, str(SOURCE / "tests" / "python"))
from fake_daemon import fake_daemon  # noqa: E402

EVIL = "a\x1b]0;owned\x07\r\x1b[31m\x9b31m\x7f\u0085"
OWN = re.compile("\x1b\\[(0|1|3[0-9]|1;31)?m|\x1b\\[K|\r")  # bold, colours, the line of progress


@pytest.fixture(name="watched")
def fixture_watched(daemon, photos, tmp_path):
    """(daemon, a dataset with such names, which a reader reads, and a bad sample in it)."""
    home = tmp_path / EVIL
    for name in (EVIL, "b"):
        (home / name).mkdir(parents=True)
        picture = next(photos.rglob("*.jpg")).read_bytes()
        (home / name / f"{EVIL}0.jpg").write_bytes(picture)
    (home / "b" / f"{EVIL}1.jpg").write_bytes(b"no picture")
    peer = daemon.connect()
    peer.attach(home, batch_size=1, job=EVIL, shuffle=False, epochs=1,
                transforms=[{"name": "Resize", "size": [8, 8]}])
    for _ in range(3):
        peer.receive()
    yield daemon, home
    peer.close()


def assert_plain(text, what):
    left = OWN.sub("", text.replace("\r\n", "\n"))
    found = [c for c in left if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)]
    assert not found, (what, found, left)


@pytest.mark.parametrize("command", [
    ["streams"], ["readers"], ["datasets"], ["bad"], ["cache"], ["memory"], ["status"], ["ping"],
    ["metrics"], ["replay"], ["top", "--interval", "0.1"], ["index", None], ["doctor", None],
    ["bench", None], ["cache", "warm", None], ["fit", None], [EVIL], ["drop", EVIL],
    ["set", EVIL, EVIL], ["bench", EVIL], ["completions", EVIL], ["--json", "datasets"],
    ["--json", "bad"]], ids=lambda command: " ".join(map(str, command)).replace(EVIL, "evil"))
def test_on_a_terminal(watched, command):
    daemon, home = watched
    whole = [str(STOKERCTL), "-s", str(daemon.control),
             *(str(home) if word is None else word for word in command)]
    environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8",
                   "STOKER_SOCKET": str(daemon.socket)}
    if command[0] == "top":
        whole = ["timeout", "1", *whole]
    assert_plain(on_a_terminal(whole, environment), command)
    done = subprocess.run(whole, capture_output=True, text=True, check=False, timeout=WAIT_S,
                          stdin=subprocess.DEVNULL, env=environment)
    assert_plain(done.stderr, command)
    if command[0] not in ("metrics", "--json"):
        assert_plain(done.stdout, command)


def test_programs_get_them(watched):
    daemon, home = watched
    raw = str(home).encode(errors="surrogateescape").decode(errors="replace")
    listed = json.loads(daemon.ctl("--json", "datasets").stdout)["datasets"]
    assert raw in [row["path"] for row in listed]


def test_of_a_peer_that_is_none(tmp_path):
    """Its name and version are texts like any other."""
    with fake_daemon(str(tmp_path)) as fake:
        fake.hooks["say_welcome"] = lambda peer, fields: fields.update(daemon=EVIL)
        whole = [str(STOKERCTL), "-s", fake.path, "ping"]
        assert_plain(on_a_terminal(whole, os.environ), whole)
