#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What a machine with a GPU and nothing to install from needs, below build-gpu/ (some 45 MB): the
# wheel, 300 photographs and measure.py. In the project's root:
#
#     tests/gpu/prepare.sh FOLDER        # photographs, a folder of folders
#     python3 build-gpu/measure.py       # there, with build-gpu carried along
#
# measure.py asks for Python 3.10 or later, NumPy, msgpack, PyTorch and torchvision with CUDA, and
# takes JAX where it is.
set -euo pipefail
photographs=${1:?FOLDER of photographs}
cd "$(dirname "$0")/../.."

[[ -n $(ls packaging/wheel/dist/stoker-*.whl 2>/dev/null) ]] ||
	{ tests/setup.sh wheel && packaging/wheel/build.py; }
rm -rf build-gpu
mkdir -p build-gpu
cp packaging/wheel/dist/stoker-[0-9]*.whl tests/gpu/measure.py build-gpu/
number=0
while read -r file; do
	class=build-gpu/train/c$((number % 10))
	mkdir -p "$class"
	cp "$file" "$class/"
	number=$((number + 1))
done < <(find "$photographs" -mindepth 2 -type f | sort | head -n 300)
du -sh build-gpu
