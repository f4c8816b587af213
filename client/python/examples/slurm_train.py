# SPDX-License-Identifier: MIT
"""Ranks as tasks of Slurm: srun --ntasks 2 python3 slurm_train.py /data/train /shared/token.json

Rank and world size are those of srun's step. Where no daemon runs on a node, the first task there
starts one (start=True).
"""
import json
import os
import sys

import numpy as np

import stoker

folder, token = sys.argv[1:]
weights = np.zeros(3072)
with stoker.connect(start=True) as node:
    loader = node.loader(folder, batch_size=4, seed=1, epochs=1, transforms=[
        stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(), stoker.ToTensor()])
    if os.path.exists(token):  # the job was requeued
        with open(token, encoding="ascii") as file:
            loader.load_state_dict(json.load(file))
    for images, labels in loader:
        error = images.reshape(len(images), -1) @ weights - labels
        weights = weights - 1e-5 * images.reshape(len(images), -1).T @ error
    print(f"rank {loader.rank} of {loader.world_size}: an epoch, weights {weights[:3]}")
    if loader.rank == 0:
        with open(token, "w", encoding="ascii") as file:
            json.dump(loader.state_dict(), file)
