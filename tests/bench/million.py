# SPDX-License-Identifier: MIT
"""An index of many samples: 1.28 million in 1,300 tar shards, small pictures with a class each. By
hand; it takes 3 GB in TMPDIR and some minutes:

    tests/bench/million.py [--build BUILD] [--shards 1300] [--each 985] [--keep FOLDER]

Prints how long the first opening takes, the index's bytes a sample, what the daemon's memory grew
by, and how long a second daemon takes to open it from the index that was kept. --keep: where the
shards are, or are made if they are not there.
"""

import argparse
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "client" / "python"))

from machine import Stokerd, memory_of  # noqa: E402

CLASSES = 1000


def header(name, size):
    """Of a regular file, as ustar."""
    block = bytearray(512)
    block[:len(name)] = name
    block[100:148] = b"0000644\0" b"0000000\0" b"0000000\0" b"%011o\0" b"00000000000\0" % size
    block[148:156] = b" " * 8
    block[156:157] = b"0"
    block[257:265] = b"ustar\00000"
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def padded(data):
    return data + bytes(-len(data) % 512)


def make_shards(folder, shards, each):
    from PIL import Image
    picture = io.BytesIO()
    Image.new("L", (8, 8)).save(picture, "JPEG")
    picture, size = padded(picture.getvalue()), len(picture.getvalue())
    for shard in range(shards):
        path = folder / f"train-{shard:06}.tar"
        if path.exists():
            continue
        parts = []
        for number in range(shard * each, (shard + 1) * each):
            label = b"%d" % (number * 7919 % CLASSES)
            key = b"n%08d_%07d" % (number % CLASSES, number)
            parts += [header(key + b".jpg", size), picture,
                      header(key + b".cls", len(label)), padded(label)]
        path.write_bytes(b"".join([*parts, bytes(1024)]))


def opened(options, pattern, kept):
    """Seconds, bytes of the index, and bytes that the daemon grew by."""
    import stoker
    with Stokerd(options.build, 1, index_dir=kept) as daemon:
        before = memory_of([daemon.pid])
        begin = time.monotonic()
        loader = stoker.connect(str(daemon.socket)).loader(
            {"path": pattern, "classes": str(CLASSES)}, batch_size=1,
            transforms=(stoker.Resize([8, 8]),))
        seconds = time.monotonic() - begin
        grown = memory_of([daemon.pid]) - before
        listed = subprocess.run([daemon.stokerctl, "--socket", daemon.control, "datasets",
                                 "--json"], stdout=subprocess.PIPE, check=True)
        dataset, = json.loads(listed.stdout)["datasets"]
        loader.close()
    return seconds, dataset["index_bytes"], grown


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build")
    parser.add_argument("--shards", type=int, default=1300)
    parser.add_argument("--each", type=int, default=985)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    samples = options.shards * options.each
    with contextlib.ExitStack() as stack:
        folder = options.keep or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kept = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        make_shards(folder, options.shards, options.each)
        pattern = f"{folder}/train-{{000000..{options.shards - 1:06}}}.tar"
        for name, bar in ("the first time", ""), ("from the index that was kept", "   bar 1 s"):
            seconds, index, grown = opened(options, pattern, kept)
            print(f"opened {name:30}{seconds:7.2f} s{bar}; {samples} samples; index "
                  f"{index / samples:.1f} bytes a sample (bar 24); the daemon grew by "
                  f"{grown / samples:.1f}", flush=True)


if __name__ == "__main__":
    main()
