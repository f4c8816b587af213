# SPDX-License-Identifier: MIT
"""Annotations as COCO, Pascal VOC and YOLO have them -> a manifest (JSON Lines), whose boxes go
through the transforms with their pictures. Needs no daemon.

A row has the boxes of a picture in pixels, and beside them, by number of the box, ``targets``:
``category``, the place of its name in the list that is returned, or -1 where there is no box; all
rows have as many as the picture with most boxes has. Transforms may leave a box empty, but never
reorder boxes.

Boxes are where the annotations have them: where pictures are turned by EXIF, in the picture as it
is shown, so load it with ``exif_orientation=True``. What annotations say of no picture is an error,
not left out; a picture without annotations has no boxes. A ValueError names the file, and in it the
line or the entry (from 0).
"""
from __future__ import annotations

import json
import math
import os
import re
import warnings
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple
from xml.etree import ElementTree

from . import _pictures
from .errors import short

__all__ = ["coco", "coco_panoptic", "voc", "yolo"]

Box = Tuple[float, float, float, float]
_XMP = b"http://ns.adobe.com/xap/1.0/\0"  # before the text, in a JPEG


def coco(annotations: str, manifest: str, masks: bool = False, sizes: bool = False) -> List[str]:
    """``annotations``: an instances_*.json. Paths are the ``file_name`` of the pictures, relative
    to what the description's ``root`` says. Targets: ``category``, ``iscrowd`` and ``image_id``.
    ``masks``: also each ``segmentation``, by number of the box: a sample has ``instances`` then,
    (K, H, W), as many as the picture with most has, drawn as pycocotools does. ``sizes``: also
    ``width`` and ``height`` of the pictures, as Buckets take them instead of reading headers.
    Returns the names of the categories, by the order of their ids.
    """
    data = _coco_file(annotations)
    names, place = _coco_categories(data)
    rows = _coco_rows(data, ("width", "height") if sizes else ())
    for entry in data.entries("annotations"):
        row, category = rows.get(entry.integer("image_id")), entry.integer("category_id")
        if row is None or category not in place:
            raise ValueError(f"{entry.name}: there is no "
                             + (f"category {category}" if row else
                                f"image {entry.value['image_id']}") + ": remove the annotation")
        row.add(entry.box("bbox"), place[category], iscrowd=entry.flag("iscrowd"))
        if masks:
            row.instances.append(entry.segmentation())
    _write(manifest, list(rows.values()), ("category", "iscrowd"), instances=masks)
    return names


def coco_panoptic(annotations: str, pictures: str, masks: str, manifest: str) -> List[str]:
    """``annotations``: a panoptic_*.json; ``pictures`` and ``masks``: the folders of its JPEGs and
    PNGs. Paths are relative to the folder of the manifest, which both are below. A sample has
    ``panoptic``, (H, W) of int32: the id of each pixel's segment, 0 where there is none. Boxes are
    those of the segments, and beside them stand the targets ``category``, ``iscrowd`` and
    ``segment_id``, the id that the mask has; and ``image_id``. A mask that has an id which its
    picture's segments lack makes a bad sample. The names of the categories, by the order of their
    ids.
    """
    data = _coco_file(annotations)
    names, place = _coco_categories(data)
    rows = _coco_rows(data)
    for row in rows.values():
        row.path = os.path.join(_below(manifest, pictures), row.path)
    for entry in data.entries("annotations"):
        row = rows.get(entry.integer("image_id"))
        if row is None:
            raise ValueError(f"{entry.name}: there is no image {entry.value['image_id']}"
                             ": remove the annotation")
        if row.panoptic:
            raise ValueError(f"{entry.name}: an annotation before it is of image "
                             f"{entry.value['image_id']}, too: remove one of them")
        path = os.path.join(masks, entry.text("file_name"))
        if not os.path.exists(path):
            raise ValueError(f"{entry.name}: there is no {path}: copy the file there, or remove "
                             "the annotation and its image")
        row.panoptic = os.path.join(_below(manifest, masks), entry.text("file_name"))
        _coco_segments(row, entry, place)
    for number, row in rows.items():
        if not row.panoptic:
            raise ValueError(f"{annotations}: image {number} has no annotation, and so no mask: "
                             "add it, or remove the image")
    _write(manifest, list(rows.values()), ("category", "iscrowd", "segment_id"))
    return names


