#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Prolog, task prolog and epilog under a real slurmd, in namespaces of their own: two jobs side by
# side, of two users, each with a daemon of its own that its tasks find; a batch script, which is
# one process and reads all; a job that is requeued, where a node that fell left a folder of it; a
# job whose daemon was killed; one that is cancelled. After each nothing is left. BUILD has the
# programs.
#
#   packaging/slurm/check.sh BUILD
#
# Needs root, Debian's slurm-wlm and munge.
set -euo pipefail
build=$(realpath "$1") here=$(dirname "$(realpath "$0")")
if [[ ${CHECK_INSIDE-} != yes ]]; then
	CHECK_INSIDE=yes exec unshare --mount --net --uts --ipc --pid --fork --mount-proc \
		--kill-child "$0" "$build"
fi
hostname node1
# Of an address that is not the loopback's getaddrinfo() makes depend what there is to listen on.
ip link set lo up
ip address add 10.77.0.1/32 dev lo
for folder in /run /etc/slurm /etc/munge /var/log /mnt; do
	mkdir -p "$folder" # as it is without these packages' own set-up
	mount -t tmpfs -o mode=755 tmpfs "$folder"
done
work=/mnt/work
mkdir -m 755 "$work"
mkdir -m 755 -p /run/munge /var/log/munge "$work/spool" "$work/state" "$work/bin"
chmod 755 /mnt /etc/munge
cp "$build/daemon/stokerd" "$build/client/ctl/stokerctl" "$work/bin"
cp -r "$here" "$work/slurm"
cp -r "$here/../../client/python" "$work/client"
cp "$here/../deb/train.py" "$work"
chmod -R a+rX "$work"
# The check's users, beside those of this machine.
cp /etc/passwd /etc/group "$work"
for number in 1 2; do
	echo "trainer$number:x:$((4100 + number)):$((4100 + number))::/:/bin/bash" >>"$work/passwd"
	echo "trainer$number:x:$((4100 + number)):" >>"$work/group"
done
echo '127.0.0.1 localhost node1' >"$work/hosts"
for file in passwd group hosts; do
	chmod 644 "$work/$file"
	mount --bind "$work/$file" "/etc/$file"
done

