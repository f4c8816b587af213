# SPDX-License-Identifier: MIT
# needs: torch torchvision albumentations
"""Segmentation: a picture and its mask through albumentations."""
import sys

import albumentations as A
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets

import made


class Masks(torch.utils.data.Dataset):
    def __init__(self, root, transform):
        self.samples, self.transform = datasets.ImageFolder(root).samples, transform

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        picture = np.asarray(Image.open(self.samples[index][0]).convert("RGB"))
        mask = (picture[..., 0] > 127).astype(np.uint8)
        both = self.transform(image=picture, mask=mask)
        return torch.from_numpy(both["image"].transpose(2, 0, 1).copy()), \
            torch.from_numpy(both["mask"].copy()).long()


torch.manual_seed(9)
root = made.pictures(sys.argv[1])
train = Masks(root, A.Compose([A.RandomCrop(32, 32), A.HorizontalFlip(), A.Normalize()]))
val = Masks(root, A.Compose([A.CenterCrop(32, 32), A.Normalize()]))
share, count = 0.0, 0
for epoch in range(3):
    for pictures, masks in DataLoader(train, 6, shuffle=True, num_workers=2):
        share, count = share + masks.float().mean().item(), count + 1
        print(epoch, tuple(pictures.shape), tuple(masks.shape), masks.dtype)
print("about masks", f"{share / count:.4f} 0.05")
loader = DataLoader(val, 6, num_workers=2)
for batch in loader:
    print(made.digest(batch))
if hasattr(loader, "plan"):
    print("plan", loader.plan())
