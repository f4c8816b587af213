#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Batches on a GPU: are the bytes right, how fast do they come, what does training lose to them.

By hand, on a machine that has one (tests/gpu/prepare.sh makes what it needs):

    python3 build-gpu/measure.py [PART] [--cpu] [--seconds 8] [--batch 256]

Each part is a process with a time limit, so one that fails costs no other. A figure is a line of
JSON. With --cpu all of it runs on a small scale without a GPU, to find mistakes of this program.
"""

import argparse
import ctypes
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE / "train"
SITE = pathlib.Path(tempfile.gettempdir(), "stoker-gpu-site")
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
READ_ONLY_SUPPORTED = 113  # cudaDevAttrHostRegisterReadOnlySupported


def say(**figures):
    print(json.dumps(figures), flush=True)


def loader_of(options, device, dtype="uint8"):
    """Photographs in train crops; with a dtype of floats normalised, too."""
    import stoker
    import stoker.torch
    transforms = [stoker.RandomResizedCrop(options.size), stoker.RandomHorizontalFlip()]
    if dtype != "uint8":
        transforms += [stoker.ToTensor(), stoker.Normalize(MEAN, STD)]
    return stoker.torch.Loader(str(DATA), options.batch, seed=1, transforms=transforms, dtype=dtype,
                               last_batch="drop", device=device, node=stoker.connect(start=True))


def for_ever(loader):
    """Batches of one epoch after another."""
    while True:
        yield from loader


class Clock:
    """Counts samples from now on, for some seconds, and waits for the device at the end."""

    def __init__(self, options):
        import torch
        self._synchronize = torch.cuda.synchronize if options.device else lambda: None
        self._synchronize()
        self._seconds = options.seconds
        self._start = time.perf_counter()
        self.samples = 0

    def runs(self):
        return time.perf_counter() - self._start < self._seconds

    def rate(self):
        self._synchronize()
        return self.samples / (time.perf_counter() - self._start)


# The parts


def host(options):
    """What the machine has."""
    import torch
    say(part="host", python=sys.version.split()[0], cores=os.cpu_count(), kernel=os.uname().release,
        torch=torch.__version__, cuda=torch.version.cuda)
    if options.device:
        supported = ctypes.c_int(-1)
        torch.cuda.init()
        library = ctypes.CDLL(next(
            line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8")
            if "libcudart" in line))
        library.cudaDeviceGetAttribute(ctypes.byref(supported), READ_ONLY_SUPPORTED, 0)
        say(part="host", device=torch.cuda.get_device_name(0),
            registers_read_only=supported.value)


def same(options):
    """Are the bytes on the device those of the host, after the ring has wrapped three times?"""
    import torch
    there, here = loader_of(options, options.device), loader_of(options, None)
    wrong = count = 0
    for (x, y), (a, b) in zip(for_ever(there), for_ever(here)):
        wrong += not (torch.equal(x.cpu(), a) and torch.equal(y.cpu(), b))
        count += 1
        if count == (60 if options.device else 12):
            break
    say(part="same", batches=count, wrong=wrong)
    return 1 if wrong else 0


def into(options):
    """Images a second that reach the device, with nothing computed."""
    for dtype, size in ("uint8", 1), ("float32", 4):
        loader = loader_of(options, options.device, dtype)
        batches = for_ever(loader)
        for _ in range(20):
            next(batches)
        clock = Clock(options)
        while clock.runs():
            clock.samples += len(next(batches)[1])
        rate = clock.rate()
        say(part="into", dtype=dtype, images_per_s=round(rate), copies=loader.copies,
            MB_per_s=round(rate * 3 * options.size ** 2 * size / 1e6))


def step_of(options):
    """A step of training of ResNet-50 in bfloat16 (of ResNet-18 without a GPU)."""
    import torch
    import torchvision
    device = options.device or "cpu"
    model = torchvision.models.resnet50() if options.device else torchvision.models.resnet18()
    model = model.to(device).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    mean, std = (torch.tensor(values, device=device).view(1, 3, 1, 1) * 255
                 for values in (MEAN, STD))

    def step(images, labels):
        if images.dtype == torch.uint8:
            images = (images.float() - mean) / std
        images = images.contiguous(memory_format=torch.channels_last)
        with torch.autocast(device, torch.bfloat16):
            loss = loss_of(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return step


def trained(options, batches, step):
    """Images a second of training, and the share of the time in which the device had no step."""
    import torch
    for _ in range(8 if options.device else 1):
        step(*next(batches))
    marks = []
    clock = Clock(options)
    while clock.runs():
        images, labels = next(batches)
        if options.device:
            marks.append([torch.cuda.Event(enable_timing=True) for _ in range(2)])
            marks[-1][0].record()
        step(images, labels)
        if options.device:
            marks[-1][1].record()
        clock.samples += len(labels)
    rate = clock.rate()
    if not marks:
        return {"images_per_s": round(rate)}
    busy = sum(begin.elapsed_time(end) for begin, end in marks)
    return {"images_per_s": round(rate),
            "idle": round(1 - busy / marks[0][0].elapsed_time(marks[-1][1]), 3)}


def in_memory(options):
    """One batch that is on the device already, again and again."""
    import torch
    shape = options.batch, 3, options.size, options.size
    device = options.device or "cpu"
    images = torch.randint(0, 256, shape, dtype=torch.uint8, device=device)
    labels = torch.zeros(options.batch, dtype=torch.long, device=device)
    while True:
        yield images, labels


def torch_batches(options):
    """Those of a DataLoader with torchvision: pinned, as many workers as cores."""
    import torch
    from torchvision import datasets, transforms
    folder = datasets.ImageFolder(str(DATA), transforms.Compose([
        transforms.RandomResizedCrop(options.size), transforms.RandomHorizontalFlip(),
        transforms.ToTensor(), transforms.Normalize(MEAN, STD)]))
    loader = torch.utils.data.DataLoader(
        torch.utils.data.ConcatDataset([folder] * 20), options.batch, shuffle=True, drop_last=True,
        pin_memory=bool(options.device), num_workers=os.cpu_count(), persistent_workers=True)
    device = options.device or "cpu"
    for images, labels in for_ever(loader):
        yield images.to(device, non_blocking=True), labels.to(device, non_blocking=True)


def train(options):
    """Training on data that costs nothing, on stoker's, on a DataLoader's."""
    step = step_of(options)
    alone = trained(options, in_memory(options), step)
    say(part="train", data="in memory", **alone)
    for name, batches in (("stoker", for_ever(loader_of(options, options.device))),
                          ("DataLoader", torch_batches(options))):
        figures = trained(options, batches, step)
        say(part="train", data=name, **figures,
            lost=round(1 - figures["images_per_s"] / alone["images_per_s"], 3))


def two(options):
    """Two trainers of one stream on one device."""
    children = [subprocess.Popen([sys.executable, __file__, "one", *sys.argv[2:]])
                for _ in range(2)]
    return max(child.wait() for child in children)


def one(options):
    figures = trained(options, for_ever(loader_of(options, options.device)), step_of(options))
    say(part="two", **figures)


def in_jax(options):
    """The same into JAX's arrays."""
    import jax
    import stoker
    import stoker.jax
    loader = stoker.connect(start=True).loader(
        str(DATA), batch_size=options.batch, seed=1, dtype="uint8", last_batch="drop",
        transforms=[stoker.RandomResizedCrop(options.size), stoker.RandomHorizontalFlip()])
    device = jax.devices()[0]

    def batches():
        while True:
            yield from stoker.jax.arrays(loader, device)

    made = batches()
    for _ in range(20):
        jax.block_until_ready(next(made))
    samples, start, last = 0, time.perf_counter(), None
    while time.perf_counter() - start < options.seconds:
        last = next(made)
        samples += options.batch
    jax.block_until_ready(last)
    say(part="jax", jax=jax.__version__, device=str(device),
        images_per_s=round(samples / (time.perf_counter() - start)))


