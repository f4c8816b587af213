#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Slurm's prolog of each task, as the job's user: what it prints after `export` is the task's
# environment. The batch script is a task, too. A socket file says nothing: a daemon that was killed
# leaves it.
folder=${STOKER_SLURM_DIR:-/run/stoker-slurm}/$SLURM_JOB_ID
export PATH=${STOKER_PATH:-/usr/local/bin}:/usr/sbin:/usr/bin:/sbin:/bin
if timeout 5 stokerctl --socket "$folder/control.sock" ping >/dev/null 2>&1; then
	echo "export STOKER_SOCKET=$folder/stokerd.sock"
else
	echo "print stoker: this job has no daemon on $(uname -n): see the log of its slurmd"
fi
