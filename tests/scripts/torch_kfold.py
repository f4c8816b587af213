# SPDX-License-Identifier: MIT
# needs: torch torchvision
"""Cross-validation: Subsets of one folder, a loader each for training and validation."""
import sys

import torch
from torch.utils.data import Subset
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets, transforms

import made

torch.manual_seed(4)
dataset = datasets.ImageFolder(made.pictures(sys.argv[1]), transforms.Compose([
    transforms.Resize(22), transforms.CenterCrop(20), transforms.ToTensor()]))
places = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(1)).tolist()
for fold in range(3):
    val = places[fold::3]
    train = [place for place in places if place not in val]
    train_loader = DataLoader(Subset(dataset, train), 5, shuffle=True, num_workers=2)
    val_loader = DataLoader(Subset(dataset, val), 5, num_workers=2)
    for epoch in range(2):
        for images, labels in train_loader:
            print(fold, epoch, made.digest(images), labels.tolist())
        print(fold, "validation", made.digest(list(val_loader)))
    if hasattr(val_loader, "plan"):
        print("plan", val_loader.plan())
