# SPDX-License-Identifier: MIT
"""Ranks as tasks of Slurm: srun --ntasks 2 python3 slurm_train.py /data/train /shared/token

Rank and world size are those of srun's step. Where no daemon runs on a node, the first task there
starts one (start=True). The tasks do not talk to each other, so each keeps a token of its own.
"""
import json
import os
import sys

import numpy as np

import stoker

weights = np.zeros(3072)
with stoker.connect(start=True) as node:
    loader = node.loader(sys.argv[1], batch_size=4, seed=1, epochs=1, transforms=[
        stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(), stoker.ToTensor()])
    token = f"{sys.argv[2]}.{loader.rank}"
    if os.path.exists(token):  # the job was requeued
        with open(token, encoding="ascii") as file:
            saved = json.load(file)
        weights = np.array(saved["weights"])
        loader.load_state_dict(saved["token"])
    for epoch in range(loader.epoch, loader.epochs):
        for images, labels in loader:
            error = images.reshape(len(images), -1) @ weights - labels
            weights = weights - 1e-5 * images.reshape(len(images), -1).T @ error
            with open(token + ".part", "w", encoding="ascii") as file:
                json.dump({"weights": weights.tolist(), "token": loader.state_dict()}, file)
            os.replace(token + ".part", token)
    print(f"rank {loader.rank} of {loader.world_size}: an epoch, weights {weights[:3]}")
