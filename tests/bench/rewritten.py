# SPDX-License-Identifier: MIT
"""The section "rewritten": JPEGs that can have no seek index (progressive, arithmetic, with restart
intervals), rewritten in memory (cache-memory too small for their pixels), one worker, through
the whole daemon: beside progressive files that are decoded as they are, the same pictures as
baseline files, and a DataLoader; and what it costs the first epochs. Lossless copies of the
photographs are made for it by libjpeg-turbo's jpegtran (Debian: libjpeg-turbo-progs)."""

import argparse
import pathlib
import shutil
import subprocess

from PIL import Image

from cache import kept, together
from rates import epochs, later, manifest, measure
from table import Row

KINDS = {"progressive": ["-progressive"], "arithmetic": ["-arithmetic"],
         "restart intervals": ["-optimize", "-restart", "1"]}
NOT_PILLOWS = "arithmetic"  # it reads them in pieces, of which libjpeg makes nothing


def copies(options, kind, switches):
    """The options with the photographs as JPEGs of this kind, of the same coefficients."""
    scratch = options.scratch / kind.replace(" ", "-")
    folder = scratch / "photos" / "all"
    folder.mkdir(parents=True)
    for path in sorted(options.data.resolve().rglob("*")):
        if path.is_file():
            with Image.open(path) as image:
                usable = image.format == "JPEG" and image.mode == "RGB"
            if usable:
                subprocess.run(["jpegtran", "-copy", "all", *switches, "-outfile",
                                folder / f"{path.stem}.jpg", path], check=True)
    return argparse.Namespace(**{**vars(options), "data": folder.parent, "scratch": scratch})


def room(options):
    """A manifest's files and what they take in memory, in whole pages, and a quarter: few pixels
    fit beside them."""
    files = [line.split("\t")[0] for line in manifest(options).read_text().splitlines()]
    return files, sum(pathlib.Path("/", name).stat().st_size + 4096 for name in files) * 5 // 4


def rows(options):
    if not shutil.which("jpegtran"):
        raise SystemExit("the section rewritten needs jpegtran (Debian: libjpeg-turbo-progs)")
    fast = copies(options, "baseline", ["-optimize"])
    kinds = {kind: copies(options, kind, switches) for kind, switches in KINDS.items()}
    slow = kinds["progressive"]
    files, budget = room(fast)
    plain, baseline, written = [], [], {}
    ours, torch = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}
    for _ in range(options.rounds):
        plain.append(later(slow, "train", 1))
        baseline.append(kept(fast, "train", 0)[0])
        for kind, copy in kinds.items():
            rate, counters = kept(copy, "train", budget)
            ours[kind].append(rate)
            written[kind] = 100 * counters["cache_files"] / len(files)
            if kind != NOT_PILLOWS:
                torch[kind].append(measure("torch", copy, "train", 1))
    for kind, rates in ours.items():
        yield Row(f"{kind}, 1 worker; progressive as they are", rates, plain, "images/s",
                  at_least=5.5)
        yield Row("the same; baseline files", rates, baseline, "images/s", at_least=0.9)
        if torch[kind]:
            yield Row("the same; DataLoader", rates, torch[kind], "images/s", at_least=3.5)
        yield Row("rewritten, of a hundred files", [written[kind]], None, "")
    first, four = ([], []), ([], [])
    for _ in range(options.rounds):
        for side, memory in enumerate((budget, 0)):
            rates = epochs(slow, "train", 1, 4, cache_memory=memory)
            first[side].append(rates[0])
            four[side].append(together(rates))
    yield Row("progressive, first epoch; without", *first, "images/s", at_least=0.97)
    yield Row("first four epochs; without", *four, "images/s", at_least=1.1)
