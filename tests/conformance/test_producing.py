# SPDX-License-Identifier: MIT
"""Producers: a client makes the samples that docs/LANGUAGES.md has formulas of, and a raw peer
reads them. Each client reads what a raw producer makes."""

import numpy
import pytest
from harness import wait_for
from program import truth
from test_producers import CODE, SECRET, Maker

COUNT = 30
ARRAYS = "grid:float32:2x3 place:int64: boxes:uint16:?x2@64 caption:text:?@64"
SEED = 9
BEFORE = [{"name": "RandomCrop", "size": [24, 20]}, {"name": "RandomHorizontalFlip"}]
MAPS = {"negative": {"name": "Map", "code": "conformance negative"},
        "sums": {"name": "Map", "code": "conformance sums",
                 "arrays": "place:int64: rows:uint64:?@256"}}


def attach_of(gives, **changed):
    dataset = {"path": "code:formulas", "kind": "code", "code": f"formulas {gives}",
               "samples": str(COUNT), **({"arrays": ARRAYS} if gives == "arrays" else {})}
    transforms = [] if gives == "arrays" else [{"name": "CenterCrop", "size": [6, 8]}]
    return {"dataset": dataset, "transforms": transforms, "secret": SECRET.decode(),
            "augment_seed": SEED, "batch_size": 4, "epochs": 2, "dtype": "uint8",
            "layout": "NHWC", **changed}


def picture(index, gives):
    channels = 1 if gives == "file" else 3
    pixels = (31 * index + numpy.arange(48 * channels)).astype(numpy.uint8)
    return numpy.broadcast_to(pixels.reshape(6, 8, channels), (6, 8, 3))


def ragged(slot, dtype, dims):
    """The numbers of a slot that the harness gives as bytes, and their shape."""
    shape = slot[:8 * dims].view(numpy.uint64)
    size = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
    return slot[16:16 + size].tobytes(), shape.tolist()


def check_arrays(index, epoch, position, arrays):
    grid = (index + numpy.arange(6) / 2).astype(numpy.float32).reshape(2, 3)
    assert (arrays["image"] == grid).all()
    assert int(arrays["label"]) == SEED + 1000 * epoch + position
    boxes = (index + numpy.arange(2 * (index % 3))).astype(numpy.uint16)
    assert ragged(arrays["boxes"], numpy.uint16, 2) == (boxes.tobytes(), [index % 3, 2])
    words = f"sample {index}".encode()
    assert ragged(arrays["caption"], numpy.uint8, 1) == (words, [len(words)])


def check(gives, epoch, position, arrays):
    """A sample against its formula; its index."""
    index = int(arrays["index"])
    if gives == "arrays":
        check_arrays(index, epoch, position, arrays)
    else:
        assert (arrays["image"] == picture(index, gives)).all()
        assert int(arrays["label"]) == index % 7
    return index


def samples(peer, gives):
    return [check(gives, *sample) for sample in peer.samples(keep=())]


def attached(daemon, gives, **changed):
    peer = daemon.connect()
    answer = peer.attach("", page=2, **attach_of(gives, **changed))
    assert answer.name == "attached", answer
    return peer


@pytest.fixture(name="producer")
def fixture_producer(client):
    """A function that starts producers of a client in one program."""
    client.needs("produce")
    return lambda daemon, gives, count=1, **wish: client.start(
        daemon.socket, attach_of(gives), produce={"gives": gives, "count": count, **wish})


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("gives", ["file", "picture", "arrays"])
def test_samples(daemon, producer, gives, count):
    running = producer(daemon, gives, count)
    with attached(daemon, gives) as peer:
        assert sorted(samples(peer, gives)) == sorted(2 * list(range(COUNT))), running.words()
    running.stop()


def bad_of(peer):
    """Until END: how many samples came, and what is said of bad ones."""
    good, bad = 0, []
    while (message := peer.receive()).name != "end":
        if message.name == "batch":
            good += message.fields["count"]
            peer.release(message)
        elif message.name == "bad_sample":
            bad.append(message.fields)
    return good, bad


@pytest.mark.parametrize("fault, gives, words", [
    ("fails", "file", "no luck with 5"), ("fails", "arrays", "no luck with 5"),
    ("wrong", "arrays", "")])
def test_bad_sample(daemon, producer, fault, gives, words):
    """Code that fails and an array of a wrong shape: that sample is bad, and the next ones come."""
    running = producer(daemon, gives, **{fault: 5})
    with attached(daemon, gives, batch_size=1, epochs=1) as peer:
        good, (bad,) = bad_of(peer)
    assert good == COUNT - 1
    assert (bad["name"], bad["sample"]) == ("sample_user", 5) and words in bad["text"], bad
    running.stop()


