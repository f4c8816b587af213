# SPDX-License-Identifier: MIT
"""The commands stokerd and stokerctl of an environment: they become this package's programs."""
import os
import sys
from typing import NoReturn


def _become(name: str) -> NoReturn:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    os.execv(path, [path, *sys.argv[1:]])


def stokerd() -> NoReturn:
    _become("stokerd")


def stokerctl() -> NoReturn:
    _become("stokerctl")
