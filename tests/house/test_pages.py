# SPDX-License-Identifier: MIT
"""The manual: written from what it is about where it can be, and mandoc has nothing against it."""
import re
import shutil
import subprocess

import pytest

import pages
from test_libstoker import declared

MANUAL = sorted([*(path for path in pages.PAGES if not path.endswith(".md")),
                 "client/ctl/stokerctl.1", "client/python/stoker.1", "daemon/stokerd.8"])


@pytest.mark.parametrize("path", sorted(pages.PAGES))
def test_what_is_written_is_up_to_date(path):
    """tests/house/pages.py writes them."""
    assert (pages.SOURCE / path).read_text() == pages.PAGES[path]()


def test_nothing_is_left_out():
    names = {name for name, *_ in pages.options()}
    assert {"workers", "socket", "log-level", "dataset-root"} <= names and len(names) > 25
    man = pages.SOURCE / "client/c/man"
    parts = [re.findall(r"^\.SS (\w+)\(\)$", page.read_text(), re.MULTILINE)
             for page in man.glob("*.3")]
    assert sorted(sum(parts, [])) == sorted(declared())
    # Each is found by its own name: the pages, and links to them that are installed.
    links = re.findall(r"'(stoker_\w+)'", (man / "meson.build").read_text())
    assert sorted(links) == sorted(declared())


def test_each_program_of_python_has_a_page():
    """And Debian's package takes it along, else lintian refuses that."""
    scripts = (pages.SOURCE / "client/python/pyproject.toml").read_text()
    names = re.findall(r"^(\w+) = ", scripts.split("[project.scripts]\n")[1].split("[")[0], re.M)
    taken = (pages.SOURCE / "packaging/deb/debian/python3-stoker.manpages").read_text().split()
    assert taken == [f"client/python/{name}.1" for name in names] and set(taken) <= set(MANUAL)


@pytest.mark.parametrize("path", MANUAL)
def test_mandoc_has_nothing_against_it(path, tmp_path):
    if not shutil.which("mandoc"):
        pytest.skip("no mandoc")

    def lint(file):
        return subprocess.run(["mandoc", "-T", "lint", "-W", "warning", file], text=True,
                              check=False, capture_output=True).stdout

    assert lint(pages.SOURCE / path) == ""
    (tmp_path / "bad").write_text((pages.SOURCE / path).read_text() + ".XX\n.BR\n")
    assert lint(tmp_path / "bad")
