# SPDX-License-Identifier: MIT
"""The daemon's sources of credentials for S3: a web identity, a container, an instance. It takes
new ones before the old ones expire, and says why if it gets none."""

import time

import pytest

from harness import wait_for
from key_server import CONTAINER, IDENTITY, SECRET, Keys
from object_server import Objects
from test_law import digests
from test_remote import PATTERN, fixture_reference, fixture_shards, refusal  # noqa: F401 (fixtures)

SOURCES = ["web", "container", "metadata"]
NONE = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}


def environment(server, keys, source, folder, **more):
    return server.environment(**NONE, **keys.environment(source, folder), **more)


def signers(server):
    """The access keys that signed the requests so far, in order, without repeats side by side;
    "nobody": a request without a signature."""
    seen = []
    for _, headers in list(server.requests):
        name = headers.get("authorization", "Credential=nobody/").split("Credential=")[1]
        name = name.split("/")[0]
        if name not in seen[-1:]:
            seen.append(name)
        if name != "nobody":
            assert headers["x-amz-security-token"] == f"session+{name}/"
    return seen


@pytest.mark.parametrize("source", SOURCES)
def test_requests_are_signed_by_the_source(spawn, shards, tmp_path, reference, source):
    """And no log, error or counter contains its secrets."""
    with Objects(shards, bucket="b") as server, Keys() as keys:
        daemon = spawn(fetchers=4, environment=environment(server, keys, source, tmp_path))
        assert digests(daemon, f"s3://b/{PATTERN}") == reference
        assert signers(server)[0] == "AKID0" and set(signers(server)) <= set(keys.given)
        words = daemon.log() + daemon.ctl("--json", "status").stdout + \
            refusal(daemon, "s3://other/train")
        assert SECRET not in words and "session+" not in words


@pytest.mark.parametrize("source", SOURCES)
def test_credentials_are_renewed_before_they_expire(spawn, shards, tmp_path, source):
    """Also while a dataset is open."""
    with Objects(shards, bucket="b") as server, Keys() as keys:
        keys.lifetime = 2
        daemon = spawn(environment=environment(server, keys, source, tmp_path))
        with daemon.connect() as peer:
            peer.attach(f"s3://b/{PATTERN}", batch_size=1, inflight=1, prefetch=2,
                        epochs=1 << 20)
            last = time.monotonic() + 60
            while len(set(signers(server))) < 3 and time.monotonic() < last:
                peer.release(peer.expect("batch"))
                time.sleep(0.01)
        seen = set(signers(server))  # requests under way may be of the old ones still
        assert seen <= set(keys.given) and len(seen) >= 3


@pytest.mark.parametrize("status", [400, 403])
def test_credentials_that_the_server_calls_expired(spawn, shards, tmp_path, reference, status):
    """The request is sent again with new credentials; a profile is read again for them."""
    with Objects(shards, bucket="b") as server, Keys() as keys:
        server.expired, server.expired_status = {"AKID0"}, status
        daemon = spawn(environment=environment(server, keys, "metadata", tmp_path))
        assert digests(daemon, f"s3://b/{PATTERN}") == reference
        assert signers(server)[:2] == ["AKID0", "AKID1"]
        profile = "[default]\naws_access_key_id = {0}\naws_secret_access_key = no\n" \
            "aws_session_token = session+{0}/\n"
        (tmp_path / "profile").write_text(profile.format("AKIDOLD"))
        daemon = spawn(environment=server.environment(**NONE, AWS_SHARED_CREDENTIALS_FILE=str(
            tmp_path / "profile")))
        with daemon.connect() as peer:
            peer.attach(f"s3://b/{PATTERN}", batch_size=1, inflight=1, prefetch=2)
            peer.release(peer.expect("batch"))
            (tmp_path / "profile").write_text(profile.format("AKIDNEW"))
            server.expired.add("AKIDOLD")
            for _ in range(20):
                peer.release(peer.expect("batch"))
        assert signers(server)[-1] == "AKIDNEW"
        server.expired.add("AKIDNEW")
        assert "have expired" in refusal(daemon, f"s3://b/{PATTERN}")


def test_metadata_that_stops_answering(spawn, shards, tmp_path):
    """If it gave credentials before, this is an error: no request goes out without a signature."""
    with Objects(shards, bucket="b") as server, Keys() as keys:
        keys.lifetime = 2
        daemon = spawn(environment=environment(server, keys, "metadata", tmp_path))
        refusal(daemon, "s3://other/train")
        keys.wrong = "401"
        wait_for(lambda: "by the instance metadata: it does not answer any more" in refusal(
            daemon, "s3://other/train"), "a failure", 60)
        assert "nobody" not in signers(server)
        keys.wrong = None
        wait_for(lambda: "gets no credentials" not in refusal(daemon, "s3://other/train"),
                 "other credentials", 60)


