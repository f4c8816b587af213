# SPDX-License-Identifier: MIT
"""Segmentation in PyTorch: segmentation.py train.jsonl [epochs]

Each line of train.jsonl names a picture and its mask, a picture of the same size whose pixels are
numbers of classes: {"path": "a.jpg", "mask": "a.png"}, relative to the file. Crops and flips move
both alike; colours change in the picture alone. stoker.convert.voc(..., masks=True) writes such a
file of Pascal VOC.
"""
import sys

import torch
from torch import nn

import stoker.torch

loader = stoker.torch.Loader(sys.argv[1], 8, seed=1, fields=["mask"], transforms=[
    stoker.RandomCrop(64, pad_if_needed=True), stoker.RandomHorizontalFlip(),
    stoker.ColorJitter(0.2, 0.2, 0.2), stoker.ToTensor()])

CLASSES = 21
device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
    nn.Conv2d(32, CLASSES, 1), nn.Upsample(scale_factor=2, mode="bilinear")).to(device)
optimizer = torch.optim.Adam(model.parameters())

for epoch in range(int((sys.argv[2:] or ["1"])[0])):
    right = count = 0
    for images, _, masks in loader:
        images, masks = images.to(device), masks.to(device).long()
        logits = model(images)
        loss = nn.functional.cross_entropy(logits, masks, ignore_index=255)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (logits.argmax(1) == masks).sum().item()
        count += masks.numel()
    print(f"epoch {epoch}: loss {loss.item():.3f}, pixels right {right / count:.3f}")
