# SPDX-License-Identifier: MIT
"""Data that the scripts make for themselves, in the folder that is theirs; and what they print of
batches."""
import hashlib
from pathlib import Path

import numpy as np


def pictures(folder, classes=3, each=8, size=40):
    """A folder for each class, of JPEGs of a size of their own."""
    from PIL import Image
    root = Path(folder) / "train"
    if root.exists():
        return str(root)
    rng = np.random.RandomState(1)
    for label in range(classes):
        home = root / f"class{label}"
        home.mkdir(parents=True)
        for number in range(each):
            height, width = size + rng.randint(12), size + rng.randint(12)
            small = rng.randint(0, 256, (5, 5, 3)).astype(np.uint8)
            picture = Image.fromarray(small).resize((width, height), Image.BICUBIC)
            picture.save(home / f"{number:03}.jpg", quality=90)
    return str(root)


def digest(thing):
    """A few digits of any tree of arrays, tensors, numbers and texts."""
    found = hashlib.sha256()
    _add(found, thing)
    return found.hexdigest()[:12]


def _add(found, thing):
    if isinstance(thing, dict):
        for key, value in thing.items():
            found.update(str(key).encode())
            _add(found, value)
    elif isinstance(thing, (list, tuple)):
        for value in thing:
            _add(found, value)
    elif isinstance(thing, (str, bytes, int, float, bool, type(None))):
        found.update(repr(thing).encode())
    else:
        array = np.ascontiguousarray(np.asarray(thing))
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(array.tobytes())
