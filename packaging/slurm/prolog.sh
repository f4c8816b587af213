#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Slurm's prolog, by slurmd as root on each node of a job: starts a stokerd of the job, as the job's
# user, with the rights of that user. Its folder is named after the job, so jobs that share a node
# have a daemon each. In slurm.conf:
#
#   Prolog=/etc/slurm/stoker/prolog.sh
#   PrologFlags=Alloc
#   Epilog=/etc/slurm/stoker/epilog.sh
#   TaskProlog=/etc/slurm/stoker/task_prolog.sh
#
# Settings are those of /etc/stoker/stokerd.conf: `ring-memory` and `cache-memory` as a share of the
# machine (25%) are too much where jobs share it. The daemon belongs to slurmd's control group, not
# to the job's. A job whose daemon does not start runs all the same: a failed prolog would drain the
# node.
set -u
top=${STOKER_SLURM_DIR:-/run/stoker-slurm}
folder=$top/$SLURM_JOB_ID
export PATH=${STOKER_PATH:-/usr/local/bin}:/usr/sbin:/usr/bin:/sbin:/bin

say() { logger -t stoker-prolog "job $SLURM_JOB_ID: $*" 2>/dev/null || true; }

# The user's name, for all groups of that user.
user=$(id -un "$SLURM_JOB_UID") && group=$(id -g "$SLURM_JOB_UID") ||
	{ say "there is no user $SLURM_JOB_UID here"; exit 0; }
mkdir -p -m 755 "$top"
as_user=(setpriv --reuid "$user" --regid "$group" --init-groups --inh-caps=-all)
# As that user: stokerctl believes the daemon of another one as little as anybody else's.
answers() {
	"${as_user[@]}" timeout 5 stokerctl --socket "$folder/control.sock" ping >/dev/null 2>&1
}

# A job that was requeued, or is resumed, may have one here that still serves. What a node that fell
# left of it, or of an older job of this number, goes as at a job's end.
if [[ -d $folder ]]; then
	[[ $(stat -c %u "$folder") != "$SLURM_JOB_UID" ]] || ! answers || exit 0
	"$(dirname "$(realpath "$0")")/epilog.sh"
fi
install -d -m 700 -o "$user" -g "$group" "$folder" || { say "cannot make $folder"; exit 0; }

# A session of its own: slurmd ends what a prolog leaves in its process group. What root writes is
# not in the user's folder, where it could be a link.
setsid "${as_user[@]}" env -i PATH="$PATH" LANG=C.UTF-8 XDG_CONFIG_HOME=/etc stokerd \
	--socket "$folder/stokerd.sock" </dev/null >/dev/null 2>"$folder.log" &
echo $! >"$folder.pid"
disown

for _ in {1..100}; do
	! answers || exit 0
	kill -0 $! 2>/dev/null || break
	sleep 0.1
done
say "no daemon: $(tail -n 1 "$folder.log")"
exit 0
