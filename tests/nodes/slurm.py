# SPDX-License-Identifier: MIT
"""A real Slurm on this machine for a moment: munged, slurmctld, slurmd, in a folder of its own."""
import contextlib
import os
import shutil
import socket
import subprocess

import cluster

_CONFIGURATION = """\
ClusterName=stoker
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
_PROGRAMS = ("munged", "slurmctld", "slurmd", "srun")


def _program(name):
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def missing():
    """Why it cannot run here; None: it can."""
    if os.geteuid() != 0:
        return "a controller of one's own needs root"
    lacking = [name for name in _PROGRAMS if not _program(name)]
    return f"there is no {', '.join(lacking)} (slurm-wlm, munge)" if lacking else None


def srun(tasks):
    return [_program("srun"), "--ntasks", str(tasks), "--overcommit"]


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def controller(folder, environment):
    """Runs until the end of the block; `environment` gets what srun needs to find it."""
    home = folder / "slurm"
    for each in ("state", "spool"):
        (home / each).mkdir(parents=True)
    home.chmod(0o755)
    key = home / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    configuration = home / "slurm.conf"
    configuration.write_text(_CONFIGURATION.format(
        host=socket.gethostname().partition(".")[0], folder=home, cpus=os.cpu_count(),
        controller=_free_port(), daemon=_free_port()))
    environment["SLURM_CONF"] = str(configuration)
    commands = [
        [_program("munged"), "--foreground", "--force", f"--socket={home}/munge.socket",
         f"--key-file={key}", f"--pid-file={home}/munged.pid", f"--seed-file={home}/munged.seed",
         f"--log-file={home}/munged.log"],
        [_program("slurmctld"), "-D", "-f", configuration],
        [_program("slurmd"), "-D", "-f", configuration]]
    processes = []
    try:
        for command in commands:
            processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                              stderr=subprocess.DEVNULL, env=environment))
            if len(processes) == 1:
                cluster.wait_for((home / "munge.socket").exists, "munge's socket")
        cluster.wait_for(lambda: _is_idle(environment), lambda: _words(home))
        yield
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()


def _is_idle(environment):
    said = subprocess.run([_program("sinfo"), "--noheader", "--format=%T"], env=environment,
                          capture_output=True, text=True)
    return said.stdout.strip() == "idle"


def _words(home):
    return "a Slurm whose node is idle: " + "".join(
        path.read_text(errors="replace")[-1500:] for path in home.glob("*.log"))
