# SPDX-License-Identifier: MIT
"""The container image as a file (packaging/container/image.py): the same files give the same bytes
in any folder, with any umask and times; each digest is of what lies there; tar(1) gets the files
back; what podman and docker start is what the Containerfile says."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MAKE = SOURCE / "packaging/container/image.py"


def make(folder, umask, time):
    """An image of three files, written in another order, at another time, for each umask."""
    before = os.umask(umask)
    try:
        for name in sorted(("usr/bin/stokerd", "etc/passwd", "lib/libc.so.6"), reverse=umask > 0):
            path = folder / "root" / name
            path.parent.mkdir(parents=True)
            path.write_text(f"this is {name}\n")
            path.chmod((0o777 if "bin" in name else 0o666) & ~umask)
            os.utime(path, (time, time))
        subprocess.run([sys.executable, MAKE, folder / "root", folder / "image.tar"], check=True,
                       env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
    finally:
        os.umask(before)
    return folder / "image.tar"


def test_twice_the_same_bytes(tmp_path):
    first = make(tmp_path / "first", 0o022, 1)
    second = make(tmp_path / "a deeper/second", 0o077, 10**9)
    assert first.read_bytes() == second.read_bytes()


def test_what_is_in_it(tmp_path):
    image, there = make(tmp_path / "one", 0o077, 5), tmp_path / "there"
    there.mkdir()
    subprocess.run(["tar", "-C", there, "-xf", image], check=True)
    for path in (there / "blobs/sha256").iterdir():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name

    def at(what):
        path = there / "blobs/sha256" / what["digest"].removeprefix("sha256:")
        assert path.stat().st_size == what["size"]
        return path

    manifest = json.loads(at(json.loads((there / "index.json").read_text())["manifests"][0])
                          .read_text())
    config = json.loads(at(manifest["config"]).read_text())
    assert config["config"] == {
        "User": "65532:65532", "Entrypoint": ["/usr/bin/stokerd"],
        "Env": ["XDG_CONFIG_HOME=/etc", "LD_BIND_NOW=1", "STOKER_SOCKET=/run/stoker/stokerd.sock"]}
    layer = at(manifest["layers"][0])
    plain = subprocess.run(["gzip", "-dc"], stdin=layer.open("rb"), check=True,
                           stdout=subprocess.PIPE).stdout
    assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(plain).hexdigest()]
    with tarfile.open(layer) as tar:
        files = {member.name: member for member in tar}
    assert files["usr/bin/stokerd"].mode == 0o755 and files["etc/passwd"].mode == 0o644
    assert {(member.uid, member.gid, member.mtime) for member in files.values()} == {
        (0, 0, 1700000000)}
    docker = json.loads((there / "manifest.json").read_text())[0]
    assert (there / docker["Config"]) == at(manifest["config"])
    assert [there / name for name in docker["Layers"]] == [layer]
