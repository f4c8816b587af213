# SPDX-License-Identifier: MIT
"""Runs as ExecStartPre of stokerd.service, under exactly its lines: tries what each of them
forbids. `probe.py UNIT FILE MOUNTS FILES`: writes a line for each line of UNIT that locks the
daemon down; "NOT" stands before one that is not in force, or that nobody asks here. MOUNTS is the
mount namespace of systemd, FILES how many descriptors it may give away.
"""
import ctypes
import errno
import mmap
import os
import pathlib
import resource
import socket
import sys

# Lines that say what the service is, not what it may not.
OTHERS = {"Type", "NotifyAccess", "WatchdogSec", "ExecStart", "ExecReload", "Environment",
          "Sockets", "Restart", "RestartSec", "RestartPreventExitStatus", "TimeoutStopSec",
          "RuntimeDirectory", "RuntimeDirectoryMode", "RuntimeDirectoryPreserve",
          "CacheDirectory", "ExecStartPre"}
LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {"personality": 135, "mount": 165, "settimeofday": 164, "sethostname": 170,
           "init_module": 175, "unshare": 272, "sched_setscheduler": 144, "syslog": 103,
           "chroot": 161, "openat2": 437, "clock_settime": 227}
STATUS = dict(line.split(":\t", 1) for line in
              pathlib.Path("/proc/self/status").read_text().splitlines())
MOUNTS = [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]


def call(name, *arguments):
    """The errno of a system call; 0: it was allowed."""
    ctypes.set_errno(0)
    return ctypes.get_errno() if LIBC.syscall(NUMBERS[name], *arguments) < 0 else 0


def opened(path, flags):
    try:
        os.close(os.open(path, flags, 0o600))
        return 0
    except OSError as error:
        return error.errno


def writes(path):
    return opened(path, os.O_WRONLY | os.O_CREAT)


def written_code():
    """Memory that may be written and run."""
    try:
        mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC).close()
        return 0
    except OSError as error:
        return error.errno


def socket_of(family):
    try:
        socket.socket(family).close()
        return 0
    except OSError as error:
        return error.errno


def read_only(path):
    """Is the last mount at or above it read-only?"""
    above = [fields for fields in MOUNTS
             if path == fields[4] or path.startswith(fields[4].rstrip("/") + "/")]
    return "ro" in max(above, key=lambda fields: len(fields[4]))[5].split(",")


