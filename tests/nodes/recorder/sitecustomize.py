# SPDX-License-Identifier: MIT
"""Every Python that has this folder in its path writes down which batches its loaders give, in
$RECORD_BATCHES_IN, a file a process: so examples are tested as they stand, whatever starts them.

Knows the loader of the client; union.py reads what is written.
"""
import hashlib
import json
import os
import socket
import time
import uuid

import numpy as np

from stoker import loader as _loader
from stoker.state import Place

_GROUP = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID")


def _digests(images, labels):
    for image, label in zip(images, labels):
        digest = hashlib.sha256(np.ascontiguousarray(image).tobytes())
        yield digest.hexdigest()[:24], np.asarray(label).tolist()


class Record:
    """What one loader gives from one start on."""

    def __init__(self, loader, start):
        name = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._path = os.path.join(os.environ["RECORD_BATCHES_IN"], name)
        self._say(start=start, world=loader.world_size, rank=loader.rank, time=time.monotonic(),
                  group=[os.environ.get(each, "") for each in _GROUP])

    def _say(self, **row):
        with open(self._path, "a", encoding="ascii") as file:
            file.write(json.dumps(row) + "\n")

    def batch(self, fields, arrays):
        self._say(epoch=fields["epoch"], position=fields["position"],
                  samples=list(_digests(arrays["image"], arrays["label"])))


def _install():
    take, load, records = _loader.Loader._take, _loader.Loader.load_state_dict, {}

    def load_state_dict(self, state_dict):
        load(self, state_dict)
        records[id(self)] = Record(self, self._place())

    def _take(self, message, names=None):
        if id(self) not in records:
            records[id(self)] = Record(self, Place(0, 0))
        arrays, lease = take(self, message, names)
        records[id(self)].batch(message.fields, arrays)
        return arrays, lease

    _loader.Loader._take, _loader.Loader.load_state_dict = _take, load_state_dict


if os.environ.get("RECORD_BATCHES_IN"):
    _install()
