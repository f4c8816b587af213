# SPDX-License-Identifier: MIT
"""What a release is made of (packaging/release.sh): the image trusts the authorities of Debian's
package and no others, and has the licence of what was copied into it; the SBOM names the packages
of wheel and image; a build installs what it needs although another apt-get is at work."""
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "packaging/container"))

import root as image_root  # noqa: E402 (it stands in another folder)

LICENCES = pathlib.Path("/usr/share/doc/coreutils/copyright")


def test_the_image_trusts_debians_authorities_alone(tmp_path):
    theirs = sorted(image_root.AUTHORITIES.glob("*.crt"))
    if not theirs:
        pytest.skip("ca-certificates is not installed")
    copied = image_root.lay_out(tmp_path / "root", [image_root.CHOWN])
    bundle = (tmp_path / "root" / image_root.CERTIFICATES).read_text()
    assert bundle.count("BEGIN CERTIFICATE") == len(theirs)
    assert all(path.read_text().strip() in bundle for path in theirs)
    assert image_root.CHOWN in copied and any("libc.so" in str(path) for path in copied)


def test_licences_are_in_the_image(tmp_path):
    if not LICENCES.exists():
        pytest.skip("this is no Debian, or one without licences")
    image_root.build.collect_licences({"coreutils"}, tmp_path / "licences")
    assert (tmp_path / "licences/coreutils").read_text() == LICENCES.read_text()


def add(tar, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def write_release(folder):
    """A wheel that has a part of zlib, and an image with chown and zlib."""
    with zipfile.ZipFile(folder / "stoker-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("stoker/licences/zlib1g", "")
        wheel.writestr("stoker/licences/Apache-2.0", "")
        wheel.writestr("stoker-1.dist-info/METADATA", "Name: stoker\nRequires-Dist: numpy>=1\n")
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w:gz") as tar:
        for name in ("licences/zlib1g", "licences/coreutils", "usr/bin/stokerd"):
            add(tar, name, b"")
    with tarfile.open(folder / "stoker-1.oci.tar", "w") as image:
        add(image, "blobs/layer", layer.getvalue())
        add(image, "manifest.json", json.dumps([{"Layers": ["blobs/layer"]}]).encode())


def test_the_sbom_has_what_is_in_wheel_and_image(tmp_path):
    write_release(tmp_path)
    query = tmp_path / "bin/dpkg-query"
    query.parent.mkdir()
    query.write_text("#!/bin/sh\necho \"1.2+3 of-$5\"\n")
    query.chmod(0o755)
    said = subprocess.run(
        [sys.executable, SOURCE / "packaging/sbom.py", "1", tmp_path], check=True, text=True,
        stdout=subprocess.PIPE, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000",
                                     "PATH": f"{query.parent}:{os.environ['PATH']}"}).stdout
    sbom = json.loads(said)
    zlib, chown = ("pkg:deb/debian/" + name for name in ("zlib1g@1.2%2B3", "coreutils@1.2%2B3"))
    needs = {row["ref"]: row["dependsOn"] for row in sbom["dependencies"]}
    assert needs["stoker-1-py3-none-any.whl"] == [zlib, "pkg:pypi/numpy"]
    assert sorted(needs["stoker-1.oci.tar"]) == sorted([zlib, chown])
    names = [part["bom-ref"] for part in sbom["components"]]
    assert len(names) == len(set(names)) and {zlib, chown, *needs} <= {*names, "stoker"}
    wheel = tmp_path / "stoker-1-py3-none-any.whl"
    digests = {part["name"]: part["hashes"][0]["content"] for part in sbom["components"]
               if "hashes" in part}
    assert digests[wheel.name] == hashlib.sha256(wheel.read_bytes()).hexdigest()


def test_a_build_waits_for_another_apt_get(tmp_path):
    """As Debian's own upgrades run it in the background of a new machine."""
    for name, body in (("apt-get", f'echo "$@" >>{tmp_path}/said'), ("dpkg-query", "exit 1"),
                       ("sudo", 'exec "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    subprocess.run([SOURCE / "tests/setup.sh", "wheel"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    update, install = (tmp_path / "said").read_text().splitlines()
    assert "update" in update and "DPkg::Lock::Timeout=" in install
