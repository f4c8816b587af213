#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The packages in a Debian that runs systemd: installed, activated and trained with by three users;
# each line of the unit that locks the daemon down is tried from within (probe.py); the daemon is
# restarted 20 times and upgraded under them, by the same sockets; purged. ROOT is left as it is; it
# is made by
#
#   debootstrap --include=systemd-sysv,dbus,ca-certificates bookworm ROOT
#   packaging/deb/check.sh packaging/deb/dist ROOT
#
# Needs root, systemd-nspawn, and Debian's archive for what the packages depend on.
set -euo pipefail
packages=$(realpath "$1") root=$(realpath "$2") here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
mount -t tmpfs -o size=2g tmpfs "$work"
# Lazy: what ended in the container may hold them for a moment more.
trap 'umount -Rl "$work/merged" 2>/dev/null || true; umount -l "$work"; rmdir "$work"' EXIT
mkdir "$work"/{upper,work,merged}
merged=$work/merged
mount -t overlay -o "lowerdir=$root,upperdir=$work/upper,workdir=$work/work" overlay "$merged"

# The container has no network: what it will install is fetched ahead. A next version is made.
mkdir "$merged/check"
cp "$packages"/*.deb "$here"/{inside.sh,train.py,probe.py} "$merged/check"
rm -f "$merged"/check/*dbgsym*
cp /etc/resolv.conf "$merged/etc/resolv.conf"
chroot "$merged" apt-get -q -y update >/dev/null
chroot "$merged" sh -c \
	'apt-get -q -y install --no-install-recommends --download-only /check/*.deb' >/dev/null
dpkg-deb -R "$merged"/check/stoker_*.deb "$work/next"
sed -i 's/^Version: .*/&+next/' "$work/next/DEBIAN/control"
dpkg-deb -b "$work/next" "$merged/check/next.deb" >/dev/null

cat >"$merged/etc/systemd/system/check.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash /check/inside.sh
StandardOutput=file:/check/said
StandardError=file:/check/trace
ExecStopPost=/bin/systemctl --no-block poweroff
UNIT
mkdir -p "$merged/etc/systemd/system/default.target.wants"
ln -s ../check.service "$merged/etc/systemd/system/default.target.wants/check.service"
rm -f "$merged/etc/machine-id" "$merged/usr/sbin/policy-rc.d"
systemd-nspawn --quiet --register=no --keep-unit --directory="$merged" --boot --private-network \
	--console=pipe </dev/null >"$work/boot" 2>&1 || tail "$work/boot"
cat "$merged/check/said" || true
grep -qx 'all is well' "$merged/check/said" || { tail -n 30 "$merged/check/trace"; exit 1; }
