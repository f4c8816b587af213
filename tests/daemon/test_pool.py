# SPDX-License-Identifier: MIT
"""The threads that read and decode: large pictures beside small ones, and where they run. What is
slow is in test_fair.py and in the unit test of the pool."""

import os
import pathlib
import re
import resource
import subprocess

import pytest
from PIL import Image

import photos as made
from harness import STOKERD, WAIT_S, wait_for
from test_allocations import pytestmark as a_plain_build
from test_law import STREAM

N = 120  # samples
LARGE = (5472, 3648)  # 20 megapixels
CROP = [{"name": "RandomResizedCrop", "size": 32}]


@pytest.fixture(scope="module", name="mixed")
def fixture_mixed(tmp_path_factory):
    """Small pictures with some of 20 megapixels among them, in two classes' folders."""
    folder = tmp_path_factory.mktemp("mixed")
    small = made.picture(5, 0, made.CLASSES[0], (64, 48))
    large = small.resize(LARGE, Image.NEAREST)
    for i in range(N):
        path = folder / "ab"[i % 2] / f"{i:03}.jpg"
        path.parent.mkdir(exist_ok=True)
        (large if i in (10, 50, 51, 52) else small).save(path, quality=75)
    return folder


def digests(daemon, folder, **fields):
    with daemon.connect() as peer:
        answer = peer.attach(folder, **{**STREAM, "transforms": CROP, "epochs": 2, **fields})
        assert answer.name == "attached", answer
        return peer.digests()


def test_large_beside_small(spawn, mixed):
    """What stands in a thread's parcel or alone comes to the same samples."""
    one = digests(spawn(workers=1, fetchers=1), mixed)
    assert len(one) == 2 * N
    many = spawn(workers=5, fetchers=3)
    assert digests(many, mixed) == one
    many.settle()


def tasks(daemon):
    """{name: status of the kernel} of the daemon's threads."""
    out = {}
    for task in os.scandir(f"/proc/{daemon.process.pid}/task"):
        try:
            with open(os.path.join(task.path, "comm"), encoding="utf-8") as comm, \
                    open(os.path.join(task.path, "status"), encoding="utf-8") as status:
                out[comm.read().strip()] = (int(task.name), status.read())
        except FileNotFoundError:
            pass  # it has just ended
    return out


def processors(status):
    return re.search(r"^Cpus_allowed_list:\s+(\S+)", status, re.MULTILINE).group(1)


@a_plain_build
def test_threads_that_cannot_be_had(daemon, photos):
    """A setting that is refused is as if nobody had asked."""
    before, pid = daemon.usage(), daemon.process.pid
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[0])
    room = pages * os.sysconf("SC_PAGESIZE") + (64 << 20)  # for the stacks of a few
    resource.prlimit(pid, resource.RLIMIT_AS, (room, resource.RLIM_INFINITY))
    for name in ("workers", "fetchers"):
        answer = daemon.set(name, 900)
        assert answer.name == "error" and "that many threads" in answer.fields["text"]
        wait_for(lambda: daemon.usage().threads == before.threads, "the few that began end")
    assert daemon.status()["workers"] == 2 and daemon.status()["fetchers"] == 2
    resource.prlimit(pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with daemon.connect() as peer:
        assert peer.attach(photos, **STREAM).name == "attached"
        assert len(list(peer.samples(keep=()))) == 60


def test_where_threads_run(spawn, photos):
    """--cpus is for the threads of the pool, also for those that come later, --nice for workers.
    The thread that gets pages has the workers' niceness: it locks the mappings of all."""
    one = min(os.sched_getaffinity(0))
    nice = min(19, os.getpriority(os.PRIO_PROCESS, 0) + 7)  # without rights only ever more
    daemon = spawn(workers=2, fetchers=1, cpus=f"{one},{one}-{one}", nice=nice, cache_memory="64M")
    assert len(digests(daemon, photos, epochs=1)) == 60
    assert daemon.set("workers", 3).name == "ok"

    def settled():
        seen = tasks(daemon)
        pool = [name for name in seen if name.startswith(("work-", "fetch-"))]
        return len(pool) == 4 and all(processors(seen[name][1]) == str(one) for name in pool)

    wait_for(settled, lambda: f"on processor {one}: {tasks(daemon)}")
    wait_for(lambda: "pages" in tasks(daemon), "pictures were kept")
    for name, (task, _) in tasks(daemon).items():
        if name.startswith(("work-", "pages")):
            assert os.getpriority(os.PRIO_PROCESS, task) == nice
        elif name == "stokerd":
            assert os.sched_getaffinity(task) == os.sched_getaffinity(0)


def test_a_wrong_processor():
    """The words name the entry."""
    some = min(os.sched_getaffinity(0))
    done = subprocess.run([str(STOKERD), f"--cpus={some},262143"], capture_output=True, text=True,
                          timeout=WAIT_S, check=False)
    assert done.returncode == 64, done
    assert "--cpus: '262143': processor 262143 does not exist" in done.stderr
