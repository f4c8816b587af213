# SPDX-License-Identifier: MIT
"""What do pictures in a Parquet file cost, beside the same files in a folder, and beside Hugging
Face's `datasets` with torch's DataLoader?

    PYTHON tests/bench/stored.py BUILD --data FOLDER      # of class folders with JPEGs
    PYTHON tests/bench/stored.py BUILD --data FOLDER --times 4      # more than a process keeps

PYTHON has pyarrow, datasets, torch and torchvision. First the bytes of both streams are compared,
in the order "global". Every byte of each batch is read."""
import argparse
import hashlib
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[1] / "client" / "python"))

import stoker  # noqa: E402
from machine import Stokerd  # noqa: E402
from own_code import torchvision_transform  # noqa: E402

BATCH = 64
STEPS = [stoker.RandomResizedCrop(224), stoker.RandomHorizontalFlip(),
         stoker.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]


def repeat(data, times, out):
    """A folder with each of its files so many times."""
    for path in pathlib.Path(data).glob("*/*"):
        (out / path.parent.name).mkdir(parents=True, exist_ok=True)
        for number in range(times):
            shutil.copy(path, out / path.parent.name / f"{path.stem}-{number}{path.suffix}")
    return out


def write(data, out):
    """The folder's files in ImageFolder's order, as Hugging Face writes them."""
    import pyarrow
    from pyarrow import parquet
    classes = sorted(entry.name for entry in pathlib.Path(data).iterdir() if entry.is_dir())
    files = [(path, label) for label, name in enumerate(classes)
             for path in sorted((pathlib.Path(data) / name).rglob("*")) if path.is_file()]
    table = pyarrow.table({"image": [{"bytes": path.read_bytes(), "path": path.name}
                                     for path, _ in files], "label": [label for _, label in files]})
    parquet.write_table(table, out, row_group_size=100, use_dictionary=False)


def read(batches):
    count = 0
    for images, _ in batches:
        numpy.asarray(images).view(numpy.uint32).sum()
        count += len(images)
    return count


def rates(options, dataset, epochs, **more):
    """Samples a second: of the first epoch from its first batch on, and of the later ones."""
    with Stokerd(options.build, options.workers, cache_memory=f"{options.times}G") as daemon, \
            stoker.connect(daemon.socket) as node, node.loader(
                dataset, batch_size=BATCH, transforms=STEPS, **more,
                num_workers=options.workers if str(dataset).endswith(".parquet") else None
                ) as loader:
        batches = iter(loader)
        next(batches)
        begin = time.monotonic()
        first = read(batches) / (time.monotonic() - begin)
        begin = time.monotonic()
        later = sum(read(loader) for _ in range(epochs)) / (time.monotonic() - begin)
    return first, later if epochs else 0


def hugging_face(options, file):
    """The first epoch of `datasets` in a DataLoader, from its first batch on."""
    import datasets
    from torch.utils.data import DataLoader
    transform = torchvision_transform()
    data = datasets.load_dataset("parquet", data_files=str(file), split="train",
                                 cache_dir=str(file.parent / "cache"))
    data = data.cast_column("image", datasets.Image())
    data.set_transform(lambda rows: {"x": [transform(image.convert("RGB"))
                                           for image in rows["image"]], "y": rows["label"]})
    batches = iter(DataLoader(data, BATCH, shuffle=True, num_workers=options.workers))
    next(batches)
    begin = time.monotonic()
    return read((batch["x"].numpy(), None) for batch in batches) / (time.monotonic() - begin)


def digest(options, dataset):
    """Of two epochs."""
    state = hashlib.sha256()
    with Stokerd(options.build, options.workers) as daemon, stoker.connect(daemon.socket) as node, \
            node.loader(dataset, batch_size=BATCH, transforms=STEPS, order="global") as loader:
        for _ in range(2):
            for images, labels in loader:
                state.update(images)
                state.update(labels)
    return state.hexdigest()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--data", required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--times", type=int, default=1, help="each picture so often")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        file = pathlib.Path(out) / "x.parquet"
        data = str(repeat(options.data, options.times, pathlib.Path(out) / "folder"))
        write(data, file)
        one, other = digest(options, str(file)), digest(options, data)
        print(f"bytes of two epochs: {'equal' if one == other else 'DIFFERENT'} ({one[:16]})")
        found = [(*rates(options, str(file), 4), rates(options, data, 4)[1],
                  hugging_face(options, file), rates(options, str(file), 0, order="global")[0])
                 for _ in range(options.rounds)]
    first, later, folder, theirs, mixed = (statistics.median(column) for column in zip(*found))
    print(f"first epoch: {first:.0f} samples/s; datasets and DataLoader: {theirs:.0f}; "
          f"{first / theirs:.2f} times (bar: 2.5)")
    print(f"first epoch, in the order global: {mixed:.0f} samples/s; shards is "
          f"{first / mixed:.2f} times as fast")
    print(f"later epochs: {later:.0f} samples/s; the folder: {folder:.0f}; "
          f"{later / folder:.2f} times (bar: 0.9)")
    return one != other


if __name__ == "__main__":
    sys.exit(main())
