# SPDX-License-Identifier: MIT
"""The tools of each language have nothing to say against its client: its own tests, which replay
the golden frames, its formatter and its linter."""

import clients
import pytest


@pytest.mark.parametrize("language, what", [
    (language, what) for language in clients.chosen() for what in clients.CHECKS.get(language, ())])
def test_tool(language, what):
    try:
        clients.CHECKS[language][what]()
    except clients.Missing as error:
        pytest.skip(f"{language}: {error}")
