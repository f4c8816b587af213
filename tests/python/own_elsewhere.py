# SPDX-License-Identifier: MIT
"""Code as users write it, for producers on other nodes; and a made engine that has these."""
import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from stoker.produce.cluster import Apart, Cluster


class Drawn:
    """Samples of random numbers, each of which takes some time."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(0.01)
        if index == 7 and self.count == 41:
            raise ValueError("there is no such sample")
        return {"x": np.random.rand(4, 3).astype(np.float32), "y": random.randrange(1000),
                "index": index}


def shaken(picture):
    picture += np.random.randint(0, 256, picture.shape, np.uint8)
    return picture


class Processes(Cluster):
    """Actors are threads of the forwarder. `log`: a file with a line for each group, the process
    that made it. `other`: actors have other code than the trainer."""

    engine = "a made engine"

    def __init__(self, n, local, log, other=False):
        super().__init__(n, local)
        self.log, self.other = log, other

    def join(self):
        pass

    def start(self, packed, job):
        if self.other:
            job.same = "another"
        return Apart(packed, job), ThreadPoolExecutor(1)

    def call(self, actor, *arguments):
        return actor[1].submit(self._make, actor[0], *arguments)

    def _make(self, apart, *arguments):
        made = apart.make(*arguments)
        with open(self.log, "a", encoding="ascii") as file:
            print(apart.pid, file=file)
        return made

    def result(self, call):
        return call.result()

    def end(self, actor):
        actor[0].end()
