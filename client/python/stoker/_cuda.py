# SPDX-License-Identifier: MIT
"""What is needed of CUDA's runtime library, by ctypes: pinned memory, copies and events.

Addresses, streams and events are ints. Each call raises DeviceError, which says what failed, in
which call, and what to do, and clears the runtime's error, so that nobody else finds it later. The
caller sees to the current device. Knows no ring and no framework. Any thread.
"""
from __future__ import annotations

import ctypes
import ctypes.util
import functools
import os
from typing import Any, Optional

from .errors import DeviceError

_HOST_TO_DEVICE = 1
_READ_ONLY_SUPPORTED = 113  # cudaDevAttrHostRegisterReadOnlySupported
_REGISTER_READ_ONLY = 8  # cudaHostRegisterReadOnly
_EVENT_FLAGS = 1 | 2  # blocking: who waits for it sleeps; without times
_NOT_READY = 600
_NAMES = ("libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so")

_Address, _Size, _Int = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
_CALLS = {
    "cudaDeviceGetAttribute": (ctypes.POINTER(_Int), _Int, _Int),
    "cudaHostRegister": (_Address, _Size, ctypes.c_uint),
    "cudaHostUnregister": (_Address,),
    "cudaHostAlloc": (ctypes.POINTER(_Address), _Size, ctypes.c_uint),
    "cudaFreeHost": (_Address,),
    "cudaMemcpyAsync": (_Address, _Address, _Size, _Int, _Address),
    "cudaStreamSynchronize": (_Address,),
    "cudaStreamWaitEvent": (_Address, _Address, ctypes.c_uint),
    "cudaEventCreateWithFlags": (ctypes.POINTER(_Address), ctypes.c_uint),
    "cudaEventDestroy": (_Address,),
    "cudaEventRecord": (_Address, _Address),
    "cudaEventQuery": (_Address,),
    "cudaEventSynchronize": (_Address,),
    "cudaGetLastError": (),
}
_ADVICE = {
    2: "take smaller batches, or give the device or the machine less to hold",
    4: "the process ends: close the loader before that",
    35: "update the driver, or take a framework for an older CUDA",
    100: "look whether nvidia-smi lists a device that this process may use",
}
_OTHERWISE = "state_dict() says where another process can resume; CUDA_LAUNCH_BLOCKING=1 finds " \
    "out whether a kernel before it failed"


class Runtime:
    """A loaded libcudart. Raises DeviceError, if it cannot be loaded or lacks a call."""

    def __init__(self, path: str) -> None:
        try:
            self._library = ctypes.CDLL(path)
            for name, types in _CALLS.items():
                getattr(self._library, name).argtypes = types
            self._library.cudaGetErrorString.restype = ctypes.c_char_p
        except (OSError, AttributeError) as error:
            raise DeviceError(f"cannot use CUDA's runtime library: {error}; set STOKER_CUDART to "
                              "the path of a libcudart.so of CUDA 11.1 or newer") from error

    def reads_registered(self, device: int) -> bool:
        """Can memory that is mapped read-only be registered for this device?"""
        value = _Int()
        self._call("cudaDeviceGetAttribute", "cannot ask the device what it can register",
                   ctypes.byref(value), _READ_ONLY_SUPPORTED, device)
        return bool(value.value)

    def register(self, address: int, length: int) -> None:
        """Pin memory that is mapped shared and read-only."""
        self._call("cudaHostRegister", f"cannot pin the {length} bytes of the ring",
                   address, length, _REGISTER_READ_ONLY)

    def unregister(self, address: int) -> None:
        self._call("cudaHostUnregister", "cannot unpin the ring", address)

    def allocate(self, length: int) -> int:
        """Pinned memory."""
        address = _Address()
        self._call("cudaHostAlloc", f"no {length} bytes of pinned memory",
                   ctypes.byref(address), length, 0)
        return address.value or 0

    def free(self, address: int) -> None:
        self._call("cudaFreeHost", "cannot free pinned memory", address)

    def copy(self, to: int, source: int, length: int, stream: int) -> None:
        """Begin to copy pinned memory to the device."""
        self._call("cudaMemcpyAsync", f"cannot copy {length} bytes to the device",
                   to, source, length, _HOST_TO_DEVICE, stream)

    def finish(self, stream: int) -> None:
        """Wait for all that was begun on a stream."""
        self._call("cudaStreamSynchronize", "cannot wait for the copies", stream)

    def follow(self, stream: int, event: int) -> None:
        """What is begun on the stream from now on waits for the event."""
        self._call("cudaStreamWaitEvent", "cannot let the stream wait for the copy",
                   stream, event, 0)

    def event(self) -> int:
        event = _Address()
        self._call("cudaEventCreateWithFlags", "no event for a copy", ctypes.byref(event),
                   _EVENT_FLAGS)
        return event.value or 0

    def destroy(self, event: int) -> None:
        self._call("cudaEventDestroy", "cannot destroy an event", event)

    def record(self, event: int, stream: int) -> None:
        """The event is when all that was begun on the stream is done."""
        self._call("cudaEventRecord", "cannot mark the end of a copy", event, stream)

    def is_done(self, event: int) -> bool:
        code: int = self._library.cudaEventQuery(event)
        if code == _NOT_READY:
            self._library.cudaGetLastError()
            return False
        self._check(code, "cudaEventQuery", "a copy to the device failed")
        return True

    def wait(self, event: int) -> None:
        """Sleep until the event."""
        self._call("cudaEventSynchronize", "a copy to the device failed", event)

    def _call(self, name: str, failure: str, /, *arguments: Any) -> None:
        self._check(getattr(self._library, name)(*arguments), name, failure)

    def _check(self, code: int, name: str, failure: str) -> None:
        if code:
            text = self._library.cudaGetErrorString(code) or b"unknown error"
            self._library.cudaGetLastError()
            raise DeviceError(f"{failure}: {name}: {text.decode(errors='replace')} (CUDA error "
                              f"{code}); {_ADVICE.get(code, _OTHERWISE)}")


def runtime() -> Runtime:
    """The library of $STOKER_CUDART, else that which this process has loaded (a framework brings
    its own), else the system's. Raises DeviceError."""
    return _load(os.environ.get("STOKER_CUDART") or _loaded() or _installed())


@functools.lru_cache(maxsize=None)
def _load(path: str) -> Runtime:
    return Runtime(path)


def _loaded() -> Optional[str]:
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            path = line.rstrip("\n").split(None, 5)[5:]
            if path and os.path.basename(path[0]).startswith("libcudart"):
                return path[0]
    return None


def _installed() -> str:
    for name in _NAMES:
        try:
            ctypes.CDLL(name)
            return name
        except OSError:
            pass
    return ctypes.util.find_library("cudart") or _NAMES[-1]
