# SPDX-License-Identifier: MIT
"""A user's own credentials of S3, sent in a message: they open what no rule does, for this user
alone, and are asked with instead of the daemon's. The server verifies signatures. Needs root."""

import ctypes
import datetime
import errno
import os
import pathlib
import tempfile
import time
import traceback
import types

import pytest
import stoker
from stoker._by_number import another
from stoker._credentials import Credentials, urls_of

from harness import BUILD, SLOW
from object_server import Objects
from test_allocations import pytestmark as without_a_sanitizer
from test_staging import LARGE
from users import ALICE, BOB, SERVER, connect, needs_root, servers

SECRETS = {"AKIDTEST": "open/sesame+12", "AKIDALICE": "alice/secret+1", "AKIDBOB": "bob/secret+2",
           "AKIDNEXT": "next/secret+3"}
TOKEN = "session/of+alice=" * 60


def make_keys(name, url="s3://b", **more):
    return {"url": url, "key": f"AKID{name}", "secret": SECRETS[f"AKID{name}"], **more}


def send_keys(peer, *args, **more):
    answer = peer.request("credentials", **make_keys(*args, **more))
    return answer.name if answer.name == "ok" else answer.fields["name"]


def ask_attach(peer, path):
    """What ATTACH is answered: attached, or an error's name and words."""
    answer = peer.attach("", dataset={"path": path}, batch_size=1, epochs=1)
    if answer.name != "error":
        return answer.name
    return f"{answer.fields['name']}: {answer.fields['text']}"


def signers(server):
    return {headers["authorization"].split("Credential=")[1].split("/")[0]
            for _, headers in server.requests}


def bucket(photos, page=1000):
    server = Objects(photos.parent, bucket="b", page=page)
    server.accounts = dict(SECRETS)
    return server


@needs_root
def test_of_one_user(photos):
    """Alice's open to her what no rule does, and are hers alone; nobody reads them anywhere."""
    url = f"s3://b/{photos.name}"
    with bucket(photos) as server, servers() as serve:
        daemon = serve(environment=server.environment(), fetchers=4, log_level="debug")
        with connect(daemon, ALICE) as alice, connect(daemon, BOB) as bob:
            assert ask_attach(alice, url).startswith("permission: ")
            assert send_keys(alice, "ALICE", token=TOKEN) == "ok"
            assert ask_attach(alice, url) == "attached"
            assert len(alice.digests()) > 0
            assert signers(server) == {"AKIDALICE"}
            assert {headers["x-amz-security-token"] for _, headers in server.requests} == {TOKEN}
            assert ask_attach(bob, url).startswith("permission: ")
            with connect(daemon, ALICE) as again:  # another connection of hers
                assert ask_attach(again, url) == "attached"
            assert send_keys(bob, "BOB", f"{url}/none") == "ok"
            assert ask_attach(bob, url).startswith("permission: ")
            words = daemon.log() + daemon.ctl("--json", "status").stdout + "".join(
                str(daemon.list(what)) for what in ("streams", "readers", "datasets", "memory"))
        for secret in (*SECRETS.values(), TOKEN, "AKIDALICE"):
            assert secret not in words
        with connect(daemon, ALICE) as alice:  # they went with her last connection
            assert ask_attach(alice, url).startswith("permission: ")


@needs_root
def test_instead_of_the_daemons(photos):
    """Where a rule lets a user have the daemon's, and for the daemon's own user; each at the
    longest of its URLs."""
    url = f"s3://b/{photos.name}"
    with bucket(photos) as server, servers() as serve:
        daemon = serve(environment=server.environment(), fetchers=4, dataset_root="s3://b")
        for uid in (BOB, 0):
            with connect(daemon, uid) as peer:
                del server.requests[:]
                assert ask_attach(peer, url) == "attached"
                peer.digests()  # all, so that nothing is asked for once it has left
                assert signers(server) == {"AKIDTEST"}
            with connect(daemon, uid) as peer:
                del server.requests[:]
                assert send_keys(peer, "BOB") == send_keys(peer, "ALICE", url + "/") == "ok"
                assert ask_attach(peer, url) == "attached"
                peer.digests()
                assert signers(server) == {"AKIDALICE"}


