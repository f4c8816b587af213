# SPDX-License-Identifier: MIT
"""The files below a folder, for what converts datasets. Any thread."""
from __future__ import annotations

import os
from typing import FrozenSet, List, Tuple, Union

# As torchvision's ImageFolder has them, and what else the daemon decodes.
IMAGES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
PICTURES = IMAGES + (".gif", ".avif", ".pbm", ".pnm")


def files(top: str, endings: Tuple[str, ...]) -> List[Tuple[str, str]]:
    """(folder, name) of the files below with one of these endings, by folder, then by name. Links
    are followed. What is hidden (._x, .DS_Store, __MACOSX) is left out. Raises OSError for a folder
    that cannot be read, for a link to nothing, and for links that lead in a circle."""
    found: List[Tuple[str, str]] = []
    left: List[Tuple[str, FrozenSet[str]]] = [(top, frozenset())]  # and the folders it lies in
    while left:
        place, above = left.pop()
        real = os.path.realpath(place)
        if real in above:
            raise OSError(f"{place} leads back to {real}, which it lies in: remove the link")
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name == "__MACOSX":
                    continue
                if entry.is_dir():
                    left.append((entry.path, above | {real}))
                elif os.path.splitext(entry.name)[1].lower() in endings:
                    if entry.is_symlink():
                        os.stat(entry.path)  # raises, with the path, where there is nothing
                    found.append((place, entry.name))
    return sorted(found)


def is_picture(path: Union[str, bytes]) -> bool:
    """Is it the name of a picture, by its ending?"""
    return os.fsdecode(path[-5:]).lower().endswith(PICTURES)
