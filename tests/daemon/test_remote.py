# SPDX-License-Identifier: MIT
"""Datasets over HTTP and from S3: the bytes of the local copy, whatever servers do meanwhile."""

import json
import re
import subprocess

import pytest

from harness import Daemon
from object_server import Objects, unlucky
from test_law import digests
from test_shards import COUNT, shard_of, write_shard
from test_storage import files
from users import ALICE, BOB, connect, needs_root, servers


@pytest.fixture(scope="module", name="shards")
def fixture_shards(photos, tmp_path_factory):
    """A folder with four shards that have the photographs in the folder's order."""
    folder, paths = tmp_path_factory.mktemp("shards"), files(photos)
    for number, at in enumerate(range(0, len(paths), COUNT)):
        write_shard(folder / f"train-{number:03}.tar", shard_of(photos, paths[at:at + COUNT]))
    (folder / "list.json").write_text(json.dumps({
        "__kind__": "wids-shard-index-v1", "wids_version": 1, "shardlist": [
            {"url": path.name, "nsamples": COUNT} for path in sorted(folder.glob("*.tar"))]}))
    return folder


PATTERN = "train-{000..003}.tar"


@pytest.fixture(name="reference", scope="module")
def fixture_reference(photos):
    """The digests of the local folder."""
    daemon = Daemon().spawn()
    try:
        return digests(daemon, photos)
    finally:
        daemon.terminate()
        daemon.remove()


def test_shards_over_http(spawn, shards, reference):
    """The same samples as the folder's, of any number of workers and fetchers."""
    with Objects(shards) as server:
        for options in {"workers": 1}, {"workers": 2, "fetchers": 16}, {"cache_memory": "64M"}:
            assert digests(spawn(**options), f"{server.url}/{PATTERN}") == reference
        assert all("authorization" not in headers for _, headers in server.requests)


def test_lmdb_over_http(spawn, photos, tmp_path):
    """Its keys are walked and its values read by ranges; the folder is named, with the kind."""
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(tmp_path / "base"), map_size=1 << 26) as database:
        with database.begin(write=True) as writer:
            for number, path in enumerate(files(photos)):
                writer.put(b"%06d" % number, path.read_bytes())
    with Objects(tmp_path) as server:
        dataset = {"path": f"{server.url}/base", "kind": "lmdb"}
        daemon = spawn()
        assert digests(daemon, "", dataset=dataset) == digests(daemon, tmp_path / "base")


def test_a_faulty_server(spawn, shards, reference):
    """503, resets and bodies that are cut change nothing, and no trainer hears of them."""
    with Objects(shards) as server:
        server.fault = unlucky(0.1)
        assert digests(spawn(fetchers=16), f"{server.url}/{PATTERN}") == reference

def fingerprint(daemon, dataset):
    with daemon.connect() as peer:
        answer = peer.attach(dataset, epochs=1, inflight=0)
        assert answer.name == "attached", answer
        return answer.fields["dataset_fingerprint"]


def refusal(daemon, path, **keys):
    with daemon.connect() as peer:
        answer = peer.attach("", dataset={"path": path, **keys})
        assert answer.name == "error", answer
        return answer.fields["text"]


def test_a_folder_in_s3(spawn, photos, reference):
    """Listed in pages, signed, and with the fingerprint of the folder on the disk, so that a token
    of the one is good for the other; in path style, and below a prefix."""
    with Objects(photos.parent, bucket="pictures", page=7) as server:
        server.key_id = "AKIDTEST"
        daemon = spawn(environment=server.environment(), fetchers=8)
        url = f"s3://pictures/{photos.name}"
        assert fingerprint(daemon, url) == fingerprint(daemon, photos)
        assert digests(daemon, url) == reference
        rest = digests(daemon, url, epoch=0, position=24)
        assert rest == {at: digest for at, digest in reference.items() if at >= (0, 24)}
        pages = [path for path, _ in server.requests if "list-type=2" in path]
        assert sum("continuation-token" in path for path in pages) >= 6
        assert all("AWS4-HMAC-SHA256 Credential=AKIDTEST/" in headers["authorization"]
                   for _, headers in server.requests)
        assert "sesame" not in daemon.log()


