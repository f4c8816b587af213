# SPDX-License-Identifier: MIT
# needs: torch torchvision transformers accelerate
# run: torchrun --standalone --nproc_per_node 2 --redirects 1 --tee 1
"""HF's Trainer over two processes, with DataLoaders of one's own, as its documentation has it; the
second half of an epoch is trained from a checkpoint."""
import sys
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import RandomSampler
from torch.utils.data import DataLoader  # or: from stoker.torch import DataLoader
from torchvision import datasets, transforms
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

import made

warnings.filterwarnings("ignore")
lines, loaders = [], []
out = str(Path(__file__).parent / "checkpoints")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 3))

    def forward(self, images, labels):
        loss = nn.functional.cross_entropy(self.layers(images), labels)
        lines.append(f"{self.training} {made.digest([images, labels])} {loss.item():.6f}")
        return {"loss": loss, "logits": self.layers(images)}


def collate(samples):
    images, labels = zip(*samples)
    return {"images": torch.stack(images), "labels": torch.tensor(labels)}


class Pictures(Trainer):
    def get_train_dataloader(self):
        loaders.append(self.accelerator.prepare(DataLoader(
            self.train_dataset, self._train_batch_size, collate_fn=collate, num_workers=2,
            sampler=RandomSampler(self.train_dataset))))
        return loaders[-1]

    def get_eval_dataloader(self, dataset=None):
        return self.accelerator.prepare(DataLoader(
            dataset or self.eval_dataset, 4, collate_fn=collate, num_workers=2))


class Stop(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = state.global_step == 5


def trainer(*callbacks):
    torch.manual_seed(3)
    made = Pictures(Model(), TrainingArguments(
        out, per_device_train_batch_size=3, num_train_epochs=3, use_cpu=True, seed=4,
        save_strategy="steps", save_steps=5, eval_strategy="epoch", report_to=[],
        logging_strategy="no", disable_tqdm=True, remove_unused_columns=False,
        ddp_backend="gloo"),
        train_dataset=data, eval_dataset=data, callbacks=list(callbacks))
    made.remove_callback(PrinterCallback)
    return made


first = TrainingArguments(out, use_cpu=True, ddp_backend="gloo")
if first.process_index == 0:
    made.pictures(sys.argv[1])
dist.barrier()
data = datasets.ImageFolder(made.pictures(sys.argv[1]), transforms.Compose([
    transforms.Resize((16, 16)), transforms.ToTensor()]))
trainer(Stop()).train()
lines.append("from the checkpoint")
trainer().train(resume_from_checkpoint=True)
if hasattr(loaders[0], "plan"):
    lines.append(f"plan {loaders[0].plan()}")
everybodys = [None] * dist.get_world_size()
dist.all_gather_object(everybodys, lines)
if dist.get_rank() == 0:
    print("\n".join(line for lines in everybodys for line in lines))
