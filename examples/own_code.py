# SPDX-License-Identifier: MIT
"""A dataset and a transform of your own, in processes of yours: own_code.py /data/train [epochs]

The dataset gives the bytes of pictures and their labels, from wherever you have them; the daemon
decodes, keeps and crops them. The transform gets what the crop made, and the daemon goes on with
what it gives.
"""
import pathlib
import random
import sys

import stoker


class Files:
    """Here files of a folder, where yours may be rows of a database."""

    def __init__(self, folder):
        self.files = sorted(path for path in pathlib.Path(folder).glob("*/*") if path.is_file())
        self.names = sorted({path.parent.name for path in self.files})

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path = self.files[index]
        return path.read_bytes(), self.names.index(path.parent.name)


def swap_channels(picture):
    """Red and blue change places in half of the pictures: `random` is seeded for each sample."""
    return picture[:, :, ::-1] if random.random() < 0.5 else picture


if __name__ == "__main__":
    with stoker.connect(start=True) as node:
        loader = node.loader(
            stoker.Source(Files(sys.argv[1]), version="1"), batch_size=8, seed=1, num_workers=2,
            transforms=[stoker.RandomResizedCrop(64), stoker.Map(swap_channels, version="1"),
                        stoker.ToTensor()])
        for epoch in range(int((sys.argv[2:] or ["1"])[0])):
            for images, labels in loader:
                print(epoch, images.shape, f"{images.mean():.4f}", labels)
        loader.close()
