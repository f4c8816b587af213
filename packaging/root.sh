#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs a command in a new Debian 12, over a copy of this tree (what git knows of it), whatever
# system this is. Then brings the folders packaging/*/dist back. Nothing else is changed or left.
#
#   packaging/root.sh sh -c 'tests/setup.sh wheel && packaging/wheel/build.py'
#
# With podman or buildah, from the image DEBIAN; without these as root with debootstrap, from the
# mirror MIRROR. Takes some minutes, and needs Debian's archive and PyPI.
set -euo pipefail
umask 022
tool=$(command -v podman || command -v buildah || command -v debootstrap) || {
	echo 'root: this needs podman, buildah or debootstrap: please install one of them' \
		'(on Debian and Ubuntu: apt-get install debootstrap debian-archive-keyring)' >&2
	exit 69
}
tool=${tool##*/}
if [[ $tool == debootstrap && $(id -u) != 0 ]]; then
	echo 'root: debootstrap needs root: run this as root, or install podman' >&2
	exit 77
fi
if [[ $tool == debootstrap && ${ROOT_INSIDE-} != yes ]]; then
	ROOT_INSIDE=yes exec unshare --mount "$0" "$@" # what is mounted ends with this
fi
(($#)) || { echo 'usage: packaging/root.sh COMMAND...' >&2; exit 64; }

cd "$(dirname "$0")/.."
root=$(mktemp -d)
trap 'umount -R "$root"/debian/{stoker,proc,dev/{null,zero,random,urandom}} 2>/dev/null || true
	rm -rf --one-file-system "$root"' EXIT
chmod 755 "$root"
said=(LANG=C.UTF-8 HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin)
for name in SOURCE_DATE_EPOCH PIP_INDEX_URL http_proxy https_proxy no_proxy; do
	[[ -z ${!name-} ]] || said+=("$name=${!name}")
done

in_debootstrap() {
	local file log=$root/debootstrap.log
	echo "root: a Debian 12 by debootstrap" >&2
	debootstrap --variant=minbase --include=ca-certificates bookworm "$root/debian" \
		"${MIRROR:-http://deb.debian.org/debian}" >"$log" || { tail "$log" >&2; return 1; }
	for file in /etc/pip.conf /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
		[[ ! -e $file ]] || install -D -m 644 "$file" "$root/debian$file"
	done
	mkdir "$root/debian/stoker"
	mount --bind "$root/stoker" "$root/debian/stoker"
	mount -t proc proc "$root/debian/proc"
	for file in null zero random urandom; do
		touch "$root/debian/dev/$file"
		mount --bind "/dev/$file" "$root/debian/dev/$file"
	done
	env -i "${said[@]}" chroot "$root/debian" sh -c 'cd /stoker && exec "$@"' sh "$@"
}

in_podman() {
	podman run --rm --volume "$root/stoker:/stoker:Z" --workdir /stoker "${said[@]/#/--env=}" \
		"$image" "$@"
}

in_buildah() {
	local container status=0
	container=$(buildah from "$image")
	buildah run --volume "$root/stoker:/stoker:Z" --workingdir /stoker "${said[@]/#/--env=}" \
		"$container" -- "$@" || status=$?
	buildah rm "$container" >/dev/null
	return "$status"
}

image=${DEBIAN:-docker.io/library/debian:12-slim}
mkdir "$root/stoker"
git ls-files -z --cached --others --exclude-standard |
	while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
	xargs -0 cp --parents -t "$root/stoker"
"in_$tool" "$@"
for dist in "$root"/stoker/packaging/*/dist; do
	[[ -e $dist ]] || continue
	name=${dist#"$root/stoker/"}
	rm -rf "$name"
	cp -r "$dist" "$name"
done
