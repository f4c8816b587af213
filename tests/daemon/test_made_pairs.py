# SPDX-License-Identifier: MIT
"""MixUp, CutMix and substitutes of samples that the user's code makes: what they are of the same
samples without them. The producers are raw peers."""

import contextlib
import json
import struct

import numpy as np
import pytest

from test_law import STREAM
from test_maps import MAP, Mapper, pnm
from test_mix import NUMBER, mixed
from test_producers import SECRET, Maker, wish

SIZE = 12
COUNT = 21
CHOICE = {"name": "RandomChoice", "transforms": [{"name": "MixUp"}, {"name": "CutMix"}]}
CROP = {"name": "CenterCrop", "size": SIZE}
NORMALIZE = {"name": "Normalize", "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]}


def drawn(index, epoch, position):
    return np.random.default_rng((index, epoch, position)).integers(
        0, 256, (SIZE, SIZE, 3), np.uint8)


class Drawer(Maker):
    """Makes pictures that depend on index, epoch and position. `bad`: indexes that it refuses."""

    def __init__(self, daemon, bad=(), ends=0, **more):
        super().__init__(daemon, None, **more)
        self.bad, self.ends = bad, ends

    def record(self, index, epoch, position):
        return struct.pack("=q", index % 6) + pnm(drawn(index, epoch, position))

    def make(self, work):
        at, made = work["offset"], []
        for place, (index, epoch, position) in enumerate(work["samples"]):
            self.made.append((index, epoch, position))
            if index in self.bad:
                self.send("failed", group=work["group"], sample=place, text=f"no {index}")
                continue
            record = self.record(index, epoch, position)
            self.tray[at:at + len(record)] = record
            made.append([place, at, len(record)])
            at += len(record)
        if self.ends and len(self.made) > self.ends:
            self.close()
            raise OSError("this one ends amid a group")
        if made:
            self.send("made", group=work["group"], samples=made)


class Numbers(Drawer):
    """Makes an array of what it is of."""

    def record(self, *place):
        return struct.pack("=3q", *place)


def drawer(**more):
    """A stream of what Drawers make, where each visit may differ."""
    out = wish([None] * COUNT, **{"one_hot": True, "epochs": 2, "dtype": "float32", **more})
    out["dataset"].update(pure="no", classes="6")
    return out


@contextlib.contextmanager
def serving(daemon, count, kind=Drawer, **more):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(kind(daemon, **more)).serve() for _ in range(count)]


def collect(daemon, fields, path=""):
    with daemon.connect() as peer:
        answer = peer.attach(path, **fields)
        assert answer.name == "attached", answer
        return {(epoch, position): (arrays["image"].copy(), arrays["label"].copy(),
                                    int(arrays["index"]))
                for epoch, position, arrays in peer.samples()}


def check_pairs(plain, made, count, name, alpha, number):
    """As torchvision's references mix the two samples of each pair, in dtype float32."""
    assert set(made) == set(plain) and len(made) == 2 * count
    for (epoch, position), (image, label, index) in made.items():
        other = position ^ 1 if position ^ 1 < count else position
        pair = (STREAM["augment_seed"], epoch, position >> 1)
        expected = mixed(plain[epoch, position], plain[epoch, other], pair, name, alpha, number)
        assert index == plain[epoch, position][2]
        assert np.allclose(image, expected[0], rtol=0, atol=3e-6), (epoch, position)
        assert np.allclose(label, expected[1], atol=1e-6), (epoch, position)


@pytest.mark.parametrize("name, alpha", [("MixUp", 0.2), ("CutMix", 1.0)])
def test_pairs_of_a_source(daemon, name, alpha):
    """Its partner is what the other position has, draws of its own code included."""
    seen = []
    for count in (1, 2, 8):
        with serving(daemon, count):
            seen.append(collect(daemon, drawer(transforms=[CROP, NORMALIZE, {"name": name}])))
    with serving(daemon, 1):
        plain = collect(daemon, drawer(transforms=[CROP, NORMALIZE]))
    for made in seen:
        check_pairs(plain, made, COUNT, name, alpha, 1)
    for made in seen[1:]:
        assert all((made[at][0] == seen[0][at][0]).all() for at in made)


@pytest.mark.parametrize("name, alpha", [("MixUp", 0.2), ("CutMix", 1.0)])
def test_pairs_behind_a_map(daemon, photos, name, alpha):
    before = [{"name": "RandomResizedCrop", "size": [16, 20]}]
    fields = {**STREAM, "epochs": 2, "secret": SECRET, "dtype": "float32",
              "subset_stop": COUNT}
    plain = collect_mapped(daemon, photos, {**fields, "one_hot": True,
                                            "transforms": [*before, MAP]}, 1)
    seen = [collect_mapped(daemon, photos, {**fields, "transforms": [*before, MAP,
                                                                     {"name": name}]}, count)
            for count in (1, 3)]
    for made in seen:
        check_pairs(plain, made, COUNT, name, alpha, NUMBER)
    assert all((seen[0][at][0] == seen[1][at][0]).all() for at in plain)


def collect_mapped(daemon, photos, fields, count):
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(Mapper(daemon)).serve()
        return collect(daemon, fields, photos)


def test_a_map_of_a_source(daemon):
    """Both codes: 255 - what the other one makes, mixed by either."""
    fields = drawer(transforms=[MAP, CROP, {"name": "MixUp"}])
    fields["dataset"]["code"] = "another"
    with serving(daemon, 2, code="another"):
        made = collect_mapped(daemon, "", fields, 2)
        plain = collect_mapped(daemon, "", {**fields, "transforms": [MAP, CROP]}, 1)
    check_pairs(plain, made, COUNT, "MixUp", 0.2, 2)
    for (epoch, position), (image, label, index) in plain.items():
        want = (255 - drawn(index, epoch, position)).transpose(2, 0, 1)
        assert (image == want.astype(np.float32)).all() or \
            np.allclose(image * 255, want, atol=1e-3)
        assert label.argmax() == index % 6


