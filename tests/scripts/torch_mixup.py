# SPDX-License-Identifier: MIT
# needs: torch torchvision
"""MixUp or CutMix by chance, once a batch, in the collate_fn, as torchvision's references do."""
import random
import sys

import torch
from torch.utils.data import default_collate
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets, transforms

import made

CLASSES = 3


def mixup(images, target):
    share = float(torch._sample_dirichlet(torch.tensor([1.0, 1.0]))[0])
    return images.roll(1, 0).mul(1 - share).add(images * share), \
        target.roll(1, 0).mul(1 - share).add(target * share)


def cutmix(images, target):
    height, width = images.shape[-2:]
    y, x = random.randrange(height), random.randrange(width)
    bottom, right = min(height, y + height // 2), min(width, x + width // 2)
    images = images.clone()
    images[..., y:bottom, x:right] = images.roll(1, 0)[..., y:bottom, x:right]
    share = 1 - (bottom - y) * (right - x) / (height * width)
    return images, target * share + target.roll(1, 0) * (1 - share)


def collate(batch):
    images, labels = default_collate(batch)
    target = torch.nn.functional.one_hot(labels, CLASSES).float()
    return random.choice([mixup, cutmix])(images, target)


torch.manual_seed(7)
dataset = datasets.ImageFolder(made.pictures(sys.argv[1]), transforms.Compose([
    transforms.Resize((20, 20)), transforms.ToTensor()]))
loader = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=2, collate_fn=collate)
whole, count = 0.0, 0
for epoch in range(4):
    for images, target in loader:
        assert torch.allclose(target.sum(1), torch.ones(len(target)))
        print(epoch, tuple(images.shape), tuple(target.shape), images.dtype, target.dtype)
        whole, count = whole + images.mean().item(), count + 1
print("about mean", f"{whole / count:.4f} 0.03")
if hasattr(loader, "plan"):
    print("plan", loader.plan())
