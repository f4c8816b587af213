# SPDX-License-Identifier: MIT
"""The log from outside: a daemon whose log nobody reads, or cannot be written, goes on; no user
fills it. FAULTS 58."""

import fcntl
import json
import os
import re
import subprocess

import pytest

from harness import Daemon, wait_for

ATTACHES = 200
RESIZE = [{"name": "Resize", "size": [8, 8]}]


@pytest.fixture(name="piped")
def fixture_piped():
    """A daemon whose stderr is a pipe with room for a few lines, and that pipe's other end."""
    daemon = Daemon()
    reads, writes = os.pipe()
    fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(reads, False)
    daemon.process = subprocess.Popen(daemon.command(), stdin=subprocess.DEVNULL, stderr=writes)
    os.close(writes)
    wait_for(daemon.serves, "the daemon serves")
    yield daemon, reads
    os.close(reads)
    if daemon.process and daemon.process.poll() is None:
        daemon.kill()
    daemon.remove()


def read_all(fd):
    try:
        return os.read(fd, 1 << 16).decode()
    except BlockingIOError:
        return ""


def refused_attach(daemon, photos):
    """The dataset is opened, which is a line of the log; then its transforms are refused."""
    with daemon.connect() as peer:
        answer = peer.attach(photos, transforms=[{"name": "CenterCrop", "size": [8, 8]}],
                             fields=["none"])
        assert answer.name == "error", answer


def noise(daemon):
    """What is no message costs a line, too."""
    with daemon.connect(hello=False) as peer:
        peer.send_bytes(b"GET / HTTP/1.1\r\n\r\n")
        while peer.receive():
            pass


def spoilt(folder, count):
    """A dataset in which no sample can be decoded."""
    (folder / "class").mkdir()
    for i in range(count):
        (folder / f"class/{i:02}.jpg").write_bytes(b"\xff\xd8\xff no picture")


def test_nobody_reads_the_log(piped, photos):
    """Attaches go on, the lines that did not fit are counted, and the log says so once it can."""
    daemon, reads = piped
    assert "listens at" in read_all(reads)
    for level in ("debug", "info") * 60:  # lines that no limit applies to: the operator's own
        assert daemon.set("log-level", level).name == "ok"
    dropped = daemon.status()["log_dropped_total"]
    assert dropped > 0
    refused_attach(daemon, photos)
    noise(daemon)
    first = read_all(reads)
    rest = wait_for(lambda: read_all(reads), "the log says what is missing")
    counts = re.findall(r"^stokerd: (\d+) lines were dropped", first + rest, re.MULTILINE)
    assert sum(map(int, counts)) == daemon.status()["log_dropped_total"] >= dropped
    assert daemon.terminate() == ""


def test_a_full_disk(spawn, photos):
    """It is not even noticed by who trains."""
    daemon = spawn()
    assert daemon.status()["log_dropped_total"] == 0
    daemon.terminate()
    with open("/dev/full", "wb") as full:
        daemon.process = subprocess.Popen(daemon.command(), stdin=subprocess.DEVNULL, stderr=full)
    wait_for(daemon.serves, "the daemon serves")
    with daemon.connect() as peer:
        assert peer.attach(photos, transforms=[{"name": "Resize", "size": [8, 8]}]).name == \
            "attached"
        assert len(peer.digests()) == 60
    assert daemon.status()["log_dropped_total"] >= 2
    daemon.terminate()


def test_a_user_cannot_fill_the_log(daemon, photos):
    """20 lines in a minute about wrong messages, and 20 about datasets."""
    for _ in range(30):
        noise(daemon)
        refused_attach(daemon, photos)
    log = daemon.log()
    assert (log.count("cut off"), log.count(f"dataset {photos}")) == (20, 20), log


def test_bad_samples_have_the_limit(daemon, tmp_path):
    spoilt(tmp_path, 40)
    with daemon.connect() as peer:
        assert peer.attach(tmp_path, transforms=[{"name": "Resize", "size": [8, 8]}],
                           batch_size=40).name == "attached"
        wait_for(lambda: daemon.status()["samples_bad_total"] >= 40, "samples are bad")
    assert daemon.log().count("bad sample") == 20
    assert len(daemon.list("bad")) == 40


def lines_of(daemon):
    return [json.loads(line) for line in daemon.log().splitlines()]


def test_json_for_programs(spawn, photos):
    """Each line says what it is about, also at debug what each attach did."""
    daemon = spawn(log_format="json", log_level="debug")
    with daemon.connect() as peer, daemon.connect() as other:
        first = peer.attach(photos, transforms=RESIZE, job="a \"job\"").fields
        second = other.attach(photos, transforms=RESIZE, batch_size=8).fields
        with daemon.connect() as third:
            assert third.attach("/none").name == "error"
    daemon.settle()
    lines = lines_of(daemon)
    opened, = [line for line in lines if "60 samples" in line["message"]]
    assert opened["level"] == "info" and opened["uid"] == os.getuid() and opened["dataset"] > 0
    attached = [line for line in lines if " attached: " in line["message"]]
    assert [line["reader"] for line in attached] == [first["reader"], second["reader"]]
    assert attached[0]["job"] == "a \"job\"" and attached[0]["stream"] == first["stream"]
    assert attached[0]["level"] == "debug" and "which 0 others read" in attached[0]["message"]
    assert any("refused" in line["message"] for line in lines)
    left = [line for line in lines if " left: " in line["message"]]
    assert {line["reader"] for line in left} >= {first["reader"]}
    assert daemon.set("log-format", "text").name == "ok"
    assert daemon.set("log-format", "xml").fields["text"].endswith("'xml' is not text or json")
    assert daemon.log().splitlines()[-1].startswith("stokerd: set log-format to text")


def test_forks_and_merges_are_told_at_debug(spawn, photos):
    daemon = spawn(log_level="debug")
    fields = {"transforms": RESIZE, "epochs": 0, "accept_moves": True, "prefetch": 4}
    with daemon.connect() as slow, daemon.connect() as fast:
        slow.attach(photos, job="slow", **fields)
        held = slow.expect("batch")
        fast.attach(photos, job="fast", **fields)
        while "fork: reader" not in daemon.log():
            message = fast.receive()
            if message.name == "ring":
                fast.follow(message)
            elif message.name == "batch":
                fast.release(message)
        slow.release(held)
    number = slow.attached["reader"]
    assert "(job 'fast') goes on in ring" in daemon.log()
    assert f"past reader {number}" in daemon.log()
    wait_for(lambda: "moves from ring" in daemon.log(), "it moves")
