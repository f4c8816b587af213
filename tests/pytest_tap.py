# SPDX-License-Identifier: MIT
"""Run pytest and report each test as a TAP line, so that meson and tests/run.py count tests and not
folders. Arguments are pytest's."""

import os
import signal
import sys
import tempfile

import place  # noqa: F401 (temporary files and the umask are settled)
import pytest


SECONDS = 180 * float(os.environ.get("STOKER_SLOW", "1"))  # that one test may take


class Slow:
    """A pytest plugin: a test that hangs fails, with where it stood, and the others go on."""

    @staticmethod
    def ring(_number, _frame):
        raise TimeoutError(f"the test takes more than {SECONDS:g} s")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self):
        before = signal.signal(signal.SIGALRM, self.ring)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        yield
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Tap:
    """A pytest plugin: one line a test, as soon as it is over; why it failed as comments."""

    def __init__(self, out):
        self.out = out
        self.number = 0

    def say(self, verdict, name, note=""):
        self.number += 1
        name = name.replace("#", "_")
        print(f"{verdict} {self.number} - {name}{note}", file=self.out, flush=True)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.say("ok", report.nodeid)
        elif report.skipped:
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
            self.say("ok", report.nodeid, f" # SKIP {why}".replace("\n", " "))
        elif report.failed:
            # Also when a fixture's set-up or its leak check at the end is what fails.
            self.say("not ok", f"{report.nodeid} ({report.when})")
            self.comment(report.longreprtext)
            for title, text in report.sections:
                self.comment(f"--- {title}\n{text[-4000:]}")

    def pytest_collectreport(self, report):
        if report.failed:
            self.say("not ok", f"{report.nodeid} (collect)")
            self.comment(report.longreprtext)

    def comment(self, text):
        for line in text.splitlines():
            print(f"# {line}", file=self.out, flush=True)

    def pytest_sessionfinish(self):
        print(f"1..{self.number}", file=self.out, flush=True)


if __name__ == "__main__":
    out = os.fdopen(os.dup(1), "w")  # pytest points 1 elsewhere while it captures
    os.dup2(2, 1)  # its own words go beside, not between
    # A folder of its own: in the user's common one each pytest that starts takes rights away.
    with tempfile.TemporaryDirectory(prefix="stoker-", ignore_cleanup_errors=True) as home:
        sys.exit(pytest.main(["-p", "no:cacheprovider", "-q", "--no-header", "--basetemp",
                              os.path.join(home, "pytest"), *sys.argv[1:]],
                             plugins=[Tap(out), Slow()]))