def test_shards_and_manifests_in_s3(spawn, photos, shards, reference):
    """Shards by braces, by a glob and by a list; a manifest beside the pictures."""
    with Objects(shards, bucket="b") as server:
        daemon = spawn(environment=server.environment(AWS_SESSION_TOKEN="a-token"), fetchers=8)
        for name in PATTERN, "train-*.tar", "list.json":
            assert digests(daemon, f"s3://b/{name}") == reference
        assert fingerprint(daemon, f"s3://b/{PATTERN}") == fingerprint(daemon, shards / PATTERN)
        assert {headers["x-amz-security-token"] for _, headers in server.requests} == {"a-token"}


def test_a_manifest_in_s3(spawn, photos, tmp_path):
    """Beside the pictures, whose names may have any bytes."""
    paths = files(photos)[:12]
    rows = ["path,label"]
    for number, path in enumerate(paths):
        name = f"a b+{number}%41é&=.jpg"
        (tmp_path / name).write_bytes(path.read_bytes())
        rows.append(f"./{name},{number % 3}")
    (tmp_path / "list.csv").write_text("\n".join(rows))
    with Objects(tmp_path, bucket="b") as server:
        daemon = spawn(environment=server.environment(), fetchers=8)
        assert digests(daemon, "s3://b/list.csv") == digests(daemon, tmp_path / "list.csv")
        assert fingerprint(daemon, "s3://b/list.csv") == fingerprint(daemon, tmp_path / "list.csv")


def test_percent_signs_over_http(spawn, photos, tmp_path):
    """A path in a manifest is a file's name, as in a local copy: what would be escapes of a URL are
    none. The URL of the manifest has them."""
    folder = tmp_path / "a b%41"
    folder.mkdir()
    names = ["a b.jpg", "a%20b.jpg", "100%.jpg", "%41.jpg", "A.jpg", "c%2Fd/e%25.jpg"]
    for name, path in zip(names, files(photos)):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(path.read_bytes())
    (folder / "list.tsv").write_text("path\n" + "".join(f"{name}\n" for name in names))
    with Objects(tmp_path) as server:
        daemon, url = spawn(), f"{server.url}/a%20b%2541"
        assert digests(daemon, f"{url}/list.tsv") == digests(daemon, folder / "list.tsv")
        assert fingerprint(daemon, f"{url}/list.tsv") == fingerprint(daemon, folder / "list.tsv")
        (folder / "urls.tsv").write_text(f"{url}/A.jpg\n{url}/a%20b.jpg\n")
        with daemon.connect() as peer:
            answer = peer.attach(f"{url}/urls.tsv")
            assert "urls.tsv:2: the path is a URL with a %" in answer.fields["text"]


def test_a_profile(spawn, shards, tmp_path, reference):
    """Credentials, region and endpoint of a profile, in the files of AWS' tools."""
    with Objects(shards, bucket="b") as server:
        server.key_id = "AKIDPROFILE"
        (tmp_path / "credentials").write_text(
            "[default]\naws_access_key_id = WRONG\naws_secret_access_key = no\n"
            "[work]\naws_access_key_id=AKIDPROFILE\naws_secret_access_key = k=y\n"
            f"aws_session_token = {'t' * 1500}\n")
        (tmp_path / "config").write_text(
            f"[profile work]\nregion = eu-west-9\nendpoint_url = {server.url}/\n")
        unset = {name: "" for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION",
                                       "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN")}
        daemon = spawn(environment={
            **unset, "AWS_PROFILE": "work", "AWS_CONFIG_FILE": str(tmp_path / "config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials")})
        assert digests(daemon, f"s3://b/{PATTERN}") == reference
        headers = server.requests[0][1]
        assert "/eu-west-9/s3/aws4_request" in headers["authorization"]
        assert headers["x-amz-security-token"] == "t" * 1500


def test_versions_without_tags(spawn, shards, reference):
    """Size and Last-Modified do as well; with neither nothing is read."""
    with Objects(shards) as server:
        server.tags = False
        assert digests(spawn(), f"{server.url}/{PATTERN}") == reference
        server.dates = False
        assert "neither its ETag" in refusal(spawn(), f"{server.url}/{PATTERN}")


