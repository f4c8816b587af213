#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The files of the container image, in a new folder: stokerd, stokerctl and chown, the shared
libraries that they need, certificate authorities for HTTPS, and a user. No shell, no package
manager.

    packaging/container/root.py FOLDER

The programs are those of the wheel, with static libraries: what is left to copy is nearly nothing
but glibc. chown is for the init container of packaging/helm, which gives the daemon's user the
folder of the sockets. The authorities are those of Debian's package: authorities that this machine
trusts beside them are left out. The licence of each package is there. tests/setup.sh wheel installs
what is needed of Debian.
"""
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "wheel"))
import build  # noqa: E402 (it stands in another folder)

USER = 65532
CHOWN = pathlib.Path("/bin/chown")
PASSWD = f"root:x:0:0:root:/:/none\nstokerd:x:{USER}:{USER}:stoker:/:/none\n"
GROUP = f"root:x:0:\nstokerd:x:{USER}:\n"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
AUTHORITIES = pathlib.Path("/usr/share/ca-certificates/mozilla")
FOLDERS = ("run/stoker", "etc/stoker", "var/cache/stokerd", "tmp", "proc", "sys", "dev")


def libraries_of(program):
    """Paths of the dynamic linker and of all shared libraries, as the program asks for them."""
    return re.findall(r"(/\S+) \(0x", build.said("ldd", program))


def certificates():
    """The authorities of Debian's package, as update-ca-certificates joins them."""
    parts = [path.read_text().rstrip("\n") for path in sorted(AUTHORITIES.glob("*.crt"))]
    assert parts, f"{AUTHORITIES}: no certificates; please install ca-certificates"
    return "\n".join(parts) + "\n"


def lay_out(root, programs):
    """Writes all files but the licences. Returns those that were copied from the system."""
    copied = {CHOWN}
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    (root / "usr/bin").mkdir(parents=True)
    for program in programs:
        shutil.copy(program, root / "usr/bin")
        for library in libraries_of(program):
            there = root / library[1:]
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, there)
            copied.add(library)
    (root / CERTIFICATES).parent.mkdir(parents=True)
    (root / CERTIFICATES).write_text(certificates())
    (root / "etc/passwd").write_text(PASSWD)
    (root / "etc/group").write_text(GROUP)
    return copied


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1].strip())
    root = pathlib.Path(sys.argv[1])
    root.mkdir(parents=True)
    build.WORK.mkdir(exist_ok=True)
    made, maps = build.compile_programs()
    ours = [made / target for target in build.PROGRAMS.values()]
    copied = lay_out(root, [*ours, CHOWN])
    for name in build.PROGRAMS:
        build.run("strip", root / "usr/bin" / name)
    packages = build.packages_in(ours, maps) | {build.package_of(file) for file in copied}
    build.collect_licences((packages | {"ca-certificates"}) - {None}, root / "licences")


if __name__ == "__main__":
    main()
