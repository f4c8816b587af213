# SPDX-License-Identifier: MIT
"""Users' own code, run in parallel: processes that make samples for the daemon."""
