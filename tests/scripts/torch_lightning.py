# SPDX-License-Identifier: MIT
# needs: torch torchvision lightning
# run: torchrun --standalone --nproc_per_node 2 --redirects 1 --tee 1
"""Lightning's Trainer over two processes with a LightningDataModule, whose loaders Lightning makes
anew to put in its samplers: it trains, validates, saves, goes on and predicts."""
import logging
import sys
import warnings

import lightning as L
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets, transforms

import made

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
logging.getLogger("lightning.fabric").setLevel(logging.ERROR)
lines = []


class Pictures(L.LightningDataModule):
    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def prepare_data(self):
        made.pictures(self.folder)

    def setup(self, stage):
        whole = datasets.ImageFolder(made.pictures(self.folder), transforms.Compose([
            transforms.Resize((16, 16)), transforms.ToTensor()]))
        self.train, self.val = torch.utils.data.random_split(
            whole, [17, 7], torch.Generator().manual_seed(1))

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=4, shuffle=True, num_workers=2,
                          persistent_workers=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=4, num_workers=0)

    def predict_dataloader(self):
        return DataLoader(self.val, batch_size=3, num_workers=2)


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 3))

    def training_step(self, batch, number):
        images, labels = batch
        loss = nn.functional.cross_entropy(self.layers(images), labels)
        lines.append(f"{self.current_epoch} {number} {made.digest(batch)} {loss.item():.6f}")
        return loss

    def validation_step(self, batch, number):
        lines.append(f"validation {number} {made.digest(batch)}")

    def predict_step(self, batch, number):
        lines.append(f"prediction {number} {made.digest(batch)}")

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


def trainer(epochs):
    return L.Trainer(max_epochs=epochs, accelerator="cpu", devices=2, strategy="ddp", logger=False,
                     enable_progress_bar=False, enable_model_summary=False,
                     enable_checkpointing=False)


L.seed_everything(5, verbose=False)
data, first = Pictures(sys.argv[1]), trainer(2)
first.fit(Model(), data)
loader = first.train_dataloader
first.save_checkpoint(f"{sys.argv[1]}/last.ckpt")
second, model = trainer(3), Model()
second.fit(model, data, ckpt_path=f"{sys.argv[1]}/last.ckpt")
second.predict(model, data)
if hasattr(loader, "plan"):
    lines.append(f"plan {loader.plan()}")
everybodys = [None] * dist.get_world_size()
dist.all_gather_object(everybodys, lines)
if dist.get_rank() == 0:
    print("\n".join(line for lines in everybodys for line in lines))
