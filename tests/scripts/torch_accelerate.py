# SPDX-License-Identifier: MIT
# needs: torch torchvision accelerate
# run: torchrun --standalone --nproc_per_node 2 --redirects 1 --tee 1
"""A loop with Accelerate over two processes: it makes a DataLoader of its own of that which it is
given, for training with accumulated gradients, for validation whose last batches are uneven, and
to go on amid an epoch."""
import sys

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets, transforms

import made

torch.manual_seed(14)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
with accelerator.main_process_first():
    root = made.pictures(sys.argv[1])
dataset = datasets.ImageFolder(root, transforms.Compose([
    transforms.Resize((16, 16)), transforms.ToTensor()]))
model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
model, optimizer, loader, validation = accelerator.prepare(
    model, optimizer, DataLoader(dataset, batch_size=3, shuffle=True, num_workers=2),
    DataLoader(torch.utils.data.Subset(dataset, range(17)), 4))
lines = []


def train(batches):
    for images, labels in batches:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(images), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        lines.append(f"{made.digest(images)} {labels.tolist()} {loss.item():.6f} "
                     f"{accelerator.sync_gradients}")


for epoch in range(2):
    train(loader)
    for images, labels in validation:
        every, gathered = accelerator.gather_for_metrics((images, labels))
        lines.append(f"validation {made.digest(every)} {gathered.tolist()}")
train(accelerator.skip_first_batches(loader, 2))
train(loader)
if hasattr(loader, "plan"):
    lines.append(f"plan {loader.plan()}")
everybodys = [None] * accelerator.num_processes
dist.all_gather_object(everybodys, lines)
if accelerator.is_main_process:
    print("\n".join(line for lines in everybodys for line in lines))
