# SPDX-License-Identifier: MIT
"""The description of a stream: what shares it, what LIST says of it, and ATTACH by its number."""

import json
import os

import numpy
import pytest
from PIL import Image

from test_replay import replay, xxh3
from users import (ALICE, BOB, connect, fixture_data, fixture_home, needs_root,  # noqa: F401
                   opened, servers)

CROP = [{"name": "RandomResizedCrop", "size": 24}, {"name": "RandomHorizontalFlip"}]
PLAIN = {"transforms": CROP, "order_seed": 3, "augment_seed": 4, "epochs": 0}
BOTH = {"name": "Normalize", "mean": 0.5, "std": [0.5, 0.5, 0.5]}

# Two ways to say the same. The photographs are 60.
ALIKE = {
    "transforms by place": ({"transforms": [{"name": "Resize", "0": [24, 24]}]},
                            {"transforms": [{"name": "Resize", "size": [24, 24]}]}),
    "a size of one number": ({"transforms": [{"name": "CenterCrop", "size": 8}]},
                             {"transforms": [{"name": "CenterCrop", "size": [8, 8]}]}),
    "a default that is said": ({"transforms": [{"name": "RandomHorizontalFlip"}, *CROP]},
                               {"transforms": [{"name": "RandomHorizontalFlip", "p": 0.5}, *CROP]}),
    "a factor": ({"transforms": [{"name": "ColorJitter", "brightness": 0.25}, *CROP]},
                 {"transforms": [{"name": "ColorJitter", "brightness": [0.75, 1.25]}, *CROP]}),
    "one number for all bands": ({"transforms": [*CROP, BOTH]},
                                 {"transforms": [*CROP, {**BOTH, "mean": [0.5] * 3, "std": 0.5}]}),
    "ToTensor, which is always done": ({"transforms": [*CROP, {"name": "ToTensor"}]}, {}),
    "whole numbers and floats": ({"transforms": [{"name": "RandomRotation", "degrees": 5}, *CROP]},
                                 {"transforms": [{"name": "RandomRotation", "degrees": 5.0},
                                                 *CROP]}),
    "dtype": ({"dtype": "float32"}, {}),
    "layout": ({"layout": "NCHW"}, {}),
    "resize": ({"resize": "pillow-12"}, {}),
    "bad_samples": ({"bad_samples": "error"}, {}),
    "order": ({"order": "global"}, {}),
    "a window that is not used": ({"window": 7}, {}),
    "shards that are not shuffled": ({"order": "shards", "window": 7, "shuffle": False},
                                     {"shuffle": False}),
    "the end of the subset": ({"subset_stop": 60}, {}),
    "beyond the end": ({"subset_start": 5, "subset_stop": 61}, {"subset_start": 5}),
    "an echo's window without echo": ({"echo_window": 5}, {"echo_window": 9}),
    "views that the transforms make": ({"transforms": [{"name": "FiveCrop", "size": 8}],
                                        "views": 5},
                                       {"transforms": [{"name": "FiveCrop", "size": 8}]}),
    "fields that there are none of": ({"fields": []}, {}),
    "one sampler in two ways": ({"sampler": {"name": "subset", "indices": [1.0, 2]}},
                                {"sampler": {"name": "subset", "indices": "LIST"}}),
    "a sampler and its default": ({"sampler": {"name": "balanced"}},
                                  {"sampler": {"name": "balanced", "per_class": None}}),
    "a key that is nil": ({"dataset": {"root": None}}, {}),
    "what is the reader's": ({"batch_size": 2, "job": "x", "priority": 3, "last_batch": "drop"},
                             {"batch_size": 4}),
}

OTHER = {
    "transforms": {"transforms": CROP[:1]},
    "their order": {"transforms": CROP[::-1]},
    "a parameter": {"transforms": [CROP[0], {"name": "RandomHorizontalFlip", "p": 0.25}]},
    "dtype": {"dtype": "uint8"},
    "layout": {"layout": "NHWC"},
    "draft": {"draft": True},
    "resize": {"resize": "pillow-13"},
    "shuffle": {"shuffle": False},
    "order_seed": {"order_seed": 4},
    "augment_seed": {"augment_seed": 5},
    "subset_start": {"subset_start": 1},
    "subset_stop": {"subset_stop": 59},
    "bad_samples": {"bad_samples": "substitute"},
    "exif_orientation": {"exif_orientation": True},
    "one_hot": {"one_hot": True},
    "views": {"views": 2},
    "echo": {"echo": 2},
    "echo_window": {"echo": 2, "echo_window": 8},
    "a sampler": {"sampler": {"name": "balanced"}},
    "its numbers": {"sampler": {"name": "balanced", "per_class": 3}},
    "another sampler": {"sampler": {"name": "split", "validation_split": 0.5,
                                    "subset": "training"}},
    "the kind of the dataset": {"dataset": {"kind": "folder"}},
}


