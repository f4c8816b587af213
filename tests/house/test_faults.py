# SPDX-License-Identifier: MIT
"""docs/FAULTS.md: each fault has a test, and each test that is named there names the fault."""

import os
import pathlib
import re

import pytest

SOURCE = pathlib.Path(os.environ.get("STOKER_SOURCE", "."))
FAULTS = 92
ROW = re.compile(r"^\| (\d+) \| .* \| ([^|]*) \|$", re.MULTILINE)
NAMED = re.compile(r"FAULTS\s+((?:A\.2 and )?\d+(?:(?:,\s*| and | to )\d+)*)")


def rows():
    """{number: files}, in the table's order."""
    found = ROW.findall((SOURCE / "docs" / "FAULTS.md").read_text())
    return {int(number): re.findall(r"`([^`]+)`", files) for number, files in found}


def faults_of(path):
    """The numbers that a test's text names."""
    said = " ".join(NAMED.findall(path.read_text()))
    return {int(number) for number in re.findall(r"(?<![.\d])\d+", said)}


def test_each_fault_is_there():
    assert list(rows()) == list(range(1, FAULTS + 1))


@pytest.mark.parametrize("number", range(1, FAULTS + 1))
def test_its_tests_name_it(number):
    files = rows()[number]
    assert files, "nobody tests it"
    for file in files:
        assert number in faults_of(SOURCE / file), file


def test_the_check_can_fail(tmp_path):
    (tmp_path / "test_x.py").write_text('"""FAULTS 5, 11 and 12: no 7. FAULTS A.2 and 3."""')
    assert faults_of(tmp_path / "test_x.py") == {3, 5, 11, 12}
