# SPDX-License-Identifier: MIT
"""stokerctl doctor: set-ups that are broken in one way each, which it has to name, with what to do.
Machines that cannot be made here (control groups, steal time) are in tests/unit/ctl."""

import json
import os
import shutil
import signal
import socket
import subprocess

import pytest

from harness import STOKERCTL, WAIT_S, frame, installed, wait_for
from users import let_in, needs_root, stranger

NOBODY, OTHER = 65534, 12345
FOLDERS = [f"{folder}_dir_{state}" for folder in ("index", "cache")
           for state in ("off", "refused", "full")]


def doctor(*arguments, user=None, launcher=(), **environment):
    """(exit status, {check: finding}): of several findings of one check the worst."""
    plain = {name: value for name, value in os.environ.items()
             if not name.startswith(("STOKER_", "XDG_RUNTIME"))}
    done = subprocess.run([*launcher, str(installed(STOKERCTL)), "--json", "doctor",
                           *map(str, arguments)],
                          text=True, capture_output=True, check=False, timeout=3 * WAIT_S,
                          env={**plain, **environment}, **({"user": user, "group": user,
                                                            "extra_groups": []} if user else {}))
    report = json.loads(done.stdout)
    order = {"ok": 0, "warn": 1, "fail": 2}
    found = {}
    for finding in sorted(report["checks"], key=lambda finding: order[finding["level"]]):
        found[finding["check"]] = finding
    assert report["worst"] == max((finding["level"] for finding in found.values()), key=order.get)
    assert done.returncode == (report["worst"] == "fail"), done
    return found


def ask(daemon, *arguments, **options):
    return doctor("--socket", daemon.control, *arguments, **options)


def assert_found(found, check, level, text="", advice=""):
    finding = found[check]
    assert finding["level"] == level, finding
    assert text in finding["text"], finding
    assert advice in (finding["advice"] or ""), finding


def test_a_daemon_that_is_well(daemon, photos):
    found = ask(daemon, photos)
    assert_found(found, "daemon", "ok", f"pid {daemon.process.pid}")
    assert_found(found, "version", "ok")
    assert_found(found, "dataset", "ok", "60 samples, readable")
    assert_found(found, "storage", "ok", "MB/s")
    assert {"socket", "units", "shm", "memory", "kernels", "processors", "rings", "steal"} <= set(
        found)
    assert not [name for name, finding in found.items() if finding["level"] == "fail"]


def test_text_for_people(daemon):
    done = daemon.ctl("doctor")
    assert done.stdout.splitlines()[0].startswith("ok    daemon       stokerd ")
    assert done.stdout.splitlines()[-1].endswith(" 0 fail")


# Nobody answers, or not this user


def test_no_daemon(tmp_path):
    found = doctor(XDG_RUNTIME_DIR=str(tmp_path), STOKER_SOCKET=str(tmp_path / "stokerd.sock"))
    assert_found(found, "daemon", "fail", "no stokerd answers", "start it: stokerd")
    assert "steal" in found, "the machine is looked at nevertheless"


def test_a_killed_daemon(spawn):
    daemon = spawn()
    daemon.kill()
    found = ask(daemon)
    assert_found(found, "daemon", "fail", "Connection refused", "was killed: start it again")
    daemon.process = None


def test_a_stopped_daemon(daemon):
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        found = ask(daemon)
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    assert_found(found, "daemon", "fail", "", "it hangs or is stopped")


def test_an_environment_that_misleads(daemon, tmp_path):
    (tmp_path / "stoker").symlink_to(daemon.folder)
    found = doctor(XDG_RUNTIME_DIR=str(tmp_path), STOKER_SOCKET="/nowhere/stokerd.sock")
    assert_found(found, "daemon", "fail", "/nowhere", "unset STOKER_SOCKET: a daemon answers at "
                 f"{tmp_path}/stoker/control.sock")


@needs_root
def test_a_user_outside_the_group(daemon):
    let_in(daemon.socket)
    found = ask(daemon, user=NOBODY)
    assert_found(found, "control", "warn", "Permission denied", "as root")
    assert_found(found, "group", "fail", "mode 0660, group root", "usermod -aG root nobody")


@needs_root
def test_a_stranger_serves(tmp_path):
    path = tmp_path / "control.sock"
    with stranger(path, 12345):
        found = doctor("--socket", path)
    assert_found(found, "daemon", "fail", "uid 12345", "another user made it")


