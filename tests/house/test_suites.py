# SPDX-License-Identifier: MIT
"""`make test` runs every file of these folders: their meson.build names each once."""

import os
import pathlib
import re

import pytest

SOURCE = pathlib.Path(os.environ.get("STOKER_SOURCE", "."))


@pytest.mark.parametrize("folder", ["conformance", "daemon", "python"])
def test_every_file_is_in_one_target(folder):
    here = SOURCE / "tests" / folder
    table, = re.findall(r"_tests = \{\n(.*?)^\}", (here / "meson.build").read_text(),
                        re.MULTILINE | re.DOTALL)
    named = re.findall(r"'(\w+)'[],]", table)
    assert sorted(named) == sorted(path.stem.removeprefix("test_")
                                   for path in here.glob("test_*.py"))