def ask(peer, photos, fields):
    dataset = {"path": str(photos), **fields.get("dataset", {})}
    answer = peer.attach("", **{**PLAIN, **fields, "dataset": dataset})
    assert answer.name == "attached", answer
    return answer.fields


@pytest.fixture(name="listed")
def fixture_listed(tmp_path):
    path = tmp_path / "list.npy"
    numpy.save(path, numpy.array([1, 2]))

    def listed(fields):
        return json.loads(json.dumps(fields).replace("LIST", str(path)))
    return listed


@pytest.mark.parametrize("name", ALIKE)
def test_said_otherwise_and_the_same_stream(daemon, photos, listed, name):
    with daemon.connect() as one, daemon.connect() as other:
        a, b = (ask(peer, photos, listed(fields))
                for peer, fields in zip((one, other), ALIKE[name]))
        assert a["stream"] == b["stream"] and a["digest"] == b["digest"]
        assert a["description"] == b["description"]


def test_what_makes_another_stream(daemon, photos):
    """Each of them another than all others; and it is another description, but for what is the
    stream's alone or the place."""
    same = ("bad_samples", "one_hot", "the kind of the dataset")
    with daemon.connect() as peer:
        plain = ask(peer, photos, {})
        answers = {}
        for name, fields in OTHER.items():
            with daemon.connect() as other:
                answers[name] = ask(other, photos, fields)
                assert answers[name]["stream"] != plain["stream"], name
                assert (answers[name]["digest"] == plain["digest"]) == (name in same), name
        digests = [answer["digest"] for name, answer in answers.items() if name not in same]
        assert len(set(digests)) == len(digests)


def test_a_description_says_all(daemon, photos):
    fields = {"echo": 2, "echo_window": 5, "subset_start": 2, "exif_orientation": True}
    with daemon.connect() as peer, daemon.connect(control=True) as control:
        attached = ask(peer, photos, fields)
        item, = control.request("list", what="description", id=attached["stream"]).fields["items"]
        own, = peer.request("list", what="description", id=attached["stream"]).fields["items"]
        assert item == own and item["digest"] == attached["digest"]
        assert item["description"]["dataset"] == {"path": str(photos)}
        assert item["description"]["bad_samples"] == "error"
        assert item["description"]["fields"] == []
        for key, value in {**fields, "subset_stop": 60, "order": "global", "layout": "NCHW",
                           "dtype": "float32", "shuffle": True, "views": 1}.items():
            assert attached["description"][key] == item["description"][key] == value, key
        assert list(item["description"]) == sorted(item["description"])
        flip = attached["description"]["transforms"][1]
        assert flip == {"name": "RandomHorizontalFlip", "p": 0.5}
        row, = daemon.list("streams")
        assert row["digest"] == attached["digest"]
        assert not {"dataset", "bad_samples", "job", "batch_size"} & set(attached["description"])


LIKE = {
    "a sampler with a long list": {"sampler": {"name": "weighted",
                                               "weights": [i + 0.5 for i in range(60)],
                                               "num_samples": 4000}},
    "a list of thousands": {"sampler": {"name": "subset", "indices": [7] * 5000}},
    "MixUp": {"transforms": [*CROP, {"name": "MixUp", "alpha": 0.3}]},
    "views": {"views": 3},
    "crops": {"transforms": [{"name": "FiveCrop", "size": 8}]},
    "nested": {"transforms": [{"name": "RandomChoice", "p": [1, 2.5], "transforms": [
        {"name": "RandomApply", "p": 0.25, "transforms": [{"name": "ColorJitter", "hue": 0.1}]},
        {"name": "RandomGrayscale"}]}, *CROP]},
    "a generator": {"transforms": [{"name": "Resize", "size": [20, 20]}, {
        "name": "ImageDataGenerator", "width_shift_range": 2.0, "height_shift_range": [1, -2],
        "rescale": 0.25}]},
    "paint": {"transforms": [*CROP, {"name": "RandomErasing", "p": 1, "value": "random"}]},
}


