# SPDX-License-Identifier: MIT
"""System calls on memory that Python's mmap module does not have. Addresses and lengths are ints,
multiples of PAGE. Each call raises OSError. Knows no ring. Any thread."""
from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import resource
import struct
from typing import Optional

PAGE = mmap.PAGESIZE

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = _libc.mremap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                       ctypes.c_long)
_libc.mremap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int,
                         ctypes.c_void_p)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)

_FAILED = ctypes.c_void_p(-1).value
_MAP_FIXED, _MAP_NORESERVE = 0x10, 0x4000
_MREMAP_MAYMOVE, _MREMAP_FIXED = 1, 2
_MADV_DONTNEED, _MADV_POPULATE_WRITE = 4, 23
_COPIES_MAX = 16  # attempts to copy memory that another thread writes to

# PAGEMAP_SCAN (Linux 6.7): struct pm_scan_arg, and the categories of a page in it.
_SCAN = 0xC0606610
_SCAN_ARGUMENT = struct.Struct("=12Q")
_IS_FILE, _IS_PRESENT, _IS_SWAPPED = 4, 8, 16
# An entry of /proc/self/pagemap: the page is in memory, in swap, of a file.
_PRESENT, _SWAPPED, _FILE = 1 << 63, 1 << 62, 1 << 61
_ENTRIES = 512  # entries read at a time

_pagemap: Optional[int] = None  # descriptor of /proc/self/pagemap, once it was opened


def _check(failed: bool) -> None:
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _map(fd: int, length: int, flags: int) -> int:
    address = _libc.mmap(None, length, mmap.PROT_READ | mmap.PROT_WRITE,
                         mmap.MAP_PRIVATE | _MAP_NORESERVE | flags, fd, 0)
    _check(address == _FAILED)
    return int(address)


def map_private(fd: int, length: int) -> int:
    """Map a file for reading and writing; what is written stays in this process."""
    return _map(fd, length, 0)


def map_twice(fd: int, offset: int, length: int, shared: bool) -> int:
    """Map a part of a file twice, the second time behind the first: what goes on at its begin has
    one address. ``offset`` is a multiple of PAGE, too. Read-only if it is shared."""
    address = _map(-1, 2 * length, mmap.MAP_ANONYMOUS)
    flags = _MAP_FIXED | (mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE | _MAP_NORESERVE)
    prot = mmap.PROT_READ | (0 if shared else mmap.PROT_WRITE)
    for at in (address, address + length):
        if _libc.mmap(at, length, prot, flags, fd, offset) == _FAILED:
            number = ctypes.get_errno()
            unmap(address, 2 * length)
            raise OSError(number, os.strerror(number))
    return address


def unmap(address: int, length: int) -> None:
    _check(_libc.munmap(address, length) != 0)


def discard(address: int, length: int) -> None:
    """Forget what was written to a private mapping: it shows the file again."""
    _check(_libc.madvise(address, length, _MADV_DONTNEED) != 0)


def populate(address: int, length: int) -> None:
    """Make each page of a private mapping the process' own, as writing to it would, but without
    writing: other threads may write meanwhile. EINVAL before Linux 5.14."""
    while _libc.madvise(address, length, _MADV_POPULATE_WRITE) != 0:
        _check(ctypes.get_errno() != errno.EINTR)


def replace(address: int, length: int) -> None:
    """Put anonymous memory with the same bytes in the place of a mapping. A write of another thread
    is noticed while it is being copied; one that begins in the last moment may be lost."""
    copy = _map(-1, length, mmap.MAP_ANONYMOUS)
    for _ in range(_COPIES_MAX):
        ctypes.memmove(copy, address, length)
        if _libc.memcmp(copy, address, length) == 0:
            break
    moved = _libc.mremap(copy, length, length, _MREMAP_MAYMOVE | _MREMAP_FIXED, address)
    if moved == _FAILED:
        number = ctypes.get_errno()
        unmap(copy, length)
        raise OSError(number, os.strerror(number))


def faults() -> int:
    """How often a thread of this process has met a page that had to be made, copied or found. -1:
    the system does not count that (gVisor)."""
    return _faults() if _counts_faults else -1


def _faults() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_minflt + used.ru_majflt


def _find_out_whether_faults_are_counted() -> bool:
    before = _faults()
    with mmap.mmap(-1, PAGE) as page:
        page[0] = 1
    return _faults() != before


_counts_faults = _find_out_whether_faults_are_counted()


def is_written(address: int, length: int) -> bool:
    """Has this process own pages in this part of a private mapping? True if that cannot be found
    out."""
    global _pagemap
    try:
        if _pagemap is None:
            _pagemap = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
        return _scan(_pagemap, address, length)
    except OSError:
        return True


def _scan(pagemap: int, address: int, length: int) -> bool:
    region = bytearray(24)
    where = ctypes.addressof(ctypes.c_char.from_buffer(region))
    argument = bytearray(_SCAN_ARGUMENT.pack(
        _SCAN_ARGUMENT.size, 0, address, address + length, 0, where, 1, 1,
        _IS_FILE, _IS_FILE, _IS_PRESENT | _IS_SWAPPED, _IS_FILE))
    try:
        found: int = fcntl.ioctl(pagemap, _SCAN, argument)
        return found > 0
    except OSError:  # an older kernel
        return _read_entries(pagemap, address, length)


def _read_entries(pagemap: int, address: int, length: int) -> bool:
    pages = length // PAGE
    for first in range(0, pages, _ENTRIES):
        count = min(_ENTRIES, pages - first)
        data = os.pread(pagemap, count * 8, (address // PAGE + first) * 8)
        for (entry,) in struct.iter_unpack("=Q", data):
            if entry & (_PRESENT | _SWAPPED) and not entry & _FILE:
                return True
        if len(data) != count * 8:
            return True
    return False


def _after_fork() -> None:
    global _pagemap  # it shows the memory of the parent process
    if _pagemap is not None:
        os.close(_pagemap)
    _pagemap = None


os.register_at_fork(after_in_child=_after_fork)
