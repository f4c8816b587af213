# SPDX-License-Identifier: MIT
"""Datasets on real servers, each where it is installed: nginx (Debian: nginx-light), versitygw,
which verifies signatures (go install github.com/versity/versitygw/cmd/versitygw@v1.8.0), and moto,
which knows session tokens (pip install 'moto[server]'; its moto_server in the PATH)."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

from harness import wait_for
from test_law import digests
from test_packed import GZIP, fixture_packed  # noqa: F401 (a fixture)
from test_remote import PATTERN, fingerprint, fixture_shards, refusal  # noqa: F401 (a fixture)
from test_staging import LARGE

KEY, SECRET = "AKIDSERVER", "a/secret+with=signs0123456789abcdefghij"


def program(name):
    """Its path; else the test is skipped, and says so."""
    found = shutil.which(name, path=os.pathsep.join(
        [os.environ["PATH"], "/usr/sbin", str(pathlib.Path.home() / "go/bin")]))
    return found or pytest.skip(f"{name} is not installed: data from it is not tested")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(port, log, *command, **environment):
    """A server, from when it takes connections on."""
    def serves():
        assert process.poll() is None, log.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    with open(log, "ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                   env={**os.environ, **environment}, start_new_session=True)
    try:
        # moto imports for ten seconds where many tests run.
        wait_for(serves, lambda: f"{command[0]} does not serve: {log.read_text()}", 90)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def settings(url, **more):
    return {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1", "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", **more}


@pytest.fixture(name="folder")
def fixture_folder():
    """That a server's workers, of another user, can read."""
    with tempfile.TemporaryDirectory(prefix="stoker-server-") as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def test_nginx(spawn, folder, photos, shards, packed):
    port, nginx = free_port(), program("nginx")
    shutil.copytree(shards, folder / "data")
    shutil.copytree(packed, folder / "data", dirs_exist_ok=True)
    (folder / "data").chmod(0o755)
    (folder / "nginx.conf").write_text(f"""
        daemon off; pid {folder}/pid; error_log stderr; worker_processes 1;
        events {{ worker_connections 256; }}
        http {{ access_log off; client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;
               fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4;
               scgi_temp_path {folder}/t5;
               server {{ listen 127.0.0.1:{port}; root {folder}/data; }} }}""")
    with running(port, folder / "log", nginx, "-p", str(folder), "-c",
                 str(folder / "nginx.conf")) as url:
        daemon = spawn(fetchers=16)
        assert digests(daemon, f"{url}/{PATTERN}") == digests(daemon, photos)
        assert "no such object (404)" in refusal(daemon, f"{url}/none.tar")
        stage = spawn(cache_dir=folder / "c", **LARGE)
        assert digests(stage, f"{url}/{GZIP}") == digests(daemon, photos)


def test_versitygw(spawn, folder, photos, shards, packed):
    """A folder, a glob and braces; keys with signs; a wrong secret is said to be one."""
    port, gateway = free_port(), program("versitygw")
    for name in ("data", "sidecar"):
        (folder / name).mkdir()
    shutil.copytree(photos, folder / "data/bucket/a b+c/d=e")
    shutil.copytree(shards, folder / "data/shards")
    shutil.copytree(packed, folder / "data/packed")
    with running(port, folder / "log", gateway, "--port", f"127.0.0.1:{port}", "--access", KEY,
                 "--secret", SECRET, "posix", "--sidecar", str(folder / "sidecar"),
                 str(folder / "data")) as url:
        daemon = spawn(fetchers=16, environment=settings(url))
        reference = digests(daemon, photos)
        assert digests(daemon, "s3://bucket/a b+c/d=e") == reference
        assert digests(daemon, f"s3://shards/{PATTERN}") == reference
        assert digests(daemon, "s3://shards/train-*.tar") == reference
        assert fingerprint(daemon, "s3://bucket/a b+c/d=e") == fingerprint(daemon, photos)
        assert "no such bucket" in refusal(daemon, "s3://nowhere/train")
        assert "no such object" in refusal(daemon, "s3://shards/none.tar")
        stranger = spawn(environment=settings(url, AWS_SECRET_ACCESS_KEY="another"))
        assert "secret key" in refusal(stranger, f"s3://shards/{PATTERN}")
        assert SECRET not in daemon.log()
        stage = spawn(cache_dir=folder / "c", environment=settings(url), **LARGE)
        assert digests(stage, f"s3://packed/{GZIP}") == reference
        assert fingerprint(stage, f"s3://packed/{GZIP}") == \
            fingerprint(daemon, f"s3://shards/{PATTERN}")


def test_moto(spawn, folder, photos, shards):
    """With a session token. It is filled over S3, by requests of curl's own signatures."""
    port, moto, curl = free_port(), program("moto_server"), program("curl")
    with running(port, folder / "log", moto, "-H", "127.0.0.1", "-p", str(port)) as url:
        def put(path, *more):
            subprocess.run([curl, "-sSf", "--aws-sigv4", "aws:amz:us-east-1:s3", "-u",
                            f"{KEY}:{SECRET}", f"{url}{path}", *more], check=True,
                           stdout=subprocess.DEVNULL)

        put("/bucket", "-X", "PUT")
        for shard in sorted(shards.glob("*.tar")):
            put(f"/bucket/{shard.name}", "-T", str(shard))
        daemon = spawn(fetchers=16, environment=settings(url, AWS_SESSION_TOKEN="t" * 900))
        assert digests(daemon, f"s3://bucket/{PATTERN}") == digests(daemon, photos)
        assert "no such bucket" in refusal(daemon, "s3://nowhere/train")
        assert "t" * 900 not in daemon.log()
        (folder / "identity").write_text("a token of Kubernetes\n")
        daemon = spawn(environment={
            **settings(url), "AWS_ACCESS_KEY_ID": "", "AWS_ROLE_ARN": "arn:aws:iam::123456789012:"
            "role/trainer", "AWS_WEB_IDENTITY_TOKEN_FILE": str(folder / "identity")})
        assert digests(daemon, f"s3://bucket/{PATTERN}") == digests(daemon, photos)
        assert "AssumeRoleWithWebIdentity" not in daemon.log()