def memory():
    """The limit of the unit's control group. None where systemd was given none of memory (in a
    container on a machine with version 1), and nothing can be limited."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, path = line.split(":", 2)
        for place in (f"memory{path}/memory.limit_in_bytes", f"{path[1:]}/memory.max"):
            limit = pathlib.Path("/sys/fs/cgroup", place)
            if path.endswith("/stokerd.service") and kinds in ("", "memory") and limit.exists():
                return limit.read_text().strip() != "max" and int(limit.read_text()) < whole
    return None


PRIVILEGED = errno.EPERM
# What each line forbids; True: it does; None: nobody can say here.
LINES = {
    "User": lambda: os.getresuid() == (os.getuid(),) * 3 and os.getuid() not in (0, 65534),
    "Group": lambda: os.getgid() != 0,
    "CacheDirectoryMode": lambda: os.stat("/var/cache/stokerd").st_mode & 0o777 == 0o700,
    "UMask": lambda: os.umask(0o077) == 0o077,
    "RemoveIPC": lambda: True,  # it is off: nothing is forbidden
    "LimitNOFILE": lambda: set(resource.getrlimit(resource.RLIMIT_NOFILE)) ==
    {min(65536, int(sys.argv[4]))},
    "NoNewPrivileges": lambda: STATUS["NoNewPrivs"] == "1",
    "CapabilityBoundingSet": lambda: not any(int(STATUS[name], 16) for name in
                                             ("CapBnd", "CapPrm", "CapEff", "CapInh", "CapAmb")),
    "ProtectSystem": lambda: all(map(read_only, ("/usr", "/etc", "/var", "/srv")))
    and not writes("/var/cache/stokerd/probe"),  # its own cache alone
    "ProtectHome": lambda: read_only("/home") and read_only("/root"),
    "PrivateTmp": lambda: not os.listdir("/tmp") and not os.listdir("/var/tmp"),
    "PrivateUsers": lambda: pathlib.Path("/proc/self/uid_map").read_text().split()[0::2]
    == ["0", "4294967295"],  # must be off: all users are who they are
    "PrivateMounts": lambda: os.readlink("/proc/self/ns/mnt") != sys.argv[3],
    "PrivateDevices": lambda: any(fields[4] == "/dev" and fields[fields.index("-") + 1] == "tmpfs"
                                  for fields in MOUNTS) and not os.path.exists("/dev/console"),
    "DevicePolicy": lambda: opened("/dev/null", os.O_RDWR) == 0,
    "ProtectProc": lambda: not os.path.exists("/proc/1"),
    "ProtectKernelTunables": lambda: read_only("/proc/sys") and read_only("/sys"),
    "ProtectKernelModules": lambda: call("init_module", 0, 0, b"") == PRIVILEGED
    and (not os.path.isdir("/usr/lib/modules") or not os.access("/usr/lib/modules", os.R_OK)
         or not os.listdir("/usr/lib/modules")),
    "ProtectKernelLogs": lambda: call("syslog", 2, 0, 0) == PRIVILEGED
    and opened("/dev/kmsg", os.O_RDONLY) in (errno.ENOENT, errno.EPERM, errno.EACCES),
    "ProtectControlGroups": lambda: read_only("/sys/fs/cgroup"),
    "ProtectClock": lambda: call("clock_settime", 0, None) == PRIVILEGED,
    "ProtectHostname": lambda: call("sethostname", b"x", 1) == PRIVILEGED,
    "RestrictAddressFamilies": lambda: socket_of(socket.AF_UNIX) == 0 and
    {socket_of(family) for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK,
                                      socket.AF_PACKET)} == {errno.EAFNOSUPPORT},
    "PrivateNetwork": lambda: [line.split(":")[0].strip() for line in pathlib.Path(
        "/proc/self/net/dev").read_text().splitlines()[2:]] == ["lo"],
    "IPAddressDeny": lambda: True,  # inside.sh asks systemd: no socket can be had to try it
    "RestrictNamespaces": lambda: {call("unshare", flag) for flag in (
        0x10000000, 0x20000000, 0x40000000, 0x00020000, 0x08000000)} == {PRIVILEGED},
    "RestrictRealtime": lambda: call("sched_setscheduler", 0, 1,
                                     ctypes.byref(ctypes.c_int(1))) == PRIVILEGED,
    "RestrictSUIDSGID": lambda: call("openat2", -100, b"/", ctypes.byref(
        (ctypes.c_uint64 * 3)()), 24) == 0,  # must be off
    "LockPersonality": lambda: call("personality", 0x0400000) == PRIVILEGED,
    # By a filter of system calls, or by the kernel itself (PR_SET_MDWE, since systemd 254).
    "MemoryDenyWriteExecute": lambda: written_code() in (PRIVILEGED, errno.EACCES),
    "SystemCallArchitectures": lambda: int(STATUS.get("Seccomp_filters", "9")) > 3,
    "SystemCallFilter": lambda: {call("mount", 0, 0, 0, 0, 0), call("chroot", b"/"),
                                 call("settimeofday", 0, 0)} == {PRIVILEGED},
    "SystemCallErrorNumber": lambda: call("mount", 0, 0, 0, 0, 0) == PRIVILEGED,
    "MemoryMax": memory,
}


def main():
    unit, out = sys.argv[1:3]
    service = pathlib.Path(unit).read_text().partition("[Service]")[2].partition("[Install]")[0]
    names = dict.fromkeys(line.partition("=")[0] for line in service.splitlines()
                          if "=" in line and line[0].isupper())
    for name in names:
        if name in OTHERS:
            continue
        try:
            good = name in LINES and LINES[name]()
        except Exception as error:  # pylint: disable=broad-except
            good, name = False, f"{name} ({error!r})"
        with open(out, "a", encoding="utf-8") as file:
            told = "cannot be told here" if good is None else "in force" if good else "NOT in force"
            file.write(f"{told}: {name}\n")


if __name__ == "__main__":
    main()
