# SPDX-License-Identifier: MIT
"""Indexes of shards on a server: many shards are looked at at a time, and what is found and said is
that of one after the other."""

import io
import re
import tarfile
import time

import pytest

from harness import wait_for
from object_server import Objects, unlucky
from test_law import digests
from test_remote import fingerprint, refusal
from test_shards import write_shard
from test_storage import files

SHARDS, EACH = 40, 5
PATTERN = f"s-{{00..{SHARDS - 1}}}.tar"


def of_class(number):
    return f"class-{number % 7}".encode()


@pytest.fixture(name="shards")
def fixture_shards(photos, tmp_path):
    """Many small shards; some members have names for which a header of their own is needed."""
    paths = files(photos)
    folder = tmp_path / "shards"
    folder.mkdir()
    for shard in range(SHARDS):
        members = []
        for number in range(shard * EACH, (shard + 1) * EACH):
            key = f"{number:04}" + ("x" * 200 if number % 11 == 0 else "")
            members += [(f"{key}.jpg", paths[number % len(paths)].read_bytes()),
                        (f"{key}.cls", of_class(number))]
        write_shard(folder / f"s-{shard:02}.tar", members)
    return folder


def until_under_way(server, count):
    """A fault function: answers are held back until so many requests wait, but for the first, which
    asks whether the pattern is a file."""
    first = server.count + 1

    def fault(number):
        deadline = time.monotonic() + 30
        while number != first and server.most_under_way < count and time.monotonic() < deadline:
            time.sleep(0.01)

    return fault


def looked_at(server, folder):
    """(first, last) of all ranges that were asked for and are no member."""
    out = []
    for path, headers in server.requests:
        if "%7B" in path or path.endswith(".idx"):  # is the pattern a file, is there a guide?
            continue
        first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", headers["range"]).groups())
        with tarfile.open(folder / path.lstrip("/")) as tar:
            if all(first != member.offset_data for member in tar):
                out.append((first, last))
    return out


