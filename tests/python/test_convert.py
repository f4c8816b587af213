# SPDX-License-Identifier: MIT
"""What the annotations of COCO, Pascal VOC and YOLO and the rows of parquet files become."""
import datetime
import decimal
import io
import json
import math
import os
import shutil
import struct

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")

import stoker
from stoker import convert, shards
from real_daemon import binary

needs_daemon = pytest.mark.skipif(binary() is None, reason="no stokerd was built")


@pytest.fixture(name="annotated")
def fixture_annotated(tmp_path):
    """Two pictures of 40 x 20 with boxes, as COCO, VOC and YOLO have them: a "cat" and a "dog" in
    the first, nothing in the second."""
    for folder in ("JPEGImages", "Annotations", "ImageSets/Main", "labels"):
        (tmp_path / folder).mkdir(parents=True)
    os.symlink("JPEGImages", tmp_path / "images")
    for name in "ab":
        Image.new("RGB", (40, 20)).save(tmp_path / "JPEGImages" / f"{name}.jpg")
    (tmp_path / "coco.json").write_text(json.dumps({
        "images": [{"id": 9, "file_name": "a.jpg"}, {"id": 4, "file_name": "b.jpg"}],
        "categories": [{"id": 18, "name": "dog"}, {"id": 17, "name": "cat"}],
        "annotations": [{"image_id": 9, "bbox": [4, 2, 10, 6], "category_id": 17, "iscrowd": 0},
                        {"image_id": 9, "bbox": [0, 0, 40, 20], "category_id": 18, "iscrowd": 1}]}))
    (tmp_path / "labels" / "a.txt").write_text("0 0.225 0.25 0.25 0.3\n1 0.5 0.5 1 1\n")
    entry = ("<object><name>{}</name><difficult>{}</difficult><bndbox><xmin>{}</xmin>"
             "<ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox></object>")
    for name, entries in (("a", [("cat", 0, 5, 3, 14, 8), ("dog", 1, 1, 1, 40, 20)]), ("b", [])):
        (tmp_path / "Annotations" / f"{name}.xml").write_text(
            f"<annotation><filename>{name}.jpg</filename>"
            + "".join(entry.format(*one) for one in entries) + "</annotation>")
    (tmp_path / "ImageSets" / "Main" / "train.txt").write_text("a\nb\n")
    return tmp_path


@needs_daemon
@pytest.mark.parametrize("form", ["coco", "voc", "yolo"])
def test_manifests(near, annotated, form):
    """Boxes and categories as the daemon delivers them, through a flip."""
    manifest = str(annotated / "out.jsonl")
    root = annotated
    if form == "coco":
        assert convert.coco(str(annotated / "coco.json"), manifest) == ["cat", "dog"]
        root = annotated / "JPEGImages"
    elif form == "voc":
        assert convert.voc(str(annotated), "Main/train", manifest) == ["cat", "dog"]
    else:
        assert convert.yolo(str(annotated), manifest) == 2
    with near.loader({"path": manifest, "root": str(root)}, batch_size=2, shuffle=False,
                     transforms=[stoker.RandomHorizontalFlip(1.0)]) as loader:
        batch = next(loader.batches())
        boxes, category = batch["boxes"].copy(), batch["category"].copy()
    assert np.allclose(boxes[0], [[26, 2, 36, 8], [0, 0, 40, 20]], atol=1e-4)
    assert np.isnan(boxes[1]).all() and category.tolist() == [[0, 1], [-1, -1]]


