# SPDX-License-Identifier: MIT
"""README.md and docs/ are true and README.md is short: the programs run, the files and pages that
are named exist."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ.get("STOKER_SOURCE", "."))
BUILD = pathlib.Path(os.environ.get("STOKER_BUILD", "build"))
README = (SOURCE / "README.md").read_text()
PAGES = [SOURCE / name for name in ("README.md", "CONTRIBUTING.md", "client/c/README.md",
                                    "client/python/README.md")]
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PAGES += sorted((SOURCE / "docs").rglob("*.md"))
sys.path[:0] = [str(SOURCE / "tests" / name) for name in ("daemon", "demo")]

import photos  # noqa: E402 (these stand in other folders)
from harness import Daemon  # noqa: E402


@pytest.fixture(name="data")
def fixture_data(tmp_path):
    for name in ("train", "val"):
        photos.make(tmp_path / name, count=70, size=(60, 50))
    return tmp_path


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


def run_program(program, daemon, data):
    """Its lines, with the folder of the test in place of /data."""
    done = subprocess.run(
        [sys.executable, "-c", program.replace("/data", str(data))], text=True, check=False,
        capture_output=True, timeout=200, cwd=data,
        env={**os.environ, "STOKER_SOCKET": str(daemon.socket),
             "PYTHONPATH": str((SOURCE / "client" / "python").resolve())})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_it_is_short():
    assert len(README.splitlines()) <= 150 and len(README.encode()) <= 8 * 1024


def test_the_training_script_runs_and_goes_on(daemon, data):
    pytest.importorskip("torchvision")
    script = PROGRAMS[0]
    size = "torch.Size([{}, 3, 224, 224])".format
    # Stopped behind its first batch, it goes on with the second.
    cut = script.replace("train.state_dict()))", "train.state_dict())); raise SystemExit", 1)
    assert run_program(cut, daemon, data) == [f"train {size(64)}"]
    rest = run_program(script, daemon, data)
    assert rest[:3] == [f"train {size(6)}", f"val {size(64)}", f"val {size(6)}"]
    assert "the daemon" in rest[3]


def test_the_loop_without_torch_runs(daemon, data):
    lines = run_program(PROGRAMS[1], daemon, data)
    assert len(lines) == 3 * 2, "three epochs of 64 and 6"
    assert lines[0].startswith("0 (64, 3, 224, 224) ["), lines[0]
    assert lines[-1].startswith("2 (6, 3, 224, 224) ["), lines[-1]


def test_the_program_in_c_is_the_example():
    text = (SOURCE / "client" / "c" / "examples" / "example.c").read_text()
    page = (SOURCE / "client" / "c" / "README.md").read_text()
    (block,) = re.findall(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert block in text
    # Only its head (licence, what it is) is left out.
    rest = text.replace(block, "")
    assert all(line.startswith(("/*", " *", "//")) or not line for line in rest.splitlines()), rest


def exists(page, name):
    """Files of the daemon are named without their first folder."""
    return any((top / name).exists() for top in (SOURCE, SOURCE / "daemon", page.parent))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_files_it_names_are_there(page):
    text = re.sub(r"NAME\S*", "", page.read_text())
    for name in re.findall(r"(?<![\w/-])([a-z_]+/[\w./-]*\w\.(?:c|h|py|md|json|1|8))\b", text):
        assert exists(page, name), name
    for name in re.findall(r"`((?:client|tests|proto|systemd|docs|packaging)/[\w./-]+)`", text):
        assert exists(page, name), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_links_lead_somewhere(page):
    for name in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / name).exists(), name


def test_the_map_of_the_loop_is_whole():
    """Each unit of daemon/loop stands in the map, in the layer that it is in."""
    page = (SOURCE / "docs" / "SOURCE.md").read_text()
    text = page[page.index("      loop/ "):page.index("    systemd/ ")]
    layers = re.findall(r"^ {8}(\w+/|\(top\))((?:\s+\w+)+)$", text, re.MULTILINE)
    assert [name for name, _ in layers] == ["os/", "meter/", "state/", "policy/", "engine/",
                                            "watch/", "protocol/", "(top)"]
    for name, units in layers:
        folder = SOURCE / "daemon" / "loop" / name.replace("(top)", "")
        there = {path.stem for path in folder.iterdir() if path.suffix in (".c", ".h")}
        assert set(units.split()) == there, name


def ways_to_install():
    """The commands of each block of "Using it" that is not in a fence, without their comments."""
    text = README[README.index("## Using it"):README.index("In containers")]
    return [[line.split("  #")[0].strip() for line in block.splitlines()]
            for block in re.findall(r"^(?:    .*\n)+", text, re.MULTILINE)]


def test_the_ways_to_install_are_short_and_there(tmp_path):
    """The command that a Python runs is run; files of the others are looked for."""
    ways = ways_to_install()
    assert len(ways) == 3 and all(len(way) == 3 for way in ways), ways
    build = (SOURCE / "packaging/wheel/build.py").read_text()
    dist = re.search(r'^    dist = HERE / "(\w+)"$', build, re.MULTILINE).group(1)
    assert f'"${{1:-packaging/deb/{dist}}}"' in (SOURCE / "packaging/deb/build.sh").read_text()
    for command in (command for way in ways for command in way):
        for name in re.findall(r"\b((?:packaging|client)/[\w./]*\w)", command):
            assert (SOURCE / name.partition(f"/{dist}")[0]).exists(), command
    (program,) = {re.match(r"python -c '(.*)'$", command).group(1)
                  for way in ways for command in way if command.startswith("python -c")}
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("STOKER_")}
    done = subprocess.run(
        [sys.executable, "-c", program], text=True, check=False, capture_output=True, timeout=60,
        env={**environment, "XDG_RUNTIME_DIR": str(tmp_path), "STOKER_EXIT_IDLE_TIME": "1s",
             "STOKER_RING_MEMORY": "64M", "PATH": f"{BUILD / 'daemon'}:{os.environ['PATH']}"})
    assert done.returncode == 0 and "Node" in done.stdout, done


def test_the_tests_of_the_threats_are_there():
    """Each test that docs/THREATS.md names is one."""
    tests = SOURCE / "tests"
    there = "\n".join(path.read_text() for path in tests.glob("daemon/test_*.py"))
    named = re.findall(r"`(test_\w+)(\.\w+)?`", (SOURCE / "docs" / "THREATS.md").read_text())
    assert len(named) > 20
    for name, ending in named:
        assert list(tests.rglob(name + ending)) if ending else f"def {name}(" in there, name


def test_the_commands_it_names_are_there():
    targets = set(re.findall(r"\bmake (\w+)", README)) - {"and"}
    makefile = (SOURCE / "Makefile").read_text()
    assert {"demo", "test"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