def test_many_shards_at_a_time(spawn, shards):
    """The same dataset as on the disk, by requests that do not wait for each other; a server that
    misbehaves changes nothing."""
    local = spawn()
    with Objects(shards) as server:
        url = f"{server.url}/{PATTERN}"
        server.fault = until_under_way(server, SHARDS // 2)
        daemon = spawn(fetchers=16)
        assert fingerprint(daemon, url) == fingerprint(local, shards / PATTERN)
        assert server.most_under_way >= SHARDS // 2
        server.fault = unlucky(0.1)
        assert fingerprint(spawn(), url) == fingerprint(local, shards / PATTERN)
        assert digests(daemon, url, epochs=1) == digests(local, shards / PATTERN, epochs=1)


def test_few_bytes_are_read(spawn, photos, tmp_path):
    """Of large pictures nothing but what is beside their headers."""
    paths = [path for path in files(photos) if path.stat().st_size > 8 << 10][:8]
    large = {path.name: path.read_bytes() + bytes(150 << 10) for path in paths}
    write_shard(tmp_path / "a.tar", [(f"{number}.jpg", data)
                                     for number, data in enumerate(large.values())])
    size = (tmp_path / "a.tar").stat().st_size
    with Objects(tmp_path) as server:
        fingerprint(spawn(), f"{server.url}/a.tar")
        read = sum(last - first + 1 for first, last in looked_at(server, tmp_path))
    assert 8 * 512 <= read < 0.05 * size, (read, size)


def test_small_members_are_read_together(spawn, photos, tmp_path):
    """A request has many headers of members that are small."""
    picture = min(files(photos), key=lambda path: path.stat().st_size).read_bytes()
    assert len(picture) < 12 << 10
    write_shard(tmp_path / "a.tar", [(f"{number:03}.jpg", picture) for number in range(100)])
    with Objects(tmp_path) as server:
        assert fingerprint(spawn(), f"{server.url}/a.tar") == \
            fingerprint(spawn(), tmp_path / "a.tar")
        assert len(looked_at(server, tmp_path)) < 30


def test_the_first_bad_shard_is_said(spawn, shards):
    """Whichever is found first."""
    (shards / "s-07.tar").write_bytes((shards / "s-07.tar").read_bytes()[:2000])
    (shards / "s-09.tar").unlink()
    with tarfile.open(shards / "s-11.tar", "w") as tar:
        for key in "a", "b", "a":
            for ending in "jpg", "cls":
                info = tarfile.TarInfo(f"{key}.{ending}")
                info.size = 1
                tar.addfile(info, io.BytesIO(b"x"))
    with Objects(shards) as server:
        for _ in range(3):
            assert "s-07.tar" in refusal(spawn(), f"{server.url}/{PATTERN}")
        (shards / "s-07.tar").write_bytes((shards / "s-08.tar").read_bytes())
        words = refusal(spawn(), f"{server.url}/{PATTERN}")
        assert "s-09.tar" in words and "no such object" in words
        (shards / "s-09.tar").write_bytes((shards / "s-08.tar").read_bytes())
        words = refusal(spawn(), f"{server.url}/{PATTERN}")
        assert "s-11.tar" in words and "twice" in words


def test_an_index_that_is_kept(spawn, shards, tmp_path):
    """Each shard is asked for its version, many at a time, and nothing else is read; one that was
    replaced is noticed."""
    (tmp_path / "index").mkdir(mode=0o700)
    with Objects(shards) as server:
        url = f"{server.url}/{PATTERN}"
        first = fingerprint(spawn(index_dir=tmp_path / "index"), url)
        del server.requests[:]
        server.fault, server.most_under_way = until_under_way(server, SHARDS // 2), 0
        daemon = spawn(index_dir=tmp_path / "index")
        with daemon.connect() as peer:
            answer = peer.attach(url, epochs=1, inflight=0)
            assert answer.fields["dataset_fingerprint"] == first
        assert server.most_under_way >= SHARDS // 2
        assert set(looked_at(server, shards)) == {(0, 0)}
        assert len(looked_at(server, shards)) == SHARDS
        (shards / "s-30.tar").write_bytes((shards / "s-31.tar").read_bytes())
        assert fingerprint(spawn(index_dir=tmp_path / "index"), url) != first


def test_requests_are_counted(spawn, shards):
    """Those that were sent again and those that were in vain among them."""
    with Objects(shards) as server:
        daemon = spawn()
        assert daemon.status()["remote_requests_total"] == 0
        server.fault = unlucky(0.1)
        digests(daemon, f"{server.url}/{PATTERN}", epochs=1)
        seen = daemon.status()
        # libcurl itself sends one again if a connection that was kept turns out to be closed.
        assert seen["remote_requests_total"] >= 0.8 * server.count
        assert seen["remote_retries_total"] > 0
        assert seen["remote_bytes_total"] > SHARDS * EACH * 1000
        refusal(daemon, f"{server.url}/none.tar")
        assert daemon.status()["remote_failures_total"] > seen["remote_failures_total"]


def test_what_waits_for_a_server(spawn, shards, tmp_path):
    """Is said to wait for the network; and as many requests are under way as a far server needs,
    while one is used and nobody chose another number."""
    (tmp_path / "index").mkdir(mode=0o700)
    with Objects(shards) as server:
        url = f"{server.url}/{PATTERN}"
        daemon = spawn(index_dir=tmp_path / "index")
        fingerprint(daemon, url)
        wait_for(lambda: daemon.status()["fetchers"] == 2, "nothing far is open")
        server.latency = 1
        with daemon.connect() as peer:
            answer = peer.attach(url, batch_size=1, transforms=[
                {"name": "Resize", "size": [32, 40]}])
            assert answer.name == "attached", answer
            assert daemon.status()["fetchers"] == 64
            for _ in range(2):
                peer.release(peer.expect("batch"))
            reader, = daemon.list("readers")
            daemon.set("fetchers", 5)
            assert daemon.status()["fetchers"] == 5
        assert reader["limited_by"] == "network", reader
        server.latency = 0
        for chosen in 2, 3:  # 2 is what nobody has to choose
            daemon = spawn(fetchers=chosen)
            digests(daemon, url, epochs=1)
            assert daemon.status()["fetchers"] == chosen


def test_little_memory(spawn, shards):
    """Then fewer are looked at at a time, and an opening that fits in goes on fitting in."""
    with Objects(shards) as server:
        url = f"{server.url}/{PATTERN}"
        assert fingerprint(spawn(dataset_memory="1M"), url) == \
            fingerprint(spawn(), shards / PATTERN)


def guide_of(path, version):
    """The index of a tar as DALI's wds2idx writes it; before v1.2 without the names."""
    samples = {}
    with tarfile.open(path) as tar:
        for member in tar:
            key, _, component = member.name.partition(".")
            words = [component, str(member.offset_data), str(member.size)]
            samples.setdefault(key, []).extend(words + [member.name] * (version == "v1.2"))
    lines = [" ".join(words) + "\n" for words in samples.values()]
    return f"{version} {len(lines)}\n" + "".join(lines)


@pytest.fixture(name="long_shards")
def fixture_long_shards(photos, tmp_path):
    """Two shards of many members, too far from each other to be read together."""
    paths = files(photos)
    for shard in "ab":
        write_shard(tmp_path / f"{shard}.tar", [member for number in range(60) for member in (
            (f"{number}{'y' * 200 * (number % 9 == 0)}.jpg",
             paths[number % len(paths)].read_bytes() + bytes(20 << 10)),
            (f"{number}{'y' * 200 * (number % 9 == 0)}.cls", of_class(number)))])
    return tmp_path


@pytest.mark.parametrize("version", ["v1.0", "v1.1", "v1.2"])
@pytest.mark.parametrize("name", ["{a,b}.tar", "b.tar"])
def test_guides(spawn, long_shards, version, name):
    """With DALI's index beside a shard its headers are asked for many at a time; the index that is
    made is the same. Pictures are asked for one by one: they do not count."""
    expected = fingerprint(spawn(), long_shards / name)
    with Objects(long_shards, latency=0.005) as server:
        assert fingerprint(spawn(fetchers=1), f"{server.url}/{name}") == expected
        assert server.most_under_way <= 2
        without = len(server.requests)
    for shard in "ab":
        (long_shards / f"{shard}.idx").write_text(guide_of(long_shards / f"{shard}.tar", version))
    with Objects(long_shards, latency=0.005) as server:
        assert fingerprint(spawn(fetchers=1), f"{server.url}/{name}") == expected
        assert server.most_under_way >= 3
        assert len(server.requests) < without + 30


def test_wrong_guides(spawn, long_shards):
    """One that is not of its shard is not believed, and changes nothing."""
    expected = fingerprint(spawn(), long_shards / "{a,b}.tar")
    expected_of_b = fingerprint(spawn(), long_shards / "b.tar")
    right = guide_of(long_shards / "a.tar", "v1.2")
    words = right.split(" ")
    wrong = ["v1.1 1\njpg 512 99999999999\n", right.replace("v1.2", "v1.1"),
             right[:len(right) // 2],
             " ".join([words[0], words[1], str(int(words[2]) + 512), *words[3:]]), "\0" * 600]
    with Objects(long_shards) as server:
        for times, text in enumerate(wrong, 1):
            for shard in "ab":
                (long_shards / f"{shard}.idx").write_text(text)
            assert fingerprint(spawn(), f"{server.url}/{{a,b}}.tar") == expected, text[:80]
            assert [path for path, _ in server.requests].count("/a.idx") == times
        # A server that misbehaves.
        (long_shards / "b.idx").write_text(guide_of(long_shards / "b.tar", "v1.2"))
        server.fault = unlucky(0.1)
        assert fingerprint(spawn(), f"{server.url}/b.tar") == expected_of_b
        server.fault = lambda number: None
        # Of another shard, whose members lie elsewhere.
        write_shard(long_shards / "c.tar", [("0.jpg", b"x"), ("0.cls", b"1")])
        (long_shards / "a.idx").write_text(guide_of(long_shards / "c.tar", "v1.2"))
        assert fingerprint(spawn(), f"{server.url}/{{a,b}}.tar") == expected