@needs_root
def test_a_file_is_not_read_as_the_daemon(photos):
    """Credentials for a file alone do not have it read with the daemon's; nor a list of samples."""
    with bucket(photos) as server, servers() as serve:
        (photos.parent / "list.csv").write_text("".join(
            f"{path.relative_to(photos.parent)},0\n" for path in photos.rglob("*.jpg")))
        daemon = serve(environment=server.environment())
        with connect(daemon, ALICE) as peer:
            assert send_keys(peer, "ALICE", "s3://b/list.csv") == "ok"
            # The list is read with hers, and what it names lies beneath no URL of hers.
            assert ask_attach(peer, "s3://b/list.csv") != "attached"
            answer = peer.attach("", dataset={"path": f"s3://b/{photos.name}"}, sampler={
                "name": "List", "path": "s3://b/list.csv"})
            assert answer.name == "error"
        assert signers(server) == {"AKIDALICE"}


@needs_root
def test_refused_and_expired(photos):
    """An error of its own, whichever way; others that come in time go on with the dataset."""
    url = f"s3://b/{photos.name}"
    with bucket(photos) as server, servers() as serve:
        daemon = serve(environment=server.environment(), fetchers=2)
        with connect(daemon, ALICE) as peer:
            assert send_keys(peer, "ALICE", secret="another") == "ok"
            words = ask_attach(peer, url)
            assert words.startswith("credentials: ") and "the client's own secret key" in words
            assert send_keys(peer, "ALICE", expires=int(time.time()) - 1) == "argument"
            for wrong in ({"url": "http://b/x"}, {"url": "s3://b/../x"}, {"key": "a:b"},
                          {"secret": "a\nb"}, {"url": "s3://b\0"}):
                assert send_keys(peer, "ALICE", **wrong) == "argument"
            ends = int(time.time()) + 10
            assert send_keys(peer, "ALICE", expires=ends) == "ok"
            assert ask_attach(peer, url) == "attached"
            peer.request("detach")
            with connect(daemon, ALICE) as keeper:
                assert ask_attach(keeper, url) == "attached"
                time.sleep(max(0.0, ends + 0.5 - time.time()))
                words = ask_attach(peer, url)  # all is listed, and no picture can be read
                assert words.startswith("credentials: ") and "no others came" in words
            words = ask_attach(peer, url)
            assert words.startswith("credentials: ") and "no others came" in words
            server.expired = {"AKIDALICE"}
            send_keys(peer, "ALICE")
            words = ask_attach(peer, url)
            assert words.startswith("credentials: ") and "own credentials have expired" in words
            assert send_keys(peer, "NEXT") == "ok"
            assert ask_attach(peer, url) == "attached"


@needs_root
def test_what_is_told_as_refused(photos):
    """A failure beneath the URL whose credentials a server refused, of a part that is joined to
    others, too; no other failure, while those that were refused are still there."""
    there, away = f"s3://b/{photos.name}", "s3://b/elsewhere"
    with bucket(photos) as server, servers() as serve:
        daemon = serve(environment=server.environment(), fetchers=2)
        with connect(daemon, ALICE) as peer:
            assert send_keys(peer, "ALICE", there) == "ok"
            assert send_keys(peer, "BOB", away, secret="wrong") == "ok"
            assert ask_attach(peer, away).startswith("credentials: ")
            assert ask_attach(peer, f"{there}/none").startswith("dataset: ")
            assert ask_attach(peer, f"{there}/none.tar").startswith("dataset: ")
            joined = [{"path": there}, {"path": away}]
            answer = peer.attach("", dataset={"parts": joined})
            assert answer.fields["name"] == "credentials"
            answer = peer.attach("", dataset={"parts": [{"path": f"{there}/none"}, joined[1]]})
            assert answer.fields["name"] == "dataset"  # of its first part: nobody was asked for it
            assert send_keys(peer, "BOB", away) == "ok"
            assert ask_attach(peer, away).startswith("dataset: ")  # there is nothing


