# SPDX-License-Identifier: MIT
"""Annotations as COCO, Pascal VOC and YOLO have them -> a manifest (JSON Lines), whose boxes go
through the transforms with their pictures. Needs no daemon.

A row has the boxes of a picture in pixels, and beside them, by number of the box, ``targets``:
``category``, the place of its name in the list that is returned, or -1 where there is no box; all
rows have as many as the picture with most boxes has. Transforms may leave a box empty, but never
reorder boxes.
"""
from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple
from xml.etree import ElementTree

__all__ = ["coco", "voc", "yolo"]

Box = Tuple[float, float, float, float]


def coco(annotations: str, manifest: str) -> List[str]:
    """``annotations``: an instances_*.json. Paths are the ``file_name`` of the pictures, relative
    to what the description's ``root`` says. Targets: ``category``, ``iscrowd`` and ``image_id``.
    Returns the names of the categories, by the order of their ids.
    """
    with open(annotations, encoding="utf-8") as file:
        data = json.load(file)
    categories = sorted(data["categories"], key=lambda category: category["id"])
    place = {category["id"]: number for number, category in enumerate(categories)}
    rows = {image["id"]: _Row(image["file_name"], {"image_id": image["id"]})
            for image in data["images"]}
    for entry in data["annotations"]:
        x, y, width, height = entry["bbox"]
        rows[entry["image_id"]].add((x, y, x + width, y + height), place[entry["category_id"]],
                                    iscrowd=entry.get("iscrowd", 0))
    _write(manifest, list(rows.values()), ("category", "iscrowd"))
    return [category["name"] for category in categories]


def voc(folder: str, names: str, manifest: str, masks: bool = False) -> List[str]:
    """``folder``: with Annotations, JPEGImages and ImageSets; ``names``: such as Main/train, of
    ImageSets. Paths are relative to ``folder``. Targets: ``category`` and ``difficult``; ``masks``:
    also those of SegmentationClass, which all pictures must have (names = Segmentation/train). The
    names of the categories, sorted.
    """
    found: List[Tuple[_Row, List[Tuple[Box, str, int]]]] = []
    with open(os.path.join(folder, "ImageSets", f"{names}.txt"), encoding="utf-8") as file:
        listed = [line.split()[0] for line in file if line.strip()]
    for name in listed:
        tree = ElementTree.parse(os.path.join(folder, "Annotations", f"{name}.xml"))
        row = _Row(f"JPEGImages/{_text(tree, 'filename')}", {})
        if masks:
            row.mask = f"SegmentationClass/{name}.png"
        found.append((row, [_voc_box(entry) for entry in tree.iterfind("object")]))
    categories = sorted({name for _, boxes in found for _, name, _ in boxes})
    for row, boxes in found:
        for box, name, difficult in boxes:
            row.add(box, categories.index(name), difficult=difficult)
    _write(manifest, [row for row, _ in found], ("category", "difficult"))
    return categories


def yolo(folder: str, manifest: str,
         size: Optional[Callable[[str], Tuple[int, int]]] = None) -> int:
    """``folder``: with the folders images and labels; paths are relative to it. Targets:
    ``category``. ``size``: gives width and height of a picture, by its path; None: Pillow does. The
    number of pictures.
    """
    size = size or _pillow_size
    rows = []
    for place, _, files in sorted(os.walk(os.path.join(folder, "images"))):
        for name in sorted(files):
            path = os.path.relpath(os.path.join(place, name), folder)
            stem = os.path.splitext(os.path.relpath(path, "images"))[0]
            row = _Row(path, {})
            labels = os.path.join(folder, "labels", f"{stem}.txt")
            if os.path.exists(labels):  # without one there is nothing in the picture
                _yolo_boxes(row, labels, size(os.path.join(folder, path)))
            rows.append(row)
    _write(manifest, rows, ("category",))
    return len(rows)


class _Row:
    """A picture and its boxes."""

    def __init__(self, path: str, targets: Dict[str, Any]) -> None:
        self.path, self.targets = path, targets
        self.mask: Optional[str] = None
        self.boxes: List[Box] = []
        self.columns: Dict[str, List[int]] = {}

    def add(self, box: Box, category: int, **columns: int) -> None:
        self.boxes.append(box)
        for name, value in {"category": category, **columns}.items():
            self.columns.setdefault(name, []).append(int(value))


def _write(manifest: str, rows: Sequence[_Row], columns: Sequence[str]) -> None:
    if not rows:
        raise ValueError("there are no pictures")
    most = max(1, max(len(row.boxes) for row in rows))
    with open(manifest, "w", encoding="utf-8") as file:
        for row in rows:
            targets = dict(row.targets)
            for name in columns:
                values = row.columns.get(name, [])
                targets[name] = values + [-1] * (most - len(values))
            out = {"path": row.path, "boxes": row.boxes, "targets": targets}
            if row.mask:
                out["mask"] = row.mask
            file.write(json.dumps(out) + "\n")


def _text(tree: Any, name: str) -> str:
    text = tree.findtext(name)
    if text is None:
        raise ValueError(f"an annotation has no <{name}>")
    return str(text)


def _voc_box(entry: Any) -> Tuple[Box, str, int]:
    """VOC counts pixels from 1 and both ends are inside."""
    box = entry.find("bndbox")
    if box is None:
        raise ValueError("an object has no <bndbox>")
    xmin, ymin, xmax, ymax = (float(_text(box, name)) for name in ("xmin", "ymin", "xmax", "ymax"))
    return ((xmin - 1, ymin - 1, xmax, ymax), _text(entry, "name"),
            int(entry.findtext("difficult") or 0))


def _pillow_size(path: str) -> Tuple[int, int]:
    from PIL import Image  # pylint: disable=import-outside-toplevel

    with Image.open(path) as image:
        width, height = image.size
    return width, height


def _yolo_boxes(row: _Row, labels: str, size: Tuple[int, int]) -> None:
    with open(labels, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if not words:
                continue
            if len(words) != 5:
                raise ValueError(f"{labels}:{number}: {len(words)} numbers, and a box has 5: "
                                 "class, center, width and height")
            x, y, width, height = (float(word) for word in words[1:])
            row.add(((x - width / 2) * size[0], (y - height / 2) * size[1],
                     (x + width / 2) * size[0], (y + height / 2) * size[1]), int(words[0]))
