# SPDX-License-Identifier: MIT
"""Pictures that a user's code gives, as the daemon takes them."""
from __future__ import annotations

from typing import Any, List

import numpy as np


def pnm(made: Any) -> List[Any]:
    """The parts of a binary PNM file."""
    if not isinstance(made, np.ndarray) and hasattr(made, "convert"):  # of Pillow
        made = np.asarray(made if made.mode in ("L", "RGB") else made.convert("RGB"))
    if not isinstance(made, np.ndarray) or made.dtype != np.uint8:
        what = made.dtype if isinstance(made, np.ndarray) else type(made).__name__
        raise TypeError(f"a picture is an array of uint8 or a PIL image, not {what}; "
                        "gives='arrays' takes other arrays")
    channels = 1 if made.ndim == 2 else made.shape[2] if made.ndim == 3 else 0
    if channels not in (1, 3) or made.size == 0:
        raise ValueError(f"a picture has the shape (H, W, 3), (H, W, 1) or (H, W), not "
                         f"{made.shape}")
    height, width = made.shape[:2]
    head = b"P%d\n%d %d\n255\n" % (5 if channels == 1 else 6, width, height)
    return [head, np.ascontiguousarray(made).reshape(-1).data]
