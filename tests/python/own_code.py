# SPDX-License-Identifier: MIT
"""Code as users write it, for test_source.py: datasets that give the bytes of pictures."""
import io
import os
import random
import sys
import threading
import time
from pathlib import Path

import numpy as np


class Files:
    """The pictures of a folder, with the number of their class."""

    def __init__(self, folder):
        self.files = sorted(str(path) for path in Path(folder).rglob("*.png"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return Path(self.files[index]).read_bytes(), int(Path(self.files[index]).parent.name[-1])


class Pictures(Files):
    """The same, as arrays; with `draws` no two are alike."""

    def __init__(self, folder, draws=False):
        super().__init__(folder)
        self.draws = draws

    def __getitem__(self, index):
        from PIL import Image
        data, label = super().__getitem__(index)
        picture = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).copy()
        if self.draws:
            picture[:] = np.random.randint(0, 256)
            label = random.randrange(1000)
        return picture, label


class Drawn(Files):
    """A file of all, at random."""

    def __getitem__(self, index):
        return super().__getitem__(random.randrange(len(self)))


class Failing(Files):
    """`do` happens at sample 5."""

    def __init__(self, folder, do, once=None):
        super().__init__(folder)
        self.do, self.once = do, once

    def __getitem__(self, index):
        if index == 5 and not (self.once and os.path.exists(self.once)):
            if self.once:
                Path(self.once).touch()
            if self.do == "raise":
                raise ValueError("there is no such picture")
            if self.do == "exit":
                os._exit(3)
            if self.do == "hang":
                time.sleep(3600)
            if self.do == "type":
                return "a text"
        return super().__getitem__(index)


class Forgetful(Files):
    """Gives what hangs on the process, which nothing seeds."""

    def __getitem__(self, index):
        return np.array([index, os.getpid(), time.monotonic_ns()])


class Talking(Files):
    def __getitem__(self, index):
        print(f"sample {index}")
        print(f"error {index}", file=sys.stderr)
        return super().__getitem__(index)


class Locked(Files):
    """Cannot be pickled."""

    def __init__(self, folder):
        super().__init__(folder)
        self.guard = threading.Lock()


class Broken(Files):
    """Cannot be made in another process."""

    def __setstate__(self, state):
        raise RuntimeError("not in this process")


class Counting(Files):
    """Says which process makes a sample."""

    def __init__(self, folder, out):
        super().__init__(folder)
        self.out = out

    def __getitem__(self, index):
        with open(self.out, "a", encoding="ascii") as file:
            file.write(f"{os.getpid()}\n")
        return super().__getitem__(index)


class Dying(Files):
    def __getitem__(self, index):
        print("no more of this", flush=True)
        os._exit(1)


class Which(Files):
    """Says for which sample it was called, and with which random numbers."""

    def __init__(self, folder, out):
        super().__init__(folder)
        self.out = out

    def __getitem__(self, index):
        import random

        import numpy

        import stoker
        at = stoker.sample()
        with open(self.out, "a", encoding="ascii") as file:
            file.write(f"{at.index == index} {at.epoch} {at.position} {random.random()} "
                       f"{numpy.random.rand()}\n")
        return super().__getitem__(index)


class Floats:
    """Small arrays, with a random number in each."""

    def __init__(self, count=21):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        import numpy
        image = numpy.full((2, 3, 4), index, numpy.float32)
        image[0, 0, 0] = numpy.random.rand()
        return image, index % 3


class Nested(Floats):
    """A tree of all that a sample may be."""

    def __getitem__(self, index):
        import numpy
        return {"a": numpy.full((2, 1), index, ">i2"),
                "b": (numpy.float64(index / 4), [index % 2 == 0]), "c": 2.5, "d": index,
                "e": numpy.uint8(7)}


class Shaped(Floats):
    """Another shape, type or tree at sample 5."""

    def __init__(self, other):
        super().__init__()
        self.other = other

    def __getitem__(self, index):
        import numpy
        return self.other if index == 5 else (numpy.zeros(3, numpy.float32), 1)


class Opening(Files):
    """Opens its first file at the first call, and cannot be pickled then."""

    file = None

    def __getitem__(self, index):
        import numpy
        if self.file is None:
            self.file = open(self.files[0], "rb")
        return numpy.int64(index)


class Changing(Floats):
    """Says what it was when it made a sample."""

    epoch = 0

    def __init__(self, count=21, also=None):
        super().__init__(count)
        self.also = also

    def __getitem__(self, index):
        return self.epoch + (self.also(index) if self.also else 0), index


class Untold:
    """Can be pickled, and says nothing of what it is."""

    def __call__(self, index):
        return 0

    def __reduce_ex__(self, protocol):
        if sys._getframe(1).f_globals["__name__"].endswith("identity"):
            raise TypeError("no")
        return Untold, ()


class Large(Floats):
    """Holds an array."""

    def __init__(self, size):
        super().__init__()
        import numpy
        self.data = numpy.arange(size, dtype=numpy.uint8)

    def __getitem__(self, index):
        return int(self.data[index::4096].sum())


class Wordy(Floats):
    """Prints lines of 32 KiB in all at each call."""

    def __getitem__(self, index):
        print("some words of it\n" * 2048, flush=True)
        return index


class Forking(Floats):
    """Leaves a process behind at each call."""

    def __init__(self, out):
        super().__init__()
        self.out = out

    def __getitem__(self, index):
        pid = os.fork()
        if not pid:
            os.setsid()
            os.close(1)
            os.close(2)
            time.sleep(3600)
            os._exit(0)
        with open(self.out, "a", encoding="ascii") as file:
            file.write(f"{pid}\n")
        return index
