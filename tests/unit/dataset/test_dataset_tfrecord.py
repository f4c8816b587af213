# SPDX-License-Identifier: MIT
"""TFRecord files, written here as TensorFlow writes them (and by TensorFlow itself where it is
installed): pictures, labels and classes, what is chosen by name, and what is refused.

STOKER_BUILD names the build folder that holds tests/unit/dataset/shard_tool.
"""

import random
import struct
import sys

import pytest

from test_dataset_shard_index import hash_of
from test_dataset_shards import opened

sys.path.insert(0, str(__import__("pathlib").Path(__file__).parents[2] / "reference"))
from tfrecord import example, masked, record, write_records  # noqa: E402

PICTURES = [bytes([at]) * (at * 1501 + 1) for at in range(12)]


def numbers(rows, real=False):
    return [struct.pack("<f" if real else "<q", row) for row in rows]


def test_pictures_and_labels(tmp_path):
    """Entries of the map in any order, packed lists and others: the same samples."""
    path = str(tmp_path / "a.tfrecord")
    for seed in range(6):
        draw = random.Random(seed)
        records = []
        for at, data in enumerate(PICTURES):
            features = [("image/encoded", [data]), ("image/class/label", [at - 3]),
                        ("image/filename", [b"x%d.jpg" % at]), ("image/box", [0.5, 0.25] * at)]
            draw.shuffle(features)
            records.append(example(features, packed=draw.random() < 0.5))
        write_records(path, records)
        fingerprint, _, skipped, classes, samples = opened(path)
        assert skipped == 0 and not classes
        assert [row[0] for row in samples] == [f"a.tfrecord/{at}" for at in range(len(PICTURES))]
        assert [row[3] for row in samples] == [hash_of(data).hex() for data in PICTURES]
        assert [row[1] for row in samples] == numbers(range(-3, len(PICTURES) - 3))
        assert seed == 0 or fingerprint == first
        first = fingerprint
    with open(path, "rb") as file:
        data = file.read()
    for name in "other.tfrecords", "b.tfrecord-00000-of-00001":
        (tmp_path / name).write_bytes(data)
        assert opened(str(tmp_path / name))[0] == first
    (tmp_path / "c-00000").write_bytes(data)
    assert opened(str(tmp_path / "c-{00000..00000}"), kind="tfrecord")[0] == first


def test_names(tmp_path):
    """Features of other names; classes, real and several numbers as labels; none at all."""
    path = str(tmp_path / "a.tfrecord")
    write_records(path, [example([("jpg", [b"p%d" % at]), ("thumb", [b"t"]), ("name", [name]),
                                  ("many", [at, 7]), ("real", [at / 2])])
                         for at, name in enumerate([b"dog", b"ant", b"dog"])])
    samples = opened(path, image="png;jpg;thumb")[4]
    assert [row[3] for row in samples] == [hash_of(b"p%d" % at).hex() for at in range(3)]
    assert [row[1] for row in samples] == numbers([0, 0, 0])
    _, _, _, classes, samples = opened(path, image="jpg", label="name")
    assert classes == ["ant", "dog"] and [row[1] for row in samples] == numbers([1, 0, 1])
    samples = opened(path, image="jpg", label="many")[4]
    assert [row[1] for row in samples] == [struct.pack("<2q", at, 7) for at in range(3)]
    samples = opened(path, image="jpg", label="real")[4]
    assert [row[1] for row in samples] == numbers([0, 0.5, 1], real=True)
    write_records(path, [example([("image", [b"p"]), ("label", [at])]) for at in range(3)])
    assert opened(path, classes="3")[3] == ["0", "1", "2"]
    assert "not one number from 0 to 1" in opened(path, classes="2")


def test_fields(tmp_path):
    """Features as fields: bytes padded to the widest, and how many they are."""
    path = str(tmp_path / "a.tfrecord")
    texts = [b"", b"a caption", bytes(range(256)) * 16]
    write_records(path, [example([("image", [b"p"]), ("image/class/text", [text]), ("label", [at]),
                                  ("box", [0.5, 1.0])]) for at, text in enumerate(texts)])
    for number, sample in enumerate(opened(path, components="image/class/text")[4]):
        assert sample[4]["text"] == texts[number].ljust(4096, b"\0")
        assert struct.unpack("<q", sample[4]["text_length"]) == (len(texts[number]),)
        assert sample[1] == struct.pack("<q", number)
    assert "'box' is not one text" in opened(path, components="box")
    assert "no feature 'none'" in opened(path, components="none")
    assert "longer than 8 bytes" in opened(path, components="image/filename_x")
    write_records(path, [example([("image", [b"p"]), ("text", [bytes(4097)])])])
    assert "4097 bytes, and at most 4096" in opened(path, components="text")


