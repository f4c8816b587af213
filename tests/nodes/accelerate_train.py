# SPDX-License-Identifier: MIT
"""A loop with Accelerate: accelerate launch --num_processes 2 accelerate_train.py /data/train
(on processors alone: torchrun --nproc-per-node 2 accelerate_train.py /data/train)

The loader is not given to prepare(): it deals the samples to the ranks by itself, and they would be
dealt out a second time. last_batch="wrap" gives all ranks as many batches, also without GPUs, where
join_uneven_inputs() has no effect.
"""
import sys

import torch
from accelerate import Accelerator
from torch import nn

import stoker.torch

accelerator = Accelerator()
model = nn.Sequential(nn.Flatten(), nn.Linear(3072, 1000))
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.01))
loader = stoker.torch.Loader(sys.argv[1], 4, seed=1, last_batch="wrap", transforms=[
    stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(), stoker.ToTensor()])

for images, labels in loader:
    images, labels = images.to(accelerator.device), labels.to(accelerator.device)
    optimizer.zero_grad()
    accelerator.backward(nn.functional.cross_entropy(model(images), labels))
    optimizer.step()
accelerator.print("an epoch, loader at", loader.state_dict()["epoch"])
