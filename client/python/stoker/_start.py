# SPDX-License-Identifier: MIT
"""A daemon of the user's own, started when none answers: stoker.connect(start=True).

Owns its socket's folder, the lock that makes one process of many start it, and its log file. It is
no child of this process, has a session of its own, and ends by itself (exit-idle-time).
"""
from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import stat
import subprocess
import time
from typing import Iterator, List, Optional, Tuple

from . import _address
from ._connection import Connection
from .errors import DaemonUnavailable

START_S = 30.0
IDLE_S = 300
_ATTEMPTS = 3
_log = logging.getLogger("stoker")


def wanted(start: Optional[bool]) -> bool:
    """The argument; where it is None, $STOKER_START."""
    return os.environ.get("STOKER_START", "0") not in ("", "0") if start is None else start


def program(name: str) -> Optional[str]:
    """The path of stokerd or stokerctl: that of this package, if it has one, else in $PATH."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    return beside if os.access(beside, os.X_OK) else shutil.which(name)


def find(given: Optional[_address.Path]) -> Tuple[str, Connection]:
    """As _address.find(), but starts a daemon where none answers. Raises DaemonUnavailable, which
    says why it could not be started."""
    try:
        return _address.find(given)
    except DaemonUnavailable:
        pass  # why none answered is no part of why none starts
    path = _address.candidates(given)[0]
    with _lock(os.path.dirname(os.path.abspath(path))):
        with contextlib.suppress(DaemonUnavailable):
            return _address.find(given)  # another process was faster
        return path, _start(path)


@contextlib.contextmanager
def _lock(folder: str) -> Iterator[None]:
    """The right to start the daemon of that folder, which is made if need be."""
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() \
                or status.st_mode & 0o022:
            raise DaemonUnavailable(f"no stokerd is started in {folder}: others can write there; "
                                    "give another socket with connect(socket=...)")
        lock = os.open(os.path.join(folder, "start.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
                       | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DaemonUnavailable(f"no stokerd can be started in {folder}: {error}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _start(path: str) -> Connection:
    log = os.path.join(os.path.dirname(os.path.abspath(path)), "stokerd.log")
    daemon = program("stokerd")
    if daemon is None:
        raise DaemonUnavailable("there is no stokerd to start: neither in the Python package nor "
                                "in $PATH: install the wheel that has it, or add its folder "
                                "(build/daemon of a source tree) to $PATH")
    for _ in range(_ATTEMPTS):  # one that ends just now may still have the socket
        pid = _spawn(daemon, path, log)
        connection = _await(pid, path)
        if connection is not None:
            _log.warning("no stokerd answered: started one (pid %d) at %s; its log is %s", pid,
                         path, log)
            return connection
    raise DaemonUnavailable(f"stokerd was started and did not answer at {path}: {_last_line(log)}; "
                            f"its log is {log}")


def _command(daemon: str, path: str) -> List[str]:
    command = [daemon, "--socket", path, "--socket-mode", "0600"]
    if "STOKER_EXIT_IDLE_TIME" not in os.environ:
        command += ["--exit-idle-time", f"{IDLE_S}s"]
    return command


def _spawn(daemon: str, path: str, log: str) -> int:
    """Its process id. The shell between ends at once, so that this process has no child to wait
    for."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("STOKER_START", "STOKER_SOCKET")}
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        out = os.open(log, flags, 0o600)
        try:
            shell = subprocess.run(
                ["/bin/sh", "-c", '"$@" >&2 & echo $!', "sh", *_command(daemon, path)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=out, cwd="/",
                env=environment, start_new_session=True, check=True)
        finally:
            os.close(out)
    except (OSError, subprocess.SubprocessError) as error:
        raise DaemonUnavailable(f"stokerd could not be started: {error}") from error
    return int(shell.stdout)


def _await(pid: int, path: str) -> Optional[Connection]:
    """A connection to the daemon that was started; None if it has ended."""
    until = time.monotonic() + START_S
    while True:
        alive = _is_alive(pid)
        try:
            return _address.open_connection(path)
        except DaemonUnavailable:
            if not alive or time.monotonic() >= until:
                return None
        time.sleep(0.02)


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _last_line(log: str) -> str:
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = file.read()[-4096:].splitlines()
    except OSError as error:
        return str(error)
    return lines[-1] if lines else "it said nothing"
