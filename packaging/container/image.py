#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The container image as one file: an OCI layout in a tar, with a manifest.json for programs that
read Docker's archives. `skopeo copy` takes it as oci-archive:FILE and as docker-archive:FILE. Needs
neither podman nor a registry.

    packaging/container/image.py ROOT FILE

ROOT is what root.py makes. The settings are those of the Containerfile. The same files give the
same bytes: owners and times are none of this machine's, the time is SOURCE_DATE_EPOCH.
"""
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
NAME = "localhost/stoker:latest"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
OCI = "application/vnd.oci.image"


def settings():
    """What the last stage of the Containerfile says of the image, as OCI names it."""
    last = (HERE / "Containerfile").read_text().split("FROM scratch")[1]
    said = dict(re.findall(r"^(USER|ENV|ENTRYPOINT) (.*)$", last, re.M))
    return {"User": said["USER"], "Env": said["ENV"].split(),
            "Entrypoint": json.loads(said["ENTRYPOINT"])}


def plain(member, epoch):
    """A member of a tar without what differs from machine to machine."""
    executable = member.isdir() or member.mode & 0o100
    member.mode = 0o755 if executable else 0o644
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = epoch
    return member


def tar_of(root, epoch):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(root.rglob("*")):
            tar.add(path, str(path.relative_to(root)), recursive=False,
                    filter=lambda member: plain(member, epoch))
    return out.getvalue()


def as_json(value):
    return json.dumps(value, sort_keys=True).encode()


def blob(files, content, kind):
    """Keeps the content by its digest, and describes it."""
    digest = hashlib.sha256(content).hexdigest()
    files[f"blobs/sha256/{digest}"] = content
    return {"mediaType": f"{OCI}.{kind}", "digest": f"sha256:{digest}", "size": len(content)}


def layout(root, epoch):
    """Names and contents of the files of an OCI layout; manifest.json is for `docker load`."""
    files = {}
    tar = tar_of(root, epoch)
    layer = blob(files, gzip.compress(tar, mtime=0), "layer.v1.tar+gzip")
    config = blob(files, as_json({
        "architecture": ARCHITECTURES[os.uname().machine], "os": "linux", "config": settings(),
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(tar).hexdigest()]},
    }), "config.v1+json")
    manifest = blob(files, as_json({
        "schemaVersion": 2, "mediaType": f"{OCI}.manifest.v1+json", "config": config,
        "layers": [layer]}), "manifest.v1+json")
    manifest["annotations"] = {"org.opencontainers.image.ref.name": NAME,
                               "io.containerd.image.name": NAME}
    place = {name: f"blobs/sha256/{what['digest'].split(':')[1]}"
             for name, what in (("config", config), ("layer", layer))}
    files["oci-layout"] = as_json({"imageLayoutVersion": "1.0.0"})
    files["index.json"] = as_json({"schemaVersion": 2, "manifests": [manifest]})
    files["manifest.json"] = as_json([{"Config": place["config"], "RepoTags": [NAME],
                                       "Layers": [place["layer"]]}])
    return files


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1].strip())
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    files = layout(pathlib.Path(sys.argv[1]), epoch)
    with tarfile.open(sys.argv[2], "w", format=tarfile.GNU_FORMAT) as out:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            out.addfile(plain(member, epoch), io.BytesIO(content))


if __name__ == "__main__":
    main()
