# SPDX-License-Identifier: MIT
"""A short storm of tests/chaos (its head says what is looked at); $STOKER_CHAOS_SECONDS makes it a
longer one. FAULTS 7, 11, 12, 21.
"""

import os
import sys

from harness import SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "chaos"))
import chaos  # noqa: E402 (it stands in a folder of its own)


def test_nobody_notices_another_end():
    seconds = float(os.environ.get("STOKER_CHAOS_SECONDS", "8"))
    seed = int.from_bytes(os.urandom(4), "little")
    seen = chaos.run(seconds, readers=16, seed=seed)
    assert seen["samples"] > 0 and seen["kill_reader"] > 0, seen
