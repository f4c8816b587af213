# SPDX-License-Identifier: MIT
"""What messages say of Buckets: the length of runs, in the lists of transforms of requests and
descriptions, and the sizes. Knows no place."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple


def run_of(transforms: Any) -> Optional[int]:
    """None: there are no Buckets, or nobody has said it."""
    for transform in transforms if isinstance(transforms, list) else []:
        if isinstance(transform, dict) and transform.get("name") == "Buckets":
            run = transform.get("run")
            return run if type(run) is int else None
    return None


def with_run(transforms: List[Dict[str, Any]], run: int) -> List[Dict[str, Any]]:
    """The same list, whose Buckets have runs of this length."""
    return [{**transform, "run": run} if transform.get("name") == "Buckets" else transform
            for transform in transforms]


def sizes_of(sizes: Any) -> List[Tuple[int, int]]:
    """The (height, width) that batches may have, of an ATTACHED; none: all have one."""
    pairs = sizes if isinstance(sizes, list) else []
    return [(pair[0], pair[1]) for pair in pairs
            if isinstance(pair, list) and [type(edge) for edge in pair] == [int, int]]
