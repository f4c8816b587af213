# SPDX-License-Identifier: MIT
"""Packed tars: unpacked once, below cache-dir, for all streams and runs; the same samples, dataset
and token as of plain ones, whatever becomes of what is kept; bounded, and each user's own right."""

import bz2
import gzip
import lzma
import os
import shutil
import signal
import struct
import subprocess
import zlib
from contextlib import suppress

import pytest

from harness import STOKERD, wait_for
from object_server import Objects, unlucky
from test_law import STREAM, digests
from test_remote import (PATTERN, fingerprint, fixture_reference,  # noqa: F401 (fixtures)
                         fixture_shards)
from test_staging import LARGE, asked, objects, taken
from users import (ALICE, BOB, CAROL, SERVER, TEAM, connect, fixture_home,  # noqa: F401
                   fixture_serve, give, needs_root, give_to)

GZIP = PATTERN + ".gz"
HEADS = 4 * 5  # bytes of four shards that each opening reads


def filtered(*tool):
    if not shutil.which(tool[0]):
        return None
    return lambda data: subprocess.run(tool, input=data, stdout=subprocess.PIPE, check=True).stdout


HAS_XZ = b"built without liblzma" not in STOKERD.read_bytes()
PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress if HAS_XZ else None,
        ".zst": filtered("zstd", "-qc"), ".lz4": filtered("lz4", "-qc")}
ENDINGS = [pytest.param(ending, marks=pytest.mark.skipif(not pack, reason="no tool packs it, "
                                                            "or this stokerd has no liblzma"))
           for ending, pack in PACK.items()]


