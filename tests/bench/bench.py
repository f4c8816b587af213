# SPDX-License-Identifier: MIT
"""The bench: stoker beside what it is compared with, in turn, in one run; medians and spread.

    make bench                          on made photographs
    make bench DATA=/my/data            on a folder with a folder of pictures for each class
    make bench ARGS=--quick             one short round: to see it work, not for figures
    make bench ARGS='--only daemon,index --rounds 7'

Both sides make the usual training batch: RandomResizedCrop(224), flip, normalise (train), or
Resize(256), CenterCrop(224), normalise (val); float32, NCHW, 64 images; each trainer is a process
that reads every byte of every batch. The DataLoader has Pillow and torchvision below it and as many
worker processes as stokerd has workers. Files are in the page cache.

Every row is a ratio of two things measured in turn, round by round; the ratio is the median of the
rounds'. A bar is what is aimed at on a quiet machine of two cores, with photographs of ImageNet's
kind; with --strict a missed one makes the exit code 1.
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import sys
import tempfile
from types import SimpleNamespace

import bombs
import cache
import crowd
import formats
import handover
import index
import kernels
import limit
import loop
import memory
import own_code
import peers
import producers
import rates
import rewritten
import sweep
import table
import trainers
from machine import model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "demo"))
import photos  # noqa: E402 (it stands in the demo's folder)

# Each has rows(options): a title, then table.Row's.
SECTIONS = {"kernels": kernels, "formats": formats, "daemon": rates, "loop": loop,
            "limit": limit, "trainers": trainers, "latency": handover, "index": index,
            "cache": cache, "cache-disk": SimpleNamespace(rows=cache.disk_rows),
            "cache-epochs": SimpleNamespace(rows=cache.epoch_rows),
            "cache-streams": SimpleNamespace(rows=cache.stream_rows), "rewritten": rewritten,
            "memory": memory, "own-code": own_code, "producers": producers, "sweep": sweep,
            "crowd": crowd, "peers": peers, "bombs": bombs}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--workers", type=int, default=2, help="at most (default: 2)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement")
    parser.add_argument("--only", help="sections, with commas: " + ", ".join(SECTIONS))
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON",
                        help="measure this peer, too, with the interpreter that has it: "
                        "OpenCV, spdl, tf.data, DALI or Chainer")
    parser.add_argument("--quick", action="store_true", help="one round of one second each")
    parser.add_argument("--json", type=pathlib.Path, help="write all values to this file")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bar is missed")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 1
    options.peer = dict(text.split("=", 1) for text in options.peer)
    options.only = options.only.split(",") if options.only else list(SECTIONS)
    for name in options.only:
        if name not in SECTIONS:
            parser.error(f"no section {name}: there are {', '.join(SECTIONS)}")
    return options


def main():
    options = parse()
    measured = {}
    with contextlib.ExitStack() as stack:
        options.scratch = pathlib.Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="stoker-bench-")))
        what = f"photographs of {options.data}"
        if options.data is None:
            options.data = options.scratch / "photos"
            what = f"{len(photos.make(str(options.data), count=400, plain=True))} made photographs"
        print(f"{what}; batches of 64 x 3 x 224 x 224 float32; {options.rounds} rounds, "
              f"{options.seconds:g} s a measurement\n{model()}, {len(os.sched_getaffinity(0))} "
              f"cores, Linux {platform.release()}, Python {platform.python_version()}\n"
              "median (least-most); ratio: stoker / the other\n", flush=True)
        for name in options.only:
            rows = list(SECTIONS[name].rows(options))
            if rows:
                table.show(name, rows)
                measured[name] = rows
    if options.json:
        options.json.write_text(json.dumps(
            {name: [row.as_map() for row in rows] for name, rows in measured.items()}, indent=1))
    judged = [row for rows in measured.values() for row in rows if row.met is not None]
    missed = [row.what for row in judged if not row.met]
    print(f"{len(judged) - len(missed)} of {len(judged)} bars met"
          + "".join(f"\nmissed: {what}" for what in missed))
    sys.exit(1 if missed and options.strict else 0)


if __name__ == "__main__":
    main()