def voc(folder: str, names: str, manifest: str, masks: bool = False) -> List[str]:
    """``folder``: with Annotations, JPEGImages and ImageSets; ``names``: such as Main/train, of
    ImageSets. Paths are relative to ``folder``. A picture has the name of its annotation, or else
    the ``filename`` in it. Targets: ``category`` and ``difficult``; ``masks``: also those of
    SegmentationClass, which all pictures must have (names = Segmentation/train). The names of the
    categories, sorted.
    """
    found: List[Tuple[_Row, List[Tuple[Box, str, int]]]] = []
    for place, name in _voc_names(folder, names):
        path = os.path.join(folder, "Annotations", f"{name}.xml")
        try:
            tree = ElementTree.parse(path)
            row = _Row(f"JPEGImages/{_voc_picture(folder, name, tree)}", {})
            boxes = [_voc_box(entry) for entry in tree.iterfind("object")]
        except FileNotFoundError:
            raise ValueError(f"{place} names {name!r}, and there is no {path}"
                             ": copy the file there, or leave the entry out") from None
        except (ValueError, ElementTree.ParseError) as error:
            raise ValueError(f"{path}: {error}") from None
        if masks:
            row.mask = f"SegmentationClass/{name}.png"
            if not os.path.exists(os.path.join(folder, row.mask)):
                raise ValueError(f"{place} names {name!r}, and there is no {row.mask}"
                                 ": copy the file there, or leave the entry out")
        found.append((row, boxes))
    categories = sorted({name for _, boxes in found for _, name, _ in boxes})
    for row, boxes in found:
        for box, name, difficult in boxes:
            row.add(box, categories.index(name), difficult=difficult)
    _write(manifest, [row for row, _ in found], ("category", "difficult"))
    return categories


def yolo(folder: str, manifest: str,
         size: Optional[Callable[[str], Tuple[int, int]]] = None) -> int:
    """``folder``: with the folders images and labels; paths are relative to it. Targets:
    ``category``. ``size``: gives width and height of a picture as it is shown, by its path; None:
    Pillow does, and warns if there are pictures that EXIF turns. The number of pictures.
    """
    images, labels = (os.path.join(folder, name) for name in ("images", "labels"))
    if not os.path.isdir(labels):
        raise ValueError(f"{folder} has no folder 'labels' beside 'images': YOLO's files must be "
                         "there")
    left = {os.path.relpath(os.path.join(*found), labels)
            for found in _pictures.files(labels, (".txt",)) if found[1] != "classes.txt"}
    rows, used, turned = [], set(), 0
    for found in _pictures.files(images, _pictures.PICTURES):
        path = os.path.join(*found)
        row = _Row(os.path.relpath(path, folder), {})
        name = f"{os.path.splitext(os.path.relpath(path, images))[0]}.txt"
        if name in left:  # without one there is nothing in the picture
            used.add(name)
            shown, is_turned = (size(path), False) if size else _pillow_size(path)
            turned += is_turned
            _yolo_boxes(row, os.path.join(labels, name), shown)
        rows.append(row)
    if left - used:
        raise ValueError(f"{os.path.join(labels, min(left - used))} is of no picture in {images}: "
                         "remove it")
    _write(manifest, rows, ("category",))
    if turned:
        warnings.warn(f"pictures that EXIF turns: {turned}; their boxes are for loaders with "
                      "exif_orientation=True", stacklevel=2)
    return len(rows)


