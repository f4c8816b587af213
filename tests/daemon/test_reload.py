# SPDX-License-Identifier: MIT
"""The configuration read again while the daemon runs: SIGHUP and `stokerctl reload`.
FAULTS 29, 30, 31."""

import json
import signal

import pytest

from harness import SOURCE, Daemon, wait_for
from test_allocations import pytestmark as without_a_sanitizer
from test_law import STREAM

CONFIG = 78  # EX_CONFIG
GOLDEN = SOURCE / "tests" / "golden" / "config"
BROKEN = [line.split("\t")[0] for line in (GOLDEN / "expected.list").read_text().splitlines()
          if "\t%:" in line]  # wrong in a line, whatever the flags are


@pytest.fixture(name="place")
def fixture_place(tmp_path):
    """A function that writes the configuration, or a drop-in: place("workers = 3", "10-a")."""
    def place(text, drop_in=None):
        path = tmp_path / "stokerd.conf"
        if drop_in:
            (tmp_path / "stokerd.conf.d").mkdir(exist_ok=True)
            path = tmp_path / "stokerd.conf.d" / drop_in
        path.write_text("[stokerd]\n" + text + "\n")
        return path

    return place


@pytest.fixture(name="daemon")
def fixture_daemon(place):
    """A daemon whose workers and fetchers come from a file."""
    daemon = Daemon(config=place("workers = 2\nfetchers = 1"))
    del daemon.options["workers"]
    yield daemon.spawn()
    if daemon.process:
        daemon.terminate()
    daemon.remove()


def reload(daemon):
    """The changes by name, from the JSON of stokerctl."""
    done = daemon.ctl("--json", "reload")
    return {change["name"]: change for change in json.loads(done.stdout)["changes"]}


def test_a_change(daemon, place):
    path = place("workers = 3\nfetchers = 1")
    change = {"name": "workers", "before": "2", "after": "3", "origin": f"{path}:2",
              "in_force": True, "was_set": False}
    assert reload(daemon) == {"workers": change}
    status = daemon.status()
    assert (status["workers"], status["fetchers"]) == (3, 1)
    assert (status["reloads_total"], status["reload_failed"]) == (1, 0)
    assert daemon.log().count(f"reload: workers 2 -> 3 ({path}:2)\n") == 1
    assert daemon.ctl("reload").stdout == "nothing changed\n"


def test_sighup(daemon, place):
    place("workers = 4\nfetchers = 1")
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: daemon.status()["workers"] == 4, "it has four workers")
    place("workers = many")
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: daemon.status()["reload_failed"] == 1, "it says that the file is wrong")
    assert daemon.status()["workers"] == 4
    assert "workers: 'many' is not a whole number" in daemon.log()


def test_the_order(place):
    """File, drop-ins by name, environment, command line: the later one wins, also at a reload."""
    daemon = Daemon(config=place("workers = 1\nfetchers = 1\nqueued-per-user = 1"),
                    environment={"STOKER_MAX_READERS_PER_USER": "7"}, queued_per_user=9)
    del daemon.options["workers"]
    try:
        daemon.spawn()
        place("workers = 4\nfetchers = 4\nmax-readers-per-user = 4\nqueued-per-user = 4",
              "20-b.conf")
        place("workers = 3\nfetchers = 3", "10-a.conf")
        place("workers = 5", "30-c.conf")
        place("workers = 6", "40-d.txt")
        place("workers = 6", ".50-e.conf")
        changes = reload(daemon)
        assert {name: change["after"] for name, change in changes.items()} == \
            {"workers": "5", "fetchers": "4"}
        assert changes["workers"]["origin"].endswith("/stokerd.conf.d/30-c.conf:2")
        status = daemon.status()
        assert (status["max_readers_per_user"], status["queued_per_user"]) == (7, 9)
        daemon.terminate()
    finally:
        daemon.remove()


def test_what_was_set_is_replaced(daemon):
    assert daemon.set("workers", 6).name == "ok"
    assert daemon.set("lease-timeout", "5s").name == "ok"
    changes = reload(daemon)
    assert {name: (change["before"], change["after"]) for name, change in changes.items()} == \
        {"workers": ("6", "2"), "lease-timeout": ("5s", "0")}
    assert changes["workers"]["was_set"] and changes["lease-timeout"]["origin"] == "default"
    assert daemon.status()["workers"] == 2 and daemon.status()["lease_timeout_s"] == 0
    daemon.set("workers", 6)
    assert daemon.ctl("reload").stdout.startswith("workers 6 -> 2 (")
    assert "not what stokerctl set" in daemon.log()


