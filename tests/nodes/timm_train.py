# SPDX-License-Identifier: MIT
"""timm's loop, as its train.py has it, over the ranks of torchrun:
torchrun --nproc-per-node 2 timm_train.py /data/train

Where train.py calls create_loader(), the transforms of create_transform() become a stoker loader.
"""
import sys

import timm
import torch
from timm import data, optim, utils

import stoker.torch

args = type("Args", (), {"device": "cuda" if torch.cuda.is_available() else "cpu"})()
device = utils.init_distributed_device(args)
model = timm.create_model("test_resnet.r160_in1k", num_classes=1000).to(device)
config = data.resolve_data_config({"input_size": (3, 64, 64)}, model=model)
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = optim.create_optimizer_v2(model, opt="sgd", lr=0.01)
loader = stoker.torch.Loader(sys.argv[1], 4, seed=1, transforms=[
    stoker.RandomResizedCrop(config["input_size"][-2:], interpolation=config["interpolation"]),
    stoker.RandomHorizontalFlip(), stoker.ToTensor(),
    stoker.Normalize(config["mean"], config["std"])])

losses = utils.AverageMeter()
with model.join():
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.update(loss.item(), len(labels))
print(f"rank {args.rank} of {args.world_size}: an epoch, loss {losses.avg:.3f}")
