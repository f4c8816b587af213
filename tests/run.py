# SPDX-License-Identifier: MIT
"""Run the tests of one build folder and end with one line: "N passed, N failed".

`meson test` runs the programs; one program may hold many tests (cmocka, pytest, a replayed corpus),
so what each of them says about its own tests is counted from meson's log.

A program that fails is run once more when all others have ended. If it passes alone, its second run
counts and it is named: most of the tests wait for another process, and a machine that stands still
for seconds fails some of them. What a sanitizer reported is never repeated. How many did so has a
line of its own before the sum, "N passed only when repeated".
"""

import argparse
import json
import os
import re
import subprocess
import sys

import place  # noqa: F401 (temporary files and the umask are settled)

TAP = re.compile(r"^(ok|not ok)\b(.*)$", re.MULTILINE)
CMOCKA = re.compile(r"^\[ +(OK|FAILED) +\] (\w+)$", re.MULTILINE)
SANITIZER = re.compile(r"(Address|Thread|Leak|UndefinedBehavior)Sanitizer|runtime error: ")
WELL = ("OK", "EXPECTEDFAIL", "SKIP")


def words(entry):
    """All that one program printed, from its line in the log."""
    return (entry.get("stdout") or "") + "\n" + (entry.get("stderr") or "")


def count(entry):
    """(passed, failed, skipped) of one program."""
    said = words(entry)
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
    well = entry["result"] in WELL
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
    assert may_repeat({"result": "FAIL", "stdout": "not ok 1 - a\n"})
    assert not may_repeat({"result": "FAIL", "stderr": "WARNING: ThreadSanitizer: data race"})
    assert not may_repeat({"result": "OK"})


def may_repeat(entry):
    """Whether a second run may show that nothing is wrong with it."""
    return entry["result"] not in WELL and not SANITIZER.search(words(entry))


def meson_test(build, log, arguments):
    """(exit status of `meson test`, what its log says of each program, by name)."""
    path = os.path.join(build, "meson-logs", log + ".json")
    if os.path.exists(path):
        os.unlink(path)
    # One more than there are processors: tests of the daemon wait a third of their time.
    threads = {"MESON_TESTTHREADS": str(len(os.sched_getaffinity(0)) + 1), **os.environ}
    code = subprocess.call(["meson", "test", "-C", build, "--no-rebuild", "--print-errorlogs",
                            "--logbase", log, *arguments], env=threads)
    entries = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="replace") as lines:
            entries = {entry["name"]: entry for entry in map(json.loads, lines)}
    return code, entries


def repeat(build, entries, arguments):
    """Run what failed once more, alone. Returns (exit status, the entries of what passed now)."""
    options = [pair for pair in zip(arguments, arguments[1:])
               if pair[0] in ("--timeout-multiplier", "-t")]
    names = [name.rpartition(" / ")[2] for name, entry in entries.items() if may_repeat(entry)]
    print("\nonce more, alone:", *names, flush=True)
    code, again = meson_test(build, "testlog-repeated",
                             ["--num-processes", "1", *sum(map(list, options), []), *names])
    return code, {name: entry for name, entry in again.items() if entry["result"] in WELL}


def run(build, arguments):
    """Run `meson test` with these arguments; the exit status."""
    code, entries = meson_test(build, "testlog", arguments)
    repeated = 0
    failed = [entry for entry in entries.values() if entry["result"] not in WELL]
    # More than a few is not the machine.
    if 0 < len(failed) <= 3 and any(map(may_repeat, failed)):
        again, passed = repeat(build, entries, arguments)
        entries.update(passed)
        code = again if len(passed) == len(failed) else code
        repeated = len(passed)
        for name in passed:
            print(f"{name}: failed, and passed when it was repeated")
    total = [sum(column) for column in zip(*map(count, entries.values()))] or [0, 0, 0]
    passed, failed, skipped = total
    if code and not failed:
        failed = 1
    if skipped:
        print(f"{skipped} skipped: the log says why ({build}/meson-logs/testlog.txt)")
    print(f"{repeated} passed only when repeated")
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
