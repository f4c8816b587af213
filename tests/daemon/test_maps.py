# SPDX-License-Identifier: MIT
"""Map, from outside: the user's code amid the transforms. The producers are raw peers."""

import contextlib
import random
import socket
import threading

import numpy as np
import pytest

from test_law import STREAM
from test_producers import CODE, SECRET, Maker, all_of
import photos as made  # noqa: E402 (conftest.py has put its folder into the path)

BEFORE = [{"name": "RandomCrop", "size": [24, 20]}, {"name": "RandomHorizontalFlip"}]
MAP = {"name": "Map", "code": CODE}


class Mapper(Maker):
    """A producer for a Map. `change`: what it makes of a picture."""

    def __init__(self, daemon, change=lambda picture: 255 - picture, **more):
        super().__init__(daemon, None, **more)
        self.change, self.seen = change, []

    def place(self, work):
        at, out = work["offset"], []
        for place, (index, epoch, position, offset, height, width) in enumerate(work["samples"]):
            picture = np.frombuffer(self.tray, np.uint8, height * width * 3, offset)
            answer = self.change(picture.reshape(height, width, 3))
            self.seen.append((index, epoch, position, height, width))
            record = answer if isinstance(answer, bytes) else pnm(answer)
            self.tray[at:at + len(record)] = record
            out.append([place, at, len(record)])
            at += len(record)
        return out


def pnm(picture):
    kind = 5 if picture.ndim == 2 else 6
    return b"P%d\n%d %d\n255\n" % (kind, *picture.shape[1::-1]) + picture.tobytes()


def wish(transforms, **fields):
    return {**STREAM, "dtype": "uint8", "layout": "NHWC", "secret": SECRET,
            "transforms": transforms, **fields}


def read(daemon, photos, transforms, **fields):
    with daemon.connect() as peer:
        answer = peer.attach(photos, **wish(transforms, **fields))
        assert answer.name == "attached", answer
        return {(epoch, position): (arrays["image"].copy(), int(arrays["label"]),
                                    int(arrays["index"]))
                for epoch, position, arrays in peer.samples()}


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_code_gets_what_is_before_it_and_what_is_behind_goes_on(daemon, photos, count):
    mappers = [Mapper(daemon).serve() for _ in range(count)]
    want = read(daemon, photos, BEFORE, epochs=2)
    got = read(daemon, photos, [*BEFORE, MAP], epochs=2)
    cut = read(daemon, photos, [*BEFORE, MAP, {"name": "CenterCrop", "size": [10, 12]}])
    for mapper in mappers:
        mapper.close()
    assert len(got) == len(want) == 120 and len(cut) == 60
    for at, (image, label, index) in want.items():
        assert (got[at][0] == 255 - image).all() and got[at][1:] == (label, index)
        if at in cut:  # torchvision's CenterCrop of 24 x 20: from (7, 4) on
            assert (cut[at][0] == 255 - image[7:17, 4:16]).all()
    seen = [one for mapper in mappers for one in mapper.seen]
    assert {place[3:] for place in seen} == {(24, 20)}
    assert sorted(place[1:3] for place in seen if place[1])[:60] == [
        (1, position) for position in range(60)]


def test_draws_behind_it_are_not_those_before_it(daemon, photos):
    """A flip behind a Map that changes nothing: else both flips would be one, or none."""
    flip = {"name": "RandomHorizontalFlip"}
    crop = {"name": "CenterCrop", "size": [24, 20]}
    with Mapper(daemon, lambda picture: picture).serve():
        want = read(daemon, photos, [crop])
        got = read(daemon, photos, [crop, flip, MAP, flip])
    turned = [(got[at][0] == want[at][0][:, ::-1]).all() for at in want]
    assert any(turned) and not all(turned)


def test_numbers_are_normalised_behind_it(daemon, photos):
    half = {"mean": [0.5] * 3, "std": [0.25] * 3}
    with Mapper(daemon).serve():
        want = read(daemon, photos, BEFORE)
        got = read(daemon, photos, [*BEFORE, MAP, {"name": "ToTensor"},
                                    {"name": "Normalize", **half}], dtype="float32", layout="NCHW")
    for at, (image, _, _) in want.items():
        numbers = ((255 - image).astype(np.float32) / np.float32(255) - np.float32(0.5)) / \
            np.float32(0.25)
        assert np.abs(got[at][0] - numbers.transpose(2, 0, 1)).max() < 1e-6


def test_arrays_are_fields(daemon, photos):
    """The first is the image; the label stays the dataset's."""
    def change(picture):
        return picture.astype(np.float32).tobytes() + picture.sum(dtype=np.int64).tobytes()
    arrays = "a:float32:24x20x3 total:int64:"
    with Mapper(daemon, change).serve(), daemon.connect() as peer:
        want = read(daemon, photos, BEFORE)
        answer = peer.attach(photos, **wish([*BEFORE, {**MAP, "arrays": arrays}]))
        assert answer.name == "attached", answer
        for epoch, position, found in peer.samples(keep=("image", "label", "index", "total")):
            image, label, index = want[epoch, position]
            assert found["image"].dtype == np.float32 and (found["image"] == image).all()
            assert found["total"] == image.sum()
            assert (found["label"], found["index"]) == (label, index)


