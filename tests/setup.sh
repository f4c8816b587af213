#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What a target of the Makefile needs of Debian 12 or 13: look what is missing, say it, install
# that and nothing else. Does nothing, silently, when all is there.
#
#   tests/setup.sh build|demo|test|bench|docs|wheel|deb|ci
set -eu

# What Debian 12 calls otherwise than its successors; Ubuntu follows Debian.
msgpack=libmsgpack-c-dev fortran=libgfortran-14-dev units=systemd-dev
case "$(. /etc/os-release 2>/dev/null && echo "${ID-}${VERSION_ID-}")" in
debian12 | ubuntu22.04) msgpack=libmsgpack-dev fortran=libgfortran-12-dev units=systemd ;;
esac

compile='gcc libc6-dev meson ninja-build pkg-config'
libraries="libuv1-dev libjpeg62-turbo-dev libspng-dev zlib1g-dev libwebp-dev $msgpack
	libxxhash-dev libinih-dev libjansson-dev libarchive-dev libsystemd-dev liblapacke-dev
	libcurl4-openssl-dev libexpat1-dev libtiff-dev libavif-dev liblzma-dev"
client='python3 python3-numpy python3-msgpack'
pictures='python3-pil'
torch='python3-torch python3-torchvision'
# What Keras' affine transformation is made of.
scipy='python3-scipy'
# g++ compiles the public header as C++; systemd-analyze (in systemd) reads the units.
# nettle is the SHA-256 of the conformance programs of C and C++.
# avifenc and avifdec make and read AVIF, which Debian's Pillow does not.
check='python3-lmdb python3-cloudpickle libcmocka-dev python3-pytest python3-matplotlib g++ systemd
	mandoc nettle-dev libavif-bin cmake'
# promtool reads the metrics, a browser without a window shows the page, shells read completions,
# nginx serves data, libfuse makes a slow file system: tests without them skip, and say so. So do
# those without two servers that are not Debian's: go install
# github.com/versity/versitygw/cmd/versitygw@v1.8.0 and pip install 'moto[server]'.
watch='prometheus chromium zsh fish nginx-light libfuse3-dev'
# The wheel has static libraries; these are named when libarchive's is linked, LAPACK is Fortran,
# and a part of libtiff C++. The image takes certificate authorities along.
wheel="binutils libacl1-dev libzstd-dev liblz4-dev libbz2-dev libxml2-dev nettle-dev
	$fortran g++ python3-venv ca-certificates"
deb="build-essential debhelper dh-python git lintian python3-all python3-setuptools
	pybuild-plugin-pyproject $units"
more='clang libclang-rt-dev clang-format git util-linux'

case "${1-}" in
build) needs="$compile $libraries" why='to build stokerd, stokerctl and libstoker' ;;
demo) needs="$compile $libraries $client $pictures" why='to build stoker and to run its demo' ;;
bench) needs="$compile $libraries $client $pictures $torch libcmocka-dev"
	why='to build stoker and to compare it with the DataLoader of PyTorch' ;;
test) needs="$compile $libraries $client $pictures $torch $scipy $check"
	why='to build stoker and to test it, against torchvision among others' ;;
docs) needs="$compile $libraries $client $pictures python3-venv mandoc"
	why='to build stoker and its manual, with its man pages' ;;
deb) needs="$compile $libraries $deb" why='to build the Debian packages' ;;
wheel) needs="$compile $libraries $wheel" why='to build the wheels' ;;
ci) needs="$compile $libraries $client $pictures $torch $scipy $check $watch $wheel $more"
	why='to build, test, sanitize and fuzz stoker' ;;
*)
	echo "usage: tests/setup.sh build|demo|test|bench|docs|wheel|deb|ci" >&2
	exit 64
	;;
esac

if ! command -v dpkg-query >/dev/null; then
	echo "setup: this is no Debian: nothing is installed; see docs/BUILDING.md" >&2
	exit 0
fi

missing=
for package in $needs; do
	state=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null || true)
	[ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "setup: installing:$missing"
echo "setup: ($why; with apt-get, from Debian)"
if ! command -v apt-get >/dev/null; then
	echo "setup: there is no apt-get here: please install these packages another way" >&2
	exit 69
fi
as_root=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "setup: this needs root and there is no sudo; as root, run:" >&2
		echo "setup:   apt-get install --no-install-recommends$missing" >&2
		exit 77
	fi
	as_root=sudo
fi
# The lists of a fresh container are empty and those of an old one name packages that are gone.
$as_root apt-get -q update
# Another apt-get, such as that of a system's own upgrades, may be at work: it is waited for.
# shellcheck disable=SC2086 # the list is to be split
$as_root env DEBIAN_FRONTEND=noninteractive \
	apt-get -q -y -o DPkg::Lock::Timeout=600 install --no-install-recommends $missing
