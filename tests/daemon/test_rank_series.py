# SPDX-License-Identifier: MIT
"""Series of each rank in the metrics: labels of any names of jobs, who sees those, and the bound
for each user, beyond which readers are summed."""

import os
import re
import shutil
import subprocess

import pytest

from harness import STOKERD, WAIT_S, wait_for
from test_watch import TRANSFORMS, ask, fixture_port, live  # noqa: F401 (a fixture)
from users import ALICE, BOB, connect, needs_root, servers

TOKEN = "0123456789abcdef" * 2
LABEL = re.compile(r'(\w+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
MANY = 70


@pytest.fixture(name="watched")
def fixture_watched(spawn, tmp_path, port):
    (tmp_path / "token").write_text(TOKEN + "\n", encoding="ascii")
    (tmp_path / "token").chmod(0o640)
    daemon = spawn(metrics_port=port, metrics_token=tmp_path / "token", max_connections=300)
    daemon.port = port
    return daemon


def series(text, name):
    """[(labels, value)] of a family."""
    found = []
    for line in text.splitlines():
        if line.startswith(name + "{"):
            labels, value = line[len(name) + 1:].rsplit("} ", 1)
            pairs = LABEL.findall(labels)
            assert LABEL.sub("", labels) == "", line
            found.append(({key: re.sub(r'\\[\\"n]', lambda match: ESCAPES[match[0]], shown)
                           for key, shown in pairs}, float(value)))
    return found


def delivered(daemon, token=TOKEN):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return series(ask(daemon.port, **headers)[2], "stoker_reader_samples_delivered_total")


def names(daemon, token=TOKEN):
    return [labels["job_name"] for labels, _ in delivered(daemon, token)]


def readers_are(daemon, count):
    wait_for(lambda: daemon.status()["readers"] == count, f"{count} readers are left")


def promtool(text):
    if not shutil.which("promtool"):
        pytest.skip("there is no promtool (prometheus)")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                          capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("job, shown", [
    ('a"b\\c\nd', 'a"b\\c\nd'),
    ("\\n\\", "\\n\\"),
    ('",rank="0"} 1\nstoker_fake 1\n#', '",rank="0"} 1\nstoker_fake 1\n#'),
    ("Übung 😀", "Übung 😀"),
    (b"\xff\xc3\x1b[2J\xc2\x9b", "\ufffd\ufffd\ufffd[2J\ufffd"),
    ("x" * 64, "x" * 64),
    ("resnet-" * 20 + "seed=1", ("resnet-" * 20)[:40] + "...-resnet-resnet-seed=1"),
    ("ä" * 100, "ä" * 20 + "..." + "ä" * 10),
])
def test_any_name_of_a_job(watched, photos, job, shown):
    with watched.connect() as peer:
        assert peer.attach(photos, transforms=TRANSFORMS, job=job, epochs=0).name == "attached"
        peer.expect("batch")
        text = ask(watched.port, Authorization=f"Bearer {TOKEN}")[2]
        for name, count in (("samples_delivered_total", 1), ("leased_batches", 1),
                            ("steps_total", 1), ("batches_awaited_total", 1),
                            ("wait_seconds_total", 4)):
            found = series(text, "stoker_reader_" + name)
            assert [labels["job_name"] for labels, _ in found] == [shown] * count
        assert "\nstoker_fake" not in text
        promtool(text)
        assert watched.ctl("metrics").stdout.count("job_name=") == text.count("job_name=")


def test_labels(watched, photos):
    with watched.connect() as peer:
        answer = peer.attach(photos, transforms=TRANSFORMS, job="resnet50", rank=2, world=3,
                             epochs=0).fields
        peer.expect("batch")
        (labels, value), = delivered(watched)
        assert value >= 4 and labels == {
            "reader": str(answer["reader"]), "stream": str(answer["stream"]), "rank": "2",
            "world": "3", "job_name": "resnet50", "uid": str(os.geteuid()),
            "node": os.uname().nodename}


def test_who_sees_names(watched, photos):
    """As in the page: nobody without a token. A job has a number then, its ranks the same one."""
    peers = [watched.connect() for _ in range(6)]
    jobs = [("secret", 0, 2), ("secret", 1, 2), ("other", 0, 2), ("", 0, 2), ("", 1, 2), ("", 0, 1)]
    try:
        for peer, (job, rank, world) in zip(peers, jobs):
            peer.attach(photos, transforms=TRANSFORMS, job=job, rank=rank, world=world, epochs=0)
        first = [peer.attached["reader"] for peer in peers]
        numbers = [f"job {first[i]}" for i in (0, 0, 2, 3, 3, 5)]
        for token in (None, TOKEN[::-1], TOKEN[:-1], TOKEN + "0", "0" * 32):
            assert names(watched, token) == numbers
        assert names(watched) == ["secret", "secret", "other"] + numbers[3:]
        assert names(watched, TOKEN) == [labels["job_name"] for labels, _ in series(
            watched.ctl("metrics").stdout, "stoker_reader_samples_delivered_total")]
        # It is good for this alone.
        assert not live(watched, Authorization=f"Bearer {TOKEN}")["names"]
        for target, status in ((f"/sheet/{peers[0].attached['stream']}", 403), ("/session", 403)):
            assert ask(watched.port, target, Authorization=f"Bearer {TOKEN}")[0] == status
        peers[0].close()
        readers_are(watched, 5)
        assert names(watched, None)[0] == numbers[0], "the number of a job stays"
    finally:
        for peer in peers:
            peer.close()


def test_a_daemon_without_a_token_shows_no_names(spawn, photos, port):
    daemon = spawn(metrics_port=port)
    daemon.port = port
    with daemon.connect() as peer:
        peer.attach(photos, transforms=TRANSFORMS, job="secret", epochs=0)
        for token in (None, "", TOKEN):
            assert "secret" not in "".join(names(daemon, token))


@pytest.mark.parametrize("text, mode, words", [
    (TOKEN, 0o644, "chmod o="), ("short", 0o600, "openssl rand -hex 16"),
    (None, 0, "let the daemon's user read it")])
def test_a_file_that_is_no_token(tmp_path, text, mode, words):
    if text:
        (tmp_path / "token").write_text(text, encoding="ascii")
        (tmp_path / "token").chmod(mode)
    done = subprocess.run([str(STOKERD), "--socket", tmp_path / "s.sock", "--metrics-token",
                           tmp_path / "token"], text=True, capture_output=True, check=False,
                          timeout=WAIT_S)
    assert done.returncode != 0 and words in done.stderr and str(tmp_path) in done.stderr


def test_steps_are_equal_across_ranks(watched, photos):
    """All trainers wait for each batch, as they have none when it comes."""
    peers = [watched.connect() for _ in range(3)]
    try:
        for rank, peer in enumerate(peers):
            peer.attach(photos, transforms=TRANSFORMS, job="steps", rank=rank, world=3, epochs=0,
                        inflight=1)
        for taken in range(12):  # 5 steps an epoch
            held = [peer.expect("batch") for peer in peers]
            text = watched.ctl("metrics").stdout
            for name in ("steps", "batches_awaited"):
                found = series(text, f"stoker_reader_{name}_total")
                assert [value for _, value in found] == [taken + 1] * 3
            for peer, batch in zip(peers, held):
                peer.release(batch)
    finally:
        for peer in peers:
            peer.close()


def test_the_bound_of_a_user(watched, photos):
    """The readers beyond are summed under a name that says so; the sum never falls."""
    peers = [watched.connect() for _ in range(MANY)]
    try:
        for number, peer in enumerate(peers):
            peer.attach(photos, transforms=TRANSFORMS, job=f"job-{number}", epochs=0)
            peer.expect("batch")
        for peer in peers:  # so that no more is delivered than what all hold
            for _ in range(2):
                peer.expect("batch")
        text = ask(watched.port, Authorization=f"Bearer {TOKEN}")[2]
        own = delivered(watched)
        assert len(own) == 65 and own[-1] == ({
            "reader": "others", "job_name": "all others", "uid": str(os.geteuid()),
            "node": os.uname().nodename}, 12 * (MANY - 64))
        assert len(series(text, "stoker_reader_wait_seconds_total")) == 4 * 65
        assert len(series(text, "stoker_reader_steps_total")) == 64
        assert f'stoker_not_shown{{what="readers"}} {MANY - 64}\n' in text
        promtool(text)
        for peer in (peers[0], peers[-1], peers[-2]):
            peer.close()
        readers_are(watched, MANY - 3)
        own = delivered(watched)
        assert len(own) == 64 and own[-1][1] == 12 * (MANY - 64)
        with watched.connect() as late:  # takes the place of the first one
            late.attach(photos, transforms=TRANSFORMS, job="late", epochs=0)
            assert names(watched)[-2:] == ["late", "all others"]
            assert f"job-{MANY - 3}" not in names(watched), "nobody changes in its life"
    finally:
        for peer in peers:
            peer.close()


@needs_root
def test_one_user_takes_no_place_of_another(photos, port):
    """Whoever has many readers has 64 series and a sum; the other user's are as if alone."""
    with servers(metrics_port=port, dataset_root=str(photos)) as serve:
        daemon = serve()
        peers = [connect(daemon, ALICE) for _ in range(66)]
        try:
            for folder in (photos, *photos.parents):
                folder.chmod(folder.stat().st_mode | 0o055)
            peers.append(connect(daemon, BOB))
            for peer in peers:
                assert peer.attach(photos, transforms=TRANSFORMS, epochs=0).name == "attached"
            daemon.port = port
            by_user = {ALICE: [], BOB: []}
            for labels, _ in delivered(daemon, None):
                by_user[int(labels["uid"])].append(labels["reader"])
            assert len(by_user[ALICE]) == 65 and by_user[ALICE][-1] == "others"
            assert by_user[BOB] == [str(peers[-1].attached["reader"])]
        finally:
            for peer in peers:
                peer.close()
