# SPDX-License-Identifier: MIT
"""What one user can try at a daemon that serves others, too: a program an attack, each without end.

    attacks.py NAME SOCKET FOLDER

FOLDER is attack.py's: `album` is another user's, who lets all read it; of `secret` only the daemon
can; `mine` is the attacker's own; `public` is what a rule allows. What is granted and should not be
goes into a file there, `mine/breach-NAME`.
"""

import collections
import contextlib
import mmap
import os
import pathlib
import random
import signal
import socket
import sys
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "daemon"))
from harness import Peer  # noqa: E402 (it stands in the tests' folder)

SMALL = {"name": "Resize", "size": [16, 16]}
BLUR = {"name": "GaussianBlur", "kernel_size": 255}
# The other user's first stream, as attack.py asks for it.
STREAM = {"transforms": [{"name": "RandomResizedCrop", "size": 224},
                         {"name": "RandomHorizontalFlip"}],
          "dtype": "uint8", "batch_size": 32, "order_seed": 1, "augment_seed": 1, "epochs": 0}
STREAMS = 2  # of the other user, which nobody was before
FAULTS = (OSError, AssertionError, TimeoutError)  # the daemon refuses, or has hung up


class Counting(Peer):
    """Counts what it is answered, so that who looks on can see that the attack is one."""

    tally, file, due = collections.Counter(), None, 0

    def receive(self, *arguments):
        message = super().receive(*arguments)
        if message is None:
            self.note("hung-up")
        else:
            self.note(message.fields["name"] if message.name == "error" else message.name)
        return message

    @classmethod
    def note(cls, what):
        cls.tally[what] += 1
        if time.monotonic() > cls.due:
            cls.due = time.monotonic() + 1
            fresh = cls.file.with_name(f"new-{cls.file.name}")
            fresh.write_text(" ".join(f"{what} {count}" for what, count in cls.tally.items()))
            fresh.replace(cls.file)


