# SPDX-License-Identifier: MIT
"""Delivered samples against torchvision on the same draws, over a folder of your own:

    PYTHON tests/reference/draws.py FOLDER [--build BUILD] [--draws 2000]

Pillow and torchvision are those of PYTHON (/usr/bin/python3 has Debian's); STOKER_CPU (plain, avx2,
avx512) is the instruction set.

A daemon delivers as many samples of the usual training transform, and as many of the usual
validation transform, as --draws says, of as many epochs as that takes; from the second on by the
index of each file, with the resizes of this process' Pillow. That opens the same files,
torchvision's functions do what was drawn, and not a bit of the float32 arrays may differ. The exit
code is 1 if one does.
"""

import argparse
import os
import pathlib
import sys

import pillow
import stoker_reference
from PIL import Image
from torchvision.datasets import ImageFolder

TESTS = pathlib.Path(__file__).resolve().parents[1]
NORMALIZE = {"name": "Normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
LISTS = {
    "train": [{"name": "RandomResizedCrop", "size": 224}, {"name": "RandomHorizontalFlip"},
              NORMALIZE],
    "val": [{"name": "Resize", "size": 256}, {"name": "CenterCrop", "size": 224}, NORMALIZE],
}
ORDER_SEED, AUGMENT_SEED = 21, 22


def compare(daemon, folder, known, transforms, draws):
    """How many samples differ."""
    count = len(known.samples)
    differ = 0
    with daemon.connect() as peer:
        answer = peer.attach(str(folder), transforms=transforms, order_seed=ORDER_SEED,
                             augment_seed=AUGMENT_SEED, batch_size=16, inflight=2,
                             resize=pillow.OWN,
                             epochs=-(-draws // count))
        assert answer.name == "attached", answer
        for done, (epoch, position, arrays) in enumerate(peer.samples(), 1):
            index = stoker_reference.order_at(ORDER_SEED, epoch, count, position)
            path, label = known.samples[index]
            wanted = stoker_reference.expected(
                Image.open(path).convert("RGB"), transforms, augment_seed=AUGMENT_SEED,
                epoch=epoch, position=position, resize=pillow.OWN)
            same = (arrays["image"].tobytes() == wanted.tobytes() and arrays["label"] == label
                    and arrays["index"] == index)
            if not same:
                print(f"epoch {epoch}, position {position}: {path} differs", flush=True)
                differ += 1
            if done == draws:
                break
    return differ


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--draws", type=int, default=2000)
    options = parser.parse_args()
    os.environ["STOKER_BUILD"] = str(options.build.resolve())
    sys.path.insert(0, str(TESTS / "daemon"))
    from harness import Daemon  # it takes the build from the environment
    known = ImageFolder(str(options.folder))
    daemon = Daemon()
    differ = 0
    try:
        daemon.spawn()
        for name, transforms in LISTS.items():
            here = compare(daemon, options.folder.resolve(), known, transforms, options.draws)
            print(f"{name}: {options.draws} samples of {len(known.samples)} files, {here} differ",
                  flush=True)
            differ += here
        daemon.terminate()
    finally:
        if daemon.process:
            daemon.kill()
        daemon.remove()
    return differ > 0


if __name__ == "__main__":
    sys.exit(main())
