# SPDX-License-Identifier: MIT
# needs: torch torchvision
"""Captions: a picture, its text, and the ids of its words, padded by a collate_fn."""
import sys

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets, transforms

import made

WORDS = "a the red green blue thing lies on under table sky".split()


class Captions(torch.utils.data.Dataset):
    def __init__(self, root):
        self.pictures = datasets.ImageFolder(root, transforms.Compose([
            transforms.Resize(24), transforms.CenterCrop(20), transforms.ToTensor()]))

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        picture, _ = self.pictures[index]
        words = [WORDS[(index * step) % len(WORDS)] for step in range(2, 4 + index % 5)]
        return picture, " ".join(words), torch.tensor([WORDS.index(word) for word in words])


def collate(batch):
    pictures, texts, ids = zip(*batch)
    return {"pixels": torch.stack(pictures), "text": list(texts),
            "ids": pad_sequence(ids, batch_first=True), "lengths": [len(one) for one in ids]}


torch.manual_seed(3)
dataset = Captions(made.pictures(sys.argv[1]))
for loader in (DataLoader(dataset, 5, shuffle=True, num_workers=2, collate_fn=collate),
               DataLoader(dataset, 1, shuffle=True, num_workers=2)):
    for batch in loader:
        print(made.digest(batch), batch["text"][0] if isinstance(batch, dict) else batch[1][0])
    if hasattr(loader, "plan"):
        print("plan", loader.plan())
