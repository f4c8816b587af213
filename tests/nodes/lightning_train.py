# SPDX-License-Identifier: MIT
"""Lightning's Trainer over two processes: lightning_train.py /data/train [devices] [nodes]

The loader is made in train_dataloader(), when Lightning has set up the ranks. It deals the samples
by itself, so no sampler is to be put in: use_distributed_sampler=False.
"""
import sys

import lightning
import torch
from torch import nn

import stoker.torch


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(3072, 1000))

    def training_step(self, batch, _):
        images, labels = batch
        return nn.functional.cross_entropy(self.layers(images), labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)

    def train_dataloader(self):
        return stoker.torch.Loader(sys.argv[1], 4, seed=1, last_batch="wrap", transforms=[
            stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(), stoker.ToTensor()])


if __name__ == "__main__":
    devices, nodes = (int(number) for number in (*sys.argv[2:], *["2", "1"][len(sys.argv) - 2:]))
    lightning.Trainer(
        max_epochs=1, accelerator="auto" if torch.cuda.is_available() else "cpu", devices=devices,
        num_nodes=nodes, strategy="ddp", use_distributed_sampler=False, logger=False,
        enable_checkpointing=False, enable_progress_bar=False).fit(Model())
