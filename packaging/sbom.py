#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is in a release, as CycloneDX 1.5 on standard output: each artefact with its SHA-256, each
package of Debian of which the wheel or the container image has a part, with its version, and what
pip installs beside the wheel.

    packaging/sbom.py VERSION FOLDER

Runs where the wheel was built: dpkg knows the versions. The time is SOURCE_DATE_EPOCH.
"""
import datetime
import email
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

# The files of licences are named by packages. Those with capitals are the system's: Apache-2.0.
LICENCES = re.compile(r"(?:stoker/)?licences/([a-z0-9.+-]+)")


def artefact(path):
    return {"type": "file", "bom-ref": path.name, "name": path.name, "hashes": [
        {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}]}


def in_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def in_image(image):
    """The names of the files of a container image of one layer (container/image.py)."""
    with tarfile.open(image) as archive:
        layer, = json.load(archive.extractfile("manifest.json"))[0]["Layers"]
        with tarfile.open(fileobj=archive.extractfile(layer)) as files:
            return files.getnames()


def packages(files):
    """Debian's packages of which something is there: the licence of each is among the files."""
    found = map(LICENCES.fullmatch, files)
    for name in sorted(match[1] for match in found if match):
        known = subprocess.run(
            ["dpkg-query", "--show", "--showformat", "${Version} ${source:Package}\n", name],
            check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()[0]
        version, source = known.split()
        purl = f"pkg:deb/debian/{name.replace('+', '%2B')}@{version.replace('+', '%2B')}"
        yield {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
               "properties": [{"name": "debian:source", "value": source}]}


def requirements(wheel):
    """What pip installs beside the wheel, and has to be of which version."""
    with zipfile.ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        message = email.message_from_bytes(archive.read(metadata))
    for line in message.get_all("Requires-Dist", []):
        if ";" in line:  # of an extra
            continue
        name = re.match(r"[\w.-]+", line)[0]
        yield {"type": "library", "bom-ref": f"pkg:pypi/{name}", "name": name,
               "purl": f"pkg:pypi/{name}", "description": f"installed by pip: {line}"}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1].strip())
    version, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    wheel = next(folder.glob("stoker-*.whl"))
    image = next(folder.glob("*.oci.tar"))
    has = {wheel.name: [*packages(in_wheel(wheel)), *requirements(wheel)],
           image.name: [*packages(in_image(image))]}
    parts = {part["bom-ref"]: part for some in has.values() for part in some}
    files = [artefact(path) for path in sorted(folder.iterdir())
             if path.suffix in (".gz", ".whl", ".deb", ".tar")]
    when = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]),
                                           datetime.timezone.utc)
    whole = {"type": "application", "bom-ref": "stoker", "name": "stoker", "version": version,
             "licenses": [{"license": {"id": "MIT"}}]}
    json.dump({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": whole},
        "components": [*files, *parts.values()],
        "dependencies": [{"ref": "stoker", "dependsOn": [file["bom-ref"] for file in files]},
                         *({"ref": name, "dependsOn": [part["bom-ref"] for part in some]}
                           for name, some in has.items())],
    }, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