def test_missing(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    write_records(path, [example([("image", [b"p"]), ("label", [1])]), example([("label", [2])]),
                         example([("image", [b"q"])]),
                         example([("image", [b"r"]), ("label", [3])])])
    assert "the sample '1'" in opened(path) and "it has: label" in opened(path)
    _, _, skipped, _, samples = opened(path, missing_component="skip")
    assert skipped == 2 and [row[0] for row in samples] == ["a.tfrecord/0", "a.tfrecord/3"]
    write_records(path, [example([("image", [b"p"])]),
                         example([("image", [b"q"]), ("label", [1])])])
    assert "the sample '1': it has a label ('label') and the first sample has none" in opened(path)
    assert "the sample '0'" in opened(path, label="label")
    assert len(opened(path, label="label", missing_component="skip")[4]) == 1
    write_records(path, [example([("image", [b"p", b"q"])])])
    assert "is not one picture" in opened(path)
    write_records(path, [example([("image", [1])])])
    assert "is not one picture" in opened(path)
    write_records(path, [example([("image", [b"p"]), ("label", [float("nan")])])])
    assert "not finite" in opened(path)
    write_records(path, [])
    assert "has no samples" in opened(path) or "empty" in opened(path)


def test_damage(tmp_path):
    """The length's checksum counts when the index is made, the content's when it is read."""
    path = str(tmp_path / "a.tfrecord")
    records = [example([("image", [data])]) for data in PICTURES]
    write_records(path, records)
    with open(path, "rb") as file:
        whole = file.read()
    begin = len(record(records[0])) + len(record(records[1]))
    for at in begin, begin + 9:
        damaged = bytearray(whole)
        damaged[at] ^= 4
        (tmp_path / "b.tfrecord").write_bytes(damaged)
        assert f"at byte {begin} of" in opened(str(tmp_path / "b.tfrecord"))
    for at in begin + 12 + len(records[2]) // 2, begin + 12 + len(records[2]) + 1:
        damaged = bytearray(whole)
        damaged[at] ^= 4
        (tmp_path / "b.tfrecord").write_bytes(damaged)
        samples = opened(str(tmp_path / "b.tfrecord"))[4]
        assert [row[2] != 0 for row in samples] == [at == 2 for at in range(len(PICTURES))]
    for cut in (1, 5, 12, 100):
        (tmp_path / "b.tfrecord").write_bytes(whole[:-cut])
        assert "the file was cut" in opened(str(tmp_path / "b.tfrecord"))
    import gzip
    (tmp_path / "b.tfrecord").write_bytes(gzip.compress(whole))
    assert "packed with gzip" in opened(str(tmp_path / "b.tfrecord"))
    junk = b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
    for data in (junk, b"\x0b", b"\x0a\x05ab", b"\x0a\x03\x0a\x09a", b"\x80" * 20):
        write_records(path, [data])
        assert "no tf.Example" in opened(path)


def test_kept(tmp_path):
    keep = tmp_path / "keep"
    keep.mkdir(mode=0o700)
    path = str(tmp_path / "a.tfrecord")
    write_records(path, [example([("image", [b"x"]), ("label", [at])]) for at in range(5000)])
    first = opened(path, str(keep))
    assert len(list(keep.iterdir())) == 1 and first[1] <= 24 * 5000
    again = opened(path, str(keep))
    assert again[0] == first[0] and again[4] == first[4]


def test_checksum():
    assert masked(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_tensorflow(tmp_path):
    """Files that TensorFlow wrote, whatever it puts where."""
    tf = pytest.importorskip("tensorflow")
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for at, data in enumerate(PICTURES):
            feature = {"image/encoded": tf.train.Feature(
                           bytes_list=tf.train.BytesList(value=[data])),
                       "image/class/label": tf.train.Feature(
                           int64_list=tf.train.Int64List(value=[at])),
                       "image/object/bbox/xmin": tf.train.Feature(
                           float_list=tf.train.FloatList(value=[0.5] * at))}
            writer.write(tf.train.Example(features=tf.train.Features(
                feature=feature)).SerializeToString())
    samples = opened(path)[4]
    assert [row[3] for row in samples] == [hash_of(data).hex() for data in PICTURES]
    assert [row[1] for row in samples] == numbers(range(len(PICTURES)))
