# SPDX-License-Identifier: MIT
"""Code of a trainer's own, for feeders.py. It leaves the name of the node that made a sample in the
folder $FEEDERS_MADE, which all nodes see."""
import io
import os
import random
import time
from pathlib import Path

import numpy as np


class Code:
    """`count` samples."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        Path(os.environ["FEEDERS_MADE"], os.uname().nodename).touch()
        return {**self.make(), "index": index}

    def make(self):
        raise NotImplementedError


class Waits(Code):
    """20 ms, as for a database's answer."""

    def make(self):
        time.sleep(0.02)
        return {"x": np.random.rand(4, 3).astype(np.float32), "y": random.randrange(1000)}


class Draws(Code):
    """Some 20 ms of a processor, in Pillow."""

    def make(self):
        from PIL import Image
        picture = Image.fromarray(np.random.randint(0, 256, (8, 8, 3), np.uint8))
        file = io.BytesIO()
        picture.resize((512, 512), Image.LANCZOS).save(file, "JPEG", quality=95)
        picture = Image.open(file).rotate(random.uniform(-20, 20), Image.BICUBIC)
        return {"pixels": np.asarray(picture.resize((64, 64), Image.LANCZOS))}