def test_a_changed_object(spawn, photos, tmp_path):
    """Never other bytes: a shard that is replaced is a sample that changed."""
    paths = files(photos)
    write_shard(tmp_path / "a.tar", shard_of(photos, paths[:COUNT]))
    with Objects(tmp_path) as server:
        daemon = spawn(workers=1)
        with daemon.connect() as peer:
            peer.attach(f"{server.url}/a.tar", batch_size=1, epochs=1, prefetch=2, inflight=1)
            peer.release(peer.expect("batch"))
            write_shard(tmp_path / "a.tar", shard_of(photos, paths[1:COUNT + 1]))
            with pytest.raises(AssertionError, match="sample_changed|not the one"):
                for _ in range(COUNT):
                    peer.release(peer.expect("batch"))


@pytest.mark.parametrize("instead", ["html", "cut"])
def test_what_comes_instead(spawn, shards, tmp_path, instead):
    """Of an object that is read already: one error, and no other bytes. As after a proxy's session
    has ended, or an upload again that was broken off."""
    path = tmp_path / "a.tar"
    path.write_bytes((shards / "train-000.tar").read_bytes())
    with Objects(tmp_path) as server:
        daemon = spawn(workers=1)
        with daemon.connect() as peer:
            peer.attach(f"{server.url}/a.tar", batch_size=1, epochs=1, prefetch=2, inflight=1)
            peer.release(peer.expect("batch"))
            if instead == "html":
                server.fault = lambda number: "html"
            else:
                short = path.with_suffix(".short")
                short.write_bytes(path.read_bytes()[:20000])
                short.replace(path)
            message = peer.receive()
            while message.name in ("batch", "progress"):
                peer.release(message)
                message = peer.receive()
            assert message.name == "bad_sample", message
            # What was cut off ends too soon where a range goes over the end, has changed elsewhere.
            words = {"html": "answers with an HTML page",
                     "cut": "too few bytes|changed under the stream"}[instead]
            assert re.search(words, message.fields["text"]), message


def test_what_is_wrong_is_said(spawn, photos, shards, tmp_path):
    """One clear error each."""
    with Objects(shards, bucket="b") as server:
        daemon = spawn(environment=server.environment())
        assert "no such bucket" in refusal(daemon, "s3://other/train")
        assert "no such object" in refusal(daemon, "s3://b/none.tar")
        assert "nothing below it" in refusal(daemon, "s3://b/none")
        server.key_id = "somebody else"
        assert "no right" in refusal(daemon, "s3://b/train-000.tar")
        server.key_id, server.expired = None, {"AKIDTEST"}
        assert "the daemon's credentials have expired" in refusal(daemon, "s3://b/train-000.tar")
        server.expired = set()
        server.fault = lambda number: "html"
        assert "not answer as S3 does" in refusal(daemon, "s3://b/train")
        assert "HTML" in refusal(daemon, "s3://b/train-000.tar")
        server.fault = lambda number: None
        server.redirect = "http://127.0.0.1:9"
        assert "another region" in refusal(daemon, "s3://b/train-000.tar")
        bare = spawn(environment=server.environment(AWS_ACCESS_KEY_ID="", AWS_PROFILE="none"))
        server.key_id, server.redirect = "somebody else", None
        assert "no credentials" in refusal(bare, "s3://b/train-000.tar")
    (tmp_path / "page.tar").write_text("<!DOCTYPE html><html>Please log in</html>" + " " * 1024)
    (tmp_path / "cut.tar").write_bytes((shards / "train-000.tar").read_bytes()[:30000])
    with Objects(tmp_path) as server:
        daemon = spawn()
        assert "HTML" in refusal(daemon, f"{server.url}/page.tar")
        assert "cut" in refusal(daemon, f"{server.url}/cut.tar")
        assert "lists" in refusal(daemon, f"{server.url}/train")
        assert "no such object" in refusal(daemon, f"{server.url}/none.tar")
        server.ranges = False
        assert "no ranges" in refusal(daemon, f"{server.url}/cut.tar")
        server.fault = lambda number: "503"
        assert "503" in refusal(spawn(), f"{server.url}/cut.tar")
    assert "connect" in refusal(daemon, f"{server.url}/cut.tar")
    words = refusal(daemon, "http://me:hunter2@host/a.tar")
    assert "password" in words and "hunter2" not in words + daemon.log()
    words = refusal(daemon, "https://host/a.tar?X-Amz-Signature=hunter2")
    assert "signed" in words and "hunter2" not in words + daemon.log()


