# SPDX-License-Identifier: MIT
"""Completions of stokerctl: what bash offers, and that zsh and fish can read theirs."""

import json
import os
import shutil
import subprocess

import pytest

from harness import BUILD, STOKERCTL

PATH = f"{STOKERCTL.parent}:{BUILD}/daemon:{os.environ['PATH']}"


def script(shell):
    return subprocess.run([str(STOKERCTL), "completions", shell], text=True, capture_output=True,
                          check=True).stdout


def bash(*words, socket="/nowhere"):
    """What bash offers for the last word."""
    quoted = " ".join(f"'{word}'" for word in ("stokerctl", *words))
    code = (f"{script('bash')}\nCOMP_WORDS=({quoted})\nCOMP_CWORD={len(words)}\n_stokerctl\n"
            'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", code], text=True, capture_output=True, check=False,
                          env={**os.environ, "PATH": PATH, "STOKER_CONTROL_SOCKET": str(socket)})
    assert not done.stderr, done.stderr
    return set(done.stdout.split())


def test_bash_commands_and_options():
    help_text = subprocess.run([str(STOKERCTL), "--help"], text=True, capture_output=True,
                               check=True).stdout
    commands = bash("")
    for command in ("status", "doctor", "bad", "preview", "completions", "help"):
        assert command in commands and command in help_text
    assert bash("st") == {"status", "streams", "stop"}
    assert bash("help", "st") == {"status", "streams", "stop"}
    assert bash("--") == {"--version", "--socket", "--json", "--help"}
    assert bash("fit", "--z") == {"--zca", "--zca-epsilon"}
    assert "--zca" not in bash("preview", "--")
    assert bash("--json", "--socket", "/x", "pi") == {"ping"}
    assert "flat" in bash("index", "--kind", "")
    assert bash("completions", "") == {"bash", "zsh", "fish"}


def test_bash_settings_streams_paths(daemon, photos):
    assert bash("set", "work") == {"workers"}
    settings = bash("set", "")
    assert {"workers", "fetchers", "log-level"} <= settings and "socket" not in settings
    assert not bash("set", "workers", "")
    with daemon.connect() as peer:
        peer.attach(photos, transforms=[{"name": "Resize", "size": [8, 8]}])
        assert bash("replay", "", socket=daemon.control) == {str(peer.attached["stream"])}
    assert bash("index", str(photos)) == {str(photos)}
    assert bash("--socket", str(photos)) == {str(photos)}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_read_them(shell, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell}")
    path = tmp_path / "script"
    path.write_text(script(shell))
    done = subprocess.run([shell, "-n", path], text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not shutil.which("fish"), reason="there is no fish")
def test_fish_offers(tmp_path):
    path = tmp_path / "stokerctl.fish"
    path.write_text(script("fish"))
    def offers(line):
        done = subprocess.run(["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"],
                              text=True, capture_output=True, check=True,
                              env={**os.environ, "PATH": PATH, "HOME": str(tmp_path)})
        return {row.split("\t")[0] for row in done.stdout.splitlines()}

    assert {"status", "doctor", "completions"} <= offers("stokerctl ")
    assert offers("stokerctl set work") == {"workers"}
    assert "--zca" in offers("stokerctl fit --z")
    assert {"flat", "npy"} <= offers("stokerctl index --kind ")


def test_no_such_shell():
    done = subprocess.run([str(STOKERCTL), "completions", "tcsh"], text=True, capture_output=True,
                          check=False)
    assert done.returncode == 64 and "bash, zsh or fish" in done.stderr and not done.stdout


def test_files_are_made_at_build():
    """Where a build installs them from."""
    folder = BUILD / "client" / "ctl" / "completions"
    for shell, name in (("bash", "stokerctl"), ("zsh", "_stokerctl"), ("fish", "stokerctl.fish")):
        assert (folder / name).read_text() == script(shell)
    places = json.loads((BUILD / "meson-info" / "intro-installed.json").read_text())
    assert any(place.endswith("share/bash-completion/completions/stokerctl")
               for place in places.values())
