# SPDX-License-Identifier: MIT
"""What datasets bring: further fields, names that are no UTF-8, several parts, damaged files."""

import io
import json
import os
import tarfile

import PIL.Image
import pytest


@pytest.fixture(name="manifest")
def fixture_manifest(photos, tmp_path):
    """Twelve rows with every further field."""
    path = tmp_path / "rows.jsonl"
    pictures = sorted(p.relative_to("/") for p in photos.rglob("*") if p.is_file())[:12]
    for i, picture in enumerate(pictures):
        PIL.Image.open("/" / picture).convert("L").save(tmp_path / f"{i}.png")
    path.write_text("".join(json.dumps({
        "path": str(picture), "label": i % 3, "weight": i / 4, "mask": str(tmp_path / f"{i}.png"),
        "boxes": [[1, 2, 10 + i, 12]] * (i % 3), "points": [[i, 3.5]],
        "targets": {"age": i, "vector": [i, 0.5]}}) + "\n" for i, picture in enumerate(pictures)))
    return {"path": str(path), "root": "/"}


def test_further_fields(client, daemon, stream, truth, manifest):
    attach = stream(dataset=manifest, batch_size=5)
    _, ring, batches = truth(attach)
    run = client.run(daemon.socket, attach)
    assert run.batches == batches
    names = [field.partition(":")[0] for field in run.said("attached")[0]["fields"].split(",")]
    assert names == list(ring.fields) and len(names) == 9, names


def test_chosen_fields(client, daemon, stream, truth, manifest):
    attach = stream(dataset=manifest, batch_size=5, fields=["age", "weight"])
    run = client.run(daemon.socket, attach)
    assert run.batches == truth(attach)[2]
    assert [field.partition(":")[0] for field in run.said("attached")[0]["fields"].split(",")] \
        == ["image", "label", "index", "weight", "age"]


def test_the_parent_of_a_link(client, daemon, stream, truth, photos, tmp_path):
    """".." behind a link is the parent of where it leads, as for open(): of a folder, and of the
    folder that a manifest lies in."""
    pictures = sorted(p for p in photos.rglob("*") if p.is_file())
    for side, picture in ("near", pictures[0]), ("far", pictures[1]):
        (tmp_path / side / "deep").mkdir(parents=True)
        (tmp_path / side / "ds/c").mkdir(parents=True)
        os.link(picture, tmp_path / side / "ds/c" / f"0{picture.suffix}")
        (tmp_path / side / "ds/m.csv").write_text(f"path,label\nc/0{picture.suffix},1\n")
    (tmp_path / "near/link").symlink_to(tmp_path / "far/deep")
    for name in "ds", "ds/m.csv":
        attach = stream(dataset={"path": f"{tmp_path}/near/link/../{name}"}, batch_size=1)
        run = client.run(daemon.socket, attach)
        assert run.batches == truth({**attach, "dataset": {"path": f"{tmp_path}/far/{name}"}})[2]
        assert run.batches != truth({**attach, "dataset": {"path": f"{tmp_path}/near/{name}"}})[2]


@pytest.fixture(name="odd")
def fixture_odd(photos, tmp_path):
    """Folders and files whose names are bytes, not UTF-8."""
    folder = os.fsencode(tmp_path) + b"/gr\xf6\xdfe"
    pictures = sorted(os.fsencode(p) for p in photos.rglob("*.jpg"))[:6]
    for i, picture in enumerate(pictures):
        home = folder + (b"/a\xff", b"/b \xe2\x82")[i % 2]
        os.makedirs(home, exist_ok=True)
        os.link(picture, home + b"/%d\xfe.jpg" % i)
    return folder


def test_names_that_are_no_utf8(client, daemon, stream, truth, odd):
    attach = stream(dataset={"path": {"hex": odd.hex()}}, batch_size=4)
    attach["dataset"]["kind"] = "folder"
    wired = {**attach, "dataset": {"path": {"hex": odd.hex()}, "kind": "folder"}}
    run = client.run(daemon.socket, attach, classes=True)
    assert run.batches == truth(wired)[2]
    names = [bytes.fromhex(name) for name in run.said("classes")[0]["names"].split(",")]
    assert names == [b"a\xff", b"b \xe2\x82"]


