# SPDX-License-Identifier: MIT
"""Producers, from outside: processes of the user's that make the samples of a dataset of kind code.
Each here is a raw peer, which can do what no good one would. FAULTS 91."""

import contextlib
import json
import mmap
import os
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import WAIT_S, Peer, wait_for
from test_law import STREAM
import photos as made  # noqa: E402 (conftest.py has put its folder into the path)

SECRET = b"sixteen bytes!!!"
CODE = "0123456789abcdef"


class Maker(Peer):
    """A producer. `files`: the bytes of each sample, by its index."""

    def __init__(self, daemon, files, secret=SECRET, code=CODE, **more):
        super().__init__(daemon.socket)
        self.files, self.made = files, []
        self.hello()
        self.answer = self.request("produce", code=code, secret=secret, name="test", **more)
        if self.answer.name == "producer":
            self.take_tray(self.answer)

    def take_tray(self, message):
        fd = self.fds.pop(0)
        self.tray = mmap.mmap(fd, message.fields["bytes"])
        os.close(fd)

    def close(self):
        """A thread that receives would keep the socket open."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        super().close()

    def work(self, seconds=WAIT_S):
        message = self.receive(seconds)
        while message and message.name == "producer":
            self.take_tray(message)
            message = self.receive(seconds)
        assert message and message.name == "work", message
        return message.fields

    def place(self, work):
        """Write the group's records; the list of MADE."""
        at, out = work["offset"], []
        for place, (index, _, _) in enumerate(work["samples"]):
            record = struct.pack("=q", index % 6) + self.files[index]
            self.tray[at:at + len(record)] = record
            out.append([place, at, len(record)])
            at += len(record)
        return out

    def make(self, work):
        self.made += [sample[0] for sample in work["samples"]]
        self.send("made", group=work["group"], samples=self.place(work))

    def serve(self):
        """In a thread, until the connection ends."""
        def loop():
            with contextlib.suppress(OSError, AssertionError, TimeoutError):
                while True:
                    self.make(self.work(60))
        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        return self


@pytest.fixture(name="files")
def fixture_files(photos):
    return [path.read_bytes() for path in sorted(photos.rglob("*")) if path.is_file()]


@pytest.fixture(name="maker")
def fixture_maker(daemon, files):
    """A function that makes a producer."""
    with contextlib.ExitStack() as stack:
        yield lambda **more: stack.enter_context(Maker(daemon, files, **more))


def wish(files, **fields):
    return {"dataset": {"path": "code:test", "kind": "code", "code": CODE,
                        "samples": str(len(files))}, "secret": SECRET, **STREAM, **fields}


def read(daemon, files, **fields):
    with daemon.connect() as peer:
        answer = peer.attach("", **wish(files, **fields))
        assert answer.name == "attached", answer
        return peer.digests()


def all_of(peer):
    """Until END: the positions of good batches of one sample, and what is said of bad samples."""
    good, bad = [], []
    while True:
        message = peer.receive()
        if message.name == "end":
            return good, bad
        if message.name == "batch":
            good.append(message.fields["position"])
            peer.release(message)
        elif message.name == "bad_sample":
            bad.append(message.fields)


def of_folder(daemon, photos, **fields):
    with daemon.connect() as peer:
        assert peer.attach(photos, **{**STREAM, **fields}).name == "attached"
        return peer.digests()


@pytest.mark.parametrize("count", [1, 3])
def test_samples_are_those_of_the_files(daemon, files, photos, maker, count):
    """The labels here are not the folder's, so images and indexes are compared."""
    makers = [maker().serve() for _ in range(count)]
    got, want = {}, {}
    for out, path, fields in ((got, "", wish(files, epochs=2)),
                              (want, photos, {**STREAM, "epochs": 2})):
        with daemon.connect() as peer:
            assert peer.attach(path, **fields).name == "attached"
            for epoch, position, arrays in peer.samples():
                out[epoch, position] = (arrays["image"].tobytes(), int(arrays["index"]))
                if path == "":
                    assert arrays["label"] == arrays["index"] % 6
    assert got == want and len(got) == 120
    assert sum(len(one.made) for one in makers) == 120


