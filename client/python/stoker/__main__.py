# SPDX-License-Identifier: MIT
"""`stoker`, or `python -m stoker`: which client this is, which programs it has, and which daemon
answers; the exit code is 1 if none does. `stoker produce` runs a user's own code for loaders."""
import os
import sys

from . import _address, _start
from ._version import __version__
from .errors import Error


def main() -> int:
    if sys.argv[1:2] == ["produce"]:
        from .produce.__main__ import produce
        return produce(sys.argv[2:])
    print(f"client     stoker {__version__}, {os.path.dirname(os.path.abspath(__file__))}")
    for name in ("stokerd", "stokerctl"):
        print(f"{name:10} {_start.program(name) or 'neither in this package nor in $PATH'}")
    try:
        path, connection = _address.find(None)
    except Error as error:
        print(f"daemon     {error}")
        return 1
    connection.close()
    print(f"daemon     {connection.daemon}, {path}")
    note = _address.other_version(connection.daemon)
    if note:
        print(f"           {note}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
