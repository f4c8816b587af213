# SPDX-License-Identifier: MIT
"""That no byte depends on how it is made: everything, with each instruction set. Hours, if asked.

    PYTHON tests/bench/exact.py [--build BUILD] [--cases 20000] [--data FOLDER]

Pillow and torchvision are those of PYTHON (/usr/bin/python3 has Debian's), which needs pytest and
msgpack, too. Any Pillow makes both kinds of resizes, of 12 and of 13, and both are compared; beside
13 those of 13 are its own (tests/reference/pillow.py).

For each of plain C, AVX2 and AVX-512 (or the best below it that the machine has):
- CASES random pictures, crops, targets, flips, filters, dtypes and layouts against Pillow and
  torchvision (tests/unit/transform/test_pipeline_pillow.py);
- parts of made JPEGs of every sampling and size, by libjpeg-turbo and by the index, against the
  whole (tests/unit/decode: test_decode, test_seek_index, test_scanner);
- with --data, 20 random crops of each file of the folder, decoded as parts and by the index,
  against the whole (decode_bench check).
The exit code is 1 if anything differs. tests/reference/draws.py is the same for what a daemon
delivers.
"""

import argparse
import os
import pathlib
import subprocess
import sys

import PIL

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def run(what, command, environment):
    done = subprocess.run(list(map(str, command)), env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    words = done.stdout.strip().splitlines() or [""]
    print(f"{environment['STOKER_CPU']:7} {what}: {'equal' if done.returncode == 0 else 'DIFFERS'}"
          f" ({words[-1]})", flush=True)
    if done.returncode:
        print(done.stdout, flush=True)
    return done.returncode != 0


def check(cpu, options):
    build = options.build.resolve()
    environment = {**os.environ, "STOKER_CPU": cpu, "STOKER_CASES": str(options.cases),
                   "STOKER_BUILD": str(build)}
    bad = run(f"{options.cases} crops", [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "test_crops",
        SOURCE / "tests" / "unit" / "transform" / "test_pipeline_pillow.py"], environment)
    for name in "test_decode", "test_seek_index", "test_scanner":
        bad += run(name, [build / "tests" / "unit" / "decode" / name], environment)
    if options.data:
        bad += run(options.data, [build / "tests" / "bench" / "decode_bench", "check",
                                  options.data, "20"], environment)
    return bad


def main():
    print(f"Pillow {PIL.__version__}", flush=True)
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("--data", type=pathlib.Path)
    options = parser.parse_args()
    return sum(check(cpu, options) for cpu in ("plain", "avx2", "avx512")) > 0


if __name__ == "__main__":
    sys.exit(main())
