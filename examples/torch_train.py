# SPDX-License-Identifier: MIT
"""Fine-tune a ResNet of torchvision on a folder of images, with the transforms of its weights.

    python torch_train.py /data/train [/data/val] [epochs]

In the script that this was, only the lines of the loaders changed:

    train = DataLoader(ImageFolder(folder, augment), 64, shuffle=True, num_workers=8,
                       drop_last=True, pin_memory=True)
    val = DataLoader(ImageFolder(other, weights.transforms()), 64, num_workers=8, pin_memory=True)
"""
import sys

import torch
from torchvision import models, transforms

import stoker.torch

folder, *rest = sys.argv[1:]
other = rest[0] if rest else folder
epochs = int(rest[1]) if len(rest) > 1 else 1

weights = models.ResNet18_Weights.IMAGENET1K_V1
preset = weights.transforms()
augment = transforms.Compose([
    transforms.RandomResizedCrop(preset.crop_size), transforms.RandomHorizontalFlip(),
    transforms.ToTensor(), transforms.Normalize(preset.mean, preset.std)])

train = stoker.torch.Loader(folder, 16, transforms=augment, shuffle=True, drop_last=True)
# All of it, also on a rank of torchrun, which else evaluates its part.
val = stoker.torch.Loader(other, 16, transforms=preset, shuffle=False, rank=0, world_size=1)

device = "cuda" if torch.cuda.is_available() else "cpu"
model = models.resnet18(num_classes=len(train.classes)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

for epoch in range(epochs):
    model.train()
    for images, labels in train:
        images, labels = images.to(device), labels.to(device)
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    right = 0
    with torch.no_grad():
        for images, labels in val:
            right += (model(images.to(device)).argmax(1).cpu() == labels).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {right / val.samples:.3f}")
