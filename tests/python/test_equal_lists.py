# SPDX-License-Identifier: MIT
"""Lists of files that several programs make alike are one dataset of the daemon, so that what they
train on is made once."""
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PIL.Image")

import stoker
from real_daemon import binary
from stoker import _listed
from stoker._in_memory import InMemory

pytestmark = pytest.mark.skipif(binary() is None, reason="no stokerd was built")
RESIZE = {"batch_size": 4, "shuffle": False, "dtype": "uint8", "layout": "NHWC",
          "transforms": [stoker.CenterCrop(8)]}


def epoch(loader):
    """Images and labels of an epoch."""
    images, labels = zip(*[(batch.images.copy(), batch.labels.copy())
                           for batch in loader.batches()])
    return np.concatenate(images), np.concatenate(labels)


def paths_of(folder):
    return sorted(str(path) for path in Path(folder).glob("*/*.png"))


def ids_of(real):
    """Of the datasets that are open."""
    ctl = Path(binary()).parents[1] / "client" / "ctl" / "stokerctl"
    done = subprocess.run([ctl, "--socket", real.control, "--json", "datasets"], check=True,
                          stdout=subprocess.PIPE)
    return {row["dataset"] for row in json.loads(done.stdout)["datasets"]}


def test_equal_lists_are_one_dataset(near, real, folder):
    """As two programs make them: in files of their own."""
    paths = paths_of(folder)
    before = ids_of(real)
    with near.loader(paths[:8], labels=list(range(8)), **RESIZE) as one, \
            near.loader(paths[:8], labels=list(range(8)), **RESIZE) as same, \
            near.loader(paths[:8], labels=[*range(7), 9], **RESIZE) as other, \
            near.loader(paths[1:9], labels=list(range(8)), **RESIZE) as another:
        assert len(ids_of(real) - before) == 3
        assert all(map(np.array_equal, epoch(one), epoch(same)))
        assert epoch(other)[1].tolist() == [*range(7), 9]
        assert not np.array_equal(epoch(another)[0], epoch(one)[0])


def test_the_content_of_a_list_decides(near, folder):
    """And not what its path says."""
    paths = paths_of(folder)
    lists = [_listed.described(paths[:8], labels) for labels in (list(range(8)), list(range(1, 9)))]
    liar = InMemory.named(lists[0]["path"], os.dup(lists[1]["path"].fd))
    with near.loader(lists[0], **RESIZE) as one, \
            near.loader({**lists[1], "path": liar}, **RESIZE) as other:
        assert epoch(one)[1].tolist() == list(range(8))
        assert epoch(other)[1].tolist() == list(range(1, 9))
        assert epoch(one)[1].tolist() == list(range(8))
