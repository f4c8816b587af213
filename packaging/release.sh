#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What a version is published as, into a folder: the source (tar.gz), the wheels, Debian's
# packages, the container image (an OCI archive), an SBOM (CycloneDX) that says what is in the
# wheel, and the SHA-256 of each. Made from the last commit, in a clone of it: the same commit
# gives the same bytes, wherever, whenever and by whom it is built, on one state of Debian and PyPI.
# packaging/release_twice.sh shows that.
#
#   packaging/release.sh FOLDER          on Debian 12, by hand
#
# Needs PyPI and what tests/setup.sh installs for wheel and deb; leaves nothing else.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
out=${1:?usage: packaging/release.sh FOLDER}
mkdir -p "$out"
out=$(realpath "$out")
version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" meson.build)
name=stoker-$version
# Compilers, tar, gzip, setuptools and auditwheel take times from this one.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8 PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
unset CFLAGS CXXFLAGS LDFLAGS CPPFLAGS
[[ -z $(git status --porcelain --untracked-files=no) ]] ||
	echo 'release: what is not committed is left out' >&2

tests/setup.sh wheel
tests/setup.sh deb
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Modes of the clone's files come from umask, not from those of this folder's.
git clone --quiet --shared . "$work/$name"
source=$work/$name
# Sorted by git; times, owners and modes are the commit's.
git -C "$source" -c tar.umask=0022 archive --format=tar --prefix="$name/" HEAD |
	gzip --no-name --best >"$out/$name.tar.gz"
(cd "$source" && /usr/bin/python3 packaging/wheel/build.py)
cp "$source"/packaging/wheel/dist/*.whl "$out"
(cd "$source" && packaging/deb/build.sh "$out")
/usr/bin/python3 "$source/packaging/container/root.py" "$work/root"
/usr/bin/python3 "$source/packaging/container/image.py" "$work/root" "$out/$name.oci.tar"
/usr/bin/python3 packaging/sbom.py "$version" "$out" >"$out/$name.cdx.json"
cd "$out"
sha256sum -- *.tar.gz *.whl *.deb *.oci.tar *.cdx.json >SHA256SUMS
cat SHA256SUMS
