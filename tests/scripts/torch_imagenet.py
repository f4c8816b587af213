# SPDX-License-Identifier: MIT
# needs: torch torchvision
# quick
"""ImageNet's classification, as torch's examples have it: a folder, training and validation."""
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets, transforms

import made

torch.manual_seed(0)
root = made.pictures(sys.argv[1])
normalize = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
train = datasets.ImageFolder(root, transforms.Compose([
    transforms.RandomResizedCrop(24), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
    normalize]))
val = datasets.ImageFolder(root, transforms.Compose([
    transforms.Resize(28), transforms.CenterCrop(24), transforms.ToTensor(), normalize]))
train_loader = DataLoader(train, batch_size=8, shuffle=True, num_workers=2, pin_memory=True)
val_loader = DataLoader(val, batch_size=8, shuffle=False, num_workers=2, pin_memory=True)

model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 24 * 24, len(train.classes)))
for parameter in model.parameters():
    nn.init.constant_(parameter, 0.001)
optimizer = torch.optim.SGD(model.parameters(), 1e-4, momentum=0.9)
for epoch in range(2):
    model.train()
    seen, mean = 0, 0.0
    for images, target in train_loader:
        loss = nn.functional.cross_entropy(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen, mean = seen + len(target), mean + images.mean().item() / len(train_loader)
        print("labels", target.tolist())
    print("samples", seen)
    print("about mean", f"{mean:.4f} 0.2")
    model.eval()
    for images, target in val_loader:
        print("validation", made.digest([images, target]))
if hasattr(train_loader, "plan"):
    print("plan", train_loader.plan())
