# SPDX-License-Identifier: MIT
# needs: torch torchvision timm
"""timm's loop: its transforms and its Mixup, in a DataLoader."""
import sys

import torch
from timm.data import Mixup, create_transform
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets

import made

torch.manual_seed(12)
root = made.pictures(sys.argv[1])
train = datasets.ImageFolder(root, create_transform(24, is_training=True, hflip=0.5))
val = datasets.ImageFolder(root, create_transform(24, is_training=False, crop_pct=0.9))
mixup = Mixup(mixup_alpha=0.2, cutmix_alpha=1.0, num_classes=3)
train_loader = DataLoader(train, 8, shuffle=True, num_workers=2, drop_last=True)
val_loader = DataLoader(val, 8, num_workers=2)
mean, count = 0.0, 0
for epoch in range(3):
    for images, labels in train_loader:
        print(epoch, labels.tolist())
        images, targets = mixup(images, labels)
        mean, count = mean + images.mean().item(), count + 1
    for batch in val_loader:
        print(made.digest(batch))
print("about mean", f"{mean / count:.4f} 0.3")
if hasattr(val_loader, "plan"):
    print("plan", train_loader.plan())
    print("plan", val_loader.plan())
