#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The packages stoker, libstoker0, libstoker-dev and python3-stoker, for the Debian (12 or 13) that
# this runs on, into a folder (packaging/deb/dist), from what git knows of this tree; then what
# lintian says of them.
#
#   packaging/deb/build.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
# Debian's own tools: another Python may come first, and has none of its modules.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin DEB_BUILD_OPTIONS=terse
out=$(realpath "${1:-packaging/deb/dist}")
version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" meson.build)
grep -q "^stoker ($version)" packaging/deb/debian/changelog || {
	echo "packaging/deb/debian/changelog has no entry of version $version" >&2
	exit 1
}

# debhelper splits the compiler's options at blanks, and they name this folder.
[[ ${TMPDIR-} != *[[:space:]]* ]] || export TMPDIR=/var/tmp
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$work/stoker-$version
mkdir -p "$source" "$out"
git ls-files -z --cached --others --exclude-standard |
	while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
	xargs -0 cp --parents -t "$source"
cp -r packaging/deb/debian "$source"
(cd "$source" && dpkg-buildpackage --build=binary --unsigned-changes)
lintian --fail-on error,warning --allow-root "$work"/*.changes
cp "$work"/*.deb "$out"
ls -l "$out"
