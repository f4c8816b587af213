# SPDX-License-Identifier: MIT
"""Objects kept on disk (cache-dir): each byte is fetched once, for all streams, trainers and runs,
within the budget, and whatever happens to the files, no sample has other bytes."""

import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import tempfile

import pytest

from harness import wait_for
from object_server import Objects, unlucky
from test_law import STREAM, digests
from test_remote import PATTERN, fixture_reference, fixture_shards  # noqa: F401 (fixtures)
from test_storage import files
from users import ALICE, BOB, SERVER, connect, needs_root, servers

BLOCK = 4096
KILLS = int(os.environ.get("STOKER_KILLS", "5"))  # more by hand
LARGE = {"cache_size": "1G", "cache_free": "0"}


def asked(server, since=0):
    """How many bytes the server was asked for, but for single ones, which ask for a version."""
    total = 0
    for _, headers in server.requests[since:]:
        first, last = re.fullmatch(r"bytes=(\d+)-(\d+)", headers.get("range", "bytes=0-0")).groups()
        total += int(last) - int(first) + 1 if last != first else 0
    return total


def ranges(server, since=0):
    """{path: (first, last) of all ranges that were asked for, but for single bytes}: no byte of an
    object twice."""
    out = {}
    for path, headers in server.requests[since:]:
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", headers.get("range", ""))
        if found and found[1] != found[2]:
            out.setdefault(path, []).append((int(found[1]), int(found[2])))
    for spans in out.values():
        spans.sort()
        assert all(a[1] < b[0] for a, b in itertools.pairwise(spans)), spans
    return out


def objects(cache):
    """The files that are kept."""
    return sorted(path for path in (cache / "objects").glob("*/*/*") if path.is_file())


