# SPDX-License-Identifier: MIT
# needs: torch torchvision
# quick
"""Triplets: three pictures a sample, and batches of each class in turn by a batch_sampler."""
import sys

import torch
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets, transforms

import made


class Triplets(torch.utils.data.Dataset):
    def __init__(self, root):
        self.pictures = datasets.ImageFolder(root, transforms.Compose([
            transforms.Resize((16, 16)), transforms.ToTensor()]))
        self.targets = self.pictures.targets

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        same = [other for other, label in enumerate(self.targets) if label == self.targets[index]]
        far = [other for other, label in enumerate(self.targets) if label != self.targets[index]]
        anchor, label = self.pictures[index]
        return anchor, self.pictures[same[index % len(same)]][0], \
            self.pictures[far[index % len(far)]][0], label


class ClassBatches(torch.utils.data.Sampler):
    """Batches of two classes, of lengths that differ, in another order in each epoch."""

    def __init__(self, targets, each):
        self.targets, self.each, self.epoch = targets, each, 0

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.epoch)
        self.epoch += 1
        for _ in range(len(self)):
            classes = torch.randperm(3, generator=generator)[:2].tolist()
            yield [index for index, label in enumerate(self.targets) if label in classes][
                ::1 + int(torch.randint(1, self.each, (), generator=generator))]

    def __len__(self):
        return 6


torch.manual_seed(6)
dataset = Triplets(made.pictures(sys.argv[1]))
loader = DataLoader(dataset, num_workers=2, batch_sampler=ClassBatches(dataset.targets, 4))
for epoch in range(3):
    for anchor, positive, negative, labels in loader:
        loss = torch.nn.functional.triplet_margin_loss(
            anchor.flatten(1), positive.flatten(1), negative.flatten(1))
        print(epoch, len(labels), f"{loss.item():.6f}", made.digest([anchor, positive, negative]))
if hasattr(loader, "plan"):
    print("plan", loader.plan())
