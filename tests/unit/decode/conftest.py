# SPDX-License-Identifier: MIT
"""One decoder for all tests of a file."""
import pytest


@pytest.fixture(scope="module")
def decode(tmp_path_factory):
    from by_pillow import Decoder  # skips where there is no Pillow
    decoder = Decoder(tmp_path_factory.mktemp("decode"))
    yield decoder
    decoder.close()