@needs_root
def test_nobody_waits_again_and_again(photos):
    """Threads wait for a user's next ones once in a while, however often others that have expired
    are sent, and by however many connections."""
    with bucket(photos) as server, servers() as serve:
        daemon = serve(environment=server.environment())
        server.expired = {"AKIDALICE", "AKIDNEXT"}
        began = time.monotonic()
        for name in ("ALICE", "NEXT", "ALICE"):
            with connect(daemon, ALICE) as peer:
                assert send_keys(peer, name) == send_keys(peer, name, "s3://c") == "ok"
                for url in ("s3://b/x", "s3://c/x"):
                    assert ask_attach(peer, url).startswith("credentials: ")
        assert 9 < time.monotonic() - began < 35


@needs_root
def test_renewed(photos):
    """While a dataset is read: those that expired wait for the next ones, and no sample is lost."""
    url = f"s3://b/{photos.name}"
    with bucket(photos) as server, servers() as serve:
        daemon = serve(environment=server.environment(), fetchers=2)
        with connect(daemon, ALICE) as peer:
            assert send_keys(peer, "ALICE") == "ok"
            peer.attach(url, batch_size=1, epochs=1, inflight=1, prefetch=1)
            count = 0
            while not server.expired:
                peer.release(peer.expect("batch"))
                count += 1
                if count == 2:
                    server.expired.add("AKIDALICE")
            time.sleep(1)
            assert send_keys(peer, "NEXT") == "ok"
            message = peer.receive()
            while message.name == "batch":
                peer.release(message)
                message = peer.receive()
            assert message.name == "end"
            assert signers(server) == {"AKIDALICE", "AKIDNEXT"}


def test_of_python(spawn, photos):
    """A loader sends them wherever it connects, and others before they expire."""
    given = []

    def source():
        name = ("ALICE", "BOB", "NEXT")[len(given) % 3]
        given.append(name)
        return {"AccessKeyId": f"AKID{name}", "SecretAccessKey": SECRETS[f"AKID{name}"],
                "SessionToken": TOKEN, "Expiration": datetime.datetime.fromtimestamp(
                    time.time() + 3 * SLOW, datetime.timezone.utc)}

    url = f"s3://b/{photos.name}"
    with bucket(photos) as server:
        daemon = spawn(environment=server.environment(), fetchers=2)
        with stoker.connect(daemon.socket) as node:
            with node.loader(url, batch_size=1, credentials=source, epochs=1000,
                             prefetch=2) as loader:
                until = time.monotonic() + 30 * SLOW
                while len(signers(server)) < 3 and time.monotonic() < until:
                    for _ in loader:
                        time.sleep(0.02)
                count, until = len(given), time.monotonic() + 30 * SLOW
                with another(loader) as second:  # for items by number
                    while len(given) < count + 3 and time.monotonic() < until:
                        for _ in second:
                            time.sleep(0.02)
                    assert len(given) >= count + 3  # one where it connects, the others later
            assert signers(server) == {"AKIDALICE", "AKIDBOB", "AKIDNEXT"}
            fixed = {"aws_access_key_id": "AKIDBOB", "aws_secret_access_key": "wrong"}
            with pytest.raises(stoker.CredentialsError, match="own secret key"):
                node.loader(url, batch_size=1, credentials=fixed)
            fixed["aws_secret_access_key"] = SECRETS["AKIDBOB"]
            node.loader({"path": f"{url}/"}, batch_size=1, credentials=lambda: fixed).close()
            with pytest.raises(ValueError, match="in S3"):
                node.loader(photos, batch_size=1, credentials=fixed)
            with pytest.raises(ValueError, match="no 'password'") as caught:
                node.loader(url, batch_size=1, credentials={"password": "hunter2"})
            assert "hunter2" not in str(caught.value)
            with pytest.raises(TypeError, match="must be a str, not bytes"):
                node.loader(url, batch_size=1, credentials={**fixed, "SessionToken": b"hunter2"})


