# SPDX-License-Identifier: MIT
"""Damaged pictures: bad is what Pillow refuses to load, at every visit; tests/bench/mutants.py asks
this of many more."""

import pathlib
import sys

import pytest

from harness import SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "bench"))
import mutants  # noqa: E402 (it stands in the bench's folder)

COUNT = 100


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_bad_is_what_pillow_refuses(photos, tmp_path, form):
    """At every visit; and what is not bad has Pillow's bytes."""
    sources = sorted(path for path in photos.rglob("*") if path.is_file())
    expected = mutants.make(tmp_path / form, form, sources, COUNT, seed=1)
    seen = list(mutants.visits(tmp_path / form, sorted(expected)))
    wrong, faults = mutants.judge(form, expected, seen, show=COUNT)
    assert not wrong and not faults
    refused = sum(pixels is None for pixels in expected.values())
    assert COUNT / 10 < refused < COUNT, "there is something to tell apart"


def test_a_marker_in_the_scan(photos, tmp_path, spawn):
    """Below all crops, in JPEGs of every kind."""
    names = []
    folder = tmp_path / "class"
    folder.mkdir()
    with mutants.Image.open(next(photos.rglob("*.jpg"))) as image:
        image = image.convert("RGB").resize((160, 160))
    for number, variant in enumerate(mutants.VARIANTS["JPEG"]):
        data = variant(image) if callable(variant) else mutants.saved(image, "JPEG", **variant)
        at = len(data) - 40
        for marker in (0xd3, 0xd9, 0xc4, 0xe1, 0x80, 0xd8):
            names.append(f"{number}-{marker:x}.jpg")
            (folder / names[-1]).write_bytes(data[:at] + bytes([0xff, marker]) + data[at + 2:])
    names.sort()
    refused = {name for name in names if mutants.whole((folder / name).read_bytes()) is None}
    assert 0 < len(refused) < len(names)
    for options in {}, {"index_memory": "0"}:
        daemon = spawn(**options)
        for epoch in range(3):
            bad, _ = mutants.visit(daemon, folder.parent, names, epoch=epoch,
                                   transforms=[{"name": "CenterCrop", "size": 16}])
            assert bad == refused


def test_the_same_words_at_every_visit(photos, tmp_path, daemon):
    """And in stokerctl index."""
    path = tmp_path / "class" / "bad.png"
    path.parent.mkdir()
    with mutants.Image.open(next(photos.rglob("*.jpg"))) as image:
        data = bytearray(mutants.saved(image.convert("RGB"), "PNG"))
    data[-30] ^= 4
    path.write_bytes(data)
    words = set()
    for crop in 4, 32:
        with daemon.connect() as peer:
            peer.attach(tmp_path, batch_size=1, epochs=2,
                        transforms=[{"name": "CenterCrop", "size": crop}])
            for _ in range(2):
                message = peer.receive()
                words.add((message.name, message.fields["name"], message.fields["text"]))
    assert len(words) == 1 and words.pop()[1] == "sample_corrupt"
    assert pathlib.Path(daemon.list("bad")[0]["path"]).name == "bad.png"
