# SPDX-License-Identifier: MIT
"""Where tests lie. A clone may be anywhere: below a folder that only its owner may enter, below
/tmp, in a path with blanks or of 200 bytes; TMPDIR and the umask may be anything. What does not
work from there has a place here: temporary files (sockets among them), and what others run: other
users, the loader (LD_PRELOAD), systemd.

To import it settles TMPDIR and the umask, of what this process starts too.
"""

import atexit
import os
import pathlib
import re
import shutil
import tempfile

SOURCE = pathlib.Path(os.environ.get("STOKER_SOURCE", pathlib.Path(__file__).parents[1])).resolve()
BUILD = pathlib.Path(os.environ.get("STOKER_BUILD", SOURCE / "build")).resolve()
# The address of a socket has at most 107 bytes, and pytest's folders for one test take 80.
SHORT = 12
# What is of use only as a whole.
TREES = (SOURCE / "client" / "python", BUILD / "conformance" / "java",
         BUILD / "conformance" / "node")

_folder = None  # of what is installed


def suits(folder):
    """Whether all users can enter it, and whatever reads its name takes it as it is."""
    folder = pathlib.Path(folder)
    return (re.fullmatch(r"/[\w./-]*", str(folder), re.ASCII) and len(str(folder)) <= SHORT
            and os.access(folder, os.W_OK | os.X_OK)
            and all(path.stat().st_mode & 1 for path in (folder, *folder.parents)))


def settle():
    """Temporary files in TMPDIR or, where that does not suit, in /tmp or /var/tmp."""
    os.umask(0o022)
    wish = os.environ.get("TMPDIR", "/tmp")
    os.environ["TMPDIR"] = next(filter(suits, (wish, "/tmp", "/var/tmp")), wish)
    tempfile.tempdir = None  # looks again


def installed(path):
    """Where others find a program, a library or a folder of the source or the build: a copy, until
    this process ends, that everybody may read. Not below /tmp, which some of them do not see."""
    path = pathlib.Path(os.path.abspath(path))
    for top, name in (BUILD, "build"), (SOURCE, "source"):
        if path.is_relative_to(top):
            break
    else:
        return path
    copy = _home() / name / path.relative_to(top)
    whole = next((tree for tree in TREES if path.is_relative_to(tree)), path)
    if not copy.exists():
        _copy(whole, _home() / name / whole.relative_to(top))
    return copy


def _home():
    global _folder
    if _folder is None:
        _folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-installed-", dir="/var/tmp"))
        _folder.chmod(0o755)
        atexit.register(_remove, os.getpid())
        library = BUILD / "client" / "c" / "libstoker.so.0"
        if library.exists():  # programs look for it beside them
            _copy(library, _folder / "build" / "client" / "c" / library.name)
    return _folder


def _copy(path, copy):
    copy.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, copy, copy_function=_copy_file,
                        ignore=shutil.ignore_patterns("__pycache__"))
        for folder in (copy, *copy.rglob("*/")):
            folder.chmod(0o755)
    else:
        _copy_file(path, copy)


def _copy_file(path, copy):
    shutil.copyfile(path, copy)
    os.chmod(copy, 0o755 if os.access(path, os.X_OK) else 0o644)


def _remove(owner):
    if os.getpid() == owner:  # and no fork of it
        shutil.rmtree(_folder, ignore_errors=True)


settle()
