# SPDX-License-Identifier: MIT
"""Own code on the nodes of a cluster: with a made engine, whose actors are processes of this
machine, and with Ray and Dask where they are installed."""
import contextlib
import hashlib
import os
import signal
from pathlib import Path

import numpy as np
import pytest

import own_elsewhere
import stoker
from stoker.produce import cluster

HERE = Path(__file__).resolve().parent
SLOW = float(os.environ.get("STOKER_SLOW", "1"))


@pytest.fixture(name="load")
def fixture_load(real, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    with stoker.connect(real.path) as node:
        def load(code, count, **more):
            return node.loader(code, **{"batch_size": 4, "seed": 3, "timeout": 120 * SLOW,
                                        "num_workers": count, **more})
        yield load


def drawn(count=40, **more):
    return stoker.Source(own_elsewhere.Drawn(count), gives="arrays", **more)


def shaken():
    return [stoker.RandomCrop(16), stoker.Map(own_elsewhere.shaken), stoker.ToTensor()]


def digest(loader, epochs=2, between=None):
    """Of all batches of epochs. `between`: called behind each, with its number."""
    made, number = hashlib.blake2b(), 0
    with loader:
        for _ in range(epochs):
            for batch in loader:
                for array in batch.values() if isinstance(batch, dict) else batch:
                    made.update(np.ascontiguousarray(array).tobytes())
                number += 1
                if between:
                    between(number)
    return number, made.hexdigest()


def test_samples_are_those_of_local_producers(load, tmp_path):
    wanted = digest(load(drawn(), 2))
    assert wanted[0] == 20
    for local in (0, 1):
        assert digest(load(drawn(), own_elsewhere.Processes(2, local, tmp_path / "log"))) == wanted


def test_what_an_actor_had_that_died_comes_once(load, tmp_path):
    wanted = digest(load(drawn(), 2))

    def kill(number):
        if number in (2, 12):
            os.kill(int(log.read_text().split()[-1]), signal.SIGKILL)
    log = tmp_path / "log"
    assert digest(load(drawn(), own_elsewhere.Processes(2, 0, log)), between=kill) == wanted
    assert len(set(log.read_text().split())) >= 3  # of other actors in their place


def test_recycled_actors_lose_nothing(load, tmp_path):
    wanted = digest(load(drawn(), 2))
    log = tmp_path / "log"
    assert digest(load(drawn(recycle=20), own_elsewhere.Processes(1, 0, log))) == wanted
    assert len(set(log.read_text().split())) >= 2


def test_maps_get_their_pictures(load, folder, tmp_path):
    wanted = digest(load(folder, 1, transforms=shaken()))
    engine = own_elsewhere.Processes(1, 0, tmp_path / "log")
    assert digest(load(folder, engine, transforms=shaken())) == wanted


def test_an_exception_is_that_of_its_sample(load, tmp_path):
    engine = own_elsewhere.Processes(1, 0, tmp_path / "log")
    with load(drawn(41), engine, shuffle=False) as loader, \
            pytest.raises(stoker.SampleError, match="there is no such sample.*own_elsewhere.py"):
        list(loader)


def test_a_state_goes_on_exactly(load, tmp_path):
    with load(drawn(), own_elsewhere.Processes(1, 0, tmp_path / "log")) as loader:
        iteration = iter(loader)
        for _ in range(3):
            next(iteration)
        state = loader.state_dict()
        rest = [batch["index"].tolist() for batch in iteration]
    with load(drawn(), 1) as loader:
        loader.load_state_dict(state)
        assert [batch["index"].tolist() for batch in loader] == rest and len(rest) == 7


def test_other_code_on_a_node_is_refused(load, tmp_path):
    engine = own_elsewhere.Processes(1, 0, tmp_path / "log", other=True)
    with load(drawn(), engine) as loader, \
            pytest.raises(stoker.ProducerError, match="is not that of the trainer"):
        list(loader)


def test_the_plan_says_where_code_runs(load, tmp_path):
    with load(drawn(), own_elsewhere.Processes(2, 1, tmp_path / "log")) as loader:
        assert "Drawn runs in a process of yours and 2 actors of a made engine;" in loader.plan()
    with pytest.raises(ValueError, match="n must be a number from 1 on, not 0"):
        cluster.Cluster(0, 0)


def test_ray(load, folder):
    ray = pytest.importorskip("ray")
    import stoker.ray
    environment = {"PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parents[1] /
                                                                "client" / "python")])}
    with pytest.raises(RuntimeError, match="call ray.init"):
        stoker.ray.Producers(1)
    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1",
             object_store_memory=100 << 20, runtime_env={"env_vars": environment})
    try:
        wanted = digest(load(folder, 1, transforms=shaken()))
        assert digest(load(folder, stoker.ray.Producers(1), transforms=shaken())) == wanted
        wanted = digest(load(drawn(), 1))
        assert digest(load(drawn(), stoker.ray.Producers(2)), between=kill_a("ray::Apart")) \
            == wanted
    finally:
        ray.shutdown()


def test_dask(load, monkeypatch):
    distributed = pytest.importorskip("distributed")
    import stoker.dask
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(HERE.parents[1] / "client" /
                                                                    "python")]))
    options = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": None}
    with distributed.LocalCluster(**options) as made, distributed.Client(made) as client:
        wanted = digest(load(drawn(), 1))
        assert digest(load(drawn(), stoker.dask.Producers(2))) == wanted

        def kill(number):
            if number == 2:
                os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)
        assert digest(load(drawn(), stoker.dask.Producers(2)), between=kill) == wanted


def kill_a(name):
    """A process with this name, behind the second batch."""
    def kill(number):
        for entry in Path("/proc").iterdir() if number == 2 else ():
            with contextlib.suppress(OSError):
                if (entry / "cmdline").read_text().startswith(name):
                    os.kill(int(entry.name), signal.SIGKILL)
                    return
    return kill