def test_echoes_have_draws_of_their_own(daemon, photos):
    with Mapper(daemon).serve():
        want = read(daemon, photos, BEFORE, echo=2, echo_window=8)
        got = read(daemon, photos, [*BEFORE, MAP], echo=2, echo_window=8)
    assert len(want) == 120
    assert all((got[at][0] == 255 - want[at][0]).all() for at in want)


def test_five_crops_are_made_of_one_answer(daemon, photos):
    five = {"name": "FiveCrop", "size": 8}
    with Mapper(daemon).serve() as mapper:
        want = read(daemon, photos, [*BEFORE, five])
        got = read(daemon, photos, [*BEFORE, MAP, five])
        assert all((got[at][0] == 255 - want[at][0]).all() for at in want)
        assert len(mapper.seen) == 60


WRONG = {
    "nothing": b"",
    "no picture": b"GIF89a and more",
    "cut short": b"P6\n20 24\n255\n",
    "no size": b"P6\n0 24\n255\n",
    "another size": pnm(np.zeros((24, 21, 3), np.uint8)),
    "far too large": b"P6\n99999 99999\n255\n",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_answer_is_one_bad_sample(daemon, photos, wrong):
    first = threading.Event()

    def change(picture):
        if first.is_set():
            return picture
        first.set()
        return WRONG[wrong]
    with Mapper(daemon, change).serve(), daemon.connect() as peer:
        assert peer.attach(photos, **wish([*BEFORE, MAP], batch_size=1,
                                          shuffle=False)).name == "attached"
        good, bad = all_of(peer)
    assert len(good) == 59 and len(bad) == 1


def test_a_tray_that_changes_while_it_is_read(daemon, photos):
    """Whatever the daemon sees, it is that sample's bytes or one bad sample."""
    stop = threading.Event()
    with Mapper(daemon) as mapper:
        def scribble():
            noise = np.random.default_rng(1)
            while not stop.is_set():
                at = int(noise.integers(0, len(mapper.tray) - 64))
                mapper.tray[at % 8192:at % 8192 + 64] = noise.bytes(64)
        thread = threading.Thread(target=scribble)
        thread.start()
        try:
            mapper.serve()
            with daemon.connect() as peer:
                assert peer.attach(photos, **wish([*BEFORE, MAP], batch_size=1,
                                                  epochs=3)).name == "attached"
                good, bad = all_of(peer)
        finally:
            stop.set()
            thread.join()
    assert len(good) + len(bad) == 180


def hostile(mapper, work, draw):
    """Say something that may be wrong in any way; what the tray has is noise."""
    def number():
        return draw.choice([0, 1, 2, 31, 32, work["offset"], work["bytes"], work["offset"] - 1,
                            2**31, 2**32, 2**63, 2**64 - 1, draw.randrange(1 << 24)])

    def entry():
        return [number() if draw.random() < 0.5 else good for good in
                [draw.randrange(len(work["samples"])), work["offset"], draw.randrange(4096)]]
    at = draw.randrange(work["offset"], work["offset"] + 4096)
    mapper.tray[at:at + 64] = draw.randbytes(64)
    head = draw.choice([b"P6\n20 24\n255\n", b"P5\n1 1\n255\n", b"P6\n20 99999999\n255\n",
                        b"P6 # \n", b"P3\n1 1\n1\n", b"\xff\xd8\xff"])
    mapper.tray[work["offset"]:work["offset"] + len(head)] = head
    group = work["group"] if draw.random() < 0.9 else number()
    if draw.random() < 0.3:
        mapper.send("failed", group=group, sample=draw.randrange(40), text="x" * draw.randrange(99),
                    needed=number())
    else:
        wrong = draw.choice([3, None, [], ["a"], [[1]], [[0, -1, 5]], [[]], {"a": 1}])
        mapper.send("made", group=group, samples=wrong if draw.random() < 0.2 else
                    [entry() for _ in range(draw.randrange(1, 4))])


def test_whatever_producers_say_others_are_served(daemon, photos):
    """Samples may be bad; the daemon stays, and so does another stream."""
    draw = random.Random(7)
    with Mapper(daemon).serve():
        whole = read(daemon, photos, [*BEFORE, MAP])
    with daemon.connect() as peer:
        assert peer.attach(photos, **wish([*BEFORE, MAP], batch_size=1, epochs=0)
                           ).name == "attached"
        def read_on():
            with contextlib.suppress(OSError, AssertionError, AttributeError):
                all_of(peer)
        thread = threading.Thread(target=read_on)
        thread.start()
        for _ in range(60):
            with Mapper(daemon) as mapper, contextlib.suppress(OSError, AssertionError):
                for _ in range(20):
                    hostile(mapper, mapper.work(0.2), draw)
        peer.socket.shutdown(socket.SHUT_RDWR)
        thread.join()
    other = {**MAP, "code": "another"}
    with Mapper(daemon, code="another").serve():
        again = read(daemon, photos, [*BEFORE, other])
    assert all((again[at][0] == whole[at][0]).all() for at in whole) and len(again) == 60
    daemon.settle()


def test_a_whole_photograph_has_a_larger_tray(daemon, tmp_path):
    made.make(tmp_path, count=2, size=(2600, 2000))
    crop = {"name": "CenterCrop", "size": [24, 20]}
    with Mapper(daemon) as mapper:
        before = len(mapper.tray)
        mapper.serve()
        want = read(daemon, tmp_path, [crop])
        got = read(daemon, tmp_path, [MAP, crop])
        assert len(mapper.tray) > before
        assert {place[3:] for place in mapper.seen} == {(2000, 2600)}
    assert all((got[at][0] == 255 - want[at][0]).all() for at in want) and len(want) == 2


def test_a_photograph_beyond_what_the_user_may_have_is_a_bad_sample(spawn, tmp_path):
    made.make(tmp_path, count=1, size=(3000, 3000))
    daemon = spawn(ring_memory="32M")
    crop = {"name": "CenterCrop", "size": [24, 20]}
    with Mapper(daemon).serve(), daemon.connect() as peer:
        assert peer.attach(tmp_path, **wish([MAP, crop], batch_size=1)).name == "attached"
        good, (bad,) = all_of(peer)
    assert not good and bad["name"] == "sample_limit"
    assert bad["text"].startswith("a picture of 3000 x 3000 pixels: the tray of its producer would "
                                  "need ") and "ring-memory" in bad["text"]


def test_a_death_costs_nothing(daemon, photos):
    with Mapper(daemon).serve():
        whole = read(daemon, photos, [*BEFORE, MAP])
    with daemon.connect() as peer, Mapper(daemon) as leaving:
        assert peer.attach(photos, **wish([*BEFORE, MAP])).name == "attached"
        leaving.work()
        leaving.close()
        with Mapper(daemon).serve():
            got = {(epoch, position): arrays["image"].copy()
                   for epoch, position, arrays in peer.samples()}
    assert got.keys() == whole.keys()
    assert all((got[at] == whole[at][0]).all() for at in got)


def test_nothing_is_left_of_readers_that_come_and_go(daemon, photos):
    with Mapper(daemon).serve():
        for seed in range(30):
            with daemon.connect() as peer:
                assert peer.attach(photos, **wish([*BEFORE, MAP], order_seed=seed)
                                   ).name == "attached"
        assert len(read(daemon, photos, [*BEFORE, MAP])) == 60
    daemon.settle()


def test_who_waits_is_told(daemon, photos):
    with daemon.connect() as peer:
        assert peer.attach(photos, **wish([*BEFORE, MAP])).name == "attached"
        why = peer.expect("stalled").fields["why"]
        assert why == f"no producer runs the code of Map for {photos}: start one"
        with Mapper(daemon, secret=b"another secret!!") as other:
            with pytest.raises(TimeoutError):
                other.work(0.2)
        with Mapper(daemon).serve():
            assert len(peer.digests()) == 60


def test_another_code_is_another_stream(daemon, photos):
    hashes = set()
    for transforms in ([*BEFORE], [*BEFORE, MAP], [*BEFORE, {**MAP, "code": "another"}],
                       [MAP, *BEFORE]):
        with daemon.connect() as peer:
            hashes.add(peer.attach(photos, **wish(transforms)).fields["pipeline_hash"])
    assert len(hashes) == 4


ARRAYS = {**MAP, "arrays": "a:uint8:3"}
REFUSED = {
    "behind ToTensor": ([*BEFORE, {"name": "ToTensor"}, MAP], {}, "put Map before it"),
    "twice": ([*BEFORE, MAP, MAP], {}, "transforms[3]: Map stands behind another"),
    "within another": ([{"name": "RandomApply", "transforms": [MAP]}, *BEFORE], {},
                       "transforms[0].transforms[0]: Map stands inside of another transform"),
    "no code": ([*BEFORE, {"name": "Map"}], {}, "Map needs 'code'"),
    "an unknown word": ([*BEFORE, {**MAP, "size": 3}], {}, "Map has no parameter 'size'"),
    "a wrong array": ([*BEFORE, {**MAP, "arrays": "a:float31:2"}], {}, "NAME:DTYPE:SHAPE"),
    "behind arrays": ([*BEFORE, ARRAYS, {"name": "ToTensor"}], {}, "which are finished"),
    "one channel": ([*BEFORE, {"name": "Grayscale"}, MAP], {}, "num_output_channels 3"),
    "five crops before it": ([{"name": "FiveCrop", "size": 8}, MAP], {}, "FiveCrop or TenCrop"),
    "views": ([*BEFORE, MAP], {"views": 2}, "views and Map cannot be combined"),
    "no secret": ([*BEFORE, MAP], {"secret": b""}, "secret must be 16 bytes"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_cannot_be_is_refused_in_words(daemon, photos, wrong):
    transforms, fields, words = REFUSED[wrong]
    with daemon.connect() as peer:
        answer = peer.attach(photos, **wish(transforms, **fields))
        assert answer.name == "error" and words in answer.fields["text"], answer
