# SPDX-License-Identifier: MIT
"""The built daemon on a socket of its own, and small folders of images."""
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def binary():
    """The newest built stokerd, or that in $STOKER_BUILD; None if there is none."""
    if os.environ.get("STOKER_BUILD"):
        found = [Path(os.environ["STOKER_BUILD"]) / "daemon" / "stokerd"]
    else:
        found = list(ROOT.glob("build*/daemon/stokerd"))
    found = [path for path in found if path.is_file()]
    return max(found, key=lambda path: path.stat().st_mtime) if found else None


def answers(path):
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


class RealDaemon:
    def __init__(self, folder, *flags):
        self.path = str(Path(folder) / "stokerd.sock")
        self.control = str(Path(folder) / "control.sock")
        self.flags = flags
        self.start()

    def start(self):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("STOKER_")}
        self.process = subprocess.Popen(
            [binary(), "--socket", self.path, "--control-socket", self.control,
             "--ring-memory", "256M", *self.flags],
            stderr=subprocess.PIPE, env=environment)
        for _ in range(500):
            if self.process.poll() is not None:
                raise AssertionError(self.process.stderr.read().decode())
            if all(map(answers, (self.path, self.control))):
                return
            time.sleep(0.01)
        raise AssertionError("stokerd does not listen")

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.wait()

    def wait(self):
        """Stop it; returns its exit code. A second SIGTERM would mean to stop at once."""
        self.process.stderr.read()
        self.process.stderr.close()
        return self.process.wait()


def pictures(folder, classes=3, each=7, size=24):
    """A folder per class with PNGs of a single colour, each of a different one."""
    from PIL import Image
    for label in range(classes):
        home = Path(folder) / f"class{label}"
        home.mkdir(parents=True)
        for i in range(each):
            colour = (label * 40 + 5, i * 20, (label * each + i) % 256)
            Image.new("RGB", (size, size), colour).save(home / f"{i:03}.png")
    return str(folder)