@pytest.mark.parametrize("name", LIKE)
def test_by_its_number_it_is_the_same(daemon, photos, name):
    with daemon.connect() as peer, daemon.connect() as other:
        answer = ask(peer, photos, LIKE[name])
        like = other.request("attach", like=answer["stream"], batch_size=1, accept_fd=True,
                             epochs=1, pace="free")
        assert like.name == "attached", like
        assert like.fields["stream"] == answer["stream"]
        assert like.fields["digest"] == answer["digest"]
        other.follow(like)
        there = other.ring.read(other.expect("batch").fields["runs"])
        values = replay(daemon, answer["stream"], 0, 0)
        assert values["digest"] == xxh3(there["image"].tobytes())
        assert values["index"] == there["index"][0]


def preview(daemon, stream, out, *more):
    done = daemon.ctl("--json", "preview", "--stream", stream, "-o", out, "--rows", 1, "--cols", 3,
                      *more)
    with Image.open(out) as picture:
        return numpy.asarray(picture), json.loads(done.stdout)


@pytest.mark.parametrize("name", LIKE)
def test_a_sheet_of_it(daemon, photos, tmp_path, name):
    """The first samples of an epoch, without Normalize, one view below the other."""
    with daemon.connect() as peer, daemon.connect() as other:
        answer = ask(peer, photos, {"batch_size": 3, **LIKE[name], "transforms": [
            *LIKE[name].get("transforms", CROP)]})
        like = other.request("attach", like=answer["stream"], batch_size=3, accept_fd=True, epoch=2,
                             epochs=1, pace="free", layout="NHWC", **(
                                 {} if name in ("MixUp", "a generator", "paint") else
                                 {"dtype": "uint8"}))
        assert like.name == "attached", like
        other.follow(like)
        there = other.ring.read(other.expect("batch").fields["runs"])
        sheet, values = preview(daemon, answer["stream"], tmp_path / "a.png", "--epoch", 2)
        assert [sample["index"] for sample in values["samples"]] == there["index"].tolist()
        assert values["dataset"] == str(photos)
        if there["image"].dtype == numpy.uint8:
            height, width = there["image"].shape[-3:-1]
            for number, image in enumerate(there["image"].reshape(3, -1, width, 3)):
                left = 4 + number * (width + 4)
                assert numpy.array_equal(sheet[4:4 + len(image), left:left + width], image)
        if name == "MixUp":
            assert [numpy.float32(sample["label"]).tolist() for sample in values["samples"]] == \
                there["label"].tolist()


def test_a_sheet_with_other_transforms(daemon, photos, tmp_path):
    with daemon.connect() as peer:
        number = ask(peer, photos, {"sampler": {"name": "subset", "indices": [9, 4, 2]},
                                    "shuffle": False})["stream"]
        sheet, values = preview(daemon, number, tmp_path / "a.png", "-t", "CenterCrop(size=12)")
        assert [sample["index"] for sample in values["samples"]] == [9, 4, 2]
        assert sheet.shape[1] == 3 * (12 + 4) + 4
        for arguments, words in ((("--seed", 0), "a stream has its own"), ((photos,), "either"),
                                 (("--kind", "flat"), "a stream has its own")):
            done = daemon.ctl("preview", "--stream", number, "-o", tmp_path / "b.png", *arguments,
                              check=False)
            assert done.returncode == 64 and words in done.stderr, done
        done = daemon.ctl("preview", "--stream", 99, "-o", tmp_path / "b.png", check=False)
        assert done.returncode == 64 and "no such stream: 99" in done.stderr
        done = daemon.ctl("preview", "-o", tmp_path / "b.png", check=False)
        assert done.returncode == 64 and "either a dataset, or --stream" in done.stderr


def test_arrays_and_joined_ones_with_long_paths(daemon, tmp_path):
    deep = tmp_path
    while len(str(deep)) < 3900:
        deep = deep / ("d" * 200)
    names = []
    here = numpy.arange(4 * 6 * 6 * 3, dtype=numpy.uint8).reshape(4, 6, 6, 3)
    before = os.getcwd()
    try:  # a path of 4,000 bytes is made in steps
        os.chdir(tmp_path)
        for part in deep.relative_to(tmp_path).parts:
            os.mkdir(part)
            os.chdir(part)
        for name in ("a", "b"):
            numpy.save(f"{name}.npy", here)
            names.append(str(deep / f"{name}.npy"))
    finally:
        os.chdir(before)
    dataset = {"parts": [{"path": name} for name in names * 4]}
    with daemon.connect() as peer:
        answer = peer.attach("", dataset=dataset, dtype="uint8", layout="NHWC", epochs=0)
        assert answer.name == "attached", answer
        out = tmp_path / "o.png"
        values = replay(daemon, answer.fields["stream"], 1, 31, "-o", out)
        assert values["shape"] == [6, 6, 3] and out.exists()
        sheet, values = preview(daemon, answer.fields["stream"], out)
        assert len(values["samples"]) == 3
        for number, sample in enumerate(values["samples"]):
            assert numpy.array_equal(sheet[4:10, 4 + number * 10:10 + number * 10],
                                     here[sample["index"] % 4])
        item, = peer.request("list", what="description",
                             id=answer.fields["stream"]).fields["items"]
        assert item["description"]["dataset"] == dataset


