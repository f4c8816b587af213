# SPDX-License-Identifier: MIT
"""Credentials of S3 that the daemon asks for: of a web identity, a container, an instance; new ones
before the old ones expire; and what is said where there are none."""

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
    """The access keys of the requests so far, in their order."""
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
def test_a_source(spawn, shards, tmp_path, reference, source):
    """Requests are signed by its keys, which the log, an error or a counter never have."""
    with Objects(shards, bucket="b") as server, Keys() as keys:
        daemon = spawn(fetchers=4, environment=environment(server, keys, source, tmp_path))
        assert digests(daemon, f"s3://b/{PATTERN}") == reference
        assert signers(server)[0] == "AKID0" and set(signers(server)) <= set(keys.given)
        words = daemon.log() + daemon.ctl("--json", "status").stdout + \
            refusal(daemon, "s3://other/train")
        assert SECRET not in words and "session+" not in words


@pytest.mark.parametrize("source", SOURCES)
def test_new_ones_before_they_expire(spawn, shards, tmp_path, source):
    """While a dataset is open."""
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
def test_expired_before_their_time(spawn, shards, tmp_path, reference, status):
    """A server that says so is asked again, with others; those of a profile are read again."""
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


def test_metadata_that_is_gone(spawn, shards, tmp_path):
    """Is a failure where it was there before: nothing is asked for without a signature."""
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
def test_wrong_answers(spawn, shards, tmp_path, source, who, wrong):
    with Objects(shards, bucket="b") as server, Keys() as keys:
        server.key_id = "somebody"
        for keys.wrong in "html", "cut", "401", "hang":
            daemon = spawn(environment=environment(server, keys, source, tmp_path))
            words = refusal(daemon, f"s3://b/{PATTERN}")
            if source == "metadata" and keys.wrong in ("401", "hang"):  # it is none of EC2's
                assert "it found no credentials" in words
                continue
            assert f"the daemon gets no credentials by {who}: " in words
            assert {"401": "(401", "hang": "silent"}.get(keys.wrong, wrong) in words
            assert SECRET not in words + daemon.log()
            daemon.terminate()


def test_what_is_set_up_wrong(spawn, shards, tmp_path):
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
def test_what_a_profile_may_not_have(spawn, shards, tmp_path, setting):
    """Is said; nothing is asked for without a signature, or as the wrong one."""
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


def test_the_order(spawn, shards, tmp_path):
    """The environment, a web identity, a profile, a container, an instance."""
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