class _Entry:
    """An object in a file of JSON."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value
        if not isinstance(value, dict):
            raise ValueError(f"{name}: an object was expected, not {short(value)}")

    def _get(self, key: str, kind: type) -> Any:
        value = self.value.get(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"{self.name}: {key!r} is "
                             + (short(value) if key in self.value else "missing")
                             + f": give a value of type {kind.__name__}")
        return value

    def entries(self, key: str) -> List[_Entry]:
        return [_Entry(f"{self.name}: {key}[{number}]", value)
                for number, value in enumerate(self._get(key, list))]

    def integer(self, key: str) -> int:
        return int(self._get(key, int))

    def text(self, key: str) -> str:
        return str(self._get(key, str))

    def flag(self, key: str) -> int:
        """0 where there is none."""
        value = self.value.get(key) or 0
        if value not in (0, 1):
            raise ValueError(f"{self.name}: {key!r} is {short(value)}, not 0 or 1"
                             ": correct the entry")
        return int(value)

    def box(self, key: str) -> Box:
        """Of left, top, width and height."""
        numbers = self._get(key, list)
        if len(numbers) != 4 or not all(type(one) in (int, float) for one in numbers):
            raise ValueError(f"{self.name}: {key!r} is {short(numbers)}, not four numbers"
                             ": correct the entry")
        x, y, width, height = numbers
        try:
            return _box(x, y, x + width, y + height)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None


    def segmentation(self) -> Any:
        """Polygons, or run lengths: the daemon says what is wrong within them."""
        value = self.value.get("segmentation")
        good = isinstance(value, list) and all(isinstance(one, list) for one in value) or \
            isinstance(value, dict) and isinstance(value.get("size"), list) and \
            isinstance(value.get("counts"), (list, str))
        if not good:
            raise ValueError(f"{self.name}: 'segmentation' is "
                             + (short(value) if "segmentation" in self.value else "missing")
                             + ', neither polygons [[x, y, ...], ...] nor run lengths {"size": '
                             '[height, width], "counts": ...}')
        return {key: value[key] for key in ("size", "counts")} if isinstance(value, dict) else value


class _Row:
    """A picture and its boxes."""

    def __init__(self, path: str, targets: Dict[str, Any]) -> None:
        self.path, self.targets = path, targets
        self.mask: Optional[str] = None
        self.panoptic: Optional[str] = None
        self.boxes: List[Box] = []
        self.instances: List[Any] = []  # the mask of each
        self.columns: Dict[str, List[int]] = {}

    def add(self, box: Box, category: int, **columns: Any) -> None:
        self.boxes.append(box)
        for name, value in {"category": category, **columns}.items():
            self.columns.setdefault(name, []).append(int(value))


def _write(manifest: str, rows: Sequence[_Row], columns: Sequence[str],
           instances: bool = False) -> None:
    if not rows:
        raise ValueError("there are no pictures")
    most = max(1, max(len(row.boxes) for row in rows))
    for row in rows:
        try:
            row.path.encode()
        except UnicodeEncodeError:
            raise ValueError(f"the name {row.path!r} is not UTF-8: rename the picture") from None
    with open(manifest, "w", encoding="utf-8") as file:
        for row in rows:
            targets = dict(row.targets)
            for name in columns:
                values = row.columns.get(name, [])
                targets[name] = values + [-1] * (most - len(values))
            out = {"path": row.path, "boxes": row.boxes, "targets": targets}
            if row.mask:
                out["mask"] = row.mask
            if row.panoptic:
                out["panoptic"] = row.panoptic
            if instances:
                out["instances"] = row.instances
            file.write(json.dumps(out) + "\n")


def _coco_file(annotations: str) -> _Entry:
    with open(annotations, encoding="utf-8-sig") as file:
        try:
            return _Entry(annotations, json.load(file))
        except ValueError as error:  # no JSON, or no UTF-8
            raise ValueError(f"{annotations}: {error}") from None


def _coco_categories(data: _Entry) -> Tuple[List[str], Dict[int, int]]:
    """Their names, by the order of their ids, and the place of each id."""
    categories = sorted(data.entries("categories"), key=lambda entry: entry.integer("id"))
    place = {entry.value["id"]: number for number, entry in enumerate(categories)}
    if len(place) < len(categories):
        raise ValueError(f"{data.name}: two categories have the same id: give each its own")
    return [entry.text("name") for entry in categories], place


def _coco_rows(data: _Entry, sizes: Sequence[str] = ()) -> Dict[int, _Row]:
    rows: Dict[int, _Row] = {}
    for entry in data.entries("images"):
        number = entry.integer("id")
        if number in rows:
            raise ValueError(f"{entry.name}: an image before it has the id {number}, too: "
                             "give each its own")
        size = {name: entry.integer(name) for name in sizes}
        rows[number] = _Row(entry.text("file_name"), {"image_id": number, **size})
    return rows


def _below(manifest: str, folder: str) -> str:
    """The folder's path, relative to the folder of the manifest."""
    top = os.path.dirname(os.path.abspath(manifest))
    path = os.path.relpath(os.path.abspath(folder), top)
    if path.split(os.sep)[0] == os.pardir:
        raise ValueError(f"{folder} is not below {top}, where the manifest is to be: write it to a "
                         "folder that has pictures and masks below it")
    return "" if path == os.curdir else path


def _coco_segments(row: _Row, annotation: _Entry, place: Dict[int, int]) -> None:
    seen = set()
    for entry in annotation.entries("segments_info"):
        number, category = entry.integer("id"), entry.integer("category_id")
        if not 0 < number < 1 << 24:
            raise ValueError(f"{entry.name}: the id {number} is not from 1 to 16777215, as those "
                             "of a mask's pixels are: correct the entry")
        if number in seen:
            raise ValueError(f"{entry.name}: a segment before it has the id {number}, too: "
                             "give each its own")
        if category not in place:
            raise ValueError(f"{entry.name}: there is no category {category}: remove the segment")
        seen.add(number)
        row.add(entry.box("bbox"), place[category], iscrowd=entry.flag("iscrowd"),
                segment_id=number)


