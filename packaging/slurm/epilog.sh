#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Slurm's epilog, by slurmd as root on each node of a job: ends the daemon that prolog.sh started.
set -u
top=${STOKER_SLURM_DIR:-/run/stoker-slurm}
folder=$top/$SLURM_JOB_ID
export PATH=${STOKER_PATH:-/usr/local/bin}:/usr/sbin:/usr/bin:/sbin:/bin

# Is it still that process, and not another one of this number?
runs() {
	[[ -n $pid ]] && tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" |
		grep -qx "$folder/stokerd.sock"
}

[[ -d $folder ]] || exit 0
pid=$(cat "$folder.pid" 2>/dev/null)
# The job is over: nobody is left who could take another batch.
if runs; then
	kill "$pid" 2>/dev/null
	for _ in {1..150}; do
		runs || break
		sleep 0.1
	done
	! runs || kill -KILL "$pid" 2>/dev/null
fi
rm -rf --one-file-system "$folder" "$folder.pid" "$folder.log"
exit 0
