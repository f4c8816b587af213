# SPDX-License-Identifier: MIT
"""Check the house style, as far as a machine can: see CONTRIBUTING.md.

Arguments: the root of the source. Looks at the files that git knows (all files, outside a clone).
"""

import os
import re
import subprocess
import sys

COLUMNS = 100
FILE_LINES = 500
FUNCTION_LINES = 60

# Files that may be longer, each with its reason.
LONG_FILES = {}
# Functions that may be longer, each with its reason.
LONG_FUNCTIONS = {}

SPDX = "SPDX-License-Identifier: MIT"
NO_SPDX = {"LICENSE", ".gitignore", ".editorconfig", ".clang-format"}
NO_SPDX_ENDS = (".md", ".bin", ".json", ".hex")
TEXT_ENDS = (".c", ".h", ".py", ".sh", ".build", ".md", ".txt", ".toml", ".service", ".socket",
             ".conf", ".in", ".map")
# Spelled apart: this file is read too.
OPEN_ENDS = re.compile(r"\b(" + "|".join(["XX" + "X", "TO" + "DO", "FIX" + "ME"]) + r")\b")


def columns(line):
    return len(line.expandtabs(8))


def functions_of(text):
    """(name, first line, number of lines) of each function: its braces stand in column 0."""
    lines = text.split("\n")
    start = None
    for number, line in enumerate(lines):
        if line == "{":
            start = number
        elif line.startswith("}") and start is not None:
            head = "".join(lines[max(0, start - 8):start])
            names = re.findall(r"(\w+)\(", head.rpartition(";")[2].rpartition("}")[2])
            yield (names[0] if names else "?", start + 1, number - start - 1)
            start = None


def faults_of_line(path, line):
    if line != line.rstrip():
        yield "blanks at the end"
    if not path.endswith(".md") and columns(line) > COLUMNS:
        yield f"{columns(line)} columns, more than {COLUMNS}"
    if OPEN_ENDS.search(line):
        yield "an open end: finish it, or refuse with an error"
    indent = re.match(r"[ \t]*", line).group(0)
    if path.endswith((".c", ".h")):
        if " \t" in line:
            yield "a space before a tab"
        elif len(indent.expandtabs(8)) - 8 * indent.count("\t") >= 8:
            yield "indented with spaces, not tabs"
    elif path.endswith((".py", ".build")) and "\t" in indent:
        yield "indented with tabs, not spaces"


def faults_of(path, text):
    """Everything that is wrong with one file, as (line number, words)."""
    name = os.path.basename(path)
    lines = text.split("\n")
    if name not in NO_SPDX and not name.endswith(NO_SPDX_ENDS):
        if not any(SPDX in line for line in lines[:2]):
            yield 1, "no SPDX line on top"
    if text and not text.endswith("\n"):
        yield len(lines), "no newline at the end"
    if text.endswith("\n\n"):
        yield len(lines) - 1, "empty lines at the end"
    if "\r" in text:
        yield 1, "carriage returns"
    for number, line in enumerate(lines, 1):
        for why in faults_of_line(path, line):
            yield number, why
    if path.endswith((".c", ".h")):
        length = len(lines) - 1
        if length > FILE_LINES and path not in LONG_FILES:
            yield 1, f"{length} lines, more than {FILE_LINES}: more than one noun?"
        for function, start, length in functions_of(text):
            if length > FUNCTION_LINES and (path, function) not in LONG_FUNCTIONS:
                yield start, f"{function}() has {length} lines, more than {FUNCTION_LINES}"


def paths_of(root):
    git = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others",
                          "--exclude-standard"], capture_output=True, text=True, check=False)
    if git.returncode == 0:
        names = [name for name in git.stdout.split("\0") if name]
    else:
        names = [os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, found in os.walk(root) for name in found]
    special = {"Makefile", ".ci/run"} | NO_SPDX
    for name in sorted(names):
        if name.endswith(TEXT_ENDS) or name in special:
            if os.path.isfile(os.path.join(root, name)):
                yield name


def self_test():
    head = f"/* {SPDX} */\n"
    body = "\tint b = 0;\n" * (FUNCTION_LINES + 1)
    bad = {
        "no SPDX": ("a.c", "int a;\n"),
        "blanks": ("a.c", head + "int a; \n"),
        "columns": ("a.c", head + "\t" * 12 + "a = 12345;\n"),
        "open end": ("a.py", f"# {SPDX}\n# TO" + "DO\n"),
        "spaces": ("a.c", head + "int f(void)\n{\n        return 0;\n}\n"),
        "space, tab": ("a.c", head + "int \ta;\n"),
        "tabs": ("a.py", f"# {SPDX}\nif a:\n\tb()\n"),
        "newline": ("a.c", head + "int a;"),
        "empty lines": ("a.c", head + "int a;\n\n"),
        "long file": ("a.c", head + "int a;\n" * FILE_LINES),
        "long function": ("a.c", head + "int f(int a,\n      int b)\n{\n" + body + "}\n"),
    }
    for what, (path, text) in bad.items():
        assert list(faults_of(path, text)), f"{what}: went unnoticed"
    good = head + "/*\n * Why.\n */\nint f(int a,\n      int b)\n{\n\treturn a +\n\t       b;\n}\n"
    assert not list(faults_of("a.c", good)), list(faults_of("a.c", good))
    assert list(functions_of(good)) == [("f", 7, 2)], list(functions_of(good))


def main():
    self_test()
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    bad = count = 0
    for path in paths_of(root):
        with open(os.path.join(root, path), encoding="utf-8", newline="") as file:
            text = file.read()
        count += 1
        for line, why in faults_of(path, text):
            bad += 1
            print(f"{path}:{line}: {why}")
    print(f"{count} files, {bad} faults of style")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