class Unsent:
    """A connection whose end is seen while they are sent."""

    takes_credentials, daemon = True, "a daemon"

    def request(self, *_, **fields):
        frame = repr({**fields, "secret": str(fields["secret"])})
        assert "alice" in frame
        raise stoker.Disconnected("it ended")

    def close(self):
        pass


def test_no_traceback_shows_them():
    """Not one with the variables of each frame that is not the caller's."""
    own = Credentials(lambda: {"AccessKeyId": "AKIDALICE", "SessionToken": TOKEN,
                               "SecretAccessKey": SECRETS["AKIDALICE"]}, ["s3://b"])
    with pytest.raises(stoker.Disconnected) as caught:
        own.connect(Unsent)
    words = "".join(traceback.TracebackException.from_exception(
        caught.value, capture_locals=True).format())
    assert "given = " in words
    assert not any(text in words for text in ("AKIDALICE", SECRETS["AKIDALICE"], TOKEN))


@without_a_sanitizer  # libstoker's would have to be there before Python starts
def test_of_c(spawn, photos):
    """libstoker sends what it was given, over a new connection, too."""
    library = ctypes.CDLL(str(BUILD / "client/c/libstoker.so"))
    library.stoker_new.restype = handle = ctypes.c_void_p
    library.stoker_error.restype = ctypes.c_char_p
    library.stoker_credentials.argtypes = [handle, *[ctypes.c_char_p] * 4, ctypes.c_uint64]
    library.stoker_connect.argtypes = [handle, ctypes.c_char_p]
    library.stoker_free.argtypes = library.stoker_error.argtypes = [handle]
    with bucket(photos) as server:
        daemon = spawn(environment=server.environment(), fetchers=2)
        stoker_ = library.stoker_new()
        assert library.stoker_credentials(
            stoker_, b"s3://b", b"AKIDBOB", b"x", None, 0) == -errno.ENOTCONN
        assert library.stoker_connect(stoker_, str(daemon.socket).encode()) == 0
        assert library.stoker_credentials(
            stoker_, b"s3://b", b"AKIDALICE", SECRETS["AKIDALICE"].encode(), b"", 0) == 0
        assert library.stoker_credentials(
            stoker_, b"s3://b", b"AKIDBOB", b"x", None, 1) == -errno.EINVAL
        assert b"expired already" in library.stoker_error(stoker_)
        for _ in range(2):
            del server.requests[:]
            with daemon.connect() as peer:
                assert ask_attach(peer, f"s3://b/{photos.name}") == "attached"
            assert signers(server) == {"AKIDALICE"}
            assert library.stoker_connect(stoker_, str(daemon.socket).encode()) == 0
        ends = int(time.time()) + 2
        assert library.stoker_credentials(
            stoker_, b"s3://b", b"AKIDBOB", SECRETS["AKIDBOB"].encode(), b"", ends) == 0
        time.sleep(max(0.0, ends + 0.1 - time.time()))
        assert library.stoker_connect(stoker_, str(daemon.socket).encode()) == 0
        assert library.stoker_credentials(
            stoker_, b"s3://b", b"AKIDBOB", SECRETS["AKIDBOB"].encode(), b"", 0) == 0
        library.stoker_free(stoker_)


def test_a_function_that_keeps_them(monkeypatch):
    """One that gives the same until they expire is asked a few times; what has expired is not sent,
    and ends nothing."""
    now, calls, sent = [1e9], [], []
    clock = types.SimpleNamespace(time=lambda: now[0], monotonic=lambda: now[0])
    monkeypatch.setattr("stoker._credentials.time", clock)

    def source():
        calls.append(now[0])
        return {"AccessKeyId": "A", "SecretAccessKey": "B",
                "Expiration": 1e9 + (1000.9 if now[0] < 1e9 + 1000.9 else 4600)}

    def request(*_, expires, **_more):
        assert expires > now[0]
        sent.append(expires)

    connection = types.SimpleNamespace(takes_credentials=True, request=request)
    credentials = Credentials(source, ["s3://b"])
    credentials.connect(lambda: connection)
    while now[0] < 1e9 + 1030:
        now[0] += max(0.25, credentials.renew(connection))
    assert sent[-1] == int(1e9) + 4600 and len(calls) < 20


