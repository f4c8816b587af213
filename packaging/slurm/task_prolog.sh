#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Slurm's prolog of each task, as the job's user: what it prints after `export` is the task's
# environment. The batch script is a task, too.
socket=${STOKER_SLURM_DIR:-/run/stoker-slurm}/$SLURM_JOB_ID/stokerd.sock
if [[ -S $socket ]]; then
	echo "export STOKER_SOCKET=$socket"
else
	echo "print stoker: this job has no daemon on $(uname -n): see the log of its slurmd"
fi
