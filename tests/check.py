# SPDX-License-Identifier: MIT
"""Choose the tests for a change and run them: seconds, where all of them take minutes.

    check.py --build BUILD [NAME...]

Runs the checks of style, the replayed corpora, a black-box target (daemon-first), the tests NAMEd
and the unit tests of each room with a file that differs from the upstream branch (from HEAD without
one). Tests of the suite "long" are left to `make test`.
"""

import argparse
import json
import os
import re
import subprocess
import sys

import run

ALWAYS = {"style", "fuzz", "daemon-first"}
# Where a test is called otherwise than the folder of what it tests.
ROOMS = {"c": "client", "main": "loop"}


def room_of(path):
    """The folder in tests/ of what tests this file, or None."""
    match = re.match(r"(?:daemon|client|tests/unit|tests)/(\w+)|(proto)/", path)
    room = match and (match.group(1) or match.group(2))
    return ROOMS.get(room, room)


def touched():
    """(what is compared with, the files that differ from it)."""
    def git(*arguments):
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else ""

    base = git("rev-parse", "--abbrev-ref", "@{upstream}").strip() or "HEAD"
    names = (git("diff", "-z", "--name-only", "--merge-base", base) +
             git("ls-files", "-z", "--others", "--exclude-standard"))
    return base, set(names.split("\0")) - {""}


def folder_of(test):
    """The folder in tests/ or tests/unit/ of its program or script, in the build or the source."""
    for part in map(os.path.normpath, test["cmd"]):
        match = re.search(r"/tests/(?:unit/)?(\w+)/[^/]+$", part)
        if match:
            return match.group(1)
    return None


def chosen(tests, rooms, named):
    """Names of the tests that are to run."""
    for test in tests:
        suites = {suite.rpartition(":")[2] for suite in test["suite"]}
        folder = folder_of(test)
        quick = suites & ALWAYS or {folder, test["name"]} & ALWAYS or (
            folder in rooms and not suites & {"daemon", "long"})
        if quick or test["name"] in named:
            yield test["name"]


def self_test():
    assert room_of("daemon/decode/jpeg/jpeg.c") == room_of("tests/unit/decode/x.py") == "decode"
    assert room_of("client/c/ring.c") == "client" and room_of("proto/tables.h") == "proto"
    assert room_of("daemon/config.c") == "config" and room_of("client/python/a/b.py") == "python"
    assert room_of("README.md") is None
    tests = [{"name": "a", "suite": ["stoker:unit"], "cmd": ["/b/tests/unit/base/test_a"]},
             {"name": "b", "suite": ["stoker:unit", "stoker:long"],
              "cmd": ["/usr/bin/python3", "/b/tests/unit/base/b.py"]},
             {"name": "c", "suite": ["stoker:unit"], "cmd": ["/b/tests/unit/work/test_c"]},
             {"name": "style", "suite": ["stoker:style"], "cmd": ["/s/tests/style/style.py"]}]
    assert list(chosen(tests, {"base"}, [])) == ["a", "style"]
    assert list(chosen(tests, set(), ["b"])) == ["b", "style"]


def main():
    self_test()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("name", nargs="*")
    options = parser.parse_args()
    tests = json.loads(subprocess.run(["meson", "introspect", options.build, "--tests"], check=True,
                                      capture_output=True, text=True).stdout)
    base, files = touched()
    rooms = {room_of(path) for path in files} & {folder_of(test) for test in tests} - {None}
    names = list(chosen(tests, rooms, options.name))
    print(f"{len(names)} tests; what differs from {base}: {', '.join(sorted(rooms)) or 'nothing'}")
    return run.run(options.build, names)


if __name__ == "__main__":
    sys.exit(main())
