#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The unit tests on another processor: stoker cross-built for arm64, its tests run by qemu. ROOT is
# a Debian that this changes: compilers and libraries of arm64 are installed in it, and the build
# stays there (ROOT/build), so that a second run takes less.
#
#   debootstrap --variant=minbase --include=ca-certificates bookworm ROOT
#   tests/arm64/run.sh ROOT [SUITE]                        SUITE: unit
#
# Needs root and Debian's archive. Some ten minutes on two cores.
set -euo pipefail
root=$(realpath "$1") suite=${2:-unit}
cd "$(dirname "$0")/../.."
if [[ ${ARM64_INSIDE-} != yes ]]; then
	ARM64_INSIDE=yes exec unshare --mount --pid --fork --kill-child "$0" "$root" "$suite"
fi
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o size=2g tmpfs "$root/dev/shm"
mkdir -p "$root/stoker"
mount --bind -o ro . "$root/stoker"
cp /etc/resolv.conf "$root/etc/resolv.conf"
within() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"; }

libraries=(libuv1 libjpeg62-turbo libspng zlib1g libwebp libmsgpack libxxhash libinih libjansson
	libarchive libsystemd liblapacke libcmocka nettle)
if [[ ! -e $root/usr/bin/qemu-aarch64-static ]]; then
	within dpkg --add-architecture arm64
	within apt-get -q update
	within env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends \
		crossbuild-essential-arm64 qemu-user-static meson ninja-build pkg-config git \
		"${libraries[@]/%/-dev:arm64}"
fi
cat >"$root/arm64.ini" <<'INI'
[binaries]
c = 'aarch64-linux-gnu-gcc'
cpp = 'aarch64-linux-gnu-g++'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64-static', '-L', '/']
[properties]
pkg_config_libdir = ['/usr/lib/aarch64-linux-gnu/pkgconfig', '/usr/share/pkgconfig']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
INI
[[ -e $root/build/build.ninja ]] || within meson setup /build /stoker --cross-file /arm64.ini \
	-Dtests=enabled -Dwerror=true
within ninja -C /build
# What pytest drives (long) is left out: nearly all of it reads datasets.
within meson test -C /build --no-rebuild --suite "$suite" --no-suite long --timeout-multiplier 10 \
	>"$root/build/said" 2>&1 || true
# qemu 7.2 knows no openat2, without which no dataset is read: what fails of that says so, as does
# what needs pytest. And of descriptors that come beside a message it keeps those for which the
# program has no room, which client_faults (test_wrong_attaches) counts.
within python3 -c '
import json
tests = [json.loads(line) for line in open("/build/meson-logs/testlog.json")]
words = ("lacks openat2", "Function not implemented", "import pytest\nModuleNotFoundError",
         "1 test(s), listed below:\n[  FAILED  ] test_wrong_attaches")
def said(test):
    return test.get("stdout", "") + test.get("stderr", "")
failed = [test for test in tests if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL")]
without = [test for test in failed if any(word in said(test) for word in words)]
failed = [test for test in failed if test not in without]
for test in failed:
    print(test["name"], test["result"], said(test)[-3000:])
print(len(without), "cannot run with this qemu:", *(test["name"] for test in without))
print(len(tests) - len(failed) - len(without), "passed,", len(failed), "failed")
raise SystemExit(bool(failed))
'
