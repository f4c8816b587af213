# SPDX-License-Identifier: MIT
"""A control group with a limit of memory, of whichever version this machine has."""

import os
import pathlib
import time

ROOT = pathlib.Path("/sys/fs/cgroup")
VERSION_1, VERSION_2 = ROOT / "memory", ROOT


class MemoryGroup:
    """A context. Raises OSError where none can be made."""

    def __init__(self, limit):
        self.limit = limit

    def __enter__(self):
        version_1 = (VERSION_1 / "memory.limit_in_bytes").exists()
        self.folder = (VERSION_1 if version_1 else VERSION_2) / f"stoker-{os.getpid()}"
        if not version_1:
            (VERSION_2 / "cgroup.subtree_control").write_text("+memory")
        self.folder.mkdir()
        self.files = (("memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control")
                      if version_1 else ("memory.max", "memory.peak", "memory.events"))
        try:
            (self.folder / self.files[0]).write_text(str(self.limit))
        except OSError:
            self.folder.rmdir()
            raise
        return self

    def __exit__(self, *_):
        deadline = time.monotonic() + 30
        while (self.folder / "cgroup.procs").read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.folder.rmdir()

    def launcher(self):
        """The beginning of a command that runs in there."""
        return ["sh", "-c", f'echo 0 >{self.folder}/cgroup.procs && exec "$@"', "sh"]

    def now(self):
        """Bytes that cannot be dropped: what files hold that nobody used lately can be."""
        stat = dict(line.split() for line in (self.folder / "memory.stat").read_text().splitlines())
        used = int((self.folder / self.files[1].replace("max_usage", "usage")
                    .replace("peak", "current")).read_text())
        return used - int(stat.get("total_inactive_file", stat.get("inactive_file")))

    def peak(self):
        """The most bytes that there were, with what the system's cache had of files."""
        return int((self.folder / self.files[1]).read_text())

    def kills(self):
        """How often the kernel has killed somebody in there."""
        for line in (self.folder / self.files[2]).read_text().splitlines():
            name, value = line.split()
            if name == "oom_kill":
                return int(value)
        return 0
