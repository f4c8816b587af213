# SPDX-License-Identifier: MIT
"""Readers that begin where their stream is (start=live): alone, late, and as the ranks of a job."""

import threading

from readers import (EPOCHS, finish_together, fixture_reader,  # noqa: F401 (fixtures)
                     fixture_reference)


def test_live(daemon, reader, reference):
    """Who comes late and does not mind joins where the stream is, and costs no decode."""
    first = reader()
    first.go(13)
    first.take()
    second = reader(start="live", batch_size=4)
    attached = second.peer.attached
    assert (attached["epoch"], attached["position"]) in ((1, 24), (1, 30))
    assert attached["ring"] == first.rings[-1]
    done = threading.Thread(target=first.finish)
    done.start()
    second.take()
    assert next(iter(second.got)) == (attached["epoch"], attached["position"])
    second.finish()
    done.join()
    assert first.got == reference
    begin = attached["epoch"], attached["position"]
    assert {key: value for key, value in second.got.items() if key[0] < EPOCHS} == \
        {key: value for key, value in reference.items() if key >= begin}


def test_live_ranks_begin_together(daemon, reader, reference):
    first = reader(epochs=2)
    first.go(3)
    first.take()
    ranks = [reader(start="live", epochs=2, job="late", rank=rank, world=3, batch_size=2)
             for rank in (1, 0, 2)]
    begin = min(rank.peer.attached["position"] for rank in ranks)
    assert begin in (24, 30)
    assert sorted(rank.peer.attached["position"] for rank in ranks) == \
        [begin, begin + 2, begin + 4]
    finish_together((first, *ranks))
    joined = {**ranks[0].got, **ranks[1].got, **ranks[2].got}
    assert sum(len(rank.got) for rank in ranks) == len(joined)
    assert joined == {key: value for key, value in reference.items()
                      if (0, begin) <= key and key[0] < 2}


def test_jobs_whose_names_differ_at_the_end(daemon, reader):
    """A name as long as may be is told from another to its last byte: they are no ranks of one."""
    first = reader(job="j" * 254 + "1")
    first.go(13)
    assert daemon.list("readers")[0]["job"] == "j" * 254 + "1"
    second = reader(start="live", job="j" * 254 + "2")
    assert second.peer.attached["epoch"] == 1, "it begins where the other did"


def test_live_where_nobody_reads(daemon, reader, reference):
    """Then it is where it asked to begin; and ATTACHED says so for every start."""
    alone = reader(start="live", epochs=1, position=13)
    assert (alone.peer.attached.get("epoch", 0), alone.peer.attached["position"]) == (0, 13)
    assert min(alone.finish()) == (0, 13)
    late = reader(position=58, last_batch="drop", epochs=2)
    assert (late.peer.attached["epoch"], late.peer.attached.get("position", 0)) == (1, 0)
