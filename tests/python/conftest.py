# SPDX-License-Identifier: MIT
import gc
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[1] / "client" / "python"))
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "reference"))

import place  # noqa: E402, F401 (temporary files and the umask are settled)
from fake_daemon import fake_daemon  # noqa: E402
from real_daemon import RealDaemon, binary, pictures  # noqa: E402

try:
    from pillow import OWN
except ImportError:  # without Pillow there is nothing to compare with
    OWN = "pillow-13"


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    # What tests compare with is this machine's Pillow; tests/conformance asks for what is usual.
    monkeypatch.setattr("stoker._resize.STANDARD", OWN)
    for name in ("RANK", "WORLD_SIZE", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                 "STOKER_SOCKET"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def daemon(tmp_path, monkeypatch):
    # Its batches are small: map them all the same, as large ones are.
    monkeypatch.setattr("stoker._ring._COPIED_BYTES", 0)
    with fake_daemon(str(tmp_path)) as daemon:
        yield daemon


@pytest.fixture
def node(daemon):
    import stoker
    with stoker.connect(daemon.path) as node:
        yield node


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """21 images of three classes."""
    pytest.importorskip("PIL")
    return pictures(tmp_path_factory.mktemp("pictures") / "train")


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The built daemon."""
    if binary() is None:
        pytest.skip("no stokerd was built")
    daemon = RealDaemon(tmp_path_factory.mktemp("daemon"))
    yield daemon
    gc.collect()  # it would wait for loaders that nobody uses any more
    assert daemon.stop() == 0


@pytest.fixture
def near(real):
    """The node of the built daemon; `node` is that of the fake one."""
    import stoker
    with stoker.connect(real.path) as node:
        yield node
