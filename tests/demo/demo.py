# SPDX-License-Identifier: MIT
"""The demo: one daemon, three trainers, a live change of workers, and the proof that the bytes do
not care. Takes about half a minute; exits with 1 if something that it claims does not hold.

    make demo                 on 300 made photographs
    make demo DATA=/my/data   on a folder with a folder of pictures for each class
"""

import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path[:0] = [str(SOURCE / "client" / "python"), str(HERE), str(HERE.parent)]

import stoker  # noqa: E402 (from this source, not from what may be installed)

import photos  # noqa: E402
import place  # noqa: E402, F401 (sockets are where their names are short)
from PIL import Image, ImageDraw  # noqa: E402

TRAINERS = 3
SECONDS = 4  # of each measurement
COLUMNS = 120  # of a table
DIGEST_SAMPLES = 512  # of a large folder, enough to prove it
TRAIN = (stoker.RandomResizedCrop(224), stoker.RandomHorizontalFlip(), stoker.ToTensor(),
         stoker.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))


class Failed(Exception):
    """Something that the demo claims does not hold."""


def say(text=""):
    print(text, flush=True)


def step(title):
    say(f"\n== {title}")


def check(true, claim):
    say(f"   {'yes' if true else 'NO'}: {claim}")
    if not true:
        raise Failed(claim)