def test_a_choice_over_a_death(daemon):
    fields = drawer(transforms=[CROP, NORMALIZE, CHOICE], prefetch=2)
    with serving(daemon, 1):
        want = collect(daemon, fields)
    # One that ends, not two: a sample that is alone at its second failure is a bad one.
    with serving(daemon, 1, ends=9), serving(daemon, 1):
        got = collect(daemon, fields)
    assert all((got[at][0] == want[at][0]).all() and (got[at][1] == want[at][1]).all()
               for at in want)


@pytest.mark.parametrize("count", [1, 3])
def test_substitutes_of_a_source(daemon, count):
    """The next sample of the dataset that can be made, drawn at the bad one's own place."""
    bad = (3, 7, 8, 20)
    with serving(daemon, count, bad=bad) as makers:
        got = collect(daemon, drawer(bad_samples="substitute", shuffle=False, transforms=[CROP]))
        status = daemon.status()
    for (epoch, position), (image, label, index) in got.items():
        want = position
        while want in bad:
            want = (want + 1) % COUNT
        assert (index, label.argmax()) == (want, want % 6)
        picture = drawn(want, epoch, position).transpose(2, 0, 1).astype(np.float32)
        assert np.allclose(image, picture, atol=0) or np.allclose(image * 255, picture, atol=1e-3)
    assert len(got) == 2 * COUNT and status["samples_substituted_total"] >= 2 * len(bad)
    assert sum(len(maker.made) for maker in makers) == 2 * (COUNT + 5)


def test_pairs_with_substitutes(daemon):
    """Of an own sample and of a partner: 4 and 5 are a pair, and so are 12 and 13."""
    fields = drawer(bad_samples="substitute", shuffle=False, transforms=[CROP, NORMALIZE])
    with serving(daemon, 2, bad=(5, 12)):
        plain = collect(daemon, fields)
        made = collect(daemon, {**fields, "transforms": [CROP, NORMALIZE, {"name": "MixUp"}]})
    check_pairs(plain, made, COUNT, "MixUp", 0.2, 1)


def test_a_partner_that_is_bad(daemon):
    fields = drawer(shuffle=False, batch_size=1, epochs=1, transforms=[CROP, NORMALIZE,
                                                                      {"name": "MixUp"}])
    with serving(daemon, 1, bad=(5,)), daemon.connect() as peer:
        assert peer.attach("", **fields).name == "attached"
        said = {}
        while True:
            message = peer.receive()
            if message.name == "end":
                break
            if message.name == "bad_sample":
                said[message.fields["position"]] = message.fields["text"]
            elif message.name == "batch":
                peer.release(message)
    assert said == {4: "sample 5, which it is mixed with: no 5", 5: "no 5"}


def test_substitutes_of_arrays(daemon):
    fields = wish([None] * COUNT, bad_samples="substitute", shuffle=False, transforms=[])
    fields["dataset"]["arrays"] = "of:int64:3"
    with serving(daemon, 2, Numbers, bad=(0, 4, 20)):
        got = collect(daemon, fields)
    for (epoch, position), (image, label, index) in got.items():
        assert index == {0: 1, 4: 5, 20: 1}.get(position, position)
        assert list(image) == [index, epoch, position] and label == 0


def test_substitutes_behind_a_map(daemon, photos):
    """Its code refuses the first sample of the list, wherever it stands."""
    crop = {"name": "CenterCrop", "size": 16}
    fields = {**STREAM, "secret": SECRET, "shuffle": False, "dtype": "uint8", "layout": "NHWC"}

    class Refuses(Mapper):
        def make(self, work):
            made = self.place(work)  # before an answer gives the tray back
            good = [one for one in made if work["samples"][one[0]][0] != 0]
            if good:
                self.send("made", group=work["group"], samples=good)
            for one in made:
                if one not in good:
                    self.send("failed", group=work["group"], sample=one[0], text="not this one")
    plain = collect(daemon, {**fields, "transforms": [crop]}, photos)
    with Refuses(daemon).serve():
        got = collect(daemon, {**fields, "transforms": [crop, MAP],
                               "bad_samples": "substitute"}, photos)
    for at, (image, label, index) in got.items():
        assert index == (plain[at][2] or 1), at
        assert (image == 255 - plain[0, index][0]).all() and label == plain[0, index][1]


def test_arrays_of_a_map_beside_columns(daemon, photos, tmp_path):
    """They are not overwritten by the dataset's own further fields."""
    paths = sorted(photos.glob("*/*"))[:8]
    (tmp_path / "list.jsonl").write_text("".join(json.dumps({
        "path": str(path.relative_to(photos)), "label": 0, "weight": number + 40}) + "\n"
        for number, path in enumerate(paths)))
    arrays = {**MAP, "arrays": "a:uint8:16x16x3 total:int64:"}
    with Mapper(daemon, lambda picture: picture.tobytes() + struct.pack(
            "=q", int(picture.sum()))).serve(), daemon.connect() as peer:
        answer = peer.attach("", **{
            **STREAM, "dataset": {"path": str(tmp_path / "list.jsonl"), "root": str(photos)},
            "secret": SECRET, "batch_size": 4,
            "transforms": [{"name": "CenterCrop", "size": 16}, arrays]})
        assert answer.name == "attached", answer
        seen = 0
        for _, _, found in peer.samples(keep=("image", "index", "weight", "total")):
            assert found["weight"] == found["index"] + 40
            assert found["total"] == found["image"].sum(dtype=np.int64)
            seen += 1
    assert seen == len(paths)
