# SPDX-License-Identifier: MIT
"""Three epochs over a folder of images: train_loop.py /data/train [batch size]"""
import sys

import stoker

with stoker.connect() as node:
    loader = node.loader(sys.argv[1], batch_size=int((sys.argv[2:] or ["64"])[0]), seed=1,
                         transforms=[stoker.RandomResizedCrop(224), stoker.RandomHorizontalFlip(),
                                     stoker.ToTensor()])
    for epoch in range(3):
        for images, labels in loader:  # numpy views of shared memory, no copy
            print(epoch, images.shape, f"{images.mean():.4f}", labels[:8])
