#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What a researcher without root meets: Debian with python3-venv and nothing else, a user without
# rights, from `pip install WHEEL` to the first batch of a folder of pictures. Needs root (for a
# chroot), debootstrap, Debian's archive and PyPI; leaves nothing behind.
#
#   packaging/wheel/check.sh WHEEL PICTURES [SUITE]     SUITE: bookworm
set -euo pipefail
wheel=$(realpath "$1") pictures=$(realpath "$2") suite=${3:-bookworm}
here=$(dirname "$(realpath "$0")")
root=$(mktemp -d)
chmod 755 "$root"
trap 'umount -R "$root"/{pictures,proc,dev} 2>/dev/null || true
	rm -rf --one-file-system "$root"' EXIT

debootstrap --variant=minbase --include=python3-venv,ca-certificates \
	"$suite" "$root" >"$root.log" || { tail "$root.log"; exit 1; }
rm -f "$root.log"
mkdir "$root/pictures"
mount --bind -o ro "$pictures" "$root/pictures"
mount -t proc proc "$root/proc"
mount -t tmpfs dev "$root/dev"
for node in null zero random urandom; do
	touch "$root/dev/$node"
	mount --bind "/dev/$node" "$root/dev/$node"
done
mkdir -m 1777 "$root/dev/shm"
chroot "$root" useradd --create-home researcher
install -m 644 "$wheel" "$here/first_batch.py" "$root/home/researcher"
for file in /etc/pip.conf /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
	[[ ! -e $file ]] || install -D -m 644 "$file" "$root$file"
done

chroot "$root" /sbin/runuser -u researcher -- env -i HOME=/home/researcher PATH=/usr/bin:/bin \
	LANG=C.UTF-8 bash -euc '
	cd
	! command -v cc gcc clang >/dev/null
	python3 -m venv venv
	SECONDS=0
	venv/bin/pip install --quiet ./*.whl
	echo "installed: $SECONDS s"
	venv/bin/python first_batch.py /pictures
	echo "pip install to the end of the daemon: $SECONDS s"
	du -sh venv/lib/python3*/site-packages/stoker* | sed "s/^/on disk: /"'