def test_views_are_made_of_one_record(daemon, files, photos, maker):
    one = maker().serve()
    with daemon.connect() as peer, daemon.connect() as other:
        assert peer.attach("", **wish(files, views=2)).name == "attached"
        assert other.attach(photos, **{**STREAM, "views": 2}).name == "attached"
        got, want = ({place: (arrays["image"].tobytes(), int(arrays["index"]))
                      for _, place, arrays in reader.samples()} for reader in (peer, other))
    assert got == want and len(got) == 60 and len(one.made) == 60


def test_views_of_arrays_are_refused(daemon, files):
    with daemon.connect() as peer:
        answer = peer.attach("", **wish_arrays(files, views=2))
        assert answer.name == "error" and "views are of pictures" in answer.fields["text"]


def test_a_producer_that_leaves_loses_its_samples_to_others(daemon, files, maker):
    whole = read_with(daemon, files, maker)
    with maker() as leaving, daemon.connect() as peer:
        assert peer.attach("", **wish(files)).name == "attached"
        leaving.work()
        leaving.close()
        maker().serve()
        assert peer.digests() == whole


def read_with(daemon, files, maker):
    """An epoch, made by a producer that leaves afterwards."""
    one = maker().serve()
    whole = read(daemon, files)
    one.close()
    return whole


def test_a_sample_that_ends_its_producer_twice_is_bad(daemon, files, maker):
    """The others come, those too that were in its group."""
    deadly = 7
    with daemon.connect() as peer:
        assert peer.attach("", **wish(files, batch_size=1, shuffle=False)).name == "attached"
        stop = threading.Event()

        def forever():
            while not stop.is_set():
                with maker() as one, contextlib.suppress(OSError, AssertionError, TimeoutError):
                    while True:
                        work = one.work(1)
                        if any(index == deadly for index, _, _ in work["samples"]):
                            break
                        one.make(work)
        thread = threading.Thread(target=forever)
        thread.start()
        try:
            good, bad = all_of(peer)
        finally:
            stop.set()
            thread.join()
    assert [one["sample"] for one in bad] == [deadly] and bad[0]["name"] == "sample_user"
    assert good == [position for position in range(60) if position != deadly]


def test_what_the_code_raised_is_the_bad_samples_text(daemon, files, maker):
    one = maker()
    with daemon.connect() as peer:
        assert peer.attach("", **wish(files, batch_size=1, shuffle=False)).name == "attached"
        work = one.work()
        one.send("failed", group=work["group"], sample=0, text="ValueError: no picture; mine.py:3")
        one.serve()
        good, (bad,) = all_of(peer)
    assert bad["sample"] == work["samples"][0][0] and bad["name"] == "sample_user"
    assert bad["text"] == "ValueError: no picture; mine.py:3" and len(good) == 59


def group_of_several(one, samples):
    """Make single ones until there is one. A group is as large as takes 4 ms, so on a machine whose
    answers take longer there may be none."""
    work = one.work()
    while len(work["samples"]) == 1:
        one.make(work)
        if len(one.made) == samples:
            pytest.skip("each answer took so long that all samples were lent one by one")
        work = one.work()
    return work


def test_a_sample_that_has_no_room_beside_others_is_made_alone(daemon, files, maker):
    one = maker()
    with daemon.connect() as peer, ThreadPoolExecutor(1) as beside:
        assert peer.attach("", **wish(files, batch_size=1)).name == "attached"
        read = beside.submit(peer.digests)
        work = group_of_several(one, 60)
        index = work["samples"][0][0]
        one.send("failed", group=work["group"], sample=0, text="full", needed=1 << 20)
        one.send("made", group=work["group"], samples=one.place(work)[1:])
        again = one.work()
        while again["samples"][0][0] != index:
            one.make(again)
            again = one.work()
        assert len(again["samples"]) == 1
        one.make(again)
        one.serve()
        assert len(read.result()) == 60


def test_a_sample_that_is_alone_and_has_no_room_is_bad(daemon, files, maker):
    """Whatever it says that it needs."""
    one = maker()
    with daemon.connect() as peer:
        assert peer.attach("", **wish(files, batch_size=1, shuffle=False)).name == "attached"
        work = one.work()
        assert len(work["samples"]) == 1
        one.send("failed", group=work["group"], sample=0, text="it has 1 MiB", needed=1 << 20)
        one.serve()
        good, (bad,) = all_of(peer)
    assert bad["text"] == "it has 1 MiB" and len(good) == 59


@pytest.mark.parametrize("needed, text", [
    (1 << 39, "it has 512 GiB: the tray of its producer would need 1048576 MiB, and "),
    (1 << 60, "it has 1 EiB")])
