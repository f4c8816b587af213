# SPDX-License-Identifier: MIT
"""Slow local storage (stage-root): read once, kept in cache-dir; the same samples, whatever becomes
of the files and of what is kept; nobody gets what the file system does not give."""

import ctypes
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

import pytest

from harness import SLOW, Daemon, wait_for
from test_law import STREAM, digests
from test_remote import PATTERN, fixture_reference, fixture_shards  # noqa: F401 (fixtures)
from test_staging import LARGE, objects
from test_storage import files
from users import ALICE, BOB, SERVER, connect, needs_root, servers

IN_ACCESS = 1


class Accesses:
    """Counts reads of the files in a folder and those below it; stat and O_PATH are none."""

    def __init__(self, folder):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for path in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
            assert libc.inotify_add_watch(self.fd, os.fsencode(path), IN_ACCESS) >= 0

    def take(self):
        """Of files, since the last time."""
        count = 0
        while True:
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return count
            while data:
                _, mask, _, size = struct.unpack_from("iIII", data)
                count += not mask & 0x40000000  # IN_ISDIR
                data = data[16 + size:]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)


@pytest.fixture(name="far")
def fixture_far(photos, shards, tmp_path):
    """What lies on slow storage."""
    folder = tmp_path / "far"
    shutil.copytree(photos, folder / "pictures")
    shutil.copytree(shards, folder / "shards")
    return folder


def started(spawn, far, tmp_path, **options):
    return spawn(cache_dir=tmp_path / "c", index_dir=tmp_path / "i", fetchers=8,
                 stage_root=f"{far}/", **{**LARGE, **options})


@pytest.mark.parametrize("which", ["pictures", f"shards/{PATTERN}"])
def test_read_once(spawn, far, reference, tmp_path, which):
    """Not in the second epoch, nor by another stream or daemon: only looked at."""
    daemon = started(spawn, far, tmp_path)
    assert digests(daemon, far / which) == reference
    pictures = len(reference) // 2
    values = daemon.status()
    assert values["stage_objects"] == pictures == values["stage_hits_total"]
    with Accesses(far) as accesses:
        with daemon.connect() as peer:
            assert peer.attach(far / which, **STREAM).name == "attached"
            accesses.take()  # of headers and lists
            peer.digests()
            assert accesses.take() == 0
        digests(daemon, far / which, order_seed=99)
        fetched = daemon.status()["stage_fetched_bytes_total"]
        daemon.terminate()
        daemon.spawn()
        assert digests(daemon, far / which) == reference
        assert fetched > 0 and daemon.status()["stage_fetched_bytes_total"] == 0
        daemon.terminate()
        daemon.options["stage_root"] = str(tmp_path / "elsewhere")
        daemon.spawn()
        accesses.take()
        assert digests(daemon, far / which) == reference
        assert accesses.take() > pictures  # so it is seen if they are read


def test_a_token_goes_on(spawn, far, photos, tmp_path):
    """It is the same dataset, and kind, as without."""
    with started(spawn, far, tmp_path).connect() as peer:
        staged = peer.attach(far / "pictures", **STREAM).fields["dataset_fingerprint"]
    with spawn().connect() as peer:
        assert peer.attach(photos, **STREAM).fields["dataset_fingerprint"] == staged


def test_a_file_that_changes(spawn, far, photos, tmp_path):
    """As without: seen at the next read, and its samples are those of the new file."""
    daemon = started(spawn, far, tmp_path, cache_memory=0)
    folder = far / "pictures"
    path = files(folder)[3]
    assert digests(daemon, folder, epochs=1) == digests(daemon, photos, epochs=1)
    before = daemon.status()["stage_fetched_bytes_total"]
    path.write_bytes(files(photos)[5].read_bytes())
    staged = digests(daemon, folder, epochs=1)
    assert daemon.status()["stage_fetched_bytes_total"] == before + path.stat().st_size
    daemon.terminate()
    assert staged == digests(spawn(), folder, epochs=1)


def test_what_is_kept_goes(spawn, far, reference, tmp_path):
    """Damaged, deleted or dropped under a stream: read from the slow storage again."""
    daemon = started(spawn, far, tmp_path)
    assert digests(daemon, far / "pictures") == reference
    for number, path in enumerate(objects(tmp_path / "c")):
        if number % 2:
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert digests(daemon, far / "pictures") == reference
    with daemon.connect(control=True) as control:
        assert control.request("drop", id=0).name == "ok"
    wait_for(lambda: not objects(tmp_path / "c"), "all dropped")
    assert digests(daemon, far / "pictures") == reference


def refused(**options):
    daemon = Daemon(**options)
    try:
        done = subprocess.run(daemon.command(), capture_output=True, text=True, check=False,
                              timeout=20 * SLOW)
    finally:
        daemon.remove()
    assert done.returncode == 78
    return done.stderr


def test_refused(tmp_path):
    """Without cache-dir; a rule of who may read; a URL."""
    assert "there is no cache-dir" in refused(stage_root="/far")
    for path in "/far:0", "s3://bucket":
        assert "not a path alone" in refused(stage_root=path, cache_dir=tmp_path)


@needs_root
def test_rights(photos):
    """What is on the disk for one user another gets only if the file system gives it to them."""
    with tempfile.TemporaryDirectory(dir="/run") as home, servers() as serve:
        os.chmod(home, 0o755)
        far, cache = pathlib.Path(home) / "far", pathlib.Path(home) / "c"
        shutil.copytree(photos, far)
        cache.mkdir()
        os.chown(cache, SERVER, SERVER)
        for path in (far, *far.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        daemon = serve(cache_dir=cache, stage_root=far, dataset_root=f"{far}:@{ALICE}", **LARGE)

        def read(uid):
            with connect(daemon, uid) as peer:
                answer = peer.attach(str(far), batch_size=1, epochs=1)
                if answer.name == "error":
                    return answer.fields["text"]
                seen = []
                while "end" not in seen:
                    message = peer.receive()
                    seen.append(message.name)
                    if message.name == "batch":
                        peer.release(message)
                return seen

        assert "batch" in read(ALICE) and len(objects(cache)) > 0
        assert "may not have" in read(BOB)
        for path in files(far):
            path.chmod(0o600)  # not the daemon's
        hits = daemon.status()["stage_hits_total"]
        assert "batch" not in read(ALICE)
        assert daemon.status()["stage_hits_total"] == hits
