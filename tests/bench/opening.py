# SPDX-License-Identifier: MIT
"""How long a large folder takes to open: by its names, with all sizes, and torchvision's
ImageFolder, in turn. By hand; --make fills FOLDER with hard links in 1,000 classes.

    opening.py --build BUILD [--make FILES] [--runs 5] FOLDER
"""

import argparse
import os
import pathlib
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "daemon"))

STREAM = {"transforms": [{"name": "Resize", "size": [8, 8]}], "dtype": "uint8", "layout": "NHWC",
          "batch_size": 1, "inflight": 1, "prefetch": 1, "subset_stop": 1}


def make(folder, files, classes=1000):
    """Hard links, some ten thousands to a file: file systems have a limit."""
    per_class = files // classes
    source = None
    for label in range(classes):
        inside = folder / f"n{label:08}"
        inside.mkdir(parents=True)
        for number in range(per_class):
            if source is None or number % 20000 == 0 and label % 10 == 0:
                source = inside / f"n{label:08}_{number}.JPEG"
                source.write_bytes(b"no picture")
            else:
                os.link(source, inside / f"n{label:08}_{number * 7919 % 100000}.JPEG")


def image_folder(folder):
    from torchvision.datasets import ImageFolder
    begun = time.monotonic()
    ImageFolder(str(folder))
    return {"ImageFolder": time.monotonic() - begun}


def stoker(folder, harness):
    """In a daemon of its own: the answer to the attach, the sizes behind it, and memory."""
    daemon = harness.Daemon().spawn()
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
            assert peer.attach(folder, **STREAM).name == "attached"
            took["with a look at each"] = time.monotonic() - begun
        daemon.terminate()
    finally:
        daemon.remove()
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
