# SPDX-License-Identifier: MIT
"""What a program sets in the libraries that make its samples: a worker that torch forks has it, and
a producer, which imports them anew, is told. Any thread."""
from __future__ import annotations

import sys
from typing import Any, Dict, Optional

import torch

_PILLOW = {"PIL.ImageFile": "LOAD_TRUNCATED_IMAGES", "PIL.Image": "MAX_IMAGE_PIXELS"}
_USUAL = {"LOAD_TRUNCATED_IMAGES": False, "torch": torch.float32, "torchvision": "PIL"}


def settings() -> Dict[str, Any]:
    """As they are now, of what is imported."""
    out: Dict[str, Any] = {"torch": torch.get_default_dtype()}
    if "torchvision" in sys.modules:
        out["torchvision"] = sys.modules["torchvision"].get_image_backend()
    for module, name in _PILLOW.items():
        if module in sys.modules:
            out[name] = getattr(sys.modules[module], name)
    return out


def unusual() -> Optional[str]:
    """What is set so that the daemon's pictures are not those of the program."""
    for name, value in settings().items():
        if name in _USUAL and value != _USUAL[name]:
            what = {"torch": "torch's default dtype", "torchvision": "torchvision's image backend"}
            return f"{what.get(name, name)} is {value}"
    return None


def put(told: Dict[str, Any]) -> None:
    """In a producer, what settings() gave in the program."""
    torch.set_default_dtype(told["torch"])
    if "torchvision" in told:
        import torchvision
        torchvision.set_image_backend(told["torchvision"])
    for module, name in _PILLOW.items():
        if name in told:
            __import__(module)
            setattr(sys.modules[module], name, told[name])
