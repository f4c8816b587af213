# SPDX-License-Identifier: MIT
"""stoker.connect(start=True): one daemon for all processes that ask, which is nobody's child, ends
by itself and is started again; and what is said where it cannot be started."""
import logging
import os
import signal
import subprocess
import sys
import time

import pytest

import stoker
from stoker import _start
from real_daemon import ROOT, binary, pictures

pytestmark = [
    pytest.mark.skipif(binary() is None, reason="no stokerd was built"),
    pytest.mark.skipif(os.path.exists("/run/stoker/stokerd.sock"),
                       reason="a daemon of the system is found before one is started")]

ASK = """
import stoker, sys
with stoker.connect(start=True) as node:
    loader = node.loader(sys.argv[1], batch_size=7, epochs=1, rank=0, world_size=1)
    print(loader.samples, sum(len(labels) for _, labels in loader))
"""


@pytest.fixture(name="place")
def fixture_place(tmp_path, monkeypatch):
    """The folder of the socket of this user's own daemon, which ends after a second."""
    for name in [name for name in os.environ if name.startswith("STOKER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("STOKER_EXIT_IDLE_TIME", "1s")
    monkeypatch.setenv("STOKER_RING_MEMORY", "64M")
    monkeypatch.setenv("PATH", f"{binary().parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "client" / "python"))
    folder = tmp_path / "stoker"
    yield folder
    for pid in daemons(folder):
        os.kill(pid, signal.SIGKILL)


def daemons(folder):
    """The processes that serve the socket in `folder`."""
    found = []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"stokerd") and str(folder / "stokerd.sock").encode() in words:
            found.append(pid)
    return found


def wait_until(condition, seconds=20.0):
    until = time.monotonic() + seconds * float(os.environ.get("STOKER_SLOW", "1"))
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_many_processes_start_one(place, tmp_path, monkeypatch):
    monkeypatch.setenv("STOKER_EXIT_IDLE_TIME", "600s")  # also the last one finds it
    data = pictures(tmp_path / "pictures")
    trainers = [subprocess.Popen([sys.executable, "-c", ASK, str(data)], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for _ in range(5)]
    said = [trainer.communicate(timeout=120) for trainer in trainers]
    assert [out for out, _ in said] == ["21 21\n"] * 5, said
    assert sum("started one" in errors for _, errors in said) == 1
    assert (place / "stokerd.log").read_text().count("listens at") == 1
    assert os.stat(place).st_mode & 0o777 == 0o700


def test_it_is_nobodys_child_and_ends_by_itself(place, caplog):
    with caplog.at_level(logging.WARNING):
        node = stoker.connect(start=True)
    pid, = daemons(place)
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        state = file.read().rpartition(")")[2].split()
    assert int(state[1]) != os.getpid()
    assert int(state[3]) != os.getsid(0)
    assert f"pid {pid}" in caplog.text and "stokerd.log" in caplog.text
    files = {os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
    assert not any("start.lock" in name for name in files)
    assert node.socket == str(place / "stokerd.sock")
    wait_until(lambda: not daemons(place))
    assert "no client for the exit-idle-time" in (place / "stokerd.log").read_text()


def test_it_stays_while_it_has_a_reader(place, tmp_path):
    data = pictures(tmp_path / "pictures")
    with stoker.connect(start=True) as node:
        loader = node.loader(data, batch_size=3, epochs=1, rank=0, world_size=1)
        time.sleep(2.5)
        assert sum(len(labels) for _, labels in loader) == 21
    assert len(daemons(place)) == 1


def test_one_that_dies_is_started_again(place, tmp_path):
    data = pictures(tmp_path / "pictures")
    with stoker.connect(start=True) as node:
        seen = []
        for number, (_, labels) in enumerate(node.loader(data, batch_size=3, epochs=1, rank=0,
                                                         world_size=1, shuffle=False)):
            seen += labels.tolist()
            if number == 2:
                os.kill(daemons(place)[0], signal.SIGKILL)
        assert seen == sorted(seen) and len(seen) == 21
        assert len(daemons(place)) == 1


def test_the_environment_asks_for_it(place, monkeypatch):
    with pytest.raises(stoker.DaemonUnavailable, match=r"connect\(start=True\)"):
        stoker.connect()
    monkeypatch.setenv("STOKER_START", "0")
    with pytest.raises(stoker.DaemonUnavailable):
        stoker.connect()
    monkeypatch.setenv("STOKER_START", "1")
    with pytest.raises(stoker.DaemonUnavailable):
        stoker.connect(start=False)
    assert not daemons(place)
    stoker.connect().ping()
    assert len(daemons(place)) == 1


def test_what_cannot_be_started(place, monkeypatch):
    monkeypatch.setenv("STOKER_WORKERS", "many")
    with pytest.raises(stoker.DaemonUnavailable, match="STOKER_WORKERS"):
        stoker.connect(start=True)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(stoker.DaemonUnavailable, match="there is no stokerd to start"):
        stoker.connect(start=True)
    place.chmod(0o777)
    with pytest.raises(stoker.DaemonUnavailable, match="others can write there"):
        stoker.connect(start=True)


def test_a_folder_of_somebody_else(place, tmp_path):
    (tmp_path / "other").mkdir()
    place.symlink_to(tmp_path / "other")
    with pytest.raises(stoker.DaemonUnavailable, match="others can write there"):
        stoker.connect(start=True)


def test_another_version_is_said(place, monkeypatch, caplog):
    stoker.connect(start=True)
    monkeypatch.setattr(stoker._address, "__version__", "9.9.9")
    with caplog.at_level(logging.WARNING):
        stoker.connect()
    assert f"version {stoker.__version__}, this client 9.9.9" in caplog.text


def test_the_module_says_what_there_is(place, monkeypatch):
    def run():
        return subprocess.run([sys.executable, "-m", "stoker"], text=True, capture_output=True,
                              check=False, timeout=60)

    monkeypatch.setenv("STOKER_EXIT_IDLE_TIME", "600s")  # a program may take more than a second
    done = run()
    assert done.returncode == 1 and "no stokerd answers" in done.stdout, done
    stoker.connect(start=True)
    done = run()
    assert done.returncode == 0 and str(place / "stokerd.sock") in done.stdout, done
    assert str(binary()) in done.stdout
    assert _start.program("stokerd") == str(binary())
