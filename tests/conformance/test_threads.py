# SPDX-License-Identifier: MIT
"""Threads that share readers and batches of C++. .ci/run has this under sanitizers, too."""

import os
import subprocess

import clients
import pytest
from harness import SLOW


def test_threads_of_cpp(daemon, photos):
    if "cpp" not in clients.chosen():
        pytest.skip("cpp is not chosen")
    done = subprocess.run([*clients.of_meson("threads_cpp"), photos], text=True, check=False,
                          env={**os.environ, "STOKER_SOCKET": str(daemon.socket)},
                          timeout=100 * SLOW, capture_output=True)
    assert done.returncode == 0, (done.stdout, done.stderr)
    outlives, sums = done.stdout.splitlines()
    assert outlives == "outlives"
    one, other = sums.split()
    assert one == other and int(one) > 0