def test_what_is_said_beside_it_counts(daemon, photos):
    with daemon.connect() as peer:
        number = ask(peer, photos, {"views": 2})["stream"]
        for said, key, value in (({"views": 1}, "views", 1), ({"dtype": "uint8"}, "dtype", "uint8"),
                                 ({"epoch": 3, "position": 4}, "views", 2)):
            with daemon.connect() as other:
                answer = other.request("attach", like=number, batch_size=2, accept_fd=True, **said)
                assert answer.name == "attached", answer
                assert answer.fields["description"][key] == value
                other.follow(answer)
                assert [answer.fields.get(key, 0) for key in ("epoch", "position")] == \
                    [said.get(key, 0) for key in ("epoch", "position")]


def test_numbers_that_are_none(daemon, photos):
    with daemon.connect() as peer:
        number = ask(peer, photos, {})["stream"]
    daemon.settle()
    with daemon.connect() as peer:
        for like in (number, 2**64 - 1):  # the first has ended
            answer = peer.request("attach", like=like, batch_size=1, accept_fd=True)
            assert answer.fields["name"] == "permission", answer
            assert f"no stream {like} is read by this user" in answer.fields["text"]
        answer = peer.request("list", what="description", id=number)
        assert answer.fields["name"] == "permission"
        peer.send("attach", like=0, batch_size=1, accept_fd=True)
        peer.expect_error("field", hang_up=True)


def test_a_description_that_is_not_the_expected_one(daemon, photos):
    with daemon.connect() as peer, daemon.connect() as other:
        digest = ask(peer, photos, {})["digest"]
        assert ask(other, photos, {"expect_description": digest})["digest"] == digest
        other.request("detach")
        for fields in ({"views": 2}, {"order_seed": 9}):
            answer = other.attach(photos, **{**PLAIN, **fields}, expect_description=digest)
            assert answer.fields["name"] == "token" and digest in answer.fields["text"]


@needs_root
def test_the_place_is_proved_again(data):
    """By who reads the stream, and nobody else learns which numbers there are."""
    with servers() as serve:
        daemon = serve()
        with opened(ALICE, data) as fds, connect(daemon, ALICE) as peer:
            wish = {**PLAIN, "batch_size": 1, "accept_fd": True}
            dataset = {"path": str(data), "path_fd": 0}
            answer = peer.request("attach", fds, **{**wish, "dataset": dataset})
            assert answer.name == "attached", answer
            number = answer.fields["stream"]
            like = {"like": number, "batch_size": 1, "accept_fd": True, "epochs": 1}
            for uid in (BOB, 0):
                with connect(daemon, uid) as other:
                    said = other.request("attach", **like).fields
                    none = other.request("attach", **{**like, "like": 10**6}).fields
                    assert said["name"] == "permission"
                    assert none["text"].replace("1000000", str(number)) == said["text"]
                    answer = other.request("list", what="description", id=number)
                    assert answer.fields["name"] == "permission"
            with connect(daemon, ALICE) as other:
                said = other.request("attach", **like).fields
                assert said["name"] == "permission" and "may not have" in said["text"]
                again = other.request("attach", fds, **like, dataset=dataset)
                assert again.name == "attached" and again.fields["stream"] == number


@needs_root
def test_stokerctl_shows_the_place_again(data):
    with servers() as serve:
        daemon = serve()
        with opened(0, data) as fds, connect(daemon, 0) as peer:
            answer = peer.request("attach", fds, **{
                **PLAIN, "dataset": {"path": str(data), "path_fd": 0}, "batch_size": 1,
                "accept_fd": True})
            peer.follow(answer)
            there = peer.ring.read(peer.expect("batch").fields["runs"])
            values = replay(daemon, answer.fields["stream"], 0, 0)
            assert values["digest"] == xxh3(there["image"].tobytes())
