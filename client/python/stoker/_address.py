# SPDX-License-Identifier: MIT
"""Where the socket of the daemon is, and whether the process that answers there is trusted."""
from __future__ import annotations

import os
import socket
import stat
import struct
import time
from typing import List, Optional, Tuple, Union

from . import _resize, _tables
from ._connection import Connection
from ._version import __version__
from .errors import DaemonUnavailable, Disconnected, plain

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

CONNECT_S = 10.0
_PATH_MOST = 107  # bytes, of an address of Linux
_UCRED = struct.Struct("3i")
_HINT = ("start one with `stokerd` (or `systemctl --user start stokerd`, or connect(start=True)), "
         "or give its socket with connect(socket=...) or $STOKER_SOCKET")


def candidates(given: Optional[Path]) -> List[str]:
    """Socket paths to try, in this order."""
    if given is not None:
        return [os.fsdecode(given)]
    if os.environ.get("STOKER_SOCKET"):
        return [os.environ["STOKER_SOCKET"]]
    out = []
    if os.environ.get("XDG_RUNTIME_DIR"):
        out.append(os.path.join(os.environ["XDG_RUNTIME_DIR"], "stoker", "stokerd.sock"))
    return out + [f"/tmp/stoker-{os.getuid()}/stokerd.sock", "/run/stoker/stokerd.sock"]


def find(given: Optional[Path]) -> Tuple[str, Connection]:
    """Connect to the first socket that answers. Raises DaemonUnavailable with what was tried."""
    tried = []
    for path in candidates(given):
        size = len(os.fsencode(path))
        if size > _PATH_MOST:
            tried.append(f"{path} has {size} bytes; a socket's path can have at most {_PATH_MOST}")
        elif os.path.exists(path):
            try:
                return path, open_connection(path)
            except DaemonUnavailable as error:
                tried.append(str(error))
        else:
            tried.append(f"{path} does not exist")
    raise DaemonUnavailable(f"no stokerd answers: {'; '.join(tried)}; {_HINT}")


def open_connection(path: str) -> Connection:
    """Connect, check the peer, and say HELLO. Raises DaemonUnavailable, VersionError, ..."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _connect(sock, path)
        uid = _peer_uid(sock)
        if not _trusted(path, uid):
            raise DaemonUnavailable(f"{path} is not trusted: it is served by uid {uid}, which is "
                                    "neither root, nor you, nor the owner of its directory")
        connection = Connection(sock, uid, path)
    except OSError as error:
        sock.close()
        hint = " (if `ls -l` shows a group that may write, join it)" * isinstance(
            error, PermissionError)
        raise DaemonUnavailable(
            f"cannot connect to {path}: {error.strerror or error}{hint}") from error
    except BaseException:
        sock.close()
        raise
    try:
        welcome = connection.request_within(CONNECT_S, "hello", "welcome",
                                            version_min=_tables.VERSION,
                                            version_max=_tables.VERSION,
                                            client=f"stoker-python {__version__}")
        connection.daemon = plain(welcome["daemon"])
        capabilities = welcome["capabilities"] or ()
        connection.takes_fds = "descriptors" in capabilities
        connection.takes_credentials = "credentials" in capabilities
        connection.resizes = _resize.PILLOW_13 in capabilities
        connection.takes_like = "like" in capabilities
    except (Disconnected, TimeoutError) as error:
        raise DaemonUnavailable(f"{path} does not answer: {error}") from error
    except BaseException:
        connection.close()
        raise
    return connection


def other_version(daemon: str) -> str:
    """Words where the daemon is of another version than this client; "" where it is not."""
    version = daemon.rpartition(" ")[2]
    if not daemon or version == __version__:
        return ""
    return (f"it is version {version}, this client {__version__}: they understand each other; "
            "restart it from the same package when its trainers can wait a moment")


def _connect(sock: socket.socket, path: str) -> None:
    """connect(); waits while the daemon's queue of connections is full."""
    until = time.monotonic() + CONNECT_S
    sock.setblocking(False)
    while True:
        try:
            return sock.connect(path)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.01)


def _peer_uid(sock: socket.socket) -> int:
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    uid: int = _UCRED.unpack(credentials)[1]
    return uid


def _trusted(path: str, uid: int) -> bool:
    """Root and this user are trusted; so is the owner of the directory, unless others could have
    made the directory."""
    if uid in (0, os.geteuid()):
        return True
    folder = os.path.dirname(os.path.realpath(path))
    if os.stat(folder).st_uid != uid:
        return False
    while True:
        if os.stat(folder).st_mode & stat.S_IWOTH:
            return False
        if folder == os.path.dirname(folder):
            return True
        folder = os.path.dirname(folder)
