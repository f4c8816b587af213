# SPDX-License-Identifier: MIT
"""One user's units, started for real: systemd's user manager as an ordinary user, in mount and PID
namespaces of its own, the sockets, a reader, a reload. Needs root, to become that user."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from test_units import BUILD, SOURCE, installed, lay_out

MANAGER = pathlib.Path("/lib/systemd/systemd")
USER = 54321
CGROUPS = [folder for folder in map(pathlib.Path, (
    "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"))
    if (folder / "cgroup.procs").exists()]

# As root, in the namespaces: a runtime folder, a control group that is the user's, then the user.
OUTER = """
set -e
mount -t tmpfs none /run/systemd
mkdir /run/systemd/system
mount -t tmpfs -o uid={user},mode=700 none {folder}/run
for group in {groups}; do
    mkdir -p $group
    chown -R {user} $group
    echo $$ > $group/cgroup.procs
done
exec setpriv --reuid {user} --regid {user} --clear-groups env -i PATH=/usr/bin:/bin \\
    HOME={folder}/home XDG_RUNTIME_DIR={folder}/run PYTHONPATH={client} \\
    sh {folder}/inner
"""

INNER = """
{manager} --user --log-target=null &
for i in 1 2 3 4 5 6 7 8 9 10; do
    sleep 0.3
    systemctl --user is-system-running > {folder}/out/manager && break
done
systemctl --user start stokerd.socket stokerd-control.socket
{ctl} ping > {folder}/out/ping
/usr/bin/python3 -c '{reader}' : > {folder}/out/reader
/usr/bin/python3 -c '{reader}' "systemctl --user restart stokerd.service" > {folder}/out/restarted
systemctl --user reload stokerd.service; echo $? > {folder}/out/reload
printf '[stokerd]\\nworkers = 3\\n' > {folder}/home/.config/stoker/stokerd.conf
systemctl --user reload stokerd.service
{ctl} status > {folder}/out/status
echo wrong > {folder}/home/.config/stoker/stokerd.conf
systemctl --user reload stokerd.service; echo $? > {folder}/out/refused
cat /proc/$(systemctl --user show -P MainPID stokerd.service)/status > {folder}/out/process
systemctl --user stop stokerd.service
systemctl --user show -P Result stokerd.service > {folder}/out/result
rm {folder}/home/.config/stoker/stokerd.conf
systemctl --user start stokerd.service
for i in 1 2 3 4 5 6 7 8 9 10; do
    systemctl --user kill -s KILL stokerd.service
    sleep 1.2
    systemctl --user is-failed stokerd.service > {folder}/out/failed && break
done
systemctl --user show -P NRestarts stokerd.service >> {folder}/out/failed
{ctl} ping 2> {folder}/out/gone; echo $? >> {folder}/out/gone
"""

READER = """
import hashlib, os, sys, stoker
node = stoker.Node(os.environ["XDG_RUNTIME_DIR"] + "/stoker/stokerd.sock")
loader = node.loader("{home}/pictures", batch_size=4, transforms=[stoker.Resize((8, 8))])
digest = hashlib.sha256()
for count, (images, labels) in enumerate(loader):
    if count == 1:
        os.system(sys.argv[1])
    digest.update(bytes(images) + bytes(labels))
print(count + 1, digest.hexdigest())
"""


@pytest.fixture(name="out", scope="module")
def fixture_out():
    """What each step in INNER said, by its name. The folder is not pytest's, which is root's."""
    if os.geteuid() or not MANAGER.exists() or not CGROUPS or not shutil.which("setpriv"):
        pytest.skip("needs root, systemd and control groups to start a user's manager")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-manager-"))
    groups = [group / folder.name for group in CGROUPS]
    try:
        folder.chmod(0o755)
        for name in ("run", "out", "home/.config/systemd/user", "home/.config/stoker"):
            (folder / name).mkdir(parents=True)
        lay_out(folder / "home/.config/systemd/user", "user")
        (folder / "home/.config/stoker/stokerd.conf").write_text("[stokerd]\nworkers = 2\n")
        subprocess.run(["/usr/bin/python3", "-c", "import photos, sys; photos.make(sys.argv[1], "
                        "count=12, size=(60, 50))", str(folder / "home/pictures")], check=True,
                       env={**os.environ, "PYTHONPATH": str(SOURCE / "tests/demo")})
        words = {"folder": folder, "user": USER, "manager": MANAGER,
                 "groups": " ".join(map(str, groups)),
                 "client": installed(SOURCE / "client/python"),
                 "ctl": installed(BUILD / "client/ctl/stokerctl"),
                 "reader": READER.format(home=folder / "home")}
        (folder / "outer").write_text(OUTER.format(**words))
        (folder / "inner").write_text(INNER.format(**words))
        subprocess.run(["chown", "-R", str(USER), str(folder)], check=True)
        done = subprocess.run(["unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "sh",
                               str(folder / "outer")], cwd="/", capture_output=True, text=True,
                              check=False, timeout=50)
        said = {path.name: path.read_text() for path in (folder / "out").iterdir()}
        if said.get("manager") != "running\n":
            pytest.skip(f"no user's manager starts here: {done.stderr[-500:]}")
        yield {**said, "stderr": done.stderr}
    finally:
        for group in groups:
            for path in sorted(group.rglob("*/"), reverse=True):
                path.rmdir()
            if group.exists():
                group.rmdir()
        shutil.rmtree(folder)


def test_it_serves_under_these_lines(out):
    """Started by the first connection; a reader gets its samples; it stops as it should."""
    assert "answered in" in out["ping"], out
    assert out["reader"].startswith("3 "), out["stderr"]
    assert out["result"] == "success\n", out


def test_the_lines_are_in_force(out):
    assert re.search(r"^NoNewPrivs:\s+1$", out["process"], re.M)
    assert re.search(r"^CapBnd:\s+0+$", out["process"], re.M)
    assert re.search(r"^Seccomp:\s+2$", out["process"], re.M)


def test_reload(out):
    """FAULTS 29, as an operator sees it: systemctl says that the file is wrong."""
    assert out["reload"] == "0\n", out
    assert re.search(r"^  workers +3 ", out["status"], re.M), out
    assert out["refused"] == "1\n", out


def test_a_restart_under_readers(out):
    """FAULTS 37: as an upgrade does it. The reader notices nothing; its bytes are the same."""
    assert out["restarted"] == out["reader"], out["stderr"]


def test_a_crash_loop(out):
    """FAULTS 26: after five starts in a minute it stays down; a client is told whom to ask."""
    state, restarts = out["failed"].split()
    assert state == "failed" and 3 <= int(restarts) <= 5, out
    words, _, status = out["gone"].strip().rpartition("\n")
    assert status == "69" and "is stokerd running?" in words, out
