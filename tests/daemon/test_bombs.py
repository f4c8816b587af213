# SPDX-License-Identifier: MIT
"""FAULTS A.2 and 74: small files that would take seconds or gigabytes are refused by name, at next
to no cost, and whoever trains beside them notices nothing. How many milliseconds it is:
tests/bench/bombs.py."""

import json
import os
import pathlib
import re
import shutil
import sys

import pytest
from PIL import Image

from harness import SLOW, SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "bench"))
import bombs  # noqa: E402 (it stands in the bench's folder)

# Decoded, each takes a second to eleven; all of them together, with a sanitizer, less than this.
CPU_S = 2 * SLOW
MEMORY = 400 << 20


@pytest.fixture(scope="module", name="made")
def fixture_made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bombs")
    bombs.make(folder)
    return folder


@pytest.fixture(name="dataset")
def fixture_dataset(made, tmp_path):
    """All bombs in a class, and a good picture before and behind them."""
    folder = tmp_path / "dataset" / "class"
    shutil.copytree(made, folder)
    for name in ("a.jpg", "zz.jpg"):
        Image.effect_noise((64, 48), 60).convert("RGB").save(folder / name)
    return folder.parent


def cost(daemon):
    """CPU seconds so far, and the most memory of its own at a time."""
    folder = pathlib.Path("/proc") / str(daemon.process.pid)
    fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
    status = (folder / "status").read_text()
    return ((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
            int(re.search(r"^VmHWM:\s+(\d+)", status, re.MULTILINE).group(1)) << 10)


def test_refused_at_no_cost(daemon, dataset):
    wrong = {}
    before, _ = cost(daemon)
    with daemon.connect() as peer:
        peer.attach(dataset, transforms=[{"name": "Resize", "size": [32, 32]}], batch_size=1,
                    shuffle=False)
        count = 0
        while (message := peer.receive()).name != "end":
            if message.name == "batch":
                count += 1
                peer.release(message)
            else:
                wrong[pathlib.Path(message.fields["path"]).name] = message.fields["name"]
    after, memory = cost(daemon)
    assert wrong == {name: "sample_limit" for name in bombs.BOMBS}
    assert count == 2, "the good ones are delivered"
    assert after - before < CPU_S
    assert memory < MEMORY * SLOW


def test_the_limit_of_progressive_pictures(spawn, tmp_path):
    """Two bytes for each of three components, and an option."""
    (tmp_path / "class").mkdir()
    picture = Image.effect_noise((512, 256), 60).convert("RGB")
    picture.save(tmp_path / "class" / "a.jpg", progressive=True, subsampling=0)
    need = 512 * 256 * 3 * 2
    for size, name in ((need - 1, "bad_sample"), (need, "batch")):
        with spawn(max_coefficient_bytes=size).connect() as peer:
            peer.attach(tmp_path, transforms=[{"name": "CenterCrop", "size": 8}], batch_size=1)
            message = peer.receive()
            assert message.name == name
        if name == "bad_sample":
            assert message.fields["name"] == "sample_limit"
            assert f"{need:,} bytes of coefficients" in message.fields["text"]


def test_refused_by_a_visit(daemon, dataset):
    before, _ = cost(daemon)
    report = json.loads(daemon.ctl("--json", "index", dataset).stdout)
    after, memory = cost(daemon)
    assert report["unread"] == len(bombs.BOMBS) and report["indexed"] == 2
    assert after - before < CPU_S
    assert memory < MEMORY * SLOW