class Attacker:
    def __init__(self, name, path, folder):
        self.name, self.socket = name, path
        self.folder = pathlib.Path(folder)
        self.mine, self.public = self.folder / "mine", self.folder / "public"
        self.album = self.folder / "album"

    def breach(self, what):
        with open(self.mine / f"breach-{self.name}", "a", encoding="utf-8") as file:
            file.write(f"{what}\n")

    def peer(self, stack):
        peer = stack.enter_context(Counting(self.socket))
        peer.hello()
        return peer

    # 1, 14: what the daemon can read and this user cannot; what no client would say

    def read(self, stack):
        secret, peer = self.folder / "secret", self.peer(stack)
        link = self.mine / "link"
        link.unlink(missing_ok=True)
        link.symlink_to(secret)
        for path in (secret, secret / "pixels.npy", secret / "list.txt", link, "/proc/self/environ",
                     f"{self.public}/../secret", self.folder / "none", "/etc/shadow"):
            dataset = {"path": str(path)}
            for answer in (peer.attach(path, transforms=[SMALL]),
                           peer.request("fit", dataset=dataset, transforms=[SMALL])):
                if answer.name != "error":
                    self.breach(f"{path}: {answer}")
                elif "No such file" in answer.fields["text"]:
                    self.breach(f"{path}: {answer.fields['text']}")
        for path in self.folder, self.mine:
            fd = os.open(path, os.O_RDONLY)
            answer = peer.request("attach", [fd], dataset={"path": str(path), "path_fd": 0},
                                  transforms=[SMALL], batch_size=4, accept_fd=True, epochs=1)
            os.close(fd)
            if answer.name == "attached":
                items = peer.request("list", what="paths", after=0).fields.get("items", ())
                if any("secret" in str(item) for item in items):
                    self.breach(f"{path}: {items}")

    # 70: the numbers of another user's streams; those of the trainers came first

    def like(self, stack):
        peer, none = self.peer(stack), 10**9

        def words(number):
            """Of ATTACH and of LIST, without the number; None: it is a stream of this user's."""
            out = []
            for answer in (peer.request("attach", like=number, batch_size=1, accept_fd=True),
                           peer.request("list", what="description", id=number)):
                if answer.name != "error":
                    return None
                name, text = answer.fields["name"], answer.fields["text"]
                out.append((name, text.replace(str(number), "N")))
            return out

        wanted = words(none)
        for number in range(1, 40):
            found = words(number)
            if found is None and number <= STREAMS:
                self.breach(f"the stream {number} of another user's")
            elif found is not None and found != wanted:
                self.breach(f"{number}: {found}, and of none {wanted}")
            if found is None:
                return
            Counting.note("as-of-none" if found == wanted else "otherwise")

    def oddities(self, stack):
        for _ in range(20):
            peer = stack.enter_context(Counting(self.socket))
            peer.hello(client="a\x9b2J\x1b[2J" * 5)
            answer = peer.attach(self.album, **{**STREAM, "job": "\x9b31m\x00" * 3})
            with contextlib.suppress(*FAULTS):
                peer.send_bytes(random.randbytes(random.randrange(1, 5000)))
                while peer.receive(1):
                    pass
            if answer.name == "attached":
                peer.ring = None
        for number in signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM:
            with contextlib.suppress(PermissionError):
                os.kill(int((self.mine / "daemon").read_text()), number)
                self.breach("a signal")

    # 2, 3: other pictures and other statistics under the other user's names

    def forged(self):
        """A folder of the album's names and sizes, with other bytes and its times."""
        folder = self.mine / "album"
        for path in self.album.glob("*/*"):
            other = folder / path.relative_to(self.album)
            if not other.exists():
                other.parent.mkdir(parents=True, exist_ok=True)
                data = bytearray(path.read_bytes())
                for at in range(len(data) // 2, len(data) - 2):
                    data[at] ^= data[at] not in (0, 0xff, 0xfe, 1)
                other.write_bytes(data)
            stat = path.stat()
            os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        return folder

    def poison(self, stack):
        peer, fd = self.peer(stack), os.open(self.forged(), os.O_RDONLY)
        stack.callback(os.close, fd)
        dataset = {"path": str(self.album), "path_fd": 0}
        fields = {**STREAM, "dataset": dataset, "bad_samples": "substitute", "accept_fd": True,
                  "epochs": 1}
        answer = peer.request("attach", [fd], **fields)
        if answer.name == "attached":
            peer.attached = answer.fields
            peer.follow(answer)
            for _ in peer.samples(keep=()):
                pass
        stack.close()
        time.sleep(1)  # the user's other attacks want its room, too

    def statistics(self, stack):
        """More than are kept, of few pixels, which stay open between them, so that one opening is
        all it takes; then by the other user's name, of forged pictures."""
        peer, holder = self.peer(stack), self.peer(stack)
        small = {"path": str(self.public / "small.npy")}
        holder.request("attach", dataset=small, transforms=[SMALL], batch_size=1, prefetch=1,
                       accept_fd=True, epochs=0)
        for name in map(str, range(32)):
            peer.request("fit", dataset=small, name=name, transforms=[SMALL])
        fd = os.open(self.forged(), os.O_RDONLY)
        stack.callback(os.close, fd)
        peer.request("fit", [fd], dataset={"path": str(self.album), "path_fd": 0}, name="mean",
                     transforms=[SMALL])

    # 4, 10, 11: rings, connections, descriptors

    def rings(self, stack):
        peer, kept = self.peer(stack), []
        for seed in range(1000):
            answer = peer.request("attach", dataset={"path": str(self.public / "small.npy")},
                                  transforms=[{"name": "Resize", "size": [112, 112]}],
                                  dtype="uint8", batch_size=16, prefetch=2, order_seed=seed,
                                  accept_fd=True)
            if answer.name == "error":
                break
            peer.waiting.clear()
            fd = peer.fds.pop()
            kept.append(mmap.mmap(fd, 4096, prot=mmap.PROT_READ))
            os.close(fd)
            peer.request("detach")
        time.sleep(2)  # seen by who asks each second
        for one in kept:
            one.close()
        time.sleep(5)  # the user's other attacks want some, too

    def connections(self, stack):
        with contextlib.suppress(*FAULTS):
            for number in range(2000):
                peer = self.peer(stack)
                peer.attach(self.album, **{**STREAM, "order_seed": 1000 + number})
        time.sleep(1)

    def in_flight(self, stack):
        wish = {**STREAM, "dataset": {"path": str(self.album)}, "accept_fd": True}
        peers = [self.peer(stack) for _ in range(9)]
        for number in range(60):
            for peer in peers:
                with contextlib.suppress(*FAULTS):
                    peer.socket.settimeout(0.1)
                    peer.send("attach", seq=number, **wish)
                    peer.send("detach", seq=number)
                    peer.note("unread")
        for peer in peers[::2]:
            peer.socket.shutdown(socket.SHUT_WR)
        time.sleep(1)

    # 5, 6, 13: openings

    def openings(self, stack):
        for name in "maze", "rows.txt", "packed.npz":
            peer = self.peer(stack)
            with contextlib.suppress(*FAULTS):
                peer.attach(self.public / name, transforms=[SMALL])

    def dead_mount(self, stack):
        for number in range(4):
            peer = self.peer(stack)
            path = self.public / f"dead-disk-{number}.npy"
            peer.send("attach", seq=9, dataset={"path": str(path)},
                      batch_size=4, accept_fd=True, transforms=[SMALL])
            peer.note("hanging")
        time.sleep(7)

    def arrays(self, stack):
        for number in range(8):
            self.peer(stack).attach(self.public / f"array-{number}.npy", transforms=[SMALL])
        peer = self.peer(stack)
        with contextlib.suppress(*FAULTS):
            peer.request("fit", dataset={"path": str(self.public / "small.npy")}, zca=True,
                         transforms=[{"name": "Resize", "size": [24, 24]}])

    # 7, 12: readers that stand still

    def stand_still(self, stack):
        for inflight in 0, 1, 3, 0:
            peer = self.peer(stack)
            if peer.attach(self.album, **STREAM, prefetch=1, pace="together").name == "attached":
                peer.send("credit", inflight=inflight)
        time.sleep(5)

    # 8, 9: work and words

    def work(self, stack):
        peers = []
        for seed in range(4):
            peer = self.peer(stack)
            wish = {"transforms": [BLUR] * 7 + [SMALL], "batch_size": 1, "order_seed": seed}
            if peer.attach(self.public / "pixels.npy", **wish, epochs=0).name == "attached":
                peers.append(peer)
            if self.peer(stack).attach(self.public / "pixels.npy",
                                       transforms=[BLUR] * 58 + [SMALL]).name == "attached":
                self.breach("58 blurs")
        until = time.monotonic() + 5
        while time.monotonic() < until:
            for peer in peers:
                with contextlib.suppress(TimeoutError):
                    message = peer.receive(0.1)
                    if message and message.name == "batch":
                        peer.release(message)

    # producers: records where none may lie, of no group, of bytes that change while they are read

    def code(self, stack):
        secret, reader = random.randbytes(16), self.peer(stack)
        reader.request("attach", dataset={"path": "code:mine", "kind": "code", "code": "mine",
                                          "samples": "5000"},
                       secret=secret, transforms=[SMALL], batch_size=8, epochs=0, accept_fd=True)
        for number in range(20):
            maker = stack.enter_context(contextlib.closing(self.peer(stack)))
            answer = maker.request("produce", code="mine", secret=secret, name="\x9b2J\x00")
            if answer.name != "producer":
                continue
            fd = maker.fds.pop(0)
            tray = mmap.mmap(fd, answer.fields["bytes"])
            os.close(fd)
            work = maker.expect("work").fields
            at, size = work["offset"], work["bytes"]
            maker.send("made", group=work["group"], samples=[[0, at, 4096]])
            for _ in range(200):  # while a worker copies it
                tray[at:at + 4096] = random.randbytes(4096)
            wrong = ([[0, at, 9]] * 2, [[0, at + size - 8, 9]], [[9999, at, 9]],
                     [[0, 2 ** 64 - 8, 16]], "text")[number % 5]
            maker.send("made", group=work["group"] + number % 2, samples=wrong)
            with contextlib.suppress(*FAULTS):
                while maker.receive(1):
                    pass

    def greed(self, stack):
        """Not an attack: a trainer as the other user has, that takes all it gets."""
        peer = self.peer(stack)
        if peer.attach(self.album, **{**STREAM, "order_seed": 77, "batch_size": 8,
                                      "prefetch": 2}).name == "attached":
            until = time.monotonic() + 10
            while time.monotonic() < until:
                message = peer.receive()
                if message is None:
                    break
                if message.name == "ring":
                    peer.follow(message)
                if message.name == "batch":
                    peer.release(message)

    def words(self, stack):
        peer = self.peer(stack)
        for number in range(50):
            peer.attach(f"/{'x' * 3000}/{number}", transforms=[SMALL])
        peer.attach(self.public / "broken", transforms=[SMALL], bad_samples="substitute")


NAMES = ("read", "like", "oddities", "poison", "statistics", "rings", "connections", "in_flight",
         "openings", "dead_mount", "arrays", "stand_still", "work", "code", "greed", "words")


def prepare(folder):
    """What they attack with, in `folder`/public; `folder`/album is there."""
    public, noise = folder / "public", numpy.random.default_rng(1)
    public.mkdir()
    for name in "abcdefghijkl":
        (public / "maze" / name).mkdir(parents=True)
        for other in "abcdefghijkl":
            if other != name:
                (public / "maze" / name / f"to-{other}").symlink_to(f"../{other}")
    (public / "rows.txt").write_text("".join(f"a-long-name-of-a-folder-{number}/x.jpg\n"
                                             for number in range(2000000)))
    numpy.savez_compressed(public / "packed.npz", image=numpy.zeros((40000, 64, 64, 3), "uint8"))
    numpy.save(public / "small.npy", noise.integers(0, 255, (64, 32, 32, 3), "uint8"))
    numpy.save(public / "pixels.npy", noise.integers(0, 255, (2, 1024, 1024, 3), "uint8"))
    (public / "maze" / "a" / "x.jpg").touch()
    for number in range(8):
        numpy.save(public / f"array-{number}.npy", numpy.zeros((500 + number, 64, 64, 3), "uint8"))
        numpy.save(public / f"dead-disk-{number}.npy", numpy.zeros((4, 8, 8, 3), "uint8"))
    (public / "broken" / "class").mkdir(parents=True)
    for number in range(300):
        (public / "broken" / "class" / f"{number}.jpg").write_bytes(b"\xff\xd8 no picture")


def main():
    _, name, path, folder = sys.argv
    attacker = Attacker(name, path, folder)
    Counting.file = attacker.mine / f"tally-{name}"
    while True:
        try:
            with contextlib.ExitStack() as stack:
                getattr(attacker, name)(stack)
        except FAULTS as error:  # counted: it says why an attack comes to nothing
            Counting.note(type(error).__name__)
        time.sleep(0.01)


if __name__ == "__main__":
    main()
