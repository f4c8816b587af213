# SPDX-License-Identifier: MIT
"""Words for people: what the daemon does of a loader's work, and what the user's own code. Knows
requests and producers; asks nobody."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional

if TYPE_CHECKING:
    from .processes import Producers


def plan(request: Dict[str, Any], source: Optional[Producers], mapped: Optional[Producers]) -> str:
    """A line for each party, in the order in which a sample passes them."""
    dataset = request["dataset"]
    parts = dataset.get("parts", [dataset])
    lines: List[str] = []
    if parts[0].get("kind") == "code":
        lines.append(source.words() if source is not None else
                     f"{parts[0]['path']} runs in processes that another program starts "
                     "(`stoker produce`)")
    else:
        lines.append("the daemon reads " + " and ".join(str(part["path"]) for part in parts))
    if "arrays" in parts[0]:
        lines.append("the daemon orders and shares what it gives")
        return "\n".join(lines)
    lines.append("the daemon decodes and keeps pictures")
    for step in request["transforms"]:
        if step["name"] == "Map" and mapped is not None:
            lines.append(mapped.words())
        else:
            lines.append(f"the daemon makes {step['name']}")
    return "\n".join(lines)
