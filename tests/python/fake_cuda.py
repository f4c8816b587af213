# SPDX-License-Identifier: MIT
"""The runtime library that is made of host memory (fake_cudart.c), and a device whose arrays are
numpy's."""
import contextlib
import ctypes
import os
from pathlib import Path

import numpy as np

from real_daemon import ROOT

NUMBERS = ("read_only", "late_us", "held", "copies", "bytes", "registered", "allocated", "events",
           "registers", "waits", "wrong", "last_error", "under_way")


def library():
    """The newest built one, or that in $STOKER_BUILD; None if there is none."""
    folders = [Path(os.environ["STOKER_BUILD"])] if os.environ.get("STOKER_BUILD") else \
        list(ROOT.glob("build*"))
    found = [folder / "tests" / "python" / "libfake_cudart.so" for folder in folders]
    found = [path for path in found if path.is_file()]
    return str(max(found, key=lambda path: path.stat().st_mtime)) if found else None


class FakeCuda:
    """Its numbers are attributes."""

    def __init__(self, path):
        self.__dict__["library"] = ctypes.CDLL(path)
        self.library.cudaStreamCreateWithFlags.argtypes = [ctypes.c_void_p, ctypes.c_uint]
        self.library.cudaMemcpyAsync.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                                 ctypes.c_int, ctypes.c_void_p]
        self.library.cudaStreamSynchronize.argtypes = [ctypes.c_void_p]
        self.library.cudaStreamDestroy.argtypes = [ctypes.c_void_p]

    def __getattr__(self, name):
        return ctypes.c_int64.in_dll(self.library, f"fake_{name}").value

    def __setattr__(self, name, value):
        ctypes.c_int64.in_dll(self.library, f"fake_{name}").value = value

    def fail(self, call, code=1, after=0, times=1):
        self.library.fake_fail(call.encode(), after, times, code)

    def calls(self, call):
        return self.library.fake_calls(call.encode())

    def stream(self):
        stream = ctypes.c_void_p()
        assert self.library.cudaStreamCreateWithFlags(ctypes.byref(stream), 1) == 0
        return stream.value

    def numbers(self):
        return {name: getattr(self, name) for name in NUMBERS}


class FakeDevice:
    """A Device. Its arrays are filled with 0xEE until a copy comes."""

    number = 0

    def __init__(self, cuda):
        self.cuda = cuda
        self.stream = cuda.stream()
        self.program = cuda.stream()  # where the program uses the arrays
        self.inside = self.handed = 0

    @contextlib.contextmanager
    def here(self):
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1

    def empty(self, field, count):
        assert self.inside
        array = np.empty((count, *field.shape), field.typestr)
        array.view(np.uint8).fill(0xEE) if array.shape[1:] else array.fill(-1)
        return array, array.ctypes.data

    def consumer(self):
        assert not self.inside
        return self.program

    def hand(self, array):
        self.handed += 1

    def read(self, array):
        """What the program sees, once all before it on its stream is done."""
        seen = np.empty_like(array)
        self.cuda.library.cudaMemcpyAsync(seen.ctypes.data, array.ctypes.data, array.nbytes, 2,
                                          self.program)
        self.cuda.library.cudaStreamSynchronize(self.program)
        return seen

    def close(self):
        for stream in (self.stream, self.program):
            self.cuda.library.cudaStreamDestroy(stream)