@pytest.mark.parametrize("path, url", [
    ("s3://b", "s3://b"), ("s3://b/train/", "s3://b/train"), ("s3://b/x/a.tar", "s3://b/x"),
    ("s3://b/x/tr-{0..9}.tar", "s3://b/x"), ("s3://b/x/*/a.tar", "s3://b/x"),
    ("s3://b/a.csv", "s3://b"), ("/data/x", None)])
def test_what_they_are_sent_for(path, url):
    assert urls_of({"path": path}) == ([url] if url else [])
    assert urls_of({"parts": [{"path": path}, {"path": path}]}) == ([url] if url else [])


@needs_root
def test_a_hit_needs_the_same_proof(photos):
    """What Alice's credentials brought to the disk, Bob's get only if the server lets them."""
    url = f"s3://b/{photos.name}"
    with bucket(photos) as server, servers() as serve, tempfile.TemporaryDirectory() as home:
        os.chown(home, SERVER, SERVER)
        cache = pathlib.Path(home) / "c"
        daemon = serve(environment=server.environment(), cache_dir=cache, **LARGE)
        with connect(daemon, ALICE) as alice, connect(daemon, BOB) as bob:
            assert send_keys(alice, "ALICE") == send_keys(bob, "BOB") == "ok"
            assert ask_attach(alice, url) == "attached"
            reference = alice.digests()
            assert daemon.status()["stage_objects"] > 0
            server.accounts.pop("AKIDBOB")
            assert ask_attach(bob, url).startswith("credentials: ")
            server.accounts["AKIDBOB"] = SECRETS["AKIDBOB"]
            before = daemon.status()["stage_hits_total"]
            assert ask_attach(bob, url) == "attached"
            assert bob.digests() == reference
            assert daemon.status()["stage_hits_total"] > before
            assert "AKIDBOB" in signers(server)


@needs_root
def test_a_fetch_that_waits_holds_nobody_else(photos):
    """Alice's reads wait for other credentials; Bob, who reads the same objects with his own, does
    not wait for hers."""
    url = f"s3://b/{photos.name}"
    with bucket(photos) as server, servers() as serve, tempfile.TemporaryDirectory() as home:
        os.chown(home, SERVER, SERVER)
        daemon = serve(environment=server.environment(), cache_dir=pathlib.Path(home) / "c",
                       **LARGE)
        with connect(daemon, ALICE) as alice, connect(daemon, BOB) as bob:
            assert send_keys(alice, "ALICE") == send_keys(bob, "BOB") == "ok"
            held = {}
            for peer in (alice, bob):
                peer.attach(url, batch_size=1, epochs=1, inflight=1, prefetch=1)
                held[peer] = peer.expect("batch")
            server.expired.add("AKIDALICE")
            alice.release(held[alice])
            time.sleep(0.5)
            bob.release(held[bob])
            bob.release(bob.expect("batch"))
            assert send_keys(alice, "NEXT") == "ok"
            alice.expect("batch")


@needs_root
def test_as_many_as_a_user_may(photos):
    with bucket(photos) as server, servers() as serve:
        daemon = serve(environment=server.environment())
        with connect(daemon, ALICE) as alice, connect(daemon, BOB) as bob:
            assert [send_keys(alice, "ALICE", f"s3://b/{i}") for i in range(33)] == \
                ["ok"] * 32 + ["limit"]
            assert send_keys(alice, "NEXT", "s3://b/0") == "ok"
            assert send_keys(bob, "BOB") == "ok"