def _box(*corners: float) -> Box:
    if not all(math.isfinite(corner) for corner in corners):
        raise ValueError(f"a box is {corners}: correct the annotation")
    if corners[2] < corners[0] or corners[3] < corners[1]:
        raise ValueError(f"a box ends before it begins: {corners}: correct the annotation")
    return corners[0], corners[1], corners[2], corners[3]


def _text(tree: Any, name: str) -> str:
    text = tree.findtext(name)
    if text is None or not text.strip():
        raise ValueError(f"an annotation has no <{name}>: correct the annotation")
    return str(text).strip()


def _voc_names(folder: str, names: str) -> Iterator[Tuple[str, str]]:
    """Each with the place in the list that names it. A class' list has 1, 0 or -1 behind a name;
    names can have blanks."""
    for place, line in _lines(os.path.join(folder, "ImageSets", f"{names}.txt")):
        name = line.strip()
        words = name.rsplit(None, 1)
        if len(words) == 2 and words[1] in ("1", "0", "-1") and not os.path.exists(
                os.path.join(folder, "Annotations", f"{name}.xml")):
            name = words[0]
        if name:
            yield place, name


def _voc_picture(folder: str, name: str, tree: Any) -> str:
    given = (tree.findtext("filename") or "").strip()
    endings = [os.path.splitext(given)[1], ".jpg", *_pictures.PICTURES]
    for candidate in [*(name + ending for ending in endings if ending), given]:
        if candidate and os.path.exists(os.path.join(folder, "JPEGImages", candidate)):
            return candidate
    raise ValueError(f"its picture is not in JPEGImages, neither {name}.jpg nor {given!r}"
                     ": copy it there")


def _voc_box(entry: Any) -> Tuple[Box, str, int]:
    """VOC counts pixels from 1 and both ends are inside."""
    box = entry.find("bndbox")
    if box is None:
        raise ValueError("an object has no <bndbox>: correct the annotation")
    xmin, ymin, xmax, ymax = (float(_text(box, name)) for name in ("xmin", "ymin", "xmax", "ymax"))
    return (_box(xmin - 1, ymin - 1, xmax, ymax), _text(entry, "name"),
            int(entry.findtext("difficult") or 0))


def _pillow_size(path: str) -> Tuple[Tuple[int, int], bool]:
    """As the picture is shown, and whether EXIF turns it."""
    from PIL import Image  # pylint: disable=import-outside-toplevel

    try:
        with Image.open(path) as image:
            if image.format == "TIFF":  # is turned when it is loaded, with or without being asked
                image.load()
                return (image.width, image.height), False
            orientation = _orientation(image)
            width, height = image.size
    except FileNotFoundError:
        raise
    except Exception as error:  # of many sorts, and few of them name the file
        raise ValueError(f"{path}: {error}") from None
    if orientation in (5, 6, 7, 8):
        width, height = height, width
    return (width, height), orientation in (2, 3, 4, 5, 6, 7, 8)


def _orientation(image: Any) -> Any:
    """As the daemon takes it: Pillows before 12 look into PNG's XMP alone."""
    found = image.getexif().get(0x112)
    if found is not None:
        return found
    texts = [data for name, data in getattr(image, "applist", ())
             if name == "APP1" and data.startswith(_XMP)]
    text = image.info.get("xmp") or b"".join(texts[-1:])
    match = re.search(rb'tiff:Orientation(="|>)([0-9])', text)
    return int(match[2]) if match else 1


def _lines(path: str) -> Iterator[Tuple[str, str]]:
    """Each with its place."""
    with open(path, encoding="utf-8-sig") as file:
        try:
            for number, line in enumerate(file, 1):
                yield f"{path}:{number}", line
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}: {error}") from None


def _yolo_boxes(row: _Row, labels: str, size: Tuple[int, int]) -> None:
    for place, line in _lines(labels):
        words = line.split()
        if not words:
            continue
        try:
            row.add(*_yolo_box(words, size))
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None


def _yolo_box(words: Sequence[str], size: Tuple[int, int]) -> Tuple[Box, int]:
    if len(words) != 5:
        raise ValueError(f"{len(words)} numbers, and a box has 5: class, center, width and height"
                         ": correct the line")
    category, (x, y, width, height) = float(words[0]), map(float, words[1:])
    if category < 0 or not category.is_integer():
        raise ValueError(f"the class is {words[0]}: correct the line")
    # Tools round, so a little more than the whole picture is possible.
    if not all(-0.01 <= part <= 1.01 for part in (x, y, width, height)):
        raise ValueError(f"{' '.join(words[1:])}: a box is in parts of the picture, from 0 to 1")
    return _box((x - width / 2) * size[0], (y - height / 2) * size[1],
                (x + width / 2) * size[0], (y + height / 2) * size[1]), int(category)
