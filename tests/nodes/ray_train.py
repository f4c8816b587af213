# SPDX-License-Identifier: MIT
"""Ranks as actors of Ray, each fed by the daemon of its node: ray_train.py /data/train [ranks]

An actor's rank is what the program gives it; `resources` or a placement group spread the actors
over the nodes.
"""
import sys

import numpy as np
import ray

import stoker


@ray.remote(num_cpus=0.5)
class Rank:
    def __init__(self, folder, rank, world):
        self.loader = stoker.connect(start=True).loader(
            folder, batch_size=4, seed=1, rank=rank, world_size=world, transforms=[
                stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(), stoker.ToTensor()])

    def epoch(self, weights):
        for images, labels in self.loader:
            error = images.reshape(len(images), -1) @ weights - labels
            weights = weights - 1e-5 * images.reshape(len(images), -1).T @ error
        return weights


world = int((sys.argv[2:] or ["2"])[0])
ray.init(log_to_driver=False, include_dashboard=False)
ranks = [Rank.remote(sys.argv[1], rank, world) for rank in range(world)]
weights = ray.get([each.epoch.remote(np.zeros(3072)) for each in ranks])
print("an epoch by", world, "ranks, weights", np.mean(weights, axis=0)[:3])
