# SPDX-License-Identifier: MIT
"""Ranks as tasks, one on each worker of a Dask cluster, fed by the daemon of the worker's machine:
dask_train.py /data/train [address of the scheduler]
"""
import sys

import numpy as np
from dask.distributed import Client

import stoker


def epoch(folder, rank, world):
    weights = np.zeros(3072)
    with stoker.connect(start=True) as node:
        for images, labels in node.loader(
                folder, batch_size=4, seed=1, rank=rank, world_size=world, epochs=1, transforms=[
                    stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(),
                    stoker.ToTensor()]):
            error = images.reshape(len(images), -1) @ weights - labels
            weights = weights - 1e-5 * images.reshape(len(images), -1).T @ error
    return weights


if __name__ == "__main__":
    with Client(*sys.argv[2:], **{} if sys.argv[2:] else {"n_workers": 2}) as client:
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        tasks = [client.submit(epoch, sys.argv[1], rank, len(workers), workers=[worker], pure=False)
                 for rank, worker in enumerate(workers)]
        weights = np.mean(client.gather(tasks), axis=0)
        print("an epoch by", len(workers), "ranks, weights", weights[:3])