dd if=/dev/urandom of=/etc/munge/munge.key bs=1024 count=1 status=none
chmod 400 /etc/munge/munge.key
munged --force >/dev/null 2>&1
cat >"$work/set" <<'WRAP'
#!/bin/bash
export STOKER_PATH=/mnt/work/bin
exec "/mnt/work/slurm/${0##*/}.sh"
WRAP
chmod 755 "$work/set"
for name in prolog epilog task_prolog; do ln -s set "$work/$name"; done
cat >/etc/slurm/slurm.conf <<CONF
ClusterName=check
SlurmctldHost=node1
SlurmUser=root
AuthType=auth/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
Prolog=$work/prolog
PrologFlags=Alloc
Epilog=$work/epilog
TaskProlog=$work/task_prolog
NodeName=node1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=node1 Default=YES State=UP OverSubscribe=FORCE:4
CONF
slurmctld -L "$work/slurmctld.log"
slurmd -N node1 -L "$work/slurmd.log" 2>/dev/null || slurmd -L "$work/slurmd.log"
trap 'echo "line $LINENO: failed" >&2; tail -n 20 "$work"/*.log "$work"/out/* >&2' ERR
until_true() {
	for _ in {1..300}; do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.2
	done
	echo "not so after a minute: $*" >&2
	tail -n 20 "$work"/*.log "$work"/out/* >&2
	exit 1
}
as() { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }
is_idle() { timeout 5 sinfo -h -o %T | grep -qx idle; }
nothing_left() { [[ -z $(ls /run/stoker-slurm) ]] && ! pgrep -x stokerd; }
until_true is_idle
sinfo

/usr/bin/python3 - "$work" <<'PICTURES'
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import train
(pathlib.Path(sys.argv[1]) / "pictures").mkdir()
train.make(pathlib.Path(sys.argv[1]) / "pictures")
PICTURES
cat >"$work/job" <<'JOB'
#!/bin/bash
echo "batch: $STOKER_SOCKET"
/usr/bin/python3 -c '
import stoker
with stoker.connect() as node:
    loader = node.loader("/mnt/work/pictures", batch_size=20, seed=1, transforms="Resize(32)")
    print("alone", sum(len(y) for _, y in loader), "samples")
'
srun --overcommit -n 2 /usr/bin/python3 -c '
import os, stoker
with stoker.connect() as node:
    rank, world = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    loader = node.loader("/mnt/work/pictures", batch_size=20, seed=1, transforms="Resize(32)",
                         rank=rank, world_size=world)
    print("task", rank, "of", world, node.socket, sum(len(y) for _, y in loader), "samples")
'
touch "/mnt/work/out/$SLURM_JOB_ID.trained"
while [[ ! -e /mnt/work/out/go ]]; do sleep 0.2; done
JOB
chmod 755 "$work/job"
mkdir -m 1777 "$work/out"
export PYTHONPATH=$work/client PYTHONDONTWRITEBYTECODE=1
jobs=()
for number in 1 2; do
	jobs+=("$(cd "$work/out" && as "$((4100 + number))" sbatch --parsable --overcommit -n 2 \
		-o "$work/out/%j" "$work/job")")
done
for job in "${jobs[@]}"; do
	until_true test -e "$work/out/$job.trained"
	cat "$work/out/$job"
	[[ $(grep -c "/run/stoker-slurm/$job/stokerd.sock 300 samples" "$work/out/$job") == 2 ]]
	grep -qx 'alone 600 samples' "$work/out/$job"
	[[ $(stat -c '%a %U' "/run/stoker-slurm/$job") == "700 "trainer* ]]
done
[[ $(pgrep -x stokerd -c) == 2 ]]
touch "$work/out/go"
until_true nothing_left
until_true is_idle
rm "$work/out/go"

# What a node that fell left of a job of this number, twice: before its start, before its requeue.
fallen() {
	install -d -m 700 -o 4102 "/run/stoker-slurm/$1"
	/usr/bin/python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' \
		"/run/stoker-slurm/$1/stokerd.sock"
}
fallen $((${jobs[1]} + 1))
job=$(cd "$work/out" && as 4101 sbatch --parsable --requeue -n 1 -o "$work/out/%j" "$work/job")
[[ $job == $((${jobs[1]} + 1)) ]]
until_true test -e "$work/out/$job.trained"
[[ $(grep -c '300 samples' "$work/out/$job") == 2 ]]
rm "$work/out/$job.trained"
scontrol requeue "$job"
until_true nothing_left
fallen "$job"
sleep 2 # the node forgets that it is killed by the second
scontrol update "JobId=$job" StartTime=now
until_true test -e "$work/out/$job.trained"
[[ $(grep -c '300 samples' "$work/out/$job") == 2 ]]
# Its daemon dies: later tasks are told that there is none.
[[ $(as 4101 env "SLURM_JOB_ID=$job" "$work/task_prolog") == export* ]]
pkill -KILL -x stokerd
[[ $(as 4101 env "SLURM_JOB_ID=$job" "$work/task_prolog") == 'print stoker: this job has no'* ]]
touch "$work/out/go"
until_true nothing_left
until_true is_idle
rm "$work/out/go"

# slurmd says of a prolog that it took five seconds or more.
if grep "prolog for job .* ran for" "$work/slurmd.log"; then exit 1; fi

# One that is cancelled.
job=$(cd "$work/out" && as 4101 sbatch --parsable -n 1 -o "$work/out/%j" "$work/job")
until_true test -e "$work/out/$job.trained"
as 4101 scancel "$job"
until_true nothing_left
until_true is_idle
echo 'all is well'
