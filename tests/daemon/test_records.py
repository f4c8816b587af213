# SPDX-License-Identifier: MIT
"""TFRecord files and LMDB: the same samples as a folder of the same pictures, byte for byte, in any
order, and wherever an epoch goes on; a record that is damaged is one bad sample."""

import sys

import pytest

from harness import SOURCE
from test_law import STREAM, digests
from test_shards import listed
from test_storage import files

sys.path.insert(0, str(SOURCE / "tests" / "reference"))
from tfrecord import example, record  # noqa: E402 (it stands in the folder of references)

COUNT = 17  # pictures in a shard


@pytest.fixture(name="records")
def fixture_records(photos, tmp_path):
    """The pattern of shards with the photographs, in the order that the folder has."""
    paths = files(photos)
    for number, at in enumerate(range(0, len(paths), COUNT)):
        with open(tmp_path / f"train.tfrecord-{number:05}-of-00004", "wb") as file:
            for path in paths[at:at + COUNT]:
                file.write(record(example([("image/encoded", [path.read_bytes()]),
                                           ("image/class/label", [path.parent.name.encode()])])))
    return tmp_path / "train.tfrecord-{00000..00003}-of-00004"


def test_the_same_as_the_folder(spawn, photos, records):
    reference = digests(spawn(workers=2), photos)
    for options in {"workers": 1}, {"workers": 3, "index_memory": "0"}, {"cache_memory": "64M"}:
        daemon = spawn(**options)
        assert digests(daemon, records) == reference
        daemon.settle()
    assert listed(daemon, records, "classes") == listed(daemon, photos, "classes")
    paths = listed(daemon, records, "paths")
    assert paths[0] == "train.tfrecord-00000-of-00004/0"
    rest = digests(daemon, records, epoch=0, position=24)
    assert rest == {at: digest for at, digest in reference.items() if at >= (0, 24)}


def test_order_of_shards(daemon, records):
    with daemon.connect() as peer:
        answer = peer.attach(records, **{**STREAM, "epochs": 1}, order="shards", window=8)
        assert answer.name == "attached", answer
        seen = [int(arrays["index"]) for _, _, arrays in peer.samples(("index",))]
    assert sorted(seen) == list(range(len(seen))) and seen != sorted(seen)


def test_a_damaged_record(daemon, records, tmp_path):
    path = tmp_path / "train.tfrecord-00000-of-00004"
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    with daemon.connect() as peer:
        answer = peer.attach(records, **{**STREAM, "epochs": 1, "shuffle": False})
        assert answer.name == "attached", answer
        bad = peer.expect("bad_sample")
    assert bad.fields["sample"] == 0 and "checksum" in bad.fields["text"], bad
    assert bad.fields["text"].endswith("; check that the file is there, and that the daemon may "
                                       "read it"), "what is wrong with a file has its remedy"


def test_lmdb(daemon, photos, tmp_path):
    """The pictures of a folder by their names, in their order; a database that changes is said."""
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(tmp_path / "base"), map_size=1 << 26) as database:
        with database.begin(write=True) as writer:
            for path in files(photos):
                writer.put(str(path.relative_to(photos)).encode(), path.read_bytes())
    paths = listed(daemon, tmp_path / "base", "paths")
    assert paths == [f"data.mdb/{path.relative_to(photos)}" for path in files(photos)]

    def images(dataset):
        with daemon.connect() as peer:
            peer.attach(dataset, **{**STREAM, "epochs": 1})
            return {(epoch, at): arrays["image"].tobytes()
                    for epoch, at, arrays in peer.samples(("image",))}

    assert images(tmp_path / "base") == images(photos)


def test_lmdb_is_damaged_while_others_train(daemon, photos, tmp_path):
    """A database of which bits flip, and one that is cut while it is read: whoever reads it is
    told, and who reads something else goes on."""
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(tmp_path / "base"), map_size=1 << 26) as database:
        with database.begin(write=True) as writer:
            for number in range(400):
                writer.put(b"%06d" % number, files(photos)[number % 16].read_bytes())
    path = tmp_path / "base" / "data.mdb"
    data = path.read_bytes()
    tree = [page for page in range(8192, len(data), 4096) if data[page + 10] in (1, 2)
            and int.from_bytes(data[page:page + 8], "little") == page // 4096]
    with daemon.connect() as other:
        other.attach(photos, **{**STREAM, "epochs": 0})
        trained = other.samples()
        for page, at in zip(tree, (0, 10, 12, 13, 14, 15)):
            damaged = bytearray(data)
            damaged[page + at] ^= 0x21
            path.write_bytes(damaged)
            with daemon.connect() as peer:
                answer = peer.attach(tmp_path / "base", **STREAM)
                assert answer.name == "error" and "damaged" in answer.fields["text"], answer
            next(trained)
        path.write_bytes(data)
        with daemon.connect() as peer:
            answer = peer.attach(tmp_path / "base", **{**STREAM, "prefetch": 1})
            assert answer.name == "attached", answer
            path.write_bytes(data[:len(data) // 2])
            with pytest.raises(AssertionError, match="sample_changed|not the one"):
                list(peer.samples())
        for _ in range(40):
            next(trained)