def rows_of(manifest):
    with open(manifest, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def paths_of(manifest):
    return [row["path"] for row in rows_of(manifest)]


@pytest.fixture(name="by_yolo")
def fixture_by_yolo(annotated):
    """yolo() of the folder: the rows."""
    def rows():
        manifest = annotated / "yolo.jsonl"
        convert.yolo(str(annotated), str(manifest))
        return rows_of(manifest)
    return rows


def with_xmp(path, image, orientation):
    """A picture whose orientation is XMP's, which old Pillows do not look into."""
    text = f'<x:xmpmeta tiff:Orientation="{orientation}"/>'.encode()
    if path.suffix == ".webp":
        image.save(path, lossless=True, xmp=text)
        return
    image.save(path, quality=100, subsampling=0)
    data, text = path.read_bytes(), b"http://ns.adobe.com/xap/1.0/\0" + text
    path.write_bytes(data[:2] + b"\xff\xe1" + struct.pack(">H", len(text) + 2) + text + data[2:])


@needs_daemon
@pytest.mark.parametrize("ending", ["jpg", "png", "tif", "jpg, by XMP", "webp, by XMP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_boxes_of_a_turned_picture(near, tmp_path, ending, orientation):
    """The box of YOLO lies on what it is around, in the picture as it is shown."""
    shown = np.zeros((24, 48, 3), np.uint8)
    shown[16:24, 8:16] = 255
    back = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # the transposition that is undone
    stored = Image.fromarray(shown)
    if orientation > 1:
        stored = stored.transpose(list(Image.Transpose)[back[orientation]])
    exif = Image.Exif()
    exif[0x112] = orientation
    for folder in ("images", "labels"):
        (tmp_path / folder).mkdir()
    path = tmp_path / "images" / ("a." + ending.split(",")[0])
    if "XMP" in ending:
        with_xmp(path, stored, orientation)
    else:
        stored.save(path, exif=exif, quality=100, subsampling=0)
    (tmp_path / "labels/a.txt").write_text(f"0 {12 / 48} {20 / 24} {8 / 48} {8 / 24}\n")
    manifest = str(tmp_path / "m.jsonl")
    if orientation == 1 or ending == "tif":  # TIFFs are turned always
        convert.yolo(str(tmp_path), manifest)
    else:
        with pytest.warns(UserWarning, match="EXIF turns: 1; .*exif_orientation=True"):
            convert.yolo(str(tmp_path), manifest)
    with near.loader({"path": manifest, "root": str(tmp_path)}, batch_size=1, dtype="uint8",
                     layout="NHWC", exif_orientation=True) as loader:
        batch = next(loader.batches())
        assert batch["image"].shape == (1, 24, 48, 3)
        box = batch["boxes"][0, 0].round().astype(int).tolist()
        found = np.argwhere(batch["image"][0, ..., 0] > 128)
    assert box == [8, 16, 16, 24]
    assert [*found.min(axis=0)[::-1], *found.max(axis=0)[::-1] + 1] == box


def test_yolo_leaves_out_what_is_no_picture(annotated, by_yolo):
    for name in (".DS_Store", "._a.jpg", "Thumbs.db", "a.txt", "__MACOSX/x.jpg", ".cache/y.jpg"):
        (annotated / "images" / name).parent.mkdir(exist_ok=True)
        (annotated / "images" / name).write_bytes(b"junk")
    for name in (".DS_Store", "._a.txt", "classes.txt", "train.cache"):
        (annotated / "labels" / name).write_bytes(b"junk")
    assert [row["path"] for row in by_yolo()] == ["images/a.jpg", "images/b.jpg"]


def test_yolo_names_and_links(annotated, by_yolo):
    (annotated / "elsewhere").mkdir()
    for folder, name in (("images", "with blank é.JPG"), ("labels", "with blank é.txt")):
        (annotated / "elsewhere" / folder).mkdir()
        shutil.copy(annotated / folder / f"a.{name[-3:].lower()}",
                    annotated / "elsewhere" / folder / name)
        os.symlink(annotated / "elsewhere" / folder, annotated / folder / "linked")
    (annotated / "labels/a.txt").write_text("\ufeff1 0.5 0.5 1 1\r\n\r\n", encoding="utf-8")
    rows = by_yolo()
    assert [row["path"] for row in rows] == ["images/a.jpg", "images/b.jpg",
                                             "images/linked/with blank é.JPG"]
    assert rows[0]["boxes"] == [[0, 0, 40, 20]] and len(rows[2]["boxes"]) == 2
    os.symlink(annotated / "images", annotated / "elsewhere/images/circle")
    with pytest.raises(OSError, match="circle leads back to .*JPEGImages"):
        by_yolo()
    os.unlink(annotated / "elsewhere/images/circle")
    os.symlink("nothing", annotated / "images/c.jpg")
    with pytest.raises(FileNotFoundError, match="images/c.jpg"):
        by_yolo()


@pytest.mark.parametrize("text, words", [
    ("0 0.5 0.5 1 1\n\n0 0.1 x 1 1\n", "labels/a.txt:3: could not convert string"),
    ("0 0.5 0.5 1\n", "labels/a.txt:1: 4 numbers"),
    ("0 20 10 8 8\n", "labels/a.txt:1: 20 10 8 8: a box is in parts of the picture"),
    ("0 nan 0.5 1 1\n", "labels/a.txt:1: "),
    ("-1 0.5 0.5 1 1\n", "labels/a.txt:1: the class is -1"),
    ("0.5 0.5 0.5 1 1\n", "labels/a.txt:1: the class is 0.5"),
    ("inf 0.5 0.5 1 1\n", "labels/a.txt:1: "),
    ("\xe9", "labels/a.txt: .*0xe9"),
])
def test_yolo_names_the_line(annotated, by_yolo, text, words):
    (annotated / "labels/a.txt").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=words):
        by_yolo()


def test_yolo_names_the_picture(annotated, by_yolo):
    cut = io.BytesIO()
    Image.new("RGB", (40, 20)).save(cut, "TIFF", compression="tiff_lzw")
    for data in (b"no picture", cut.getvalue()[:-8]):
        (annotated / "images/a.jpg").write_bytes(data)
        with pytest.raises(ValueError, match="images/a.jpg: "):
            by_yolo()


def test_yolo_orphans(annotated, by_yolo):
    (annotated / "labels/gone.txt").write_text("0 0.5 0.5 1 1\n")
    with pytest.raises(ValueError, match="labels/gone.txt is of no picture in .*images"):
        by_yolo()
    shutil.rmtree(annotated / "labels")
    with pytest.raises(ValueError, match="has no folder 'labels'"):
        by_yolo()


@pytest.mark.parametrize("change, words", [
    (lambda d: d["images"].append({"id": 9, "file_name": "c.jpg"}), r"images\[2\]: an image .* 9"),
    (lambda d: d["categories"].append({"id": 18, "name": "x"}), "two categories have the same id"),
    (lambda d: d["annotations"][1].update(image_id=5), r"annotations\[1\]: there is no image 5"),
    (lambda d: d["annotations"][1].update(category_id=1), r"annotations\[1\]: .*no category 1"),
    (lambda d: d["annotations"][1].update(bbox=[1, 2, 3]), r"annotations\[1\]: 'bbox' is .*3"),
    (lambda d: d["annotations"][0].update(bbox=[1, 2, math.nan, 3]), r"annotations\[0\]: a box"),
    (lambda d: d["annotations"][0].update(bbox=[1, 2, -3, 3]), r"\[0\]: a box ends before"),
    (lambda d: d["annotations"][0].pop("bbox"), r"annotations\[0\]: 'bbox' is missing"),
    (lambda d: d["images"][1].pop("file_name"), r"images\[1\]: 'file_name' is missing"),
    (lambda d: d["images"][1].update(id="4"), r"images\[1\]: 'id' is '4'"),
    (lambda d: d["annotations"][0].update(bbox=[True, 2, 3, 3]), r"\[0\]: 'bbox' is .*True"),
    (lambda d: d["annotations"][1].update(iscrowd="no"), r"annotations\[1\]: 'iscrowd' is 'no'"),
    (lambda d: d.pop("annotations"), "coco.json: 'annotations' is missing"),
])
def test_coco_names_the_entry(annotated, change, words):
    path = annotated / "coco.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=f"coco.json: .*{words}" if "json" not in words else words):
        convert.coco(str(path), str(annotated / "m.jsonl"))
    assert not (annotated / "m.jsonl").exists()


@needs_daemon
def test_masks_of_coco(near, annotated):
    """Polygons and run lengths of each box, in both forms, through a flip; none in the second."""
    path, manifest = annotated / "coco.json", str(annotated / "out.jsonl")
    data = json.loads(path.read_text())
    data["annotations"][0]["segmentation"] = [[4, 2, 14, 2, 14, 8, 4, 8]]
    data["annotations"][1]["segmentation"] = {"counts": [20 * 3, 40, 20 * 35], "size": [20, 40]}
    path.write_text(json.dumps(data))
    assert convert.coco(str(path), manifest, masks=True) == ["cat", "dog"]
    loader = near.loader({"kind": "manifest", "path": manifest,
                          "root": str(annotated / "JPEGImages")}, batch_size=2, shuffle=False,
                         transforms=[stoker.RandomHorizontalFlip(1.0)], timeout=60)
    masks = next(iter(loader.batches()))["instances"]
    expected = np.zeros((2, 2, 20, 40), np.uint8)
    expected[0, 0, 2:8, 26:36] = 1
    expected[0, 1, :, 35:37] = 1
    assert np.array_equal(masks, expected)


@pytest.mark.parametrize("value, words", [
    (..., "is missing, neither polygons"), (5, "is 5, neither"), ([1, 2], "neither polygons"),
    ({"counts": 3, "size": [1, 1]}, "neither polygons"), ({"counts": []}, "neither polygons")])
def test_masks_that_are_none(annotated, value, words):
    path = annotated / "coco.json"
    data = json.loads(path.read_text())
    for entry in data["annotations"]:
        entry.update({} if value is ... else {"segmentation": value})
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=rf"annotations\[0\]: 'segmentation' .*{words}"):
        convert.coco(str(path), str(annotated / "m.jsonl"), masks=True)


def test_coco_of_python(annotated):
    """Values that JSON does not have, in what nobody asks for."""
    path = annotated / "coco.json"
    data = json.loads(path.read_text())
    data["images"][0].update(score=math.nan, url="\ud83d")
    path.write_text(json.dumps(data))
    assert convert.coco(str(path), str(annotated / "m.jsonl")) == ["cat", "dog"]
    assert paths_of(annotated / "m.jsonl") == ["a.jpg", "b.jpg"]
    for text, words in (b"{", "Expecting"), (b'{"a": "\xe9"}', "0xe9"):
        path.write_bytes(text)
        with pytest.raises(ValueError, match=f"coco.json: .*{words}"):
            convert.coco(str(path), str(annotated / "m.jsonl"))


def test_voc_names(annotated):
    """A picture is the one of the annotation's name, also if its <filename> is that of another."""
    for folder, ending in (("Annotations", "xml"), ("JPEGImages", "jpg")):
        for name in ("with blank 1", "other"):
            shutil.copy(annotated / folder / f"a.{ending}", annotated / folder / f"{name}.{ending}")
    os.rename(annotated / "JPEGImages/other.jpg", annotated / "JPEGImages/other.PNG")
    xml = annotated / "Annotations/other.xml"
    xml.write_text(xml.read_text().replace("a.jpg", "x.PNG"))
    (annotated / "ImageSets/Main/train.txt").write_text(
        "\ufeffa  1\r\nb -1\r\nwith blank 1\nother\n", encoding="utf-8")
    convert.voc(str(annotated), "Main/train", str(annotated / "m.jsonl"))
    assert paths_of(annotated / "m.jsonl") == [
        f"JPEGImages/{name}" for name in ("a.jpg", "b.jpg", "with blank 1.jpg", "other.PNG")]


@pytest.mark.parametrize("change, words", [
    (lambda d: os.unlink(d / "Annotations/b.xml"), "train.txt:2 names 'b', and there is no"),
    (lambda d: os.unlink(d / "JPEGImages/b.jpg"), "Annotations/b.xml: its picture is not in"),
    (lambda d: (d / "Annotations/b.xml").write_text("<x>"), "Annotations/b.xml: "),
    (lambda d: (d / "ImageSets/Main/train.txt").write_bytes(b"\xe9"), "train.txt: .*0xe9"),
    (lambda d: (d / "Annotations/b.xml").write_text(
        "<a><object><name>c</name><bndbox><xmin>x</xmin></bndbox></object></a>"),
     "Annotations/b.xml: could not convert"),
])
def test_voc_names_the_file(annotated, change, words):
    change(annotated)
    with pytest.raises(ValueError, match=words):
        convert.voc(str(annotated), "Main/train", str(annotated / "m.jsonl"))


def test_voc_masks(annotated):
    with pytest.raises(ValueError, match="train.txt:1 names 'a', and there is no Segmentation"):
        convert.voc(str(annotated), "Main/train", str(annotated / "m.jsonl"), masks=True)


def test_a_folder_with_junk(tmp_path):
    """Nothing hidden goes into shards, and links are followed once."""
    (tmp_path / "set/a/more").mkdir(parents=True)
    for name in ("1.jpg", "._1.jpg", "more/2.png", "Thumbs.db"):
        (tmp_path / "set/a" / name).write_bytes(b"x")
    os.symlink("a/more", tmp_path / "set/b")
    keys = [sample["__key__"] for sample in shards.from_folder(tmp_path / "set")]
    assert keys == ["a/1_jpg", "a/more/2_png", "b/2_png"]
    os.symlink("..", tmp_path / "set/a/circle")
    with pytest.raises(OSError, match="circle.* leads back to"):
        list(shards.from_folder(tmp_path / "set"))


# -- parquet --------------------------------------------------------------------------------------


@pytest.fixture(name="write")
def fixture_write(tmp_path):
    """Writes rows to a parquet file; its path."""
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")

    def write(name, rows):
        parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / name)
        return tmp_path / name
    return write


