# SPDX-License-Identifier: MIT
"""Workers and fetchers that adapt by themselves: what is set, what is told, that it happens, and
that no byte changes. How well they adapt is in tests/unit/loop/state/test_auto_threads.c."""

import json
import os
import shutil
import subprocess

import pytest

from harness import SLOW, STOKERD, wait_for
from test_law import STREAM
from test_storage import faulty, on_disk


def test_set_and_shown(spawn):
    daemon = spawn(workers="auto", fetchers="auto")
    status = daemon.status()
    assert status["workers_auto"] and status["fetchers_auto"]
    assert status["workers"] >= 1 and status["fetchers"] == 2
    assert daemon.set("workers", 3).name == "ok"
    status = daemon.status()
    assert status["workers"] == 3 and not status["workers_auto"] and status["fetchers_auto"]
    assert daemon.ctl("set", "workers", "auto").stdout == "workers is auto\n"
    assert daemon.status()["workers_auto"]
    answer = json.loads(daemon.ctl("--json", "set", "fetchers", "8").stdout)
    assert answer["after"] == 8 and not daemon.status()["fetchers_auto"]
    assert "'many' is not a whole number" in daemon.set("workers", "many").fields["text"]


def test_a_text_of_the_configuration(tmp_path):
    path = tmp_path / "stokerd.conf"
    path.write_text("[stokerd]\nworkers = auto\n")
    done = subprocess.run([str(STOKERD), "--config", path, "--print-config"], text=True,
                          capture_output=True, check=True)
    assert f"workers = auto  # {path}:2" in done.stdout
    assert "fetchers = 2  # default" in done.stdout


def test_the_default_of_a_unit(tmp_path):
    """Whose configuration is in /etc; a number stays a number."""
    path = tmp_path / "stokerd.conf"
    path.write_text("[stokerd]\nworkers = 3\n")
    done = subprocess.run([str(STOKERD), "--config", path, "--print-config"], text=True,
                          capture_output=True, check=True,
                          env={**os.environ, "XDG_CONFIG_HOME": "/etc"})
    assert f"workers = 3  # {path}:2" in done.stdout
    assert "fetchers = auto  # default" in done.stdout


@pytest.fixture(name="slow")
def fixture_slow(photos, tmp_path):
    """A copy of the photographs whose reads take their time."""
    folder = tmp_path / "photos"
    shutil.copytree(photos, folder)
    on_disk("slow", folder, *range(60))
    return folder


def test_fetchers_for_slow_storage(spawn, slow):
    """They are raised, with the reason in the log; the bytes are those of one that is not auto."""
    with spawn(workers=1).connect() as peer:
        assert peer.attach(slow, **STREAM).name == "attached"
        expected = peer.digests()
    daemon = spawn(workers="auto", fetchers="auto", environment=faulty())
    with daemon.connect() as peer:
        peer.attach(slow, **{**STREAM, "epochs": 0})

        def raised():
            peer.release(peer.expect("batch"))
            return "auto: fetchers 2 -> 4: readers wait" in daemon.log()

        wait_for(raised, lambda: f"more fetchers: {daemon.log()}", 60 * SLOW)
    daemon.settle()
    assert daemon.status()["fetchers"] >= 2
    with daemon.connect() as peer:
        peer.attach(slow, **STREAM)
        assert peer.digests() == expected
    assert daemon.set("fetchers", 3).name == "ok"
    assert daemon.status()["fetchers"] == 3
