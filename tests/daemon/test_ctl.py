# SPDX-License-Identifier: MIT
"""stokerctl and the C example against a real daemon: text for people, JSON for programs, and exit
statuses for scripts."""

import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from harness import BUILD, SOURCE, STOKERCTL, WAIT_S, frame
from users import stranger

EXAMPLE = BUILD / "client" / "c" / "example"
TRANSFORMS = [{"name": "Resize", "size": [8, 8]}]
USAGE, UNAVAILABLE, NOPERM, PROTOCOL = 64, 69, 77, 76


def run(*arguments, **environment):
    """stokerctl without a daemon of the harness."""
    plain = {name: value for name, value in os.environ.items()
             if not name.startswith(("STOKER_", "XDG_RUNTIME"))}
    return subprocess.run([str(STOKERCTL), *map(str, arguments)], text=True, capture_output=True,
                          check=False, timeout=WAIT_S, env={**plain, **environment})


def ask(daemon, *arguments):
    """A command's JSON."""
    return json.loads(daemon.ctl("--json", *arguments).stdout)


@pytest.fixture(name="reader")
def fixture_reader(daemon, photos):
    """A peer that holds one batch."""
    with daemon.connect() as peer:
        answer = peer.attach(photos, transforms=TRANSFORMS, job="a\x1b[31mjob", rank=1, world=2,
                             epochs=0, order_seed=2**64 - 1)
        assert answer.name == "attached", answer
        peer.batch = peer.expect("batch")
        yield peer


# Without a daemon


def test_help_fits_a_screen():
    done = run("--help")
    assert done.returncode == 0 and not done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) < 24 and max(map(len, lines)) <= 80
    assert run("help").stdout == done.stdout
    for command in ("status", "top", "doctor", "readers", "streams", "datasets", "bad", "set",
                    "reload", "ping", "stop"):
        assert re.search(rf"^  (\w+, )*{command}\b", done.stdout, re.MULTILINE), command


def test_help_of_a_command():
    """It lists all options of the command, and no others."""
    done = run("preview", "--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: stokerctl preview [DATASET]")
    assert re.search(r"^  --output FILE ", done.stdout, re.MULTILINE)
    assert "--zca" not in done.stdout and max(map(len, done.stdout.splitlines())) <= 80
    assert run("help", "preview").stdout == run("-h", "preview").stdout == done.stdout
    assert "--zca" in run("fit", "--help").stdout
    assert "--socket" in run("status", "--help").stdout
    assert run("help", "previw").returncode == USAGE


def test_version():
    assert re.fullmatch(r"stokerctl \d+\.\d+\.\d+\n", run("--version").stdout)


@pytest.mark.parametrize("arguments, words", [
    ([], "usage:"),
    (["stauts"], "did you mean status?"),
    (["reader"], "did you mean readers?"),
    (["destroy"], "no such command: destroy"),
    (["set", "workers"], "set NAME VALUE"),
    (["status", "now"], "takes no arguments"),
    (["--verbose", "status"], "unrecognized option"),
    (["--socket", "x" * 120, "ping"], "at most 107 bytes"),
    (["--socket", "", "ping"], "path of the socket is empty"),
])
def test_a_wrong_command_line(arguments, words):
    done = run(*arguments)
    assert done.returncode == USAGE and not done.stdout
    assert words in done.stderr


def test_no_daemon(tmp_path):
    done = run("status", STOKER_SOCKET=str(tmp_path / "stokerd.sock"))
    assert done.returncode == UNAVAILABLE and not done.stdout
    assert str(tmp_path / "control.sock") in done.stderr
    assert "is stokerd running?" in done.stderr
    done = run("--json", "ping", "--socket", tmp_path / "x")
    assert done.returncode == UNAVAILABLE
    assert json.loads(done.stdout)["error"]["name"] == "client"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can put a stranger there")
def test_a_stranger_is_not_believed(tmp_path):
    path = tmp_path / "control.sock"
    with stranger(path, 12345):
        done = run("--socket", path, "ping")
    assert done.returncode == NOPERM
    assert "uid 12345" in done.stderr