PARTS = {"host": host, "same": same, "into": into, "train": train, "two": two, "jax": in_jax,
         "one": one}
LIMITS = {"host": 40, "same": 60, "into": 60, "train": 120, "two": 60, "jax": 60}  # seconds


def run(part, limit, environment):
    """The lines of a part, with one about its failure."""
    command = [sys.executable, __file__, part, *sys.argv[1:]]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return [json.dumps({"part": part, "error": f"more than {limit} s"})], 1
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        lines.append(json.dumps({"part": part, "error": done.stderr[-600:]}))
    return lines, done.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=PARTS)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--batch", type=int)
    options = parser.parse_args()
    options.device = None if options.cpu else "cuda"
    options.size = 64 if options.cpu else 224
    options.seconds = options.seconds or (1 if options.cpu else 8)
    options.batch = options.batch or (16 if options.cpu else 256)
    if options.part:
        return PARTS[options.part](options)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                    "--upgrade", "--target", SITE, *glob.glob(f"{HERE}/stoker-*.whl")], check=True)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": os.pathsep.join(
        filter(None, [str(SITE), os.environ.get("PYTHONPATH")]))}
    failed = 0
    for part, limit in LIMITS.items():
        lines, code = run(part, limit, environment)
        failed += code != 0
        print(*lines, sep="\n", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
