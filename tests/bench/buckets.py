# SPDX-License-Identifier: MIT
"""How fast are buckets of 512 x 512 pixels' area, of photographs of 1 to 2 megapixels, beside
torch's DataLoader with a sampler of buckets, which does the same with Pillow and torchvision?

    PYTHON tests/bench/buckets.py BUILD --data FOLDER --scratch FOLDER

FOLDER of --data: JPEGs, of which the photographs are made once in --scratch, by enlarging them.
PYTHON has torch and torchvision. Every byte of each batch is read; first epochs are from the first
batch on. The daemon has the usual cache-memory."""
import argparse
import pathlib
import random
import statistics
import sys
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[1] / "client" / "python"))

import stoker  # noqa: E402
from machine import Stokerd  # noqa: E402

AREA, STEP, RATIO, BATCH, SEED = 512 * 512, 64, 2, 16, 1
MEAN, STD = (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)


def sizes():
    """(height, width) of the buckets, as Buckets has them."""
    side, found = int(AREA ** 0.5) // STEP * STEP, set()
    for width in range(STEP, side + 1, STEP):
        height = AREA // width // STEP * STEP
        found |= {(height, width), (width, height)} if height <= RATIO * width else set()
    return sorted(found, key=lambda size: size[1])


def make(data, scratch, count):
    """Photographs of 1 to 2 megapixels."""
    from PIL import Image
    folder, draws = scratch / f"megapixels-{count}" / "all", random.Random(SEED)
    if folder.exists() and len(list(folder.iterdir())) == count:
        return folder.parent
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(path for path in pathlib.Path(data).rglob("*")
                   if path.suffix.lower() in (".jpg", ".jpeg"))
    for number, path in enumerate((files * (count // len(files) + 1))[:count]):
        image = Image.open(path).convert("RGB")
        scale = (draws.uniform(1e6, 2e6) / (image.width * image.height)) ** 0.5
        image = image.resize((round(image.width * scale), round(image.height * scale)),
                             Image.BICUBIC)
        image.save(folder / f"{number:05}.jpg", quality=90)
    return folder.parent


def read(batches):
    count = 0
    for images in batches:
        numpy.asarray(images).view(numpy.uint32).sum()
        count += len(images)
    return count


def rates(passes):
    """Samples a second of a first epoch, from its first batch on, and of the later ones."""
    first = iter(passes[0]())
    next(first)
    begin = time.monotonic()
    rate = read(first) / (time.monotonic() - begin)
    begin = time.monotonic()
    return rate, sum(read(one()) for one in passes[1:]) / (time.monotonic() - begin)


def ours(options, folder):
    with Stokerd(options.build, options.workers, cache_memory=options.cache_memory) as daemon, \
            stoker.connect(daemon.socket) as node, node.loader(
                str(folder), batch_size=BATCH, seed=SEED, transforms=[
                    stoker.Buckets(area=AREA, step=STEP, ratio=RATIO, crop="random"),
                    stoker.RandomHorizontalFlip(), stoker.Normalize(MEAN, STD)]) as loader:
        def images():
            return (batch.images for batch in loader.batches())
        return rates([images] * (1 + options.epochs))


def theirs(options, folder):
    from PIL import Image
    from torch.utils.data import DataLoader, Dataset
    from torchvision import transforms

    files = sorted((folder / "all").iterdir())
    buckets = sizes()
    finish = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                                 transforms.Normalize(MEAN, STD)])

    def nearest(path):
        width, height = Image.open(path).size
        return min(range(len(buckets)), key=lambda number: abs(
            height * buckets[number][1] - width * buckets[number][0]))

    class Pictures(Dataset):
        def __len__(self):
            return len(files)

        def __getitem__(self, number):
            image = Image.open(files[number]).convert("RGB")
            height, width = buckets[bucket_of[number]]
            scale = max(height / image.height, width / image.width)
            image = image.resize((round(image.width * scale), round(image.height * scale)),
                                 Image.BILINEAR)
            return finish(transforms.RandomCrop((height, width))(image))

    bucket_of = [nearest(path) for path in files]
    draws = random.Random(SEED)

    def batches():
        """One epoch's, of one size each."""
        found = []
        for bucket in set(bucket_of):
            own = [number for number, at in enumerate(bucket_of) if at == bucket]
            draws.shuffle(own)
            found += [own[at:at + BATCH] for at in range(0, len(own), BATCH)]
        draws.shuffle(found)
        return found

    def images():
        loader = DataLoader(Pictures(), batch_sampler=batches(), num_workers=options.workers)
        return (batch.numpy() for batch in loader)
    return rates([images] * (1 + options.epochs))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--data", required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3, help="later ones")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache-memory", default="25%", help="a daemon's own is 25%%")
    options = parser.parse_args()
    folder = make(options.data, options.scratch, options.count)
    found = [(ours(options, folder), theirs(options, folder)) for _ in range(options.rounds)]
    for name, at, bar in (("first epoch", 0, None), ("later epochs", 1, 3.5)):
        stoker_rate, torch_rate = ([side[at] for side in row] for row in zip(*found))
        ratio = statistics.median(a / b for a, b in zip(stoker_rate, torch_rate))
        print(f"{name}: {statistics.median(stoker_rate):.1f} samples/s; DataLoader: "
              f"{statistics.median(torch_rate):.1f}; {ratio:.2f} times"
              + (f" (bar: {bar})" if bar else ""))


if __name__ == "__main__":
    main()