def png(value):
    out = io.BytesIO()
    Image.new("RGB", (8, 8), (value, 0, 0)).save(out, "PNG")
    return out.getvalue()


def test_parquet(write):
    rows = [{"image": {"bytes": b"\xff\xd8%d" % number, "path": None}, "label": number, "id": "x"}
            for number in range(100)]
    found = list(shards.from_parquet(write("a.parquet", rows)))
    assert [sample["jpg"] for sample in found] == [row["image"]["bytes"] for row in rows]
    assert [sample["cls"] for sample in found] == list(range(100))
    assert found[7]["json"] == {"id": "x"}


@needs_daemon
def test_all_columns_of_parquet_come_back(near, write, tmp_path):
    """Through shards: bytes as components, all else as JSON."""
    row = {"image": png(1), "label": True, "mask": {"bytes": png(2), "path": "m.png"},
           "raw": b"\0\xff", "day": datetime.date(2024, 2, 29),
           "at": datetime.datetime(2024, 2, 29, 12, 30),
           "price": decimal.Decimal("1.10"), "score": math.nan, "large": 2**63 - 1,
           "nested": [{"x": [1, None]}], "none": None, "text": "é\U0001f600"}
    made = shards.from_parquet(write("a.parquet", [row]))
    [path] = stoker.write_shards(made, str(tmp_path / "s-%d.tar"))
    with near.loader(path, batch_size=1, dtype="uint8", layout="NHWC") as loader:
        images, labels = next(iter(loader))
        assert labels.tolist() == [1] and images[0, 0, 0].tolist() == [1, 0, 0]
    [sample] = shards.from_parquet(tmp_path / "a.parquet")
    assert sample["mask"] == row["mask"]["bytes"] and sample["raw"] == b"\0\xff"
    other = sample["json"]
    assert math.isnan(other.pop("score"))
    assert other == {"day": "2024-02-29", "at": "2024-02-29 12:30:00", "price": "1.10",
                     "large": 2**63 - 1, "nested": [{"x": [1, None]}], "none": None,
                     "text": row["text"]}