def taken(cache):
    """Bytes that the files take, each in whole blocks."""
    return sum(-(-path.stat().st_size // BLOCK) * BLOCK for path in objects(cache))


def test_each_byte_once(spawn, shards, reference, tmp_path):
    """Not in the second epoch, nor for a second trainer or stream, nor after a restart."""
    pictures = len(reference) // 2
    with Objects(shards) as server:
        url = f"{server.url}/{PATTERN}"
        daemon = spawn(cache_dir=tmp_path / "c", index_dir=tmp_path / "i", fetchers=8, **LARGE)
        assert digests(daemon, url) == reference
        values = daemon.status()
        assert values["stage_objects"] == pictures == len(objects(tmp_path / "c"))
        assert values["stage_bytes"] == taken(tmp_path / "c")
        assert values["stage_hits_total"] == pictures  # the second epoch
        assert values["stage_fetched_bytes_total"] == values["stage_hit_bytes_total"]
        since = len(server.requests)
        assert digests(daemon, url) == reference
        digests(daemon, url, order_seed=99)
        assert asked(server, since) == 0
        daemon.terminate()
        daemon.spawn()
        assert digests(daemon, url) == reference
        assert asked(server, since) == daemon.status()["stage_fetched_bytes_total"] == 0
    names = "".join(str(path.relative_to(tmp_path)) for path in objects(tmp_path / "c"))
    name = r"c/objects/[0-9a-f]{16}/[0-9a-f]{2}/[0-9a-f]{32}\.[0-9a-f]{16}\.[0-9a-f]+"
    assert re.fullmatch(f"({name})+", names)


def test_the_hit_rate_of_a_stream(spawn, shards, reference, tmp_path):
    """The first epoch is fetched, the second and another stream's find it; a local one has none."""
    pictures = len(reference) // 2
    with Objects(shards) as server:
        url = f"{server.url}/{PATTERN}"
        daemon = spawn(cache_dir=tmp_path / "c", index_dir=tmp_path / "i", fetchers=4, **LARGE)

        def read(path, **fields):
            with daemon.connect() as peer:
                assert peer.attach(path, **{**STREAM, "epochs": 2, **fields}).name == "attached"
                peer.digests()
                row, = json.loads(daemon.ctl("streams", "--json").stdout)["streams"]
                text = daemon.ctl("streams").stdout
                metrics = daemon.ctl("metrics").stdout
            daemon.settle()
            return row, text, metrics

        row, text, metrics = read(url)
        assert (row["stage_hits"], row["stage_misses"]) == (pictures, pictures)
        assert row["stage_hit_rate"] == 0.5 and "STAGED" in text and "50.0 %" in text
        for name in "hits", "misses":
            assert re.search(rf"stoker_stream_stage_{name}_total{{.*}} {pictures}\n", metrics)
        row, text, _ = read(url, order_seed=99)
        assert (row["stage_hits"], row["stage_misses"]) == (2 * pictures, 0) and "100.0 %" in text
        row, text, _ = read(str(shards / PATTERN))
        assert "stage_hit_rate" not in row and "STAGED" not in text


def test_trainers_at_once(spawn, shards, reference, tmp_path):
    """Three trainers of orders of their own: who comes second waits for the bytes of the first."""
    with Objects(shards, latency=0.01) as server:
        url = f"{server.url}/{PATTERN}"
        daemon = spawn(cache_dir=tmp_path / "c", index_dir=tmp_path / "i", fetchers=16, **LARGE)
        digests(daemon, url, epochs=1)
        with daemon.connect(control=True) as peer:
            assert peer.request("drop", id=0).name == "ok"
        wait_for(lambda: not objects(tmp_path / "c"), "all dropped")
        assert daemon.status()["stage_objects"] == 0
        since, before = len(server.requests), daemon.status()["stage_fetched_bytes_total"]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            made = list(pool.map(lambda seed: digests(daemon, url, order_seed=seed), (7, 8, 9)))
        assert made[0] == reference and made[0].keys() == made[1].keys() == made[2].keys()
        fetched = daemon.status()["stage_fetched_bytes_total"] - before
        assert fetched == before and ranges(server, since)
        assert daemon.status()["stage_objects"] == len(reference) // 2


def test_a_folder_in_s3(spawn, photos, reference, tmp_path):
    """Whole objects; after a restart the server is asked for each version, once."""
    with Objects(photos.parent, bucket="pictures") as server:
        daemon = spawn(environment=server.environment(), cache_dir=tmp_path, fetchers=8, **LARGE)
        url = f"s3://pictures/{photos.name}"
        assert digests(daemon, url) == reference
        daemon.terminate()
        daemon.spawn()
        assert digests(daemon, url) == reference
        assert daemon.status()["stage_fetched_bytes_total"] == 0
        kept = b"".join(path.read_bytes()[:96] for path in objects(tmp_path))
        assert b"sesame" not in kept and b"pictures" not in kept


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_a_budget(spawn, shards, reference, tmp_path, share):
    """Kept at all times, also when it is lowered, and by another daemon; one stream's epochs find
    what the first one kept."""
    pictures = len(reference) // 2
    with Objects(shards) as server:
        url = f"{server.url}/{PATTERN}"
        daemon = spawn(cache_dir=tmp_path, fetchers=4, **LARGE)
        assert digests(daemon, url) == reference
        everything = taken(tmp_path)
        budget = int(everything * share)
        daemon.terminate()
        daemon.options["cache_size"] = budget
        daemon.spawn()
        assert taken(tmp_path) <= budget
        assert digests(daemon, url) == reference
        values = daemon.status()
        assert values["stage_bytes"] == taken(tmp_path) <= budget
        # A picture takes a block or two: of the room of one there may be nothing to put there, nor
        # of that of the four which are being fetched.
        assert values["stage_hits_total"] >= 2 * (pictures * share - 2) - 4
        with daemon.connect(control=True) as peer:
            assert peer.request("set", name="cache-size", value="0").name == "ok"
        wait_for(lambda: not objects(tmp_path), "all given back")
        assert digests(daemon, url) == reference
        assert not objects(tmp_path)


def test_damaged_files(spawn, shards, reference, tmp_path):
    """A byte that is wrong, a file that is cut, gone, or another one: fetched again, never served;
    what is no item is removed."""
    with Objects(shards) as server:
        url = f"{server.url}/{PATTERN}"
        daemon = spawn(cache_dir=tmp_path, **LARGE)
        assert digests(daemon, url) == reference
        daemon.terminate()
        kept = objects(tmp_path)
        whole = {path: path.read_bytes() for path in kept}
        for number, path in enumerate(kept):
            data = bytearray(whole[path])
            data[(number * 7919) % len(data)] ^= 0x10
            if number % 4 == 0:
                data = data[:len(data) // 2]
            elif number % 4 == 1:
                data = whole[kept[number - 1]]
            path.write_bytes(data)
        (kept[0].parent / "17.new").write_bytes(b"x" * 5000)
        (kept[0].parent / "odd").write_bytes(b"x")
        (tmp_path / "objects" / "odd").write_bytes(b"x")
        daemon.spawn()
        assert not {path.name for path in objects(tmp_path)} & {"17.new", "odd"}
        kept[2].unlink()
        assert digests(daemon, url) == reference
        values = daemon.status()
        assert values["stage_damaged_total"] == len(kept) - 1
        assert values["stage_bytes"] == taken(tmp_path)
        assert {path: path.read_bytes() for path in objects(tmp_path)} == whole


def test_an_object_that_changed(spawn, photos, tmp_path):
    """Other bytes under the same name are another entry, for whoever opens the dataset next."""
    folder, paths = tmp_path / "data" / "a", files(photos)
    folder.mkdir(parents=True)
    for number in range(8):
        (folder / f"{number}.jpg").write_bytes(paths[number].read_bytes())
    with Objects(tmp_path / "data", bucket="b") as server:
        daemon = spawn(environment=server.environment(), cache_dir=tmp_path / "c", **LARGE)
        before = digests(daemon, "s3://b/", epochs=1)
        assert len(objects(tmp_path / "c")) == 8
        daemon.terminate()
        (folder / "3.jpg").write_bytes(paths[20].read_bytes())
        daemon.spawn()
        after = digests(daemon, "s3://b/", epochs=1)
        assert sum(before[at] != after[at] for at in before) == 1
        assert after == digests(daemon, tmp_path / "data", epochs=1)
        assert daemon.status()["stage_fetched_bytes_total"] == paths[20].stat().st_size


def test_kill(spawn, shards, reference, tmp_path):
    """At any moment while it fetches: the next daemon finds whole files, within the budget."""
    with Objects(shards) as server:
        url = f"{server.url}/{PATTERN}"
        budget = 40 * BLOCK
        daemon = spawn(cache_dir=tmp_path, fetchers=8, cache_size=budget, cache_free="0")
        for kills in range(KILLS):
            with daemon.connect() as peer:
                peer.attach(url, batch_size=1, epochs=9, inflight=1)
                for _ in range(3 + 10 * kills % 97):
                    peer.release(peer.expect("batch"))
                daemon.terminate(signal.SIGKILL, -9)
            daemon.spawn()
            assert not list((tmp_path / "objects").glob("*/*/*.new"))
            assert taken(tmp_path) <= budget
        assert digests(daemon, url) == reference
        assert daemon.status()["stage_damaged_total"] == 0


def test_a_full_disk(spawn, shards, reference, tmp_path):
    """It goes on without, and says so once; so does what has to stay free."""
    with Objects(shards) as server:
        url = f"{server.url}/{PATTERN}"
        daemon = spawn(cache_dir=tmp_path / "c", cache_size="1G", cache_free="1000T")
        assert digests(daemon, url) == reference
        assert not objects(tmp_path / "c") and daemon.status()["stage_bytes"] == 0
        wait_for(lambda: "could not be kept on disk: No space left" in daemon.log(), "words of it")
        assert daemon.log().count("could not be kept") == 1


@needs_root
def test_a_disk_that_fills_up(spawn, shards, reference, tmp_path):
    """A file system of 200 KB."""
    with Objects(shards) as server:
        launcher = ["unshare", "-m", "sh", "-c",
                    f'mount -t tmpfs -o size=200k tmpfs {tmp_path} && exec "$@"', "sh"]
        daemon = spawn(launcher=launcher, cache_dir=tmp_path / "c", **LARGE)
        assert digests(daemon, f"{server.url}/{PATTERN}") == reference
        values = daemon.status()
        assert values["stage_failed_total"] > 0 and values["stage_bytes"] <= 200 << 10
        wait_for(lambda: "No space left" in daemon.log(), "words of it")


@needs_root
def test_rights_of_a_hit(photos):
    """Who may not have an object read does not get it from the disk, either; nor do others than
    the daemon's user read the files."""
    def ask_attach(uid, path):
        with connect(daemon, uid) as peer:
            answer = peer.attach("", dataset={"path": path}, epochs=1)
            return answer.name if answer.name != "error" else answer.fields["text"]

    with Objects(photos.parent, bucket="b") as server, servers() as serve, \
            tempfile.TemporaryDirectory() as home:
        os.chown(home, SERVER, SERVER)
        cache, url = pathlib.Path(home) / "c", f"s3://b/{photos.name}"
        daemon = serve(environment=server.environment(), cache_dir=cache,
                       dataset_root=f"{url}:@{ALICE}", **LARGE)
        with connect(daemon, ALICE) as peer:
            peer.attach(url, batch_size=1, epochs=1)
            peer.digests()
        assert daemon.status()["stage_objects"] > 0
        assert ask_attach(ALICE, url) == "attached" and "may not have" in ask_attach(BOB, url)
        server.key_id = "somebody else"
        daemon.terminate()
        daemon.spawn()
        assert "no right" in ask_attach(ALICE, url)
        assert (cache / "objects").stat().st_mode & 0o77 == 0


ORDERS = {"as they lie": {"shuffle": False}, "by shards": {"order": "shards", "window": 20}}


@pytest.fixture(name="indexed", params=ORDERS, ids=str.split)
def fixture_indexed(request, spawn, shards, tmp_path):
    """(server, daemon, URL, fields of ATTACH): the daemon has the index, and has read no sample."""
    with Objects(shards, latency=0.02) as server:
        url = f"{server.url}/{PATTERN}"
        daemon = spawn(cache_dir=tmp_path / "c", fetchers=8, **LARGE)
        with daemon.connect() as peer:
            assert peer.attach(url, epochs=1, inflight=0).name == "attached"
            server.earlier = asked(server)  # the index, and what workers began with
            del server.requests[:]
            yield server, daemon, url, {**ORDERS[request.param], "epochs": 1}


def test_neighbours_come_together(spawn, indexed, shards):
    """One request has several members that are read soon, and no byte is fetched twice, by three
    trainers at once."""
    server, daemon, url, fields = indexed
    local = digests(spawn(), shards / PATTERN, **fields)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = list(pool.map(lambda _: digests(daemon, url, **fields), range(3)))
    assert made == [local] * 3
    assert 3 * sum(map(len, ranges(server).values())) <= len(local)
    values = daemon.status()
    assert values["stage_objects"] == len(local)
    assert values["stage_fetched_bytes_total"] <= server.earlier + asked(server)


def test_neighbours_that_fail(spawn, indexed, shards):
    """A request for several that fails is sent again, and nothing is lost."""
    server, daemon, url, fields = indexed
    server.fault = unlucky(0.1)
    assert digests(daemon, url, **fields) == digests(spawn(), shards / PATTERN, **fields)


@needs_root
def test_pins(photos):
    """What one user's dataset has is pinned: another's takes nothing of it, also after a restart;
    what is not kept, too large or no dataset is refused in words."""
    def read(uid, url):
        with connect(daemon, uid) as peer:
            assert peer.attach(url, batch_size=1, epochs=1).name == "attached"
            peer.digests()
            rows = json.loads(daemon.ctl("cache", "--json").stdout)["cache"]
            said = daemon.ctl("cache", *command(rows[0]["dataset"]), check=False)
            row, = json.loads(daemon.ctl("cache", "--json").stdout)["cache"]
        daemon.settle()
        return row, said

    def refused(*words):
        done = daemon.ctl("cache", *words, check=False)
        assert done.returncode
        return done.stderr

    with Objects(photos.parent, bucket="b") as server, servers() as serve, \
            tempfile.TemporaryDirectory() as home:
        os.chown(home, SERVER, SERVER)
        other = photos.parent / "others"
        cache, url = pathlib.Path(home) / "c", f"s3://b/{photos.name}"
        shutil.copytree(photos, other, dirs_exist_ok=True)
        daemon = serve(environment=server.environment(), cache_dir=cache,
                       dataset_root="s3://b", **LARGE)
        command = lambda number: ("pin", number)  # noqa: E731
        row, said = read(ALICE, url)
        assert said.returncode == 0 and row["object_pinned"] == row["object_bytes"] > 0
        pinned = row["object_bytes"]
        mine = objects(cache)
        daemon.terminate()
        daemon.options["cache_size"] = 2 * pinned - BLOCK
        daemon.spawn()
        assert daemon.status()["stage_pinned"] == pinned
        row, said = read(BOB, f"s3://b/{other.name}")
        assert "cache-size" in said.stderr and row["object_pinned"] == 0
        assert [path for path in mine if not path.exists()] == []
        assert taken(cache) <= 2 * pinned - BLOCK
        assert "no dataset with this number" in refused("pin", 999)
        assert "one dataset at a time" in refused("pin", 0)
        assert "is no number" in refused("pin", "x")
        assert "only warm, pin or unpin" in refused("keep", 1)
        command = lambda number: ("unpin", number)  # noqa: E731
        row, said = read(ALICE, url)
        assert said.returncode == 0 and row["object_pinned"] == 0
        assert daemon.status()["stage_pinned"] == 0
        daemon.terminate()
        copy = pathlib.Path(home) / "local"
        shutil.copytree(photos, copy)
        for path in (copy, *copy.rglob("*")):
            os.chown(path, SERVER, SERVER)
        daemon.options["dataset_root"] = str(copy)
        daemon.spawn()
        row, said = read(ALICE, str(copy))
        assert "nothing of it is kept" in said.stderr
