# SPDX-License-Identifier: MIT
"""The units of systemd/: systemd itself reads them, and each line has its reason."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from place import BUILD, SOURCE, installed  # noqa: E402 (it stands in the folder above)

UNITS = ("stokerd.service", "stokerd.socket", "stokerd-control.socket", "stokerd-metrics.socket")


def lay_out(folder, kind, change=lambda text: text):
    """The units of one kind as they would stand installed, the built binary in ExecStart."""
    for name in UNITS:
        path = SOURCE / "systemd" / kind / name
        text = path.read_text() if path.exists() else path.with_name(name + ".in").read_text()
        text = text.replace("@bindir@/stokerctl", str(installed(BUILD / "client/ctl/stokerctl")))
        text = text.replace("@bindir@", str(installed(BUILD / "daemon/stokerd").parent))
        (folder / name).write_text(change(text))
    return [str(folder / name) for name in UNITS]


def verify(kind, paths):
    """What systemd has against these units, as lines."""
    tool = shutil.which("systemd-analyze")
    assert tool, "systemd-analyze is missing: it is in the package systemd"
    manager = ["--user"] if kind == "user" else []
    runtime = os.environ.get("XDG_RUNTIME_DIR") or os.path.dirname(paths[0])
    done = subprocess.run(
        [tool, "verify", "--man=no", "--recursive-errors=no", *manager, *paths], text=True,
        capture_output=True, check=False, env={**os.environ, "XDG_RUNTIME_DIR": runtime})
    # Only what is about our units: the machine's own may have faults too.
    return [line for line in done.stderr.splitlines() if "stoker" in line.lower()]


@pytest.mark.parametrize("kind", ["system", "user"])
def test_systemd_accepts_the_units(tmp_path, kind):
    assert verify(kind, lay_out(tmp_path, kind)) == []


@pytest.mark.parametrize("kind", ["system", "user"])
def test_the_check_can_fail(tmp_path, kind):
    bad = lay_out(tmp_path, kind, lambda text: text.replace("[Service]", "[Service]\nWatchdog=x"))
    assert verify(kind, bad)


@pytest.mark.parametrize("kind", ["system", "user"])
def test_the_daemon_is_told_its_sockets_apart(kind):
    names = {}
    for name in UNITS[1:]:
        text = (SOURCE / "systemd" / kind / name).read_text()
        names[name] = re.findall(r"^FileDescriptorName=(\w+)$", text, re.MULTILINE)
        assert re.findall(r"^Service=(.+)$", text, re.MULTILINE) == ["stokerd.service"]
    assert names == {"stokerd.socket": ["data"], "stokerd-control.socket": ["control"],
                     "stokerd-metrics.socket": ["metrics"]}


@pytest.mark.parametrize("kind", ["system", "user"])
def test_reload_asks_where_the_daemon_listens(kind):
    """The socket in ExecReload is that of the socket unit."""
    unit = (SOURCE / "systemd" / kind / "stokerd.service.in").read_text()
    listens = (SOURCE / "systemd" / kind / "stokerd-control.socket").read_text()
    asked, = re.findall(r"^ExecReload=\+?@bindir@/stokerctl --socket (\S+) reload$", unit, re.M)
    assert f"\nListenStream={asked}\n" in listens


def exposure(folder, kind, change=lambda text: text):
    """What `systemd-analyze security` says of the service: 0 (locked down) to 10."""
    lay_out(folder, kind, change)
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager",
                           str(folder / "stokerd.service")], text=True, capture_output=True,
                          check=False, env={**os.environ, "LC_ALL": "C.UTF-8"})
    said = re.search(r"Overall exposure level for stokerd.service: ([0-9.]+)", done.stdout)
    assert said, done
    return float(said.group(1))


@pytest.mark.parametrize("kind, most", [("system", 0.8), ("user", 2.8)])
def test_the_exposure(tmp_path, kind, most):
    assert exposure(tmp_path, kind) <= most


@pytest.mark.parametrize("line", ["PrivateNetwork=yes", "IPAddressDeny=any", "PrivateDevices=yes",
                                  "PrivateMounts=yes", "PrivateTmp=yes",
                                  "SystemCallFilter=~@privileged"])
def test_each_line_counts(tmp_path, line):
    """The exposure is above the bar without it."""
    assert exposure(tmp_path, "system", lambda text: text.replace(line + "\n", "")) > 0.8


@pytest.mark.parametrize("kind", ["system", "user"])
def test_openat2_is_allowed(kind):
    """RestrictSUIDSGID makes it fail with ENOSYS, and no dataset could be opened."""
    unit = (SOURCE / "systemd" / kind / "stokerd.service.in").read_text()
    assert re.findall(r"^RestrictSUIDSGID=(.*)$", unit, re.M) == ["no"]


@pytest.mark.parametrize("kind", ["system", "user"])
def test_each_line_is_once_in_a_unit(kind):
    """A line that is given twice is a list, or a mistake. Lists may be."""
    unit = (SOURCE / "systemd" / kind / "stokerd.service.in").read_text()
    names = [line.partition("=")[0] for line in unit.splitlines() if re.match(r"[A-Z]\w+=", line)]
    twice = {name for name in names if names.count(name) > 1}
    assert twice <= {"Environment", "SystemCallFilter"}


def test_sysusers_makes_user_and_group(tmp_path):
    tool = shutil.which("systemd-sysusers")
    assert tool, "systemd-sysusers is missing: it is in the package systemd"
    etc, conf = tmp_path / "etc", tmp_path / "usr/lib/sysusers.d"
    etc.mkdir()
    conf.mkdir(parents=True)
    (etc / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (etc / "group").write_text("root:x:0:\n")
    shutil.copy(SOURCE / "systemd/stoker-sysusers.conf", conf / "stoker.conf")
    done = subprocess.run([tool, f"--root={tmp_path}", "stoker.conf"], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    group = re.search(r"^stoker:x:(\d+):", (etc / "group").read_text(), re.MULTILINE)
    user = re.search(r"^stokerd:x:\d+:(\d+):", (etc / "passwd").read_text(), re.MULTILINE)
    assert group and user and group.group(1) == user.group(1)
