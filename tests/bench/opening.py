# SPDX-License-Identifier: MIT
"""How long a large folder takes to open: by its names, with all sizes, again in a new daemon that
kept the lists of its folders, and torchvision's ImageFolder, in turn. By hand; --make fills FOLDER
with hard links in 1,000 classes.

    opening.py --build BUILD [--make FILES] [--runs 5] FOLDER
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "daemon"))

STREAM = {"transforms": [{"name": "Resize", "size": [8, 8]}], "dtype": "uint8", "layout": "NHWC",
          "batch_size": 1, "inflight": 1, "prefetch": 1, "subset_stop": 1}


def make(folder, files, classes=1000):
    """Hard links, some ten thousands to a file: file systems have a limit."""
    per_class = files // classes
    for label in range(classes):
        inside = folder / f"n{label:08}"
        inside.mkdir(parents=True)
        for number in range(per_class):
            name = inside / f"n{label:08}_{number * 7919 % 100000}.JPEG"
            if (label * per_class + number) % 20000 == 0:
                source = name
                source.write_bytes(b"no picture")
            else:
                os.link(source, name)


def image_folder(folder):
    from torchvision.datasets import ImageFolder
    begun = time.monotonic()
    ImageFolder(str(folder))
    return {"ImageFolder": time.monotonic() - begun}


def stoker(folder, harness):
    """In daemons of their own: the answer to the attach, the sizes behind it, and memory; then
    where the first one kept the lists; then with no names alone."""
    index_dir = tempfile.TemporaryDirectory(prefix="stoker-")
    daemon = harness.Daemon(index_dir=index_dir.name).spawn()
    took = {}
    try:
        with daemon.connect() as peer:
            begun = time.monotonic()
            answer = peer.attach(folder, **STREAM, accept_names=True)
            assert answer.name == "attached", answer
            took["names"] = time.monotonic() - begun
            names = peer.attached.get("names_fingerprint")
            while daemon.list("datasets")[0]["fingerprint"] == names:
                time.sleep(0.02)
            took["sizes behind them"] = time.monotonic() - begun
            row, = daemon.list("datasets")
            took["bytes a file"] = row["index_bytes"] / row["samples"]
            status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
            took["peak MiB"] = int(status.partition("VmHWM:")[2].split()[0]) / 1024
        daemon.terminate()
        daemon.spawn()
        with daemon.connect() as peer:
            begun = time.monotonic()
            assert peer.attach(folder, **STREAM, accept_names=True).name == "attached"
            took["names that were kept"] = time.monotonic() - begun
        daemon.terminate()
        index_dir.cleanup()
        daemon.spawn()
        with daemon.connect() as peer:
            begun = time.monotonic()
            assert peer.attach(folder, **STREAM).name == "attached"
            took["with a look at each"] = time.monotonic() - begun
        daemon.terminate()
    finally:
        daemon.remove()
        index_dir.cleanup()
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--make", type=int, metavar="FILES")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    os.environ["STOKER_BUILD"] = str(options.build.resolve())
    import harness
    if options.make:
        make(options.folder, options.make)
    rounds = {}
    for number in range(options.runs + 1):
        for what, value in {**image_folder(options.folder),
                            **stoker(options.folder, harness)}.items():
            print(f"{what:20} {value:8.2f}", flush=True)
            if number:  # the first one warms
                rounds.setdefault(what, []).append(value)
    print("medians")
    for what, values in rounds.items():
        print(f"{what:20} {statistics.median(values):8.2f}   "
              f"{' '.join(f'{value:.2f}' for value in values)}")


if __name__ == "__main__":
    main()