def test_patterns_of_parquet(write, tmp_path):
    for number in (1, 0):
        write(f"t-{number}.parquet", [{"image": png(number), "label": number}])
    found = list(shards.from_parquet(str(tmp_path / "t-*.parquet")))
    assert [(sample["__key__"], sample["cls"]) for sample in found] == [("000000000", 0),
                                                                      ("000000001", 1)]
    with pytest.raises(FileNotFoundError, match=r"no file fits '.*x-\*.parquet'"):
        list(shards.from_parquet(str(tmp_path / "x-*.parquet")))


@pytest.mark.parametrize("second, words", [
    ({"image": None, "label": 1}, "b.parquet: row 1: there are no bytes in 'image'"),
    ({"image": b"what is it", "label": 1}, "b.parquet: row 1: 'image' is not a picture"),
    ({"image": png(1), "label": None}, "b.parquet: row 1: the label 'label' is null"),
    ({"image": png(1), "label": 1, "json": b"x"}, "b.parquet: row 1: the column 'json' has bytes"),
])
def test_parquet_names_the_row(write, tmp_path, second, words):
    good = {"image": png(0), "label": 0, "json": None}
    write("a.parquet", [good] * 3)
    write("b.parquet", [good, second])
    with pytest.raises(ValueError, match=words):
        list(shards.from_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"]))


def test_columns_that_parquet_lacks(write):
    path = write("a.parquet", [{"img": png(0), "fine_label": 1}])
    with pytest.raises(ValueError, match="a.parquet has no column 'image', only img, fine_label"):
        list(shards.from_parquet(path))
    with pytest.raises(ValueError, match="has no column 'label', .*label=None"):
        list(shards.from_parquet(path, image="img"))
    [sample] = shards.from_parquet(path, image="img", label=None)
    assert sample["json"] == {"fine_label": 1} and "cls" not in sample
