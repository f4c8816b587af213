#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scripts as users write them, run with their framework's own import and with one import changed.

    tests/scripts/run.py [--build BUILD] [--quick] [NAME...]

Each file beside this one that has a line

    from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader

is a script: it runs as it is, then with what stands behind "or:" in that line's place. Its argument
is an empty folder, the same for both, for the data that it makes. The two must print the same
lines; of a line "about NAME VALUE TOLERANCE" the values may differ by the tolerance: they are of
what is drawn. A line "plan ..." is only shown.

Comments at the head of a script:

    # needs: torch torchvision     without these modules it is skipped
    # quick                        one of those that `make test` runs (--quick)
    # alone                        in a process of its own; the others are forked from this one,
                                   which has imported what they need
    # run: PROGRAM ARGUMENTS       with that before its name, as torchrun

Prints a table and how many passed and failed; exits 0 if none failed.
"""
import argparse
import atexit
import importlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
_CHANGED = re.compile(r"^( *).*?  # or: (.*)$", re.MULTILINE)
_SECONDS = 240 * float(os.environ.get("STOKER_SLOW", "1"))


class Script:
    def __init__(self, path):
        self.name, self.text = path.stem, path.read_text(encoding="utf-8")
        head = [line[2:] for line in self.text.splitlines() if line.startswith("# ")]
        self.needs = self._said(head, "needs:")
        self.run = self._said(head, "run:")
        self.quick, self.alone = "quick" in head, "alone" in head or bool(self.run)

    @staticmethod
    def _said(head, word):
        return [part for line in head if line.startswith(word) for part in line.split()[1:]]

    def changed(self):
        """With the other import."""
        text, count = _CHANGED.subn(r"\1\2", self.text)
        assert count, f"{self.name} has no line with '# or:'"
        return text

    def missing(self):
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


def scripts(names=(), quick=False):
    """Those of these names or beginnings of names; all."""
    found = [Script(path) for path in sorted(HERE.glob("*.py"))
             if path.stem != "run" and _CHANGED.search(path.read_text(encoding="utf-8"))]
    return [script for script in found if (script.quick or not quick) and
            (not names or any(script.name.startswith(name) for name in names))]


def _exec(path, arguments, out, err):
    """In a forked process: as `python path arguments` does it. Does not return."""
    status = 1
    try:
        os.setsid()
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.argv, sys.path[0] = [str(path), *arguments], str(path.parent)
        main = types.ModuleType("__main__")
        main.__file__ = str(path)
        sys.modules["__main__"] = main
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), main.__dict__)
        status = 0
    except SystemExit as error:
        status = int(error.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _start(script, path, arguments, out, err):
    """The process' id."""
    if not script.alone:
        sys.stdout.flush()
        return os.fork() or _exec(path, arguments, out, err)
    program = script.run or [sys.executable]
    if program[0] == "torchrun":
        program = [sys.executable, "-m", "torch.distributed.run", *program[1:]]
    return subprocess.Popen([*program, str(path), *arguments], stdout=out, stderr=err,
                            start_new_session=True).pid


def _wait(pid):
    """Its exit status; it is killed after a time that only a hung one needs."""
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return f"none within {_SECONDS:g} s"


def run(script, text, folder, data):
    """(seconds, lines) of one run. Raises AssertionError with its last words if it failed."""
    folder.mkdir()
    path = folder / f"{script.name}.py"
    path.write_text(text, encoding="utf-8")
    for beside in HERE.glob("*.py"):
        if beside.stem not in ("run", script.name):
            (folder / beside.name).symlink_to(beside)
    begun = time.monotonic()
    with open(folder / "out", "w+b") as out, open(folder / "err", "w+b") as err:
        status = _wait(_start(script, path, [str(data)], out, err))
        out.seek(0), err.seek(0)
        lines, words = (file.read().decode("utf-8", "replace") for file in (out, err))
    assert status == 0, f"exit status {status}\n{lines[-2000:]}\n{words[-4000:]}"
    return time.monotonic() - begun, lines.splitlines()


