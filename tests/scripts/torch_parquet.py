# SPDX-License-Identifier: MIT
# needs: torch torchvision pyarrow
"""Pictures and labels in a table of parquet, by pyarrow."""
import io
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from PIL import Image
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets, transforms

import made


class Table(torch.utils.data.Dataset):
    def __init__(self, path, transform):
        self.table, self.transform = pq.read_table(path), transform

    def __len__(self):
        return self.table.num_rows

    def __getitem__(self, index):
        picture = Image.open(io.BytesIO(self.table["image"][index].as_py())).convert("RGB")
        return self.transform(picture), self.table["label"][index].as_py()


path = os.path.join(sys.argv[1], "table.parquet")
if not os.path.exists(path):
    samples = datasets.ImageFolder(made.pictures(sys.argv[1])).samples
    pq.write_table(pa.table({
        "image": [open(name, "rb").read() for name, _ in samples],
        "label": [label for _, label in samples]}), path)
torch.manual_seed(11)
dataset = Table(path, transforms.Compose([transforms.Resize((16, 16)), transforms.ToTensor()]))
loader = DataLoader(dataset, batch_size=5, shuffle=True, num_workers=2)
for epoch in range(2):
    for images, labels in loader:
        print(epoch, made.digest(images), labels.tolist())
if hasattr(loader, "plan"):
    print("plan", loader.plan())
