# SPDX-License-Identifier: MIT
# needs: torch torchvision
"""Detection, as torchvision's references have it: boxes, a collate_fn of one's own, pictures of
their own sizes."""
import sys

import torch
from PIL import Image
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets
from torchvision.transforms import functional as F

import made


class Boxes(torch.utils.data.Dataset):
    def __init__(self, root):
        self.files = datasets.ImageFolder(root).samples

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path, label = self.files[index]
        picture = Image.open(path).convert("RGB")
        count = 1 + index % 3
        boxes = torch.tensor([[place, place, place + 9.0, place + 7.0] for place in range(count)])
        return F.to_tensor(picture), {"boxes": boxes, "labels": torch.full((count,), label),
                                      "image_id": index}


def collate_fn(batch):
    return tuple(zip(*batch))


torch.manual_seed(1)
loader = DataLoader(Boxes(made.pictures(sys.argv[1])), batch_size=4, shuffle=True, num_workers=2,
                    collate_fn=collate_fn)
for epoch in range(2):
    for images, targets in loader:
        print(epoch, [tuple(image.shape) for image in images], made.digest([images, targets]))
if hasattr(loader, "plan"):
    print("plan", loader.plan())