def test_what_needs_a_restart(daemon, place):
    """FAULTS 31: it is named, with the value that stays, and the rest is in force."""
    path = place("workers = 3\nfetchers = 1\nnice = 9\nring-memory = 64M\nmax-connections = 9")
    changes = reload(daemon)
    assert {name for name, change in changes.items() if not change["in_force"]} == {"nice"}
    assert (changes["nice"]["before"], changes["nice"]["after"]) == ("5", "9")
    assert daemon.status()["workers"] == 3
    assert (daemon.status()["ring_memory"], daemon.status()["max_connections"]) == (64 << 20, 9)
    assert daemon.ctl("reload").stdout == f"nice stays 5: 9 ({path}:4) needs a restart\n"
    place("workers = 3\nfetchers = 1")
    assert "nice" not in reload(daemon)


def epoch(daemon, photos, meanwhile=lambda position: None):
    with daemon.connect() as peer:
        assert peer.attach(photos, **STREAM, epochs=2).name == "attached"
        digests = []
        for number, position, arrays in peer.samples():
            meanwhile(position)
            digests.append((number, position, arrays["image"].tobytes()))
    return digests


def test_broken_files(daemon, place, photos):
    """FAULTS 29: more than thirty, while epochs run: refused with the line, and nothing changes."""
    assert len(BROKEN) >= 30
    good = epoch(daemon, photos)
    path = place("workers = 2\nfetchers = 1")
    before = {name: value for name, value in daemon.status().items()
              if name in ("workers", "fetchers", "ring_memory", "max_connections")}
    names = list(BROKEN)

    def breaks(_):
        if not names:
            return
        path.write_bytes((GOLDEN / names.pop()).read_bytes())
        done = daemon.ctl("reload", check=False)
        assert done.returncode == CONFIG, done
        assert not done.stdout and f"{path}:" in done.stderr, done

    assert epoch(daemon, photos, breaks) == good
    assert not names
    after = daemon.status()
    assert {name: after[name] for name in before} == before
    assert (after["reloads_total"], after["reload_failed"]) == (0, 1)
    path.unlink()
    assert str(path) in daemon.ctl("reload", check=False).stderr
    place("workers = 2\nfetchers = 1")
    assert reload(daemon) == {}
    assert daemon.status()["reload_failed"] == 0


def test_half_of_a_broken_file_is_not_taken(daemon, place):
    place("workers = 7")
    bad = place("fetchers = 3\nwrokers = 1", "50-bad.conf")
    done = daemon.ctl("--json", "reload", check=False)
    error = json.loads(done.stdout)["error"]
    assert done.returncode == CONFIG and error["name"] == "setting"
    assert error["text"].startswith(f"{bad}:3: ") and "did you mean 'workers'?" in error["text"]
    assert daemon.status()["workers"] == 2


def test_readers_finish_what_a_reload_forbids(daemon, place, photos):
    """FAULTS 30, for limits: whoever is attached goes on to the end, new ones are refused."""
    good = epoch(daemon, photos)
    asked = []

    def forbid(_):
        if asked:
            return
        asked.append(place("workers = 2\nfetchers = 1\nmax-readers-per-user = 1\n"
                           "ring-memory = 1M\nring-memory-per-user = 1M"))
        assert reload(daemon)["ring-memory"]["after"] == "1M"
        with daemon.connect() as peer:
            answer = peer.attach(photos, **STREAM)
            assert answer.name == "error" and answer.fields["name"] == "limit", answer

    assert epoch(daemon, photos, forbid) == good
    daemon.settle()


@without_a_sanitizer  # it reserves terabytes of addresses
def test_a_pool_that_cannot_grow(place):
    """Threads that cannot be had: as wrong as a file, and all is as it was."""
    daemon = Daemon(config=place("workers = 2\nfetchers = 1"),
                    launcher=["prlimit", f"--as={600 << 20}"])
    del daemon.options["workers"]
    try:
        threads = daemon.spawn().usage().threads
        place("workers = 1000\nfetchers = 2\nlog-level = debug")
        done = daemon.ctl("reload", check=False)
        assert done.returncode == CONFIG and "threads" in done.stderr, done
        assert (daemon.status()["workers"], daemon.status()["fetchers"]) == (2, 1)
        wait_for(lambda: daemon.usage().threads == threads, "the threads that it had are gone")
        daemon.terminate()
    finally:
        daemon.remove()