def compare(ours, theirs):
    """Raises AssertionError that names the first line that differs. torchrun puts a rank before
    each."""
    ours, theirs = ([line.partition("]:")[2] if line.startswith("[default") else line
                     for line in lines] for lines in (ours, theirs))
    plans = [line for line in ours if line.startswith("plan ")]
    ours, theirs = ([line for line in lines if not line.startswith("plan ")]
                    for lines in (ours, theirs))
    for number, (one, other) in enumerate(zip(ours, theirs), 1):
        about, wanted = one.split(), other.split()
        if about[:1] == ["about"] and about[:2] == wanted[:2]:
            assert abs(float(about[2]) - float(wanted[2])) <= float(wanted[3]), \
                f"line {number}: {one!r}, and theirs {other!r}"
        else:
            assert one == other, f"line {number}: {one!r}, and theirs {other!r}"
    assert len(ours) == len(theirs), f"{len(ours)} lines, and theirs {len(theirs)}"
    assert theirs, "it prints nothing that could be compared"
    return plans


def both(script, home):
    """(seconds of theirs, of ours, lines "plan"). Raises AssertionError."""
    data = home / "data"
    data.mkdir(parents=True)
    theirs_s, theirs = run(script, script.text, home / "theirs", data)
    ours_s, ours = run(script, script.changed(), home / "ours", data)
    return theirs_s, ours_s, compare(ours, theirs)


def result(script, home):
    """A row of the table: name, verdict, seconds of theirs and ours, words."""
    missing = script.missing()
    if missing:
        return script.name, "skipped", 0, 0, "needs " + ", ".join(missing)
    try:
        theirs_s, ours_s, plans = both(script, home / script.name)
    except AssertionError as error:
        return script.name, "failed", 0, 0, str(error)
    return script.name, "passed", theirs_s, ours_s, "; ".join(dict.fromkeys(
        line[len("plan "):] for line in plans))


def results(found, folder):
    """The rows, as they come. A daemon runs meanwhile; the environment names it."""
    sys.path.insert(1, str(HERE.parent / "python"))
    from real_daemon import RealDaemon
    own = HERE.parents[1] / "client" / "python"
    os.environ.update(XDG_RUNTIME_DIR=str(folder), OMP_NUM_THREADS="1", PYTHONPATH=os.pathsep.join(
        filter(None, [str(own), os.environ.get("PYTHONPATH")])))
    sys.path.insert(1, str(own))  # the first is of the script
    daemon = RealDaemon(folder)
    os.environ["STOKER_SOCKET"] = daemon.path
    try:
        for script in found:
            if not script.alone and not script.missing():
                for name in script.needs:
                    importlib.import_module(name)
            yield result(script, folder)
    finally:
        daemon.stop()


def rows_of_another(arguments, folder):
    """{name: (verdict, words)} of this program, run by another one."""
    path = Path(folder) / "rows"
    done = subprocess.run([sys.executable, __file__, "--rows", str(path), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert path.exists(), done.stdout
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {name: (verdict, words) for name, verdict, _, _, words in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="or the beginning of names")
    parser.add_argument("--build", type=Path, help="default: the newest build")
    parser.add_argument("--quick", action="store_true", help="those that `make test` runs")
    parser.add_argument("--rows", type=Path, help="a file for the rows, as JSON")
    given = parser.parse_args()
    if given.build:
        os.environ["STOKER_BUILD"] = str(given.build.resolve())
    count = dict.fromkeys(("passed", "failed", "skipped"), 0)
    folder = tempfile.mkdtemp(prefix="stoker-scripts-")  # what is forked would tidy up another one
    try:
        for name, verdict, theirs_s, ours_s, words in results(scripts(given.names, given.quick),
                                                              Path(folder)):
            count[verdict] += 1
            if given.rows:
                with open(given.rows, "a", encoding="utf-8") as file:
                    print(json.dumps([name, verdict, theirs_s, ours_s, words]), file=file)
            print(f"{name:24} {verdict:8} {theirs_s:6.1f} s {ours_s:6.1f} s  {words}", flush=True)
    finally:
        shutil.rmtree(folder)
    print(f"{count['skipped']} skipped")
    print(f"{count['passed']} passed, {count['failed']} failed")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