@pytest.mark.parametrize("source, who, wrong", [
    ("web", "the web identity", "STS answers without credentials"),
    ("container", "the container", "service answers without credentials"),
    ("metadata", "the instance metadata", "metadata answers without credentials")])
def test_wrong_answers_of_a_source(spawn, shards, tmp_path, source, who, wrong):
    with Objects(shards, bucket="b") as server, Keys() as keys:
        server.key_id = "somebody"
        for keys.wrong in "html", "cut", "401", "hang":
            daemon = spawn(environment=environment(server, keys, source, tmp_path))
            words = refusal(daemon, f"s3://b/{PATTERN}")
            if source == "metadata" and keys.wrong in ("401", "hang"):  # no instance of EC2
                assert "it found no credentials" in words
                continue
            assert f"the daemon gets no credentials by {who}: " in words
            assert {"401": "(401", "hang": "silent"}.get(keys.wrong, wrong) in words
            assert SECRET not in words + daemon.log()
            daemon.terminate()


def test_wrong_settings_are_named(spawn, shards, tmp_path):
    with Objects(shards, bucket="b") as server, Keys() as keys:
        def refuse(source, **more):
            settings = environment(server, keys, source, tmp_path)
            return refusal(spawn(environment={**settings, **more}), f"s3://b/{PATTERN}")

        assert "token's file /none No such file" in refuse(
            "web", AWS_WEB_IDENTITY_TOKEN_FILE="/none")
        assert "InvalidIdentityToken" in refuse("web", AWS_ROLE_ARN="another")
        assert "neither https nor of this machine" in refuse(
            "container", AWS_CONTAINER_CREDENTIALS_FULL_URI="http://example.invalid/x")
        assert "refuses it (403)" in refuse("container", AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE="",
                                            AWS_CONTAINER_AUTHORIZATION_TOKEN="another")
        asked = len(keys.asked)
        server.key_id = "somebody"
        assert "it found no credentials" in refuse("metadata", AWS_EC2_METADATA_DISABLED="true")
        assert len(keys.asked) == asked


@pytest.mark.parametrize("setting", ["role_arn = arn:aws:iam::1:role/x\nsource_profile = base",
                                     "sso_session = work", "sso_start_url = https://x",
                                     "credential_process = /bin/echo {}"])
def test_unsupported_settings_of_a_profile_are_named(spawn, shards, tmp_path, setting):
    """And no request is sent without a signature, or signed by other keys."""
    (tmp_path / "config").write_text(f"[profile work]\n{setting}\n")
    (tmp_path / "keys").write_text("[work]\naws_access_key_id = AKIDFILE\n"
                                   "aws_secret_access_key = no\n")
    with Objects(shards, bucket="b") as server:
        profile = {"AWS_PROFILE": "work", "AWS_CONFIG_FILE": str(tmp_path / "config"),
                   "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "keys")}
        words = refusal(spawn(environment=server.environment(**NONE, **profile)),
                        f"s3://b/{PATTERN}")
        assert f"by the profile: it has {setting.split()[0]}, by which" in words
        assert not server.requests
        digests(spawn(environment=server.environment(**profile)), f"s3://b/{PATTERN}")


def test_order_of_sources(spawn, shards, tmp_path):
    """The environment, then a web identity, a profile, a container, an instance."""
    with Objects(shards, bucket="b") as server, Keys() as keys:
        every = {name: value for source in reversed(SOURCES)
                 for name, value in keys.environment(source, tmp_path).items()}
        for name, text in ("web", IDENTITY), ("container", CONTAINER):
            (tmp_path / name).write_text(text)
        every["AWS_WEB_IDENTITY_TOKEN_FILE"] = str(tmp_path / "web")
        every["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = str(tmp_path / "container")
        (tmp_path / "profile").write_text(
            "[default]\naws_access_key_id = AKIDFILE\naws_secret_access_key = no\n"
            "aws_session_token = session+AKIDFILE/\n")
        every["AWS_SHARED_CREDENTIALS_FILE"] = str(tmp_path / "profile")
        web = {"AWS_ROLE_ARN": "", "AWS_WEB_IDENTITY_TOKEN_FILE": ""}
        for less, signer, asked in (
                ({}, "AKIDTEST", []), (NONE, "AKID0", ["/"]), ({**NONE, **web}, "AKIDFILE", []),
                ({**NONE, **web, "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}, "AKID1",
                 ["/container"])):
            del server.requests[:], keys.asked[:]
            token = "" if "AWS_ACCESS_KEY_ID" in less else "session+AKIDTEST/"
            daemon = spawn(environment=server.environment(**{
                **every, "AWS_SESSION_TOKEN": token, **less}))
            digests(daemon, f"s3://b/{PATTERN}")
            assert signers(server) == [signer] and keys.asked[:1] == asked
            daemon.terminate()
