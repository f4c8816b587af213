# SPDX-License-Identifier: MIT
"""Check the words of comments and names, as far as they can be counted: see CONTRIBUTING.md.

Arguments: the root of the source. Looks at the C files of daemon/, proto/ and client/. All other
sources, those of tests too, are looked through for words of PRIVATE alone, but "anew", and the
functions of tests in Python for names of UNSAID.

A comment in front of a declaration begins with a verb or a noun, so with none of BEGINNINGS. No
name of a file, identifier or comment has one of the words of PRIVATE: each has a term of the field
in its place. No file and no struct is called by one of VAGUE alone: an adjective is no noun.
"""

import os
import re
import sys

from style import paths_of

SOURCES = (".c", ".h", ".hpp", ".py", ".go", ".rs", ".java", ".js", ".ts", ".sh")
TOPS = ("daemon/", "proto/", "client/c/", "client/ctl/")
BEGINNINGS = ["What", "Of", "It", "Its", "Who", "Whose", "Whom", "Whoever", "Whatever", "Whichever",
              "Which", "Whether", "That", "Those", "These", "This", "They", "Them", "Where", "When",
              "How", "The same", "Same", r"\.\.\."]
BEGINNING = re.compile(r"^/\*+\s*(?:\* )?(" + "|".join(BEGINNINGS) + r")(?!\w)", re.MULTILINE)
# The word, and what is written in its place.
PRIVATE = {
    "anew": "again",
    "crew": "thread group",
    "remnant": "orphan",
    "scout": "read-ahead",
    "shelf": "index directory",
    "surplus": "eviction",
}
WORD = re.compile("(?<![a-z])(" + "|".join(PRIVATE) + ")(?:e?s)?(?![a-z])", re.IGNORECASE)
VAGUE = "exact|flight|given|known|own|pace|told|visit|whole"
VAGUE_NAME = re.compile(rf"\bstruct ({VAGUE})\b|\b(?:\w+_)?told(?:_\w+)?(?=;| =)")
VAGUE_FILE = re.compile(rf"/({VAGUE})\.[ch]$")
# Names of helpers that do not say what they do.
UNSAID = re.compile(r"^ *def (of|own|said)\((?!self\b)", re.MULTILINE)
UNSPACED = re.compile(r"^[ \t]+\*[A-Za-z]")


def comment_lines(text):
    """(number, line) of each line that goes on with a block comment in column 0."""
    within = False
    for number, line in enumerate(text.split("\n"), 1):
        if within:
            yield number, line
        within = (within or line.startswith("/*")) and "*/" not in line


def is_c(path):
    return path.startswith(TOPS) and path.endswith((".c", ".h"))


def words_of(path, text):
    """The private words of one file, as (line number, words)."""
    found = WORD.search(os.path.basename(path))
    if found:
        yield 1, f"its name has the private word {found[1]!r}: {PRIVATE[found[1].lower()]}"
    for number, line in enumerate(text.split("\n"), 1):
        for match in WORD.finditer(line):
            if match[1].lower() != "anew" or is_c(path):
                yield number, f"a private word, {match[1]!r}: {PRIVATE[match[1].lower()]}"
    if path.startswith("tests/") and path.endswith(".py"):
        for match in UNSAID.finditer(text):
            yield (text.count("\n", 0, match.start(1)) + 1,
                   f"a function is called {match[1]!r}: what does it do?")


def faults_of(path, text):
    """Everything that is wrong with one file, as (line number, words)."""
    yield from words_of(path, text)
    if not is_c(path):
        return
    found = VAGUE_FILE.search(path)
    if found:
        yield 1, f"its name is {found[1]!r}: what is it?"
    for match in BEGINNING.finditer(text):
        yield (text.count("\n", 0, match.start(1)) + 1,
               f"a comment begins with {match[1]!r}: begin with a verb or a noun")
    for number, line in enumerate(text.split("\n"), 1):
        for match in VAGUE_NAME.finditer(line):
            yield number, f"{match[0]!r}: what is it?"
    for number, line in comment_lines(text):
        if UNSPACED.match(line):
            yield number, "no blank after the * of a comment"


def self_test():
    bad = {
        "beginning": "/* What a job is for. */\nint a;\n",
        "beginning of a head": "/*\n * Whose turn it is.\n */\n",
        "two words": "/* The same without a lock. */\nint a;\n",
        "word": "/* Threads of a scout. */\n",
        "identifier": "int read_scouts(void);\n",
        "blank": "/*\n *Text.\n */\n",
        "vague struct": "struct known;\n",
        "vague member": "struct ring {\n\tbool told;\n};\n",
    }
    for what, text in bad.items():
        assert list(faults_of("daemon/a.c", text)), f"{what}: went unnoticed"
    assert list(faults_of("tests/a.py", "def of(one):\n    pass\n")), "name of a helper: unnoticed"
    assert list(faults_of("client/go/a.go", "// The crew.\n")), "word of a client: unnoticed"
    for path in "daemon/scouts.c", "daemon/dataset/known.h":
        assert list(faults_of(path, "int a;\n")), f"{path}: went unnoticed"
    good = "/* Item of a list. */\nint item;\n/*\n * Whatsoever of boyscouting: text.\n */\n"
    assert not list(faults_of("daemon/a.c", good)), list(faults_of("daemon/a.c", good))


def main():
    self_test()
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    bad = count = 0
    for path in paths_of(root):
        if not path.endswith(SOURCES) or path == "tests/style/words.py":
            continue
        with open(os.path.join(root, path), encoding="utf-8", newline="") as file:
            text = file.read()
        count += 1
        for line, why in faults_of(path, text):
            bad += 1
            print(f"{path}:{line}: {why}")
    print(f"{count} files, {bad} faults of words")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
