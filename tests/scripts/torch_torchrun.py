# SPDX-License-Identifier: MIT
# needs: torch torchvision
# run: torchrun --standalone --nproc_per_node 2 --redirects 1 --tee 1
"""ImageNet's classification over two processes, with a DistributedSampler."""
import sys

import torch
import torch.distributed as dist
from torch.utils.data.distributed import DistributedSampler
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets, transforms

import made

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    made.pictures(sys.argv[1])
dist.barrier()
dataset = datasets.ImageFolder(made.pictures(sys.argv[1]), transforms.Compose([
    transforms.Resize((20, 20)), transforms.ToTensor()]))
sampler = DistributedSampler(dataset, seed=3)
loader = DataLoader(dataset, batch_size=5, sampler=sampler, num_workers=2)
lines = []
for epoch in range(2):
    sampler.set_epoch(epoch)
    for images, labels in loader:
        total = images.sum()
        dist.all_reduce(total)
        lines.append(f"{epoch} {rank} {made.digest([images, labels])} {total.item():.3f}")
if hasattr(loader, "plan"):
    lines.append(f"plan {loader.plan()}")
everybodys = [None] * dist.get_world_size()
dist.all_gather_object(everybodys, lines)
if rank == 0:
    print("\n".join(line for lines in everybodys for line in lines))
