# SPDX-License-Identifier: MIT
"""Loaders of the scripts beside this file, at the sizes that their users have, as trainers of
tests/bench/client.py:

    loaders.py SIDE DATA NAME WORKERS [SOCKET]

SIDE: torch, the script's own import; stoker, the other one; native, a stoker.torch.Loader with the
same options. NAME: one of LOADERS. DATA: a folder of classes."""
import itertools
import os
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset, Subset, WeightedRandomSampler, random_split
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, transforms

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import client  # noqa: E402 (it stands in the bench's folder)

NORMALIZE = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
TRAIN = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(),
                            transforms.ToTensor(), NORMALIZE])
VALIDATION = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224),
                                 transforms.ToTensor(), NORMALIZE])


class Crops:
    """Of torch_crops."""

    def __init__(self):
        flip = transforms.Compose([
            transforms.RandomHorizontalFlip(),
            transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
            transforms.RandomGrayscale(0.2), transforms.ToTensor(), NORMALIZE])
        self.large = transforms.Compose([transforms.RandomResizedCrop(224, (0.4, 1.0)), flip])
        self.small = transforms.Compose([transforms.RandomResizedCrop(96, (0.05, 0.4)), flip])

    def __call__(self, picture):
        return [self.large(picture), self.large(picture),
                *(self.small(picture) for _ in range(4))]


class Table(Dataset):
    """Of torch_weighted: files with several labels each."""

    def __init__(self, root, transform):
        self.paths = sorted(os.path.join(home, name) for home, _, names in os.walk(root)
                            for name in names)
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        picture = Image.open(self.paths[index]).convert("RGB")
        return self.transform(picture), torch.tensor([index % 2, index % 3 == 0, index % 7 == 0.0])


def kfold(data):
    whole = datasets.ImageFolder(data, VALIDATION)
    places = torch.randperm(len(whole), generator=torch.Generator().manual_seed(1)).tolist()
    return Subset(whole, places[len(places) // 5:])


def lightning(data):
    whole = datasets.ImageFolder(data, transforms.Compose([
        transforms.Resize((224, 224)), transforms.ToTensor()]))
    return random_split(whole, [len(whole) - 100, 100], torch.Generator().manual_seed(1))[0]


def timm(data, training):
    from timm.data import create_transform
    return datasets.ImageFolder(data, create_transform(224, is_training=training))


# A dataset, and whether its order is shuffled: None is by a DistributedSampler of two ranks.
LOADERS = {
    "imagenet": (lambda data: datasets.ImageFolder(data, TRAIN), True),
    "imagenet_validation": (lambda data: datasets.ImageFolder(data, VALIDATION), False),
    "torchrun": (lambda data: datasets.ImageFolder(data, TRAIN), None),
    "kfold": (kfold, True),
    "lightning": (lightning, True),
    "timm": (lambda data: timm(data, True), True),
    "timm_validation": (lambda data: timm(data, False), False),
    "crops": (lambda data: datasets.ImageFolder(data, Crops()), True),
    "weighted": (lambda data: Table(data, VALIDATION), "weighted"),
}


def loader(kind, data, name, workers, **options):
    make, shuffle = LOADERS[name]
    dataset = make(data)
    if shuffle is None:
        options["sampler"] = DistributedSampler(dataset, 2, 0)
    elif shuffle == "weighted":
        options["sampler"] = WeightedRandomSampler(
            [3.0 if place % 7 == 0 else 1.0 for place in range(len(dataset))], len(dataset))
    else:
        options["shuffle"] = shuffle
    return kind(dataset, client.BATCH, num_workers=workers, drop_last=True,
                persistent_workers=True, **options)


def native(data, name, workers, socket):
    import stoker.torch
    make, shuffle = LOADERS[name]
    ranks = {"rank": 0, "world_size": 2} if shuffle is None else {}
    return stoker.torch.Loader(make(data), client.BATCH, node=stoker.connect(socket), seed=1,
                               shuffle=shuffle is not False, last_batch="drop", **ranks)


def batches(side, data, name, workers, socket):
    """Endless; the images of each."""
    torch.manual_seed(int(os.environ.get("STOKER_BENCH_SEED", "1")))
    if side == "native":
        made = native(data, name, workers, socket)
    elif side == "stoker":
        import stoker
        import stoker.torch
        made = loader(stoker.torch.DataLoader, data, name, workers, node=stoker.connect(socket))
        print(f"{name}: {made.plan()}", file=sys.stderr)
    else:
        made = loader(torch.utils.data.DataLoader, data, name, workers)
    for _ in itertools.count():
        for images, _ in made:
            yield np.asarray(images) if isinstance(images, torch.Tensor) else \
                [np.asarray(each) for each in images]


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "client" / "python"))
    torch.set_num_threads(1)
    client.SIDES = {side: (lambda *given, side=side: batches(side, *given))
                    for side in ("torch", "stoker", "native")}
    client.main()
