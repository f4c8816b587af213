# SPDX-License-Identifier: MIT
"""Check that every header compiles alone, as C; and the public ones as C++ too.

Arguments: the root of the source, then the C compiler (cc) and the C++ compiler (c++).
"""

import os
import platform
import re
import subprocess
import sys

FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]
PUBLIC = tuple(f"client/c/stoker{part}.h" for part in ("", "_api", "_choices", "_produce"))
# Intrinsics of another processor than the compiler's.
OTHER_PROCESSOR = re.compile(r"avx\d+\.h$" if platform.machine() == "aarch64" else r"neon\.h$")


def why_not(compiler, language, standard, root, text):
    """What the compiler says against this text, or an empty string."""
    done = subprocess.run(
        [compiler, *FLAGS, f"-std={standard}", "-I", root, "-I", os.path.join(root, "daemon"),
         "-x", language, "-"], input=text, text=True, capture_output=True, check=False)
    return done.stderr if done.returncode else ""


def headers_of(root):
    for top in ("proto", "daemon", "client"):
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith(".h") and not OTHER_PROCESSOR.search(name):
                    yield os.path.relpath(os.path.join(folder, name), root)


def self_test(c, cpp, root):
    assert why_not(c, "c", "gnu11", root, "size_t lonely(void);\n"), "C: went unnoticed"
    assert not why_not(c, "c", "gnu11", root, "#include <stddef.h>\nsize_t fine(void);\n")
    bad = 'extern "C" {\nint take(struct thing *class);\n}\n'
    assert why_not(cpp, "c++", "c++11", root, bad), "C++: went unnoticed"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    c = sys.argv[2] if len(sys.argv) > 2 else "cc"
    cpp = sys.argv[3] if len(sys.argv) > 3 else "c++"
    self_test(c, cpp, root)
    bad = count = 0
    for header in headers_of(root):
        # Twice: a header also has to bear being included again.
        text = f'#include "{header}"\n#include "{header}"\n'
        checks = [(c, "c", "gnu11")] + [(cpp, "c++", "c++11")] * (header in PUBLIC)
        for compiler, language, standard in checks:
            count += 1
            why = why_not(compiler, language, standard, root, text)
            if why:
                bad += 1
                print(f"{header} does not compile alone as {language}:\n{why}")
    print(f"{count} headers, {bad} that do not compile alone")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
