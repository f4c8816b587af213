# SPDX-License-Identifier: MIT
"""Scripts of tests/scripts, with their framework's import and with one import changed; those that
are quick, of frameworks that are here."""
import sys
from pathlib import Path

import pytest

from real_daemon import binary

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
sys.path.insert(0, str(SCRIPTS))

import run  # noqa: E402


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """What `run.py --quick` found, by the scripts' names: in a process of its own, since it
    forks."""
    if binary() is None:
        pytest.skip("no stokerd was built")
    return run.rows_of_another(["--quick"], tmp_path_factory.mktemp("scripts"))


@pytest.mark.parametrize("name", [script.name for script in run.scripts(quick=True)])
def test_one_import_changed(rows, name):
    verdict, words = rows[name]
    if verdict == "skipped":
        pytest.skip(words)
    assert verdict == "passed", words


def test_lines_that_differ_are_told():
    assert run.compare(["1", "plan x"], ["1"]) == ["plan x"]
    run.compare(["about mean 0.51 0.1"], ["about mean 0.45 0.1"])
    for ours, theirs in (["1"], ["2"]), (["1"], ["1", "2"]), ([], []), \
            (["about mean 0.6 0.1"], ["about mean 0.45 0.1"]):
        with pytest.raises(AssertionError):
            run.compare(ours, theirs)