def test_other_versions(tmp_path):
    """A daemon that says hello as another version, and nothing more."""
    path = tmp_path / "control.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        with subprocess.Popen([str(STOKERCTL), "--json", "--socket", str(path), "doctor"],
                              stdout=subprocess.PIPE, text=True) as process:
            peer, _ = listener.accept()
            with peer:
                peer.recv(4096)
                peer.sendall(frame({"type": 2, "seq": 1, "version": 1, "pid": 1,
                                    "daemon": "stokerd 9.9.9"}))
                peer.recv(4096)
                peer.sendall(frame({"type": 32, "seq": 2, "values": {
                    "state": "running", "socket": str(tmp_path / "none")}}))
                peer.recv(4096)
                peer.sendall(frame({"type": 4, "seq": 3}))
                report = json.loads(process.communicate()[0])
    found = {finding["check"]: finding for finding in report["checks"]
             if finding["check"] == "version"}
    assert_found(found, "version", "warn", "stokerd 9.9.9 runs", "of one version")


def test_a_socket_for_everybody(spawn):
    found = ask(spawn(socket_mode="0666"))
    assert_found(found, "socket", "warn", "mode 0666", "socket-mode 0660")


# The machine


@needs_root
def test_small_shared_memory(daemon):
    mount = "mount -t tmpfs -o size=8m tmpfs /dev/shm && exec \"$@\""
    found = ask(daemon, launcher=["unshare", "-m", "sh", "-c", mount, "sh"])
    assert_found(found, "shm", "warn", "8.0 MiB free of 8.0 MiB", "--shm-size=1g")


def test_few_descriptors(spawn):
    daemon = spawn(launcher=["sh", "-c", "ulimit -n 256 && exec \"$@\"", "sh"])
    assert_found(ask(daemon), "descriptors", "warn", "256 files open", "LimitNOFILE=65536")


def test_more_memory_than_there_is(spawn):
    daemon = spawn(ring_memory="900T")
    assert_found(ask(daemon), "memory", "fail", "budgets are 900.", "lower ring-memory")


def test_too_many_workers(spawn):
    assert_found(ask(spawn(workers=500)), "processors", "warn", "500 workers",
                 "stokerctl set workers")


def test_plain_kernels(spawn):
    daemon = spawn(environment={"STOKER_CPU": "plain"})
    if daemon.status()["processor"] == "plain":
        pytest.skip("this processor has no other kernels")
    assert_found(ask(daemon), "kernels", "warn", "use plain", "take STOKER_CPU out")


# Its work


def test_no_such_dataset(daemon):
    assert_found(ask(daemon, "/no/pictures"), "dataset", "fail", "No such file", "give a folder")


@needs_root
def test_a_dataset_that_is_closed(spawn, photos, tmp_path):
    data = tmp_path / "home" / "data"
    shutil.copytree(photos, data)
    let_in(data)
    tmp_path.chmod(0o755)
    data.parent.chmod(0o700)
    as_other = (f'chown {OTHER} "$(dirname "$3")" && exec setpriv --reuid={OTHER} '
                f'--regid={OTHER} --clear-groups "$@"')
    daemon = spawn(launcher=["sh", "-c", as_other, "sh"],
                   environment={"XDG_CONFIG_HOME": "/nonexistent"})
    assert_found(ask(daemon, data, user=OTHER), "dataset", "fail", "Permission denied",
                 f"(uid {OTHER}), and {data.parent} is closed to it")


@needs_root
def test_a_dataset_that_is_not_for_this_user(spawn, photos):
    daemon = spawn(socket_mode="0666")
    let_in(daemon.socket)
    assert_found(ask(daemon, photos, user=OTHER), "dataset", "fail", f"user {OTHER} may not",
                 "dataset-root")


def test_bad_samples(daemon, tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "a.jpg").write_bytes(b"\xff\xd8\xff\xe0 this is not all of it")
    found = ask(daemon, tmp_path)
    assert_found(found, "dataset", "warn", "bad samples", "stokerctl bad")
    assert_found(ask(daemon), "samples", "warn", "bad samples were met", "stokerctl bad")


def test_a_full_index(spawn, photos):
    daemon = spawn(index_memory=1)
    ask(daemon, photos)
    assert_found(ask(daemon), "index", "warn", "it is full", "a larger index-memory")