def test_killed(daemon, producer):
    """It costs no sample."""
    one, other = producer(daemon, "arrays"), producer(daemon, "arrays")
    with attached(daemon, "arrays", epochs=3) as peer:
        first = peer.expect("batch")
        peer.release(first)
        one.stop()
        rest = samples(peer, "arrays")
    assert len(rest) == 3 * COUNT - first.fields["count"], other.words()
    other.stop()


def producers(daemon):
    return len(daemon.list("producers"))


def map_of(photos, gives):
    """Of photographs, with a Map; `gives` None: without."""
    own = [MAPS[gives]] if gives else []
    return {**attach_of(""), "dataset": {"path": str(photos)}, "transforms": BEFORE + own}


@pytest.fixture(name="mapper")
def fixture_mapper(client, daemon, photos):
    """A function that starts producers of a Map."""
    client.needs("map")
    return lambda gives, count=1, **wish: client.start(
        daemon.socket, map_of(photos, gives), produce={"gives": gives, "count": count, **wish})


def map_reader(daemon, photos, gives, **changed):
    peer = daemon.connect()
    answer = peer.attach("", page=2, **{**map_of(photos, gives), **changed})
    assert answer.name == "attached", answer
    return peer


@pytest.fixture(scope="module", name="pictures")
def fixture_pictures(daemon, photos):
    """By epoch and position: what the Map gets, and the label."""
    with map_reader(daemon, photos, None) as peer:
        return {(epoch, position): (arrays["image"].copy(), int(arrays["label"]))
                for epoch, position, arrays in peer.samples(keep=("image", "label"))}


def check_mapped(peer, gives, pictures):
    """The rest of a stream, sample by sample; how many these are."""
    count = 0
    for epoch, position, arrays in peer.samples(keep=()):
        count += 1
        picture, label = pictures[epoch, position]
        assert int(arrays["label"]) == label
        if gives == "negative":
            assert (arrays["image"] == 255 - picture).all()
            continue
        assert int(arrays["image"]) == SEED + 1000 * epoch + position
        sums = picture.sum(axis=(1, 2), dtype=numpy.uint64)
        assert ragged(arrays["rows"], numpy.uint64, 1) == (sums.tobytes(), [len(sums)])
    return count


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("gives", MAPS)
def test_map(daemon, photos, pictures, mapper, gives, count):
    """The code gets what is before it, and gives a picture or arrays; labels are the dataset's."""
    running = mapper(gives, count)
    with map_reader(daemon, photos, gives) as peer:
        assert check_mapped(peer, gives, pictures) == len(pictures) == 120, running.words()
    running.stop()


@pytest.mark.parametrize("fault, gives, words", [
    ("fails", "negative", "no luck with 5"), ("fails", "sums", "no luck with 5"),
    ("wrong", "sums", "")])
def test_bad_sample_of_a_map(daemon, photos, mapper, fault, gives, words):
    running = mapper(gives, **{fault: 5})
    with map_reader(daemon, photos, gives, batch_size=1, epochs=1) as peer:
        good, (bad,) = bad_of(peer)
    assert good == 59
    assert (bad["name"], bad["sample"]) == ("sample_user", 5) and words in bad["text"], bad
    running.stop()


def test_killed_at_a_map(daemon, photos, pictures, mapper):
    one, other = mapper("sums"), mapper("sums")
    with map_reader(daemon, photos, "sums") as peer:
        first = peer.expect("batch")
        peer.release(first)
        one.stop()
        rest = check_mapped(peer, "sums", pictures)
    assert rest == len(pictures) - first.fields["count"], other.words()
    other.stop()


def test_leaves(client, daemon, producer):
    """With its program, and what it had is made by another."""
    client.needs("staying")
    one = producer(daemon, "file", 2)
    wait_for(lambda: producers(daemon) == 2, "two producers")
    one.finish()
    assert one.said("left")
    wait_for(lambda: producers(daemon) == 0, "none")


def test_another_daemon(client, producer, spawn):
    """It waits for one that comes back."""
    client.needs("staying")
    daemon = spawn()
    running = producer(daemon, "picture", 2)
    for _ in range(2):
        with attached(daemon, "picture", epochs=1) as peer:
            assert sorted(samples(peer, "picture")) == list(range(COUNT)), running.words()
        daemon.kill()
        daemon.spawn()
    running.finish()


def test_refused(client, daemon, producer):
    """Options that no producer has."""
    client.needs("staying")
    attach = attach_of("file")
    for wrong in ({"secret": "short"}, {"dataset": {**attach["dataset"], "code": "c" * 65}}):
        client.start(daemon.socket, {**attach, **wrong}, produce={"gives": "file"}).fails("option")


def test_reader(client, daemon):
    """A reader of the same code and secret."""
    client.needs("secret")
    files = [b"P5\n8 6\n255\n" + picture(index, "file")[..., 0].tobytes() for index in range(COUNT)]
    attach = attach_of("file")
    attach["dataset"]["code"] = CODE
    with Maker(daemon, files) as maker:
        maker.serve()
        assert client.run(daemon.socket, attach).batches == truth(daemon, attach)[2]
