# SPDX-License-Identifier: MIT
"""Run the tests of one build folder and end with one line: "N passed, N failed".

`meson test` runs the programs; one program may hold many tests (cmocka, pytest, a replayed corpus),
so what each of them says about its own tests is counted from meson's log.
"""

import argparse
import json
import os
import re
import subprocess
import sys

TAP = re.compile(r"^(ok|not ok)\b(.*)$", re.MULTILINE)
CMOCKA = re.compile(r"^\[ +(OK|FAILED) +\] (\w+)$", re.MULTILINE)


def count(entry):
    """(passed, failed, skipped) of one program, from its line in the log."""
    said = (entry.get("stdout") or "") + "\n" + (entry.get("stderr") or "")
    passed = failed = skipped = 0
    for verdict, rest in TAP.findall(said):
        if re.search(r"# *skip", rest, re.IGNORECASE):
            skipped += 1
        elif verdict == "ok":
            passed += 1
        else:
            failed += 1
    if not passed + failed + skipped:
        cases = {}
        for verdict, name in CMOCKA.findall(said):
            cases[name] = cases.get(name, True) and verdict == "OK"
        passed = sum(cases.values())
        failed = len(cases) - passed
    well = entry["result"] in ("OK", "EXPECTEDFAIL", "SKIP")
    if entry["result"] == "SKIP" and not passed + failed + skipped:
        skipped = 1
    elif well and not passed + failed + skipped:
        passed = 1
    elif not well and not failed:
        failed = 1  # it fell before, after or beside its own tests
    return passed, failed, skipped


def self_test():
    cases = [
        ({"result": "OK", "stdout": "1..2\nok 1 - a\nok 2 - b # SKIP none\n"}, (1, 0, 1)),
        ({"result": "FAIL", "stdout": "ok 1 - a\nnot ok 2 - b\n"}, (1, 1, 0)),
        ({"result": "TIMEOUT", "stdout": "ok 1 - a\n"}, (1, 1, 0)),
        ({"result": "FAIL", "stderr": "[       OK ] a\n[  FAILED  ] b\n[  FAILED  ] b\n"},
         (1, 1, 0)),
        ({"result": "OK", "stdout": "nothing to count"}, (1, 0, 0)),
        ({"result": "ERROR"}, (0, 1, 0)),
    ]
    for entry, expected in cases:
        assert count(entry) == expected, (entry, count(entry), expected)


def run(build, arguments):
    """Run `meson test` with these arguments; the exit status."""
    log = os.path.join(build, "meson-logs", "testlog.json")
    if os.path.exists(log):
        os.unlink(log)
    # One more than there are processors: tests of the daemon wait a third of their time.
    threads = {"MESON_TESTTHREADS": str(len(os.sched_getaffinity(0)) + 1), **os.environ}
    code = subprocess.call(["meson", "test", "-C", build, "--no-rebuild", "--print-errorlogs",
                            *arguments], env=threads)
    total = [0, 0, 0]
    if os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                total = [a + b for a, b in zip(total, count(json.loads(line)))]
    passed, failed, skipped = total
    if code and not failed:
        failed = 1
    if skipped:
        print(f"{skipped} skipped: the log says why ({build}/meson-logs/testlog.txt)")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def main():
    self_test()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    options, more = parser.parse_known_args()  # the rest is for meson test: --suite unit, names
    return run(options.build, more)


if __name__ == "__main__":
    sys.exit(main())
