# SPDX-License-Identifier: MIT
"""Check that every file of C and C++ is laid out as `.clang-format` says.

Arguments: the root of the source, clang-format.
"""

import subprocess
import sys

from style import paths_of

ENDS = (".c", ".h", ".cpp", ".hpp")


def unformatted(program, root, names):
    """The lines of the program about the files that it would change."""
    done = subprocess.run([program, "--dry-run", "-Werror", *names], cwd=root, check=False,
                          capture_output=True, text=True)
    return [line for line in done.stderr.splitlines() if "error:" in line]


def self_test(program, root):
    done = subprocess.run([program, "--dry-run", "-Werror", "--assume-filename=a.c"], cwd=root,
                          input="int  a ;\n", check=False, capture_output=True, text=True)
    assert done.returncode, "what is laid out badly passes"


def main():
    root, program = sys.argv[1:]
    self_test(program, root)
    faults = unformatted(program, root, [n for n in paths_of(root) if n.endswith(ENDS)])
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
