# SPDX-License-Identifier: MIT
"""Stands between a client and a daemon, and can keep back what the daemon says. Bytes only, no
descriptors: for rings by path."""

import contextlib
import pathlib
import shutil
import socket
import tempfile
import threading

CHUNK = 65536


class Relay:
    """Listens at `socket`; each connection goes on to the daemon's."""

    def __init__(self, daemon):
        self.folder = tempfile.mkdtemp(prefix="stoker-relay-")
        self.socket = pathlib.Path(self.folder, "stokerd.sock")
        self._daemon = str(daemon)
        self._open = threading.Event()
        self._open.set()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.socket))
        self._listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go_on()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        shutil.rmtree(self.folder)

    def hold(self):
        """From now on keep all but the first words of the daemon, its WELCOME."""
        self._open.clear()

    def go_on(self):
        self._open.set()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, socket.socket(socket.AF_UNIX) as daemon, contextlib.suppress(OSError):
            daemon.connect(self._daemon)
            threading.Thread(target=pass_on, args=(client, daemon), daemon=True).start()
            client.sendall(daemon.recv(CHUNK))
            pass_on(daemon, client, self._open.wait)


def pass_on(source, to, may=lambda: True):
    """All that comes, when it may; its end, too."""
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK):
            may()
            to.sendall(data)
    with contextlib.suppress(OSError):
        to.shutdown(socket.SHUT_RDWR)