class Programs:
    """The daemon on a private socket, and stokerctl."""

    def __init__(self, build, folder):
        self.stokerd = build / "daemon" / "stokerd"
        self.stokerctl = build / "client" / "ctl" / "stokerctl"
        self.socket = folder / "stokerd.sock"
        self.control = folder / "control.sock"
        self.log = folder / "log"
        self.process = None

    def start(self, workers):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [self.stokerd, "--socket", self.socket, "--control-socket", self.control,
                 "--workers", str(workers)], stdout=log, stderr=log)
        deadline = time.monotonic() + 10
        while not self.socket.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"stokerd does not start:\n{self.log.read_text(errors='replace')}")
            time.sleep(0.02)

    def ctl(self, *arguments):
        done = subprocess.run([self.stokerctl, "--socket", self.control, *arguments], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise Failed(f"stokerctl {' '.join(arguments)}: {done.stdout}")
        return done.stdout

    def counters(self):
        return json.loads(self.ctl("status", "--json"))

    def stop(self):
        self.process.terminate()
        return self.process.wait(15)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Trainer:
    """A training process: see train() below for what runs in it."""

    def __init__(self, socket, data):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--train", str(socket), "--data", str(data)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def tell(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed("a trainer ended early; its words are above")
        return line.strip()

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def train(socket, data):
    """A trainer: attach, say so, go when told; for each further line say the images so far."""
    words = open(0, "rb", buffering=0)  # one that select() sees is one that was not read yet
    with stoker.connect(socket) as node:
        loader = node.loader(data, batch_size=32, transforms=TRAIN, seed=7, job="demo")
        print("attached", flush=True)
        words.readline()
        images_seen = 0
        while True:
            for images, labels in loader:
                images.sum(), labels.sum()  # a model would do more with them
                images_seen += len(labels)
                if select.select([words], [], [], 0)[0]:
                    if not words.readline():
                        return
                    print(images_seen, flush=True)


def rates_of(trainers):
    """Images a second of each trainer, over SECONDS."""
    def ask():
        for trainer in trainers:
            trainer.tell("count")
        return [int(trainer.hear()) for trainer in trainers], time.monotonic()

    before, begun = ask()
    time.sleep(SECONDS)
    after, ended = ask()
    return [(b - a) / (ended - begun) for a, b in zip(before, after)]


def show_rates(rates):
    for number, rate in enumerate(rates, 1):
        say(f"   trainer {number}: {rate:6.0f} images/s  {'#' * int(rate / max(rates) * 40)}")


def digest_of(node, data, batch_size):
    """SHA-256 of an epoch: every byte of every image, with its label, in order."""
    digest, count = hashlib.sha256(), 0
    with node.loader(data, batch_size=batch_size, transforms=TRAIN, seed=7, epochs=1,
                     subset=(0, DIGEST_SAMPLES)) as loader:
        for images, labels in loader:
            for image, label in zip(images, labels):
                digest.update(image.tobytes() + label.tobytes())
            count += len(labels)
    return digest.hexdigest(), count


def contact_sheet(node, data, path, columns=8, rows=5, size=128):
    """A PNG of what a trainer sees, each picture with its class."""
    sheet = Image.new("RGB", (columns * (size + 8) + 8, rows * (size + 24) + 8), "white")
    draw = ImageDraw.Draw(sheet)
    number = 0
    with node.loader(data, batch_size=columns, dtype="uint8", layout="NHWC", seed=7,
                     transforms=(stoker.RandomResizedCrop(size), stoker.RandomHorizontalFlip()),
                     bad_samples="substitute") as loader:
        classes = loader.classes
        for _ in range(columns * rows):  # epochs: a small folder has less than the sheet holds
            for images, labels in loader:
                for image, label in zip(images, labels):
                    if number == columns * rows:
                        sheet.save(path)
                        return
                    x = 8 + number % columns * (size + 8)
                    y = 8 + number // columns * (size + 24)
                    sheet.paste(Image.fromarray(image), (x, y))
                    name = classes[label] if classes else str(label)
                    draw.text((x, y + size + 2), name[:20], fill="black")
                    number += 1


def feed(programs, data):
    """Three trainers on one stream, and a worker more while they run."""
    step(f"{TRAINERS} trainers, each a process of its own, attach to one stream; 1 worker decodes")
    with contextlib.ExitStack() as stack:
        trainers = [Trainer(programs.socket, data) for _ in range(TRAINERS)]
        for trainer in trainers:
            stack.callback(trainer.kill)
        for trainer in trainers:
            trainer.hear()
        for trainer in trainers:
            trainer.tell("go")
        before = rates_of(trainers)
        show_rates(before)
        step("one command, while they train: stokerctl set workers 2")
        say("   " + programs.ctl("set", "workers", "2").strip())
        after = rates_of(trainers)
        show_rates(after)
        say(f"   {sum(after) / sum(before):.2f} times the images, on "
            f"{len(os.sched_getaffinity(0))} cores that the trainers use too")
        step("what the daemon says: stokerctl streams, stokerctl readers, stokerctl status")
        for what in ("streams", "readers", "status"):
            # A table as wide as a screen; of the counters those that are about trainers and work.
            lines = programs.ctl(what).partition("\ntrouble")[0].rstrip().splitlines()
            say("\n".join("   " + line[:COLUMNS] for line in lines) + "\n")
        counters = programs.counters()
        shared = counters["samples_delivered_total"] / max(1, counters["samples_decoded_total"])
        say(f"   {counters['samples_delivered_total']} samples were delivered and "
            f"{counters['samples_decoded_total']} decoded: {shared:.2f} for each decoded one")
        check(shared > TRAINERS - 0.5, "one decode feeds all three trainers")
        for trainer in trainers:
            trainer.end()


def prove(programs, data):
    step("the same epoch, with 1 worker and with 2, in batches of 32 and of 50")
    digests = []
    with stoker.connect(programs.socket) as node:
        for workers, batch_size in ((1, 32), (2, 50)):
            programs.ctl("set", "workers", str(workers))
            digest, count = digest_of(node, data, batch_size)
            digests.append(digest)
            say(f"   {workers} worker{'s' * (workers > 1)}, batches of {batch_size}: {count} "
                f"samples, SHA-256 {digest[:32]}...")
        check(digests[0] == digests[1], "every byte of every image and label is the same")
        step("what a trainer sees")
        out = pathlib.Path("demo-out") / "contact-sheet.png"
        out.parent.mkdir(exist_ok=True)
        contact_sheet(node, data, out)
        say(f"   look at {out}: crops and flips of 40 samples, each with its class")


def names_in_shared_memory():
    folder = pathlib.Path("/dev/shm")
    return set(folder.glob("stoker*")) if folder.exists() else set()


def demo(build, data):
    say("stoker: one daemon feeds every training process of a machine; this shows how.")
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stoker-")))
        if data is None:
            step("300 photographs are made, in 6 classes (give your own: make demo DATA=folder)")
            data = folder / "photos"
            count = len(photos.make(data))
            say(f"   {count} pictures: JPEG in colour and gray, some PNG and WebP")
        shared_before = names_in_shared_memory()
        programs = Programs(build, folder)
        stack.callback(programs.kill)
        programs.start(workers=1)
        feed(programs, data)
        prove(programs, data)
        step("the daemon is told to stop")
        check(programs.stop() == 0, "it ends well")
        check(not programs.socket.exists() and not programs.control.exists(), "no socket is left")
        check(names_in_shared_memory() <= shared_before, "no shared memory is left")
    step("what to try next")
    example = "tests/demo/train_loop.py"
    for command, what in (
            (f"{build}/daemon/stokerd &", "a daemon of your own, on your user's socket"),
            (f"{build}/client/ctl/stokerctl readers", "who trains, how fast, who waits for whom"),
            (f"PYTHONPATH=client/python {sys.executable} {example} /my/data", "a training loop"),
            ("make test", "every quick check"),
            ("make bench DATA=/my/data", "beside the DataLoader of PyTorch")):
        say(f"   {command}\n        {what}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--train", metavar="SOCKET", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        return train(options.train, options.data)
    try:
        demo(options.build, options.data)
    except (Failed, stoker.Error, OSError, subprocess.TimeoutExpired) as error:
        say(f"\nThe demo failed: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
