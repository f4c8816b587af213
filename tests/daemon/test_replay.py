# SPDX-License-Identifier: MIT
"""stokerctl replay: a position of a stream, made again, by its digest and as a picture."""

import ctypes
import io
import json

import numpy
import pytest
from PIL import Image


TRAIN = [{"name": "RandomResizedCrop", "size": 32}, {"name": "RandomHorizontalFlip"},
         {"name": "ToTensor"},
         {"name": "Normalize", "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]}]
STREAM = {"transforms": TRAIN, "order_seed": 2**64 - 1, "augment_seed": 9, "subset_start": 3,
          "subset_stop": 50, "epochs": 0, "batch_size": 1, "bad_samples": "substitute"}


class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxh3(data):
    """By the library itself: Debian's Python knows no XXH3."""
    function = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    function.restype, function.argtypes = Hash, [ctypes.c_char_p, ctypes.c_size_t]
    value = function(data, len(data))
    return f"{value.high:016x}{value.low:016x}"


def replay(daemon, stream, epoch, position, *more):
    return json.loads(daemon.ctl("--json", "replay", stream, "--epoch", epoch, "--position",
                                 position, *more).stdout)


def read_at(daemon, photos, epoch, position, **fields):
    """The same sample, as a reader gets it."""
    with daemon.connect() as peer:
        peer.attach(photos, **{**STREAM, "epoch": epoch, "position": position, **fields})
        return peer.ring.read(peer.expect("batch").fields["runs"])


@pytest.mark.parametrize("key, size, values", [
    ("draft", [20, 30], (True, False)), ("resize", [12, 160], ("pillow-12", "pillow-13")),
    ("resize", [12, 160], ("pillow-13", "pillow-12"))])
def test_a_picture_of_a_draft_is_one(daemon, photos, tmp_path, key, size, values):
    """Not what the whole JPEG, or another Pillow, would have given."""
    fields = {"transforms": [{"name": "Resize", "size": size, "interpolation": "bicubic"}],
              "layout": "NHWC"}
    out, pictures = tmp_path / "draft.png", {}
    with daemon.connect() as peer:
        number = peer.attach(photos, **{**STREAM, **fields}, **{key: values[0]}).fields["stream"]
        for value in values:
            pictures[value] = [read_at(daemon, photos, 0, i, **fields, dtype="uint8",
                                       **{key: value})["image"][0] for i in range(8)]
        for i in range(8):
            replay(daemon, number, 0, i, "-o", out)
            with Image.open(out) as picture:
                assert numpy.array_equal(numpy.asarray(picture), pictures[values[0]][i])
    assert not numpy.array_equal(pictures[values[0]], pictures[values[1]])


@pytest.mark.parametrize("dtype,layout", [("float32", "NCHW"), ("bfloat16", "NHWC")])
def test_the_same_bytes_and_a_picture_of_them(daemon, photos, tmp_path, dtype, layout):
    with daemon.connect() as peer:
        answer = peer.attach(photos, **STREAM, dtype=dtype, layout=layout)
        number = answer.fields["stream"]
        for epoch, position in ((0, 0), (0, 46), (7, 13)):
            out = tmp_path / f"{epoch}-{position}.png"
            values = replay(daemon, number, epoch, position, "-o", out)
            there = read_at(daemon, photos, epoch, position, dtype=dtype, layout=layout)
            assert (values["epoch"], values["position"]) == (epoch, position)
            assert values["index"] == there["index"][0] and values["label"] == there["label"][0]
            assert (values["dtype"], tuple(values["shape"])) == (dtype, there["image"][0].shape)
            assert values["dataset"] == str(photos) and values["output"] == str(out)
            assert values["digest"] == xxh3(there["image"].tobytes())
            pixels = read_at(daemon, photos, epoch, position, transforms=TRAIN[:3], dtype="uint8",
                             layout="NHWC")["image"][0]
            with Image.open(io.BytesIO(out.read_bytes())) as picture:
                assert picture.mode == "RGB" and picture.format == "PNG"
                assert numpy.array_equal(numpy.asarray(picture), pixels)
    daemon.settle()


def test_the_digest_is_of_the_bytes(daemon, photos):
    """Equal where the bytes are, and nowhere else; words for people say the same."""
    with daemon.connect() as peer:
        number = peer.attach(photos, **STREAM).fields["stream"]
        some = [replay(daemon, number, epoch, 5)["digest"] for epoch in (0, 0, 1)]
        assert some[0] == some[1] != some[2]
        words = daemon.ctl("replay", number, "--epoch", 1, "--position", 5).stdout
        assert some[2] in words and "position     5" in words
        assert peer.expect("batch").fields["position"] == 0  # the reader is not disturbed


def test_any_transforms_and_a_manifest(daemon, photos, tmp_path):
    """What is needed to attach again is in the listing: kind, root, format, dtype, layout."""
    manifest = tmp_path / "a b.list"
    names = sorted(path for path in photos.rglob("*") if path.is_file())[:5]
    manifest.write_text("".join(f"{name.relative_to(photos)}\t{i}.5\t2\n"
                                for i, name in enumerate(names)))
    dataset = {"path": str(manifest), "kind": "manifest", "root": str(photos), "format": "tsv"}
    with daemon.connect() as peer:
        answer = peer.attach(manifest, dataset=dataset, transforms=[
            {"name": "Resize", "size": [8, 9]}], dtype="uint8", layout="NCHW", shuffle=False,
            exif_orientation=True)
        out = tmp_path / "out.png"
        values = replay(daemon, answer.fields["stream"], 0, 4, "-o", out)
        assert values["index"] == 4 and values["label"] == [4.5, 2.0]
        there = peer.ring.read(peer.expect("batch").fields["runs"])
        first = replay(daemon, answer.fields["stream"], 0, 0, "--output", out)
        assert first["shape"] == [3, 8, 9]
        with Image.open(out) as picture:
            assert numpy.array_equal(numpy.asarray(picture).transpose(2, 0, 1), there["image"][0])


def test_crops_of_a_sample(daemon, photos, tmp_path):
    """Made by the transforms, so that they are made again."""
    out, crops = tmp_path / "out.png", [{"name": "TenCrop", "size": 20, "vertical_flip": True}]
    with daemon.connect() as peer:
        number = peer.attach(photos, **{**STREAM, "transforms": crops}).fields["stream"]
        values = replay(daemon, number, 2, 3, "-o", out)
        there = read_at(daemon, photos, 2, 3, transforms=crops)["image"]
        assert values["shape"] == [10, 3, 20, 20] and values["digest"] == xxh3(there.tobytes())
        with Image.open(out) as picture:
            assert picture.size == (20, 200)


@pytest.mark.parametrize("fields", [
    {"sampler": {"name": "subset", "indices": [5, 39, 0, 17]}},
    {"sampler": {"name": "subset", "indices": "FILE"}},
    {"sampler": {"name": "split", "validation_split": 0.3, "subset": "training"}},
    {"sampler": {"name": "weighted", "weights_by_class": [0.1, 1 / 3, 2, 5, 7, 1, 1, 1, 1, 1],
                 "num_samples": 30}},
    {"sampler": {"name": "balanced"}, "echo": 2, "echo_window": 5},
    {"echo": 3, "echo_window": 8, "subset_start": 3, "subset_stop": 20}, {"views": 3}])
def test_sampled_streams(daemon, photos, tmp_path, fields):
    """The listing says how samples were chosen, and the same are chosen again."""
    if fields.get("sampler", {}).get("indices") == "FILE":
        path = tmp_path / "a 'quoted' one.npy"
        numpy.save(path, numpy.array([9, 8, 7, 40]))
        fields = {"sampler": {"name": "subset", "indices": str(path)}}
    fields = {"subset_start": 0, "subset_stop": 2**64 - 1, "views": 1, **fields}
    with daemon.connect() as peer:
        answer = peer.attach(photos, **{**STREAM, **fields}).fields
        for epoch, position in ((0, 0), (2, answer["samples"] - 1)):
            out = tmp_path / "out.png"
            values = replay(daemon, answer["stream"], epoch, position, "-o", out)
            there = read_at(daemon, photos, epoch, position, **fields)
            assert values["index"] == there["index"][0]
            assert values["digest"] == xxh3(there["image"].tobytes())
            with Image.open(out) as picture:
                assert picture.size == (32, 32 * fields["views"])
        row, = json.loads(daemon.ctl("--json", "streams").stdout)["streams"]
        assert row["samples"] == answer["samples"]
        assert row["sampler_name"] == fields.get("sampler", {}).get("name", "")
        assert (row["echo"], row["views"]) == (fields.get("echo", 1), fields["views"])
        assert row["sampling_hash"] == answer["sampling_hash"]
        words = daemon.ctl("streams").stdout
        assert "SAMPLER" in words and row["sampler_name"] in words
    daemon.settle()


PARTS = {
    "plain": {},
    "by part": {"sampler": {"name": "weighted", "weights_by_part": [0.5, 0.25, 0.25],
                            "num_samples": 70}},
    "split": {"sampler": {"name": "split", "validation_split": 0.3, "subset": "validation"}},
    "views and echo": {"views": 2, "echo": 2, "echo_window": 9},
}


@pytest.mark.parametrize("name", PARTS)
def test_datasets_that_are_joined(daemon, photos, tmp_path, name):
    """Each as it was described: a folder, a manifest with its root, and one of another format."""
    names = sorted(str(path.relative_to(photos)) for path in photos.glob("*/*") if path.is_file())
    (tmp_path / "rows.tsv").write_text("".join(f"{path}\t1\n" for path in names[:6]))
    (tmp_path / "rows").write_text("".join(f"{path} 2\n" for path in names[6:20]))
    root = str(photos)
    dataset = {"parts": [
        {"path": str(tmp_path / "rows.tsv"), "root": root},
        {"path": str(tmp_path / "rows"), "kind": "manifest", "format": "lines", "root": root},
        {"path": str(tmp_path / "rows.tsv"), "root": root}]}
    fields = {"subset_start": 0, "subset_stop": 2**64 - 1, "dataset": dataset, **PARTS[name]}
    with daemon.connect() as peer:
        answer = peer.attach("", **{**STREAM, **fields})
        assert answer.name == "attached", answer
        samples = answer.fields["samples"]
        for epoch, position in ((0, 0), (1, samples - 1)):
            out = tmp_path / "out.png"
            values = replay(daemon, answer.fields["stream"], epoch, position, "-o", out)
            there = read_at(daemon, photos, epoch, position, **fields)
            assert values["index"] == there["index"][0] and values["label"] == there["label"][0]
            assert values["digest"] == xxh3(there["image"].tobytes())
            with Image.open(out) as picture:
                assert picture.size == (32, 32 * PARTS[name].get("views", 1))
    daemon.settle()


def test_parts_with_long_paths(daemon, photos):
    long = {"path": str(photos) + "/" + "/".join(["../" + photos.name] * 100)}
    with daemon.connect() as peer:
        answer = peer.attach("", **{**STREAM, "dataset": {"parts": [long] * 16}})
        assert answer.name == "attached", answer
        there = peer.ring.read(peer.expect("batch").fields["runs"])
        assert replay(daemon, answer.fields["stream"], 0, 0)["index"] == there["index"][0]


def test_without_the_fields_that_cannot_follow(daemon, photos, tmp_path):
    """A stream of a dataset with masks may leave them out, and then be mixed."""
    names = sorted(str(path.relative_to(photos)) for path in photos.glob("*/*.png"))[:4]
    (tmp_path / "rows.csv").write_text("path,label,mask\n" + "".join(
        f"{path},{i % 2},{path}\n" for i, path in enumerate(names)))
    transforms = [{"name": "Resize", "size": [16, 16]},
                  {"name": "ImageDataGenerator", "rescale": 0.5}]
    dataset = {"path": str(tmp_path / "rows.csv"), "root": str(photos)}
    with daemon.connect() as peer:
        answer = peer.attach("", dataset=dataset, transforms=transforms, fields=[], epochs=0)
        assert answer.name == "attached", answer
        there = peer.ring.read(peer.expect("batch").fields["runs"])
        values = replay(daemon, answer.fields["stream"], 0, 0)
        assert values["digest"] == xxh3(there["image"][0].tobytes())


def test_a_long_list(daemon, photos):
    with daemon.connect() as peer:
        answer = peer.attach(photos, **{**STREAM, "subset_start": 0, "subset_stop": 2**64 - 1,
                                        "sampler": {"name": "subset", "indices": [1] * 1000}})
        assert replay(daemon, answer.fields["stream"], 0, 999)["index"] == 1


def test_what_cannot_be(daemon, photos, tmp_path):
    with daemon.connect() as peer:
        number = peer.attach(photos, **STREAM).fields["stream"]

        def refused(*arguments):
            done = daemon.ctl("replay", *arguments, check=False)
            assert done.returncode != 0 and done.stderr.startswith("stokerctl: ")
            return done.stderr

        place = ("--epoch", 0, "--position", 0)
        assert "no such stream: 99" in refused(99, *place)
        assert "--epoch E" in refused(number) and "--epoch E" in refused(number, "--epoch", 1)
        assert "0 to 46" in refused(number, "--epoch", 0, "--position", 47)
        assert "0 to 4294967295" in refused(number, "--epoch", "-1", "--position", 0)
        assert "not a number" in refused("first", *place)
        assert "cannot write" in refused(number, *place, "-o", tmp_path / "nowhere" / "a.png")
        done = daemon.ctl("status", "--epoch", 1, check=False)
        assert done.returncode == 64 and "for replay" in done.stderr


def test_a_table_with_columns_of_other_names(daemon, photos, tmp_path):
    """What tells the columns is part of what `streams` says, for whoever asks again."""
    paths = sorted(photos.glob("*/*.jpg"))
    (tmp_path / "table.csv").write_text(
        "id,species,file\n" + "".join(f"{n},{path.parent.name},{path}\n"
                                      for n, path in enumerate(paths)))
    dataset = {"path": str(tmp_path / "table.csv"), "root": str(photos), "path_column": "file",
               "label_column": "species"}
    parts = {"parts": [dataset, {**dataset, "root": "/"}]}
    for asked in dataset, parts:
        with daemon.connect() as peer:
            answer = peer.attach("", **{**STREAM, "dataset": asked})
            assert answer.name == "attached", answer
            there = peer.ring.read(peer.expect("batch").fields["runs"])
            made = replay(daemon, answer.fields["stream"], 0, 0)
        assert made["index"] == int(there["index"][0])
        assert made["digest"] == xxh3(there["image"].tobytes())
