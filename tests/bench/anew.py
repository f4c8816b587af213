# SPDX-License-Identifier: MIT
"""The section "anew": progressive JPEGs, which can have no seek index, written anew in memory
(cache-memory too small for their pixels), one worker, through the whole daemon: beside the same
files without, the same pictures as baseline files, and a DataLoader; and what it costs the first
epochs. Lossless copies of the photographs are made for it."""

import argparse
import pathlib

from PIL import Image

from cache import kept, together
from rates import epochs, manifest, measure
from table import Row


def copies(options, kind):
    """The options with the photographs as JPEGs of this kind, of the same coefficients."""
    scratch = options.scratch / kind
    folder = scratch / "photos" / "all"
    folder.mkdir(parents=True)
    for path in sorted(options.data.resolve().rglob("*")):
        if path.is_file():
            with Image.open(path) as image:
                if image.format == "JPEG" and image.mode == "RGB":
                    image.save(folder / f"{path.stem}.jpg", quality="keep", optimize=True,
                               progressive=kind == "progressive")
    return argparse.Namespace(**{**vars(options), "data": folder.parent, "scratch": scratch})


def rows(options):
    slow, fast = copies(options, "progressive"), copies(options, "baseline")
    files = [line.split("\t")[0] for line in manifest(fast).read_text().splitlines()]
    # What the copies take, in whole pages, and a quarter: few pixels fit beside them.
    budget = sum(pathlib.Path("/", name).stat().st_size + 4096 for name in files) * 5 // 4
    ours, plain, baseline, torch = [], [], [], []
    for _ in range(options.rounds):
        rate, counters = kept(slow, "train", budget)
        ours.append(rate)
        plain.append(kept(slow, "train", 0)[0])
        baseline.append(kept(fast, "train", 0)[0])
        torch.append(measure("torch", slow, "train", 1))
    yield Row("progressive, 1 worker; decoded as they are", ours, plain, "images/s", at_least=5.5)
    yield Row("the same; baseline files", ours, baseline, "images/s", at_least=0.9)
    yield Row("the same; DataLoader", ours, torch, "images/s", at_least=3.5)
    yield Row("written anew, of a hundred files",
              [100 * counters["cache_files"] / len(files)], None, "")
    first, four = ([], []), ([], [])
    for _ in range(options.rounds):
        for side, memory in enumerate((budget, 0)):
            rates = epochs(slow, "train", 1, 4, cache_memory=memory)
            first[side].append(rates[0])
            four[side].append(together(rates))
    yield Row("first epoch; without", *first, "images/s", at_least=0.97)
    yield Row("first four epochs; without", *four, "images/s", at_least=1.1)
