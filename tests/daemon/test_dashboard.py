# SPDX-License-Identifier: MIT
"""Dashboard and alerts of packaging/grafana before a real Prometheus, which asks a daemon with
three ranks, the last of them slow."""

import contextlib
import re
import shutil
import subprocess
import threading

import pytest

from harness import SOURCE, wait_for
from prometheus import PROGRAM, Prometheus, expression, panels, rules
from test_rank_series import TOKEN
from test_watch import TRANSFORMS, fixture_port  # noqa: F401 (a fixture)

RANKS = 3
INTERVAL = "6s"


def train(peers, stop):
    """Step by step, until `stop`; the last rank keeps each batch."""
    while True:
        for rank, peer in enumerate(peers):
            if stop.wait(0.05 if rank == RANKS - 1 else 0):
                return
            peer.release(peer.expect("batch", seconds=60))


@contextlib.contextmanager
def three_ranks(daemon, photos):
    peers, stop = [daemon.connect() for _ in range(RANKS)], threading.Event()
    for rank, peer in enumerate(peers):
        peer.attach(photos, transforms=TRANSFORMS, epochs=0, job='a "job"', rank=rank, world=RANKS)
    trainer = threading.Thread(target=train, args=(peers, stop))
    trainer.start()
    try:
        yield peers
    finally:
        stop.set()
        trainer.join()
        for peer in peers:
            peer.close()


def values(found):
    return [float(item["value"][1]) for item in found]


@pytest.mark.skipif(not PROGRAM, reason="there is no prometheus: apt-get install prometheus")
def test_no_expression_is_empty(spawn, photos, tmp_path, port):
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(TOKEN, encoding="ascii")
    daemon = spawn(metrics_port=port, metrics_token=token)
    queries = [expression(target["expr"], INTERVAL) for panel in panels()
               for target in panel["targets"]]
    # A comparison keeps what is true: of a healthy daemon nothing. `bool` keeps all.
    queries += [re.sub(r" ([<>]) ", r" \1 bool ", text) for text in rules().values()]
    assert len(queries) > 40
    with three_ranks(daemon, photos), Prometheus(port, token) as prometheus:
        ranks = 'count by (job_name, world) (stoker_reader_steps_total)'
        wait_for(lambda: values(prometheus.query(ranks)) == [RANKS], "three ranks in it", 60)
        (found,) = prometheus.query(ranks)
        assert found["metric"] == {"job_name": 'a "job"', "world": str(RANKS)}
        left = dict.fromkeys(queries)

        def answered():
            for query in list(left):
                if prometheus.query(query):
                    del left[query]
            return not left

        wait_for(answered, lambda: f"each has an answer, but {list(left)}", 60)
        waits, behind, space = (expression(panel["targets"][0]["expr"], INTERVAL)
                                for panel in panels()[:3])
        assert {item["metric"]["rank"] for item in prometheus.query(waits)} == {"0", "1", "2"}
        assert len(values(prometheus.query(behind))) == RANKS
        assert min(values(prometheus.query(space))) >= 1
        loaded = [rule["name"] for group in prometheus.ask("rules")["groups"]
                  for rule in group["rules"] if rule["health"] == "ok"]
        assert sorted(loaded) == sorted(rules())


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool (prometheus)")
def test_alerts_of_ranks():
    """What makes them fire, and what does not."""
    done = subprocess.run(["promtool", "test", "rules", SOURCE / "tests/daemon/alerts_test.yml"],
                          text=True, capture_output=True, check=False)
    assert done.returncode == 0 and "SUCCESS" in done.stdout, done