def test_a_sample_too_large_for_any_tray_is_bad(daemon, files, maker, needed, text):
    one = maker()
    with daemon.connect() as peer:
        assert peer.attach("", **wish(files, batch_size=1, shuffle=False)).name == "attached"
        work = one.work()
        one.send("failed", group=work["group"], sample=0, text=text.partition(":")[0],
                 needed=needed)
        one.serve()
        good, (bad,) = all_of(peer)
    assert bad["text"].startswith(text) and len(good) == 59
    assert bad["name"] == ("sample_limit" if ":" in text else "sample_user")


def test_the_tray_grows_with_a_sample(daemon, files, maker):
    """And what comes later comes in the new one, whose descriptor comes with it."""
    one = maker()
    with daemon.connect() as peer:
        assert peer.attach("", **wish(files, batch_size=1, shuffle=False)).name == "attached"
        work, before = one.work(), len(one.tray)
        index = work["samples"][0][0]
        one.send("failed", group=work["group"], sample=0, text="more", needed=work["bytes"] + 1)
        work = one.work()
        while work["samples"][0][0] != index:
            one.make(work)
            work = one.work()
        assert work["bytes"] > before // 4 and len(one.tray) > before
        one.make(work)
        one.serve()
        good, bad = all_of(peer)
    assert len(good) == 60 and not bad


