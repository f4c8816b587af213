# SPDX-License-Identifier: MIT
# needs: torch torchvision
"""A table of files with several labels each, and a sampler that makes rare ones as frequent."""
import csv
import os
import sys

import torch
from PIL import Image
from torch.utils.data import Dataset, WeightedRandomSampler
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import transforms

import made


class Table(Dataset):
    def __init__(self, path, root, transform):
        with open(path, newline="") as file:
            self.rows = list(csv.reader(file))[1:]
        self.root, self.transform = root, transform

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        name, *targets = self.rows[index]
        picture = Image.open(os.path.join(self.root, name)).convert("RGB")
        return self.transform(picture), torch.tensor([float(target) for target in targets])


def main():
    root = made.pictures(sys.argv[1])
    path = os.path.join(sys.argv[1], "table.csv")
    names = sorted(os.path.relpath(os.path.join(home, name), root)
                   for home, _, files in os.walk(root) for name in files)
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["name", "a", "b", "c"], *(
            [name, number % 2, number % 3 == 0, number % 7 == 0]
            for number, name in enumerate(names))])
    with open(path) as file:
        text = file.read().replace("True", "1").replace("False", "0")
    with open(path, "w") as file:
        file.write(text)
    dataset = Table(path, root, transforms.Compose([
        transforms.Resize((20, 20)), transforms.ToTensor()]))
    torch.manual_seed(5)
    weights = [3.0 if row[3] == "1" else 1.0 for row in dataset.rows]
    loader = DataLoader(dataset, batch_size=5, num_workers=2,
                        sampler=WeightedRandomSampler(weights, len(weights)))
    for epoch in range(2):
        for images, targets in loader:
            print(epoch, made.digest(images), targets.sum(0).tolist())
    if hasattr(loader, "plan"):
        print("plan", loader.plan())


if __name__ == "__main__":
    main()