def test_folders_that_are_used(spawn, photos, tmp_path):
    daemon = spawn(index_dir=tmp_path / "index", cache_dir=tmp_path / "cache")
    ask(daemon, photos)
    found = ask(daemon)
    assert_found(found, "index-dir", "ok", str(tmp_path / "index"))
    assert_found(found, "cache-dir", "ok", str(tmp_path / "cache"))
    assert not any(daemon.status()[name] for name in FOLDERS)


def test_no_folders(spawn, photos):
    """It is said; what it costs only once there is something to keep."""
    daemon = spawn()
    assert_found(ask(daemon, photos), "index-dir", "ok", "none is set")
    found = ask(daemon)
    assert_found(found, "index-dir", "warn", "no index-dir is set", "in the configuration")
    assert_found(found, "cache-dir", "ok", "none is set")
    assert all(daemon.status()[name] == name.endswith("_off") for name in FOLDERS)


@pytest.mark.parametrize("setting", ["index_dir", "cache_dir"])
def test_a_folder_that_is_refused(spawn, tmp_path, setting):
    place = tmp_path / "place"
    place.mkdir()
    place.chmod(0o777)
    daemon = spawn(**{setting: place})
    check = setting.replace("_", "-")
    assert_found(ask(daemon), check, "warn", f"{check} cannot be used", "daemon's user")
    assert str(place) in ask(daemon)[check]["text"], "the reason is there"
    status = daemon.status()
    assert status[setting + "_refused"] == 1 and status[setting + "_full"] == 0
    assert f"stoker_{setting}_refused 1" in daemon.ctl("metrics").stdout


@needs_root
def test_the_disk_of_index_dir_is_full(spawn, photos, tmp_path):
    daemon = spawn(index_dir=tmp_path / "i", launcher=[
        "unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size=16k,mode=700 none {tmp_path} && '
        f'head -c 8k /dev/zero >{tmp_path}/fill && exec "$@"', "sh"])
    daemon.ctl("index", photos, check=False)
    wait_for(lambda: daemon.status()["index_dir_full"], "that it is full")
    assert_found(ask(daemon), "index-dir", "warn", "No space left on device", "make room")
    assert daemon.status()["index_dir_refused"] == 0


@needs_root
def test_the_disk_of_cache_dir_is_full(spawn, photos, tmp_path):
    daemon = spawn(cache_dir=tmp_path / "c", cache_decoded_size="64M", cache_memory="64M",
                   launcher=["unshare", "-m", "sh", "-c",
                             f'mount -t tmpfs -o size=200k,mode=700 none {tmp_path} && exec "$@"',
                             "sh"])
    daemon.ctl("cache", "warm", photos, check=False)
    wait_for(lambda: daemon.status()["cache_dir_full"], "that it is full")
    assert_found(ask(daemon), "cache-dir", "warn", "No space left on device", "make room")


def test_what_readers_wait_for(spawn, photos):
    """A trainer that holds what it has: the daemon has nothing to do better."""
    daemon = spawn()
    with daemon.connect() as peer:
        peer.attach(photos, transforms=[{"name": "Resize", "size": [8, 8]}], epochs=0)
        for _ in range(3):
            peer.expect("batch")
        found = ask(daemon)
        assert_found(found, "speed", "ok", "1 reader: the trainer works")


def test_a_refused_reload(spawn, tmp_path):
    config = tmp_path / "stokerd.conf"
    config.write_text("[stokerd]\n")
    daemon = spawn(config=config)
    config.write_text("[stokerd]\nworkers = many\n")
    assert daemon.ctl("reload", check=False).returncode != 0
    assert_found(ask(daemon), "config", "warn", "refused", "stokerctl reload")


def test_refused_connections(spawn):
    daemon = spawn(max_connections=1)
    with daemon.connect(), daemon.connect(hello=False) as other:
        other.expect_error("too_many_connections")
    wait_for(lambda: daemon.status()["connections"] <= 1, "the trainer's connection is gone")
    assert_found(ask(daemon), "connections", "warn", "1 connections were refused",
                 "max-connections")


def test_rings_that_are_full(spawn, photos):
    daemon = spawn(ring_memory="1M")
    with daemon.connect() as peer:
        answer = peer.attach(photos, transforms=[{"name": "Resize", "size": [82, 82]}], epochs=0,
                             prefetch=12, dtype="uint8")
        assert answer.name == "attached", answer
        assert_found(ask(daemon), "rings", "warn", "of ring-memory", "set ring-memory to more")