WRONG = {
    "a group that it has not": lambda work, made: {"group": work["group"] + 1, "samples": made},
    "no list": lambda work, made: {"group": work["group"], "samples": 3},
    "an empty list": lambda work, made: {"group": work["group"], "samples": []},
    "no numbers": lambda work, made: {"group": work["group"], "samples": [["a", 0, 1]]},
    "too few numbers": lambda work, made: {"group": work["group"], "samples": [[0, 1]]},
    "negative": lambda work, made: {"group": work["group"], "samples": [[0, -1, 5]]},
    "a place beyond the group": lambda work, made: {
        "group": work["group"], "samples": [[len(work["samples"]), work["offset"], 9]]},
    "twice": lambda work, made: {"group": work["group"], "samples": [made[0], made[0]]},
    "before its part": lambda work, made: {
        "group": work["group"], "samples": [[0, (work["offset"] + work["bytes"]) % (1 << 24), 9]]},
    "beyond its part": lambda work, made: {
        "group": work["group"], "samples": [[0, work["offset"], work["bytes"] + 1]]},
    "a sum that wraps": lambda work, made: {
        "group": work["group"], "samples": [[0, work["offset"] + 8, 2**64 - 8]]},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_answer_costs_the_producer_and_nothing_else(daemon, files, maker, wrong):
    whole = read_with(daemon, files, maker)
    one = maker()
    with daemon.connect() as peer:
        assert peer.attach("", **wish(files)).name == "attached"
        work = one.work()
        one.send("made", **WRONG[wrong](work, one.place(work)))
        one.waiting.clear()
        while True:
            message = one.receive()
            if message is None or message.name == "error":
                break
        assert message and message.fields["name"] == "field", message
        maker().serve()
        assert peer.digests() == whole


@pytest.mark.parametrize("record", [b"", b"1234567", b"12345678", b"12345678garbage"])
def test_a_record_that_is_no_picture_is_one_bad_sample(daemon, files, maker, record):
    one = maker()
    with daemon.connect() as peer:
        assert peer.attach("", **wish(files, batch_size=1, shuffle=False)).name == "attached"
        work = one.work()
        assert len(work["samples"]) == 1
        one.tray[work["offset"]:work["offset"] + len(record)] = record
        one.send("made", group=work["group"], samples=[[0, work["offset"], len(record)]])
        one.serve()
        good, (bad,) = all_of(peer)
    assert bad["sample"] == work["samples"][0][0] and len(good) == 59


def test_another_secret_or_code_gets_no_work_and_serves_nobody(daemon, files, maker):
    others = [maker(secret=b"another secret!!"), maker(code="another")]
    with daemon.connect() as peer:
        assert peer.attach("", **wish(files)).name == "attached"
        why = peer.expect("stalled").fields["why"]
        assert why == "no producer makes the samples of code:test: start one"
        for other in others:
            with pytest.raises(TimeoutError):
                other.work(0.2)
        maker().serve()
        assert len(peer.digests()) == 60


def test_bytes_that_differ_from_before_are_a_bad_sample(daemon, files, maker):
    maker().serve()
    with daemon.connect() as peer:
        assert peer.attach("", **wish(files, batch_size=1, prefetch=4, shuffle=False,
                                      epochs=2)).name == "attached"
        good, bad = [], []
        while True:
            message = peer.receive()
            if message.name == "end":
                break
            if message.name == "bad_sample":
                bad.append((message.fields["name"], message.fields["sample"],
                            message.fields["epoch"]))
            elif message.name == "batch":
                good.append((message.fields["epoch"], message.fields["position"]))
                if good[-1] == (0, 30):
                    files[3] = files[4]
                peer.release(message)
    assert bad == [("sample_changed", 3, 1)]
    assert len(good) == 119 and (1, 3) not in good


def test_a_hung_producer_keeps_no_other_stream_waiting(daemon, files, photos, maker):
    """Not of the same user, with two workers and two fetchers for all."""
    whole = of_folder(daemon, photos)
    one = maker()
    with daemon.connect() as peer:
        assert peer.attach("", **wish(files)).name == "attached"
        one.work()  # and never answers
        start = time.monotonic()
        assert of_folder(daemon, photos, epochs=1) == whole
        assert time.monotonic() - start < WAIT_S / 2


def test_readers_that_come_and_go_leave_a_producer_its_tray(daemon, tmp_path, maker):
    """What was under way for each of them gives its part of the tray back. Photographs that take a
    worker some time, so that records wait for one."""
    made.make(tmp_path, count=60, size=(400, 300))
    files = [path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    one = maker()
    one.files = files
    one.serve()
    for seed in range(100):
        with daemon.connect() as peer:
            assert peer.attach("", **wish(files, order_seed=seed)).name == "attached"
            time.sleep(seed % 20 * 0.001)
    assert len(read(daemon, files)) == 60
    one.close()
    daemon.settle()


def test_what_producers_do_is_listed(daemon, files, maker):
    one = maker()
    (row,) = daemon.list("producers")
    assert {key: row[key] for key in ("pid", "uid", "code", "identity", "place", "state", "lent")} \
        == {"pid": os.getpid(), "uid": os.getuid(), "code": "test", "identity": CODE,
            "place": "-", "state": "idle", "lent": 0}
    assert "sample" not in row and row["memory"] > 1 << 20 and row["cpu_s"] > 0
    with daemon.connect() as peer:
        assert peer.attach("", **wish(files, batch_size=1)).name == "attached"
        work = one.work()
        (row,) = daemon.list("producers")
        assert (row["state"], row["place"]) == ("working", "source")
        assert row["sample"] == work["samples"][0][0]
        assert row["lent"] >= len(work["samples"]) and row["since_s"] >= 0
        one.make(work)
        work = one.work()
        others = one.place(work)[1:]  # on a slow machine the second group has several
        one.send("failed", group=work["group"], sample=0, text="no")
        if others:
            one.send("made", group=work["group"], samples=others)
        one.serve()
        assert len(all_of(peer)[1]) == 1
    (row,) = daemon.list("producers")
    assert (row["made"], row["failed"], row["state"]) == (59, 1, "idle") and row["sample_ms"] > 0
    assert json.loads(daemon.ctl("--json", "producers").stdout)["producers"][0]["made"] == 59
    title, line = daemon.ctl("producers").stdout.splitlines()
    assert title.split()[:4] == ["PRODUCER", "PID", "UID", "CODE"] and "test" in line
    status = daemon.status()
    assert (status["producers"], status["produced_total"], status["produced_failed_total"]) == \
        (1, 59, 1)


def test_readers_say_that_they_wait_for_the_users_code(daemon, files, maker):
    def limit():
        return daemon.list("readers")[0]["limited_by"]

    def read_on():
        with contextlib.suppress(OSError, AssertionError):
            while True:
                message = peer.expect("batch", 60)
                peer.release(message)
    with daemon.connect() as peer:
        assert peer.attach("", **wish(files, batch_size=1, epochs=0)).name == "attached"
        wait_for(lambda: limit() == "no producer", "no producer is said")
        with maker() as one:
            place = one.place
            one.place = lambda work: time.sleep(0.1) or place(work)
            one.serve()  # samples come to it in any order
            thread = threading.Thread(target=read_on)
            thread.start()
            wait_for(lambda: limit() == "user code", "the user's code is said")
        wait_for(lambda: limit() == "no producer", "no producer is said again")
        peer.socket.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_producer_has_the_deadline_and_the_niceness_of_the_daemon(spawn, files):
    """One that is late for a sample loses it to another; its first may take ten times as long."""
    daemon = spawn(producer_deadline="200ms", nice=7)
    with Maker(daemon, files) as late, daemon.connect() as peer:
        assert (late.answer.fields["deadline_ms"], late.answer.fields["nice"]) == (200, 7)
        assert peer.attach("", **wish(files)).name == "attached"
        late.make(late.work())
        while True:
            message = late.receive()
            if message is None or message.name == "error":
                break
        assert message and message.fields["name"] == "timeout"
        assert "longer than 0.2 s for a sample (producer-deadline)" in message.fields["text"]
        assert daemon.status()["producers_lost_total"] == 1
        with Maker(daemon, files) as other:
            daemon.set("producer-deadline", "60s")
            other.serve()
            assert len(peer.digests()) == 60


def test_a_producer_may_have_a_deadline_of_its_own(spawn, files):
    daemon = spawn(producer_deadline="60s")
    with Maker(daemon, files, deadline_ms=100) as late, daemon.connect() as peer:
        assert late.answer.fields["deadline_ms"] == 100
        assert peer.attach("", **wish(files)).name == "attached"
        late.make(late.work())
        while True:
            message = late.receive()
            if message is None or message.name == "error":
                break
        assert message and message.fields["name"] == "timeout"
        assert "longer than 0.1 s for a sample" in message.fields["text"]
        with Maker(daemon, files) as other:
            assert other.answer.fields["deadline_ms"] == 60000
            other.serve()
            assert len(peer.digests()) == 60


def counts(daemon):
    """Samples that producers made, those a second time, and those that came out otherwise."""
    rows = daemon.list("producers")
    return [sum(row[key] for row in rows) for key in ("made", "checked", "differing")]


def test_samples_are_made_twice_by_two_producers(daemon, files):
    """All of them: each comes once and equal, and each producer sees each sample."""
    with Maker(daemon, files, check=1000000) as one, Maker(daemon, files) as other:
        one.serve()
        other.serve()
        with daemon.connect() as peer:
            assert peer.attach("", **wish(files)).name == "attached"
            good = []
            while (message := peer.receive()).name != "end":
                assert message.name == "batch" and message.fields.get("exact", True)
                good.append(message.fields["position"])
                peer.release(message)
        assert good == list(range(0, 60, 4))
        assert counts(daemon) == [120, 60, 0]
        assert sorted(one.made) == sorted(other.made) == list(range(60))


def test_one_producer_makes_them_twice_itself(daemon, files):
    with Maker(daemon, files, check=1000000) as one:
        one.serve()
        assert len(read(daemon, files)) == 60
        assert sorted(one.made) == sorted(2 * list(range(60)))


def test_which_samples_are_made_twice_follows_from_the_seed(spawn, files):
    """And not from the number of producers, or how often the daemon began."""
    seen = []
    for count in (1, 2):
        daemon = spawn()
        with contextlib.ExitStack() as stack:
            makers = [stack.enter_context(Maker(daemon, files, check=200000)).serve()
                      for _ in range(count)]
            read(daemon, files)
            made = sum((maker.made for maker in makers), [])
        seen.append(sorted(index for index in range(60) if made.count(index) == 2))
        assert len(made) == 60 + len(seen[-1])
    assert seen[0] == seen[1] and 3 <= len(seen[0]) <= 25


def test_code_that_gives_other_bytes_is_served_and_not_shared(daemon, files):
    """Its readers are told, also one that comes later, which has a stream of its own."""
    wanted = wish(files, epochs=1)
    wanted["dataset"]["pure"] = "no"
    with Maker(daemon, files, check=1000000) as one, \
            Maker(daemon, files[1:] + files[:1]) as other:
        one.serve()
        other.serve()
        streams = []
        with daemon.connect() as first, daemon.connect() as second:
            for peer in (first, second):
                answer = peer.attach("", **wanted)
                assert answer.name == "attached"
                streams.append(answer.fields["stream"])
                told = []
                while (message := peer.receive()).name != "end":
                    assert message.name == "batch"
                    told.append((message.fields.get("exact", True),
                                 message.fields.get("differing", 0)))
                    peer.release(message)
                assert len(told) == 15 and not told[-1][0] and 0 <= told[-1][1] < 60
                assert (True, 0) not in told[told.index(told[-1]):]
            assert told[0] == told[-1]  # the second is told at once
        assert streams[0] != streams[1]
        made, checked, differing = counts(daemon)
        assert made == 2 * checked == 2 * differing == 240


def test_a_second_making_that_fails_says_nothing(daemon, files):
    """The sample is the first one's, and good."""
    wanted = wish(files, epochs=1)
    with Maker(daemon, files, check=1000000) as one, daemon.connect() as peer:
        assert peer.attach("", **wanted).name == "attached"
        seen = set()

        def loop():
            with contextlib.suppress(OSError, AssertionError, TimeoutError):
                while True:
                    work = one.work(60)
                    again = [index in seen for index, _, _ in work["samples"]]
                    seen.update(index for index, _, _ in work["samples"])
                    for record, second in zip(one.place(work), again):
                        if second:
                            one.send("failed", group=work["group"], sample=record[0], text="no")
                        else:
                            one.send("made", group=work["group"], samples=[record])
        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        good, bad = all_of(peer)
        assert good == list(range(0, 60, 4)) and not bad
        assert counts(daemon) == [60, 0, 0]


def test_a_producer_that_detaches_has_lost_nothing(daemon, files):
    """What it had is made by another, and is no failure: what fails twice is bad."""
    with daemon.connect() as peer:
        assert peer.attach("", **wish(files)).name == "attached"
        for _ in range(3):
            with Maker(daemon, files) as one:
                one.work()
                one.send("detach", seq=9)
                while (message := one.receive()).name == "work":
                    pass
                assert (message.name, message.fields["seq"]) == ("ok", 9)
                assert daemon.status()["producers"] == 0
        with Maker(daemon, files) as other:
            other.serve()
            assert len(peer.digests()) == 60
    assert daemon.status()["producers_lost_total"] == 0
    daemon.settle()


def test_nothing_is_left_of_samples_that_nobody_wants(daemon, files, maker):
    one = maker()
    with daemon.connect() as peer:
        assert peer.attach("", **wish(files)).name == "attached"
        work = one.work()
    one.make(work)
    one.close()
    daemon.settle()


def test_nothing_is_left_of_samples_that_nobody_wants_and_nobody_makes(spawn, files):
    """The reader leaves, then the producer, which had them; and the daemon ends."""
    daemon = spawn()
    with Maker(daemon, files) as one:
        with daemon.connect() as peer:
            assert peer.attach("", **wish(files)).name == "attached"
            one.work()
    daemon.settle()
    with Maker(daemon, files) as one, daemon.connect() as peer:
        assert peer.attach("", **wish(files)).name == "attached"
        one.work()
        daemon.terminate()


ARRAYS = "array0:uint16:2x3 array1:int32: array2:float64:2"


def wish_arrays(files, **fields):
    wished = wish(files, **fields)
    del wished["transforms"]
    return {**wished, "dataset": {**wished["dataset"], "arrays": ARRAYS}}


class ArrayMaker(Maker):
    """Its records have 12 + 4 + 16 bytes."""

    def place(self, work):
        at, out = work["offset"], []
        for place, (index, _, position) in enumerate(work["samples"]):
            record = struct.pack("=6Hi2d", *range(index, index + 6), -index, position, 0.5)
            self.tray[at:at + len(record)] = record
            out.append([place, at, len(record)])
            at += len(record)
        return out


def test_arrays_of_a_record_are_fields_of_the_ring(daemon, files):
    with ArrayMaker(daemon, files) as one, daemon.connect() as peer:
        one.serve()
        assert peer.attach("", **wish_arrays(files)).name == "attached"
        assert {name: (array.dtype.name, array.shape[1:])
                for name, array in peer.ring.fields.items()} == {
                    "image": ("uint16", (2, 3)), "label": ("int32", ()), "index": ("int64", ()),
                    "array2": ("float64", (2,))}
        count = 0
        for _, position, got in peer.samples(("image", "label", "index", "array2")):
            index = int(got["index"])
            assert got["image"].ravel().tolist() == list(range(index, index + 6))
            assert got["label"] == -index and got["array2"].tolist() == [position, 0.5]
            count += 1
        assert count == 60


def test_arrays_are_made_for_each_position(daemon, files):
    """Also of a sample that is echoed, and where another stream reads the same order."""
    with ArrayMaker(daemon, files) as one, daemon.connect() as peer, daemon.connect() as other:
        one.serve()
        for reader, seed in ((peer, 1), (other, 2)):
            assert reader.attach("", **wish_arrays(files, echo=2, echo_window=8, augment_seed=seed,
                                                   batch_size=1)).name == "attached"
        for reader in (peer, other):
            found = [(position, int(got["index"]), got["array2"][0], int(got["image"][0, 0]))
                     for _, position, got in reader.samples(("image", "index", "array2"))]
            assert [place for place, _, _, _ in found] == [place for _, _, place, _ in found]
            assert all(index == first for _, index, _, first in found) and len(found) == 120


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_record_of_another_size_than_its_arrays_is_bad(daemon, files, size):
    with ArrayMaker(daemon, files) as one, daemon.connect() as peer:
        assert peer.attach("", **wish_arrays(files, batch_size=1)).name == "attached"
        work = one.work()
        one.send("made", group=work["group"], samples=[[0, work["offset"], size]])
        one.serve()
        good, (bad,) = all_of(peer)
    assert bad["name"] == "sample_user" and len(good) == 59
    assert bad["text"] == f"a record of {size} bytes, and its arrays have 32: give as many"


@pytest.mark.parametrize("arrays", [
    "x", "x:uint8", ":uint8:3", "x:float31:3", "x:uint8:3x", "x:uint8:x3", "x:uint8:0",
    "x:uint8:-3",
    "x:uint8:" + "x".join("1" * 33), "x:uint8:4294967296", "x:uint8:999999999x999999999", "  ",
    "y" * 64 + ":uint8:3", " ".join(["x:uint8:1"] * 128),
    "x:uint8:?", "x:uint8:?@", "x:uint8:?@0", "x:uint8:?@-1", "x:uint8:?x@4", "x:uint8:??@4",
    "x:uint8:3@4", "x:uint8:@4", "x:uint8:?@4x", "x:text:3", "x:text:?x?@9", "x:text:",
    "x:uint8:?@99999999999999"])
def test_arrays_that_cannot_be(daemon, files, arrays):
    wished = wish_arrays(files)
    with daemon.connect() as peer:
        answer = peer.attach("", **{**wished, "dataset": {**wished["dataset"], "arrays": arrays}})
        assert answer.name == "error" and answer.fields["name"] == "dataset", answer
        assert "'arrays'" in answer.fields["text"]


def test_what_a_reader_must_say(daemon, files):
    with daemon.connect() as peer:
        answer = peer.attach("", **wish(files, secret=b"short"))
        assert answer.name == "error" and "secret must be 16 bytes" in answer.fields["text"]
    for key, value, words in (("samples", "0", "'samples' must be a number from 1 to"),
                              ("classes", "0", "'classes' must be a number from 1 to 65536"),
                              ("samples", "many", "'samples' must be a number"),
                              ("code", "x" * 65, "at most 64 bytes"),
                              ("path", "/data", "code:NAME")):
        with daemon.connect() as peer:
            fields = wish(files)
            fields["dataset"] = {**fields["dataset"], key: value}
            answer = peer.attach("", **fields)
            assert answer.name == "error" and words in answer.fields["text"], answer


# Ragged arrays, and headers of version 2


RAGGED = "array0:float32:?x4@64 array1:text:?@70 array2:int16:3"


def wish_ragged(files, arrays=RAGGED, **fields):
    wished = wish_arrays(files, **fields)
    return {**wished, "page": 2, "dataset": {**wished["dataset"], "arrays": arrays}}


def ragged_record(index):
    rows, text = index % 5, b"a" * (index % 7)
    return struct.pack(f"=2Q{4 * rows}fQ", rows, 4, *range(4 * rows), len(text)) + text + \
        struct.pack("=3h", index, 1, 2)


class RaggedMaker(Maker):
    """`wrong`: the record of sample 5."""

    def __init__(self, *args, wrong=None):
        super().__init__(*args)
        self.wrong = wrong

    def place(self, work):
        at, out = work["offset"], []
        for place, (index, _, _) in enumerate(work["samples"]):
            record = self.wrong if index == 5 and self.wrong is not None else ragged_record(index)
            self.tray[at:at + len(record)] = record
            out.append([place, at, len(record)])
            at += len(record)
        return out


def ragged_of(slot, dims, item):
    shape = struct.unpack(f"={dims}Q", slot[:8 * dims])
    size = item
    for edge in shape:
        size *= edge
    return shape, slot[16:16 + size]


def test_each_sample_has_its_own_shape(daemon, files):
    with RaggedMaker(daemon, files) as one, daemon.connect() as peer:
        one.serve()
        assert peer.attach("", **wish_ragged(files)).name == "attached"
        assert peer.ring.version == 2
        assert peer.ring.ragged == {"image": ("float32", (0, 4)), "label": ("text", (0,))}
        for _, _, got in peer.samples(("image", "label", "index", "array2")):
            index = int(got["index"])
            rows, text = index % 5, b"a" * (index % 7)
            assert ragged_of(got["image"].tobytes(), 2, 4) == (
                (rows, 4), struct.pack(f"={4 * rows}f", *range(4 * rows)))
            assert ragged_of(got["label"].tobytes(), 1, 1) == ((len(text),), text)
            assert got["array2"].tolist() == [index, 1, 2]


def test_an_older_client_is_told_what_it_cannot_read(daemon, files):
    many = " ".join(f"array{i}:uint8:" for i in range(16))
    for arrays in (RAGGED, many, "x:uint8:1x1x1x1x1x1x1", "y" * 16 + ":uint8: z:uint8:"):
        wished = wish_ragged(files, arrays)
        del wished["page"]
        if arrays.startswith("yy"):  # the first two have names that are given
            wished["dataset"]["arrays"] = f"a:uint8: b:uint8: {arrays}"
        with daemon.connect() as peer:
            answer = peer.attach("", **wished)
            assert answer.name == "error" and answer.fields["name"] == "argument", answer
            assert "version 2 of a ring's header" in answer.fields["text"]


def test_what_version_1_can_say_it_says(daemon, files):
    with ArrayMaker(daemon, files), daemon.connect() as peer:
        assert peer.attach("", **wish_arrays(files), page=2).name == "attached"
        assert peer.ring.version == 1


@pytest.mark.parametrize("record, words", [
    (b"", "ends in the shape of image"),
    (struct.pack("=Q", 1), "ends in the shape of image"),
    (struct.pack("=2Q", 2 ** 64 - 1, 4), "ends in the numbers of image"),
    (struct.pack("=2Q", 2 ** 60, 4), "ends in the numbers of image"),
    (struct.pack("=2Q4f", 2, 4, 0, 0, 0, 0), "ends in the numbers of image"),
    (struct.pack("=2Q", 0, 3), "image: dimension 1 of the sample has 3, and all samples have 4"),
    (struct.pack("=2Q", 0, 4), "ends in the shape of label"),
    (struct.pack("=2QQ", 0, 4, 3) + b"ab", "ends in the numbers of label"),
    (struct.pack("=2QQ", 0, 4, 0), "whose array array2 has 0 bytes, and it needs 6"),
    (ragged_record(5) + b"x", "a record of 36 bytes, and its arrays have 35"),
])
def test_a_ragged_record_that_is_wrong_is_bad(daemon, files, record, words):
    with RaggedMaker(daemon, files, wrong=record) as one, daemon.connect() as peer:
        one.serve()
        assert peer.attach("", **wish_ragged(files, batch_size=1)).name == "attached"
        good, (bad,) = all_of(peer)
    assert bad["name"] == "sample_user" and bad["sample"] == 5 and len(good) == 59
    assert words in bad["text"], bad["text"]


@pytest.mark.parametrize("policy", ["error", "substitute"])
def test_a_sample_without_room_says_what_it_needs(daemon, files, policy):
    """No neighbour takes its place."""
    record = struct.pack("=2Q", 8, 4) + b"\0" * 128 + struct.pack("=Q3h", 0, 5, 1, 2)
    with RaggedMaker(daemon, files, wrong=record) as one, daemon.connect() as peer:
        one.serve()
        assert peer.attach("", **wish_ragged(files, batch_size=1,
                                             bad_samples=policy)).name == "attached"
        good, (bad,) = all_of(peer)
    assert len(good) == 59 and (bad["name"], bad["sample"]) == ("sample_larger", 5)
    assert (bad["field"], bad["needed"]) == ("image", 128)
