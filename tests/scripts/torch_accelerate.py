# SPDX-License-Identifier: MIT
# needs: torch torchvision accelerate
# alone
"""A loop with Accelerate, which makes a DataLoader of its own of that which it is given."""
import sys

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets, transforms

import made

torch.manual_seed(14)
accelerator = Accelerator(cpu=True)
dataset = datasets.ImageFolder(made.pictures(sys.argv[1]), transforms.Compose([
    transforms.Resize((16, 16)), transforms.ToTensor()]))
model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 3))
model, optimizer, loader = accelerator.prepare(
    model, torch.optim.SGD(model.parameters(), lr=0.01),
    DataLoader(dataset, batch_size=5, shuffle=True, num_workers=2))
for epoch in range(2):
    for images, labels in loader:
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        print(epoch, made.digest(images), labels.tolist(), f"{loss.item():.6f}")
if hasattr(loader, "plan"):
    print("plan", loader.plan())
