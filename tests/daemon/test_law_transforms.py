# SPDX-License-Identifier: MIT
"""The law for each transform that there is: their names are read from the source, so that none is
left out. Made by one worker without vector instructions, by several with the best that the
machine has, and from the middle of an epoch by the ranks of a job: no bytes differ (FAULTS 88).

A transform is tried with its defaults, what it needs is in the reference's NEEDED or COLOURS;
one whose defaults change nothing has its parameters in EXAMPLES. Those for boxes get boxes.
"""

import json
import random
import re
import shutil
import sys

import pytest

from harness import SOURCE, Daemon, digest_of

sys.path.insert(0, str(SOURCE / "tests" / "reference"))

import stoker_reference as reference  # noqa: E402 (it stands in a folder of its own)

ROOM = SOURCE / "daemon" / "transform"
FILES = re.findall(r"^\tX\((\w+)\)", (ROOM / "registry_list.h").read_text(), re.MULTILINE)
NAMES = [name for file in FILES for name in re.findall(
    rf'^const struct transform_row transform_{file} = \{{\n\t\.name = "(\w+)",$',
    next((ROOM / "transforms").rglob(f"{file}.c")).read_text(), re.MULTILINE)]
EXAMPLES = {
    "ColorJitter": {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1},
    "Grayscale": {"num_output_channels": 3},
    "ImageDataGenerator": {
        "samplewise_center": True, "samplewise_std_normalization": True, "rotation_range": 40,
        "width_shift_range": 0.2, "height_shift_range": 0.2, "brightness_range": [0.5, 1.5],
        "shear_range": 20, "zoom_range": 0.3, "channel_shift_range": 30, "fill_mode": "reflect",
        "horizontal_flip": True, "vertical_flip": True, "rescale": 1 / 255},
    "RandomAffine": {"translate": [0.1, 0.2], "scale": [0.8, 1.2], "shear": 10,
                     "interpolation": "bilinear"},
    "RandomAdjustSharpness": {"p": 0.75},
    "RandomRotation": {"interpolation": "bilinear", "fill": 9},
}
STREAM = {"order_seed": 7, "augment_seed": 9, "epochs": 1, "subset_start": 8, "subset_stop": 24,
          "batch_size": 3}
RESIZE = {"name": "Resize", "size": [36, 30]}
BOXED = ("RandomIoUCrop", "ConvertBoundingBoxFormat")
# Its runs hang on the reader's batch (tests/python/test_buckets.py); own files (test_wide.py).
OWN_TESTS = {"Buckets", "ReadAs"}
UNSIZED = ("RandomIoUCrop", "RandomZoomOut", "ScaleJitter", "RandomShortestSize")


@pytest.fixture(scope="module", name="boxed")
def fixture_boxed(photos, tmp_path_factory):
    """The photos with boxes: none of every fourth, and of every fourth one that reaches out."""
    folder = tmp_path_factory.mktemp("boxed")
    shutil.copytree(photos, folder / "photos")
    files = sorted(file for file in (folder / "photos").rglob("*") if file.is_file())
    rows = [{"path": str(file.relative_to(folder)), "label": place,
             "boxes": [[-5 if place % 4 == 1 else 5, 4, 40, 30]] * (place % 4)}
            for place, file in enumerate(files)]
    (folder / "boxed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "boxed.jsonl"


@pytest.fixture(scope="module", name="daemons")
def fixture_daemons():
    """One that makes a sample at a time and knows no vectors and no index, and one that has all it
    can have."""
    daemons = [Daemon(environment={"STOKER_CPU": "plain"}, workers=1, fetchers=1, index_memory="0"),
               Daemon(workers=3, fetchers=2)]
    try:
        for daemon in daemons:
            daemon.spawn()
        yield daemons
        for daemon in daemons:
            daemon.terminate()
    finally:
        for daemon in daemons:
            if daemon.process:
                daemon.kill()
            daemon.remove()


def digests(daemon, photos, transforms, **fields):
    """{position: digest} of one reader's first epoch."""
    with daemon.connect() as peer:
        answer = peer.attach(photos, **{**STREAM, "transforms": transforms, **fields})
        assert answer.name == "attached", f"{answer.fields}: has it a place in EXAMPLES?"
        keep = ["image", "label", "index", *["boxes"] * (photos.suffix == ".jsonl")]
        return {position: digest_of(arrays) for _, position, arrays in peer.samples(keep)}


def listed(transform):
    """A list with the transform, whose images have one size."""
    return [RESIZE, transform, *[RESIZE] * (transform["name"] in UNSIZED)]


def example(daemon, photos, name):
    """A map of the transform that does something: the daemon says what it needs."""
    transform = {"name": name, **EXAMPLES.get(name, {})}
    if name in reference.COLOURS:
        transform.update(reference.COLOURS[name][1](random.Random(4)))
    while True:
        with daemon.connect() as peer:
            answer = peer.attach(photos, **{**STREAM, "transforms": listed(transform)})
        needs = re.search(rf"{name} needs '(\w+)'", answer.fields.get("text", ""))
        if not needs:
            return transform
        transform[needs.group(1)] = reference.NEEDED[needs.group(1)]


def test_the_table_is_found():
    assert len(NAMES) > 15 and {"Resize", "RandomOrder"} <= set(NAMES)
    assert len(NAMES) == len(FILES), "a row that is written in another way"


@pytest.mark.parametrize("name", sorted({*NAMES} - OWN_TESTS))
def test_a_transform(daemons, photos, boxed, name):
    plain, best = daemons
    photos = boxed if name.endswith("BoundingBoxes") or name in BOXED else photos
    transforms = listed(example(plain, photos, name))
    reference = digests(plain, photos, transforms)
    assert sorted(reference) == list(range(16))
    assert digests(best, photos, transforms) == reference
    late = {}
    for rank in range(2):
        late.update(digests(best, photos, transforms, position=5, rank=rank, world=2, batch_size=2))
    assert late == {position: reference[position] for position in range(5, 16)}
    unchanged = digests(best, photos, [RESIZE])
    assert name in ("ToTensor", "Resize") or reference != unchanged, "the example does nothing"
