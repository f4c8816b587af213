# SPDX-License-Identifier: MIT
# needs: torch torchvision
"""DINO's crops: a class of transforms that gives a list of two large and several small views."""
import sys

import torch
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets, transforms

import made


class Crops:
    def __init__(self, small):
        flip = transforms.Compose([
            transforms.RandomHorizontalFlip(),
            transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
            transforms.RandomGrayscale(0.2), transforms.ToTensor()])
        self.large = transforms.Compose([transforms.RandomResizedCrop(24, (0.4, 1.0)), flip])
        self.small = transforms.Compose([transforms.RandomResizedCrop(12, (0.05, 0.4)), flip])
        self.count = small

    def __call__(self, picture):
        return [self.large(picture), self.large(picture),
                *(self.small(picture) for _ in range(self.count))]


torch.manual_seed(2)
dataset = datasets.ImageFolder(made.pictures(sys.argv[1]), transform=Crops(4))
loader = DataLoader(dataset, batch_size=6, shuffle=True, num_workers=2, drop_last=True)
mean, count = 0.0, 0
for epoch in range(4):
    for crops, labels in loader:
        print(epoch, [tuple(crop.shape) for crop in crops], labels.tolist())
        mean, count = mean + sum(crop.mean().item() for crop in crops) / len(crops), count + 1
print("about mean", f"{mean / count:.4f} 0.03")
if hasattr(loader, "plan"):
    print("plan", loader.plan())