def test_redirects(spawn, photos, shards, reference):
    """Followed over plain HTTP, and never with a signature."""
    with Objects(shards) as there, Objects(shards, bucket="b") as here:
        here.redirect = there.url
        assert digests(spawn(fetchers=8), f"{here.url}/{PATTERN}") == reference
        seen = len(there.requests)
        daemon = spawn(environment=here.environment())
        assert "another region" in refusal(daemon, "s3://b/train-000.tar")
        assert len(there.requests) == seen


@pytest.mark.parametrize("status", [301, 307, 400])
def test_another_region(spawn, photos, shards, reference, status):
    """That the server names is where all further requests are signed for; one more is refused."""
    def asked():
        return [headers["authorization"].split("/")[2] for _, headers in server.requests]

    with Objects(shards, bucket="b") as server, Objects(photos.parent, bucket="b") as folder:
        server.region, server.region_status = "mars-2", status
        daemon = spawn(environment=server.environment(), fetchers=4)
        assert digests(daemon, f"s3://b/{PATTERN}") == reference
        assert set(asked()) == {"eu-test-1", "mars-2"}
        assert asked().count("eu-test-1") <= len(list(shards.glob("*.tar")))
        for server.region in ("no/region", "x" * 40):
            assert "in another region" in refusal(daemon, "s3://b/none.tar")
        folder.region = "mars-3"
        assert digests(spawn(environment=folder.environment()), f"s3://b/{photos.name}") == \
            reference
        server.region = "mars-4"
        server.fault = lambda number: setattr(server, "region", f"mars-{number}")
        words = refusal(daemon, "s3://b/train-000.tar")
        assert "another region: in the daemon's environment set AWS_REGION=mars-" in words


def test_certificates(spawn, shards, tmp_path, reference):
    """One that is not trusted is said in words; one's own authority is named in the environment."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", certificate,
                    "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    with Objects(shards, tls=(certificate, key)) as server:
        assert "certificate is not trusted" in refusal(spawn(), f"{server.url}/{PATTERN}")
        daemon = spawn(environment={"AWS_CA_BUNDLE": str(certificate)}, fetchers=8)
        assert digests(daemon, f"{server.url}/{PATTERN}") == reference


@needs_root
def test_other_users(photos, shards):
    """They have read what a rule allows, with the daemon's credentials, and nothing else: neither
    other keys nor, over plain HTTP, hosts that a redirect or a name leads to."""
    def ask_attach(uid, path):
        with connect(daemon, uid) as peer:
            answer = peer.attach("", dataset={"path": path}, epochs=1)
            return answer.name if answer.name != "error" else answer.fields["text"]

    with Objects(photos.parent, bucket="b") as server, Objects(shards) as plain, \
            servers() as serve:
        port = plain.url.rpartition(":")[2]
        daemon = serve(environment=server.environment(), fetchers=8)
        assert "may not have" in ask_attach(ALICE, f"s3://b/{photos.name}")
        daemon.terminate()
        rules = f"s3://b/{photos.name}:@{ALICE}\n{plain.url}/\nhttp://inside.localhost:{port}/\n"
        (daemon.folder / "stokerd.conf").write_text("[stokerd]\n" + "".join(
            f"dataset-root = {rule}\n" for rule in rules.split()))
        daemon.options["config"] = daemon.folder / "stokerd.conf"
        daemon.spawn()
        assert ask_attach(ALICE, f"s3://b/{photos.name}") == "attached"
        for uid, path in ((BOB, f"s3://b/{photos.name}"), (ALICE, "s3://b"),
                          (ALICE, f"s3://b/{photos.name}x/a.tar"), (ALICE, "http://host/a.tar")):
            assert "may not have" in ask_attach(uid, path)
        assert "part . or .." in ask_attach(ALICE, f"s3://b/{photos.name}/../x")
        assert "leads out" in ask_attach(ALICE, f"s3://b/{photos.name}/{{..,a}}/x.tar")
        assert ask_attach(BOB, f"{plain.url}/{PATTERN}") == "attached"
        plain.redirect = server.url
        assert "elsewhere" in ask_attach(BOB, f"{plain.url}/a.tar")
        assert "this machine" in ask_attach(BOB, f"http://inside.localhost:{port}/a.tar")
