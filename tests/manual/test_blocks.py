# SPDX-License-Identifier: MIT
"""Code blocks of README.md and the manual do what the pages say; see blocks.py. The pages of
NIGHTLY run where STOKER_NIGHTLY is set, as .ci/nightly does."""
import importlib.util
import os
import subprocess
import sys

import pytest

import blocks
import not_run

PAGES = [page for page in blocks.pages() if page != "README.md" and blocks.blocks(page)]


def missing(page):
    return [name for name in not_run.NEEDS.get(page, ()) if importlib.util.find_spec(name) is None]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """The folder that the how-to pages begin with, made by the program that they show."""
    program, = (block for block in blocks.blocks("docs/how-to/index.md")
                if block.title == "make_pictures.py")
    folder = tmp_path_factory.mktemp("data")
    subprocess.run([sys.executable, "-c", program.text], cwd=folder, check=True)
    return folder / "pictures"


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of(page, tmp_path, pictures):
    if missing(page):
        pytest.skip(f"there is no {', '.join(missing(page))}")
    if page in not_run.NIGHTLY and not os.environ.get("STOKER_NIGHTLY"):
        pytest.skip(f"left to .ci/nightly: {not_run.NIGHTLY[page]}")
    data = [pictures] if page.startswith("docs/how-to/") and "index" not in page else []
    assert blocks.run(page, tmp_path, data) == []


def test_few_are_not_run():
    every = [block for page in blocks.pages() for block in blocks.blocks(page)]
    left = [block for block in every if block.why_not()]
    assert len(left) == len(not_run.BLOCKS), "not_run.py names a block that is not there"
    assert len(left) * 6 <= len(every), f"{len(left)} of {len(every)}"


@pytest.mark.parametrize("page", blocks.pages())
def test_syntax_of(page):
    for block in blocks.blocks(page):
        assert blocks.syntax(block) == "", block.text


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/how-to/")
                                  and "index" not in page])
def test_it_ends_with_what_shows_that_it_worked(page):
    """The last block has an output."""
    assert blocks.blocks(page)[-1].output


def test_a_wrong_block_is_noticed(tmp_path, monkeypatch):
    assert blocks.matches("a 12 b\n", "a ... b") and not blocks.matches("a 12 c", "a ... b")
    page = tmp_path / "page.md"
    monkeypatch.setattr(blocks, "SOURCE", tmp_path)
    for text, fault in (("```sh\nfalse\n```\n", "ended with 1"),
                        ("```sh\necho a\n```\n\n```text\nb\n```\n", "and not\nb"),
                        ("```python\n1 / 0\n```\n", "ZeroDivisionError"),
                        ('```python title="a.py"\nprint(2)\n```\n\n```sh\npython3 a.py\n```\n\n'
                         "```text\n3\n```\n", "gave\n2")):
        page.write_text(text)
        folder = tmp_path / str(len(text))
        folder.mkdir()
        found, = blocks.run("page.md", folder)
        assert fault in found
    assert blocks.syntax(blocks.Block("page.md", "sh", None, "if true\n"))