@pytest.fixture(name="packed", scope="module")
def fixture_packed(shards, tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    for path in sorted(shards.glob("*.tar")):
        (folder / (path.name + ".gz")).write_bytes(gzip.compress(path.read_bytes()))
    return folder


def unpackings(daemon):
    """Bytes that were written again."""
    return daemon.status()["stage_fetched_bytes_total"]


def held(daemon, path):
    """A reader that has it open. It reads nothing, so it is of another stream than the others':
    those would wait for it."""
    peer = daemon.connect()
    assert peer.attach(path, **{**STREAM, "order_seed": 5}).name == "attached"
    return peer


def files(cache):
    """Which files these are: a piece that went and was unpacked again is another."""
    found = set()
    for path in objects(cache):
        with suppress(FileNotFoundError):
            stat = path.stat()
            found.add((path, stat.st_ino, stat.st_mtime_ns))
    return found


def forget_all(daemon, cache):
    assert daemon.set("cache-size", 0).name == "ok"
    wait_for(lambda: not objects(cache), "all given back")


def test_once(spawn, shards, packed, reference, tmp_path):
    """Also after a restart; a token of the plain tars goes on with the packed ones."""
    daemon = spawn(cache_dir=tmp_path, fetchers=4, **LARGE)
    with daemon.connect() as peer:
        plain = peer.attach(shards / PATTERN, **STREAM)
    assert digests(daemon, packed / GZIP) == reference
    size = sum(path.stat().st_size for path in shards.glob("*.tar"))
    assert size <= unpackings(daemon) < size + 100
    with daemon.connect() as peer:
        assert peer.attach(packed / GZIP, **STREAM).fields["dataset_fingerprint"] == \
            plain.fields["dataset_fingerprint"]
    assert daemon.status()["stage_bytes"] == taken(tmp_path)
    daemon.terminate()
    daemon.spawn()
    assert digests(daemon, packed / GZIP) == reference
    assert unpackings(daemon) == 0


def test_from_a_server(spawn, packed, reference, tmp_path):
    """Fetched whole, once; who opens it again shows that it may read it."""
    size = sum(path.stat().st_size for path in packed.glob("*.gz"))
    with Objects(packed) as server:
        daemon = spawn(cache_dir=tmp_path, fetchers=4, **LARGE)
        assert digests(daemon, f"{server.url}/{GZIP}") == reference
        assert size <= asked(server) <= size + HEADS
        daemon.terminate()
        daemon.spawn()
        since = len(server.requests)
        assert digests(daemon, f"{server.url}/{GZIP}") == reference
        assert 0 < asked(server, since) <= HEADS


def test_from_s3(spawn, shards, packed, reference, tmp_path):
    """Signed, from a server that fails now and then, by braces and by a glob; and again for each
    read, where nothing is kept."""
    with Objects(packed, bucket="b") as server:
        server.key_id, server.fault = "AKIDTEST", unlucky(0.1)
        daemon = spawn(environment=server.environment(), cache_dir=tmp_path, fetchers=4, **LARGE)
        url = f"s3://b/{GZIP}"
        assert digests(daemon, url) == reference
        assert unpackings(daemon) < 100 + sum(path.stat().st_size for path in shards.glob("*.tar"))
        assert fingerprint(daemon, "s3://b/*.tar.gz") == fingerprint(daemon, shards / PATTERN)
        with held(daemon, url):
            forget_all(daemon, tmp_path)
            assert digests(daemon, url) == reference


@pytest.mark.parametrize("endings", [("", ".bz2", ".zst", ".lz4"), (".bz2", ".xz", ".xz", ".gz")],
                         ids=["some", "others"])
def test_other_packings(spawn, shards, reference, tmp_path, endings):
    """A list of several kinds of packing, a plain tar among them; .tgz and .txz are names, too."""
    folder, names = tmp_path / "data", []
    folder.mkdir()
    for path, ending in zip(sorted(shards.glob("*.tar")), endings):
        name, pack = path.name + ending, PACK.get(ending)
        if len(names) > 1:
            name = name.replace(".tar.gz", ".tgz").replace(".tar.xz", ".txz")
        names.append(name if pack else path.name)
        (folder / names[-1]).write_bytes((pack or bytes)(path.read_bytes()))
    daemon = spawn(cache_dir=tmp_path / "c", **LARGE)
    url = f"{folder}/{{{','.join(names)}}}"
    assert digests(daemon, url) == reference
    assert fingerprint(daemon, url) == fingerprint(daemon, shards / PATTERN)
    with held(daemon, url):
        forget_all(daemon, tmp_path / "c")
        assert digests(daemon, url) == reference


def test_what_is_kept_goes(spawn, packed, reference, tmp_path):
    """Dropped, damaged or deleted under a stream: unpacked again, and no byte is wrong."""
    daemon = spawn(cache_dir=tmp_path, fetchers=4, **LARGE)
    with held(daemon, packed / GZIP):
        for number, path in enumerate(objects(tmp_path)):
            if number % 2:
                path.unlink()
            else:
                data = bytearray(path.read_bytes())
                data[len(data) // 2] ^= 1
                path.write_bytes(data)
        assert digests(daemon, packed / GZIP) == reference
        before = files(tmp_path)  # the reader that is held may still fill its ring
        assert before
        with daemon.connect(control=True) as control:
            assert control.request("drop", id=0).name == "ok"
        wait_for(lambda: not before & files(tmp_path), "all dropped")
        assert digests(daemon, packed / GZIP) == reference
        forget_all(daemon, tmp_path)
        assert digests(daemon, packed / GZIP) == reference
        assert not objects(tmp_path)


def test_one_at_a_time(spawn, packed, reference, tmp_path):
    """Where nothing is kept each read unpacks a shard, but of a dataset one thread at a time: so
    much memory is charged as long as it is open, by what the packing may take."""
    mib = 1 << 20
    with Objects(packed, latency=0.005) as server:
        daemon, url = spawn(cache_dir=tmp_path / "c", fetchers=8, **LARGE), f"{server.url}/{GZIP}"
        with held(daemon, url):
            dataset, = daemon.list("datasets")
            assert 5 * mib < dataset["index_bytes"] < 6 * mib
            forget_all(daemon, tmp_path / "c")
            server.most_under_way = 0
            since = len(server.requests)
            assert digests(daemon, url, epochs=1) == {
                key: value for key, value in reference.items() if key < (1, 0)}
            assert server.most_under_way == 1 and len(server.requests) - since >= 60
    daemon.settle()


# -- kills ---------------------------------------------------------------------------------------


def test_a_killed_daemon(spawn, packed, reference, tmp_path):
    """In mid-epoch: the token of the last batch goes on behind it, and nothing is unpacked then."""
    daemon = spawn(cache_dir=tmp_path, **LARGE)
    with daemon.connect() as peer:
        assert peer.attach(packed / GZIP, **STREAM, epochs=2, batch_size=7).name == "attached"
        for _ in range(5):
            batch = peer.expect("batch")
            token = batch.fields["next_epoch"], batch.fields["next_position"]
            peer.release(batch)
        daemon.terminate(signal.SIGKILL, -9)
    daemon.spawn()
    rest = digests(daemon, packed / GZIP, epoch=token[0], position=token[1])
    assert rest == {key: value for key, value in reference.items() if key >= token == (0, 35)}
    assert unpackings(daemon) == 0


def test_a_daemon_killed_while_it_unpacks(spawn, packed, reference, tmp_path):
    """Whole files stay, which the next one finds or replaces."""
    with Objects(packed, latency=0.1) as server:
        daemon = spawn(cache_dir=tmp_path, fetchers=4, **LARGE)
        with daemon.connect() as peer:
            peer.send("attach", seq=9, dataset={"path": f"{server.url}/{GZIP}"}, batch_size=4,
                      accept_fd=True)
            wait_for(lambda: objects(tmp_path), "a piece is there")
            daemon.terminate(signal.SIGKILL, -9)
        daemon.spawn()
        assert not list((tmp_path / "objects").glob("*/*/*.new"))
        assert digests(daemon, f"{server.url}/{GZIP}") == reference
        assert daemon.status()["stage_bytes"] == taken(tmp_path)


# -- what is refused, and leaves nothing ---------------------------------------------------------


def refusal(daemon, path):
    with daemon.connect() as peer:
        answer = peer.attach("", **{**STREAM, "dataset": {"path": str(path), "kind": "tar"}})
        assert answer.name == "error", answer
        return answer.fields["text"]


@pytest.fixture(name="refused")
def fixture_refused(spawn, tmp_path):
    """A function: what a shard of these bytes is refused with. Nothing of it stays, and the next
    dataset is none the worse."""
    daemon = spawn(cache_dir=tmp_path / "c", cache_size="8M", cache_free="0")

    def refused(ending, data):
        path = tmp_path / f"one.tar{ending}"
        path.write_bytes(data)
        text = refusal(daemon, path)
        assert "one.tar" in text and "\n" not in text
        assert not objects(tmp_path / "c") and daemon.status()["stage_bytes"] == 0
        return text

    yield refused
    daemon.settle()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_damaged_shard(refused, shards, ending):
    """Cut, changed in the middle, followed by something else; more than there is room for; and
    empty in each way that there is."""
    whole = (shards / "train-000.tar").read_bytes()
    data = PACK[ending](whole)
    for cut in len(data) // 2, len(data) - 1, 6:
        assert "one.tar" in refused(ending, data[:cut])
    changed = bytearray(data)
    changed[len(data) // 2] ^= 0x55
    assert "the packed shard" in refused(ending, bytes(changed))
    assert "the packed shard" in refused(ending, data + b"what is this?")
    assert "no room to unpack it" in refused(ending, PACK[ending](bytes(64 << 20)))
    assert "it is empty" in refused(ending, PACK[ending](b""))
    for empty in b"", PACK[ending](bytes(10240)):
        assert "has no samples" in refused(ending, empty)


def test_a_changed_byte_that_unpacks(refused, shards):
    """Stored as it is, so that only the checksum tells."""
    data = bytearray(gzip.compress((shards / "train-000.tar").read_bytes(), 0))
    data[len(data) // 2] ^= 1
    assert "incorrect data check" in refused(".gz", bytes(data))


def xz_with_dictionary(data, code):
    """As xz writes it, but for the dictionary that the block's head says: 2^26 bytes of code 28."""
    out = bytearray(lzma.compress(data, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}]))
    assert out[12:16] == b"\x02\0\x21\x01"  # size, flags, LZMA2, of one byte
    out[16] = code
    out[20:24] = struct.pack("<I", zlib.crc32(out[12:20]))
    return bytes(out)


@pytest.mark.skipif(not HAS_XZ, reason="this stokerd has no liblzma")
def test_memory_of_xz(refused, spawn, shards, tmp_path):
    """A dictionary of 64 MiB, as of xz -9, is the most that is had; also of a later block."""
    whole = (shards / "train-000.tar").read_bytes()
    for first, second in (29, 10), (10, 29), (40, 40):
        text = refused(".xz", xz_with_dictionary(whole[:5120], first) +
                       xz_with_dictionary(whole[5120:], second))
        assert "MiB of memory" in text and "72 MiB are allowed" in text
    (tmp_path / "two.tar.xz").write_bytes(xz_with_dictionary(whole, 28))
    daemon = spawn(cache_dir=tmp_path / "d", **LARGE)
    assert digests(daemon, tmp_path / "two.tar.x?") == digests(daemon, shards / "train-000.tar")


def test_an_object_that_changes_while_it_is_unpacked(spawn, tmp_path):
    """Between the two requests that it takes."""
    (tmp_path / "data").mkdir()
    path = tmp_path / "data/one.tar.gz"
    path.write_bytes(gzip.compress(os.urandom(6 << 20), 1))

    def change(_number):
        if server.requests[-1][1].get("range", "").startswith(f"bytes={4 << 20}-"):
            path.write_bytes(gzip.compress(os.urandom(6 << 20), 1))

    with Objects(tmp_path / "data") as server:
        server.fault = change
        daemon = spawn(cache_dir=tmp_path / "c", **LARGE)
        assert "it was changed while it was read" in refusal(daemon, f"{server.url}/one.tar.gz")
        assert not objects(tmp_path / "c")


def test_a_shard_among_others(spawn, packed, reference, tmp_path):
    """Those before it stay: once it is mended they are there."""
    shutil.copytree(packed, tmp_path / "data")
    bad = tmp_path / "data/train-002.tar.gz"
    whole = bad.read_bytes()
    bad.write_bytes(whole[:-1])
    daemon = spawn(cache_dir=tmp_path / "c", **LARGE)
    assert "train-002.tar.gz" in refusal(daemon, tmp_path / "data" / GZIP)
    before = unpackings(daemon)
    bad.write_bytes(whole)
    assert digests(daemon, tmp_path / "data" / GZIP) == reference
    size = sum(len(gzip.decompress((packed / f"train-{number:03}.tar.gz").read_bytes()))
               for number in (2, 3))
    assert size <= unpackings(daemon) - before < size + 100


def test_without_a_folder(spawn, packed, tmp_path):
    """Without cache-dir; by a name that says nothing of tar."""
    assert "packed with gzip" in refusal(spawn(), packed / GZIP)
    daemon = spawn(cache_dir=tmp_path / "c", **LARGE)
    with daemon.connect() as peer:
        answer = peer.attach(packed / "train-000.tar.gz", **STREAM)
        assert "give kind = tar" in answer.fields["text"]


def test_a_packed_shard_that_changes(spawn, packed, shards, reference, tmp_path):
    """Another version is another shard: an error under the stream, and unpacked for the next."""
    folder = tmp_path / "data"
    shutil.copytree(packed, folder)
    daemon = spawn(cache_dir=tmp_path / "c", **LARGE)
    assert digests(daemon, folder / GZIP) == reference
    before = unpackings(daemon)
    path = folder / "train-001.tar.gz"
    path.write_bytes(gzip.compress((shards / "train-001.tar").read_bytes(), 1))
    os.utime(path)
    assert digests(daemon, folder / GZIP) == reference
    assert unpackings(daemon) > before


# -- users ---------------------------------------------------------------------------------------


def stage_of(home):
    cache = home / "c"
    cache.mkdir()
    os.chown(cache, SERVER, SERVER)
    return cache


@needs_root
def test_two_users(serve, home, packed, reference):
    """Each shows that it may read the shards: what was unpacked for one is there for the other,
    and for nobody else, whatever path somebody says."""
    mine, his = home / "mine", home / "his"
    shutil.copytree(packed, mine)
    shutil.copytree(packed, his)
    give_to(mine, SERVER, 0o750, TEAM)
    mine.chmod(0o755)  # Bob can open the folder, not what lies in it
    give_to(his, SERVER, 0o755)
    want = sorted(value for key, value in reference.items() if key < (1, 0))
    cache = stage_of(home)
    daemon = serve(cache_dir=cache, **LARGE)
    dataset = {"path": str(mine / GZIP), "path_fd": 0, "root_fd": 1, "kind": "tar"}
    assert give(daemon, ALICE, dataset, mine, mine, groups=[TEAM]) == want
    hers = unpackings(daemon)
    assert give(daemon, CAROL, dataset, mine, mine, groups=[TEAM]) == want
    assert unpackings(daemon) == hers
    name, text = give(daemon, BOB, dataset, mine, mine)
    assert name == "dataset" and "Permission denied" in text
    assert give(daemon, BOB, dataset, his, his) == want  # his own, which he calls hers
    assert unpackings(daemon) == 2 * hers
    assert len({path.parents[1] for path in objects(cache)}) == 2  # nor is it hers on the disk
    daemon.settle()


@needs_root
def test_two_users_of_s3(serve, home, packed):
    """One by a rule, one by credentials of its own; without either nothing is given."""
    def ask_attach(uid, secret=None):
        with connect(daemon, uid) as peer:
            if secret:
                peer.request("credentials", url="s3://b", key="AKIDBOB", secret=secret)
            answer = peer.attach("", dataset={"path": f"s3://b/{GZIP}"}, epochs=1)
            return answer.name if answer.name != "error" else answer.fields["text"]

    with Objects(packed, bucket="b") as server:
        server.accounts = {"AKIDTEST": "open/sesame+12", "AKIDBOB": "bob/secret+2"}
        daemon = serve(environment=server.environment(), cache_dir=stage_of(home),
                       dataset_root=f"s3://b:@{ALICE}", **LARGE)
        assert ask_attach(ALICE) == "attached"
        daemon.settle()
        hers, since = unpackings(daemon), len(server.requests)
        assert ask_attach(BOB, "bob/secret+2") == "attached"
        assert unpackings(daemon) == hers and asked(server, since) <= HEADS
        daemon.settle()  # what Bob has open is his without another proof
        assert "SignatureDoesNotMatch" in ask_attach(BOB, "another")
        assert "may not have" in ask_attach(CAROL)
        daemon.settle()


@needs_root
def test_a_user_that_unpacks_is_charged(serve, home, shards):
    """What unpacking may take is a part of the share of dataset-memory, from the opening on."""
    one = shards / "train-000.tar"
    for ending in ".gz", ".zst":
        if PACK[ending]:
            (home / (one.name + ending)).write_bytes(PACK[ending](one.read_bytes()))
    daemon = serve(cache_dir=stage_of(home), dataset_root=home, dataset_memory="64M", **LARGE)
    with connect(daemon, BOB) as bob:
        assert bob.attach(home / "train-000.tar.g?", **STREAM).name == "attached"
    if PACK[".zst"]:
        with connect(daemon, BOB) as bob:
            answer = bob.attach(home / "train-000.tar.zs?", **STREAM)
            assert "share of dataset-memory" in answer.fields["text"]
    daemon.settle()