def test_paths_that_are_no_utf8(client, daemon, stream, odd):
    client.needs("paths")
    run = client.run(daemon.socket, stream(dataset={"path": {"hex": odd.hex()}}), paths=[3, 0])
    names = [bytes.fromhex(name) for name in run.said("paths")[0]["names"].split(",")]
    assert names == [b"b \xe2\x82/1\xfe.jpg", b"a\xff/0\xfe.jpg"]


def test_paths(client, daemon, stream, photos):
    """In any order, of any distance."""
    client.needs("paths")
    names = sorted(str(path.relative_to(photos)) for path in photos.rglob("*") if path.is_file())
    indexes = [59, 0, 30, 31, 0]
    run = client.run(daemon.socket, stream(), paths=indexes, take=1)
    assert run.said("paths")[0]["names"].split(",") == [
        names[index].encode().hex() for index in indexes]
    if client.name in ("c", "cpp"):
        text = client.start(daemon.socket, stream(), paths=[0, 60]).fails("option")
        assert "no sample 60" in text


def test_parts(client, daemon, stream, truth, photos):
    attach = stream(dataset={"parts": [{"path": str(photos)}, {"path": str(photos)}]},
                    sampler={"name": "weighted", "weights_by_part": [3, 1], "num_samples": 30})
    run = client.run(daemon.socket, attach)
    assert run.batches == truth(attach)[2]
    assert run.said("attached")[0]["samples"] == "30"


@pytest.fixture(name="damaged")
def fixture_damaged(photos, tmp_path):
    """Ten pictures, the sixth of which is not one."""
    for i, picture in enumerate(sorted(photos.rglob("*.jpg"))[:10]):
        home = tmp_path / "damaged" / "class"
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{i}.jpg").write_bytes(b"no picture" if i == 5 else picture.read_bytes())
    return str(tmp_path / "damaged")


def test_bad_sample(client, daemon, stream, truth, damaged):
    """Its batch is left out, and those after it come."""
    attach = stream(dataset={"path": damaged}, shuffle=False, batch_size=2)
    batches = truth(attach)[2]
    assert batches[2] is None
    run = client.run(daemon.socket, attach)
    assert run.batches == [batch for batch in batches if batch]
    names = [event.name for event in run.events if event.name in ("batch", "bad")]
    assert names == ["batch", "batch", "bad", "batch", "batch"]


def test_substitute(client, daemon, stream, truth, damaged):
    attach = stream(dataset={"path": damaged}, shuffle=False, batch_size=2,
                    bad_samples="substitute")
    run = client.run(daemon.socket, attach)
    assert run.batches == truth(attach)[2]
    assert [batch["substituted"] for batch in run.batches] == ["0", "0", "1", "0", "0"]


def test_shards(client, daemon, stream, truth, photos, tmp_path):
    """Of tar, by a pattern, with all keys that only shards have."""
    pictures = sorted(photos.rglob("*.jpg"))
    for k in range(2):
        with tarfile.open(tmp_path / f"{k}.tar", "w") as tar:
            for i, picture in enumerate(pictures[k::2]):
                for ending, data in ("jpg", picture.read_bytes()), ("txt", b"%d" % i), \
                        ("num", b"%d" % (i % 5)):
                    if ending != "num" or i != 3:
                        info = tarfile.TarInfo(f"{i:03}.{ending}")
                        info.size = len(data)
                        tar.addfile(info, io.BytesIO(data))
    attach = stream(dataset={"path": str(tmp_path / "{0..1}.tar"), "kind": "tar", "image": "jpg",
                             "label": "num", "classes": "5", "components": "txt",
                             "missing_component": "skip"}, one_hot=True)
    attached, ring, batches = truth(attach)
    run = client.run(daemon.socket, attach)
    assert run.batches == batches
    assert list(ring.fields) == ["image", "label", "index", "txt", "txt_length"]
    assert attached["samples"] == len(pictures) - 2


def test_a_url_is_no_path(client, spawn, stream):
    """It is not made absolute. Nobody listens there."""
    attach = stream(dataset={"path": "http://127.0.0.1:9/x.tar"})
    text = client.start(spawn().socket, attach).fails("dataset")
    assert os.getcwd() not in text, text
