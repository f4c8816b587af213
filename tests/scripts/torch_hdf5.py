# SPDX-License-Identifier: MIT
# needs: torch h5py
"""A file of HDF5, opened by each worker at its first sample."""
import os
import sys

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader

import made


class Arrays(torch.utils.data.Dataset):
    def __init__(self, path):
        self.path, self.file = path, None
        with h5py.File(path, "r") as file:
            self.count = len(file["x"])

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.file is None:
            self.file = h5py.File(self.path, "r")
        return torch.from_numpy(self.file["x"][index]), int(self.file["y"][index])


path = os.path.join(sys.argv[1], "data.h5")
if not os.path.exists(path):
    with h5py.File(path, "w") as file:
        file["x"] = np.random.RandomState(1).rand(50, 3, 8, 8).astype(np.float32)
        file["y"] = np.arange(50) % 7
torch.manual_seed(10)
loader = DataLoader(Arrays(path), batch_size=8, shuffle=True, num_workers=2)
for epoch in range(2):
    for x, y in loader:
        print(epoch, made.digest([x, y]), y.tolist())
if hasattr(loader, "plan"):
    print("plan", loader.plan())