@pytest.mark.parametrize("said, status", [
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", PROTOCOL),
    (b"\0\0\0\0", PROTOCOL),
    (b"", UNAVAILABLE),
    (frame({"type": 3, "seq": 0, "code": 9, "name": "too_many_connections", "text": "full"}), 75),
    (frame({"type": 3, "seq": 1, "code": 6, "name": "version", "text": "other"}), PROTOCOL),
    (frame({"type": 2, "seq": 1, "version": 1}) + frame({"type": 32, "seq": 2, "values": [1]}),
     PROTOCOL),
])
def test_a_daemon_that_is_none(tmp_path, said, status):
    """FAULTS 48, for stokerctl."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "control.sock"))
        listener.listen()
        with subprocess.Popen([str(STOKERCTL), "-s", str(tmp_path / "control.sock"), "status"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            peer, _ = listener.accept()
            peer.sendall(said)
            peer.shutdown(socket.SHUT_WR)
            out, err = process.communicate(timeout=WAIT_S)
            peer.close()
    assert (process.returncode, out) == (status, b""), err
    assert err.startswith(b"stokerctl: ")


def test_pages_of_a_list(tmp_path):
    """All pages are fetched; a list without end is an error."""
    def serve(pages):
        with socket.socket(socket.AF_UNIX) as listener:
            path = tmp_path / f"socket{len(pages)}"
            listener.bind(str(path))
            listener.listen()
            with subprocess.Popen([str(STOKERCTL), "-js", str(path), "bad"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                peer, _ = listener.accept()
                peer.sendall(frame({"type": 2, "seq": 1, "version": 1}))
                for i, (items, following) in enumerate(pages):
                    peer.sendall(frame({"type": 34, "seq": 2 + i, "items": items,
                                        "next": following}))
                out, err = process.communicate(timeout=WAIT_S)
                peer.close()
        return process.returncode, json.loads(out), err

    rows = [{"sample": i, "path": b"a\xff\n" + bytes([48 + i])} for i in range(3)]
    code, said, _ = serve([(rows[:2], 7), (rows[2:], 9), ([], 0)])
    assert code == 0
    assert said == {"bad": [{"sample": i, "path": f"a\ufffd\n{i}"} for i in range(3)]}
    code, said, _ = serve([(rows[:2], 7), (rows[2:], 7)])
    assert code == PROTOCOL and "LISTING without end" in said["error"]["text"]


# With one


def test_status(daemon):
    values = ask(daemon, "status")
    assert values["workers"] == 2 and values["state"] == "running"
    assert values["pid"] == daemon.process.pid and values["connections"] == 1
    assert values == {**daemon.status(), "connections_total": values["connections_total"],
                      "uptime_s": values["uptime_s"]}
    text = daemon.ctl("status").stdout
    assert text.startswith(f"stokerd {values['version']}, running for ")
    assert re.search(r"^  workers +2   worker threads$", text, re.MULTILINE)
    for name in values:
        if name not in ("version", "state", "pid", "uptime_s", "socket"):
            assert re.search(rf"^  {name} ", text, re.MULTILINE), name
    assert "\033" not in text and "\nothers\n" not in text


def test_status_is_in_units(spawn, tmp_path):
    """Each size and time, of counters and of settings."""
    daemon = spawn(cache_dir=tmp_path / "c", cache_size="3G", cache_decoded_size="1.5G",
                   cache_memory="64M", lease_timeout="10m", ring_memory="1GB")
    text = daemon.ctl("status").stdout
    for name, value in (("cache_size", "3.0 GiB"), ("cache_decoded_size", "1.5 GiB"),
                        ("cache_memory", "64.0 MiB"), ("lease_timeout_s", "10 min 00 s"),
                        ("cache_limit", r"\d+\.\d MiB"), ("ring_memory", "953.7 MiB"),
                        ("cache_decoded_speed", r"\d.*B"), ("work_ns_total", r"\d+ \w?s")):
        assert re.search(rf"^  {name} +{value}   ", text, re.MULTILINE), (name, text)
    assert daemon.ctl("set", "cache-size", "4GB").stdout.startswith("cache-size 3")
    assert daemon.status()["cache_size"] == 4 * 10**9


def test_set(daemon):
    assert daemon.ctl("set", "workers", 4).stdout == "workers 2 -> 4\n"
    assert daemon.status()["workers"] == 4
    assert ask(daemon, "set", "workers", "3") == {"name": "workers", "value": "3", "before": 4,
                                                  "after": 3}
    for name, value, words in (("workers", "many", "workers"), ("wokers", "3", "wokers"),
                               ("socket", "/x", "socket")):
        done = daemon.ctl("set", name, value, check=False)
        assert done.returncode == USAGE and not done.stdout
        assert words in done.stderr
    for arguments in (("-1",), ("-15",), ("--", "-1"), ("-1", "--json")):
        done = daemon.ctl("set", "workers", *arguments, check=False)
        assert done.returncode == USAGE, done
        assert "is out of range: 0 to 1024" in done.stderr, done
    done = daemon.ctl("set", "workers", "-x", check=False)
    assert done.returncode == USAGE and "invalid option -- 'x'" in done.stderr
    assert daemon.status()["workers"] == 3


def test_ping(daemon):
    assert re.fullmatch(r"stokerd \S+ \(pid \d+\) answered in \d+ us\n", daemon.ctl("ping").stdout)
    said = ask(daemon, "ping")
    assert said["pid"] == daemon.process.pid and 0 < said["seconds"] < WAIT_S


def test_nothing_to_list(daemon):
    for what in ("readers", "streams", "datasets", "cache", "bad"):
        assert ask(daemon, what) == {what: []}
        assert len(daemon.ctl(what).stdout.splitlines()) == 1


def test_readers(daemon, reader):
    (row,) = ask(daemon, "readers")["readers"]
    assert (row["pid"], row["rank"], row["world"], row["batch_size"]) == (os.getpid(), 1, 2, 4)
    assert row["reader"] == reader.attached["reader"]
    assert row["job"] == "a\x1b[31mjob"
    title, line = daemon.ctl("readers").stdout.splitlines()
    assert title.split()[:2] == ["READER", "PID"]
    assert f" {os.getpid()} " in line and " 1/2 " in line
    assert "a\\x1b[31mjob" in line and "\x1b" not in line


def test_streams_and_datasets(daemon, reader, photos):
    (stream,) = ask(daemon, "streams")["streams"]
    assert stream["samples"] == 60 and stream["readers"] == 1
    assert stream["order_seed"] == str(2**64 - 1)  # beyond what JSON readers take as a number
    assert stream["pipeline"].startswith("Resize(size=")
    assert stream["pipeline"] in daemon.ctl("streams").stdout
    (dataset,) = ask(daemon, "datasets")["datasets"]
    assert dataset["path"] == str(photos) and dataset["classes"] == 6
    assert dataset["fingerprint"] == reader.attached["dataset_fingerprint"]
    assert str(photos) in daemon.ctl("datasets").stdout


def test_bad_samples(daemon, photos, tmp_path):
    """FAULTS 70: file names that are not UTF-8, or have control characters."""
    folder = tmp_path / "photos" / "class"
    folder.mkdir(parents=True)
    for i, path in enumerate(sorted(photos.rglob("*.jpg"))[:6]):
        shutil.copy(path, folder / f"good{i}.jpg")
    names = [b"bad\xff.jpg", b"bad\x1b[2J\n.jpg"]
    for name in names:
        with open(os.fsencode(folder) + b"/" + name, "wb") as file:
            file.write(b"no image")
    with daemon.connect() as peer:
        assert peer.attach(folder.parent, transforms=TRANSFORMS,
                           bad_samples="substitute").name == "attached"
        assert len(list(peer.samples())) == 8
        rows = ask(daemon, "bad")["bad"]
        text = daemon.ctl("bad").stdout
    assert sorted(row["path"] for row in rows) == ["class/bad\x1b[2J\n.jpg", "class/bad\ufffd.jpg"]
    assert {row["name"] for row in rows} == {"sample_format"}
    assert len(text.splitlines()) == 3 and "\x1b" not in text
    assert "class/bad\\x1b[2J\\n.jpg" in text and "class/bad\ufffd.jpg" in text


def test_many_readers(daemon, photos):
    """More than one page of a list."""
    peers = [daemon.connect() for _ in range(300)]
    try:
        for peer in peers:
            assert peer.attach(photos, transforms=TRANSFORMS, batch_size=1,
                               inflight=1).name == "attached"
        rows = ask(daemon, "readers")["readers"]
        assert sorted(row["reader"] for row in rows) == sorted(
            peer.attached["reader"] for peer in peers)
        assert len(daemon.ctl("readers").stdout.splitlines()) == 301
    finally:
        for peer in peers:
            peer.close()
    daemon.settle()


def test_stop_waits_for_the_end(daemon):
    pid = daemon.process.pid
    done = daemon.ctl("stop")
    # Nothing of it is left at this moment: another one could start.
    assert daemon.process.wait(1) == 0
    assert not daemon.socket.exists() and not daemon.control.exists()
    assert re.fullmatch(rf"stokerd \S+ \(pid {pid}\) has stopped\n", done.stdout)
    assert daemon.ctl("ping", check=False).returncode == UNAVAILABLE


def test_stop_waits_for_readers(spawn, photos):
    daemon = spawn(drain_timeout="30s")
    with daemon.connect() as peer:
        assert peer.attach(photos, transforms=TRANSFORMS).name == "attached"
        with subprocess.Popen([str(STOKERCTL), "-js", str(daemon.control), "stop"],
                              stdout=subprocess.PIPE) as process:
            while peer.receive().name != "goaway":
                pass
            time.sleep(0.2)
            assert process.poll() is None
            peer.close()
            out, _ = process.communicate(timeout=WAIT_S)
    assert json.loads(out) == {"stopped": True, "pid": daemon.process.pid}


def on_a_terminal(command, environment):
    """What a command writes to a terminal."""
    try:
        master, slave = pty.openpty()
    except OSError:
        pytest.skip("no terminal can be had here")
    with subprocess.Popen(command, stdout=slave, stderr=subprocess.DEVNULL, env=environment):
        os.close(slave)
        said = b""
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:  # the other side is closed
                break
            if not data:
                break
            said += data
    os.close(master)
    return said.decode()


def test_a_terminal(daemon):
    command = [str(STOKERCTL), "-s", str(daemon.control), "readers"]
    plain = {**os.environ, "TERM": "xterm"}
    plain.pop("NO_COLOR", None)
    assert "\033[1m" in on_a_terminal(command, plain)
    assert "\033" not in on_a_terminal(command, {**plain, "NO_COLOR": "1"})
    assert "\033" not in on_a_terminal(command, {**plain, "TERM": "dumb"})


def test_output_that_cannot_be_written(daemon):
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([str(STOKERCTL), "-s", str(daemon.control), "status"], stdout=full,
                              stderr=subprocess.PIPE, check=False, timeout=WAIT_S)
    assert done.returncode == 74 and b"cannot write" in done.stderr


# The C example


def example(daemon, path):
    return subprocess.run([str(EXAMPLE), str(path)], text=True, capture_output=True, check=False,
                          timeout=WAIT_S, env={**os.environ, "STOKER_SOCKET": str(daemon.socket)})


def test_the_example(daemon, photos):
    first = example(daemon, photos)
    assert first.returncode == 0 and not first.stderr, first
    match = re.fullmatch(r"60 samples, mean (0\.\d{6})\n", first.stdout)
    assert match and 0.05 < float(match.group(1)) < 0.95
    assert example(daemon, photos).stdout == first.stdout
    daemon.settle()


def test_the_example_reads_what_others_read(daemon, photos):
    """The mean of the same epoch, read in Python."""
    with daemon.connect() as peer:
        answer = peer.attach(photos, batch_size=32, transforms=[
            {"name": "RandomResizedCrop", "size": 224}, {"name": "RandomHorizontalFlip"}])
        assert answer.name == "attached", answer
        total = sum(arrays["image"].sum(dtype="float64") for _, _, arrays in peer.samples())
    mean = total / (60 * 3 * 224 * 224)
    said = example(daemon, photos).stdout
    assert abs(float(said.split()[-1]) - mean) < 2e-6, (said, mean)


def test_the_example_says_what_is_wrong(daemon, tmp_path):
    done = example(daemon, tmp_path / "none")
    assert done.returncode == 1 and not done.stdout
    assert "none: No such file or directory" in done.stderr


def test_the_example_when_the_daemon_dies(spawn, photos):
    daemon = spawn()
    daemon.terminate(signal.SIGKILL)
    done = example(daemon, photos)
    assert done.returncode == 1 and "no stokerd answers" in done.stderr


def test_the_readme_quotes_the_example():
    text = (SOURCE / "client" / "c" / "examples" / "example.c").read_text()
    quoted = text[text.index("#include"):]
    assert quoted in (SOURCE / "client" / "c" / "README.md").read_text()
    assert len(quoted.splitlines()) < 40
