#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""seeds.py FRAMES FOLDER: a file in the folder for the payload of each golden frame, to begin
fuzzing with. So a new message, field or key has a seed."""

import json
import sys
from pathlib import Path


def main():
    frames, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    folder.mkdir(exist_ok=True)
    for kind in ("frames", "accepted", "bad"):
        for number, row in enumerate(frames[kind]):
            (folder / f"{kind}-{number}").write_bytes(bytes.fromhex(row["hex"])[4:])


if __name__ == "__main__":
    main()
