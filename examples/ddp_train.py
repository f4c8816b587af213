# SPDX-License-Identifier: MIT
"""Train on the nodes that are there; one that dies costs the steps since the last commit.

    torchrun --nnodes 3:4 --nproc-per-node 1 --max-restarts 9 --rdzv-backend c10d \
        --rdzv-endpoint HEAD:29400 ddp_train.py /data/train /shared/checkpoint.pt [epochs]
"""
import os
import sys
from datetime import timedelta

import torch
from torch import distributed, nn

import stoker.torch

folder, checkpoint, epochs = sys.argv[1], sys.argv[2], int((sys.argv[3:] or ["1"])[0])
distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo",
                               timeout=timedelta(seconds=60))  # so late a dead network is seen
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Flatten(), nn.Linear(3072, 1000)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = stoker.torch.Loader(folder, 4, seed=1, transforms=[
    stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(), stoker.ToTensor()])
if os.path.exists(checkpoint):
    saved = torch.load(checkpoint)
    model.load_state_dict(saved["model"])
    loader.load_state_dict(saved["token"])

for epoch in range(loader.epoch, epochs):
    with model.join():  # the last batch of an epoch need not reach all ranks
        for images, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
            if loader.rank == 0:  # model and token are one file, so they cannot differ
                torch.save({"model": model.state_dict(), "token": loader.state_dict()},
                           checkpoint + ".part")
                os.replace(checkpoint + ".part", checkpoint)
