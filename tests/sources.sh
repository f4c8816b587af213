#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The tests of stoker.sources with every library that it knows, those that take minutes to install
# among them: MDS, LitData and Lance, and PyTorch for the first two. By hand.
#
#   tests/sources.sh FOLDER     # of a virtual environment, which is made if it is not there
#
# $STOKER_BUILD is a build of the daemon (default: build); $PYTHON makes the environment.
set -eu

environment=${1:?usage: tests/sources.sh FOLDER}
cd "$(dirname "$0")/.."
if [ ! -x "$environment/bin/pytest" ]; then
	"${PYTHON:-/usr/bin/python3}" -m venv "$environment"
	"$environment/bin/pip" install --quiet msgpack numpy pillow pytest \
		pyarrow datasets h5py zarr pydicom pylance mosaicml-streaming litdata
fi
STOKER_BUILD=${STOKER_BUILD:-$PWD/build} PYTHONPATH=client/python \
	exec "$environment/bin/python" -m pytest -q -rs tests/python/test_sources.py
