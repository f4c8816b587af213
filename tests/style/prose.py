# SPDX-License-Identifier: MIT
"""Check the prose of the manual's tutorials and how-to pages: no sentence above 30 words, no line
above 100 columns. Code blocks, tables and headings are left out.

Arguments: the root of the source.
"""

import re
import sys
from pathlib import Path

WORDS = 30
COLUMNS = 100
CODE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
SENTENCE = re.compile(r"(?<=[.!?])[\"')*]*\s+(?=[\"'(*`A-Z])")


def faults_of(text):
    """Everything that is wrong with one page, as (line number, words)."""
    prose = CODE.sub(lambda match: "\n" * match[0].count("\n"), text)
    at = 1
    for paragraph in re.split(r"(\n\s*\n)", prose):
        if paragraph.strip() and not paragraph.lstrip().startswith(("|", "#")):
            for number, line in enumerate(paragraph.split("\n"), at):
                if len(line) > COLUMNS:
                    yield number, f"{len(line)} columns, more than {COLUMNS}"
            plain = re.sub(r"\]\([^)]*\)", "]", paragraph)
            for sentence in SENTENCE.split(" ".join(plain.split())):
                count = len(sentence.split())
                if count > WORDS:
                    yield at, f"a sentence of {count} words, more than {WORDS}: {sentence[:40]}..."
        at += paragraph.count("\n")


def self_test():
    long = "word\n" * WORDS
    assert [number for number, _ in faults_of(f"A.\n\nThis is {long}.\n")] == [3]
    assert [number for number, _ in faults_of("A.\n\n" + "x" * (COLUMNS + 1) + "\n")] == [3]
    short = "word\n" * (WORDS - 1)
    assert not list(faults_of(f"A {short[:-1]}. A {short[:-1]}.\n"))
    assert not list(faults_of(f"```sh\n{'x' * 200}\n{long}more\n```\n\n| {long} | {long} |\n"))


def main():
    self_test()
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    pages = sorted(page for part in ("tutorials", "how-to")
                   for page in (root / "docs" / part).glob("*.md"))
    bad = 0
    for page in pages:
        for line, why in faults_of(page.read_text(encoding="utf-8")):
            bad += 1
            print(f"{page.relative_to(root)}:{line}: {why}")
    print(f"{len(pages)} pages, {bad} faults of prose")
    return 1 if bad or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
