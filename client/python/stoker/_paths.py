# SPDX-License-Identifier: MIT
"""Absolute paths that lead where open() leads. Any thread."""
from __future__ import annotations

import os
from typing import Dict, Optional


def absolute(path: str, parents: Optional[Dict[str, str]] = None) -> str:
    """The path of the same file from the root on, without ``.`` and ``..``. Unlike
    os.path.abspath(): ``..`` behind a symbolic link is the parent of where that leads, and behind
    what is not there it stays, so that whoever opens it says so.

    ``parents``: what was found before, of paths that come together."""
    parts = os.path.join(os.getcwd(), path).split("/")
    if ".." not in parts:
        return os.path.normpath("/".join(parts))
    cut = len(parts) - parts[::-1].index("..")
    head, parents = "/".join(parts[:cut]), {} if parents is None else parents
    if head not in parents:
        parents[head] = os.path.realpath(head) if os.path.isdir(head) else head
    rest = os.path.normpath("/".join(parts[cut:])) if cut < len(parts) else "."
    return os.path.join(parents[head], rest) if rest != "." else parents[head]
